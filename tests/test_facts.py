"""What stands in data/*.toml is read once, and a malformed file is told in one sentence."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from dpmc_core import facts as module
from dpmc_core.errors import DataError
from dpmc_core.facts import facts, typed


@dataclass(frozen=True)
class Word:
    term: str
    weight: float = 1.0
    pages: tuple[str, ...] = ()


def test_line_breaks_inside_a_text_are_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DATA", tmp_path)
    (tmp_path / "x-words.toml").write_text('a = """\none\ntwo\n\nthree\n"""\nb = ["x", "y\\nz"]\n')
    assert facts("x-words") == {"a": "one two\n\nthree", "b": ("x", "y z")}
    (tmp_path / "x-bad.toml").write_text("a = \n")
    with pytest.raises(DataError, match=r"data/x-bad\.toml cannot be read: "):
        facts("x-bad")
    with pytest.raises(DataError, match=r"data/x-none\.toml cannot be read: "):
        facts("x-none")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "term"),
        ({"term": "a", "wieght": 1}, "wieght"),
        ({"term": 1}, "'term' must be of type str"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(fields: dict[str, object], words: str) -> None:
    assert typed(Word, {"term": "a", "weight": 2}, "here") == Word("a", 2)
    with pytest.raises(DataError, match=f"^here: .*{words}"):
        typed(Word, fields, "here")
