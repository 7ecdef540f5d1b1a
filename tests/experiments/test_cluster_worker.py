"""Results drawn from processes on a real Dask cluster: the same as here, whatever is lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpmc_core.datasets import own, user_datasets
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.papers.compute import Trial
from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.worker.cluster import WAITING, ClusterWorker, Connection
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.remote import RemoteProcess
from dpmc_core.experiments.worker.worker import WorkerError
from dpmc_core.planning.goal import ModelPlan
from tests.clusters import WORKER, children, cluster, free_port, wait_for_workers

TINY = RunSpec.of(n_users=40, n_items=30, observed=0.5, rank=2, iterations=3)
LONG = RunSpec.of(n_users=300, n_items=200, observed=0.5, rank=20, iterations=500)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Connection, list[subprocess.Popen[bytes]]]]:
    with cluster(tmp_path, 2) as (address, hands):
        wait_for_workers(address, 2)
        connection = Connection(address)
        yield connection, hands
        connection.close()


def last_of(worker: ClusterWorker, specs: list[Any], **options: Any) -> dict[int, Any]:
    found = {}
    for one in worker.draw(steps, specs, **options):
        if one is not None and one[1] is not None:
            found[one[0]] = one[1]
    return found


def gone(hands: list[subprocess.Popen[bytes]], within: float) -> float:
    """Seconds until no process of the workers computes."""
    began = time.monotonic()
    while any(children(WORKER, hand.pid) for hand in hands):
        assert time.monotonic() - began < within
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.long
def test_the_same_results_as_here_and_nothing_stays(two: Any) -> None:
    connection, hands = two
    worker = ClusterWorker(connection, Share(memory=2000, nice=1))
    specs = [TINY, TINY.replace(seed=1)]
    found = last_of(worker, specs)
    for k, spec in enumerate(specs):
        assert found[k].final.test_rmse == pytest.approx(run(spec).final.test_rmse, rel=1e-12)
        assert found[k].finished
    assert worker.note == ""
    assert worker.pid is None  # nothing was started on this machine
    gone(hands, 10)


@pytest.mark.long
def test_cancelled_and_gone_within_three_seconds(two: Any) -> None:
    connection, hands = two
    worker = ClusterWorker(connection, Share(memory=2000, nice=1))
    drawn = worker.draw(steps, [LONG])
    first = next(found for found in drawn if found is not None)
    assert first[1].final.iteration < 500
    assert any(children(WORKER, hand.pid) for hand in hands)
    began = time.monotonic()
    drawn.close()
    took = time.monotonic() - began + gone(hands, 10)
    assert took < 3.0  # at the next step, or killed: ``_PATIENCE``


@pytest.mark.long
def test_a_lost_worker_is_replaced_and_the_run_goes_on(two: Any) -> None:
    connection, hands = two
    worker = ClusterWorker(connection, Share(memory=2000, nice=1))
    specs = [TINY, LONG]
    found: dict[int, Any] = {}
    killed = False
    for one in worker.draw(steps, specs):
        if one is None or one[1] is None:
            continue
        found[one[0]] = one[1]
        if one[0] == 1 and not killed:
            busy = next(hand for hand in hands if children(WORKER, hand.pid))
            busy.send_signal(signal.SIGKILL)
            killed = True
    assert killed
    assert "A worker was lost" in worker.note
    for k, spec in enumerate(specs):
        assert found[k].final.test_rmse == pytest.approx(run(spec).final.test_rmse, rel=1e-12)


@pytest.mark.long
def test_secret_noise_that_was_shown_is_not_drawn_anew(two: Any) -> None:
    connection, hands = two
    spec = RunSpec.of(
        dataset="skewed",
        n_users=2000,
        n_items=300,
        n_ratings=100_000,
        algorithm="dpals",
        mechanism="gaussian",
        epsilon=5.0,
        iterations=60,
        secret=True,
    )
    worker = ClusterWorker(connection)

    def killed_once_it_shows() -> None:
        for one in worker.draw(steps, [spec]):
            if one is not None:
                next(hand for hand in hands if children(WORKER, hand.pid)).kill()

    with pytest.raises(WorkerError, match=r"secret noise was lost.*not started by itself"):
        killed_once_it_shows()


@pytest.mark.long
def test_a_mistake_and_too_little_memory_are_told_as_here(two: Any) -> None:
    connection, _ = two
    worker = ClusterWorker(connection, Share(memory=500, nice=1))
    with pytest.raises(DPMCError, match="rank"):
        last_of(worker, [TINY.replace(rank=40)])
    large = RunSpec.of(n_users=20_000, n_items=3_000, observed=0.4, rank=2, iterations=3)
    with pytest.raises((MemoryError, WorkerError)):
        last_of(worker, [large])
    assert last_of(worker, [TINY])[0].finished  # and the cluster goes on


def test_without_a_scheduler_this_machine_computes_and_says_so(tmp_path: Path) -> None:
    worker = ClusterWorker(Connection(f"tcp://127.0.0.1:{free_port()}"))
    try:
        assert last_of(worker, [TINY])[0].finished
        assert worker.note == "The cluster cannot be reached: this ran on the server itself."
    finally:
        worker.close()


@pytest.mark.long
def test_a_cluster_without_workers_is_told_from_one_that_is_gone(tmp_path: Path) -> None:
    with cluster(tmp_path, 0) as (address, _):
        wait_for_workers(address, 0)
        connection = Connection(address)
        worker = ClusterWorker(connection)
        assert last_of(worker, [TINY])[0].finished
        assert worker.note == "The cluster has no worker: this ran on the server itself."
        worker.close()
        connection.close()


@pytest.mark.long
def test_the_scheduler_ends_in_the_middle_of_a_run(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as (address, _):
        wait_for_workers(address, 1)
        connection = Connection(address)
        worker = ClusterWorker(connection)
        spec = LONG
        found = None
        for one in worker.draw(steps, [spec]):
            if one is None or one[1] is None:
                continue
            if found is None:
                children(" scheduler ")[0].kill()
            found = one[1]
        assert found is not None
        assert found.finished
        assert worker.note == "The cluster cannot be reached: this ran on the server itself."
        assert found.final.test_rmse == pytest.approx(run(spec).final.test_rmse, rel=1e-12)
        worker.close()
        connection.close()


CSV = b"user,item,rating\n" + b"".join(
    f"reader{u},book{i},{1 + (u * i) % 5}\n".encode() for u in range(20) for i in range(u % 3, 12)
)


@pytest.mark.long
def test_a_process_is_kept_for_the_next_job_and_never_for_or_after_own_data(tmp_path: Path) -> None:
    mine = own.read("ratings", "mine.csv", CSV)
    with user_datasets.using(mine):
        private = RunSpec.of(dataset=mine.name, rank=2, iterations=3)
    with cluster(tmp_path, 2, "--resources", "OWN_DATA=1") as (address, hands):
        wait_for_workers(address, 2)
        connection = Connection(address)
        worker = ClusterWorker(connection)

        def process() -> psutil.Process:
            (found,) = (one for hand in hands for one in children(WORKER, hand.pid))
            return found

        last_of(worker, [TINY], keep=True)
        kept = process()
        assert last_of(worker, [TINY.replace(seed=1)], keep=True)[0].finished
        assert process() == kept
        kept.kill()  # it is missed when it is needed
        with suppress(WorkerError):
            last_of(worker, [TINY.replace(seed=2)], keep=True)
        assert last_of(worker, [TINY.replace(seed=2)], keep=True)[0].finished
        kept = process()
        with user_datasets.using(mine):
            assert last_of(worker, [private], sets=(mine,), keep=True)[0].finished
        assert worker.note == ""
        gone(hands, 10)  # the one that was kept did not see it, and the one that saw it is gone
        last_of(worker, [TINY], keep=True)
        worker.close()
        gone(hands, 10)
        connection.close()


@pytest.mark.long
def test_own_data_goes_to_workers_that_are_told_to_hold_it_and_to_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is told, one is not: the process that sees the data is the first one's, the
    scheduler never has it, and nothing of it is left when the job is over.
    """
    mine = own.read("ratings", "mine.csv", CSV)
    with user_datasets.using(mine):
        spec = RunSpec.of(dataset=mine.name, rank=2, iterations=400)
    with cluster(tmp_path, 1) as (address, plain):
        connection = Connection(address)
        wait_for_workers(address, 1)
        worker = ClusterWorker(connection)
        with user_datasets.using(mine):
            assert last_of(worker, [spec], sets=(mine,))[0].finished
        assert worker.note.startswith("No worker of the cluster is told to hold own data")
        assert not children(WORKER, plain[0].pid)
        space = tmp_path / "told"
        words = ["worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        words += ["--resources", "OWN_DATA=1", "--local-directory", str(space)]
        told = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_workers(address, 2)
            made: list[int] = []
            begin = RemoteProcess.__init__

            def noted(self: RemoteProcess, *given: Any, **options: Any) -> None:
                made.append(1)
                begin(self, *given, **options)

            monkeypatch.setattr(RemoteProcess, "__init__", noted)
            for _ in range(3):
                seen = False
                with user_datasets.using(mine):
                    for _found in worker.draw(steps, [spec], sets=(mine,)):
                        assert not children(WORKER, plain[0].pid)
                        seen = seen or bool(children(WORKER, told.pid))
                assert seen
                assert worker.note == ""
                assert made.pop() == 1
                assert not made
                gone([told], 10)
            content = [p.read_bytes() for p in space.rglob("*") if p.is_file()]
            assert not any(b"reader1" in one for one in content)
            client = connection.client()
            assert client.run(held_seats) == dict.fromkeys(client.run(held_seats), 0)
            assert client.run_on_scheduler(tasks_that_name, text="reader1") == 0
        finally:
            told.kill()
            told.wait()
            worker.close()
            connection.close()


def held_seats() -> int:
    from dpmc_core.experiments.worker import remote

    return len(remote._seats)


def tasks_that_name(dask_scheduler: Any, text: str) -> int:
    return sum(text in repr(task.run_spec) for task in dask_scheduler.tasks.values())


@pytest.mark.long
def test_more_jobs_than_threads_wait_and_workers_that_leave_are_not_waited_for(
    tmp_path: Path,
) -> None:
    with cluster(tmp_path, 1) as (address, hands):
        wait_for_workers(address, 1)
        connection = Connection(address)
        first, second = ClusterWorker(connection), ClusterWorker(connection)
        long = first.draw(steps, [LONG.replace(iterations=500, rank=40)])
        next(one for one in long if one is not None)
        waiting = second.draw(steps, [TINY])
        notes = set()
        end = time.monotonic() + 60
        while WAITING not in notes:
            assert next(waiting) is None  # its turn has not come
            notes.add(second.note)
            assert time.monotonic() < end
        hands[0].kill()
        found = [one[1] for one in waiting if one is not None and one[1] is not None]
        assert found[-1].finished  # here
        assert second.note == "The cluster has no worker: this ran on the server itself."
        long.close()
        for worker in (first, second):
            worker.close()
        connection.close()


@pytest.mark.long
def test_workers_of_another_release_are_told_and_done_without(
    two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = two
    monkeypatch.setattr("dpmc_core.experiments.worker.remote.__version__", "99.0")
    worker = ClusterWorker(connection)
    assert last_of(worker, [TINY])[0].finished
    assert "a worker has release" in worker.note
    assert "not 99.0" in worker.note
    assert worker.note.endswith("this ran on the server itself.")
    worker.close()


def test_secret_noise_and_own_data_are_known_of_specs_of_all_kinds() -> None:
    noisy = {"mechanism": "gaussian", "epsilon": 5.0}
    secret = TINY.replace(algorithm="dpals", secret=True, **noisy)
    plan = ModelPlan(base=TINY.replace(algorithm="dpals", **noisy))
    flat = {"algorithm": "dpals", "secret": True, **noisy}
    sweep = SweepSpec(base=tuple(flat.items()))
    study = StudySpec.of("completion", "epsilon", {"dataset": "skewed", "secret": True})
    others = (TINY, plan, AuditSpec(), Trial("huber-table-1", "row", 1))
    assert all(spec.may_be_secret for spec in (secret, sweep, study))
    assert not any(spec.may_be_secret for spec in others)
    assert not any(spec.own_data for spec in (secret, sweep, study, *others))
    rows = "user,film,stars\n" + "".join(f"{k % 9},{k % 7},{1 + k % 5}\n" for k in range(63))
    mine = own.read("ratings", "a.csv", rows.encode())
    with user_datasets.using(mine):
        flat = {"dataset": mine.name, "algorithm": "dpals", **noisy}
        of_mine = [
            RunSpec.of(flat),
            SweepSpec(base=tuple(flat.items())),
            StudySpec.of("completion", "epsilon", {"dataset": mine.name}),
            ModelPlan(base=RunSpec.of(flat, seed=0)),
            AuditSpec(target="als", dataset=mine.name),
        ]
        assert [spec.own_data for spec in of_mine] == [{mine.name}] * 5
        # what nobody asks to repeat is secret on somebody's own data, in a sweep or study too
        assert [spec.may_be_secret for spec in of_mine] == [True, True, True, False, False]
