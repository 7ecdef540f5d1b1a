"""Audits of a dataset that was brought, and of a record chosen in it."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.tasks import audit_targets
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import Neighbours, two_datasets
from dpmc_core.privacy import budget
from tests.own.files import documents_zip, long_csv, npy, pictures_zip, table_of

RATINGS = long_csv(30, 12)


def brought(kind: str, file: str, data: bytes) -> OwnSet:
    return own.read(kind, file, data, name=f"own-{kind}-0123456789abcdef")


@pytest.fixture(scope="module")
def table() -> OwnSet:
    return brought("ratings", "a.csv", RATINGS)


def spec_of(own_set: OwnSet, **named: Any) -> AuditSpec:
    usual = {"target": "moments", "mechanism": "gaussian", "epsilon": 0.5, "runs": 200}
    return AuditSpec(**{**usual, "dataset": own_set.name, **named})


def pair_of(own_set: OwnSet, **named: Any) -> Neighbours:
    with user_datasets.using(own_set):
        return two_datasets(spec_of(own_set, **named))


@pytest.mark.parametrize("record", ["", "7", "reader"])
def test_two_tables_differ_in_the_record_only(record: str, table: OwnSet) -> None:
    ratings = table.ratings
    labels = ratings.user_labels
    assert "7" not in labels  # so that it is a number
    who = {"": int(ratings.per_user.argmax()), "7": 6, "reader": 4}[record]
    named, theirs = labels[4] if record == "reader" else record, ratings.users == who
    user, rating = (pair_of(table, target=name, record=named) for name in ("moments", "als"))
    for pair in (user, rating):
        assert labels[who] in pair.record
        assert pair.rows[0] == who
        assert len({*pair.rows}) == 12
        assert {*pair.columns} <= {*ratings.items[theirs]}
        assert pair.inside.n_users == pair.outside.n_users == 30
    assert user.inside is ratings
    for left, whole in zip(user.outside.numbers, ratings.numbers, strict=True):
        assert np.array_equal(left, whole[~theirs])
    high, low = rating.inside.values, rating.outside.values
    (differs,) = np.flatnonzero(high != low)
    assert theirs[differs]
    assert (high[differs], low[differs]) == (ratings.high, ratings.low)
    assert np.array_equal(np.delete(high, differs), np.delete(ratings.values, differs))


def places(pair: Neighbours, field: str = "values") -> list[int]:
    """The columns in which the two datasets differ, where the second must hold nothing."""
    parts = (getattr(part, field) for part in (pair.inside, pair.outside))
    first, second = (p.toarray() if sparse.issparse(p) else np.asarray(p) for p in parts)
    columns = np.flatnonzero((first != second).any(axis=0))
    assert not second[:, columns].any()
    return columns.tolist()


@pytest.mark.parametrize("kind", ["images", "documents"])
def test_two_sets_differ_in_one_record_that_is_numbered_as_in_the_file(kind: str) -> None:
    """Those that hold nothing are counted, and there is nothing to audit of them."""
    stack = np.random.default_rng(1).integers(1, 255, (12, 4, 4), dtype=np.uint8)
    stack[[1, 2]] = 0
    lines = [f'"the people and the water of number {"news " * (k == 7)}"' for k in range(12)]
    lines[1], lines[2] = '""', '"qqxz"'
    data = npy(stack) if kind == "images" else table_of(*lines, header="text")
    own_set = brought(kind, "a.npy" if kind == "images" else "a.csv", data)
    assert own_set.entry.samples == 12
    for record in ("", "4"):
        pair = pair_of(own_set, target="moment-nmf", record=record)
        values = pair.inside.values
        away = np.asarray(values.T @ values.mean(axis=1)).ravel()
        place = 1 if record else int(away.argmin())
        number = 4 if record else pair.inside.places.at[place] + 1
        assert pair.record.endswith(f" {number} of 12")
        assert places(pair) == [place]
        assert type(values) is type(pair.outside.values)
        assert kind == "images" or places(pair, "counts") == [place]
    for record, message in (("2", "2 holds nothing"), ("3", "3 holds"), ("1" * 5000, "1 to 12")):
        with pytest.raises(DPMCError, match=message):
            pair_of(own_set, target="moment-nmf", record=record)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "kind", "file", "data"),
    [
        ("moments", "ratings", "a.csv", RATINGS),
        ("private-nmf", "images", "a.zip", pictures_zip(12)),
        ("moment-nmf", "documents", "a.zip", documents_zip(20)),
    ],
)
def test_too_little_noise_is_found_on_brought_data_and_enough_is_not(
    target: str, kind: str, file: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_set = brought(kind, file, data)
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


def test_an_audit_of_brought_data_says_itself_whole(table: OwnSet) -> None:
    with user_datasets.using(table):
        spec = spec_of(table, record="reader 'x'")
        assert AuditSpec.from_json(spec.to_json()) == spec
        assert table.words() in spec.command()
        assert spec.command().endswith("--record 'reader '\"'\"'x'\"'\"''")
        catalogue = spec.replace(dataset="ml-100k", record="3")
        assert "--dataset ml-100k --record 3" in catalogue.command()
    assert "dataset" not in AuditSpec().as_dict()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"record": "nobody"}, "'nobody' is not allowed: .* the number of one, from 1 to 30"),
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
def test_mistakes_are_one_sentence(named: dict[str, Any], message: str, table: OwnSet) -> None:
    with pytest.raises(DPMCError, match=message):
        pair_of(table, **{"record": "1", **named})


@pytest.mark.parametrize(("record", "given"), [("1", "gave 4 of 4"), ("2", "gave 0 of 4")])
def test_whose_ratings_are_all_or_none_cannot_be_removed(
    record: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Ratings.checked(np.zeros(4, int), np.arange(4), np.array([1.0, 2, 4, 5]), n_users=2)
    monkeypatch.setattr(audit_targets, "ratings_of", lambda _: one)
    with pytest.raises(DPMCError, match=given):
        two_datasets(AuditSpec(target="moments", dataset="low-rank", record=record))
