"""Presenter mode of every page: large type, no sidebar, and arrow keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.parts.ui import controls, links, on_screen
from pages.parts.ui.glossary import PAGES

_STEPS, _NEXT = "presenter-steps", "presenter-next"
_MOVED = "presenter-moved"


@dataclass(frozen=True)
class _Moved:
    """Where a step put the control, and what its browser may still report until it has drawn that.

    A key that is pressed before then brings the value that the control had before.
    """

    key: str
    to: Any
    late: tuple[Any, ...]


@dataclass(frozen=True)
class _Steps:
    """The values of the page's main control."""

    key: str
    values: tuple[Any, ...]

    def move(self, by: int) -> None:
        """Go to the next value (``by`` = 1) or the one before, if there is one."""
        moved, reported = st.session_state.get(_MOVED), st.session_state.get(self.key)
        if moved is None or moved.key != self.key:
            moved = _Moved(self.key, reported, ())
        value = moved.to if reported in moved.late else reported
        at = (self.values.index(value) if value in self.values else 0) + by
        if not 0 <= at < len(self.values):
            return
        late = () if reported == moved.to else moved.late
        st.session_state[_MOVED] = _Moved(self.key, self.values[at], (*late, reported))
        links.set_next({self.key: self.values[at]})


def steps(key: str, values: Sequence[Any]) -> None:
    """Say that ← and → move the control called ``key`` along ``values``."""
    moved: _Moved | None = st.session_state.get(_MOVED)
    if moved is not None and st.session_state.get(moved.key) != moved.to:
        del st.session_state[_MOVED]  # the control was moved by hand since
    st.session_state[_STEPS] = _Steps(key, tuple(values))


def bar() -> None:
    """Draw what a presenter needs below the page: steps, other pages, the way out."""
    moves: _Steps | None = st.session_state.get(_STEPS)
    pages = list(PAGES)
    here = pages.index(controls.current_page().removesuffix(".py"))
    with st.container(key="presenter-bar", horizontal=True, vertical_alignment="center"):
        if moves is not None:
            for label, key, by in (("Less", "Left", -1), ("More", "Right", 1)):
                st.button(label, key=f"step-{key}", shortcut=key, on_click=moves.move, args=(by,))
        turns = (("Previous page", "PageUp", here - 1), ("Next page", "PageDown", here + 1))
        for label, key, to in () if "lesson" in st.query_params else turns:  # a lesson has its own
            st.button(
                label,
                key=f"to-{key}",
                shortcut=key,
                disabled=not 0 <= to < len(pages),
                on_click=st.session_state.update,
                args=({_NEXT: pages[to % len(pages)]},),
            )
        st.button(
            "End",
            key="end-presenting",
            shortcut="Esc",
            icon=":material/close:",
            on_click=on_screen.turn,
            args=("present",),
        )


def begin_page() -> None:
    """Turn to another page if that was asked for; forget what the arrow keys moved before."""
    st.session_state.pop(_STEPS, None)
    page = st.session_state.pop(_NEXT, None)
    if page is not None:
        st.switch_page(f"{page}.py", query_params={"present": "true"})
