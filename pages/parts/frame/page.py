"""The same order on every page: title, verdict, one control, a figure, folds."""

from collections.abc import Callable, Iterable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts.ui import controls, glossary, on_screen
from pages.parts.ui.bullet_list import points
from pages.parts.ui.on_screen import verdict

__all__ = ["control", "fold", "head", "observations", "verdict"]

_MOST_OBSERVATIONS, _MOST_WORDS = 3, 45


def head(page: str) -> None:
    """Draw the title of ``page``, and keep a place below it for the verdict."""
    known = glossary.PAGES[page]
    st.title(known.question, help=glossary.listed(known.words), anchor=False)
    on_screen.begin(known.question, st.container(key="verdict"))


def control() -> DeltaGenerator:
    """Return a row above the page's figure, for the one control that matters."""
    row = st.container(key="main-control", horizontal=True, vertical_alignment="bottom")
    on_screen.now().focus = st.container(key="focus")
    return row


def observations(sentences: Iterable[str]) -> None:
    """Draw the first of ``sentences``, three at most, as a list; the others are folded."""
    listed = list(sentences)
    for sentence in listed:
        on_screen.add_text(sentence)  # a handout or notebook has them in presenter mode too
    if on_screen.presenting():
        return
    first = _shown_first(listed)
    points(listed[:first])
    if listed[first:]:
        fold("More observations", "more", lambda: points(listed[first:]))


def _shown_first(sentences: Sequence[str]) -> int:
    """How many are shown: one at least, then as long as they are few and short."""
    words = 0
    for k, sentence in enumerate(sentences[:_MOST_OBSERVATIONS]):
        words += len(sentence.split())
        if k and words > _MOST_WORDS:
            return k
    return min(len(sentences), _MOST_OBSERVATIONS)


def fold(title: str, key: str, draw: Callable[[], object], *, icon: str | None = None) -> None:
    """Draw ``title``, closed; ``draw`` is called once it is opened. The address remembers it.

    What a lesson speaks of stands open above the figure. Presenter mode has no folds: it shows the
    verdict and the figure alone. With *Open all sections* all stand open, as for a print-out.
    """
    focus = on_screen.now().focus
    if key == on_screen.looked_at() and focus is not None:
        with focus:
            draw()
        return
    if on_screen.presenting():
        return
    if on_screen.all_open():
        st.subheader(title, anchor=False)
        draw()
        return
    with controls.section(title, f"show-{key}", icon=icon) as opened:
        if opened.open:
            draw()
