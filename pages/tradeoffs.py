"""Tradeoffs: what privacy costs, which mechanism costs least, and how many people it takes."""

from pages.parts.frame.page import control, head, tab
from pages.parts.tradeoffs.controls import TRADEOFF_TITLES, form, view_choice
from pages.parts.tradeoffs.view import SLIDES, Live, present
from pages.parts.ui import on_screen

head("tradeoffs", {**TRADEOFF_TITLES, "t_slide": SLIDES})


def live() -> None:
    """The page with its controls."""
    row = control()
    request = form(row)
    with row:
        shown = view_choice(request.vary)
    Live(request, shown).panel(row)
    tab("What is compared", "introduction", request.introduction)


if on_screen.presenting():
    present()
else:
    live()
