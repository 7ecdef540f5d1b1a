"""*Open as notebook*: what a page exports runs from top to bottom, and computes what it shows."""

import re
from datetime import date
from pathlib import Path

import nbformat
import pytest

from pages.parts.frame.share import notebook
from pages.parts.ui import glossary
from pages.parts.ui.on_screen import Shown
from tests.app.visits import opened, read
from tests.executed import PLOTLY, executed, pictures, printed

STATES = [
    *glossary.PAGES,
    "completion?question=recommend",
    "mechanisms?m_staircase=true",
    "completion?question=people",
]


@pytest.mark.nightly
@pytest.mark.parametrize("state", STATES)
def test_a_page_as_a_notebook_runs_and_draws_what_the_page_draws(
    state: str, tmp_path: Path
) -> None:
    app = opened(state)
    shown: Shown = app.session_state["on-screen"]
    text = notebook(shown, "http://x/?a=1", date(2026, 1, 2))
    assert text == notebook(shown, "http://x/?a=1", date(2026, 1, 2))
    found = executed(text, tmp_path)
    assert app.verdict.replace("*", "") in read(found.cells[0].source).replace("*", "")
    assert pictures(found, PLOTLY) == len(shown.figures) >= 1
    assert shown.lines
    if shown.held_back.keys() != shown.lines.keys():
        assert re.search(r"\d", printed(found))
    if state == "plan":
        epsilon = float(re.search(r"epsilon=([\d.]+)", printed(found))[1])  # type: ignore[index]
        assert f"{epsilon:.3g}" in app.verdict


def test_what_takes_long_is_no_cell_that_runs() -> None:
    shown = Shown("Which?", lines={"Fast": "1", "Slow": "2"}, held_back={"Slow": "it is"})
    cells = nbformat.reads(notebook(shown, "", date(2026, 1, 2)), as_version=4).cells
    assert [c.source for c in cells if c.cell_type == "code"] == ["1"]
    assert "```python\n2\n```" in cells[-1].source
