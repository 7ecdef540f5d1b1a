"""Whose turn it is: one visitor after the other, bounded, and nobody is forgotten."""

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.run import watched
from pages.parts.server import jobs, queue, settings
from pages.parts.server.queue import Pool, Ticket, TooManyJobs
from pages.parts.ui import run_panel
from tests.app.visits import TINY
from tests.faults import raising
from tests.waiting import until


class Line:
    """A pool of one thread that is held up until told, and who was served in which order."""

    def __init__(self, most: int = 10, most_of_one: int = 4) -> None:
        self.pool, self.served, self.gate = Pool(1, most, most_of_one), [], threading.Event()
        self.pool.submit("gate", lambda _: self.gate.wait() and None)
        until(lambda: not self.pool.waiting)

    def ask(self, session: str, name: str) -> Ticket:
        return self.pool.submit(session, lambda _: self.served.append(name))

    def open(self, count: int) -> list[str]:
        self.gate.set()
        until(lambda: len(self.served) >= count)
        return self.served


def test_visitors_take_turns() -> None:
    line = Line()
    tickets = [line.ask(name[0], name) for name in ("a1", "a2", "a3", "b1", "c1", "b2")]
    assert [ticket.place for ticket in tickets] == [1, 4, 6, 2, 3, 5]
    assert line.open(6) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert [ticket.place for ticket in tickets] == [0] * 6


def test_leaving_gives_the_place_to_the_next() -> None:
    line = Line()
    a1, b1, a2 = line.ask("a", "a1"), line.ask("b", "b1"), line.ask("a", "a2")
    job = jobs.Job()
    job._ticket = a1
    job.cancel()  # its place is free at once
    assert not a1.leave()
    assert sorted(ticket.place for ticket in (b1, a2)) == [1, 2]
    assert sorted(line.open(2)) == ["a2", "b1"]
    assert not b1.leave()


def test_the_line_is_bounded_for_all_and_for_one() -> None:
    line = Line(most=5, most_of_one=2)
    line.ask("a", "a1"), line.ask("a", "a2")
    with pytest.raises(TooManyJobs, match="2 of your runs wait already"):
        line.ask("a", "a3")
    for k in range(3):
        line.ask(f"v{k}", "x")
    with pytest.raises(TooManyJobs, match="5 runs are waiting"):
        line.ask("z", "z")
    assert len(line.open(5)) == 5
    line.ask("a", "again")
    assert line.open(6)[-1] == "again"


def test_a_job_that_fails_in_an_unforeseen_way_takes_no_place_with_it() -> None:
    line = Line()
    line.pool.submit("a", raising(OSError("the log cannot be written")))
    line.ask("b", "b1")
    assert line.open(1) == ["b1"]


@pytest.mark.long
def test_examples_are_made_ahead_and_give_way_to_whoever_asks() -> None:
    endless = tuple(TINY.replace(iterations=500, seed=k) for k in range(500))
    jobs.make_ahead([(TINY,), endless])
    *_, here = watched(TINY)
    # waits for the worker that makes it
    assert run_panel.example_runs((TINY,))[0].value == here.value
    began = threading.Event()
    queue.job_pool().submit("visitor", lambda _: began.set())
    assert began.wait(10)
    assert jobs._ahead[endless].cancelled()  # it was left for the visitor's


@pytest.mark.long
def test_an_example_is_made_by_a_worker_unless_all_are_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = jobs._drawn_here
    made: list[tuple[RunSpec, ...]] = []

    def made_here(specs: tuple[RunSpec, ...]) -> Any:
        made.append(specs)
        yield from here(specs)

    monkeypatch.setattr(jobs, "_drawn_here", made_here)
    first, second = ((TINY.replace(seed=k),) for k in (11, 12))
    *_, expected = watched(*first)
    assert jobs.example(first).result(60)[0].value == expected.value
    assert made == []
    over, workers = threading.Event(), queue.job_pool().workers
    assert len(workers) == settings.of("DPMC_JOBS")
    for k in range(len(workers)):
        queue.job_pool().submit(f"visitor {k}", lambda _: over.wait(60) and None)
    *_, expected = watched(*second)
    assert jobs.example(second).result(60)[0].value == expected.value
    assert made == [second]
    over.set()


def test_an_example_that_cannot_be_made_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_drawn_here", raising(DPMCError("no room")))
    results: Future[list[Any]] = Future()
    jobs._make(None, {(): results})
    with pytest.raises(DPMCError, match="no room"):
        results.result(0)
    monkeypatch.setitem(jobs._ahead, (), results)
    assert jobs.example(()) is not results  # what stopped it may be over
