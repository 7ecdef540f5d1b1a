"""Widgets bound to the address of the page.

Lives here: number, choice and switch widgets whose value is in the URL, checked against ``dpmc_core.limits`` as if
typed. A value in a link that is out of range is not used, and a sentence says so. Does not live here: what the values
mean.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dpmc_core import limits
from dpmc_core.errors import ParameterError

__all__ = ["choice", "link_problems", "number", "on_page", "segments", "slider", "switch"]

_PROBLEMS = "url-problems"
_PAGE = "current-page"


def on_page(path: str) -> None:
    """Say which page is being drawn (its file under the app's folder); call before any other control."""
    st.session_state[_PAGE] = path


def number(
    label: str, key: str, limit: str, default: float | None = None, *, step: float | None = None, **options: Any
) -> float:
    """A number box in the range called ``limit``; returns an int for whole-number parameters."""
    return _numeric(st.number_input, label, key, limit, default, step, options)


def slider(
    label: str,
    key: str,
    limit: str,
    default: float | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    step: float,
    **options: Any,
) -> float:
    """A slider over ``low``–``high`` (within the range called ``limit``)."""
    return _numeric(st.slider, label, key, limit, default, step, options, low, high)


def _numeric(
    widget: Callable[..., Any],
    label: str,
    key: str,
    limit: str,
    default: float | None,
    step: float | None,
    options: dict[str, Any],
    low: float | None = None,
    high: float | None = None,
) -> float:
    known = limits.LIMITS[limit]
    kind: type = int if known.integer else float
    low = known.low if low is None else low
    high = known.high if high is None else high
    if known.open_low and low == known.low:
        low = step or 1e-6
    value = known.default if default is None else default
    step = step or (1 if known.integer else None)
    _check_link(label, key, lambda text: _in_range(label, limits.parse(limit, text), low, high))
    given = widget(
        label,
        min_value=kind(low),
        max_value=None if high == float("inf") else kind(high),
        value=kind(value),
        step=None if step is None else kind(step),
        key=key,
        bind="query-params",
        help=options.pop("help", None) or f"{known.meaning[0].upper()}{known.meaning[1:]}; {known.allowed}.",
        on_change=_forget,
        args=(key,),
        **options,
    )
    return kind(limits.check(limit, given))


def _in_range(label: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ParameterError(label, f"{value:g}", f"a number from {low:g} to {high:g} here")


def choice(
    label: str,
    key: str,
    names: Sequence[str],
    default: str,
    *,
    titles: dict[str, str] | None = None,
    then: Callable[[], None] | None = None,
    **options: Any,
) -> str:
    """A select box over ``names``, shown by ``titles``; ``then`` is called when the visitor picks another."""
    options["then"] = then
    return _chosen(st.selectbox, label, key, names, titles, {"index": list(names).index(default), **options})


def segments(
    label: str, key: str, names: Sequence[str], default: str, *, titles: dict[str, str] | None = None, **options: Any
) -> str:
    """A row of buttons, one of which is on."""
    return _chosen(st.segmented_control, label, key, names, titles, {"default": default, "required": True, **options})


def _chosen(
    widget: Callable[..., Any],
    label: str,
    key: str,
    names: Sequence[str],
    titles: dict[str, str] | None,
    options: dict[str, Any],
) -> str:
    shown = {name: (titles or {}).get(name, name) for name in names}
    then = options.pop("then", None)

    def changed() -> None:
        _forget(key)
        if then is not None:
            then()

    def check(text: str) -> None:
        if text not in shown and text not in shown.values():
            raise ParameterError(label, text, "one of " + ", ".join(shown.values()))

    _check_link(label, key, check)
    linked = st.query_params.get(key)
    if linked in shown and linked != shown[linked] and key not in st.session_state:
        # Streamlit keeps an option's title in the address; a link may say its name, as the command line does
        st.switch_page(st.session_state[_PAGE], query_params={**st.query_params.to_dict(), key: shown[linked]})
    picked = widget(
        label,
        list(names),
        key=key,
        bind="query-params",
        format_func=lambda name: shown[name],
        on_change=changed,
        **options,
    )
    return str(picked)


def switch(label: str, key: str, default: bool = False, **options: Any) -> bool:
    """An on/off switch."""
    return bool(st.toggle(label, value=default, key=key, bind="query-params", **options))


def _check_link(label: str, key: str, check: Callable[[str], None]) -> None:
    """Remember a sentence about a value in the address that cannot be used; Streamlit itself drops it silently."""
    text = st.query_params.get(key)
    if text is None or key in st.session_state:
        return
    try:
        check(text)
    except ParameterError as error:
        shown = ParameterError(label, text, error.allowed)
        st.session_state.setdefault(_PROBLEMS, {})[key] = f"From the address: {shown} The usual value is used instead."


def _forget(key: str) -> None:
    st.session_state.get(_PROBLEMS, {}).pop(key, None)


def link_problems(place: Any = None) -> None:
    """Show what was wrong with the values in the address, if anything. Call after all controls."""
    for sentence in st.session_state.get(_PROBLEMS, {}).values():
        (place or st).warning(sentence, icon=":material/link_off:")
