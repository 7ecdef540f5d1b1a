"""What follows a slider while it is dragged (``drag.js``): the verdict and the figures of each of
its values, which a browser fetches once somebody is about to move it.
"""

import base64
import hashlib
import html
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import getitem
from typing import Any
from weakref import ref

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.utils import PlotlyJSONEncoder

from dpmc_core.errors import DPMCError
from pages.parts.server.layers import on_request
from pages.parts.ui import figures, on_screen


@dataclass(frozen=True)
class Frame:
    """A page at one value of a slider: its verdict, its figures by name, and the cells of its
    tables by the key of the container that each is in.
    """

    verdict: str
    figures: Mapping[str, go.Figure]
    cells: Mapping[str, Sequence[str]] = field(default_factory=dict)


def follow(
    key: str,
    values: Sequence[float],
    draw: Callable[[float], Frame],
    *of: object,
    playing: str = "",
    reverse: bool = False,
    at_once: bool = False,
) -> None:
    """Have verdict and figures follow the slider called ``key`` over ``values`` while it is
    dragged.

    ``draw`` makes a frame, without Streamlit, from a value and ``of``, whose ``repr`` tells all
    that it depends on. ``playing`` is the label of a button that shows all of them, from the last
    on with ``reverse``, and once by itself with ``at_once``.
    """
    look, written = figures.look(), on_screen.writer()
    signature = repr((key, values, of, look, written("")))
    name = hashlib.sha256(signature.encode()).hexdigest()[:32]
    place = {
        "slider": key,
        "ahead": on_request.offer(name, lambda: frames(values, draw, look, written)),
        "at": str(list(values).index(st.session_state[key])),
        "values": json.dumps([f"{value:,g}" for value in values]),
        **({"reversed": "true"} if reverse else {}),
        **({"once": "true"} if at_once else {}),
    }
    about = " ".join(f'data-{name}="{html.escape(text)}"' for name, text in place.items())
    button = f'<button type="button">{playing}</button>' if playing else ""
    st.html(f'<div class="dpmc-drag" {about}>{button}</div>')


def replay(
    key: str,
    results: Sequence[Any],
    steps: Sequence[int],
    draw: Callable[[Sequence[Any], int], Frame],
    label: str,
    *of: object,
) -> int:
    """Draw the slider over the ``steps`` of finished ``results``, the last at first, and return
    where it stands: what the page shows follows it, and a visitor's own run is played once.

    ``draw`` makes the frame of a step, which depends on ``of`` besides. It is offered for as long
    as the results live, under a name that nobody can guess; results on somebody's own data are not
    sent ahead.
    """
    state = st.session_state.setdefault(f"{key}-of", {"held": [], "name": ""})
    if [one() for one in state["held"]] != list(results):
        state.update(held=[ref(one) for one in results], name=secrets.token_hex(8))
    held = state["held"]

    def frame(step: float) -> Frame:
        living = [one() for one in held]
        if None in living:
            raise DPMCError("These results are gone.")
        return draw(living, int(step))

    key = f"{key}-{state['name']}"
    own = any(one.spec.own_data for one in results)
    with st.container(key="replay", horizontal=True, vertical_alignment="bottom"):
        at = int(st.select_slider(label, list(steps), value=steps[-1], key=key))
        if not own:
            shown = on_screen.now()  # what stands before a run, or as an example, stands still
            fresh = shown.place is not None and not shown.note
            follow(key, steps, frame, *of, playing="Replay", at_once=fresh)
    return at


def frames(
    values: Sequence[float],
    draw: Callable[[float], Frame],
    look: figures.Look,
    written: Callable[[str], str],
) -> str:
    """The frames at ``values`` as JSON: of each figure the ``paths`` to what differs between any
    two of them, and by value what stands there; null for a value at which nothing can be drawn.
    Of each table all cells by value.
    """
    drawn: list[Frame | None] = [None] * len(values)
    for k, value in enumerate(values):
        with suppress(DPMCError):
            drawn[k] = draw(value)

    first = next(filter(None, drawn), Frame("", {}))
    return json.dumps(
        {
            "verdicts": [one and on_screen.unbroken(written(one.verdict)) for one in drawn],
            "figures": {
                name: _changes(
                    [one and _plain(figures.ready(one.figures[name], look)) for one in drawn]
                )
                for name in first.figures
            },
            "cells": {name: [one and one.cells[name] for one in drawn] for name in first.cells},
        }
    )


def _plain(figure: Any) -> Any:
    return json.loads(json.dumps(figure.to_dict(), cls=PlotlyJSONEncoder))


def _changes(parts: Sequence[Any]) -> dict[str, Any]:
    """The paths to what differs between any two of ``parts``, and what stands there in each."""
    paths = list(_varying([part for part in parts if part is not None]))
    return {
        "paths": paths,
        "values": [
            None if part is None else [_short(reduce(getitem, path, part)) for path in paths]
            for part in parts
        ],
    }


def _varying(parts: Sequence[Any], *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """The paths to the smallest parts in which ``parts``, all of one shape, are not equal."""
    first = parts[0]
    if all(one == other for one, other in pairwise(parts)):
        return
    if isinstance(first, dict) and "bdata" not in first and _alike(parts, dict, set):
        for name in first:
            yield from _varying([one[name] for one in parts], *path, name)
    elif isinstance(first, list) and _alike(parts, list, len):
        for k in range(len(first)):
            yield from _varying([one[k] for one in parts], *path, k)
    else:
        yield path


def _alike(parts: Sequence[Any], kind: type, shape: Callable[[Any], object]) -> bool:
    return all(isinstance(one, kind) and shape(one) == shape(parts[0]) for one in parts)


def _short(value: Any) -> Any:
    """Arrays with half the digits, which no screen can tell apart."""
    if isinstance(value, dict) and value.get("dtype") == "f8":
        numbers = np.frombuffer(base64.b64decode(value["bdata"]), "<f8").astype("<f4")
        return {**value, "dtype": "f4", "bdata": base64.b64encode(numbers.tobytes()).decode()}
    return value
