"""Whose turn it is: one visitor after the other, bounded, and nobody is forgotten."""

import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.run import watched
from pages.parts.server import jobs, queue, settings
from pages.parts.server.queue import Pool, Ticket, TooManyJobs
from pages.parts.ui import run_panel
from tests.faults import raising


class Line:
    """A pool of one thread that is held up until told, and who was served in which order."""

    def __init__(self, most: int = 10, most_of_one: int = 4) -> None:
        self.pool, self.served, self.gate = Pool(1, most, most_of_one), [], threading.Event()
        self.pool.submit("gate", lambda _: self.gate.wait() and None)
        while self.pool.waiting:
            time.sleep(0.001)

    def ask(self, session: str, name: str) -> Ticket:
        return self.pool.submit(session, lambda _: self.served.append(name))

    def open(self, count: int) -> list[str]:
        self.gate.set()
        while len(self.served) < count:  # who is forgotten would be waited for without end
            time.sleep(0.001)
        return self.served


def test_visitors_take_turns() -> None:
    line = Line()
    tickets = [
        line.ask(*who)
        for who in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2"))
    ]
    places = [ticket.place for ticket in tickets]
    assert places == [1, 4, 6, 2, 3, 5]
    in_order = [
        name for _, name in sorted(zip(places, ("a1", "a2", "a3", "b1", "c1", "b2"), strict=True))
    ]
    assert line.open(6) == in_order
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
    small = {"n_users": 60, "n_items": 30, "observed": 0.5, "rank": 2}
    short = RunSpec.of(**small, iterations=3)
    endless = tuple(RunSpec.of(**small, iterations=500, seed=k) for k in range(500))
    jobs.make_ahead([(short,), endless])
    *_, here = watched(short)
    # waits for the worker that makes it
    assert run_panel.example_runs((short,))[0].value == here.value
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
    small = {"n_users": 60, "n_items": 30, "observed": 0.5, "rank": 2, "iterations": 3}
    first, second = ((RunSpec.of(**small, seed=k),) for k in (11, 12))
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
