"""The command ``bench``: measure the kernel and the samplers on this machine."""

import argparse
import sys
from typing import Any

from dpmc_core.cli.common.options import whole


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--quick", action="store_true", help="small problems only, a few seconds")
    parser.add_argument("--threads", default="2", help="threads of the kernel")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure and print."""
    from dpmc_core.bench import run_all  # only here: it allocates large arrays

    return run_all(
        quick=arguments.quick,
        threads=whole("threads", arguments.threads, 256),
        tell=lambda line: print(
            line, file=sys.stderr if arguments.json else sys.stdout, flush=True
        ),
    )
