"""``python -m dpmc_core``: the command line (see ``dpmc_core.cli.main``)."""

import os
import signal
import sys
from typing import Any


def _leave(*_: Any) -> None:
    """End at once: what is being loaded, or put away, could only answer with a traceback."""
    os.write(sys.stderr.fileno(), b"stopped\n")
    os._exit(130)


if __name__ == "__main__":  # not where a worker process imports its parent's module
    usual = signal.signal(signal.SIGINT, _leave)
    from dpmc_core.cli.main import main

    signal.signal(signal.SIGINT, usual)
    try:
        code = main()
    except KeyboardInterrupt:  # a second one
        code = 130
    signal.signal(signal.SIGINT, _leave)
    sys.exit(code)
