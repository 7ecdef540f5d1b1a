"""Numbers and files as people type and save them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.spec import read_json
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.tasks.audit_outputs import audit_text
from dpmc_core.limits import LIMITS, number_of
from dpmc_core.mechanisms import Laplace
from dpmc_core.paths import text_of
from dpmc_core.planning.project import project_from_toml
from dpmc_core.privacy import ledger_from_text
from tests.privacy.helpers import ledger
from tests.terminal import Terminal


@pytest.mark.parametrize("text", ["-1e5", "+1.5", ".5", "5.", " 7 ", "1E-3", "007"])
def test_what_is_a_number(text: str) -> None:
    assert number_of(text) == float(text)


@pytest.mark.parametrize("text", ["1_5", "１５", "٣", "1e1_0", "0x10", "1e", "--1", "", "1 5"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        number_of(text)
    with pytest.raises(ParameterError, match=r"alpha = .* is not allowed"):
        LIMITS["alpha"].parse(text)


def test_a_negative_number_with_an_exponent_is_a_value_and_is_released_on_the_grid(
    terminal: Terminal,
) -> None:
    release = terminal.json("mechanism laplace --release -1e5 --sensitivity 1")["release"]
    assert release["value"] == pytest.approx(-1e5, rel=0.01)
    assert release["value"] % release["step"] == 0
    assert release["step"] == 2.0**-20
    assert "on a grid" in terminal.output("mechanism gaussian --release 1")


def parsed(parse: Callable[[str], object], file: str) -> Callable[[bytes | str], object]:
    """Reads a file's bytes, or its text."""
    return lambda data: parse(data if isinstance(data, str) else text_of(file, data))


READERS: list[tuple[Callable[[Any], object], str]] = [
    (
        parsed(SweepSpec.from_toml, "a.toml"),
        'name = "t"\nseeds = 2\n[base]\ndataset = "low-rank"\n[grid]\nmechanism = ["none"]\n',
    ),
    (parsed(project_from_toml, "a.toml"), 'epsilon = 1\n[[release]]\nname = "a"\n'),
    (parsed(read_json, "a.json"), '{"task": "rate"}'),
    (ledger_from_text, json.dumps(ledger(Laplace(scale=0.3)).as_dict())),
    (
        lambda data: audit_text(data, "a.csv", epsilon=1).attack.bound,
        "inside,y\n" + "".join(f"{k % 2},{k * k % 97 / 3}\n" for k in range(2000)),
    ),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("read", "text"), READERS)
def test_files_may_begin_with_a_byte_order_mark(
    read: Callable[[bytes | str], object], text: str, encoding: str
) -> None:
    """And so may texts, but for outputs, which are read from files alone."""
    expected = read(text.encode())
    assert read(f"\ufeff{text}".encode(encoding)) == expected
    if read is not READERS[-1][0]:
        assert read(f"\ufeff{text}") == expected


def test_text_in_another_encoding_is_named() -> None:
    with pytest.raises(DataError, match=r"a\.toml must be text in UTF-8; byte 2 is none of it"):
        text_of("a.toml", b"a\xe9b")
