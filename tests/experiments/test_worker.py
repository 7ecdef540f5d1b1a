"""The process that computes for another one: what it sends, and what it leaves behind."""

import pickle
import platform
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.run import watched
from dpmc_core.experiments.worker.reading import call, inspect
from dpmc_core.experiments.worker.worker import Worker, WorkerError

pytestmark = pytest.mark.long

SMALL = RunSpec.of(n_users=60, n_items=40, observed=0.4, rank=3, iterations=2)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def test_a_process_says_when_it_is_through_with_starting(worker: Worker) -> None:
    assert not worker.ready
    job = (inspect, "ratings", "mine.csv", b"user,item,rating\na,b,1\n", {})
    states = filter(None, worker.draw(call, [job], private=True))
    ready = [worker.ready for _ in states]
    assert ready
    assert all(ready)
    worker.close()
    worker.start()
    assert not worker.ready  # it is another one


def test_what_nobody_expected_is_told(worker: Worker) -> None:
    with pytest.raises(WorkerError, match=r"stopped unexpectedly \(ValueError: invalid lit"):
        list(worker.draw(call, [(int, "no number")]))
    assert worker.pid is not None  # and is ready for the next job


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked for memory")
def test_a_process_gives_memory_back_after_a_job(worker: Worker) -> None:
    most = 100e6
    # 200 MB of small pieces, of which one stays: the C library alone keeps all that is below it
    job = "setattr(__import__('sys'), 'stays', [bytes(1000) for _ in range(200_000)][-1])"
    list(worker.draw(call, [(len, "ready")]))
    process = psutil.Process(worker.pid)
    before = process.memory_info().rss
    list(worker.draw(call, [(eval, job)]))
    for _ in range(100):
        time.sleep(0.1)
        if (more := process.memory_info().rss - before) < most:
            break
    assert more < most


def test_one_process_is_started_even_where_two_ask_for_it_at_once(worker: Worker) -> None:
    threads = [threading.Thread(target=worker.start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = worker.pid
    worker.start()
    assert worker.pid == first is not None
    worker.close()
    assert worker.pid is None


def test_runs_together_advance_by_turns_and_one_that_fails_takes_none_away(worker: Worker) -> None:
    """The last result of each is said to be the last, and is that of a run alone."""
    specs = [SMALL.replace(iterations=4), SMALL.replace(rank=50), SMALL.replace(iterations=9)]
    outcomes = list[Any]()
    with pytest.raises(DPMCError, match="at most 40"):
        outcomes.extend(filter(None, worker.draw(watched, specs, together=True)))
    assert [k for k, *_ in outcomes][:2] == [0, 2]  # both had begun before one of them ended
    assert [k for k, _, last in outcomes if last] == [0, 2]
    for k in (0, 2):
        *_, latest = (result for n, result, _ in outcomes if n == k and result is not None)
        assert (latest.finished, latest.value) == (True, run(specs[k]).value)


def test_a_watched_run_has_pictures_of_its_way() -> None:
    spec = SMALL.replace(iterations=100)
    *_, seen = watched(spec)
    assert {1, 100} <= set(seen.pictures) <= set(range(1, 101))
    assert 30 <= len(seen.pictures) <= 45
    np.testing.assert_allclose(seen.pictures[100], seen.picture)
    assert seen.value == run(spec).value


def test_what_is_too_large_is_never_sent(worker: Worker) -> None:
    sizes = {"n_users": 4000, "n_items": 3000, "observed": 0.01, "rank": 40}
    large = SMALL.replace(**sizes, iterations=1)
    with pytest.raises(DPMCError, match=r"The results would take .* MB, and at most 2 MB are held"):
        list(worker.draw(steps, [large], most=2_000_000))
    assert worker.held == 0
    # two that would fit alone do not fit together
    size = len(pickle.dumps(run(large)))
    assert list(worker.draw(steps, [large], most=size + 10_000))
    assert worker.held == pytest.approx(size, rel=0.01)  # as it was sent
    with pytest.raises(DPMCError, match="or fewer runs at once"):
        list(worker.draw(steps, [large, large.replace(seed=1)], most=int(1.2 * size)))
    assert list(worker.draw(steps, [SMALL], most=int(1.2 * size)))  # and the process goes on


@pytest.mark.parametrize(
    ("changes", "least"),
    [  # where factors are most of it, not much less
        ({"algorithm": "als"}, 0.1),
        ({"algorithm": "irls", "mechanism": "huber", "variance": 1.0}, 0.1),
        ({"algorithm": "moments", "mechanism": "gaussian", "total_epsilon": 2.0}, 0.1),
        ({"algorithm": "nmf", "dataset": "cartoon"}, 0),
    ],
)
def test_the_size_that_is_known_before_is_no_more_than_what_comes(
    changes: dict[str, object], least: float
) -> None:
    for rank, part in ((2, 0), (30, least)):
        spec = RunSpec.of(**changes, rank=rank)
        size = len(pickle.dumps(run(spec))) / 1e6
        assert part * size < spec.model_megabytes <= size
