"""Whose file is read next, and what a heavy one costs others; with workers that only pretend."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.reading import inspect
from pages.parts.server import jobs, sandbox
from pages.parts.server.queue import Pool
from tests.waiting import until


class Pretending:
    """A worker whose files are heavy (they take for ever), or give their own name at once."""

    def __init__(self, *_: object) -> None:
        self.drew: list[str] = []
        self.starting = 0  # looks until it has started
        self.let_go = threading.Event()
        self.looks = 0

    @property
    def ready(self) -> bool:
        self.looks += 1
        return self.looks > self.starting

    @property
    def busy(self) -> float:
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
        while not self.ready:
            yield None
        while name.startswith("heavy") and not self.let_go.is_set():
            time.sleep(0.01)
            yield None
        yield 0, name, True

    def end(self, *threads: threading.Thread) -> None:
        """Let its heavy files go, and wait for those who brought them."""
        self.let_go.set()
        for thread in threads:
            thread.join(60)


class Gone(Exception):
    """A visitor has left: Streamlit ends their script."""


LARGE = sandbox._SMALL + 1
_visitor = threading.local()


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Pool]:
    """The pools of both lanes, which pretend to read."""
    pools = {lane.name: Pool(1, 99, 99, Pretending) for lane in (sandbox._QUICK, sandbox._SLOW)}
    monkeypatch.setattr(sandbox, "_pool", lambda lane: pools[lane.name])
    monkeypatch.setattr(sandbox, "_heavy", {})
    monkeypatch.setattr(jobs, "session", lambda: getattr(_visitor, "name", ""))
    return pools


@pytest.fixture
def quick(pools: dict[str, Pool]) -> Any:
    return pools[sandbox._QUICK.name].workers[0]


@pytest.fixture
def slow(pools: dict[str, Pool]) -> Any:
    return pools[sandbox._SLOW.name].workers[0]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick files have no more than a twentieth of a second."""
    monkeypatch.setattr(sandbox, "_QUICK", sandbox._Lane("quick files", "The file", 0.05, ""))


def read(visitor: str, name: str, size: int = 10, start: bytes = b"", **options: Any) -> Any:
    _visitor.name = visitor
    content = (start or name.encode()).ljust(size, b"x")
    return sandbox.read_file(inspect, "ratings", name, content, {}, **options)


def begin(visitor: str, name: str, size: int = 10) -> threading.Thread:
    def tell() -> None:
        with contextlib.suppress(DPMCError):
            read(visitor, name, size)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    return thread


def test_a_large_file_keeps_nobodys_small_one_waiting(slow: Pretending) -> None:
    begun = [begin(f"v{k}", "heavy.zip", LARGE) for k in range(3)]
    until(lambda: slow.drew)
    assert read("newcomer", "small.csv") == "small.csv"  # while the others go on
    assert all(thread.is_alive() for thread in begun)
    slow.end(*begun)


@pytest.mark.usefixtures("impatient")
def test_who_brought_a_heavy_file_waits_with_others_who_did(
    quick: Pretending, slow: Pretending
) -> None:
    begun = begin("hostile", "heavy.zip")
    until(lambda: slow.drew == ["heavy.zip"])  # small, but it took more than its lane allows
    slow.end(begun, begin("another tab", "heavy.zip"))
    assert read("hostile", "next.csv") == "next.csv"
    assert slow.drew == ["heavy.zip", "heavy.zip", "next.csv"]
    assert read("newcomer", "small.csv") == "small.csv"
    assert quick.drew == ["heavy.zip", "small.csv"]


@pytest.mark.usefixtures("impatient")
def test_a_file_has_its_seconds_from_when_it_can_be_looked_at(
    quick: Pretending, slow: Pretending, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick.starting = 30  # longer than the file may take
    assert read("v1", "small.csv") == "small.csv"
    assert slow.drew == []
    monkeypatch.setattr(sandbox, "_SLOW", sandbox._Lane("slow files", "The file", 0.05, ""))
    with pytest.raises(DPMCError, match="The file could not be read within"):
        read("v2", "heavy.zip", LARGE)


def test_a_packed_file_is_small_only_where_it_is_tiny(quick: Pretending, slow: Pretending) -> None:
    tiny = sandbox._SMALL_PACKED
    for packed in sandbox._PACKED:
        for size in (tiny, tiny + 1):
            read(f"{packed!r} {size}", str(size), size, packed)
    assert read("a", "plain", sandbox._SMALL) == "plain"
    assert quick.drew == [str(tiny)] * len(sandbox._PACKED) + ["plain"]
    assert slow.drew == [str(tiny + 1)] * len(sandbox._PACKED)


def test_time_that_others_have_does_not_count(
    quick: Pretending, slow: Pretending, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that gets no turn on a busy machine has not read for too long."""
    monkeypatch.setattr(Pretending, "busy", 3.0)
    begun = begin("v", "heavy.csv")
    until(lambda: quick.drew)
    time.sleep(2)  # more than is allowed, of which it had nothing
    assert begun.is_alive()
    quick.end(begun)
    assert slow.drew == []


def test_who_leaves_gives_the_place_up(slow: Pretending) -> None:
    """What they wait for is not read."""
    first = begin("v0", "heavy.zip", LARGE)
    until(lambda: slow.drew)
    places: list[int] = []

    def tell(place: int) -> None:
        places.append(place)
        raise Gone

    with pytest.raises(Gone):
        read("v1", "a.csv", LARGE, tell=tell)
    assert places == [1]
    slow.end(first)
    assert read("v2", "b.csv", LARGE) == "b.csv"
    assert slow.drew == ["heavy.zip", "b.csv"]


def test_what_is_read_for_somebody_who_left_is_ended(slow: Pretending) -> None:
    def tell(place: int) -> None:
        if slow.drew:
            raise Gone

    with pytest.raises(Gone):
        read("v1", "heavy.zip", LARGE, tell=tell)
    # it never lets go by itself, and yet the next one has its turn
    assert read("v2", "b.csv", LARGE) == "b.csv"
