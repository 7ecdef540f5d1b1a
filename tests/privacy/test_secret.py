"""Secret noise: from the operating system, kept nowhere, and repeated by nothing."""

import json
import pickle
import random
import secrets
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from randomgen import ChaCha

from dpmc_core.datasets import user_datasets
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import record_of
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.solve import noise_source
from dpmc_core.mechanisms.secret import generators_of, is_secret, secret_generator
from tests.faults import raising
from tests.own.files import long_csv, read_table
from tests.privacy.helpers import curator_of
from tests.terminal import Terminal

SECRET = RunSpec.of(
    algorithm="moments",
    mechanism="gaussian",
    epsilon=5.0,
    n_users=120,
    n_items=20,
    observed=0.5,
    rank=2,
    secret=True,
)
FACES = {"algorithm": "moment-nmf", "dataset": "cartoon", "n_samples": 100, "rank": 3}
SEEDED = SECRET.replace(seed=1)
KEY = secrets.randbits(256)
REPEATABLE = "Repeatable for teaching: noise is public, no guarantee for real data."


def assert_unlike(drawn: list[np.ndarray]) -> None:
    """No two vectors of 1,000 numbers are correlated."""
    apart = np.corrcoef(drawn)[~np.eye(len(drawn), dtype=bool)]
    assert np.abs(apart).max() < 5 / np.sqrt(1000)


def test_the_generator_is_chacha_of_twenty_rounds() -> None:
    """The first block of the key 0 (RFC 8439, appendix A.1, test vector 1)."""
    words = np.asarray(ChaCha(key=0, rounds=20).random_raw(8), dtype="<u8")
    assert words.tobytes().hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )


def test_every_generator_has_a_key_of_its_own_from_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert_unlike([noise_source(SECRET).standard_normal(1000) for _ in range(4)])
    widths: list[int] = []
    # an independent way to the numbers of a key
    expected = np.random.Generator(ChaCha(key=KEY, rounds=20)).standard_normal(50)
    monkeypatch.setattr("secrets.randbits", lambda bits: widths.append(bits) or KEY)
    for _ in range(2):
        assert np.array_equal(secret_generator().standard_normal(50), expected)
    assert widths == [256, 256]
    # all of the key counts, not a part of it
    for bit in (0, 63, 64, 127, 128, 255):
        monkeypatch.setattr("secrets.randbits", lambda _, bit=bit: KEY ^ (1 << bit))
        assert not np.array_equal(secret_generator().standard_normal(50), expected)


def test_pieces_of_secret_noise_are_as_secret() -> None:
    """A release that is drawn in pieces takes generators of the same kind, each with its key."""
    of = generators_of(secret_generator())
    drawn, again = ([of(k).standard_normal(1000) for k in range(4)] for _ in range(2))
    assert_unlike(drawn)
    assert np.array_equal(drawn, again)
    assert all(is_secret(of(k)) for k in range(4))
    seeded = (generators_of(np.random.default_rng(3))(5).standard_normal(9) for _ in range(2))
    assert np.array_equal(*seeded)
    curators = [curator_of(secret_generator(), coordinates=2_000) for _ in range(2)]
    noises = (curator.release("x", np.zeros((2, 1_000)), by_row=True) for curator in curators)
    assert_unlike([row for noise in noises for row in noise])


def test_a_system_without_entropy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", raising(NotImplementedError("none was found")))
    with pytest.raises(DataError, match=r"gives no random bits .* a seed makes a run"):
        run(SECRET)
    assert np.isfinite(run(SEEDED).value)  # which needs none


def test_nothing_that_is_kept_or_shown_has_the_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The key, in any of its usual forms, is in no export; nor do other keys give the numbers."""
    monkeypatch.setattr("secrets.randbits", lambda bits: KEY)
    monkeypatch.setattr("secrets.token_hex", lambda size: "ab" * size)
    result, same, other = (run(SECRET.repetition(seed)) for seed in (3, 3, 4))
    assert np.array_equal(result.model.item_factors, same.model.item_factors)
    # the seed of a secret run chooses what is held out
    assert np.array_equal(result.split.test.users, same.split.test.users)
    assert not np.array_equal(result.split.test.users, other.split.test.users)
    store = RunStore(tmp_path / "runs.sqlite")
    store.add(record_of(result, once=True))
    store.close()
    spec = result.spec
    texts = json.dumps(result.summary()), spec.to_json(), spec.command(), spec.python(), str(result)
    raw = KEY.to_bytes(32, "little")
    halves = [raw[:16], raw[16:], raw[:16][::-1], raw[16:][::-1]]
    words = [int.from_bytes(raw[k : k + 8], "little") for k in range(0, 32, 8)]
    written = [str(number).encode() for number in (KEY, *words)]
    for export in (
        pickle.dumps(result),
        *map(str.encode, texts),
        *(part.read_bytes() for part in tmp_path.iterdir()),
    ):
        for form in (f"{KEY:x}".encode(), *halves, *written):
            assert form not in export
    monkeypatch.undo()
    again = run(RunSpec.from_json(json.dumps(result.summary()["spec"])))
    # products: how many columns there are depends on the noise too
    first, second = (r.model.item_factors for r in (result, again))
    assert not np.allclose(first @ first.T, second @ second.T)


def test_the_text_forms_of_a_secret_run_make_a_secret_run() -> None:
    for spec in (
        SECRET,
        SECRET.repetition(7),
        RunSpec.of({**FACES, "secret": True}, epsilon=1.0, mechanism="gaussian"),
    ):
        assert spec.secret
        assert RunSpec.from_json(spec.to_json()) == spec
        assert RunSpec.of(spec.flat()) == RunSpec.of(spec.changes()) == spec
        assert "--secret" in shlex.split(spec.command())
        room: dict[str, Any] = {}
        exec(spec.python().rsplit("print", 1)[0], room)
        assert room["result"].spec == spec
    assert SECRET.repetition(7).seed == 7
    settings = {k: v for k, v in SECRET.flat().items() if k not in ("algorithm", "task")}
    runs = [one.spec for one in StudySpec.of("completion", "epsilon", settings, 2).plan()]
    assert {spec.secret for spec in runs if spec.flat().get("epsilon")} == {True}
    assert "secret" not in SECRET.replace(seed=7).to_json()  # a seed asks for what can be repeated


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seed": 1}, "seed = 1 is not allowed: it must be left out beside secret"),
        ({"seed": 0}, "seed = 0 is not allowed"),
        ({"mechanism": "none", "epsilon": None}, "secret = True .* without a guarantee"),
        ({"algorithm": "als"}, "secret = True .* without a guarantee"),
        ({"secret": False, "split_seed": 1}, "split_seed = 1 .* unless the noise is secret"),
        ({"secret": "yes"}, "secret = 'yes' is not allowed: it must be true or false"),
        ({"secret": 1}, "secret = 1 is not allowed: it must be true or false"),
        ({"split_seed": -1}, "seed = -1 is not allowed"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, object], message: str) -> None:
    usual = {"algorithm": "moments", "mechanism": "gaussian", "epsilon": 1.0, "secret": True}
    with pytest.raises(ParameterError, match=message):
        RunSpec.of({**usual, **fields})


def test_own_data_draws_secret_noise_unless_a_seed_is_given() -> None:
    mine = read_table(long_csv(40, 12))
    with user_datasets.using(mine):
        settings = {"dataset": mine.name, "mechanism": "gaussian", "epsilon": 1.0, "rank": 2}
        spec = RunSpec.of(settings, algorithm="moments")
        assert spec.secret
        first, second, *_ = run(spec).statement.caveats
        assert first.startswith("Not covered: item list, scale, number of users read off the data")
        assert second.startswith("Secret noise: drawn with 256 random bits")
        assert "--secret" not in spec.command()  # it is the usual there
        assert RunSpec.of(spec.changes()) == spec
        for seed in (0, 5):
            seeded = RunSpec.of(settings, algorithm="moments", seed=seed)
            assert not seeded.secret
            assert RunSpec.of(seeded.changes()) == RunSpec.from_json(seeded.to_json()) == seeded
            assert run(seeded).statement.caveats[1].startswith(REPEATABLE)
        nominal = RunSpec.of(dataset=mine.name, algorithm="als", mechanism="huber", variance=1)
        assert not nominal.secret
        assert nominal.replace(algorithm="moments", epsilon=1.0).secret
        assert not spec.replace(dataset="low-rank").secret
        assert seeded.replace(rank=3).secret is False
        sweep = SweepSpec.from_dict({"seeds": 2, "base": {**settings, "algorithm": "moments"}})
        assert all(one.spec.secret for one in sweep.plan())
        assert len({one.spec.seed for one in sweep.plan()}) == 2


def test_a_file_on_the_command_line_draws_secret_noise(tmp_path: Path, terminal: Terminal) -> None:
    table = tmp_path / "x.csv"
    table.write_bytes(long_csv(40, 12))
    line = f"complete moments --data {table} --rank 2 --mechanism gaussian --epsilon 1"
    first, second = (terminal.json(f"{line} --split-seed 3") for _ in range(2))
    assert first["rmse"] != second["rmse"]
    assert first["spec"]["secret"] is True
    seeded, again = (terminal.json(f"{line} --seed 0") for _ in range(2))
    assert seeded["rmse"] == again["rmse"]
    refused = terminal.refusal("complete moments --mechanism gaussian --secret --seed 3")
    assert "seed = 3 is not allowed: it must be left out beside secret" in refused


def test_releases_of_one_secret_spec_are_all_kept_and_public_noise_is_said_to_be(
    tmp_path: Path,
) -> None:
    repeatable, secret = run(SEEDED), [run(SECRET) for _ in range(2)]
    with RunStore(tmp_path / "runs.sqlite") as store:
        added = [
            store.add(record_of(result, once=True)) for result in (*secret, repeatable, repeatable)
        ]
    assert added == [True, True, True, False]
    faces = run(RunSpec.of(FACES, mechanism="gaussian", epsilon=1.0))
    for result in (repeatable, faces):
        assert result.statement.caveats[0].startswith(REPEATABLE)
        assert result.statement.label.endswith("repeatable for teaching")
    assert "repeatable" not in secret[0].statement.label


@pytest.mark.nightly
def test_the_audit_that_tries_every_seed_beats_public_noise_and_not_secret_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the system's keys are the same at every run of the tests: what is found is then no luck
    monkeypatch.setattr("secrets.randbits", random.Random(18).getrandbits)
    spec = AuditSpec(target="moments", case="seed-search", mechanism="gaussian", runs=200)
    public = audit(spec)
    assert public.beaten == {"claimed": True}
    assert public.attack.bound.accuracy == 1.0
    assert public.statement.caveats[0].startswith(REPEATABLE)
    secret = audit(spec.replace(case="secret"))
    assert secret.beaten == {"claimed": False}
    assert secret.attack.bound.accuracy_low < 0.5 < secret.attack.bound.accuracy_high
    with pytest.raises(ParameterError, match=r"case = 'secret' is not allowed: .* for dpals"):
        AuditSpec(target="dpals", case="secret")
    with pytest.raises(ParameterError, match="items for the search of seeds"):
        spec.replace(view="others")
