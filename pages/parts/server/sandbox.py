"""What a page has computed for it in a process of its own, while it waits.

Lives here: reading visitors' files and learning word vectors, each in a worker with less memory
than jobs have and a limit on its time, so that whatever is in a file or a text harms nobody's run
and stops no page. Does not live here: formats (``dpmc_core.datasets.own``), the form
(``own_view``), or runs that are watched (``jobs``).
"""

import threading
import time
from functools import lru_cache
from typing import Any

from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.share import Share
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.metrics.topics import keep_words, knows_words
from pages.parts.server import settings

__all__ = ["expect_file", "learn_words", "read_file"]

_FILE_SECONDS, _WORD_SECONDS = (
    20.0,
    180.0,
)  # that reading one file, and learning the words of one set, may take
_START_SECONDS = 120.0  # that a process may take to begin, which is no fault of what it is to read
_reading, _learning = threading.Lock(), threading.Lock()


def expect_file() -> None:
    """Start the process that reads files, unless there is one.

    While its visitor looks for a file it is through with that.
    """
    _worker("files").start()


def read_file(steps: str, spec: tuple[Any, ...]) -> Any:
    """What the worker for files makes of one.

    ``steps`` "inspect" or "read" of ``dpmc_core.experiments.worker.worker``. It takes a second, and
    is not allowed more than twenty: whatever is in the file, the app goes on. Raises ``DPMCError``.
    """
    with _reading:
        return _drawn(
            _worker("files"), steps, spec, _FILE_SECONDS, "The file", "a smaller one is allowed"
        )


def learn_words(samples: Samples) -> None:
    """Have word vectors learned from ``samples``' texts, unless that was done before.

    Then ``tc_w2v`` is quick. Raises ``DPMCError``.
    """
    with _learning:
        if not knows_words(samples):
            spec = (samples.texts, samples.words)
            hint = "fewer or shorter documents are allowed"
            keep_words(
                samples, _drawn(_worker("words"), "words", spec, _WORD_SECONDS, "The words", hint)
            )


def _drawn(
    worker: Worker, steps: str, spec: tuple[Any, ...], seconds: float, what: str, hint: str
) -> Any:
    asked = started = time.monotonic()
    results = worker.draw(steps, (spec,))
    try:
        for found in results:
            if found is not None and found[1] is not None:
                return found[1]
            now = time.monotonic()
            if (
                not worker.ready
            ):  # it is still loading its code: only then does it look at what it was given
                started = now
                if now - asked > _START_SECONDS:
                    raise DPMCError(
                        "The lab is too busy to read anything just now; please try again in a "
                        "few minutes."
                    )
            if now - started > seconds:
                raise DPMCError(f"{what} could not be read within {seconds:.0f} seconds; {hint}.")
    except MemoryError:
        raise DPMCError(f"{what} would take more memory than is allowed; {hint}.") from None
    finally:
        results.close()
    raise DPMCError(f"{what} could not be read.")


@lru_cache(maxsize=2)
def _worker(_: str) -> Worker:
    """One for each purpose: who waits for words keeps nobody from a file."""
    return Worker(
        Share(min(2000, settings.of("DPMC_JOB_MEMORY_MB")), nice=5)
    )  # its visitor waits, but others too
