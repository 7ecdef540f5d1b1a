"""Reading visitors' files in a process of its own.

Lives here: the one worker for files, with less memory than jobs have and a limit on its time, so that whatever is in a file harms nobody's run and stops no page. Does not live here: formats
(``dpmc_core.datasets.own``) or the form (``own_view``).
"""

import threading
import time
from functools import lru_cache
from typing import Any

from app_pages.parts import settings
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker import Share, Worker

__all__ = ["read_file"]

_SECONDS = 20.0  # that reading one file may take
_reading = threading.Lock()


def read_file(steps: str, spec: tuple[Any, ...]) -> Any:
    """What the worker for files makes of one: ``steps`` "inspect" or "read" of ``dpmc_core.experiments.worker``. It takes a second, and is not allowed more than twenty: whatever is in the
    file, the app goes on. Raises ``DPMCError``."""
    with _reading:
        started = time.monotonic()
        results = _reader().draw(steps, (spec,))
        try:
            for found in results:
                if found is not None and found[1] is not None:
                    return found[1]
                if time.monotonic() - started > _SECONDS:
                    raise DPMCError(
                        f"The file could not be read within {_SECONDS:.0f} seconds; a smaller one is allowed."
                    )
        except MemoryError:
            raise DPMCError("The file takes more memory than is allowed; a smaller one is allowed.") from None
        finally:
            results.close()  # type: ignore[attr-defined]
    raise DPMCError("The file could not be read.")


@lru_cache(maxsize=1)
def _reader() -> Worker:
    """For visitors' files, which may hold anything: a process of its own, so that nobody's run is harmed."""
    return Worker(Share(min(2000, settings.of("DPMC_JOB_MEMORY_MB")), nice=5))  # its visitor waits, but others too
