"""Standard output and standard error that take every word.

A run's noise is drawn once: its result must not be lost because a terminal cannot show ``ε``, or
because the disk that standard error goes to is full.
"""

import os
import sys
from contextlib import suppress
from typing import TextIO


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
