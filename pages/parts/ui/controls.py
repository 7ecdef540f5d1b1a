"""Widgets bound to the address of the page, their values checked as if typed.

Every bound widget of the app is made here; what an address says wrongly is told by ``links``.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from dpmc_core import limits
from dpmc_core.errors import ParameterError
from pages.parts.ui.links import (
    Titles,
    check_link,
    current_page,
    forget,
    limit_of,
    link_problems,
    numbers_in,
    one_of,
    plain,
    remember,
    reword,
    trusted,
)

__all__ = ["current_page", "link_problems", "plain", "reword", "trusted"]

_MOST_NUMBERS = 8  # in one box
_SMALLEST = 1e-9  # the smallest step away from an open end of a range that a widget offers


def show_error(problem: object) -> None:
    """Show what is wrong, an error or a sentence, as no Markdown."""
    st.error(plain(problem), icon=":material/error:")


def place() -> DeltaGenerator:
    """Return a place for controls that come and go, to be used by ``with``.

    What stands below it keeps its own place, and with it what is being typed there: what moves is
    made again in the browser.
    """
    return st.container()


def slider(
    label: str, key: str, limit: str, default: float, *, low: float, high: float, step: float
) -> float:
    """Draw a slider over ``low``–``high``, a part of the range called ``limit``."""
    bounds = limit_of(limit)
    narrow = limits.Limit(low, high, bounds.meaning, name=bounds.name)
    return numeric(st.slider, label, key, narrow, default, step)


def whole(label: str, key: str, low: int, high: int, default: int, *, sliding: bool = False) -> int:
    """Draw a number box for a whole number from ``low`` to ``high``.

    ``sliding``: a slider instead, where there is anything to slide.
    """
    limit = limits.Limit(low, high, label, integer=True, name=label)
    widget = st.slider if sliding and high > low else st.number_input
    return int(numeric(widget, label, key, limit, default, 1))


def capitalized(text: str) -> str:
    """``text`` as a sentence begins; its other letters stay as they are."""
    return text[:1].upper() + text[1:]


def _bound(key: str, changed: Callable[..., None] = forget) -> dict[str, Any]:
    """What binds a widget to the parameter ``key`` of the address; once it is ``changed`` what the
    address said wrongly is forgotten.
    """
    return {"key": key, "bind": "query-params", "on_change": changed, "args": (key,)}


def numeric(
    widget: Callable[..., Any],
    label: str,
    key: str,
    limit: limits.Limit,
    default: float | None,
    step: float | None,
    **options: Any,
) -> float:
    """Draw ``widget`` over ``limit``; an int for whole numbers."""
    kind = int if limit.integer else float
    low = limit.low + _SMALLEST * limit.open_low
    high = limit.high - _SMALLEST * limit.open_high
    value = limit.default if default is None else default
    step = step or (1 if limit.integer else None)
    if widget is st.number_input and not limit.integer:
        options.setdefault("format", "%g")

    check_link(label, key, limit.parse)
    given = widget(
        label,
        min_value=kind(low),
        max_value=kind(high),
        value=kind(value),
        step=None if step is None else kind(step),
        help=options.pop("help", None) or f"{capitalized(limit.meaning)}; {limit.allowed}.",
        **_bound(key),
        **options,
    )
    try:
        return kind(limit.check(given))
    except ParameterError as error:
        remember(key, str(ParameterError(label, given, error.allowed)))
        return kind(value)


def choice(
    label: str,
    key: str,
    titles: Titles,
    default: str,
    *,
    then: Callable[[], None] | None = None,
    **options: Any,
) -> str:
    """Draw a select box over the names in ``titles``, shown by their titles.

    ``then`` is called when another is picked.
    """
    at = list(titles).index(default)
    return _chosen(st.selectbox, label, key, titles, default, then, index=at, **options)


def segments(label: str, key: str, titles: Titles, default: str, **options: Any) -> str:
    """Draw a row of buttons, one of which is on."""
    options |= {"default": default, "required": True}
    return _chosen(st.segmented_control, label, key, titles, default, None, **options)


def several(
    label: str, key: str, titles: Titles, default: Sequence[str], **options: Any
) -> tuple[str, ...]:
    """Draw a box of names; returns those picked, in the order of ``titles``.

    One at least: with none the usual ones stand, and a sentence says so.
    """
    picked = _picked(label, key, titles, default=list(default), **options)
    if not picked:
        remember(
            key,
            f"{label}: nothing is picked, so the usual ones are used: "
            f"{', '.join(titles[n] for n in default)}.",
        )
        return tuple(default)
    return picked


def any_of(label: str, key: str, titles: Titles) -> tuple[str, ...]:
    """Draw a filter over ``titles``; none picked means all, and an empty tuple."""
    return _picked(label, key, titles, placeholder="all")


def _picked(label: str, key: str, titles: Titles, **options: Any) -> tuple[str, ...]:
    """Draw a box of names; returns those picked, in the order of ``titles``."""
    check_link(label, key, lambda _: None)
    for text in st.query_params.get_all(key):
        check_link(label, key, one_of(label, titles.values()), text)
    options |= _bound(key)
    picked = st.multiselect(label, list(titles), format_func=lambda name: titles[name], **options)
    return tuple(name for name in titles if name in picked)


def numbers(label: str, key: str, limit: str, default: Sequence[float]) -> tuple[float, ...]:
    """Draw a box for up to eight numbers in the range called ``limit``.

    Commas stand between them; they are returned in rising order, each once.
    """
    usual, kind = ", ".join(f"{value:g}" for value in default), limit_of(limit)

    def read(text: str) -> tuple[float, ...]:
        return numbers_in(text, label, kind, usual, _MOST_NUMBERS)

    check_link(label, key, read)
    meaning = f"{capitalized(kind.meaning)}; up to {_MOST_NUMBERS}, each {kind.allowed}."
    text = st.text_input(label, value=usual, max_chars=200, help=meaning, **_bound(key))
    try:
        return read(text)
    except ParameterError as error:
        remember(key, f"{error} The usual ones are used instead: {usual}.")
        return tuple(default)


def steps_slider(
    label: str,
    key: str,
    values: Sequence[float],
    default: float,
    *,
    limit: str = "",
    ends: str = "",
    **options: Any,
) -> float:
    """Draw a slider over listed values; with a ``limit`` an address may name any number in it,
    which is then among them. ``ends`` says what lies to the left and the right.
    """
    if limit:
        values = with_linked(key, values, limit)
    shown = {value: f"{value:g}" if limit else f"{value:,.15g}" for value in values}
    plain = {} if limit else {f"{value:.15g}": value for value in values}
    if (linked := plain.get(st.query_params.get(key, ""))) is not None:  # 1800, not 1,800
        st.session_state.setdefault(key, linked)
    else:
        check_link(label, key, limit_of(limit).parse if limit else one_of(label, shown.values()))
    picked = st.select_slider(
        f"{label}: {ends}" if ends else label,
        list(values),
        value=default,
        format_func=lambda value: shown[value],
        **_bound(key),
        **options,
    )
    return float(picked)


def with_linked(key: str, values: Sequence[float], limit: str) -> list[float]:
    """``values`` and the one that the address names, for as long as the visit is on this page."""
    stored = st.session_state.setdefault(f"{key}-linked", set())
    with suppress(ParameterError):
        if key in st.query_params:
            linked = limit_of(limit).parse(st.query_params[key])
            stored.add(linked)
            if st.query_params[key] != f"{linked:g}":  # Streamlit knows it as that alone
                st.session_state.setdefault(key, linked)
    if isinstance(now := st.session_state.get(key), float):
        stored.add(now)
    return sorted({*values, *stored})


def switch(label: str, key: str, default: bool = False, meaning: str = "") -> bool:
    """Draw a switch that the address holds."""

    def check(text: str) -> None:
        if text.lower() not in ("true", "false"):
            raise ParameterError(label, text, "true or false")

    check_link(label, key, check)
    return toggle(label, default, meaning, **_bound(key))


def toggle(label: str, value: bool, meaning: str = "", *, key: str, **options: Any) -> bool:
    """Draw a switch; its ``meaning`` stands beside it, since a tap on a label turns the switch."""
    with st.container(
        key=f"switch-{key}",
        horizontal=True,
        width="content",
        gap="xsmall",
        vertical_alignment="center",
    ):
        on = st.toggle(label, value=value, key=key, width="content", **options)
        if meaning:
            st.markdown("", help=meaning, width="content")
    return on


def settings() -> ExpanderContainer:
    """The closed section of the sidebar for all that a page's bar has no room for."""
    return st.sidebar.expander("More settings", key="settings", icon=":material/tune:")


def _chosen(
    widget: Callable[..., Any],
    label: str,
    key: str,
    titles: Titles,
    usual: str,
    then: Callable[[], None] | None,
    **options: Any,
) -> str:
    def changed(key: str) -> None:
        forget(key)
        if then is not None:
            then()

    check_link(label, key, one_of(label, titles.values()))
    if key in st.session_state and st.session_state[key] is None:
        st.session_state[key] = usual
    options |= _bound(key, changed)
    given = widget(label, list(titles), format_func=lambda name: titles[name], **options)
    # an address with nothing after the key ("?n=") leaves no button on, required or not
    return usual if given is None else str(given)
