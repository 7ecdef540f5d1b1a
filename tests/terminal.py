"""Commands as somebody at a terminal gives them: one line, and what it prints."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

import pytest

from dpmc_core.cli.common.main import main


@dataclass(frozen=True)
class Terminal:
    """A command line whose output is read; each line is what follows ``python -m dpmc_core``."""

    capsys: pytest.CaptureFixture[str]

    def output(self, line: str) -> str:
        """What a command prints that must succeed."""
        assert main(shlex.split(line.removeprefix("python -m dpmc_core "))) == 0, line
        return self.capsys.readouterr().out

    def json(self, line: str) -> Any:
        """What a command gives that must succeed, as a program reads it: all that is printed."""
        return json.loads(self.output(f"{line} --json"))

    def refusal(self, line: str) -> str:
        """The one sentence of a command that must be refused: nothing but it is printed."""
        assert main(shlex.split(line)) == 2, line
        printed = self.capsys.readouterr()
        assert printed.out == "", line
        assert printed.err.startswith("error: "), line
        assert printed.err.count("\n") == 1, line
        return printed.err
