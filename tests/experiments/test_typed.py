"""Numbers and files as people type and save them."""

import codecs
import json
from collections.abc import Callable

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


def test_a_negative_number_with_an_exponent_is_a_value(terminal: Terminal) -> None:
    release = terminal.json("mechanism laplace --release -1e5")["release"]
    assert release["value"] == pytest.approx(-1e5, rel=0.01)


READERS: list[tuple[Callable[[bytes], object], str]] = [
    (
        lambda data: SweepSpec.from_toml(text_of("a.toml", data)),
        'name = "t"\nseeds = 2\n[base]\ndataset = "low-rank"\n[grid]\nmechanism = ["none"]\n',
    ),
    (
        lambda data: project_from_toml(text_of("a.toml", data)),
        'epsilon = 1\n[[release]]\nname = "a"\n',
    ),
    (lambda data: read_json(text_of("a.json", data)), '{"task": "rate"}'),
    (ledger_from_text, json.dumps(ledger(Laplace(scale=0.3)).as_dict())),
    (
        lambda data: audit_text(data, "a.csv", epsilon=1).attack.bound,
        "inside,y\n" + "".join(f"{k % 2},{k * k % 97 / 3}\n" for k in range(2000)),
    ),
]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize(("read", "text"), READERS)
def test_files_may_begin_with_a_byte_order_mark(
    read: Callable[[bytes], object], text: str, mark: bytes
) -> None:
    encoding = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    data = mark + text.encode(encoding.get(mark, "utf-8"))
    assert read(data) == read(text.encode())


def test_so_may_texts() -> None:
    readers = SweepSpec.from_toml, project_from_toml, read_json, ledger_from_text
    for read, (_, text) in zip(readers, READERS, strict=False):
        assert read(f"\ufeff{text}") == read(text), read


def test_text_in_another_encoding_is_named() -> None:
    with pytest.raises(DataError, match=r"a\.toml must be text in UTF-8; byte 2 is none of it"):
        text_of("a.toml", b"a\xe9b")
