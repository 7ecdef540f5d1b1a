"""The command line: ``python -m dpmc_core COMMAND ... [--seed N] [--json]``, a file per command.

With ``--json`` the last line on standard output is one JSON object; progress goes to standard
error. A user's mistake is one sentence on standard error and exit code 2.
"""

import errno
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from dpmc_core import __version__
from dpmc_core.cli.options import Parser
from dpmc_core.errors import DPMCError
from dpmc_core.wording import finite, printable

__all__ = ["main"]

MAIN_HELP = (
    "Differential privacy in matrix completion and factorisation: mechanisms, runs, accounts, "
    "audits, datasets."
)
COMMANDS = (
    *("mechanism", "complete", "factorize", "account", "audit", "sweep", "runs", "paper"),
    *("datasets", "bench"),
)
_BY_ALGORITHM = ("complete", "factorize")  # whose options follow from what is typed


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0; 2 for a user's mistake; 130 where Ctrl-C ended it, whatever it could still print; 74 where
    standard output takes no more.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = _parser(words).parse_args(words)
        result: dict[str, Any] = arguments.command(arguments)
        if arguments.json:
            print(json.dumps(finite(result)))
        if sys.stdout is not None:  # closed by whoever called
            sys.stdout.flush()
    except DPMCError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (ArithmeticError, MemoryError, RecursionError) as error:
        print(
            f"error: these values cannot be computed with ({type(error).__name__}: {error}).",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        # whoever read has gone: nothing more to say
        _nothing_more()
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise
        _nothing_more()
        why = f"standard output takes no more ({error.strerror}): free some space"
        print(f"error: {why}, or write elsewhere.", file=sys.stderr)
        return os.EX_IOERR
    return 130 if getattr(arguments, "stopped", False) else 0


def _nothing_more() -> None:
    """Let what is still to be written go nowhere: at the end Python writes it by itself."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(words: Sequence[str]) -> Parser:
    parser = Parser(prog="python -m dpmc_core", description=MAIN_HELP)
    parser.add_argument("--version", action="version", version=f"dpmc_core {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    named = next((word for word in words if not word.startswith("-")), "")
    for name in COMMANDS:
        module: Any = importlib.import_module(f"dpmc_core.cli.{name}")
        sub = commands.add_parser(
            name, help=module.SUMMARY, description=module.SUMMARY, allow_abbrev=False
        )
        sub.add_argument(
            "--json", action="store_true", help="end with one JSON object on standard output"
        )
        sub.set_defaults(command=module.run)
        if name == named:  # the others' options need not be made
            module.add(sub, words) if name in _BY_ALGORITHM else module.add(sub)
    return parser
