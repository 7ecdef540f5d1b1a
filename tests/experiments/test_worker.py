"""The process that computes for another one: what it sends, and what it leaves behind."""

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.worker.worker import Share, Worker

TINY = RunSpec(n_users=30, n_items=20, observed=0.5, rank=2, iterations=3)


def test_the_last_result_of_each_spec_is_said_to_be_the_last() -> None:
    worker = Worker(Share(memory=2000, nice=1))
    specs = [TINY, TINY.but(mechanism="huber", variance=2.0)]
    latest: dict[int, object] = {}
    ends = []
    try:
        for found in worker.draw("any", specs):
            if found is None:
                continue
            k, result, last = found
            if result is not None:
                latest[k] = result
            if last:
                ends.append(k)
                assert latest[k].final.test_rmse == run(specs[k]).final.test_rmse
    finally:
        worker.close()
    assert ends == [0, 1]


def test_one_process_is_started_even_where_two_ask_for_it_at_once() -> None:
    import threading

    worker = Worker()
    try:
        asked = [threading.Thread(target=worker.start) for _ in range(4)]
        for one in asked:
            one.start()
        for one in asked:
            one.join()
        first = worker.pid
        worker.start()
        assert worker.pid == first is not None
    finally:
        worker.close()
    assert worker.pid is None
