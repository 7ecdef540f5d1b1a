"""Audits of a dataset that was brought, and of a record chosen in it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks import audit_targets
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import Neighbours, with_and_without
from dpmc_core.privacy import budget
from tests.own.files import documents_zip, long_csv, npy, pictures_zip, table_of
from tests.terminal import Terminal

RATINGS = long_csv(30, 12)


def brought(kind: str = "ratings") -> OwnSet:
    file, data = {
        "ratings": ("a.csv", RATINGS),
        "images": ("a.zip", pictures_zip(12)),
        "documents": ("a.zip", documents_zip(20)),
    }[kind]
    return own.read(kind, file, data, name=f"own-{kind}-0123456789abcdef")


def spec_of(own_set: OwnSet, **named: Any) -> AuditSpec:
    usual = {"target": "moments", "mechanism": "gaussian", "epsilon": 0.5, "runs": 200}
    return AuditSpec(**{**usual, "dataset": own_set.name, **named})


@pytest.mark.parametrize("record", ["", "7", "reader"])
@pytest.mark.parametrize("target", ["moments", "als"])
def test_two_tables_differ_in_the_record_only(target: str, record: str) -> None:
    own_set = brought()
    ratings, label = own_set.ratings, own_set.ratings.user_labels
    named = label[4] if record == "reader" else record
    with user_datasets.using(own_set):
        pair = with_and_without(spec_of(own_set, target=target, record=named))
    who = {"": int(np.argmax(np.bincount(ratings.users))), "7": 6, "reader": 4}[record]
    assert "7" not in label  # so that it is a number
    assert label[who] in pair.record
    assert pair.rows[0] == who
    assert len(set(pair.rows)) == 12
    assert set(pair.columns) <= set(ratings.items[ratings.users == who])
    assert pair.inside.n_users == pair.outside.n_users == ratings.n_users
    others = ratings.users != who
    if target == "moments":
        for field in ("values", "users", "items"):
            whole = getattr(ratings, field)
            assert np.array_equal(getattr(pair.outside, field), whole[others]), field
        assert pair.inside is ratings
    else:
        differs = np.flatnonzero(pair.inside.values != pair.outside.values)
        assert differs.size == 1
        assert not others[differs]
        assert pair.inside.values[differs] == ratings.high
        assert pair.outside.values[differs] == ratings.low
        kept = np.arange(len(ratings)) != differs
        assert np.array_equal(pair.inside.values[kept], ratings.values[kept])


def dense(values: Any) -> np.ndarray:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def places(pair: Neighbours, field: str = "values") -> list[int]:
    """The columns in which the two datasets differ, where the second must hold nothing."""
    first, second = (dense(getattr(part, field)) for part in (pair.inside, pair.outside))
    columns = np.flatnonzero((first != second).any(axis=0))
    assert not second[:, columns].any()
    return columns.tolist()


@pytest.mark.parametrize("kind", ["images", "documents"])
def test_two_sets_of_samples_differ_in_one_place_only(kind: str) -> None:
    own_set = brought(kind)
    for record in ("", "3"):
        with user_datasets.using(own_set):
            pair = with_and_without(spec_of(own_set, target="moment-nmf", record=record))
        first = dense(pair.inside.values)
        away = ((first - first.mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
        place = 2 if record else int(np.argmax(away))
        assert places(pair) == [place]
        assert pair.record.endswith(f" {place + 1} of {first.shape[1]}")
        assert type(pair.inside.values) is type(pair.outside.values)
        if kind == "documents":
            assert places(pair, "counts") == [place]


@pytest.mark.parametrize("kind", ["images", "documents"])
def test_records_are_numbered_as_in_the_file(kind: str) -> None:
    """Those that hold nothing are counted, and there is nothing to audit of them."""
    stack = np.random.default_rng(1).integers(1, 255, (12, 4, 4), dtype=np.uint8)
    stack[[1, 2]] = 0
    lines = [f'"the people and the water of number {k}"' for k in range(12)]
    lines[1], lines[2] = '""', '"qqxz"'
    data = npy(stack) if kind == "images" else table_of(*lines, header="text")
    file = "a.npy" if kind == "images" else "a.csv"
    own_set = own.read(kind, file, data, name=f"own-{kind}-0123456789abcdef")
    assert own_set.entry.samples == 12
    with user_datasets.using(own_set):
        pair = with_and_without(spec_of(own_set, target="moment-nmf", record="4"))
        assert pair.record.endswith(" 4 of 12")
        assert places(pair) == [1]
        for record, message in (
            ("2", "2 holds nothing"),
            ("3", "3 holds nothing"),
            ("1" * 5000, "from 1 to 12"),
        ):
            with pytest.raises((DataError, ParameterError), match=message):
                with_and_without(spec_of(own_set, target="moment-nmf", record=record))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "target"),
    [("ratings", "moments"), ("images", "private-nmf"), ("documents", "moment-nmf")],
)
def test_too_little_noise_is_found_on_brought_data_and_enough_is_not(
    kind: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_set = brought(kind)
    with user_datasets.using(own_set):
        spec = spec_of(own_set, target=target, rank=2, iterations=2)
        honest = audit(spec)
        assert honest.statement.epsilon <= 0.5
        assert not any(honest.beaten.values())
        sample = budget.sample
        monkeypatch.setattr(budget, "sample", lambda release, rng: sample(release, rng) / 10_000)
        result = audit(spec)
    assert result.beaten == {"claimed": True}
    assert result.record == honest.record == result.summary()["record"]


def test_what_is_nominal_gives_a_rating_of_brought_data_away() -> None:
    own_set = brought()
    with user_datasets.using(own_set):
        spec = spec_of(own_set, target="als", mechanism="laplace", epsilon=1, runs=500)
        result = audit(spec)
    assert result.beaten["nominal, one release"]
    assert "the user's row included" in result.verdict


def test_an_audit_of_brought_data_says_itself_whole() -> None:
    own_set = brought()
    with user_datasets.using(own_set):
        spec = spec_of(own_set, record="reader 'x'")
        assert AuditSpec.from_json(spec.to_json()) == spec
        assert own_set.words() in spec.command()
        assert spec.command().endswith("--record 'reader '\"'\"'x'\"'\"''")
        catalogue = spec.replace(dataset="ml-100k", record="3")
        assert "--dataset ml-100k --record 3" in catalogue.command()
    assert "dataset" not in AuditSpec().as_dict()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            {"record": "nobody"},
            "record = 'nobody' is not allowed: .* the number of one, from 1 to 30",
        ),
        ({"record": "31"}, "from 1 to 30"),
        ({"record": "0"}, "from 1 to 30"),
        ({"record": 3}, "record = 3 is not allowed"),
        ({"dataset": ""}, "record = '1' is not allowed: it must be .* left out without a dataset"),
        ({"dataset": "lee"}, "dataset = 'lee' is not allowed: it must be one of"),
        ({"dataset": 3}, "dataset = 3 is not allowed"),
        ({"target": "number", "mechanism": "laplace"}, "left out for one number"),
        ({"case": "seed-search"}, "where all seeds are tried"),
        ({"target": "private-nmf"}, "images or documents; this one holds ratings"),
    ],
)
def test_mistakes_are_one_sentence(named: dict[str, Any], message: str) -> None:
    own_set = brought()
    with user_datasets.using(own_set), pytest.raises(ParameterError, match=message):
        with_and_without(spec_of(own_set, **{"record": "1", **named}))


def test_whose_ratings_are_all_or_none_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    for record, given in (("1", "gave 4 of 4"), ("2", "gave 0 of 4")):
        one = Ratings.checked(
            np.zeros(4, dtype=int), np.arange(4), np.array([1.0, 2, 4, 5]), n_users=2, low=1, high=5
        )
        monkeypatch.setattr(audit_targets, "ratings_of", lambda data, one=one: one)
        with pytest.raises(DataError, match=given):
            with_and_without(AuditSpec(target="moments", dataset="low-rank", record=record))


@pytest.mark.nightly
def test_the_command_audits_a_file(tmp_path: Path, terminal: Terminal) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes(RATINGS)
    line = "audit --target dpals --mechanism gaussian --epsilon 2 --runs 100 --record 3"
    result = terminal.json(f"{line} --data {table}")
    assert result["spec"]["record"] == "3"
    assert result["beaten"] == {"claimed": False}
    shown = terminal.output(f"{line} --data {table}")
    assert "the two datasets differ in: " in shown
    assert "without noise" in shown
    for options, message in (
        (f"{line} --data {table} --dataset ml-100k", "left out with --data"),
        (f"audit --outputs {table} --epsilon 1 --record 3", "left out with --outputs"),
    ):
        assert message in terminal.refusal(options)
