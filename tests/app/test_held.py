"""How much visits may hold: results that are too large, and whose go first."""

import gc
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec, steps
from dpmc_core.experiments.run import run, watched
from dpmc_core.experiments.worker.worker import Worker
from pages.parts.server import job as results
from pages.parts.server import jobs
from pages.parts.server.job import Box, Job
from tests.app.visits import open_page, shows

SMALL = RunSpec.of(n_users=60, n_items=40, observed=0.4, rank=3, iterations=2)
SIZE = {"n_users": 4000, "n_items": 3000, "observed": 0.01, "rank": 40, "iterations": 1}
LARGE = RunSpec.of(**SIZE)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def test_runs_together_advance_by_turns_and_one_that_fails_takes_none_away(worker: Worker) -> None:
    long = [SMALL.replace(iterations=n, seed=n) for n in (4, 9)]
    alone = [run(spec).value for spec in long]
    begun: list[int] = []
    last: dict[int, Any] = {}

    def draw() -> None:
        for found in worker.draw(
            watched, [long[0], SMALL.replace(rank=50), long[1]], together=True
        ):
            if found is not None:
                begun.append(found[0])
                last[found[0]] = found[1] or last[found[0]]

    with pytest.raises(DPMCError, match="at most 40"):
        draw()
    assert begun[:2] == [0, 2]  # both had begun before one of them ended
    assert [last[k].value for k in (0, 2)] == alone
    assert all(result.finished for result in last.values())


def test_a_watched_run_has_pictures_of_its_way() -> None:
    spec = SMALL.replace(iterations=100)
    *_, seen = watched(spec)
    truth = seen.split.test.truth
    assert truth is not None
    assert {1, 100} <= set(seen.pictures) <= set(range(1, 101))
    assert 30 <= len(seen.pictures) <= 45
    np.testing.assert_allclose(seen.pictures[100], seen.picture)
    assert seen.value == run(spec).value


@pytest.mark.long
def test_what_is_too_large_is_never_sent(worker: Worker) -> None:
    with pytest.raises(DPMCError, match=r"The results would take .* MB, and at most 2 MB are held"):
        list(worker.draw(steps, [LARGE], most=2_000_000))
    assert worker.held == 0
    # two that would fit alone do not fit together
    size = len(pickle.dumps(run(LARGE)))
    assert list(worker.draw(steps, [LARGE], most=size + 10_000))
    assert worker.held == pytest.approx(size, rel=0.01)  # as it was sent
    other = RunSpec.of(**SIZE, seed=1)
    with pytest.raises(DPMCError, match="or fewer runs at once"):
        list(worker.draw(steps, [LARGE, other], most=int(1.2 * size)))
    assert list(worker.draw(steps, [SMALL], most=int(1.2 * size)))  # and the process goes on


@pytest.mark.long
@pytest.mark.parametrize("rank", [2, 30])
@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "als"},
        {"algorithm": "irls", "mechanism": "huber", "variance": 1.0},
        {"algorithm": "moments", "mechanism": "gaussian", "total_epsilon": 2.0},
        {"algorithm": "nmf", "dataset": "cartoon"},
    ],
)
def test_the_size_that_is_known_before_is_no_more_than_what_comes(
    changes: dict[str, object], rank: int
) -> None:
    spec = RunSpec.of(**changes, rank=rank)
    size = len(pickle.dumps(run(spec))) / 1e6
    assert 0 < spec.model_megabytes <= size
    if rank == 30 and spec.task == "rate":  # and where factors are most of it, not much less
        assert spec.model_megabytes > 0.1 * size


def test_the_largest_link_is_refused_before_it_runs() -> None:
    size = "n_users=200000&n_items=200000&observed=0.0001&rank=256&iterations=1"
    app = open_page(f"completion?dataset=low-rank&n=2&run=1&{size}")
    shows(app, "The results would take 1,638 MB", kinds=["error"])
    assert jobs.current("run") is None


def test_only_its_own_tab_goes_on_with_a_visit_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left, here = Box(), {"former"}
    left.token, left.belongings = "secret", {"own-sets": "data"}
    boxes = {"former": left, "another": Box()}
    monkeypatch.setattr(jobs, "_boxes", boxes)
    monkeypatch.setattr(jobs, "session", lambda: "new")
    monkeypatch.setattr(jobs, "_has_tab", lambda name: name in here)
    assert not jobs.take_over("secret")  # a copied tab, while the first is open
    here.clear()
    assert not jobs.take_over("")
    assert not jobs.take_over("guessed")
    assert not jobs.take_over("é")
    assert jobs.take_over("secret") == {"own-sets": "data"}
    assert boxes["new"] is left
    assert "former" not in boxes


def job(box: Box, kind: str, megabytes: float, *, state: str = "done") -> Job:
    holder = Job(kind=kind, results=["something"], state=state)
    box.replace(holder)
    box.make_room(holder, megabytes)
    return holder


def kinds(box: Box) -> list[str]:
    return [k for k in ("audit", "factors", "run") if box.standing(k) is not None]


@pytest.fixture
def caps(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(results, "RESULTS", results.Held())
    monkeypatch.setenv("DPMC_RESULTS_OF_ONE_MB", "100")
    monkeypatch.setenv("DPMC_RESULTS_MB", "250")


@pytest.mark.usefixtures("caps")
def test_the_oldest_results_of_a_visit_go_first() -> None:
    box = Box()
    job(box, "run", 40)
    job(box, "factors", 40)
    assert "were let go" in job(box, "audit", 50).let_go
    assert kinds(box) == ["audit", "factors"]
    again = job(box, "audit", 50)  # in the place of the former one of its kind
    assert kinds(box) == ["audit", "factors"]
    assert box.current("audit") is again
    assert results.RESULTS.megabytes <= 100


@pytest.mark.usefixtures("caps")
def test_what_finds_no_room_takes_nothing_away() -> None:
    box = Box()
    done = job(box, "run", 40)
    running = job(box, "audit", 60, state="running")
    with pytest.raises(DPMCError, match="would take 150 MB, and at most 100 MB are held"):
        job(box, "factors", 90)  # not even without the run
    assert (box.standing("run"), box.current("audit")) == (done, running)
    assert results.RESULTS.of(done) == 40
    others, box = [Box(), Box()], Box()
    job(others[0], "run", 100)
    former = job(box, "run", 45)
    with pytest.raises(DPMCError, match="those of all visitors together may take 250 MB"):
        job(box, "audit", 100)
    assert box.standing("run") is former
    assert box.current("audit").let_go == ""  # type: ignore[union-attr]


@pytest.mark.usefixtures("caps")
def test_where_all_visits_leave_no_room_ones_own_older_results_make_it() -> None:
    boxes = [Box() for _ in range(3)]
    for box, megabytes in zip(boxes, (100, 100, 45), strict=True):
        job(box, "run", megabytes)
    again = job(boxes[2], "run", 50)
    assert boxes[2].standing("run") is again
    job(boxes[0], "run", 90)
    assert results.RESULTS.megabytes == 240
    del boxes, box, again
    gc.collect()
    assert results.RESULTS.megabytes == 0  # what is gone is given back


@pytest.mark.usefixtures("caps")
def test_a_cancelled_job_lets_nothing_go(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box()
    done = job(box, "audit", 60)
    going = Job(kind="run", specs=(SMALL,), results=[None], state="running")
    box.replace(going)

    class Late:
        held = 90_000_000

        def draw(self, *_: object, **__: object) -> Iterator[tuple[int, str, bool]]:
            going.cancel()
            yield 0, "a result", True

    jobs._drawn(going, box, steps, lambda k, result: 1)(Late())  # type: ignore[arg-type]
    assert box.standing("audit") is done
    assert results.RESULTS.of(going) == 0
    assert going.results == [None]
