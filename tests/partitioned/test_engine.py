"""Sums over partitions on real workers that end, forget, pause or come while they add up."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.experiments.sweeps.cluster import SweepError
from dpmc_core.partitioned.engine import cluster as clusters
from dpmc_core.partitioned.engine import sums
from dpmc_core.partitioned.engine.cluster import Cluster
from dpmc_core.partitioned.engine.here import Here
from tests.clusters import ROOT, cluster, wait_for_workers
from tests.partitioned.test_cluster import Deadly, client_of

N = 12


@dataclass(frozen=True)
class Powers:
    """10^k at place k: that a partition is missing, or is there twice, is seen in the sum."""

    pause: float = 0.0
    key: str = ""

    def __call__(self, k: int, into: Any = None) -> Any:
        time.sleep(self.pause)
        out = np.zeros(N) if into is None else into
        out[k] += 10.0**k
        return out


@dataclass(frozen=True)
class Whose(Powers):
    """The process and the thread that work on it."""

    def __call__(self, k: int, into: Any = None) -> Any:
        time.sleep(self.pause)
        return os.getpid(), threading.get_ident()


@dataclass(frozen=True)
class Numbered:
    """Rows with their numbers, and the process that made them."""

    def __call__(self, rows: Any, first: int) -> Any:
        numbers = first + np.arange(len(rows))
        return np.stack([rows, numbers, np.full(len(rows), os.getpid())], axis=1)


@dataclass(frozen=True)
class Singular:
    """Cannot be made of the second worker's rows."""

    def __call__(self, rows: Any, first: int) -> Any:
        if first:
            raise np.linalg.LinAlgError("singular")
        return rows


@dataclass(frozen=True)
class Fatal:
    """Ends each worker that works on partition 1."""

    key: str = ""

    def __call__(self, k: int, into: Any = None) -> Any:
        if k == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return Powers()(k, into)


def quiet(done: int, of: int) -> None:
    assert 0 <= done <= of


USUAL = 10.0 ** np.arange(N)


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[tuple[Any, list[subprocess.Popen[bytes]]]]:
    """Two workers without a limit of memory, which would end a pause."""
    with cluster(tmp_path, 2, "--memory-limit", "0") as (address, hands):
        wait_for_workers(address, 2)
        with client_of(address) as client:
            yield client, hands


def test_a_sum_is_what_it_is_here(two_workers: Any) -> None:
    client, _ = two_workers
    engine = Cluster(client)
    np.testing.assert_array_equal(Here().total(Powers(), N, quiet), USUAL)
    for _ in range(3):
        np.testing.assert_array_equal(engine.total(Powers(), N, quiet), USUAL)
    np.testing.assert_array_equal(engine.total(Powers(), 1, quiet), USUAL * (np.arange(N) == 0))
    made = engine.total(Powers(), N, quiet, Numbered())
    np.testing.assert_array_equal(made[:, :2], Here().total(Powers(), N, quiet, Numbered())[:, :2])
    assert len(set(made[:, 2])) == 2  # each worker made a part of it
    assert not any(client.run(held).values())


@pytest.mark.long
def test_what_cannot_be_made_of_a_sum_is_told_and_leaves_nothing(two_workers: Any) -> None:
    client, _ = two_workers
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        Cluster(client).total(Powers(), N, quiet, Singular())
    end = time.monotonic() + 60
    while any(client.run(held).values()):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 6, 7, 8])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_piece_ends_on_a_worker_of_its_own(workers: int, threads: int) -> None:
    """Whatever the number of workers: nothing is computed here, only who is sent what."""
    sent = Counter[str]()

    class Told(Cluster):
        def __init__(self) -> None:
            pass

        def _submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
            (at,) = options["workers"]
            if function is sums.take:
                return at, {arguments[0]}
            (one_at, one), (other_at, other) = arguments
            assert one_at == at
            assert not one & other
            sent[at] += other_at != at
            return at, one | other

    names = [f"{k}" for k in range(workers)]
    lanes = [clusters._Lane(at, f"{at}-{k}") for k in range(threads) for at in names]
    given, targets = Counter[str](), names[: clusters._PIECES]
    for k, target in enumerate(targets):
        at, of = Told()._piece(lanes, k, len(targets), target, given)
        assert at == target
        assert of == {lane.name for lane in lanes}
    assert sent.total() == len(targets) * (workers - 1)
    assert workers * max(sent.values(), default=0) <= 2 * sent.total()  # nobody twice the average


def held() -> int:
    return len(sums._sums) + len(sums._given_out)


def lose() -> None:
    sums._sums.clear()


@pytest.mark.long
def test_a_worker_that_ends_while_sums_are_merged_has_all_made_again(two_workers: Any) -> None:
    client, hands = two_workers

    class Ending(Cluster):
        def _merged(self, lanes: Any, n: int, then: Any) -> Any:
            if hands[0].poll() is None:
                hands[0].kill()
                hands[0].wait()
            return super()._merged(lanes, n, then)

    np.testing.assert_array_equal(Ending(client).total(Powers(), N, quiet), USUAL)


@pytest.mark.long
def test_a_worker_that_ends_before_the_sum_was_fetched_has_all_made_again(
    two_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, hands = two_workers
    monkeypatch.setattr(clusters, "_FETCHED", 2.0)

    class Ending(Cluster):
        ended = False

        def _answers(self, futures: Any, addresses: Any) -> Any:
            # of the merged sum, a piece of which is on each worker
            if len(addresses) == 2 and not self.ended:
                self.ended = True
                places = client.who_has(futures)
                (at,), (other,) = (places[one.key] for one in futures)
                assert at != other
                (pid,) = client.run(os.getpid, workers=[at]).values()
                os.kill(pid, signal.SIGKILL)
                next(hand for hand in hands if hand.pid == pid).wait()
            return super()._answers(futures, addresses)

    engine = Ending(client)
    np.testing.assert_array_equal(engine.total(Powers(), N, quiet), USUAL)
    assert engine.ended


@pytest.mark.long
def test_what_is_stopped_leaves_no_sum_behind(two_workers: Any) -> None:
    """It is stopped while each worker adds a partition, whose sum comes back later."""
    client, _ = two_workers

    def stop(done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cluster(client).total(Powers(pause=1.0), N, stop)
    end = time.monotonic() + 60
    while any(client.processing().values()):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert not any(client.run(held).values())


@pytest.mark.long
def test_each_thread_of_a_worker_has_a_sum_of_its_own(tmp_path: Path) -> None:
    with cluster(tmp_path, 1, "--nthreads", "2") as (address, _):
        wait_for_workers(address, 1)
        with client_of(address) as client:
            engine = Cluster(client)
            np.testing.assert_array_equal(engine.total(Powers(pause=0.05), N, quiet), USUAL)
            found = engine.each(Whose(pause=0.5), 4, quiet)
            assert len({process for process, _ in found}) == 1
            assert len({thread for _, thread in found}) == 2


@pytest.mark.long
def test_a_worker_that_ends_between_partitions_has_its_part_dealt_anew(
    two_workers: Any, tmp_path: Path
) -> None:
    client, hands = two_workers
    work = Deadly(Powers(pause=0.05), 7, str(tmp_path / "killed"))
    np.testing.assert_array_equal(Cluster(client).total(work, N, quiet), USUAL)
    assert [hand.poll() for hand in hands].count(-signal.SIGKILL) == 1


@pytest.mark.long
def test_a_worker_started_again_at_its_address_has_its_part_dealt_anew(two_workers: Any) -> None:
    """What is in a process's memory is gone with it: here it is taken away between two tasks."""
    client, _ = two_workers

    class Again(Cluster):
        adds = 0

        def _submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
            self.adds += function is sums.add
            if self.adds == 6:
                client.run(lose)
            return super()._submit(function, *arguments, **options)

    engine = Again(client)
    np.testing.assert_array_equal(engine.total(Powers(), N, quiet), USUAL)
    assert engine.adds > N


@pytest.mark.long
def test_a_worker_that_comes_later_takes_its_part(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as (address, _), client_of(address) as client:
        client.wait_for_workers(1)
        words = ["-m", "dask", "worker", address, "--nthreads", "1", "--no-nanny"]
        where = {**os.environ, "PYTHONPATH": str(ROOT)}
        late: list[subprocess.Popen[bytes]] = []

        def tell(done: int, of: int) -> None:
            if done and not late:
                late.append(
                    subprocess.Popen(
                        [sys.executable, *words, "--no-dashboard"],
                        env=where,
                        cwd=tmp_path,
                        stderr=subprocess.DEVNULL,
                    )
                )
                client.wait_for_workers(2, timeout=90)

        try:
            found = Cluster(client).each(Whose(pause=0.1), N, tell)
        finally:
            late[0].kill()
            late[0].wait()
        assert len({process for process, _ in found}) == 2


@pytest.mark.long
def test_a_partition_that_ends_every_worker_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "_LOSSES", 1)
    with cluster(tmp_path, 3) as (address, hands):
        wait_for_workers(address, 3)
        with client_of(address) as client:
            with pytest.raises(SweepError, match="ended 2 times over one partition, perhaps for"):
                Cluster(client).total(Fatal(), 3, quiet)
            assert [hand.poll() for hand in hands].count(None) == 1
            end = time.monotonic() + 30  # the one that is left is told, and not waited for
            left = sorted(Cluster(client)._threads())
            while any(client.run(held, workers=left).values()):
                assert time.monotonic() < end
                time.sleep(0.05)


def test_a_partition_asked_for_twice_is_added_once() -> None:
    assert sums.add(Powers(), 2, "a") == {2}
    assert sums.add(Powers(), 4, "a") == {2, 4}
    assert sums.add(Powers(), 2, "a") == {2, 4}
    one = sums.take("a")
    np.testing.assert_array_equal(one.numbers, USUAL * np.isin(np.arange(N), [2, 4]))
    with pytest.raises(sums.LostError):
        sums.take("a")
    sums.add(Powers(), 3, "in pieces")
    pieces = [sums.take("in pieces", k, 5) for k in (4, 0)]
    with pytest.raises(sums.LostError):
        sums.take("in pieces", 0, 5)
    with pytest.raises(sums.LostError):  # it would change what was given out
        sums.add(Powers(), 4, "in pieces")
    pieces[1:1] = [sums.take("in pieces", k, 5) for k in (3, 2, 1)]
    assert "in pieces" not in {*sums._sums, *sums._given_out}
    whole = np.concatenate([one.numbers for one in pieces[::-1]])
    np.testing.assert_array_equal(whole, USUAL * (np.arange(N) == 3))
    assert [one.first for one in pieces[::-1]] == [0, 2, 4, 7, 9]
    sums.add(Powers(), 5, "b")
    other = sums.take("b")
    for _ in range(2):
        sums.merge(one, other)
    assert one.of == {2, 4, 5}
    np.testing.assert_array_equal(one.numbers, USUAL * np.isin(np.arange(N), [2, 4, 5]))
    overlapping = sums.Sum(frozenset({5, 6}), np.zeros(N))
    with pytest.raises(sums.LostError):
        sums.merge(one, overlapping)


def test_what_fails_half_way_is_no_sum_any_more() -> None:
    def fails(k: int, into: Any = None) -> Any:
        into += 1.0
        raise MemoryError

    sums.add(Powers(), 0, "half")
    with pytest.raises(MemoryError):
        sums.add(fails, 1, "half")  # type: ignore[arg-type]
    with pytest.raises(sums.LostError):
        sums.take("half")


def test_sums_that_nobody_adds_to_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    sums.add(Powers(), 0, "old")
    sums.add(Powers(), 0, "mine")
    asyncio.run(sums.forget(frozenset({"mine", "of another worker"})))
    assert set(sums._sums) == {"old"}
    assert sums.add(Powers(), 1, "mine") == {1}
    assert set(sums._sums) == {"old"}  # what was forgotten does not come back
    (timer,) = sums._looking
    assert timer.daemon
    sums._drop_old()  # as the timer does: nothing is old
    assert set(sums._sums) == {"old"}
    sums.add(Powers(), 0, "half taken")
    sums.take("half taken", 0, 2)
    later = time.monotonic() + sums._FORGOTTEN + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    sums._drop_old()
    assert not sums._sums
    assert not sums._given_out
