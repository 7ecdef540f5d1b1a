"""The process that computes for another one: what it sends, and what it leaves behind."""

import platform
import threading
import time
from contextlib import closing

import psutil
import pytest

from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.reading import call, inspect
from dpmc_core.experiments.worker.worker import Worker, WorkerError

TINY = RunSpec.of(n_users=30, n_items=20, observed=0.5, rank=2, iterations=3, reg=0.5)


def test_the_last_result_of_each_spec_is_said_to_be_the_last() -> None:
    specs = [TINY, TINY.replace(mechanism="huber", variance=2.0)]
    latest: dict[int, object] = {}
    ends = []
    with closing(Worker(Share(memory=2000, nice=1))) as worker:
        for k, result, last in filter(None, worker.draw(steps, specs)):
            if result is not None:
                latest[k] = result
            if last:
                ends.append(k)
                assert latest[k].final.test_rmse == run(specs[k]).final.test_rmse
    assert ends == [0, 1]


def test_a_process_says_when_it_is_through_with_starting() -> None:
    with closing(Worker()) as worker:
        assert not worker.ready
        job = (inspect, "ratings", "mine.csv", b"user,item,rating\na,b,1\n", {})
        states = filter(None, worker.draw(call, [job], private=True))
        ready = [worker.ready for _ in states]
        assert ready
        assert all(ready)
        worker.close()
        worker.start()
        assert not worker.ready  # it is another one


def test_what_nobody_expected_is_told() -> None:
    with closing(Worker()) as worker:
        with pytest.raises(WorkerError, match=r"stopped unexpectedly \(ValueError: invalid lit"):
            list(worker.draw(call, [(int, "no number")]))
        assert worker.pid is not None  # and is ready for the next job


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked for memory")
def test_a_process_gives_memory_back_after_a_job() -> None:
    most = 100e6
    # 200 MB of small pieces, of which one stays: the C library alone keeps all that is below it
    job = "setattr(__import__('sys'), 'stays', [bytes(1000) for _ in range(200_000)][-1])"
    with closing(Worker()) as worker:
        list(worker.draw(call, [(len, "ready")]))
        process = psutil.Process(worker.pid)
        before = process.memory_info().rss
        list(worker.draw(call, [(eval, job)]))
        for _ in range(100):
            time.sleep(0.1)
            if (more := process.memory_info().rss - before) < most:
                break
        assert more < most


def test_one_process_is_started_even_where_two_ask_for_it_at_once() -> None:
    with closing(Worker()) as worker:
        threads = [threading.Thread(target=worker.start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first = worker.pid
        worker.start()
        assert worker.pid == first is not None
    assert worker.pid is None
