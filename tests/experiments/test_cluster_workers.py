"""Sweeps as pages make them on a real Dask cluster: the same numbers as on one process, few
processes, and none left behind.
"""

import signal
from pathlib import Path
from typing import Any

import pytest

from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.cluster_workers import ClusterWorkers
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from dpmc_core.experiments.worker.cluster import Connection
from dpmc_core.experiments.worker.remote import RemoteProcess
from tests.clusters import cluster, wait_for_workers
from tests.experiments.test_cluster_worker import computing, gone
from tests.experiments.test_sweep import TOML, made, numbers


def test_the_same_numbers_from_one_process_of_each_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SweepSpec.from_toml(TOML)
    started: list[int] = []
    begin = RemoteProcess.__init__

    def noted(self: RemoteProcess, *given: Any, **options: Any) -> None:
        started.append(1)
        begin(self, *given, **options)

    monkeypatch.setattr(RemoteProcess, "__init__", noted)
    with cluster(tmp_path, 2) as (address, hands):
        wait_for_workers(address, 2)
        connection = Connection(address)
        workers = ClusterWorkers(connection, 2)
        found = made(spec, tmp_path / "cluster", workers=workers)
        assert workers.note == ""
        gone(hands, 10)
        connection.close()
    # the first runs, which tell how long they take, and all others: in the same process
    assert len(started) == 2
    assert numbers(found) == numbers(made(spec, tmp_path / "one", jobs=1))


def test_stopped_or_with_a_worker_less_nothing_is_lost_or_left_behind(tmp_path: Path) -> None:
    spec = SweepSpec.from_toml(TOML.replace("seeds = 2", "seeds = 20"))
    with cluster(tmp_path, 2) as (address, hands), RunStore(tmp_path / "runs") as store:
        wait_for_workers(address, 2)
        connection = Connection(address)
        stopped = sweep(spec, store, workers=ClusterWorkers(connection, 2))
        assert next(one for one in stopped if one.done == 5)
        stopped.close()
        gone(hands, 10)
        workers = ClusterWorkers(connection, 2)
        killed = False
        for one in sweep(spec, store, workers=workers):
            if one.done >= 20 and not killed:
                next(hand for hand in hands if computing(hand)).send_signal(signal.SIGKILL)
                killed = True
        assert one.done == one.total == store.count() == 160
        assert "A worker was lost" in workers.note
        gone(hands, 10)
        connection.close()
