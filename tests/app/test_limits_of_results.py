"""How much visits may hold: results that are too large, and whose go first."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from dpmc_core.errors import DPMCError
from pages.parts.server import job as results
from pages.parts.server import jobs
from pages.parts.server.job import Box, Job
from tests.app.visits import TINY, open_page, shows


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
    assert not any(jobs.take_over(token) for token in ("", "guessed", "é"))
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
    running = Job(kind="run", specs=(TINY,), results=[None], state="running")
    box.replace(running)

    class Late:
        held = 90_000_000

    def results_of() -> Iterator[tuple[int, str, bool]]:
        running.cancel()
        yield 0, "a result", True

    worker: Any = Late()
    jobs._follow(running, results_of(), worker, lambda k, result: (1, 1), box)
    assert box.standing("audit") is done
    assert results.RESULTS.of(running) == 0
    assert running.results == [None]
