"""Sums over partitions on real workers that are paused, for want of memory or so."""

import time
from typing import Any

import numpy as np
import pytest

from dpmc_core.experiments.sweeps.cluster import SweepError
from dpmc_core.partitioned.engine import cluster as clusters
from dpmc_core.partitioned.engine import sums
from dpmc_core.partitioned.engine.cluster import Cluster
from tests.partitioned.test_engine import USUAL, N, Powers, quiet, two_workers

__all__ = ["two_workers"]  # the fixture


def pause(dask_worker: Any) -> None:
    from distributed.core import Status

    dask_worker.status = Status.paused


def busy(dask_worker: Any) -> int:
    return len(dask_worker.state.executing)


def run(dask_worker: Any) -> None:
    from distributed.core import Status

    dask_worker.status = Status.running


@pytest.mark.long
def test_nothing_waits_for_a_worker_that_is_paused(
    two_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = two_workers
    monkeypatch.setattr(clusters, "_PAUSE", 1.0)
    monkeypatch.setattr(clusters, "_WORKERS_PATIENCE", 2.0)
    first, second = sorted(client.scheduler_info()["workers"])
    client.run(pause, workers=[first])
    np.testing.assert_array_equal(Cluster(client).total(Powers(), N, quiet), USUAL)
    client.run(pause, workers=[second])
    with pytest.raises(SweepError, match="paused for want of memory"):
        Cluster(client).total(Powers(), N, quiet)


@pytest.mark.long
def test_what_went_to_a_worker_that_is_paused_before_anybody_knew_is_sent_to_another(
    two_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler hears of a pause a moment later: what all tasks need may be there by then."""
    client, _ = two_workers
    monkeypatch.setattr(clusters, "_PAUSE", 1.0)
    first, _ = sorted(client.scheduler_info()["workers"])
    sent: list[int] = []

    class Unaware(Cluster):
        def _submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
            if function is sums.same:
                sent.append(1)
                if len(sent) == 1:
                    options["workers"] = [first]
            return super()._submit(function, *arguments, **options)

    began = time.monotonic()

    def tell(done: int, of: int) -> None:
        assert time.monotonic() - began < 60, "it stands still"

    client.run(pause, workers=[first])
    np.testing.assert_array_equal(Unaware(client).total(Powers(), N, tell), USUAL)
    assert len(sent) > 1


@pytest.mark.long
def test_a_worker_that_is_paused_while_it_works_is_waited_for(
    two_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = two_workers
    monkeypatch.setattr(clusters, "_PAUSE", 4.0)  # workers tell what they do every second

    class Pausing(Cluster):
        dropped = 0

        def _drop_lost(self, lanes: Any, workers: Any, lost_over: Any) -> None:
            self.dropped += sum(lane.address not in workers for lane in lanes)
            super()._drop_lost(lanes, workers, lost_over)

    told: list[int] = []

    def tell(done: int, of: int) -> None:
        if not told and sum(client.run(busy).values()) == 2:  # both have begun
            told.append(done)
            client.run(pause)
        if done == 2:  # a worker that has worked off what it had begun has memory again
            client.run(run)

    engine = Pausing(client)
    np.testing.assert_array_equal(
        engine.total(Powers(pause=8.0), 2, tell), USUAL * (np.arange(N) < 2)
    )
    assert told == [0]
    assert engine.dropped == 0
