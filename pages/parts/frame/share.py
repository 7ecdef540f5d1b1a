"""The bar below every page: link, embedding, handout, presenter mode."""

import html
import re
from datetime import UTC, date, datetime
from urllib.parse import urlencode

import nbformat
import plotly.io as pio
import streamlit as st
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from dpmc_core.datasets import user_datasets
from pages.parts.ui import controls, on_screen
from pages.parts.ui.figures import on_white, page_of
from pages.parts.ui.on_screen import Shown, code, download

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#0a0f14;background:#fff}h1{font-size:1.7rem;margin-bottom:.5rem}"
    ".verdict{border-left:4px solid #0b6e8f;padding-left:.9rem;font-size:1.2rem;font-weight:600}"
    "figure{margin:1.5rem 0;break-inside:avoid}figcaption,footer{color:#3f4c57;font-size:.9rem}"
    "a{color:#0b6e8f;overflow-wrap:anywhere}"
)


def handout(shown: Shown, link: str, created: date) -> str:
    """Write what is ``shown`` as one HTML page that needs no network; ``link`` opens it again."""
    verdict, *others = shown.sentences or [""]
    figures = [
        f"<figure>{page_of(figure, name, f'figure-{k}', full_html=False, include_plotlyjs=k == 0)}"
        f"<figcaption>{html.escape(takeaway)}</figcaption></figure>"
        for k, (name, (figure, takeaway)) in enumerate(shown.figures.items())
    ]
    listed = "".join(f"<li>{_inline(sentence)}</li>" for sentence in others)
    title, address = html.escape(shown.title), html.escape(link)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f'<h1>{title}</h1><p class="verdict">{_inline(verdict)}</p>'
        f"{f'<ul>{listed}</ul>' if listed else ''}{''.join(figures)}"
        f'<footer>DPMC Lab, {created:%Y-%m-%d}. The page with these settings: <a href="{address}">'
        f"{address}</a></footer></body></html>"
    )


def _inline(markdown: str) -> str:
    """Bold, italics and escapes of one line of Markdown as HTML; everything else as it is."""
    text = html.escape(markdown)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"(?<!\\)\*(.+?)(?<!\\)\*", r"<em>\1</em>", text)
    return re.sub(r"\\([^\w\s])", r"\1", text)


_NEEDS = (
    "This notebook needs DPMC Lab where Jupyter runs: `pip install '.[app]'` in the project's "
    "folder, or its wheel. Where the page showed your own file, run it in the folder of that file."
)


def notebook(shown: Shown, link: str, created: date) -> str:
    """Write what is ``shown`` as a notebook (nbformat 4, JSON) whose cells run from top to bottom.

    The figures are in it as they stood on screen; the lines after them compute their numbers
    again. ``link`` opens the page again.
    """
    verdict, *others = shown.sentences or [""]
    listed = "".join(f"\n- {sentence}" for sentence in others)
    cells = [
        new_markdown_cell(f"# {shown.title}\n\n**{verdict.replace('**', '')}**\n{listed}"),
        new_markdown_cell(f"From DPMC Lab, {created:%Y-%m-%d}: [this page]({link}). {_NEEDS}"),
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
    text = f"**{heading}**: no cell that runs by itself, since {held_back}."
    return [new_markdown_cell(f"{text}\n\n```python\n{lines}\n```")]


def _drawn(figure: str, *, first: bool) -> NotebookNode:
    """A cell that draws the ``figure`` (JSON) as it stood on screen."""
    imported = "import plotly.io\n\n" if first else ""
    return new_code_cell(
        f"{imported}figure = plotly.io.from_json({figure!r})\nfigure",
        metadata={"jupyter": {"source_hidden": True}},
    )


def address(base: str, settings: dict[str, list[str]]) -> str:
    """The address that shows the same again.

    ``base`` without its query, and ``settings`` in full.

    >>> settings = {"rank": ["5"], "embed": ["true"], "b": ["1", "ü &"]}
    >>> address("http://x/completion?rank=3#a", settings)
    'http://x/completion?rank=5&b=1&b=%C3%BC+%26'
    """
    plain = base.split("#")[0].split("?")[0]
    query = urlencode({k: v for k, v in settings.items() if k != "embed"}, doseq=True)
    return f"{plain}?{query}" if query else plain


def embedding(link: str) -> str:
    """HTML that shows the page inside another one, without its frame.

    >>> embedding("http://x/a?b=<1")
    '<iframe src="http://x/a?b=&lt;1&amp;embed=true" width="100%" height="900"
    loading="lazy" title="DPMC Lab"></iframe>'
    """
    source = html.escape(f"{link}{'&' if '?' in link else '?'}embed=true")
    return (
        f'<iframe src="{source}" width="100%" height="900" loading="lazy" title="DPMC '
        'Lab"></iframe>'
    )


def server_address() -> str:
    """The address of the server, as the visitor has it."""
    return (st.context.url or "").split("?")[0].rsplit("/", 1)[0]


def own_tab(label: str) -> None:
    """A button that opens the page, as it is, outside the frame that it is in."""
    st.link_button(label, _here(), icon=":material/open_in_new:")


def bar(*, framed_elsewhere: bool) -> None:
    """Draw it: share, handout, presenter mode.

    ``framed_elsewhere``: whether other sites may show this page in a frame.
    """
    with st.container(key="page-bar", horizontal=True, vertical_alignment="center"):
        _popover(framed_elsewhere=framed_elsewhere)
        shown, link = on_screen.now(), _here()
        page, today = controls.current_page().removesuffix(".py"), datetime.now(UTC).date()
        download(
            "Handout (HTML)",
            f"dpmc-handout-{page}.html",
            lambda: handout(shown, link, today),
            icon=":material/description:",
            key="handout",
            help="One file with the verdict and the figures on screen; it needs no network.",
        )
        download(
            "Open as notebook",
            f"dpmc-{page}.ipynb",
            lambda: notebook(shown, link, today),
            icon=":material/code_blocks:",
            key="notebook",
            help="For Jupyter: what the page says, its figures, and Python that computes it again.",
        )
        presenting, every = on_screen.presenting(), on_screen.all_open()
        large = "Large type, no sidebar: verdict, figure and one control. ← and → move the control."
        whole = "For a print-out or a handout of everything."
        for label, name, on, meaning in (
            ("Presenter mode", "present", presenting, large),
            ("Open all sections", "open_all", every, whole),
        ):
            turn = {"on_change": on_screen.turn, "args": (name,)}
            controls.toggle(label, on, meaning, key=f"{name}-{on}", **turn)


def _popover(*, framed_elsewhere: bool) -> None:
    settings, link = st.query_params, _here()
    with st.popover("Share", icon=":material/share:"):
        st.markdown(
            "**Link**: opens this page with all its settings, seeds included, and the step of a "
            "lesson."
            + (" It has *run*: opening it starts the same run." if "run" in settings else "")
            + (
                " Your own data does not travel with it: others see another dataset."
                if any(user_datasets.current())
                else ""
            )
        )
        st.code(link, language=None, wrap_lines=True)
        if framed_elsewhere:
            st.markdown("**Embed** it in a course site, without the frame around it:")
            code(embedding(link), "html")
        st.caption(
            "The camera above a figure saves a PNG; *Show the numbers* below it has the figure "
            "as HTML and its numbers as CSV."
        )


def _here() -> str:
    settings = {key: st.query_params.get_all(key) for key in st.query_params}
    return address(st.context.url or "", settings)
