"""Whose file is read next, and what a heavy one costs others; with workers that only pretend."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.reading import inspect
from pages.parts.server import jobs, sandbox
from pages.parts.server.queue import Pool


class Pretending:
    """A worker whose files are heavy (they take for ever), or give their own name at once."""

    ready = True

    def __init__(self, *_: object) -> None:
        self.drew: list[str] = []
        self.let_go = threading.Event()
        self.looks = 0

    @property
    def busy(self) -> float:
        self.looks += 1
        return 0.01 * self.looks

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def draw(
        self, _: object, specs: Any, *, private: bool
    ) -> Iterator[tuple[int, str, bool] | None]:
        assert private
        name = specs[0][2]
        self.drew.append(name)
        while name.startswith("heavy") and not self.let_go.is_set():
            time.sleep(0.01)
            yield None
        yield 0, name, True


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> Callable[[sandbox._Lane], Pool]:
    made = {lane.name: Pool(1, 99, 99, Pretending) for lane in (sandbox._QUICK, sandbox._SLOW)}
    monkeypatch.setattr(sandbox, "_pool", lambda lane: made[lane.name])
    monkeypatch.setattr(sandbox, "_heavy", {})
    who = threading.local()
    monkeypatch.setattr(jobs, "session", lambda: getattr(who, "is_", ""))

    def as_visitor(name: str) -> None:
        who.is_ = name

    monkeypatch.setattr(sandbox, "as_visitor", as_visitor, raising=False)
    return lambda lane: made[lane.name]


def read(visitor: str, name: str, size: int = 10) -> Any:
    sandbox.as_visitor(visitor)  # type: ignore[attr-defined]
    return sandbox.read_file(inspect, "ratings", name, name.encode().ljust(size, b"x"), {})


def begin(visitor: str, name: str, size: int = 10) -> threading.Thread:
    def tell() -> None:
        with contextlib.suppress(DPMCError):
            read(visitor, name, size)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    return thread


def worker(pool: Pool) -> Pretending:
    found: Any = pool.workers[0]
    return found  # type: ignore[no-any-return]


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_large_file_keeps_nobodys_small_one_waiting(
    lanes: Callable[[sandbox._Lane], Pool],
) -> None:
    slow = worker(lanes(sandbox._SLOW))
    begun = [begin(f"v{k}", "heavy.zip", sandbox._SMALL + 1) for k in range(3)]
    until(lambda: bool(slow.drew))
    assert read("newcomer", "small.csv") == "small.csv"  # while the others go on
    assert all(one.is_alive() for one in begun)
    slow.let_go.set()
    for one in begun:
        one.join(60)


def test_who_brought_a_heavy_file_waits_with_others_who_did(
    lanes: Callable[[sandbox._Lane], Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_QUICK", sandbox._Lane("quick files", "The file", 0.05, ""))
    quick, slow = worker(lanes(sandbox._QUICK)), worker(lanes(sandbox._SLOW))
    begun = begin("hostile", "heavy.zip")
    until(lambda: slow.drew == ["heavy.zip"])  # small, but it took more than its lane allows
    assert quick.drew == ["heavy.zip"]
    slow.let_go.set()
    begun.join(60)
    assert read("hostile", "next.csv") == "next.csv"
    assert quick.drew == ["heavy.zip"]
    assert slow.drew == ["heavy.zip", "next.csv"]
    assert read("newcomer", "small.csv") == "small.csv"
    assert quick.drew == ["heavy.zip", "small.csv"]


def test_the_same_heavy_file_from_another_tab_waits_with_its_like(
    lanes: Callable[[sandbox._Lane], Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_QUICK", sandbox._Lane("quick files", "The file", 0.05, ""))
    quick, slow = worker(lanes(sandbox._QUICK)), worker(lanes(sandbox._SLOW))
    begun = [begin("one tab", "heavy.zip", 99)]
    until(lambda: len(slow.drew) == 1)
    begun.append(begin("another", "heavy.zip", 99))
    slow.let_go.set()
    for one in begun:
        one.join(60)
    assert quick.drew == ["heavy.zip"]
    assert len(slow.drew) == 2


def test_a_packed_file_is_small_only_where_it_is_tiny(
    lanes: Callable[[sandbox._Lane], Pool],
) -> None:
    quick, slow = worker(lanes(sandbox._QUICK)), worker(lanes(sandbox._SLOW))
    for packed in sandbox._PACKED:
        for size in (sandbox._SMALL_PACKED, sandbox._SMALL_PACKED + 1):
            sandbox.as_visitor(f"{packed!r} {size}")  # type: ignore[attr-defined]
            sandbox.read_file(inspect, "ratings", f"{size}", packed.ljust(size, b"x"), {})
    assert read("a", "plain", sandbox._SMALL) == "plain"
    assert quick.drew == [f"{sandbox._SMALL_PACKED}"] * len(sandbox._PACKED) + ["plain"]
    assert slow.drew == [f"{sandbox._SMALL_PACKED + 1}"] * len(sandbox._PACKED)


def test_time_that_others_have_does_not_count(
    lanes: Callable[[sandbox._Lane], Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that gets no turn on a busy machine has not read for too long."""
    monkeypatch.setattr(Pretending, "busy", 3.0)
    quick = worker(lanes(sandbox._QUICK))
    begun = begin("v", "heavy.csv")
    until(lambda: bool(quick.drew))
    time.sleep(2)  # more than is allowed, of which it had nothing
    assert begun.is_alive()
    assert worker(lanes(sandbox._SLOW)).drew == []
    quick.let_go.set()
    begun.join(60)
    assert worker(lanes(sandbox._SLOW)).drew == []


def test_who_leaves_gives_the_place_up(
    lanes: Callable[[sandbox._Lane], Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit ends the script of a visitor who is gone: what they wait for is not read."""
    slow = worker(lanes(sandbox._SLOW))
    first = begin("v0", "heavy.zip", sandbox._SMALL + 1)
    until(lambda: bool(slow.drew))
    places: list[int] = []

    class Gone(Exception):
        pass

    def tell(place: int) -> None:
        places.append(place)
        raise Gone

    sandbox.as_visitor("v1")  # type: ignore[attr-defined]
    with pytest.raises(Gone):
        sandbox.read_file(inspect, "ratings", "a.csv", b"x" * (sandbox._SMALL + 1), {}, tell=tell)
    assert places == [1]
    slow.let_go.set()
    first.join(60)
    assert read("v2", "b.csv", sandbox._SMALL + 1) == "b.csv"
    assert slow.drew == ["heavy.zip", "b.csv"]


def test_what_is_read_for_somebody_who_left_is_ended(
    lanes: Callable[[sandbox._Lane], Pool],
) -> None:
    slow = worker(lanes(sandbox._SLOW))

    class Gone(Exception):
        pass

    def tell(place: int) -> None:
        if slow.drew:
            raise Gone

    sandbox.as_visitor("v1")  # type: ignore[attr-defined]
    with pytest.raises(Gone):
        sandbox.read_file(
            inspect, "ratings", "heavy.zip", b"x" * (sandbox._SMALL + 1), {}, tell=tell
        )
    # it never lets go by itself, and yet the next one has its turn
    assert read("v2", "b.csv", sandbox._SMALL + 1) == "b.csv"


def test_visitors_take_turns(lanes: Callable[[sandbox._Lane], Pool]) -> None:
    slow = worker(lanes(sandbox._SLOW))
    size = sandbox._SMALL + 1
    first = begin("greedy", "heavy-0", size)
    until(lambda: bool(slow.drew))
    others: list[threading.Thread] = []
    line = lanes(sandbox._SLOW)._waiting
    for visitor, name in (*(("greedy", f"g{k}") for k in range(1, 5)), ("other", "o")):
        others.append(begin(visitor, name, size))
        until(lambda: sum(map(len, line.values())) == len(others))
    slow.let_go.set()
    for one in (first, *others):
        one.join(60)
    assert slow.drew == ["heavy-0", "g1", "o", "g2", "g3", "g4"]
