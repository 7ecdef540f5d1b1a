"""What a page has computed for it in a process of its own, while it waits.

Reading visitors' files, counting their ledgers and learning word vectors, each in a worker with
less memory than jobs have and a limit on its time, one visitor after the other, so that whatever is
in a file or a text harms nobody's run and stops no page.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import streamlit as st

from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.reading import call
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.metrics.factors import keep_words, knows_words, learned_words
from pages.parts.server import jobs, settings
from pages.parts.server.queue import Pool

_START_SECONDS = 120.0  # that a process may take to begin, which is no fault of what it is to read
_REMEMBERED = 600.0  # seconds for which a visitor whose file was heavy waits with those like them
# bytes: what is larger waits with what takes long; packed files are heavier than they look
_SMALL, _SMALL_PACKED = 4_000_000, 1_000_000
_PACKED = (b"PK", b"PAR1", b"MATLAB", b"\x89HDF", b"\x1f\x8b")
_PATIENCE = 20  # times the seconds that are allowed may pass, however busy the machine is
_LOOK = 0.1
_PLACES = 10_000  # in each line: the number of visits is limited elsewhere


@dataclass(frozen=True)
class _Lane:
    """A line of its own: what its work is, and the seconds of a processor that it may take."""

    name: str
    what: str
    seconds: float
    hint: str


# who brings what takes long waits for others who do, and keeps nobody's small file waiting
_QUICK = _Lane("quick files", "The file", 1.5, "a smaller one is allowed")
_SLOW = _Lane("slow files", "The file", 20.0, "a smaller one is allowed")
_WORDS = _Lane("words", "The words", 180.0, "fewer or shorter documents are allowed")
# when a visitor's file, or one with this digest, was too much for the quick lane
_heavy: dict[str | bytes, float] = {}


class TooMuchError(DPMCError):
    """It took more than its lane allows; the message says so."""


def expect_file() -> None:
    """Start the process that reads files, unless there is one.

    While its visitor looks for a file it is through with that.
    """
    _pool(_QUICK).start_workers()


def read_file(
    function: Callable[..., Any], *given: Any, tell: Callable[[int], None] = lambda place: None
) -> Any:
    """What ``function`` makes of what is ``given``, a file's content (bytes) among it, in the
    process for files.

    It takes a second, and is not allowed more than twenty of a processor: whatever is in the file,
    the app goes on. ``tell`` is called with the place in the line, 0 when it has begun. Raises
    ``DPMCError``.
    """
    data, now = next((x for x in given if isinstance(x, bytes)), b""), time.monotonic()
    for heavy_name, when in list(_heavy.items()):
        if now - when > _REMEMBERED:
            _heavy.pop(heavy_name, None)
    names = (jobs.session(), hashlib.blake2b(data).digest())
    small = _SMALL_PACKED if data.startswith(_PACKED) else _SMALL
    spec = (function, *given)
    if len(data) <= small and not any(name in _heavy for name in names):
        try:
            return _in_turn(_QUICK, spec, tell)
        except TooMuchError:
            _heavy.update(dict.fromkeys(names, now))
    return _in_turn(_SLOW, spec, tell)


def learn_words(samples: Samples) -> None:
    """Have word vectors learned from ``samples``' texts, unless that was done before.

    Then ``tc_w2v`` is quick. Raises ``DPMCError``.
    """
    if not knows_words(samples):
        spec = (learned_words, samples.texts, samples.words)
        keep_words(samples, _in_turn(_WORDS, spec, lambda place: None))


def _in_turn(lane: _Lane, spec: tuple[Any, ...], tell: Callable[[int], None]) -> Any:
    """What the function that begins ``spec`` returns in a worker of the ``lane``, when this
    visitor's turn has come.
    """
    future = Future[Any]()
    left = threading.Event()

    def work(worker: Worker) -> None:
        if left.is_set():
            return
        try:
            future.set_result(_drawn(worker, spec, lane, left))
        except BaseException as error:  # noqa: BLE001 - the page that waits raises it
            future.set_exception(error)

    ticket = _pool(lane).submit(jobs.session(), work)
    try:
        while not wait([future], _LOOK).done:
            tell(ticket.place)
            # where the visitor has gone, or wants something else, Streamlit ends the script here
            st.session_state.get("here")
        return future.result()
    finally:
        left.set()
        ticket.leave()


def _drawn(worker: Worker, spec: tuple[Any, ...], lane: _Lane, left: threading.Event) -> Any:
    submitted = started = time.monotonic()
    results = worker.draw(call, (spec,), private=True)
    used: float | None = None  # by its start, which is no fault of what it is to read
    try:
        for output in results:
            if output is not None and output[1] is not None:
                return output[1]
            now = time.monotonic()
            if worker.ready and used is None:
                used, started = worker.busy, now
            if used is None and now - submitted > _START_SECONDS:
                raise DPMCError(
                    "The lab is too busy to read anything just now; please try again in a few "
                    "minutes."
                )
            spent = 0.0
            if used is not None:
                spent = max(worker.busy - used, (now - started) / _PATIENCE)
            if left.is_set() or spent > lane.seconds:
                worker.close()  # at once: others wait
                raise TooMuchError(
                    f"{lane.what} could not be read within {lane.seconds:.0f} seconds; {lane.hint}."
                )
    except MemoryError:
        raise TooMuchError(
            f"{lane.what} would take more memory than is allowed; {lane.hint}."
        ) from None
    finally:
        results.close()
    raise DPMCError(f"{lane.what} could not be read.")


@cache
def _pool(lane: _Lane) -> Pool:
    """One worker for each lane; its visitors wait, but others too."""
    memory = min(2000, settings.of("DPMC_JOB_MEMORY_MB"))
    nice = min(10 if lane is _SLOW else 5, settings.of("DPMC_JOB_NICE"))
    return Pool(1, _PLACES, _PLACES, partial(Worker, Share(memory, nice)))
