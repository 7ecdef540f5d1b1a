"""Widgets bound to the address of the page.

Lives here: number, choice and switch widgets whose value is in the URL, checked against ``dpmc_core.limits`` as if
typed. A value in a link that cannot be used is not used, and a sentence says so. Does not live here: what the values
mean. Every bound widget of the app is made here (``tests/test_structure.py`` holds this).
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from dpmc_core import limits
from dpmc_core.errors import ParameterError

__all__ = [
    "any_of",
    "choice",
    "current_page",
    "link_problems",
    "number",
    "numbers",
    "on_page",
    "plain",
    "said",
    "segments",
    "several",
    "slider",
    "steps_slider",
    "switch",
    "trusted",
    "whole",
]

_PROBLEMS, _PAGE, _DRAWN, _AGAIN, _LABELS = (
    "url-problems",
    "current-page",
    "drawn-here",
    "names-to-set",
    "labels-here",
)
_OWN = tuple(
    f"Your {kind}" for kind in ("ratings", "documents", "images")
)  # what own sets are called in addresses
_SMALLEST = 1e-9  # the smallest step away from an open end of a range that a widget offers
Titles = Mapping[str, str]


def on_page(path: str, titles: Mapping[str, Titles] | None = None) -> None:
    """Say which page is being drawn (its file under the app's folder); call before any other control.

    Streamlit keeps an option's *title* in the address. With ``titles`` (key -> name -> title) a link may also say the
    *name*, as the command line does: all of them are translated at once, before any widget is bound.
    """
    st.session_state[_PAGE] = path
    st.session_state[_DRAWN] = set()
    st.session_state[_LABELS] = {}
    st.session_state.update(st.session_state.pop(_AGAIN, {}))
    endless = [key for key in st.query_params if not _small(st.query_params[key])]
    if endless:  # Streamlit would try to make whole numbers of them
        for key in endless:
            said = ParameterError(key, st.query_params[key], "a finite number")
            _remember(key, f"From the address: {said} The usual value is used instead.")
        st.switch_page(
            path,
            query_params={k: v for k, v in st.query_params.to_dict().items() if k not in endless},
        )
    translated = {
        key: by_name[st.query_params[key]]
        for key, by_name in (titles or {}).items()
        if key in st.query_params
        and by_name.get(st.query_params[key], st.query_params[key]) != st.query_params[key]
    }
    if not translated:
        return
    if any(key in st.session_state for key in translated):
        # back to a short link: its parameters are bound to widgets, which drop what they do not know in this run; ``link_problems`` has it run again
        st.session_state[_AGAIN] = {key: st.query_params[key] for key in translated}
        return
    st.switch_page(path, query_params={**st.query_params.to_dict(), **translated})


def current_page() -> str:
    """The page that was drawn last."""
    return str(st.session_state.get(_PAGE, ""))


def said(sentence: str) -> str:
    """A sentence about a parameter, ``plain``, with what the parameter is called on this page in place of its name."""
    labels = st.session_state.get(_LABELS, {})
    return plain(re.sub(r"^(\w+)(?= = )", lambda found: labels.get(found[1], found[1]), sentence))


def plain(text: str) -> str:
    """``text`` with everything escaped that Streamlit would read as Markdown: it may hold a stranger's words."""
    return "".join(f"\\{c}" if c in "\\`*_[]()!<>#$~|{}" else c for c in text)


def number(
    label: str,
    key: str,
    limit: str,
    default: float | None = None,
    *,
    step: float | None = None,
    **options: Any,
) -> float:
    """A number box in the range called ``limit``; returns an int for whole-number parameters."""
    st.session_state.setdefault(_LABELS, {})[limit] = label
    return _numeric(st.number_input, label, key, limits.LIMITS[limit], default, step, options)


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
    """A slider over ``low``–``high``, within the range called ``limit`` and by default all of it."""
    known = limits.LIMITS[limit]
    narrow = limits.Limit(
        known.name,
        known.low if low is None else low,
        known.high if high is None else high,
        known.meaning,
        default,
    )
    return _numeric(st.slider, label, key, narrow, default, step, {})


def whole(label: str, key: str, low: int, high: int, default: int, *, sliding: bool = False) -> int:
    """A number box (or, ``sliding``, a slider where there is anything to slide) for a whole number whose range is known only here (a user of this dataset)."""
    limit = limits.Limit(label, low, high, label, default, integer=True)
    return int(
        _numeric(
            st.slider if sliding and high > low else st.number_input,
            label,
            key,
            limit,
            default,
            1,
            {},
        )
    )


def _numeric(
    widget: Callable[..., Any],
    label: str,
    key: str,
    limit: limits.Limit,
    default: float | None,
    step: float | None,
    options: dict[str, Any],
) -> float:
    kind: type = int if limit.integer else float
    low = limit.low + _SMALLEST if limit.open_low else limit.low
    high = limit.high - _SMALLEST if limit.open_high else limit.high
    value = limit.default if default is None else default
    step = step or (1 if limit.integer else None)
    if widget is st.number_input and not limit.integer:
        options.setdefault("format", "%g")

    def check(text: str) -> None:
        try:
            given = float(text)
        except ValueError:
            raise ParameterError(label, text, limit.allowed) from None
        limit.check(given)

    _check_link(label, key, check)
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
        on_change=_forget,
        args=(key,),
        **options,
    )
    try:
        return kind(limit.check(given))
    except ParameterError as error:
        _remember(key, str(ParameterError(label, given, error.allowed)))
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
    """A select box over the names in ``titles``, shown by their titles; ``then`` is called when another is picked."""
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
    """A row of buttons, one of which is on."""
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
    """Names picked from ``titles``, in their order there; one at least: with none the usual ones stand, and a sentence says so."""

    def check(text: str) -> None:
        if text not in titles.values():
            raise ParameterError(label, text, "one of " + ", ".join(titles.values()))

    for text in st.query_params.get_all(key):
        _check_link(label, key, check, text)
    _check_link(label, key, lambda _: None)
    picked = st.multiselect(
        label,
        list(titles),
        default=list(default),
        key=key,
        bind="query-params",
        format_func=lambda name: titles[name],
        on_change=_forget,
        args=(key,),
        **options,
    )
    if not picked:
        _remember(
            key,
            f"{label}: nothing is picked, so the usual ones are used: {', '.join(titles[n] for n in default)}.",
        )
        return tuple(default)
    return tuple(name for name in titles if name in picked)


def any_of(label: str, key: str, titles: Titles) -> tuple[str, ...]:
    """Names picked from ``titles`` to filter by; none picked means all, and an empty tuple."""

    def check(text: str) -> None:
        if text not in titles.values():
            raise ParameterError(
                label,
                text,
                "one of " + ", ".join(titles.values())
                if titles
                else "left out: there is nothing yet",
            )

    _check_link(label, key, lambda _: None)
    for text in st.query_params.get_all(key):
        _check_link(label, key, check, text)
    picked = st.multiselect(
        label,
        list(titles),
        key=key,
        bind="query-params",
        format_func=lambda name: titles[name],
        placeholder="all",
        on_change=_forget,
        args=(key,),
    )
    return tuple(picked)


def numbers(
    label: str, key: str, limit: str, default: Sequence[float], most: int, **options: Any
) -> tuple[float, ...]:
    """A box for up to ``most`` numbers in the range called ``limit``, with commas between; returned in rising order, each once."""
    usual = ", ".join(f"{value:g}" for value in default)
    whole_ones = limits.LIMITS[limit].integer

    def read(text: str) -> tuple[float, ...]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not 0 < len(words) <= most:
            raise ParameterError(
                label, text, f"1 to {most} numbers with commas between, as {usual}"
            )
        try:
            found = {limits.parse(limit, word) for word in words}
        except ParameterError as error:
            raise ParameterError(label, error.value, error.allowed) from None
        return tuple(sorted(int(x) if whole_ones else x for x in found))

    def check(text: str) -> None:
        read(text)

    _check_link(label, key, check)
    kind = limits.LIMITS[limit]
    text = st.text_input(
        label,
        value=usual,
        max_chars=200,
        key=key,
        bind="query-params",
        on_change=_forget,
        args=(key,),
        help=options.pop("help", None)
        or f"{kind.meaning[0].upper()}{kind.meaning[1:]}; up to {most}, each {kind.allowed}.",
        **options,
    )
    try:
        return read(text)
    except ParameterError as error:
        _remember(key, f"{error} The usual ones are used instead: {usual}.")
        return tuple(default)


def steps_slider(
    label: str, key: str, values: Sequence[float], default: float, **options: Any
) -> float:
    """A slider over listed values."""
    shown = {value: f"{value:,g}" for value in values}

    def check(text: str) -> None:
        if text not in shown.values():
            raise ParameterError(label, text, "one of " + ", ".join(shown.values()))

    _check_link(label, key, check)
    picked = st.select_slider(
        label,
        list(values),
        value=default,
        format_func=lambda value: shown[value],
        key=key,
        bind="query-params",
        on_change=_forget,
        args=(key,),
        **options,
    )
    return float(picked)


def switch(label: str, key: str, default: bool = False, **options: Any) -> bool:
    """An on/off switch."""

    def check(text: str) -> None:
        if text.lower() not in ("true", "false"):
            raise ParameterError(label, text, "true or false")

    _check_link(label, key, check)
    return bool(
        st.toggle(
            label,
            value=default,
            key=key,
            bind="query-params",
            on_change=_forget,
            args=(key,),
            **options,
        )
    )


def _chosen(
    widget: Callable[..., Any],
    label: str,
    key: str,
    titles: Titles,
    options: dict[str, Any],
    then: Callable[[], None] | None = None,
) -> Any:
    def changed() -> None:
        _forget(key)
        if then is not None:
            then()

    def check(text: str) -> None:
        if text not in titles.values():
            raise ParameterError(label, text, "one of " + ", ".join(titles.values()))

    _check_link(label, key, check)
    return widget(
        label,
        list(titles),
        key=key,
        bind="query-params",
        format_func=lambda name: titles[name],
        on_change=changed,
        **options,
    )


def _check_link(
    label: str, key: str, check: Callable[[str], None], given: str | None = None
) -> None:
    """Remember a sentence about a value in the address that cannot be used (``given``, or the only one); Streamlit itself drops it silently."""
    st.session_state.setdefault(_DRAWN, set()).add(key)
    text = st.query_params.get(key) if given is None else given
    if text is None or key in st.session_state:
        return
    try:
        check(text)
    except ParameterError as error:
        _remember(
            key,
            f"From the address: “{text}” are not here. Own data lives in one visit: reloading the page ends it, and no link carries it along. Give the file on the Datasets page; the usual set is used instead."
            if text in _OWN
            else f"From the address: {ParameterError(label, text, error.allowed)} The usual value is used instead.",
        )


def _small(text: str) -> bool:
    """Whether ``text`` is no number, or one that a whole number can be made of."""
    try:
        return math.isfinite(float(text))
    except (ValueError, OverflowError):
        return True


def _remember(key: str, sentence: str) -> None:
    st.session_state.setdefault(_PROBLEMS, {})[key] = sentence


def _forget(key: str) -> None:
    st.session_state.get(_PROBLEMS, {}).pop(key, None)


def trusted() -> bool:
    """Whether the address asked for nothing that could not be had: only then is it run without a press."""
    return not any(
        key in st.session_state.get(_DRAWN, set()) for key in st.session_state.get(_PROBLEMS, {})
    )


def link_problems() -> None:
    """Show what was wrong with the values of this page's controls, if anything. Call after all controls."""
    if _AGAIN in st.session_state:
        st.rerun()
    drawn = st.session_state.get(_DRAWN, set())
    for key, sentence in st.session_state.get(_PROBLEMS, {}).items():
        if key in drawn:
            st.warning(plain(sentence), icon=":material/link_off:")
