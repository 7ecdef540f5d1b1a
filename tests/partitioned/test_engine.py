"""Sums over partitions on real worker processes that end, are stopped or come while they add up."""

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dpmc_core.errors import DataError
from dpmc_core.experiments.sweeps import workers as many
from dpmc_core.experiments.worker.cluster import SweepError
from dpmc_core.partitioned.engine import Here, Processes, engine_at
from tests.clusters import WORKER, children, cluster, started_worker, wait_for_workers
from tests.faults import raising
from tests.partitioned.folders import quiet

pytestmark = pytest.mark.long

N = 12


@dataclass(frozen=True)
class Powers:
    """10^k at place k: that a partition is missing, or is there twice, is seen in the sum."""

    pause: float = 0.0

    def __call__(self, k: int, into: Any = None) -> Any:
        time.sleep(self.pause)
        out = np.zeros(N) if into is None else into
        out[k] += 10.0**k
        return out


@dataclass(frozen=True)
class Whose(Powers):
    """The process that works on it."""

    def __call__(self, k: int, into: Any = None) -> Any:
        time.sleep(self.pause)
        return os.getpid()


@dataclass(frozen=True)
class Deadly:
    """Ends the process that does partition ``k``: once, or each time (no ``marker``)."""

    work: Any
    k: int
    marker: str = ""

    def __call__(self, k: int, into: Any = None) -> Any:
        if k == self.k and not (self.marker and os.path.exists(self.marker)):
            if self.marker:
                Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(k, into)


class Hungry(Powers):
    """Wants more memory than there is."""

    def __call__(self, k: int, into: Any = None) -> Any:
        return np.ones(1_000_000_000)


class Singular(Powers):
    """Cannot be solved."""

    def __call__(self, k: int, into: Any = None) -> Any:
        raise np.linalg.LinAlgError("singular")


USUAL = 10.0 ** np.arange(N)


@pytest.fixture
def others() -> list[psutil.Process]:
    """The processes of another file's tests: a page's stay for the next run."""
    return children(WORKER)


def ended(others: list[psutil.Process]) -> bool:
    """Whether no process but the ``others`` computes any more, within a few seconds."""
    end = time.monotonic() + 20
    while {*children(WORKER)} - {*others}:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def require_the_usual_sum(engine: Any, work: Any) -> None:
    np.testing.assert_array_equal(engine.total(work, N, quiet), USUAL)


def test_a_sum_is_what_it_is_here(tmp_path: Path, others: list[psutil.Process]) -> None:
    require_the_usual_sum(Here(), Powers())
    progress: list[int] = []
    with engine_at(None, 2) as engine:
        assert isinstance(engine, Processes)
        for _ in range(2):
            require_the_usual_sum(engine, Powers())
        np.testing.assert_array_equal(engine.total(Powers(), 1, quiet), USUAL * (np.arange(N) == 0))
        processes = engine.each(Whose(0.4), 5, lambda done, of: progress.append(done))
        assert len({*processes[::2]}) == len({*processes[1::2]}) == 1  # the same for its partitions
        assert len({*processes}) == 2
        assert engine.each(Whose(), 5, quiet) == processes  # and in the next call
        assert progress[-1] == 5
        assert {*progress} - {0, 5}  # it is seen on the way
        with pytest.raises(DataError, match=r"could not be solved \(singular\); a larger reg"):
            engine.total(Singular(), 2, quiet)
        # one that ends has its part done again
        work = Deadly(Powers(), 7, str(tmp_path / "once"))
        require_the_usual_sum(engine, work)
    assert ended(others)


def test_workers_that_end_again_and_again_end_a_sum(others: list[psutil.Process]) -> None:
    with (
        engine_at(None, 2) as engine,
        pytest.raises(SweepError, match="Workers ended 4 times over one sum, perhaps for"),
    ):
        engine.total(Deadly(Powers(), 1), 3, quiet)
    assert ended(others)


def test_a_limit_of_memory_holds_for_one_process_too() -> None:
    with engine_at(None, 1, 1000) as engine:
        require_the_usual_sum(engine, Powers())
        with pytest.raises(SweepError, match="memory of a worker did not suffice: give"):
            engine.total(Hungry(), 1, quiet)


def test_what_is_stopped_is_over_at_once(others: list[psutil.Process]) -> None:
    with engine_at(None, 2) as engine:
        engine.total(Powers(), N, quiet)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            engine.total(Powers(pause=60.0), N, raising(KeyboardInterrupt()))
        assert time.monotonic() - began < 30
    assert ended(others)


@pytest.mark.nightly
def test_workers_of_a_cluster_come_take_turns_are_lost_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[psutil.Process]
) -> None:
    monkeypatch.setattr(many, "_PATIENCE", 2.0)  # for which a cluster may have no worker at all
    elsewhere: list[Any] = []

    def ask() -> None:
        with engine_at(address) as other:
            elsewhere.extend(other.each(Whose(), 3, quiet))

    with cluster(tmp_path, 1) as (address, (hand,)):
        wait_for_workers(address, 1)
        with engine_at(address) as engine:
            first = engine.each(Whose(), 3, quiet)
            assert first == engine.each(Whose(), 3, quiet)  # its place is kept
            assert len({*first}) == 1
            asking = threading.Thread(target=ask)
            asking.start()
            end = time.monotonic() + 60
            while not elsewhere:  # others have their turns between sums
                engine.each(Whose(0.1), 3, quiet)
                assert time.monotonic() < end
            asking.join()
            assert not {*elsewhere} & {*first}
            with started_worker(address, tmp_path) as later:
                wait_for_workers(address, 2)
                assert len({*engine.each(Whose(0.2), N, quiet)}) == 2
                require_the_usual_sum(engine, Powers())
                killer = threading.Timer(1.0, hand.kill)
                killer.start()
                # its part waits for the place of the one that is left, who gives it back
                require_the_usual_sum(engine, Powers(pause=0.5))
                assert hand.wait() == -signal.SIGKILL
                require_the_usual_sum(engine, Powers())
                later.kill()
                with pytest.raises(SweepError, match=r"gone: start them again.*released is kept"):
                    engine.total(Powers(pause=0.2), N, quiet)
    assert ended(others)
