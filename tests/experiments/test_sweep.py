"""Sweeps: the same numbers whatever computes them, stopped and resumed, and mistakes told in a
sentence.
"""

import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.server.visitor import free_port
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import Record, record_of
from dpmc_core.experiments.store.store import RunStore, StoreError
from dpmc_core.experiments.sweeps.spec import SweepSpec, seeds_of
from dpmc_core.experiments.sweeps.sweep import SweepError, finished, read_unkept, sweep
from dpmc_core.experiments.tasks.solve import resolved
from dpmc_core.experiments.worker.cluster import asks_for_tls
from dpmc_core.experiments.worker.process import Share
from tests.clusters import WORKER, children, cluster, wait_for_workers
from tests.waiting import until

TOML = """
name = "which noise"
seeds = 2
seed = 7

[base]
n_users = 40
n_items = 30
observed = 0.5
rank = 2
iterations = 3

[grid]
algorithm = ["als", "svt"]
mechanism = ["none", "huber", "laplace", "gaussian"]
variance = [1.0, 2.0]
"""


WHICH_NOISE = SweepSpec.from_toml(TOML)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore(tmp_path / "runs") as opened:
        yield opened


def records_of(spec: SweepSpec, place: Path, **how: object) -> list[Record]:
    """The records of all runs, in the sweep's order, made in the store at ``place``."""
    with RunStore(place) as store:
        for _ in sweep(spec, store, **how):
            pass
        return [record for _, record in finished(spec, store, whole=True)]


def numbers(records: list[Record]) -> list[tuple]:
    """All that runs gave, but for the time that they took."""
    return [
        (r.key, r.value, r.baseline, r.truth, r.epsilon, [{**s, "seconds": 0} for s in steps])
        for r in records
        for steps in [r.summary["steps"]]
    ]


def test_a_file_is_the_runs_that_it_says() -> None:
    spec = WHICH_NOISE
    cells = spec.cells()
    # without noise no variance, and SVT has no private form: 1 + 3 × 2 of ALS, one of SVT
    assert len(cells) == 8
    assert dict(cells[0][0]) == {"algorithm": "als", "mechanism": "none"}
    plan = list(spec.plan())
    assert [(p.cell, p.replicate) for p in plan] == [(c, k) for k in range(2) for c in range(8)]
    for p in plan:
        assert (p.spec.seed, p.spec.data.data_seed) == seeds_of(7, 2)[p.replicate]
        assert p.spec.data.n_users == 40
    assert list(replace(spec, seeds=5).plan())[:16] == plan
    same_data = SweepSpec.from_toml("fresh_data = false\n" + TOML)
    real = SweepSpec(base=(("dataset", "ml-100k"),), seeds=2)  # files are what they are
    assert {p.spec.data.data_seed for one in (same_data, real) for p in one.plan()} == {0}
    grid = (("alpha", (0.3, 1.0)), ("mechanism", ("huber",)))
    odd = SweepSpec(name="😀 ü", seeds=2.0, seed=3.0, grids=(grid,))
    assert (odd.seeds, odd.seed, len(list(odd.plan()))) == (2, 3, 4)
    for one in (spec, odd):
        assert SweepSpec.from_toml(one.to_toml()) == one
        assert SweepSpec.from_dict(json.loads(one.to_json())) == one
    assert len({*seeds_of(0, 1000), *seeds_of(1, 3)}) == 1003


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (  # several grids are joined, and equal cells run once
            '[[grid]]\nmechanism = ["huber"]\nalpha = [1.0, 3.0]\n'
            '[[grid]]\nmechanism = ["none", "huber"]\nalpha = [3.0]\n',
            [("huber", "als", 32, 1.0), ("huber", "als", 32, 3.0), ("none", "als", 32, None)],
        ),
        (  # the grid goes before the base, and alpha is Huber's
            "[base]\nrank = 9\nalpha = 2.0\n"
            '[grid]\nrank = [3]\nmechanism = ["laplace", "none"]\nalgorithm = ["als", "svt"]\n',
            [("laplace", "als", 3, None), ("none", "svt", 3, None), ("none", "als", 3, None)],
        ),
    ],
)
def test_cells_are_what_their_settings_say(text: str, cells: list[tuple[Any, ...]]) -> None:
    spec = SweepSpec.from_toml(text)
    assert cells == [
        (dict(settings)["mechanism"], cell.card.name, cell.algorithm.rank, cell.noise.alpha)
        for settings, cell in spec.cells()
    ]


def test_stopped_and_resumed(tmp_path: Path, store: RunStore) -> None:
    steps = sweep(WHICH_NOISE, store, jobs=1)
    states = [next(steps) for _ in range(6)]
    assert [m.done for m in states] == [0, 1, 2, 3, 4, 5]
    assert states[0].remaining is None
    assert states[-1].remaining > 0
    steps.close()
    assert len(finished(WHICH_NOISE, store)) == 5  # a part of a sweep is of use
    store.close()  # and whoever opens it anew meets the same runs
    first, *_, last = sweep(WHICH_NOISE, store, jobs=1)
    assert (first.done, first.before, first.total) == (5, 5, 16)
    assert (last.done, last.before) == (16, 5)
    assert [m.done for m in sweep(WHICH_NOISE, store)] == [16]  # nothing is made twice
    assert store.count() == 16
    # and they are those of the core itself, to the last bit
    plain = [record_of(run(planned.spec, workers=1)) for planned in WHICH_NOISE.plan()]
    assert numbers(records_of(WHICH_NOISE, tmp_path / "runs")) == numbers(plain)


def test_a_run_that_cannot_be_finished_is_told_and_the_sweep_goes_on(tmp_path: Path) -> None:
    spec = SweepSpec.from_toml(
        "seeds = 1\n[base]\nn_users = 12\nn_items = 12\niterations = 2\n"
        'algorithm = "private-svd"\nmechanism = "gaussian"\n'
        "[[grid]]\nrank = [50, 2]\nobserved = [0.9]\n[[grid]]\nobserved = [0.01]\n"
    )
    bad, good, tiny = records_of(spec, tmp_path / "runs", jobs=1)
    for record in (tiny, bad):
        assert record.value is None
        assert record.error.endswith(".")
        assert record.summary["error"] == record.error
    assert "rank" in bad.error
    assert (bad.unit, bad.nominal) == ("user", False)
    assert good.value > 0


@pytest.mark.long
def test_dead_workers_take_no_run_with_them(tmp_path: Path, store: RunStore) -> None:
    spec = replace(WHICH_NOISE, seeds=8)
    killed = 0
    for state in sweep(spec, store, jobs=2):
        if state.done >= 10 and not killed:
            for child in children(WORKER):
                child.kill()
                killed += 1
    assert killed >= 2
    assert state.done == state.total == store.count() == 64
    records = [record for _, record in finished(spec, store, whole=True)]
    assert numbers(records) == numbers(records_of(spec, tmp_path / "other", jobs=1))


@pytest.mark.long
def test_workers_that_die_again_and_again_end_a_sweep(store: RunStore) -> None:
    with pytest.raises(SweepError, match=r"ended 3 times, perhaps for want of memory \(0 of 16"):
        list(sweep(WHICH_NOISE, store, jobs=2, share=Share(memory=60)))


def test_what_cannot_be_kept_is_put_elsewhere(
    tmp_path: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plain, calls = store.add, []

    def full(record: Record) -> bool:
        calls.append(record)
        if len(calls) == 4:
            raise StoreError("The run store could not be kept: its disk is full.")
        return plain(record)

    monkeypatch.setattr(store, "add", full)
    with pytest.raises(StoreError, match="disk is full") as error:
        list(sweep(WHICH_NOISE, store, jobs=1))
    place = re.search(
        r"is in (\S+): add it later with 'python -m dpmc_core runs add", str(error.value)
    )
    file, lost = Path(place[1]), calls[3]
    assert store.count() == 3
    assert [read_unkept(file, store) for _ in range(2)] == [1, 0]
    assert store.count() == 4
    assert store.find([lost.key])[lost.key] == lost
    for change, message in (
        ({"spec": RunSpec.of().to_json()}, "does not fit its settings"),
        ({"mechanism": "cauchy"}, "does not fit its settings"),
        ({"measure": None}, "does not fit its settings"),
        ({"value": math.nan}, "NaN is no finite number"),
        ({"value": math.inf}, "Infinity is no finite number"),
        ({"value": 17.25}, "-1e999 is no finite number"),
        ({"value": None}, "neither a result nor an error"),
    ):
        file.write_text(json.dumps({**asdict(lost), **change}).replace("17.25", "-1e999"))
        with pytest.raises(DataError, match=message):
            read_unkept(file, store)
    with pytest.raises(DataError, match="holds no runs that can be added"):
        read_unkept(tmp_path / "nothing", store)


@pytest.mark.parametrize(
    ("part", "other", "message"),
    [
        (
            "variance = [1.0, 2.0]",
            "variance = [1.0, -2.0]",
            "algorithm = als, mechanism = huber, variance = -2.0",
        ),
        (
            "variance = [1.0, 2.0]",
            "variance = 2.0",
            "a list of values in [grid]; what does not vary belongs in [base]",
        ),
        ("variance = [1.0, 2.0]", "variance = []", "a list with at least one value"),
        (
            "variance = [1.0, 2.0]",
            "varience = [1.0]",
            "sweep field = 'varience' is not allowed: it must be one of",
        ),
        ("variance = [1.0, 2.0]", "seed = [1, 2]", "seeds come from the sweep's own seed"),
        ('"als", "svt"', '"als", "nope"', "algorithm = 'nope' is not allowed"),
        (
            '"als", "svt"',
            '"als", "dpals"',
            "variance = 1.0 is not allowed: it must be left out for DPALS: its noise is given "
            "by sigma, total_epsilon",
        ),
        ("[base]", "[base", "sweep file = "),
        ("seeds = 2", "seeds = 0", "seeds = 0 is not allowed"),
        ("seeds = 2", "seeds = 9000", "at most 100,000 runs"),
        ("seeds = 2", "speed = 2", "sweep field = 'speed' is not allowed: it must be one of"),
        ("rank = 2", "rank = [2]", "rank = [2] is not allowed: it must be a number or a name"),
        ("rank = 2", "version = 1", "seeds come from the sweep's own seed"),
        ('"which noise"', '""', "1 to 80 printable characters"),
        ("[grid]", "[[grid]]\nrank = 3\n[[grid]]", "a list of values in [grid]"),
        ("seed = 7", 'seed = 7\nkind = "cooking"', "one of completion, factorization"),
        ("seed = 7", "seed = 7\nfresh_data = 1", "true or false"),
        ("seed = 7", "seed = 7\nbase = 3", "sweep file = "),
        ("seed = 7", 'seed = 7\nkind = ["completion"]', "one of completion, factorization"),
        ("seed = 7", "seed = 7.5", "seed = 7.5 is not allowed"),
        ("seed = 7", "seed = 7\nx = " + "[" * 3000 + "]" * 3000, "sweep file = "),
        (TOML, "base = 3", "a table of settings"),
        (TOML, "grid = 3", "a table of lists"),
        (TOML, "grid = []", "a table of lists"),
        (
            TOML,
            'kind = "factorization"\n[base]\nalgorithm = "als"',
            "one for factorization, the kind of this sweep",
        ),
        (TOML, '[base]\nalgorithm = "nmf"', "one for completion, the kind of this sweep"),
        (
            TOML,
            '[grid]\nmechanism = ["laplace"]\nalgorithm = ["dpnmf"]\ntotal_epsilon = [8.0]',
            "total_epsilon",
        ),
    ],
)
def test_a_malformed_file_is_refused(part: str, other: str, message: str) -> None:
    assert part in TOML
    with pytest.raises(ParameterError, match=re.escape(message)):
        SweepSpec.from_toml(TOML.replace(part, other))


# of which an algorithm takes the settings that it has
SMALL = {"n_users": 40, "n_items": 30, "observed": 0.5, "rank": 2, "iterations": 3, "inner": 2}
SMALL |= {"reg": 0.5, "item_share": 1.0, "clip_norm": 1.0, "centring": "mean"}


@pytest.mark.parametrize(
    ("algorithm", "mechanism", "place", "releases"),
    [
        *(("als", mechanism, "right", 3) for mechanism in ("huber", "laplace", "gaussian")),
        *(("als", "laplace", "ratings", 3), ("als", "laplace", "both", 6)),
        *(("als", "laplace", "output", 3), ("irls", "huber", "right", 6)),
        *(("irls", "laplace", "ratings", 6), ("irls", "laplace", "both", 12)),
        *(("irls", "laplace", "output", 3), ("irls", "gaussian", "right", 6)),
        # its plan is of the total
        *(("dpals", mechanism, "right", 0) for mechanism in ("huber", "laplace", "gaussian")),
    ],
)
def test_equal_total_is_what_the_statement_says(
    algorithm: str, mechanism: str, place: str, releases: int
) -> None:
    settings = {**SMALL, "algorithm": algorithm, "noise_on": place}
    spec = RunSpec.fitting(settings, mechanism=mechanism, total_epsilon=6.0)
    assert (resolved(spec) == spec) == (releases == 0)
    statement = run(spec).statement
    least = 6.0 * (1 - 1e-4) if releases else 5.0
    assert least < statement.epsilon <= 6.0 * (1 + 1e-9)
    assert releases in (0, statement.draws)
    if algorithm == "als":
        with pytest.raises(ParameterError, match=r"total_epsilon = 6.0 .* noise ends before the"):
            run(spec.replace(noisy_iterations=2))


def test_equal_total_in_a_sweep() -> None:
    spec = SweepSpec.from_toml(
        '[base]\niterations = 4\n[grid]\nmechanism = ["none", "laplace"]\ntotal_epsilon = [8.0]\n'
    )
    (_, plain), (settings, noisy) = spec.cells()
    assert resolved(plain) == plain == RunSpec.of(iterations=4)
    assert dict(settings) == {"mechanism": "laplace", "total_epsilon": 8.0}
    assert noisy == RunSpec.of(mechanism="laplace", iterations=4, total_epsilon=8.0)
    for total in (0.1, 1e6):
        assert 0 < resolved(noisy.replace(total_epsilon=total)).noise.variance < math.inf
    with pytest.raises(ParameterError, match=r"total_epsilon = 0.001 .* another for 4 releases"):
        resolved(noisy.replace(total_epsilon=1e-3))


def test_factorisations_are_swept_too(tmp_path: Path) -> None:
    """Their epsilon is the total."""
    text = (
        'kind = "factorization"\nseeds = 2\n[base]\ndataset = "cartoon"\nn_samples = 200\n'
        'rank = 4\nrounds = 4\nmechanism = "gaussian"\n'
        '[grid]\nalgorithm = ["nmf", "moment-nmf"]\nepsilon = [1.0, 10.0]\n'
    )
    spec, total = (SweepSpec.from_toml(t) for t in (text, text.replace("epsilon", "total_epsilon")))
    assert [cell for _, cell in spec.cells()] == [cell for _, cell in total.cells()]
    records = records_of(spec, tmp_path / "runs", jobs=1)
    assert [r.unit for r in records] == ["", "image", "image"] * 2


# a real cluster on loopback


@pytest.mark.long
def test_a_cluster_of_one_thread_computes_and_its_end_is_told(
    tmp_path: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SweepSpec.from_toml(TOML.replace("iterations = 3", "iterations = 200"))

    def kill_the_scheduler_half_way(address: str) -> None:
        states = sweep(spec, store, scheduler=address)
        next(state for state in states if state.done == 2)
        children(" scheduler ")[0].kill()
        for _ in states:  # the same number may come again before its end is known
            pass

    with cluster(tmp_path, 1) as (address, _):
        wait_for_workers(address, 1)
        monkeypatch.setattr("dpmc_core.experiments.sweeps.workers.run_single_threaded", None)
        with pytest.raises(SweepError, match=r"its workers are gone: .*goes on from here"):
            kill_the_scheduler_half_way(address)
        assert 2 <= store.count() < 16


@pytest.mark.long
def test_a_scheduler_without_workers_and_none_at_all(tmp_path: Path, store: RunStore) -> None:
    dead = f"tcp://127.0.0.1:{free_port()}"
    started = time.monotonic()
    with pytest.raises(
        SweepError,
        match=f"No Dask scheduler answers at '{dead}'.*leave --scheduler out to compute here",
    ):
        next(sweep(WHICH_NOISE, store, scheduler=dead))
    assert time.monotonic() - started < 60
    for malformed in ("nonsense://x", "tcp://", "127.0.0.1", "tcp://host:port", "tcp://a:99999"):
        with pytest.raises(ParameterError, match="must be an address as tcp://host:8786"):
            next(sweep(WHICH_NOISE, store, scheduler=malformed))
    with cluster(tmp_path, 0) as (address, _):
        wait_for_workers(address, 0)
        with pytest.raises(SweepError, match="has no workers: start some with 'dask worker"):
            next(sweep(WHICH_NOISE, store, scheduler=address))
    assert store.count() == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_scheduler_that_asks_for_tls(tmp_path: Path, store: RunStore) -> None:
    """Named by tcp:// it is told apart from one that is not there; with its files it works."""
    request = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out certificate.pem "
        "-subj /CN=127.0.0.1"
    )
    subprocess.run(shlex.split(request), check=True, capture_output=True, cwd=tmp_path)
    port = free_port()
    words = (
        f"-m dask scheduler --host 127.0.0.1 --port {port} --protocol tls --no-dashboard "
        "--no-show --tls-ca-file certificate.pem --tls-cert certificate.pem --tls-key key.pem"
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([sys.executable, *shlex.split(words)], cwd=tmp_path, **quiet)
    try:
        until(lambda: asks_for_tls("127.0.0.1", port))
        for protocol, message in (
            ("tcp", f"asks for TLS: name it by tls://127.0.0.1:{port}, with DASK_"),
            ("tls", "is named by TLS, which needs DASK_"),
        ):
            address = f"{protocol}://127.0.0.1:{port}"
            with pytest.raises(SweepError, match=f"scheduler at {address} {message}"):
                next(sweep(WHICH_NOISE, store, scheduler=address))
    finally:
        scheduler.kill()
        scheduler.wait()
