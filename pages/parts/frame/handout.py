"""A page as one HTML file: title, verdict, observations and figures, with the link to it."""

import html
import re
from datetime import date

import plotly.io as pio

from pages.parts.ui.figures import chart_config, on_white
from pages.parts.ui.on_screen import Shown

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#0a0f14;background:#fff}h1{font-size:1.7rem;margin-bottom:.5rem}"
    ".verdict{border-left:4px solid #0b6e8f;padding-left:.9rem;font-size:1.2rem;font-weight:600}"
    "figure{margin:1.5rem 0;break-inside:avoid}figcaption,footer{color:#3f4c57;font-size:.9rem}"
    "a{color:#0b6e8f;overflow-wrap:anywhere}"
)


def handout(shown: Shown, link: str, made: date) -> str:
    """Write what is ``shown`` as one HTML page that needs no network; ``link`` opens it again."""
    verdict, *others = shown.sentences or [""]
    figures = [
        f"<figure>{_figure(figure, name, k)}"
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
        f'<footer>DPMC Lab, {made:%Y-%m-%d}. The page with these settings: <a href="{address}">'
        f"{address}</a></footer></body></html>"
    )


def _figure(figure: object, name: str, k: int) -> str:
    return str(
        pio.to_html(
            on_white(figure),
            full_html=False,
            include_plotlyjs=k == 0,
            div_id=f"figure-{k}",  # the same page gives the same file
            config=chart_config(name),
            validate=False,
        )
    )


def _inline(markdown: str) -> str:
    """Bold, italics and escapes of one line of Markdown as HTML; everything else as it is."""
    text = html.escape(markdown)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"(?<!\\)\*(.+?)(?<!\\)\*", r"<em>\1</em>", text)
    return re.sub(r"\\([^\w\s])", r"\1", text)
