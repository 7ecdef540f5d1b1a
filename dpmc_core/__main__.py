"""``dpmc``, or ``python -m dpmc_core``: the command line (see ``dpmc_core.cli.common.main``)."""

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

STOPPED, TERMINATED = 130, 143  # exit codes, as shells give them


def start() -> int:
    """Run what the command line says; the exit code.

    Ctrl-C and a request to terminate are answered with one word at any moment, and what a run has
    computed so far is printed where there is something to print.
    """
    heeded = [  # not what runs in the background and ignores Ctrl-C
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) != signal.SIG_IGN
    ]
    for number in heeded:
        signal.signal(number, _leave)
    with suppress(KeyboardInterrupt):
        return _run(heeded)
    return STOPPED


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


def end(code: int) -> None:
    """End this program.

    Where an interrupt passed through code made from text, as a dataclass's methods are while a
    module is loaded, ``python -m`` ends by SIGINT, whatever code it is given: not so here.
    """
    if code not in (STOPPED, TERMINATED):
        sys.exit(code)
    threading._shutdown()  # type: ignore[attr-defined]  # as Python itself ends
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":  # not where a worker process imports its parent's module
    end(start())
