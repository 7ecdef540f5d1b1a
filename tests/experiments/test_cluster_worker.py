"""Results and sweeps from processes on a real Dask cluster: the same as here, whatever is lost, in
few processes, of which none stays.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpmc_core.datasets import own, user_datasets
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.papers.compute import Trial
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.experiments.sweeps import workers as of_runs
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.worker.cluster import WAITING, ClusterWorker, Connection
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.remote import RemoteProcess
from dpmc_core.experiments.worker.worker import WorkerError
from dpmc_core.planning.goal import ModelPlan
from tests.clusters import (
    WORKER,
    at_work,
    children,
    cluster,
    free_port,
    started_worker,
    wait_for_workers,
)
from tests.experiments.test_sweep import TOML, numbers, records_of
from tests.own.files import long_csv

pytestmark = pytest.mark.long

TINY = RunSpec.of(n_users=40, n_items=30, observed=0.5, rank=2, iterations=3)
LONG = RunSpec.of(n_users=300, n_items=200, observed=0.5, rank=20, iterations=500)


@contextmanager
def connected(
    tmp_path: Path, workers: int, *options: str
) -> Iterator[tuple[ClusterWorker, Connection, list[subprocess.Popen[bytes]]]]:
    """What computes on a cluster of so many workers, and the workers' processes."""
    with cluster(tmp_path, workers, *options) as (address, hands):
        wait_for_workers(address, workers)
        connection = Connection(address)
        worker = ClusterWorker(connection, Share(memory=2000, nice=1))
        yield worker, connection, hands
        worker.close()
        connection.close()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Any]:
    with connected(tmp_path, 2) as opened:
        yield opened


def results(worker: ClusterWorker, specs: list[Any], **options: Any) -> Iterator[tuple[int, Any]]:
    """The number of a spec and a result of it, as they come."""
    for drawn in worker.draw(steps, specs, **options):
        if drawn is not None and drawn[1] is not None:
            yield drawn[0], drawn[1]


def last_of(worker: ClusterWorker, specs: list[Any], **options: Any) -> dict[int, Any]:
    return dict(results(worker, specs, **options))


def as_here(result: Any, spec: RunSpec) -> bool:
    """Whether a result is what this process computes."""
    expected = pytest.approx(run(spec).final.test_rmse, rel=1e-12)
    return bool(result.finished and result.final.test_rmse == expected)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each process that was started on a cluster."""
    starts: list[int] = []
    begin = RemoteProcess.__init__

    def noted(self: RemoteProcess, *given: Any, **options: Any) -> None:
        starts.append(1)
        begin(self, *given, **options)

    monkeypatch.setattr(RemoteProcess, "__init__", noted)
    return starts


HERE = "this ran on the server itself."


def gone(hands: list[subprocess.Popen[bytes]], within: float) -> float:
    """Seconds until no process of the workers computes."""
    began = time.monotonic()
    while at_work(hands):
        assert time.monotonic() - began < within
        time.sleep(0.02)
    return time.monotonic() - began


def test_cancelled_and_gone_within_three_seconds(two: Any) -> None:
    worker, _, hands = two
    drawn = worker.draw(steps, [LONG])
    first = next(state for state in drawn if state is not None)
    assert first[1].final.iteration < 500
    assert at_work(hands)
    began = time.monotonic()
    drawn.close()
    took = time.monotonic() - began + gone(hands, 10)
    assert took < 3.0  # at the next step, or killed: ``_PATIENCE``


@pytest.mark.nightly
def test_results_are_as_here_and_a_lost_worker_is_replaced(two: Any) -> None:
    worker, _, hands = two
    specs = [TINY, LONG]
    last: dict[int, Any] = {}
    for k, result in results(worker, specs):
        if k == 1 and k not in last:
            assert worker.note == ""
            assert worker.pid is None  # nothing was started on this machine
            at_work(hands)[0].kill()
        last[k] = result
    assert "A worker was lost" in worker.note
    assert all(as_here(last[k], spec) for k, spec in enumerate(specs))
    gone(hands, 10)


def test_secret_noise_that_was_shown_is_not_drawn_anew(two: Any) -> None:
    worker, _, hands = two
    sizes = {"dataset": "skewed", "n_users": 2000, "n_items": 300, "n_ratings": 100_000}
    noise = {"algorithm": "dpals", "mechanism": "gaussian", "epsilon": 5.0, "iterations": 60}
    spec = RunSpec.of(sizes | noise, secret=True)

    def killed_once_it_shows() -> None:
        for state in worker.draw(steps, [spec]):
            if state is not None:
                at_work(hands)[0].kill()

    with pytest.raises(WorkerError, match=r"secret noise was lost.*not started by itself"):
        killed_once_it_shows()


def test_a_mistake_and_too_little_memory_are_told_as_here(two: Any) -> None:
    worker = ClusterWorker(two[1], Share(memory=500, nice=1))
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
        assert worker.note == f"The cluster cannot be reached: {HERE}"
    finally:
        worker.close()


def test_the_scheduler_ends_in_the_middle_of_a_run(tmp_path: Path) -> None:
    with connected(tmp_path, 1) as (worker, *_):
        drawn = results(worker, [LONG])
        next(drawn)
        children(" scheduler ")[0].kill()
        *_, (_, last) = drawn
        assert as_here(last, LONG)
        assert worker.note == f"The cluster cannot be reached: {HERE}"


def test_a_process_is_kept_for_the_next_job_and_never_for_or_after_own_data(tmp_path: Path) -> None:
    own_set = own.read("ratings", "mine.csv", long_csv(20, 12))
    with connected(tmp_path, 2, "--resources", "OWN_DATA=1") as (worker, _, hands):

        def process(seed: int) -> psutil.Process:
            """What computes after one more run."""
            assert last_of(worker, [TINY.replace(seed=seed)], keep=True)[0].finished
            (running,) = (child for hand in hands for child in children(WORKER, hand.pid))
            return running

        first = process(0)
        assert process(1) == first
        first.kill()  # it is missed when it is needed
        with suppress(WorkerError):
            process(2)
        process(2)
        with user_datasets.using(own_set):
            private = RunSpec.of(dataset=own_set.name, rank=2, iterations=3)
            assert last_of(worker, [private], sets=(own_set,), keep=True)[0].finished
        assert worker.note == ""
        gone(hands, 10)  # the one that was kept did not see it, and the one that saw it is gone
        process(3)
        worker.close()
        gone(hands, 10)


def test_own_data_goes_to_workers_that_are_told_to_hold_it_and_to_no_disk(
    tmp_path: Path, started: list[int]
) -> None:
    """One worker is told, one is not: the process that sees the data is the first one's, the
    scheduler never has it, and nothing of it is left when the job is over.
    """
    own_set = own.read("ratings", "mine.csv", long_csv(20, 12))
    space = tmp_path / "told"
    options = "--resources", "OWN_DATA=1", "--local-directory", str(space)
    with user_datasets.using(own_set), connected(tmp_path, 1) as (worker, connection, plain):
        spec = RunSpec.of(dataset=own_set.name, rank=2, iterations=400)
        assert last_of(worker, [spec], sets=(own_set,))[0].finished
        assert worker.note.startswith("No worker of the cluster is told to hold own data")
        with started_worker(connection.address, tmp_path, *options) as trusted:
            wait_for_workers(connection.address, 2)
            for _ in range(3):
                started.clear()
                computes = False
                for _state in worker.draw(steps, [spec], sets=(own_set,)):
                    assert not children(WORKER, plain[0].pid)
                    computes = computes or bool(children(WORKER, trusted.pid))
                assert computes
                assert (worker.note, started) == ("", [1])
                gone([trusted], 10)
            content = [p.read_bytes() for p in space.rglob("*") if p.is_file()]
            assert not any(b"book 3" in data for data in content)
            client = connection.client()
            assert set(client.run(held_seats).values()) == {0}
            assert client.run_on_scheduler(tasks_that_name, text="book 3") == 0


def held_seats() -> int:
    from dpmc_core.experiments.worker import remote

    return len(remote._seats)


def tasks_that_name(dask_scheduler: Any, text: str) -> int:
    return sum(text in repr(task.run_spec) for task in dask_scheduler.tasks.values())


def test_more_jobs_than_threads_wait_and_workers_that_leave_are_not_waited_for(
    tmp_path: Path,
) -> None:
    with connected(tmp_path, 1) as (first, connection, hands):
        second = ClusterWorker(connection)
        long = first.draw(steps, [LONG.replace(rank=40)])
        next(state for state in long if state is not None)
        waiting = second.draw(steps, [TINY])
        end = time.monotonic() + 60
        while second.note != WAITING:
            assert next(waiting) is None  # its turn has not come
            assert time.monotonic() < end
        hands[0].kill()
        *_, (_, result, _) = (s for s in waiting if s is not None and s[1] is not None)
        assert result.finished  # here
        assert second.note == f"The cluster has no worker: {HERE}"
        long.close()
        second.close()


def test_workers_of_another_release_are_told_and_done_without(
    two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, *_ = two
    monkeypatch.setattr("dpmc_core.experiments.worker.remote.__version__", "99.0")
    assert last_of(worker, [TINY])[0].finished
    assert "a worker has release" in worker.note
    assert "not 99.0" in worker.note
    assert worker.note.endswith(HERE)


def test_secret_noise_and_own_data_are_known_of_specs_of_all_kinds() -> None:
    """What nobody asks to repeat is secret on somebody's own data, in a sweep or study too."""
    own_set = own.read("ratings", "mine.csv", long_csv(20, 12))
    noisy = {"algorithm": "dpals", "mechanism": "gaussian", "epsilon": 5.0}

    def specs(seed: dict[str, int], **more: Any) -> list[Any]:
        """A run, sweep, study, plan and audit."""
        flat = noisy | more
        dataset = flat.get("dataset", "")
        return [
            RunSpec.of(flat),
            SweepSpec(base=tuple(flat.items())),
            StudySpec.of("completion", "epsilon", {"dataset": "skewed", **more}),
            ModelPlan(base=RunSpec.of({n: v for n, v in flat.items() if n != "secret"}, **seed)),
            AuditSpec(target="als", dataset=dataset),
        ]

    public, secret = [*specs({}), TINY, Trial("huber-table-1", "row", 1)], specs({}, secret=True)
    with user_datasets.using(own_set):
        mine = specs({"seed": 0}, dataset=own_set.name)
        assert [spec.own_data for spec in mine] == [{own_set.name}] * 5
        assert [spec.may_be_secret for spec in mine] == [True, True, True, False, False]
    assert not any(spec.may_be_secret for spec in public)
    assert all(spec.may_be_secret for spec in secret[:3])
    assert not any(spec.own_data for spec in (*public, *secret))


@pytest.mark.nightly
def test_a_sweep_has_the_same_numbers_as_here_few_processes_and_goes_on_with_a_worker_less(
    tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_runs, "_TURN", 1e6)  # on a busy machine, too, one turn for all
    spec = SweepSpec.from_toml(TOML)
    here = numbers(records_of(spec, tmp_path / "here", jobs=1))
    with connected(tmp_path, 2) as (_, connection, hands):
        one = Workers(1, connection=connection)
        assert numbers(records_of(spec, tmp_path / "one", workers=one)) == here
        # of one worker: the first runs tell how long they take, all others go on
        assert (len(started), one.note) == (1, "")
        gone(hands, 60)
        with RunStore(tmp_path / "runs") as store:
            stopped = sweep(spec, store, workers=Workers(2, connection=connection))
            assert next(state for state in stopped if state.done == 5)
            stopped.close()
            gone(hands, 60)
            spec = replace(spec, seeds=20)
            workers = Workers(2, connection=connection)
            for state in sweep(spec, store, workers=workers):
                if state.done >= 20 and hands[0].poll() is hands[1].poll() is None:
                    busy = at_work(hands)[0]
                    busy.kill()
                    busy.wait()
            assert state.done == state.total == store.count() == 160
        assert "A worker was lost" in workers.note
        gone(hands, 60)
    whole, plain = (records_of(spec, tmp_path / place) for place in ("runs", "others"))
    assert numbers(whole) == numbers(plain)


def stimulated(dask_worker: Any, event: str) -> None:
    from distributed import worker_state_machine

    dask_worker.handle_stimulus(getattr(worker_state_machine, event)(stimulus_id="test"))


def told(dask_worker: Any) -> None:
    from distributed.core import Status

    dask_worker.status = Status.paused


def test_a_job_that_came_to_a_worker_just_as_it_was_paused_goes_to_another(tmp_path: Path) -> None:
    """The scheduler hears of a pause a moment later, and moves nothing that is there by then."""
    with connected(tmp_path, 2, "--memory-limit", "0") as (worker, connection, _):
        client = connection.client()
        client.run(stimulated, event="PauseEvent")
        finished, at = False, ""
        for one in worker.draw(steps, [TINY]):
            if not at:
                tasks = client.processing()
                at = next((name for name, keys in tasks.items() if keys), "")
                if at:
                    client.run(told, workers=[at])
                    others = sorted(set(tasks) - {at})
                    client.run(stimulated, event="UnpauseEvent", workers=others)
            finished = finished or (one is not None and one[1] is not None and one[1].finished)
        assert finished
        assert at
