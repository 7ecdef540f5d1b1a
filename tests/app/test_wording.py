"""The product speaks the field's standard terms: every page's shown text, in its main states."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from dpmc_core.facts import facts
from pages.parts.lessons.lessons import lessons
from pages.parts.ui import glossary
from tests.app.visits import ROOT, open_page

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
_SHOWN = {
    *("body", "label", "help", "alt", "caption", "text", "title", "options", "placeholder"),
    *("content", "headers", "hovertemplate", "name"),
}
# words of data and of others
_THEIRS = re.compile(r"power law|law verdict|judge verdict|^https?:|Lawrence")
STATES = [
    *glossary.PAGES,
    "mechanisms?m_by=ε&m_staircase=true",
    "budget?u_run=Huber paper: ALS, T = 50",
    *(
        f"completion?question={question}"
        for question in ("compare", "recommend", "lists", "epsilon", "people", "rank", "skew")
    ),
    *(
        f"factorization?f_question={question}"
        for question in ("epsilon", "people", "rounds", "parts", "contaminated")
        if question in facts("studies")["factorization"]
    ),
    "factorization?f_data=lee",
    "tradeoffs?t_view=pairs",
    "tradeoffs?t_view=frontier",
    "tradeoffs?t_vary=people",
    "tradeoffs?t_protect=rating",
    *(f"audit?x_target={target}" for target in ("als", "dpals", "moment-nmf")),
    *(f"papers?p_paper={paper}" for paper in ("thesis", "nmf", "dpals")),
    "datasets?d_view=own",
    "datasets?d_name=topics",
    "lessons?l_view=teach",
    *(
        f"{step.page}?lesson={lesson.name}&step={k}"
        for lesson in lessons().values()
        for k, step in enumerate(lesson.steps, start=1)
    ),
    "lessons?done=noise",
]


def strings(found: Any, field: str = "") -> Iterator[str]:
    """The strings in the fields of a message that a visitor reads; figures are JSON within one."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name == "spec" and isinstance(value, str):
                yield from strings(json.loads(value))
            else:
                yield from strings(value, name)
    elif isinstance(found, list):
        for value in found:
            yield from strings(value, field)
    elif isinstance(found, str) and field in _SHOWN:
        yield found


def shown(app: AppTest) -> set[str]:
    """All that is written on a page: texts, labels, help, options, figures and their takeaways."""
    protos = [getattr(e, "proto", None) for block in (app.main, app.sidebar) for e in block]
    return {text for p in protos if p is not None for text in strings(MessageToDict(p))}


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


@pytest.mark.parametrize("link", STATES)
def test_no_old_word_is_shown(link: str) -> None:
    require_terms(shown(open_page(link)), 15)


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


@pytest.mark.long
def test_no_old_word_in_errors_and_help_of_commands() -> None:
    """Every sentence in the code, said or not."""
    paths = [p for folder in ("dpmc_core", "pages") for p in (ROOT / folder).rglob("*.py")]
    sentences = (text for path in paths for text in literals(path) if " " in text)
    require_terms((" ".join(text.split()) for text in sentences), 2000)


def test_no_old_word_in_the_documents() -> None:
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [
        re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S) for path in paths
    ]
    parts = (" ".join(part.split()) for text in texts for part in text.split("\n\n"))
    require_terms(parts, 200)
