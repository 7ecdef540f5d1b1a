"""What is assumed public is public: one person less changes no shape, name, order or plan."""

import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.data import split_of, user_split_of
from dpmc_core.datasets.ratings import Ratings, chances, random_split, user_split
from dpmc_core.datasets.samples import Places, Samples
from dpmc_core.datasets.synthetic.ratings import skewed
from dpmc_core.datasets.text import LANGUAGES, TextFilter, public_words, samples_of_texts
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.store.records import record_of
from dpmc_core.experiments.tasks.solve import solve
from dpmc_core.planning.goal import ModelPlan, Probe, Search
from tests.neighbours import Row, neighbours
from tests.own.files import npy, read_table, table_of

GUARANTEED = [name for name, card in ALGORITHMS.items() if card.guarantee]
RATING = [name for name in GUARANTEED if ALGORITHMS[name].rate is not None]
SAMPLE = [name for name in GUARANTEED if ALGORITHMS[name].factorize is not None]
PUBLIC = TextFilter(word_list="english", most_words=400)
ARTICLES = tuple(entry("lee").file.read_text(encoding="utf-8").splitlines()[:40])


def private(algorithm: str, *, rank: int = 2, **settings: Any) -> RunSpec:
    """A run with a guarantee: at a total ε of 2 with Gaussian noise, if not otherwise set."""
    usual = {"mechanism": "gaussian", "epsilon": 2.0}
    if hasattr(ALGORITHMS[algorithm].config, "rank"):
        usual["rank"] = rank
    return RunSpec.of(algorithm=algorithm, **usual | settings)


@pytest.mark.parametrize("algorithm", SAMPLE)
@pytest.mark.parametrize("kind", ["documents", "images"])
@settings(max_examples=5)
@given(gone=st.integers(0, 39))
def test_one_less_changes_no_shape_no_word_and_no_plan(
    kind: str, algorithm: str, gone: int
) -> None:
    """How many documents there are is public: another, empty of what this one said, takes its
    place; and so does a black image.
    """
    neighbouring: list[Any]
    if kind == "documents":
        spec, named = private(algorithm, dataset="lee", most_words=400), ("words", "public_words")
        neighbouring = [
            samples_of_texts(
                (*ARTICLES[:gone], text, *ARTICLES[gone + 1 :]), name="x", chosen=PUBLIC
            )
            for text in (ARTICLES[gone], "people", "qqxz")  # the last is in no list
        ]
        assert neighbouring[0].public_words
    else:
        spec, named = private(algorithm), ("shape",)
        images = np.random.default_rng(2).random((40, 5, 5))
        black = images.copy()
        black[gone] = 0.0
        neighbouring = [Samples.of_images(stack, name="x") for stack in (images, black)]
        assert len(neighbouring[1]) == 39
    first, *others = (
        (
            [(step.dictionary.shape, step.releases, step.rest) for step in solve(spec, data)],
            data.places.given,
            *(getattr(data, name) for name in named),
        )
        for data in neighbouring
    )
    assert all(other == first for other in others)


@pytest.mark.parametrize("algorithm", SAMPLE)
@pytest.mark.parametrize("kind", ["images", "documents"])
def test_no_run_is_refused_for_how_many_hold_nothing(algorithm: str, kind: str) -> None:
    """Own documents are counted over public English words, if nobody says otherwise."""
    if kind == "documents":
        lines = ["the people of this country", "water and people", *["qqxz"] * 28]
        file, data, too_many = "a.txt", "\n".join(lines).encode(), 31
    else:
        stack = np.zeros((30, 4, 4))
        stack[:2] = np.random.default_rng(1).random((2, 4, 4))
        file, data, too_many = "a.npy", npy(stack), 17
    mine = own.read(kind, file, data)
    with user_datasets.using(mine):
        assert mine.entry.samples == 30
        spec = private(algorithm, dataset=mine.name, rank=10)
        result = run(spec)
        assert len(result.samples) == 2
        assert not result.statement.nominal
        assert result.dictionary.shape[1] == 10
        with pytest.raises(ParameterError, match=f"rank = {too_many}"):
            spec.replace(rank=too_many)


@pytest.mark.parametrize("algorithm", SAMPLE)
@pytest.mark.parametrize("noise", [{}, {"mechanism": None, "epsilon": None}])
def test_a_document_left_out_is_an_empty_column(algorithm: str, noise: dict[str, None]) -> None:
    """What leaves is the same as with the column of zeros that formally stands in its place."""
    spec = private(algorithm, dataset="lee", **noise)
    count = len(ARTICLES)
    of = Places(np.arange(count + 1), count + 2)  # the last of all was blank
    left_out = samples_of_texts((*ARTICLES, "qqxz"), name="x", chosen=PUBLIC, of=of)
    assert left_out.places.given == count + 2
    assert left_out.places.at.tolist() == list(range(count))
    empty = sparse.csc_array((len(left_out.words), 2))
    tables = {
        name: sparse.csc_array(sparse.hstack([getattr(left_out, name), empty]))
        for name in ("values", "counts")
    }
    with_zeros = replace(left_out, **tables, of=None)
    first, second = (list(solve(spec, samples))[-1] for samples in (left_out, with_zeros))
    assert first.releases == second.releases
    assert first.dictionary == pytest.approx(second.dictionary, rel=0, abs=1e-9)


FILMS = [f"film {k}" for k in range(12)]
TABLE = "film,funny\n" + "\n".join(f"{film},{k % 3}" for k, film in enumerate(FILMS))
SETTINGS = [
    *((name, {}) for name in RATING),
    ("moments", {"item_features": "shrink"}),
    ("moments", {"mechanism": "laplace"}),
    ("moments", {"epsilon": 300.0}),
    ("dpals", {"item_features": "shrink", "sampling": "adaptive", "centring": "mean"}),
    ("dpals", {"sampling": "uniform", "centring": "none", "start": "power"}),
    *((name, {"task": "recommend"}) for name in RATING if ALGORITHMS[name].recommend is not None),
]


def _own(rows: list[Row], *, listed: bool, **given: Any) -> Any:
    lines = (f"user {user},film {film},{rating:g}" for user, film, rating in rows)
    mine = read_table(table_of(*lines), **given)
    table = own.read_item_table("films.csv", TABLE.encode())
    return own.with_items(mine, table) if listed else mine


@pytest.mark.parametrize(("algorithm", "more"), SETTINGS)
def test_with_public_lists_no_user_changes_shape_order_plan_or_statement(
    algorithm: str, more: dict[str, Any]
) -> None:
    outcomes = []
    for rows in neighbours().values():
        mine = _own(rows, listed=True, low=1, high=5, users=100)
        with user_datasets.using(mine):
            result = run(private(algorithm, dataset=mine.name, **more))
        assert not any("read off" in note for note in mine.notes)
        train, model = result.split.train, result.model
        features = None if train.item_features is None else train.item_features.scaled.tolist()
        public = train.n_users, list(train.item_labels), train.low, train.high, features
        shapes = len(model.user_factors), len(model.item_factors)
        outcomes.append((public, shapes, result.ledger, result.statement))
    (public, _, _, statement), *others = outcomes
    assert all(other == outcomes[0] for other in others)
    assert public[:2] == (100, sorted(FILMS))
    assert statement.label.startswith(f"guaranteed ε = {more.get('epsilon', 2):g} ")
    facts = "item list (given by films.csv); scale (given); number of users (given)"
    assert any(c.startswith(f"Taken as public: {facts}") for c in statement.caveats)
    assert sum("Assumed public: " in caveat for caveat in statement.caveats) == 1


@pytest.mark.parametrize("missing", [("items",), ("low",), ("users",), ("items", "low", "users")])
def test_what_is_read_off_the_ratings_is_named_and_nothing_is_guaranteed(
    missing: tuple[str, ...],
) -> None:
    named = {"items": "item list", "low": "scale", "users": "number of users"}
    facts = tuple(named[name] for name in missing)
    given = {n: v for n, v in {"low": 1, "high": 5, "users": 100}.items() if n not in missing}
    mine = _own(neighbours()["sole"], listed="items" not in missing, **given)
    with user_datasets.using(mine):
        result = run(private("moments", dataset=mine.name))
        assert record_of(result).nominal
        plan = ModelPlan(base=private("moments", dataset=mine.name, seed=0), target=0.9)
        missed = Probe(place=1.0, margins=(-0.1,), values=(1.0,), decided=-1)
        reached = Probe(place=2.0, margins=(0.1,), values=(0.8,), decided=1)
        search = Search(plan=plan, probes=(missed, reached), before=0, finished=False)
        assert search.caveats[0] == f"ε is nominal: {', '.join(facts)} read off the data."
        assert "from a nominal total ε of about " in search.sentence
    statement = result.statement
    assert (statement.nominal, statement.uncovered) == (True, facts)
    assert statement.label.startswith("nominal ε = 2 in total")
    assert statement.label.endswith("read off the data")
    assert statement.caveats[0].startswith(f"Not covered: {', '.join(facts)} ")


def test_ratings_off_the_list_or_scale_and_users_beyond_the_number_are_said() -> None:
    rows = neighbours()
    mine = _own(rows["odd"], listed=True, low=1, high=5, users=61)
    notes = " ".join(mine.notes)
    assert "1 rating is off the scale of 1 to 5 as chosen, and moved onto it." in notes
    assert "The 12 items of films.csv are public; public item features: funny. " in notes
    assert (mine.ratings.values.max(), mine.entry.items) == (5.0, 12)
    assert mine.words().startswith("--data a.csv --items films.csv ")
    assert "--read users=61" in mine.words()
    assert "own.with_items(mine, own.read_item_table('films.csv'," in mine.lines()
    assert mine.digest != _own(rows["odd"], listed=False, low=1, high=5, users=61).digest
    narrow = _own(rows["usual"], listed=True, low=4, high=5)  # no user decides about a result
    assert "Most users have such ratings, which run from " in " ".join(narrow.notes)
    assert narrow.ratings.values.min() == 4.0
    headless = own.read_item_table("films.csv", "\n".join(FILMS[:-1]).encode())
    assert "Please check: its heading, 'film 0', is" in own.with_items(mine, headless).notes[-1]
    with pytest.raises(DataError, match="has 61 users, and users = 60 says that there are no more"):
        _own(rows["odd"], listed=True, users=60)
    with pytest.raises(DataError, match="none of its items, such as 'x', is rated; its first"):
        own.with_items(mine, own.read_item_table("x.csv", b"item\nx\ny"))


@pytest.mark.parametrize(
    ("dataset", "by"), [("skewed", "given"), ("ml-100k", "public by publication")]
)
def test_the_catalogues_lists_are_public_and_the_statement_says_by_what(
    dataset: str, by: str, data_dir: object
) -> None:
    del data_dir
    published = [("private-means", {"split": "u1"})] * (dataset == "ml-100k")
    for algorithm, more in (("private-means", {}), ("moments", {"task": "recommend"}), *published):
        statement = run(private(algorithm, dataset=dataset, **more)).statement
        assert not statement.nominal
        facts = f"Taken as public: item list ({by}); scale ({by}); number of users ({by})."
        assert facts in statement.caveats


def _of(part: Ratings) -> set[tuple[str, str]]:
    return {
        (part.user_labels[user], part.item_labels[item])
        for user, item in zip(part.users, part.items, strict=True)
    }


@pytest.mark.parametrize("kind", ["ratings", "likes"])
@settings(max_examples=5)
@given(gone=st.integers(0, 39), seed=st.integers(0, 2**32))
def test_leaving_changes_nobody_elses_side_of_the_split(kind: str, gone: int, seed: int) -> None:
    """Of own data: which ratings are held out is drawn for each alone, so that one user less is one
    user less in training too, not everybody's ratings shuffled again.
    """
    rng, name = np.random.default_rng(1), f"reader {gone}"
    lines = [
        f"reader {user},book {item},{rng.choice([1, 4, 5, 5])}"
        for user in range(40)
        for item in rng.choice(30, 12, replace=False)
    ]
    parts = []
    for rows in (lines, [line for line in lines if line.split(",")[0] != name]):
        mine = read_table(table_of(*rows, header="reader,book,stars"))
        with user_datasets.using(mine):
            chosen = RunSpec.of(dataset=mine.name, test_fraction=0.25).data
            split = (split_of if kind == "ratings" else user_split_of)(chosen, seed)
        held = [split.test] if kind == "ratings" else [split.query, split.target]
        parts.append((_of(split.train), set().union(*map(_of, held))))
    for whole, fewer in zip(*parts, strict=True):
        assert fewer == {pair for pair in whole if pair[0] != name}


def test_chances_are_uniform_and_apart() -> None:
    """Held out: as many as asked for, of every user and item; each within 5 standard deviations."""
    ratings = skewed(400, 100, 20_000, seed=2)
    for seed in range(5):
        test = random_split(ratings, 0.3, seed, each_alone=True).test
        assert abs(len(test) - 6000) < 5 * (20_000 * 0.3 * 0.7) ** 0.5
        for ids, own_test in ((ratings.users, test.users), (ratings.items, test.items)):
            n, k = np.bincount(ids), np.bincount(own_test, minlength=ids.max() + 1)
            apart = (k - 0.3 * n) / np.sqrt(np.maximum(n, 1) * 0.21)
            # of at most 500 normal numbers none is beyond 5, and their squares have mean 1
            assert np.abs(apart).max() < 5.5
            assert abs(float(np.mean(apart[n > 0] ** 2)) - 1) < 5 * (2 / np.sum(n > 0)) ** 0.5
    mine, other = (chances(ratings, seed) for seed in (0, 1))
    assert abs(np.corrcoef(mine, other)[0, 1]) < 5 / 20_000**0.5


@pytest.mark.parametrize(
    ("units", "fraction"), [("ratings", 0.2), ("ratings", 0.9), ("users", 0.4)]
)
def test_nobody_changes_sides_so_that_neither_is_empty(units: str, fraction: float) -> None:
    """Each alone: the chance of one is its own; where all fall on one side, that is said."""
    of_users = units == "users"
    each, count = (6, 3) if of_users else (1, 2)
    users, items = np.divmod(np.arange(count * each), each)
    some = Ratings.checked(users, items, np.full(users.size, 5.0), low=1, high=5)
    seen = set()
    for seed in range(100):
        below = chances(some, seed, of_users=of_users) < fraction
        seen.add(int(below.sum()))
        split = partial(
            user_split if of_users else random_split, some, fraction, seed, each_alone=True
        )
        if 0 < below.sum() < count:
            test = split().target if of_users else split().test
            assert set(test.users) == set(np.flatnonzero(below))
            continue
        share = ("all", "smaller") if below.all() else ("none", "larger")
        with pytest.raises(DataError, match="of {} .*{} are.* a {} share".format(count, *share)):
            split()
    assert seen == {*range(count + 1)}


@pytest.mark.parametrize(
    ("word_list", "kind", "uncovered"),
    [("english", "guaranteed ε", False), ("documents", "nominal ε", True)],
)
def test_words_of_the_documents_do_tell_and_the_statement_says_so(
    word_list: str, kind: str, uncovered: bool
) -> None:
    result = run(private("moment-nmf", dataset="lee", epsilon=5, word_list=word_list))
    assert result.statement.label.startswith(kind)
    assert result.statement.caveats[0].startswith("Not covered: list of words") == uncovered
    assert record_of(result).nominal == result.statement.nominal == uncovered
    assert sum("Assumed public: " in caveat for caveat in result.statement.caveats) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("language", LANGUAGES)
def test_public_lists_are_words_of_three_letters_or_more(language: str) -> None:
    words = public_words(language, 2000, True)
    assert len(set(words)) == 2000
    assert list(words) == sorted(words)
    assert all(re.fullmatch(r"[^\W\d_]{3,}", word) for word in words)
    assert set(public_words(language, 500, True)) <= set(words)  # the most frequent come first
    assert len(set(public_words(language, 500, False)) - set(words)) > 20  # stop words


def test_a_list_that_fits_no_document_is_said() -> None:
    with pytest.raises(DataError, match=r"no document holds any word of it .the english list"):
        samples_of_texts(["zzzz qqqq"] * 3, name="Mine", chosen=PUBLIC)
    for dataset, word_list in (("lee", "klingon"), ("topics", "documents")):
        with pytest.raises(ParameterError, match="word_list"):
            RunSpec.of(dataset=dataset, word_list=word_list)
    assert RunSpec.of(dataset="tdt2", algorithm="moment-nmf").data.word_list == "published"
