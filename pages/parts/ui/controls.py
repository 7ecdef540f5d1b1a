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
    on_page,
    one_of,
    plain,
    remember,
    said,
    trusted,
)

__all__ = [
    "any_of",
    "choice",
    "current_page",
    "link_problems",
    "numbers",
    "numeric",
    "on_page",
    "place",
    "plain",
    "said",
    "segments",
    "settings",
    "several",
    "show_error",
    "slider",
    "steps_slider",
    "switch",
    "toggle",
    "trusted",
    "whole",
    "with_linked",
]

_SMALLEST = 1e-9  # the smallest step away from an open end of a range that a widget offers


def show_error(problem: object) -> None:
    """Show what is wrong, an error or a sentence, as no Markdown."""
    st.error(plain(str(problem)), icon=":material/error:")


def place() -> DeltaGenerator:
    """Return a place for controls that come and go, to be used by ``with``.

    What stands below it keeps its own place, and with it what is being typed there: what moves is
    made again in the browser.
    """
    return st.container()


def slider(
    label: str,
    key: str,
    limit: str,
    default: float,
    *,
    low: float | None = None,
    high: float | None = None,
    step: float,
) -> float:
    """Draw a slider over ``low``–``high``, by default all of ``limit``."""
    known = limit_of(limit)
    narrow = limits.Limit(
        known.name,
        known.low if low is None else low,
        known.high if high is None else high,
        known.meaning,
        default,
    )
    return numeric(st.slider, label, key, narrow, default, step, {})


def whole(label: str, key: str, low: int, high: int, default: int, *, sliding: bool = False) -> int:
    """Draw a number box for a whole number from ``low`` to ``high``.

    ``sliding``: a slider instead, where there is anything to slide.
    """
    limit = limits.Limit(label, low, high, label, default, integer=True)
    return int(
        numeric(
            st.slider if sliding and high > low else st.number_input,
            label,
            key,
            limit,
            default,
            1,
            {},
        )
    )


def numeric(
    widget: Callable[..., Any],
    label: str,
    key: str,
    limit: limits.Limit,
    default: float | None,
    step: float | None,
    options: dict[str, Any],
) -> float:
    """Draw ``widget`` over ``limit``; an int for whole numbers."""
    kind: type = int if limit.integer else float
    low = limit.low + _SMALLEST if limit.open_low else limit.low
    high = limit.high - _SMALLEST if limit.open_high else limit.high
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
        key=key,
        bind="query-params",
        help=options.pop("help", None)
        or f"{limit.meaning[0].upper()}{limit.meaning[1:]}; {limit.allowed}.",
        on_change=forget,
        args=(key,),
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
    return str(
        _chosen(
            st.selectbox,
            label,
            key,
            titles,
            {"index": list(titles).index(default), **options},
            then,
        )
    )


def segments(label: str, key: str, titles: Titles, default: str, **options: Any) -> str:
    """Draw a row of buttons, one of which is on."""
    return str(
        _chosen(
            st.segmented_control,
            label,
            key,
            titles,
            {"default": default, "required": True, **options},
        )
    )


def several(
    label: str, key: str, titles: Titles, default: Sequence[str], **options: Any
) -> tuple[str, ...]:
    """Draw a box of names; returns those picked, in the order of ``titles``.

    One at least: with none the usual ones stand, and a sentence says so.
    """

    check = one_of(label, titles.values())
    for text in st.query_params.get_all(key):
        check_link(label, key, check, text)
    check_link(label, key, lambda _: None)
    picked = st.multiselect(
        label,
        list(titles),
        default=list(default),
        key=key,
        bind="query-params",
        format_func=lambda name: titles[name],
        on_change=forget,
        args=(key,),
        **options,
    )
    if not picked:
        remember(
            key,
            f"{label}: nothing is picked, so the usual ones are used: "
            f"{', '.join(titles[n] for n in default)}.",
        )
        return tuple(default)
    return tuple(name for name in titles if name in picked)


def any_of(label: str, key: str, titles: Titles) -> tuple[str, ...]:
    """Draw a filter over ``titles``; none picked means all, and an empty tuple."""
    check = one_of(label, titles.values())
    check_link(label, key, lambda _: None)
    for text in st.query_params.get_all(key):
        check_link(label, key, check, text)
    picked = st.multiselect(
        label,
        list(titles),
        key=key,
        bind="query-params",
        format_func=lambda name: titles[name],
        placeholder="all",
        on_change=forget,
        args=(key,),
    )
    return tuple(picked)


def numbers(
    label: str, key: str, limit: str, default: Sequence[float], most: int, **options: Any
) -> tuple[float, ...]:
    """Draw a box for up to ``most`` numbers in the range called ``limit``.

    Commas stand between them; they are returned in rising order, each once.
    """
    usual = ", ".join(f"{value:g}" for value in default)

    def read(text: str) -> tuple[float, ...]:
        return numbers_in(text, label, limit_of(limit), usual, most)

    check_link(label, key, read)
    kind = limit_of(limit)
    text = st.text_input(
        label,
        value=usual,
        max_chars=200,
        key=key,
        bind="query-params",
        on_change=forget,
        args=(key,),
        help=options.pop("help", None)
        or f"{kind.meaning[0].upper()}{kind.meaning[1:]}; up to {most}, each {kind.allowed}.",
        **options,
    )
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
    shown = {value: f"{value:g}" if limit else f"{value:,g}" for value in values}
    check_link(label, key, limit_of(limit).parse if limit else one_of(label, shown.values()))
    picked = st.select_slider(
        f"{label}: {ends}" if ends else label,
        list(values),
        value=default,
        format_func=lambda value: shown[value],
        key=key,
        bind="query-params",
        on_change=forget,
        args=(key,),
        **options,
    )
    return float(picked)


def with_linked(key: str, values: Sequence[float], limit: str) -> list[float]:
    """``values`` and the one that the address names, for as long as the visit is on this page."""
    kept = st.session_state.setdefault(f"{key}-linked", set())
    with suppress(ParameterError):
        if key in st.query_params:
            linked = float(limit_of(limit).parse(st.query_params[key]))
            kept.add(linked)
            if st.query_params[key] != f"{linked:g}":  # Streamlit knows it as that alone
                st.session_state.setdefault(key, linked)
    if isinstance(now := st.session_state.get(key), float):
        kept.add(now)
    return sorted({*values, *kept})


def switch(label: str, key: str, default: bool = False, **options: Any) -> bool:
    """Draw a switch that the address holds."""

    def check(text: str) -> None:
        if text.lower() not in ("true", "false"):
            raise ParameterError(label, text, "true or false")

    check_link(label, key, check)
    bound = {"bind": "query-params", "on_change": forget, "args": (key,)}
    return toggle(label, key, default, options.pop("help", ""), **bound, **options)


def toggle(label: str, key: str, value: bool, meaning: str = "", **options: Any) -> bool:
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
    return bool(on)


def settings() -> ExpanderContainer:
    """The closed section of the sidebar for all that a page's bar has no room for."""
    return st.sidebar.expander("More settings", key="settings", icon=":material/tune:")


def _chosen(
    widget: Callable[..., Any],
    label: str,
    key: str,
    titles: Titles,
    options: dict[str, Any],
    then: Callable[[], None] | None = None,
) -> Any:
    def changed() -> None:
        forget(key)
        if then is not None:
            then()

    check_link(label, key, one_of(label, titles.values()))
    usual = options["default"] if "default" in options else list(titles)[options["index"]]
    if key in st.session_state and st.session_state[key] is None:
        st.session_state[key] = usual
    given = widget(
        label,
        list(titles),
        key=key,
        bind="query-params",
        format_func=lambda name: titles[name],
        on_change=changed,
        **options,
    )
    # an address with nothing after the key ("?n=") leaves no button on, required or not
    return usual if given is None else given
