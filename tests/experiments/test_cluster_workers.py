"""Sweeps as pages make them on a real Dask cluster: the same numbers as on one process, few
processes, and none left behind.
"""

from pathlib import Path
from typing import Any

import pytest

from dpmc_core.experiments import steps
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps import workers as of_runs
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.worker.cluster import ClusterWorker, Connection
from dpmc_core.experiments.worker.remote import RemoteProcess
from tests.clusters import WORKER, children, cluster, wait_for_workers
from tests.experiments.test_cluster_worker import TINY, gone
from tests.experiments.test_sweep import TOML, numbers, records_of


@pytest.mark.long
def test_the_same_numbers_and_the_first_runs_in_the_process_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SweepSpec.from_toml(TOML)
    started: list[int] = []
    begin = RemoteProcess.__init__

    def noted(self: RemoteProcess, *given: Any, **options: Any) -> None:
        started.append(1)
        begin(self, *given, **options)

    monkeypatch.setattr(RemoteProcess, "__init__", noted)
    monkeypatch.setattr(of_runs, "_TURN", 1e6)  # on a busy machine, too, one turn for all
    with cluster(tmp_path, 2) as (address, hands):
        wait_for_workers(address, 2)
        connection = Connection(address)
        usual = numbers(records_of(spec, tmp_path / "here", jobs=1))
        for jobs in (2, 1):
            started.clear()
            workers = Workers(jobs, connection=connection)
            found = records_of(spec, tmp_path / f"cluster-{jobs}", workers=workers)
            assert numbers(found) == usual
            assert workers.note == ""
            gone(hands, 60)
        connection.close()
    assert (
        len(started) == 1
    )  # of one worker: the first runs tell how long they take, all others go on


@pytest.mark.long
def test_stopped_or_with_a_worker_less_nothing_is_lost_or_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_runs, "_TURN", 1e6)  # a process works when it is looked for
    spec = SweepSpec.from_toml(TOML.replace("seeds = 2", "seeds = 20"))
    with cluster(tmp_path, 2) as (address, hands), RunStore(tmp_path / "runs") as store:
        wait_for_workers(address, 2)
        connection = Connection(address)
        stopped = sweep(spec, store, workers=Workers(2, connection=connection))
        assert next(one for one in stopped if one.done == 5)
        stopped.close()
        gone(hands, 60)
        workers = Workers(2, connection=connection)
        killed = False
        for one in sweep(spec, store, workers=workers):
            if one.done >= 20 and not killed:
                next(hand for hand in hands if children(WORKER, hand.pid)).kill()
                killed = True
        assert one.done == one.total == store.count() == 160
        assert "A worker was lost" in workers.note
        gone(hands, 60)
        connection.close()


def hidden(dask_worker: Any) -> None:
    from distributed.worker_state_machine import PauseEvent

    dask_worker.handle_stimulus(PauseEvent(stimulus_id="test"))


def told(dask_worker: Any) -> None:
    from distributed.core import Status

    dask_worker.status = Status.paused


def again(dask_worker: Any) -> None:
    from distributed.worker_state_machine import UnpauseEvent

    dask_worker.handle_stimulus(UnpauseEvent(stimulus_id="test"))


@pytest.mark.long
def test_a_job_that_came_to_a_worker_just_as_it_was_paused_goes_to_another(tmp_path: Path) -> None:
    """The scheduler hears of a pause a moment later, and moves nothing that is there by then."""
    with cluster(tmp_path, 2, "--memory-limit", "0") as (address, _):
        wait_for_workers(address, 2)
        connection = Connection(address)
        client = connection.client()
        client.run(hidden)
        worker = ClusterWorker(connection)
        finished, at = False, ""
        for one in worker.draw(steps, [TINY]):
            if not at:
                found = client.processing()
                at = next((name for name, keys in found.items() if keys), "")
                if at:
                    client.run(told, workers=[at])
                    client.run(again, workers=sorted(set(found) - {at}))
            finished = finished or (one is not None and one[1] is not None and one[1].finished)
        assert finished
        assert at
        connection.close()
