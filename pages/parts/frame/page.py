"""The same order on every page: title, verdict, the controls that matter, a figure, tabs.

What all pages show alike is here too: how a statement was counted, account by account.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import ParameterError, one_of
from dpmc_core.privacy import Account, Statement
from dpmc_core.wording import three
from pages.parts.ui import controls, glossary, links, on_screen
from pages.parts.ui.on_screen import points, verdict

__all__ = ["verdict"]

Item = TypeVar("Item")

_MOST_WORDS = 30  # of the observations above the tabs
_WRITTEN = "tab-written"  # in the session: what the address says of it by now


def head(page: str, titles: links.LinkTitles | None = None) -> None:
    """Begin ``page``: draw its title, and keep a place below it for the verdict.

    ``titles`` say by key what a link may call a control's options (``links.on_page``).
    """
    links.on_page(f"{page}.py", titles or {})
    entry = glossary.PAGES[page]
    st.title(entry.question, help=glossary.listed(entry.words), anchor=False)
    on_screen.begin(entry.question, st.container(key="verdict"))


def control() -> DeltaGenerator:
    """Return a row above the page's figure, for the one control that matters; below it is told
    what of an address could not be used, once every control has been drawn.
    """
    row = st.container(key="main-control", horizontal=True, vertical_alignment="bottom")
    on_screen.now().problems = st.container()
    return row


def pair() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return places for the page's figure and its companion: one below the other where a screen is
    narrow.
    """
    row = st.container(key="pair", horizontal=True)
    return row.container(), row.container()


def cards(items: Sequence[Item], across: int = 0) -> Iterator[Item]:
    """Yield ``items`` each in a card of its own, ``across`` of them side by side (by default
    all).
    """
    across = across or len(items)
    for first in range(0, len(items), across):
        for column, item in zip(st.columns(across), items[first:], strict=False):
            with column.container(border=True):
                yield item


def observations(sentences: Iterable[str], most: int = 3) -> None:
    """Draw the first of ``sentences``, at ``most`` so many, as a list; the others have a tab.

    While a lesson's question is open they wait for the answer.
    """
    listed = list(sentences)
    on_screen.now().sentences.extend(listed)  # for a handout, in presenter mode too
    if on_screen.presenting() or on_screen.verdict_held():
        return
    first = _shown_first(listed, most)
    points(listed[:first])
    if listed[first:]:
        tab("More findings", "more", lambda: points(listed[first:]))


def _shown_first(sentences: Sequence[str], most: int) -> int:
    """How many are shown, at ``most``: one, then as long as they are short together.

    >>> long = "word " * 44
    >>> _shown_first(["a few words"] * 5, 3), _shown_first([], 3), _shown_first(["words"], 0)
    (3, 0, 0)
    >>> _shown_first([f"{long} and more"], 3), _shown_first(["words", long, "words"], 3)
    (1, 1)
    """
    words = accumulate(len(sentence.split()) for sentence in sentences[:most])
    return sum(not k or total <= _MOST_WORDS for k, total in enumerate(words))


def tab(title: str, key: str, draw: Callable[[], object]) -> None:
    """Give the page a tab called ``title``, whose content ``draw`` draws once it is chosen."""
    on_screen.now().tabs[key] = (title, draw)


def first_tab_next() -> None:
    """Have the page open with its first tab in its next run."""
    st.session_state.pop(_choice(), None)


def _choice() -> str:
    """Where the session has the tab that the visitor chose on this page."""
    return f"tab-of-{controls.current_page()}"


def tabs() -> None:
    """Draw the strip of the page's tabs and the chosen one, the first unless the address or the
    visitor says another; all of them, one below the other, with *Open all*.

    Presenter mode has none: it shows the verdict and the figure alone. While a lesson's question is
    open none is chosen at first: its numbers may be the answer.
    """
    shown = on_screen.now()
    if shown.problems is not None:
        with shown.problems:
            controls.link_problems()
    shown.tabs_drawn, entries = True, shown.tabs
    if "more" in entries:
        entries["more"] = entries.pop("more")  # behind what is drawn
    if export := entries.pop("export", None):
        shown.numbers.append(export[1])
    if offers := shown.numbers:
        entries["numbers"] = ("Numbers & code", lambda: [offer() for offer in offers])
    if on_screen.presenting() or not entries:
        return
    every = on_screen.all_open()
    drawn = entries if every else _chosen({key: title for key, (title, _) in entries.items()})
    problems = st.container()  # filled last, when the controls have been drawn
    with st.container(key="tab-content"):
        for key in drawn:
            title, draw = entries[key]
            if every:
                st.subheader(title, anchor=False)
            draw()
    with problems:
        controls.link_problems()


def _chosen(titles: Mapping[str, str]) -> list[str]:
    """Draw the strip; returns the key of the chosen tab, if any, which the address has unless it is
    the first. A tab that comes and goes with a run is chosen again when it is back.
    """
    first, url_tab = next(iter(titles)), st.query_params.get("tab")
    held = on_screen.verdict_held()
    start = None if held else first
    chose = _choice()
    if url_tab is not None and url_tab != st.session_state.get(_WRITTEN):  # a link, or a step back
        st.session_state[chose] = url_tab
    wanted = st.session_state.get(chose, start)
    linked = url_tab == wanted != st.session_state.get(_WRITTEN)
    if linked and wanted not in titles and not on_screen.now().running:
        problem = ParameterError("tab", wanted[:40], one_of(titles))
        st.warning(controls.plain(f"From the address: {problem}"), icon=":material/link_off:")
    st.session_state["tab"] = wanted if wanted in titles else start

    def choose() -> None:
        st.session_state[chose] = st.session_state["tab"] or start

    chosen = st.segmented_control(
        "More about this",
        list(titles),
        format_func=lambda key: titles[key],
        key="tab",
        required=not held,
        label_visibility="collapsed",
        on_change=choose,
    )
    st.session_state[_WRITTEN] = None if chosen == first else chosen
    if chosen in (None, first):
        st.query_params.pop("tab", None)
    else:
        st.query_params["tab"] = chosen
    return [] if chosen is None else [chosen]


def counted(statement: Statement) -> None:
    """Whom the count is about and how it was made; the other ways of counting, and what it covers
    or leaves out, each in a popover.
    """
    st.caption(
        f"Unit: one {statement.unit}; neighbours: {statement.neighbours}. Accounting: "
        f"{statement.how}."
    )
    with st.popover("Other accounting methods", icon=":material/calculate:"):
        points(map(_counted_by, statement.accounts))
        st.page_link(
            "budget.py", label="More on the Budget page", icon=":material/account_balance_wallet:"
        )
    with st.popover(
        "What this leaves out" if statement.nominal else "What this covers",
        icon=":material/warning:",
    ):
        points(statement.caveats)


def caveats(sentences: Iterable[str]) -> None:
    """Draw what a count leaves out, one caption each."""
    for sentence in sentences:
        st.caption(f":material/warning: {controls.plain(sentence)}")


def _counted_by(answer: Account) -> str:
    value = "does not apply" if math.isinf(answer.epsilon) else f"ε = {three(answer.epsilon)}"
    proof = "" if answer.published else " (rests on this project's own proof, not peer-reviewed)"
    return f"**{answer.title}**: {value}{proof}. {answer.how}"
