"""A list of words chosen privately: its threshold, its sums, and what its failing costs."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from dpmc_core.datasets.samples import Places, Samples
from dpmc_core.datasets.text import TextFilter, samples_of_counts, samples_of_texts
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.factorization import word_choice
from dpmc_core.factorization.moments import MomentConfig, moment_nmf
from dpmc_core.factorization.word_choice import MOST_DIFFERENT, choose_words, plan_words, threshold
from dpmc_core.mechanisms import Gaussian, Laplace
from dpmc_core.privacy import Ledger, Release, account, least_noise, state
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.budget import Budget, Curator, Part, plan
from dpmc_core.privacy.ledger_file import ledger_from_dict
from dpmc_core.privacy.tradeoff import of_ledger

ALL_WORDS = TextFilter(word_list="private", stop_words=False)
SHARED = ["river", "music", "garden", "window", "summer", "winter", "doctor", "market"]


def letters(number: int) -> str:
    """A word of its own for each number."""
    return "w" + "".join(chr(97 + number // 26**k % 26) for k in range(5))


def of_texts(texts: list[str]) -> Samples:
    return samples_of_texts(texts, name="Mine", chosen=ALL_WORDS)


def release(failure: float, noise: Gaussian | Laplace, **named: object) -> Release:
    usual: dict[str, object] = {
        "what": "words",
        "mechanism": noise,
        "l1_sensitivity": 1.0,
        "l2_sensitivity": 1.0,
        "unit": "document",
        "neighbours": "add/remove-one",
        "coordinates": 1,
        "count": 1,
        "sound": True,
        "source": "test",
        "failure": failure,
    }
    return Release(**{**usual, **named})  # type: ignore[arg-type]


@pytest.mark.parametrize("std", [0.1, 1.0, 12.0])
@pytest.mark.parametrize("failure", [1e-12, 1e-6, 0.05])
def test_no_word_of_one_document_is_shown_more_often_than_said(std: float, failure: float) -> None:
    least, t = threshold(std, failure), np.arange(1, MOST_DIFFERENT + 1)
    beyond = stats.norm.sf((least - 1 / np.sqrt(t)) / std)
    shown = -np.expm1(t * np.log1p(-beyond))
    assert shown.max() == pytest.approx(failure, rel=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize("own_words", [1, 40, 3000])
def test_how_often_words_of_one_document_are_shown(own_words: int) -> None:
    texts = [" ".join(SHARED)] * 50 + [" ".join(letters(k) for k in range(own_words))]
    samples, budget = of_texts(texts), Budget(epsilon=4.0, delta=0.5)
    failure, runs = word_choice.KEPT * budget.delta, 2000
    shown = 0
    for seed in range(runs):
        try:
            chosen, _ = choose_words(
                samples, budget, "add/remove-one", 5000, np.random.default_rng(seed)
            )
        except DataError:  # nothing at all was shown
            continue
        shown += any(word not in SHARED for word in chosen.words)
    planned = plan_words(budget, "add/remove-one", len(texts))
    assert planned.release is not None
    t, noise = min(own_words, MOST_DIFFERENT), planned.release.mechanism
    each = stats.norm.sf((planned.threshold - t**-0.5) / noise.std)
    expected = runs * -math.expm1(t * math.log1p(-each))
    assert expected <= runs * failure * (1 + 1e-9)
    assert abs(shown - expected) <= 5 * math.sqrt(expected)  # of a count: five standard deviations


@settings(max_examples=15)
@given(st.data())
def test_one_document_moves_the_sums_by_one_and_nothing_else(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    long = [letters(k) for k in rng.choice(4000, 1500, replace=False)]
    texts = [
        " ".join(rng.choice([*SHARED, *long[:60]], rng.integers(1, 25))) for _ in range(20)
    ] + [" ".join(long), " ".join([*long[::-1], *SHARED])]
    gone = data.draw(st.integers(0, len(texts) - 1))
    sums = []
    for kept in (texts, texts[:gone] + texts[gone + 1 :]):
        seen = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                Curator,
                "above",
                lambda self, name, exact, least, seen=seen: seen.update(exact=exact) or exact,
            )
            samples = of_texts(kept)
            choose_words(samples, None, "add/remove-one", 9999, rng)
        sums.append(dict(zip(samples.words, seen["exact"], strict=True)))
    apart = np.array([sums[0].get(word, 0.0) - sums[1].get(word, 0.0) for word in sums[0]])
    assert set(sums[1]) <= set(sums[0])
    assert np.linalg.norm(apart) == pytest.approx(1.0, abs=1e-12)
    moved = apart[np.abs(apart) > 1e-12]
    assert moved.size <= MOST_DIFFERENT
    assert np.allclose(moved, 1 / math.sqrt(moved.size))


@pytest.mark.parametrize("q", [1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_what_failing_costs_is_enough(q: float, scale: float) -> None:
    """Against the two outputs themselves: N(0, σ²), and N(1, σ²) or, with probability q, a word."""
    delta = 10 * q
    epsilon = tightest(Ledger((release(q, Gaussian(scale=scale)),)), delta)
    # (1 − q)·p is above e^ε·p′ from one cut on, and p′ above e^ε·(1 − q)·p up to another
    odds, log_left = math.exp(epsilon), math.log1p(-q)
    cut = 0.5 + scale**2 * (epsilon - log_left)
    first = (1 - q) * stats.norm.sf((cut - 1) / scale) - odds * stats.norm.sf(cut / scale)
    assert q + first <= delta * (1 + 1e-9)
    cut = 0.5 - scale**2 * (epsilon + log_left)
    rest = odds * (1 - q) * stats.norm.cdf((cut - 1) / scale)
    assert stats.norm.cdf(cut / scale) - rest <= delta * (1 + 1e-9)
    surely = tightest(Ledger((release(0.0, Gaussian(scale=scale)),)), delta - q)
    assert epsilon <= surely


@pytest.mark.parametrize("q", [1e-3, 0.2])
def test_the_trade_off_of_what_may_fail_is_never_below_what_an_attacker_reaches(q: float) -> None:
    claimed = of_ledger(Ledger((release(q, Gaussian(scale=1.0)),)))
    cuts = np.linspace(-8, 9, 4001)
    # "in" above a cut, or where a word is shown; and "out" below it
    alarms, misses = stats.norm.sf(cuts), (1 - q) * stats.norm.cdf(cuts - 1)
    assert np.all(claimed.misses(alarms) <= misses + 1e-12)
    alarms, misses = (1 - q) * stats.norm.cdf(cuts - 1), stats.norm.sf(cuts)
    assert np.all(claimed.misses(alarms) <= misses + 1e-12)
    assert not claimed.exact
    assert claimed.misses(0.05) >= 0.7 * of_ledger(
        Ledger((release(0.0, Gaussian(scale=1.0)),))
    ).misses(0.05)


def test_failing_adds_up_and_is_asked_for() -> None:
    noise = Gaussian(scale=3.0)
    twice = Ledger((release(1e-6, noise, count=2), release(1e-5, noise, what="others")))
    assert twice.failure == pytest.approx(1 - (1 - 1e-6) ** 2 * (1 - 1e-5), rel=1e-9)
    answers = {one.method: one for one in account(twice, 1e-4)}
    assert answers["exact"].epsilon == tightest(twice, 1e-4)
    assert all("added to δ, a bound" in one.how for one in answers.values())
    assert all(one.delta == 1e-4 for one in answers.values())
    pure = {one.method: one for one in account(Ledger((release(1e-6, Laplace(scale=1.0)),)), 1e-5)}
    assert pure["pure"].delta == 1e-5  # nothing that may fail holds at δ = 0
    with pytest.raises(
        ParameterError, match=r"delta = 1e-05 is not allowed: it must be above 1\.2e"
    ):
        account(twice, 1e-5)
    assert ledger_from_dict(twice.as_dict()) == twice
    raw = json.loads(json.dumps(twice.as_dict()))
    raw["releases"][0]["failure"] = 1
    with pytest.raises(ParameterError, match="failure = 1 is not allowed"):
        ledger_from_dict(raw)
    assert "failure" not in Ledger((release(0.0, noise),)).as_dict()["releases"][0]


def test_what_surely_fails_has_no_epsilon() -> None:
    surely = Ledger((release(0.999999999999, Gaussian(scale=1.0), count=1_000_000),))
    with pytest.raises(ParameterError, match="delta = 1e-05 is not allowed"):
        account(surely, 1e-5)


def test_other_noise_would_want_another_threshold() -> None:
    words = plan_words(Budget(epsilon=5.0), "add/remove-one", 1000).release
    assert words is not None
    with pytest.raises(ParameterError, match=r"target ε = '0\.5' is not allowed: .* threshold"):
        least_noise(Ledger((words,)), 0.5, 1e-5)


def test_only_what_was_chosen_of_documents_is_called_words() -> None:
    for unit, count in (("document", 1), ("record", 0)):
        made = Ledger((release(1e-6, Laplace(scale=1.0), unit=unit),))
        said = [caveat for caveat in state(made).caveats if "list of words was chosen" in caveat]
        assert len(said) == count


@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_what_is_spent_after_the_words_does_not_depend_on_them(neighbours: str) -> None:
    """Σ(Δ/σ)² of all Gaussian releases, by which adaptive ones compose."""
    budget = Budget(epsilon=5.0)
    spent = plan_words(budget, neighbours, 3000).release
    assert spent is not None
    sums = []
    for words in (2, 8, 287, 4000):
        empty = samples_of_counts(
            sparse.csc_array(np.ones((words, 1))),
            tuple(letters(k) for k in range(words)),
            name="x",
            chosen=ALL_WORDS,
            public_words=True,
            of=Places(np.zeros(1, dtype=int), 3000),
        )
        config = MomentConfig(rank=2, budget=replace(budget, spent=(spent,)), neighbours=neighbours)
        *_, last = moment_nmf(empty, config, np.random.default_rng(0))
        made = (*last.releases, *last.rest)
        sums.append(sum(r.count * (r.l2_sensitivity / r.mechanism.std) ** 2 for r in made))
    assert max(sums) / min(sums) < 1 + 1e-4
    with pytest.raises(ParameterError, match=r"mechanism = .laplace. is not allowed: .* gaussian"):
        plan_words(Budget(epsilon=5.0, family="laplace"), neighbours, 3000)


def test_two_documents_may_have_no_word_in_common() -> None:
    one, other = (
        plan_words(Budget(epsilon=5.0), neighbours, 3000).release
        for neighbours in ("add/remove-one", "replace-one")
    )
    assert one is not None
    assert other is not None
    assert other.coordinates == 2 * one.coordinates == 2 * MOST_DIFFERENT
    assert other.l1_sensitivity == 2 * one.l1_sensitivity
    assert other.l2_sensitivity == pytest.approx(math.sqrt(2) * one.l2_sensitivity)


def test_a_plan_leaves_room_for_what_was_spent() -> None:
    part = Part(what="x", l1=1.0, l2=1.0, coordinates=1, share=1.0, source="y", unit="document")
    budget = Budget(epsilon=2.0)
    spent = plan_words(budget, "add/remove-one", 10_000).release
    assert spent is not None
    (rest,) = (
        plan({"x": part}, Budget(epsilon=2.0, spent=(spent,))) or pytest.fail("no plan")
    ).values()
    assert tightest(Ledger((spent, rest)), 1e-5) == pytest.approx(2.0, rel=1e-5)
    assert tightest(Ledger((spent, rest)), 1e-5) <= 2.0


@pytest.mark.parametrize("algorithm", ["moment-nmf", "private-nmf"])
@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_a_run_on_words_of_its_own_choice_keeps_to_its_budget(
    algorithm: str, neighbours: str
) -> None:
    spec = RunSpec.of(
        dataset="lee", algorithm=algorithm, rank=3, mechanism="gaussian", epsilon=20
    ).replace(word_list="private", neighbours=neighbours)
    result = run(spec)
    assert result.statement.epsilon <= 20
    assert result.statement.epsilon > 19.9
    assert result.statement.label.startswith("guaranteed ε")
    assert result.ledger.failure == pytest.approx(1e-6)
    assert result.ledger.releases[0].what == "which words are in more than one document"
    assert result.dictionary.shape == (len(result.samples.words), 3)
    caveats = " ".join(result.statement.caveats)
    assert "With probability 1e-06 a word that one document alone has" in caveats
    assert "a word that only they use may be on the list" in caveats
    assert any("words were chosen, with noise" in note for note in result.samples.notes)
    assert result.reference < result.baseline
    again = run(spec)
    assert again.samples.words == result.samples.words
    assert run(spec.repetition(1)).samples.words != result.samples.words


@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_how_many_documents_hold_nothing_is_not_read(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, planned = [" ".join(SHARED)] * 40, []

    def recorded(budget: Budget | None, sides: str, n: int) -> word_choice.WordPlan:
        planned.append(n)
        return plan_words(budget, sides, n)

    monkeypatch.setattr(word_choice, "plan_words", recorded)
    for empty in (0, 5):
        samples = samples_of_texts(
            texts[empty:], name="Mine", chosen=ALL_WORDS, of=Places(np.arange(empty, 40), 40)
        )
        chosen, _ = choose_words(
            samples, Budget(epsilon=20.0), neighbours, 5000, np.random.default_rng(0)
        )
        assert chosen.places.given == 40
        assert len(chosen) == 40 - empty
    assert planned == [40, 40]


def test_mistakes_are_one_sentence() -> None:
    spec = RunSpec.of(dataset="lee", algorithm="moment-nmf", rank=2, mechanism="gaussian")
    for named, kind, words in (
        ({"epsilon": 0.1}, ParameterError, "another list for 300 documents: at ε = 0.1"),
        ({"epsilon": 1e-3, "delta": 1e-14}, ParameterError, "or a larger ε or δ"),
        ({"epsilon": 20, "delta": 1e-15}, ParameterError, "delta = 1e-15 is .* 2e-15 or more for"),
        (
            {"epsilon": 1.0},
            DataError,
            "no word is in so many documents that it may be shown.* has spent ε = 0",
        ),
        (
            {"epsilon": 5.0, "rank": 50},
            DataError,
            "only [0-9]+ words may be shown, too few for rank = 50: .* has spent ε = 1",
        ),
    ):
        with pytest.raises(kind, match=words):
            run(spec.replace(word_list="private", **named))
    with pytest.raises(ParameterError, match='left out unless word_list = "documents"'):
        spec.replace(word_list="private", min_documents=5)


def test_without_noise_words_of_one_document_are_left_out_too() -> None:
    texts = [f"{' '.join(SHARED)} {letters(k)}" for k in range(30)]
    chosen, made = choose_words(
        of_texts(texts), None, "add/remove-one", 5000, np.random.default_rng(0)
    )
    assert made == ()
    assert sorted(chosen.words) == sorted(SHARED)
    assert "without noise" in chosen.notes[-1]
    assert not chosen.public_words
    assert state(Ledger(made)).label.startswith("not private")


def test_a_nominal_run_chooses_without_noise_and_says_so() -> None:
    spec = RunSpec.of(
        dataset="lee",
        algorithm="private-nmf-published",
        mechanism="gaussian",
        rank=2,
        rounds=2,
        word_list="private",
    )
    result = run(spec)
    assert result.statement.nominal
    assert result.statement.caveats[0].startswith("Not covered: list of words")
