"""Audits of a dataset that was brought, and of a record chosen in it."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpmc_core.cli.common.main import main
from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks import audit_targets
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import with_and_without
from dpmc_core.privacy import budget
from tests.own.files import documents_zip, long_csv, pictures_zip

RATINGS = long_csv(30, 12)


def brought(kind: str = "ratings") -> OwnSet:
    file, data = {
        "ratings": ("a.csv", RATINGS),
        "images": ("a.zip", pictures_zip(12)),
        "documents": ("a.zip", documents_zip(20)),
    }[kind]
    return own.read(kind, file, data, name=f"own-{kind}-0123456789abcdef")


def spec_of(mine: OwnSet, **named: Any) -> AuditSpec:
    usual = {"target": "moments", "mechanism": "gaussian", "epsilon": 0.5, "runs": 200}
    return AuditSpec(**{**usual, "dataset": mine.name, **named})


@pytest.mark.parametrize("record", ["", "7", "reader"])
@pytest.mark.parametrize("target", ["moments", "als"])
def test_two_tables_differ_in_the_record_only(target: str, record: str) -> None:
    mine = brought()
    with user_datasets.using(mine):
        ratings = mine.ratings
        if record == "reader":
            record = ratings.user_labels[4]
        pair = with_and_without(spec_of(mine, target=target, record=record))
    counts = np.bincount(ratings.users)
    label = ratings.user_labels
    who = {"": int(np.argmax(counts)), "7": 6}.get(record, 4)
    if record == "7":
        who = label.index("7") if "7" in label else 6
    assert label[who] in pair.record
    assert pair.rows[0] == who
    assert len(set(pair.rows)) == 12
    assert set(pair.columns) <= set(ratings.items[ratings.users == who])
    assert pair.inside.n_users == pair.outside.n_users == ratings.n_users
    others = ratings.users != who
    if target == "moments":
        assert np.array_equal(pair.outside.values, ratings.values[others])
        assert np.array_equal(pair.outside.users, ratings.users[others])
        assert np.array_equal(pair.outside.items, ratings.items[others])
        assert pair.inside is ratings
    else:
        differs = np.flatnonzero(pair.inside.values != pair.outside.values)
        assert differs.size == 1
        assert not others[differs]
        assert pair.inside.values[differs] == ratings.high
        assert pair.outside.values[differs] == ratings.low
        assert np.array_equal(
            np.delete(pair.inside.values, differs), np.delete(ratings.values, differs)
        )


@pytest.mark.parametrize("kind", ["images", "documents"])
def test_two_sets_of_samples_differ_in_one_place_only(kind: str) -> None:
    mine = brought(kind)
    with user_datasets.using(mine):
        for record in ("", "3"):
            pair = with_and_without(spec_of(mine, target="moment-nmf", record=record))
            first, second = (
                part.values.toarray() if sparse.issparse(part.values) else np.asarray(part.values)
                for part in (pair.inside, pair.outside)
            )
            place = np.flatnonzero((first != second).any(axis=0))
            assert place.size == 1
            assert not second[:, place].any()
            away = ((first - first.mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
            assert place == (2 if record else np.argmax(away))
            assert pair.record.endswith(f" {place[0] + 1} of {first.shape[1]}")
            assert type(pair.inside.values) is type(pair.outside.values)
            if kind == "documents":
                first, second = (s.counts.toarray() for s in (pair.inside, pair.outside))
                assert np.array_equal(np.flatnonzero((first != second).any(axis=0)), place)
                assert not second[:, place].any()


@pytest.mark.parametrize("kind", ["images", "documents"])
def test_records_are_numbered_as_in_the_file(kind: str) -> None:
    """Those that hold nothing are counted, and there is nothing to audit of them."""
    if kind == "images":
        stack = np.random.default_rng(1).integers(1, 255, (12, 4, 4), dtype=np.uint8)
        stack[[1, 2]] = 0
        with io.BytesIO() as buffer:
            np.save(buffer, stack)
            mine = own.read(kind, "a.npy", buffer.getvalue(), name="own-images-0123456789abcdef")
    else:
        lines = [f'"the people and the water of number {k}"' for k in range(12)]
        lines[1], lines[2] = '""', '"qqxz"'
        data = "\n".join(["text", *lines]).encode()
        mine = own.read(kind, "a.csv", data, name="own-documents-0123456789abcdef")
    assert mine.entry.samples == 12
    with user_datasets.using(mine):
        pair = with_and_without(spec_of(mine, target="moment-nmf", record="4"))
        assert pair.record.endswith(" 4 of 12")
        first, second = (
            part.values.toarray() if sparse.issparse(part.values) else np.asarray(part.values)
            for part in (pair.inside, pair.outside)
        )
        assert np.flatnonzero((first != second).any(axis=0)).tolist() == [1]
        for empty in ("2", "3"):
            with pytest.raises(DataError, match=f"{empty} holds nothing"):
                with_and_without(spec_of(mine, target="moment-nmf", record=empty))
        with pytest.raises(ParameterError, match="from 1 to 12"):
            with_and_without(spec_of(mine, target="moment-nmf", record="1" * 5000))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "target"),
    [("ratings", "moments"), ("images", "private-nmf"), ("documents", "moment-nmf")],
)
def test_too_little_noise_is_found_on_brought_data_and_enough_is_not(
    kind: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = brought(kind)
    with user_datasets.using(mine):
        spec = spec_of(mine, target=target, rank=2, iterations=2)
        honest = audit(spec)
        assert honest.statement.epsilon <= 0.5
        assert not any(honest.beaten.values())
        sample = budget.sample
        monkeypatch.setattr(budget, "sample", lambda release, rng: sample(release, rng) / 10_000)
        found = audit(spec)
    assert found.beaten == {"claimed": True}
    assert found.record == honest.record
    assert found.summary()["record"] == found.record


def test_what_is_nominal_gives_a_rating_of_brought_data_away() -> None:
    mine = brought()
    with user_datasets.using(mine):
        found = audit(spec_of(mine, target="als", mechanism="laplace", epsilon=1, runs=500))
    assert found.beaten["nominal, one release"]
    assert "the user's row included" in found.verdict


def test_an_audit_of_brought_data_says_itself_whole() -> None:
    mine = brought()
    with user_datasets.using(mine):
        spec = spec_of(mine, record="reader 'x'")
        assert AuditSpec.from_json(spec.to_json()) == spec
        assert mine.words() in spec.command()
        assert spec.command().endswith("--record 'reader '\"'\"'x'\"'\"''")
        catalogue = spec.replace(dataset="ml-100k", record="3")
        assert "--dataset ml-100k --record 3" in catalogue.command()
    assert "dataset" not in AuditSpec().as_dict()


@pytest.mark.parametrize(
    ("named", "words"),
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
def test_mistakes_are_one_sentence(named: dict[str, Any], words: str) -> None:
    mine = brought()
    with user_datasets.using(mine), pytest.raises(ParameterError, match=words):
        with_and_without(spec_of(mine, **{"record": "1", **named}))


def test_whose_ratings_are_all_or_none_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    for record, given in (("1", "gave 4 of 4"), ("2", "gave 0 of 4")):
        one = Ratings.checked(
            np.zeros(4, dtype=int), np.arange(4), np.array([1.0, 2, 4, 5]), n_users=2, low=1, high=5
        )
        monkeypatch.setattr(audit_targets, "ratings_of", lambda data, one=one: one)
        with pytest.raises(DataError, match=given):
            with_and_without(AuditSpec(target="moments", dataset="low-rank", record=record))


@pytest.mark.nightly
def test_the_command_audits_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "mine.csv"
    table.write_bytes(RATINGS)
    words = ["audit", "--target", "dpals", "--mechanism", "gaussian", "--epsilon", "2"]
    words += ["--runs", "100", "--data", str(table), "--record", "3"]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["spec"]["record"] == "3"
    assert said["beaten"] == {"claimed": False}
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "the two datasets differ in: " in said
    assert "without noise" in said
    assert main([*words, "--dataset", "ml-100k"]) == 2
    assert "left out with --data" in capsys.readouterr().err
    assert main(["audit", "--outputs", str(table), "--epsilon", "1", "--record", "3"]) == 2
    assert "left out with --outputs" in capsys.readouterr().err
