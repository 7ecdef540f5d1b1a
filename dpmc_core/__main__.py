"""``dpmc``, or ``python -m dpmc_core``: the command line (see ``dpmc_core.cli.common.main``)."""

import os
import signal
import sys
from contextlib import suppress
from typing import Any

STOPPED, TERMINATED = 130, 143  # exit codes, as shells give them


def start() -> int:
    """Run what the command line says; the exit code.

    Ctrl-C and a request to terminate are answered with one word at any moment, and what a run has
    computed so far is printed where there is something to print.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heeded = [number for number, handler in handlers.items() if handler != signal.SIG_IGN]
    for number in heeded:  # not what runs in the background and ignores Ctrl-C
        signal.signal(number, _leave)
    code = STOPPED
    with suppress(KeyboardInterrupt):
        code = _run(heeded)
    return code


def _leave(number: int, _: Any) -> None:
    """End at once: what is being loaded, or put away, could only answer with a traceback."""
    os.write(2, b"stopped\n")
    os._exit(TERMINATED if number == signal.SIGTERM else STOPPED)


def _run(heeded: list[signal.Signals]) -> int:
    from dpmc_core.cli.common.main import accept_all_text, main

    accept_all_text()
    terminated = False

    def interrupt(number: int, _: Any) -> None:
        nonlocal terminated
        terminated = terminated or number == signal.SIGTERM
        for other in heeded:  # a second one does not wait for the first
            signal.signal(other, _leave)
        raise KeyboardInterrupt

    for number in heeded:
        signal.signal(number, interrupt)
    try:
        code = main()
    finally:
        for number in heeded:
            signal.signal(number, _leave)
    return TERMINATED if terminated else code


if __name__ == "__main__":  # not where a worker process imports its parent's module
    sys.exit(start())
