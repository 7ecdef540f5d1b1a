"""What the page shows at the moment, remembered for a handout; whether it is presented; and what a
visitor takes along: files, and the lines that compute the same elsewhere.

Lists (``points``) are one element of the page, as Streamlit's work grows with the number of
elements.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.wording import csv_text

_KEY, _HELD = "on-screen", "lesson-holds-verdict"
_MODES = ("present", "open_all")
_TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".toml": "application/toml",
    ".zip": "application/zip",
}
# "ε ≥ 0.873", "12 ± 1 %": no line breaks within
_NUMBER_PARTS = re.compile(r" (?=[=≥≤±%])|(?<=[=≥≤±]) ")

# a number that stands alone, in no tag: what a visitor set, and the 100 of "73 in 100", are none
_NUMBER = re.compile(r"(?<![\w.,])(?<![αTδ] = )(?<!^ε = )(?<!in )\d+(?:[.,]\d+)*(?!\w)(?![^<]*>)")


@dataclass
class Shown:
    """The title of a page, its sentences (Markdown), and its figures by name: each with its
    takeaway.

    ``lines`` are the Python of its numbers by heading, ``held_back`` why some should not run by
    themselves. ``place`` is where the verdict stands, ``note`` what comes before it ("Example").
    ``tabs`` has each tab's title and what draws it, by key, until they are drawn; ``numbers`` what
    offers the numbers of the figures above them; ``running`` says that a run is under way, whose
    tabs are still to come; ``problems`` is where those of the controls are told at last.
    """

    title: str = ""
    place: DeltaGenerator | None = None
    note: str = ""
    sentences: list[str] = field(default_factory=list)
    figures: dict[str, tuple[Any, str]] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    held_back: dict[str, str] = field(default_factory=dict)
    tabs: dict[str, tuple[str, Callable[[], object]]] = field(default_factory=dict)
    tabs_drawn: bool = False
    numbers: list[Callable[[], object]] = field(default_factory=list)
    running: bool = False
    problems: DeltaGenerator | None = None


def presenting() -> bool:
    """Say whether presenter mode is on."""
    return st.session_state.get("present", False)


def all_open() -> bool:
    """Say whether all folds are open."""
    return st.session_state.get("open_all", False)


def follow_address() -> list[str]:
    """Take what an address says of the two at first, and write there what they are by now.

    No widget is bound to them: Streamlit switches no page while one is. Returns values that the
    address may not have.
    """
    bad = []
    for name in _MODES:
        linked = st.query_params.get(name)
        if name not in st.session_state:
            st.session_state[name] = (linked or "").lower() == "true"
            if linked is not None and linked.lower() not in ("true", "false"):
                bad.append(linked)
        if st.session_state[name]:
            st.query_params[name] = "true"
        else:
            st.query_params.pop(name, None)
    return bad


def turn(name: str) -> None:
    """Turn "present" or "open_all" on or off."""
    st.session_state[name] = not st.session_state.get(name, False)


def begin(title: str, place: DeltaGenerator) -> None:
    """Forget the page before; this one is called ``title``, and its verdict stands in ``place``."""
    st.session_state[_KEY] = Shown(title, place)


def verdict(sentence: str) -> None:
    """Write the page's verdict: one sentence (Markdown) from the numbers on screen."""
    shown, text = now(), writer()(sentence)
    if shown.place is not None:
        shown.sentences.append(text)
        shown.place.markdown(unbroken(text))


def unbroken(sentence: str) -> str:
    """``sentence`` without line breaks between a number and what belongs to it."""
    return _NUMBER_PARTS.sub("\N{NO-BREAK SPACE}", sentence)


def writer() -> Callable[[str], str]:
    """What makes of a verdict the one that stands on the page, without asking Streamlit again."""
    if verdict_held():
        return lambda _: "Answer to see the conclusion."
    note = now().note
    return lambda sentence: f"{note}{sentence}"


@contextmanager
def silently() -> Iterator[None]:
    """What is drawn meanwhile says no verdict, and no handout has it."""
    shown = st.session_state.get(_KEY)
    st.session_state[_KEY] = Shown()
    try:
        yield
    finally:
        st.session_state[_KEY] = shown or Shown()


def add_lines(heading: str, python: str, *, held_back: str = "") -> None:
    """Remember Python that computes numbers on screen; ``held_back`` says why it should not run
    by itself.
    """
    now().lines[heading] = python
    if held_back:
        now().held_back[heading] = held_back


def now() -> Shown:
    """What has been drawn so far."""
    return st.session_state.setdefault(_KEY, Shown())


def hold_verdict(held: bool) -> None:
    """Say whether the page keeps its verdict, which may be the answer to a lesson's question."""
    st.session_state[_HELD] = held


def verdict_held() -> bool:
    """Whether it does."""
    return st.session_state.get(_HELD, False)


def without_numbers(text: str) -> str:
    """Replace the numbers in ``text`` by question marks, as they stand while a question is open.

    Those that a visitor set (α, T, δ) and "in 100" stay.

    >>> without_numbers("α = 1.5: 2.96"), without_numbers("right ≤ 73 times in 100")
    ('α = 1.5: ?', 'right ≤ ? times in 100')
    >>> without_numbers("limit: Laplace 2s²/α²"), without_numbers("ε = 1")
    ('limit: Laplace 2s²/α²', 'ε = 1')
    """
    return _NUMBER.sub("?", text)


def download(label: str, file_name: str, content: Any, **button: Any) -> None:
    """Offer ``content`` as a file: a table as CSV, text and bytes as they are, all else as JSON.

    A function is called once somebody asks for the file. ``button`` is passed to Streamlit's.
    """
    st.download_button(
        label,
        data=(lambda: _as_file(content())) if callable(content) else _as_file(content),
        file_name=file_name,
        mime=_TYPES[PurePath(file_name).suffix],
        on_click="ignore",
        **button,
    )


def _as_file(content: Any) -> str | bytes:
    if isinstance(content, pd.DataFrame):
        return csv_text(content)
    if isinstance(content, (str, bytes)):
        return content
    return json.dumps(content, indent=1, default=float)


def code(text: str, language: str, title: str = "") -> None:
    """Show lines of code below their ``title``."""
    if title:
        st.markdown(title)
    st.code(text, language=language, wrap_lines=True)


def show_table(rows: Any, alt: str, *, highest: int = 0, **options: Any) -> Any:
    """Draw ``rows`` (what a data frame is made of) as a table, ``alt`` saying what is in it;
    ``options`` are passed to Streamlit. Returns what was picked.

    With ``highest`` (pixels) all rows are in sight as far as that; else ten.
    """
    frame = pd.DataFrame(rows)
    if highest:
        options["height"] = min(38 + 35 * len(frame), highest)
    return st.dataframe(frame, hide_index=True, alt=alt, **options)


def points(sentences: Iterable[str]) -> None:
    """Draw ``sentences`` (Markdown, one line each) as a list; nothing where there are none."""
    lines = [f"- {sentence}" for sentence in sentences]
    if lines:
        st.markdown("\n".join(lines))
