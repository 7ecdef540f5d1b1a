"""The command line ``dpmc COMMAND ... [--seed N] [--json]``, a file per command.

With ``--json`` the last line on standard output is one JSON object; progress goes to standard
error. A user's mistake is one sentence on standard error and exit code 2. What commands that run
something print of it, in the same words, is here too.
"""

import errno
import importlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from dpmc_core import __version__
from dpmc_core.cli.common.options import Parser, say
from dpmc_core.errors import DPMCError
from dpmc_core.metrics import Comparison
from dpmc_core.privacy import Statement
from dpmc_core.wording import JsonObject, finite


def accept_all_text() -> None:
    """Write what a stream's encoding lacks as its code (``\\u03b5``), and messages to standard
    output once standard error takes no more.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the caller
            with suppress(AttributeError):  # a caller's own stream, which takes what it takes
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if sys.stderr is not None:
        sys.stderr = _Messages(sys.stderr)


class _Messages:
    """Standard error as a file for ``print``; standard output takes its place where it fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream

    def write(self, text: str) -> int:
        if self._stream is not None:
            try:
                self._stream.write(text)
                self._stream.flush()
                return len(text)
            except OSError as error:
                # what is buffered must not fail again when Python ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
                self._stream = None
                if sys.stdout is not None:
                    why = f"standard error takes no more ({error.strerror})"
                    print(f"{why}: messages follow here.", text, sep="\n", end="")
                return len(text)
        return len(text) if sys.stdout is None else sys.stdout.write(text)

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream or sys.stdout, name)


# what each extra brings
EXTRAS = {
    "data": ("pandas", "pooch", "requests", "pyarrow", "PIL", "skimage"),
    "text": ("sklearn", "gensim"),
    "runs": ("sqlalchemy", "psutil", "threadpoolctl"),
    "app": (
        "streamlit", "plotly", "starlette", "orjson", "nbformat", "brotli", "fontTools",
        "spellchecker",
    ),
    "notebooks": ("matplotlib", "ipykernel"),
    "cluster": ("distributed",),
    "postgres": ("psycopg",),
}  # fmt: skip


MAIN_HELP = (
    "Differential privacy in matrix completion and factorisation: mechanisms, runs, accounts, "
    "audits, datasets."
)
COMMANDS = {
    "mechanism": "What one noise mechanism is and protects.",
    "plan": "How much ε, how many people, or how much noise an accuracy takes.",
    "complete": "Complete a matrix of ratings, with or without noise.",
    "predict": "Recommend to new users from the folder of a completion (complete --out).",
    "large": "Complete a matrix larger than memory, on this machine or a cluster.",
    "factorize": "Factorise faces into parts or documents into topics.",
    "account": "What a ledger of releases spends in all, and the least noise for a budget.",
    "audit": "Attack a release with and without one person, and bound its ε from below.",
    "sweep": "Make many runs from a TOML file, at once and resumable.",
    "runs": "List, export, delete or add runs of the store.",
    "paper": "Compute a table or figure of the papers and keep its results.",
    "datasets": "List, fetch, make or rewrite datasets.",
    "app": "Open the dashboard, which answers on this machine alone.",
}
# whose options follow from what is typed
_BY_ALGORITHM = ("complete", "factorize", "large", "plan")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0; 2 for a user's mistake; 130 where Ctrl-C ended it, whatever it could still print; 74 where
    standard output takes no more.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = _parser(words).parse_args(words)
        result: JsonObject = arguments.command(arguments)
        if arguments.json:
            print(json.dumps(finite(result)))
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        for extra, packages in EXTRAS.items():
            if package in packages:
                needs = f"this needs {error.name}, which is not installed"
                return _failed(f"{needs}: pip install 'dpmc-lab[{extra}]'.", words)
        raise
    except DPMCError as error:
        return _failed(str(error), words)
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except (ArithmeticError, MemoryError, RecursionError) as error:
        message = f"these values cannot be computed with ({type(error).__name__}: {error})."
        return _failed(message, words)
    except BrokenPipeError:
        # the reader has gone: nothing more to say
        _nothing_more()
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise
        _nothing_more()
        why = f"standard output takes no more ({error.strerror}): free some space"
        say(f"error: {why}, or write elsewhere.")
        return os.EX_IOERR
    return 130 if getattr(arguments, "stopped", False) else 0


def _failed(message: str, words: Sequence[str]) -> int:
    """Say what was wrong; where JSON was asked for, in JSON too. Returns the exit code."""
    say(f"error: {message}")
    if "--json" in words:
        print(json.dumps({"error": message}))
    return 2


def _nothing_more() -> None:
    """Let what is still to be written go nowhere: at the end Python writes it by itself."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(words: Sequence[str]) -> Parser:
    typed = "dpmc" if Path(sys.argv[0]).stem == "dpmc" else "python -m dpmc_core"
    parser = Parser(prog=typed, description=MAIN_HELP)
    parser.add_argument("--version", action="version", version=f"dpmc_core {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    named = next((word for word in words if not word.startswith("-")), "")
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        sub.add_argument(
            "--json", action="store_true", help="end with one JSON object on standard output"
        )
        if name == named:  # the others' code need not be loaded
            module: Any = importlib.import_module(f"dpmc_core.cli.{name}")
            sub.set_defaults(command=module.run)
            module.add(sub, words) if name in _BY_ALGORITHM else module.add(sub)
    return parser


_EVERY = 2.0  # seconds between lines


class Progress:
    """A line on standard error now and then: what is done, and how many of how many partitions."""

    _doing = ""
    _began = _shown = 0.0  # set by the first call

    def __call__(self, doing: str, done: int, of: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._began, self._shown = doing, now, now
        if now - self._shown >= _EVERY:
            self._shown = now
            say(f"{doing}: {done} of {of} partitions, {now - self._began:.0f} s")


def print_errors(
    errors: Any, baselines: Mapping[str, float], against: Comparison, held_out: str
) -> None:
    """Print the RMSE of ``errors`` and of the ``baselines``, and how it is ``against`` the best."""
    print(
        f"test RMSE {errors.test_rmse:.4f} ± {errors.test_half_width:.4f} rating points "
        f"(95 %, over {held_out})"
    )
    print(f"clipped to the rating scale {errors.test_rmse_clipped:.4f}")
    if getattr(errors, "truth_rmse", None) is not None:
        print(f"on the whole matrix {errors.truth_rmse:.4f}")
    for name, value in baselines.items():
        print(f"  {name:<12} {value:.4f}")
    print_against(min(baselines, key=baselines.__getitem__) + ", on the same ratings", against)


def print_against(baseline: str, against: Comparison) -> None:
    """Print how a result is ``against`` a ``baseline``."""
    print(
        f"against {baseline}: {against.mean:+.4f} ± {against.half_width:.2g} (95 %): "
        f"{against.of_this_run}"
    )


def print_statement(statement: Statement) -> None:
    """Print what a run protects, of whom, and how that was counted."""
    print(*statement.lines, sep="\n")
