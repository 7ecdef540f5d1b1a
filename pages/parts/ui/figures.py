"""One look for every chart: identities of mechanisms, layout, labels, and ``show``.

Figures are drawn once: decorators keep what a chart function made, for as long as what it was made
of lives (``of_results``), or the latest ones (``of_values``). Figures are shared between visitors
then, so nothing changes one after it was made.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st

from dpmc_core.wording import JsonObject, three
from pages.parts.ui import on_screen
from pages.parts.ui.labels import LABEL_SIZE, Label, beside, ends, fit_lower, label_ends, wrapped
from pages.parts.ui.looks import BAND_ALPHA, BASELINE, intervals
from pages.parts.ui.on_screen import download

Made = TypeVar("Made")
_MOST = 24  # figures of one result
_of_results = WeakKeyDictionary[Any, dict[Any, Any]]()


def of_values(make: Callable[..., Made]) -> Callable[..., Made]:
    """For functions of frozen values and sequences of them."""
    memoized = lru_cache(maxsize=160)(make)

    @wraps(make)
    def drawn(*given: Any, **named: Any) -> Made:
        return memoized(*(tuple(x) if isinstance(x, list) else x for x in given), **named)

    return drawn


def of_results(make: Callable[..., Made]) -> Callable[..., Made]:
    """For functions whose first argument is a result, alone or by a name (``result`` is its
    attribute), or a sequence of such; the others are plain values. Unfinished results are drawn
    every time.
    """

    @wraps(make)
    def drawn(items: Any, *given: Any, **named: Any) -> Made:
        several = items if isinstance(items, Sequence) else (items,)
        results: list[Any] = [getattr(item, "result", item) for item in several]
        if not results or not all(result.finished for result in results):
            return make(items, *given, **named)
        names = tuple((getattr(item, "label", ""), getattr(item, "name", "")) for item in several)
        # a result equals itself alone, and one that is gone equals none
        references = tuple(map(ref, results))
        key = (make.__qualname__, names, references, given, tuple(sorted(named.items())))
        mine = _of_results.setdefault(results[0], {})
        cached: Made | None = mine.get(key)
        if cached is None:
            cached = make(items, *given, **named)
            while len(mine) >= _MOST:
                mine.pop(next(iter(mine)), None)
            mine[key] = cached
        return cached

    return drawn


# what is too dark on the dark theme's ground, and what is drawn there instead
_ON_DARK = {
    "#0072B2": "#4FA6DE",
    "#666666": "#A9B1B8",
    "#332288": "#8F86E0",
    "#AA4499": "#D57CC8",
    "#7A7A1F": "#B5B54A",
    "#2A8577": "#55BBAA",
    f",{BAND_ALPHA})": ",0.36)",
}
_GRID = "rgba(128,128,128,0.18)"
_ON_WHITE = "#2B3741"
_GROUNDS = {_ON_WHITE: "#FFFFFF", "#D5DDE4": "#11171D"}  # by the colour of the text on each
_TEXT_SIZE = 14
_PRESENTED = 1.3  # how much larger everything is drawn in presenter mode
_PRESENTED_ROOM = 250  # pixels of an axis on a screen 720 high, before they are enlarged

Drawn = tuple[go.Figure, pd.DataFrame]  # a figure and its numbers
# the colour of a figure's text, how much everything is enlarged, and whether its numbers wait for
# an answer
Look = tuple[str, float, bool]


class _Ready(go.Figure):  # type: ignore[misc]  # Plotly has no types, so its class is Any
    """A figure that is a dictionary already.

    What Streamlit asks of one, without Plotly's own checks, which took longer than all else on a
    page.
    """

    def __init__(self, spec: JsonObject) -> None:
        object.__setattr__(self, "_spec", spec)

    def to_dict(self) -> JsonObject:
        """The dictionary."""
        return object.__getattribute__(self, "_spec")


def look() -> Look:
    """The look of figures for this visitor: by the theme, whether the page is presented, and
    whether a lesson's question is open.
    """
    on_white, on_dark = _GROUNDS
    colour = on_dark if st.context.theme.type == "dark" else on_white
    return colour, _PRESENTED if on_screen.presenting() else 1.0, on_screen.verdict_held()


def _template(colour: str, small: int) -> JsonObject:
    """Plotly's template of all figures with text in ``colour``: what one says itself goes first."""
    ground = _GROUNDS[colour]
    axis = {
        "automargin": True,
        "gridcolor": _GRID,
        "zeroline": False,
        "title": {"font": {"size": _TEXT_SIZE}, "standoff": 20},
    }
    return {
        "layout": {
            "font": {"color": colour, "size": small, "family": "Source Sans, sans-serif"},
            "paper_bgcolor": ground,
            "plot_bgcolor": ground,
            # names of lines stand right
            "margin": {"l": 10, "r": 90, "t": 16, "b": 10, "pad": 8},
            "showlegend": False,
            "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
            "hovermode": "x unified",
            "hoverlabel": {"bgcolor": ground, "font": {"color": colour, "size": small}},
            "xaxis": {**axis, "showgrid": False},
            "yaxis": axis,
            "coloraxis": {"colorscale": "Cividis", "colorbar": {"thickness": 14}},
            "annotationdefaults": {"showarrow": False},
        },
        "data": {
            # or plotly would choose white or black
            "bar": [{"insidetextfont": {"color": colour}}],
            "scatter": [{"hovertemplate": "%{y:.4~g}", "cliponaxis": False}],
            "heatmap": [{"colorscale": "Cividis"}],
        },
    }


def ready(fig: go.Figure, look: Look) -> _Ready:
    """``fig`` as it is sent to a browser.

    Made once for a figure that is drawn again (``of_results``).
    """
    by_look: dict[Look, _Ready] = fig.__dict__.setdefault("_in_colours", {})
    if look not in by_look:
        colour, scale, held = look
        presented = scale != 1
        spec = whole(fig, _PRESENTED_ROOM * presented)
        if held:
            spec["layout"]["annotations"] = [
                {**label, "text": on_screen.without_numbers(label["text"])}
                for label in spec["layout"].get("annotations", ())
            ]
        if presented:
            fit_lower(spec["layout"])
            margin = spec["layout"].setdefault("margin", {})
            if "r" in margin:  # room for names of lines
                margin["r"] *= _TEXT_SIZE / LABEL_SIZE
        drawn = _dressed(spec, colour, _TEXT_SIZE if presented else LABEL_SIZE)
        if presented:
            drawn = _changed(drawn, _enlarged)
        by_look[look] = _Ready(drawn if colour == _ON_WHITE else _changed(drawn, _lightened))
    return by_look[look]


def _dressed(spec: JsonObject, colour: str, small: int) -> JsonObject:
    """``spec``, a figure as a dictionary, in its template."""
    return {**spec, "layout": spec["layout"] | {"template": _template(colour, small)}}


def _changed(part: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """``part`` of a figure with what ``change`` makes of each value and its name."""
    if isinstance(part, dict):
        return {key: _changed(value, change, key) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [_changed(one, change) for one in part]
    return change(name, part)


def _lightened(_: str, value: Any) -> Any:
    """``value`` in colours that can be seen on a dark ground."""
    if isinstance(value, str):  # a colour, or a text in which a span has one
        for dark, light in _ON_DARK.items():
            value = value.replace(dark, light)
    return value


_PIXELS = ("size", "width", "height", "xshift", "yshift", "l", "r", "t", "b", "thickness")


def _enlarged(name: str, value: Any) -> Any:
    """``value`` as large as it is presented, if it is in pixels."""
    in_pixels = name in _PIXELS and isinstance(value, (int, float)) and not isinstance(value, bool)
    return value * _PRESENTED if in_pixels else value


def figure(
    x_title: str, y_title: str, *, height: int = 400, log_x: bool = False, log_y: bool = False
) -> go.Figure:
    """An empty figure; axis titles carry their units."""
    return go.Figure(
        layout={
            "height": height,
            "xaxis": {"title": {"text": x_title}, "type": "log" if log_x else "linear"},
            "yaxis": {"title": {"text": y_title}, "type": "log" if log_y else "linear"},
        }
    )


def bars(
    names: Sequence[str],
    heights: Sequence[float],
    halves: Sequence[float],
    colours: str | Sequence[str],
    title: str,
    baselines: Mapping[str, float],
    room: float = 0.0,
) -> go.Figure:
    """Bars with 95 % intervals (half widths ``halves``, if any), and a line for each of
    ``baselines``; the axis reaches to ``room`` at least.
    """
    fig = figure("", title)
    texts = [
        f"{wrapped(name)}<br><b>{three(height)}</b>"
        for name, height in zip(names, heights, strict=True)
    ]
    places = list(range(len(names)))
    fig.add_bar(
        x=places,
        y=list(heights),
        error_y=intervals(halves, thickness=1.5, width=6, visible=any(half > 0 for half in halves)),
        marker={"color": colours},
        width=0.6,
        hovertemplate="%{y:.4f}<extra></extra>",
    )
    fig.update_xaxes(tickvals=places, ticktext=texts, range=[-0.5, len(names) - 0.5])
    top = max([*heights, *baselines.values(), room]) * 1.12 or 1.0
    fig.update_yaxes(range=(0.0, top))
    for value in baselines.values():
        level(fig, value)
    label_ends(fig, [Label(len(names) - 0.5, value, name) for name, value in baselines.items()])
    fig.update_layout(hovermode="closest")
    return fig


def named_bars(
    fig: go.Figure, drawn: Sequence[tuple[str, float]], colour: str, **at: object
) -> None:
    """Lying bars, the first at the top, each with its name within; ``at`` is passed to Plotly."""
    names = [name for name, _ in drawn]
    fig.add_bar(
        x=[length for _, length in drawn],
        y=names,
        orientation="h",
        marker={"color": colour, "opacity": 0.35},
        text=names,
        textposition="inside",
        insidetextanchor="start",
        textangle=0,
        constraintext="none",
        hovertemplate="%{y}: %{x:.2f}<extra></extra>",
        **at,
    )
    # names may begin with a number: plotly would take them for numbers
    fig.update_yaxes(type="category", visible=False, autorange="reversed")
    fig.update_layout(margin={"r": 10}, hovermode="closest")


def level(fig: go.Figure, y: float, axis: str = "", **line: Any) -> None:
    """A line across the whole figure at height ``y``, of a baseline if ``line`` says no other.

    ``axis`` is the number of the panel ("" for the first).
    """
    beside(
        fig,
        "shapes",
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "yref": f"y{axis}",
            "y0": y,
            "y1": y,
            "line": {"width": 1, "dash": "dot", "color": BASELINE, **line},
        },
    )


def whole(fig: go.Figure, room: float = 0) -> JsonObject:
    """``fig`` as a dictionary, with its levels and with the names of its lines, which have ``room``
    pixels if not as many as it says.
    """
    spec: JsonObject = fig.to_dict()
    layout = spec.setdefault("layout", {})
    for kind, named in (("annotations", ends(fig, room)), ("shapes", [])):
        beside = [*deepcopy(fig.__dict__.get(f"dpmc-{kind}", [])), *named]
        if beside:
            layout[kind] = [*layout.get(kind, ()), *beside]
    return spec


def chart_config(name: str) -> dict[str, object]:
    """Plotly's own toolbar: PNG download only, nothing that sends the chart elsewhere."""
    return {
        "displaylogo": False,
        "showSendToCloud": False,
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "toImageButtonOptions": {"format": "png", "filename": name, "scale": 2},
    }


def draw(
    fig: go.Figure, name: str, alt: str, *, toolbar: bool = True, question: bool = False
) -> None:
    """Put ``fig`` on the page in the theme's text colour.

    ``alt`` is the takeaway, for screen readers. While a lesson's question is open the numbers of
    both wait for the answer, unless the figure is itself a ``question``.
    """
    colour, scale, held = look()
    held = held and not question
    config = chart_config(name) if toolbar else {"displayModeBar": False}
    on_screen.now().figures[name] = fig, alt
    alt = on_screen.without_numbers(alt) if held else alt
    of: JsonObject = {"key": f"chart-{name}", "config": config, "theme": None, "alt": alt}
    drawn = ready(fig, (colour, scale, held))
    if not on_screen.presenting():
        st.plotly_chart(drawn, **of)
        return
    with st.container(key=f"presented-{name}"):  # as high as the screen has room
        st.plotly_chart(drawn, height="stretch", **of)


def on_white(fig: Any) -> JsonObject:
    """``fig`` as a dictionary with dark text, for white paper whatever the theme here is."""
    return _dressed(whole(fig), _ON_WHITE, LABEL_SIZE)


def page_of(fig: Any, name: str, div_id: str = "figure", **options: Any) -> str:
    """A page with ``fig`` alone, the same each time; ``options`` are passed to Plotly."""
    config = chart_config(name)
    return pio.to_html(on_white(fig), config=config, div_id=div_id, validate=False, **options)


def show(fig: go.Figure | Drawn, name: str, alt: str, numbers: pd.DataFrame | None = None) -> None:
    """Draw ``fig`` with ``alt`` (the takeaway, for screen readers), then its numbers (which may
    come with it) and downloads in the page's tab of numbers, or in a closed section of a tab.

    ``name`` is unique on its page and becomes the file name. Files are made only when somebody asks
    for one.
    """
    if isinstance(fig, tuple):
        fig, numbers = fig
    draw(fig, name, alt)
    shown = on_screen.now()
    if numbers is None or on_screen.presenting() or shown.running:
        return
    if shown.tabs_drawn:
        with st.expander("Show the numbers", on_change="rerun", key=f"numbers-{name}") as fold:
            if fold.open:
                _offer(fig, name, alt, numbers)
    else:
        shown.numbers.append(lambda: _offer(fig, name, alt, numbers))


def _offer(fig: go.Figure, name: str, alt: str, numbers: pd.DataFrame) -> None:
    """Show the ``numbers`` of a figure, and offer both as files."""
    st.caption(alt)
    on_screen.show_table(numbers, alt, highest=320)
    icon = ":material/download:"
    with st.container(horizontal=True):
        download("Numbers (CSV)", f"dpmc-{name}.csv", lambda: numbers, key=f"csv-{name}", icon=icon)
        download(
            "Figure (HTML)",
            f"dpmc-{name}.html",
            lambda: page_of(fig, name),
            key=f"html-{name}",
            icon=icon,
        )
