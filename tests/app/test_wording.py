"""The product speaks the field's standard terms, in all that it may show and its documents."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpmc_core.paths import DATA
from tests.programs import ROOT

# old word -> what is written instead
OLD = {
    r"\btrivial\b": "baseline",
    r"\bsound\b": "guarantee, guaranteed, corrected",
    r"\bmoments once\b": "one-shot moments",
    r"(?<!one-shot )\bmoment NMF\b": "one-shot moment NMF",
    r"\bwhat leaves\b|\bleaves? with noise\b": "released",
    r"\badd(s|ed|ing)? up\b": "composition, sum",
    r"\bwhat a (whole )?run spends\b": "total privacy cost",
    r"\btold apart\b|\btell(s|ing)? (\w+ )?apart\b": "not significantly different, distinguish",
    r"\bloses? to\b|\bbeat(s|en)?\b": "is worse than, is better than",
    r"\bspoil(s|ed|ing)?\b": "corrupt",
    r"\bnoises\b": "mechanisms, noise distributions",
    r"\bthe house\b": "recommended method",
    r"\bmade[- ](up|users|data|sets?|faces|documents)\b": "synthetic",
    r"\bhow skewed\b|\balong the axis\b": "popularity skew, vary",
    r"\bnumbers that one person moves\b": "coordinates one person affects",
    r"\bseed of all seeds\b": "master seed",
    r"\btake (it|them) with you\b": "export",
    r"\blaw\b": "distribution",
    r"\bhonest(ly)?\b|\bhonour\b": "exact, or nothing",
    r"\b(un)?counted\b|\bcounts? as\b|\bcounting\b": "accounting, accounted for by",
    r"\bwhoever\b": "anybody who, or a noun",
    r"\bis alice in\b(?! the data)": "is Alice in the data",
    r"\bwhere do i begin\b|\bcome back\?": "Where should I start?, Can we reproduce …?",
}
# words of data and of others
_THEIRS = re.compile(r"power law|law verdict|judge verdict|^https?:|Lawrence")


def old_words(said: str) -> list[str]:
    said = said.replace("<br>", " ")  # names in figures have several lines
    if _THEIRS.search(said):
        return []
    return [
        f"“{found[0]}” (write: {new}) in “{said[max(found.start() - 40, 0) : found.end() + 40]}”"
        for old, new in OLD.items()
        if (found := re.search(old, said, re.I))
    ]


def require_terms(sentences: Iterable[str], least: int) -> None:
    """No old word, in at least so many sentences: something was collected."""
    sentences = sorted(sentences)
    assert len(sentences) > least
    assert [problem for sentence in sentences for problem in old_words(sentence)] == []


def literals(path: Path) -> Iterator[str]:
    """Sentences in code that somebody may be shown: not docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    passed_over = {id(part) for node in joined for part in node.values}
    passed_over |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in node.values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in passed_over
        ):
            yield node.value


def texts(value: Any) -> Iterator[str]:
    """The texts of a TOML file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def test_no_old_word_in_what_may_be_shown() -> None:
    """Sentences and labels of the code, said or not, and the texts of ``data``."""
    paths = [p for folder in ("dpmc_core", "pages") for p in (ROOT / folder).rglob("*.py")]
    sentences = {text for path in paths for text in literals(path) if re.search(" |^[A-Z]", text)}
    for path in DATA.glob("*.toml"):
        sentences |= {*texts(tomllib.loads(path.read_text(encoding="utf-8")))}
    require_terms((" ".join(text.split()) for text in sentences), 2000)


def test_no_old_word_in_the_documents() -> None:
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in paths)
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    require_terms((" ".join(part.split()) for part in prose.split("\n\n")), 200)
