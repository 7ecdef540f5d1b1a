"""A page as a Jupyter notebook: what it says, its figures, and Python that computes it again."""

from datetime import date

import nbformat
import plotly.io as pio
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from pages.parts.ui.figures import on_white
from pages.parts.ui.on_screen import Shown

_NEEDS = (
    "This notebook needs DPMC Lab where Jupyter runs: `pip install '.[app]'` in the project's "
    "folder, or its wheel. Where the page showed your own file, run it in the folder of that file."
)


def notebook(shown: Shown, link: str, made: date) -> str:
    """Write what is ``shown`` as a notebook (nbformat 4, JSON) whose cells run from top to bottom.

    The figures are in it as they stood on screen; the lines after them compute their numbers
    again. ``link`` opens the page again.
    """
    verdict, *others = shown.sentences or [""]
    listed = "".join(f"\n- {sentence}" for sentence in others)
    cells = [
        new_markdown_cell(f"# {shown.title}\n\n**{verdict.replace('**', '')}**\n{listed}"),
        new_markdown_cell(f"From DPMC Lab, {made:%Y-%m-%d}: [this page]({link}). {_NEEDS}"),
    ]
    if any("own.read(" in lines for lines in shown.lines.values()):
        cells.append(new_markdown_cell(_OWN))
    for k, (figure, takeaway) in enumerate(shown.figures.values()):
        cells += [
            new_markdown_cell(takeaway),
            _drawn(pio.to_json(on_white(figure), validate=False), first=k == 0),
        ]
    if shown.lines:
        cells.append(new_markdown_cell("## Computed again"))
    for heading, lines in shown.lines.items():
        cells += _computing(heading, lines.strip(), shown.held_back.get(heading, ""))
    for k, cell in enumerate(cells):
        cell.id = f"cell-{k}"  # the same page gives the same file
    return str(nbformat.writes(new_notebook(cells=cells, metadata=_PYTHON)))


_OWN = (
    "**Figures of your own data** are partly computed without noise: they are for the holder of "
    "the data, and so is this notebook."
)
_PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _computing(heading: str, lines: str, held_back: str) -> list[NotebookNode]:
    if not held_back:
        return [new_markdown_cell(f"**{heading}**"), new_code_cell(lines)]
    said = f"**{heading}**: no cell that runs by itself, since {held_back}."
    return [new_markdown_cell(f"{said}\n\n```python\n{lines}\n```")]


def _drawn(figure: str, *, first: bool) -> NotebookNode:
    """A cell that draws the ``figure`` (JSON) as it stood on screen."""
    imported = "import plotly.io\n\n" if first else ""
    return new_code_cell(
        f"{imported}figure = plotly.io.from_json({figure!r})\nfigure",
        metadata={"jupyter": {"source_hidden": True}},
    )
