"""``dpmc``, or ``python -m dpmc_core``: the command line (see ``dpmc_core.cli.common.main``)."""

import os
import signal
import sys
from contextlib import suppress
from typing import Any

__all__ = ["start"]


def start() -> int:
    """Run what the command line says; the exit code. Ctrl-C is answered in a word throughout."""
    usual = signal.getsignal(signal.SIGINT)
    if usual != signal.SIG_IGN:  # as for what runs in the background
        signal.signal(signal.SIGINT, _leave)
    code = 130
    with suppress(KeyboardInterrupt):
        code = _run(usual)
    return code


def _leave(*_: Any) -> None:
    """End at once: what is being loaded, or put away, could only answer with a traceback."""
    os.write(2, b"stopped\n")
    os._exit(130)


def _run(usual: Any) -> int:
    from dpmc_core.cli.common.main import main

    signal.signal(signal.SIGINT, usual)
    try:
        return main()
    except KeyboardInterrupt:  # a second one
        return 130
    finally:
        if usual != signal.SIG_IGN:
            signal.signal(signal.SIGINT, _leave)


if __name__ == "__main__":  # not where a worker process imports its parent's module
    sys.exit(start())
