"""From factorisations to figures.

Parts as tiles, topics as bars, objective per round, one face rebuilt, spoiled pixels and what took
them up. Pure functions of their inputs.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.experiments import FactorResult
from dpmc_core.metrics.factors import match_parts, top_words
from pages.parts.ui.figures import Drawn, figure, named_bars, of_results
from pages.parts.ui.labels import wrapped
from pages.parts.ui.looks import FACTORIZATIONS, Identity
from pages.parts.ui.pictures import picture, tiles
from pages.parts.ui.series import Line, named_lines, reach

_COARSE = re.compile(
    r"asshole|bitch|bollock|bullshit|chickenshit|cocksuck|cunt|dickhead|dicks?$|faggot|fuck|goddam"
    r"|horseshit|jackass|motherfuck|nigger|piss|prick|pussy$|shit|slut|tits$|twat|wank|whore"
)


def shown_words(
    dictionary: FloatArray, words: Sequence[str], count: int
) -> list[list[tuple[str, float]]]:
    """``top_words`` of a dictionary (words × topics) without the coarse ones, which lists of common
    words have too.
    """
    rows = [row for row, word in enumerate(words) if not _COARSE.match(word)]
    return top_words(dictionary[rows], [words[row] for row in rows], count)


@dataclass(frozen=True)
class Learned:
    """A result as it is shown.

    Its name, and its parts in the order of the first result's, each beside its closest (``order``;
    ``likeness`` is the cosine, NaN for the first).
    """

    name: str
    result: FactorResult
    order: IntArray
    likeness: FloatArray

    @property
    def key(self) -> str:
        """Its algorithm's name, marked where it also runs without noise."""
        return _key(self.result)

    @property
    def look(self) -> Identity:
        """Colour, dash and marker of its algorithm."""
        return FACTORIZATIONS[self.key]

    @property
    def dictionary(self) -> FloatArray:
        """W with its columns in that order."""
        return self.result.dictionary[:, self.order]


def learned(results: Sequence[FactorResult]) -> list[Learned]:
    """The results with matched parts.

    The first one's by how much they are used, most used first; the others' by the Hungarian method.
    """
    first, names = results[0], [_name(result) for result in results]
    usage = first.coefficients.sum(axis=1) * np.linalg.norm(first.dictionary, axis=0)
    order = np.argsort(-usage, kind="stable")
    reference = first.dictionary[:, order]
    out = [Learned(names[0], first, order, np.full(len(order), math.nan))]
    for name, result in zip(names[1:], results[1:], strict=True):
        partner, cosine = match_parts(reference, result.dictionary)
        left = np.setdiff1d(np.arange(result.dictionary.shape[1]), partner)
        places = np.array(partner)
        places[places < 0] = left[: int((places < 0).sum())]
        out.append(Learned(name, result, places, cosine))
    return out


def _name(result: FactorResult) -> str:
    title = FACTORIZATIONS[_key(result)].title
    start = getattr(result.spec.algorithm, "dictionary_start", "")
    return title.replace("not private", "random start") if start == "random" else title


def _key(result: FactorResult) -> str:
    name = result.spec.card.name
    quiet = f"{name}-quiet"
    return quiet if quiet in FACTORIZATIONS and result.spec.noise.kind == "none" else name


@of_results
def part_tiles(item: Learned) -> go.Figure:
    """All parts of one result."""
    return _tiles(item, item.dictionary)


def tiles_after(item: Learned, share: float) -> go.Figure:
    """The same after a ``share`` of its rounds, where it was watched."""
    return _tiles(item, _after(item, share))


def words_after(item: Learned, share: float, count: int) -> list[list[str]]:
    """The heaviest words of each topic after a ``share`` of the rounds, likewise."""
    words = item.result.clean.words
    named = ([words[row] for row in rows if row >= 0] for rows in _after(item, share).T)
    return [[word for word in some if not _COARSE.match(word)][:count] for some in named]


def _after(item: Learned, share: float) -> NDArray[Any]:
    """The picture after a ``share`` of the rounds, or the last one before."""
    seen = item.result.pictures
    until = max(share * item.result.final.iteration, min(seen))
    picture: NDArray[Any] = seen[max(k for k in seen if k <= until)][:, item.order]
    return picture


def _tiles(item: Learned, parts: NDArray[Any]) -> go.Figure:
    across = math.ceil(math.sqrt(parts.shape[1]))
    return picture(tiles(parts, item.result.clean.shape, across), 180)


@of_results
def topic_bars(item: Learned, first: int, count: int) -> Drawn:
    """Topics ``first`` to ``first + count`` − 1 of one result.

    Their heaviest words, as long as their weight within the topic.
    """
    named = shown_words(item.dictionary[:, first : first + count], item.result.clean.words, 8)
    titles = [
        f"topic {k + 1}" + ("" if math.isnan(near) else f" · likeness {near:.2f}")
        for k, near in enumerate(item.likeness[first : first + count], start=first)
    ]
    fig = make_subplots(
        rows=len(named), cols=1, subplot_titles=titles, vertical_spacing=0.24 / len(named)
    )
    rows = []
    for k, topic in enumerate(named, start=1):
        top = topic[0][1] if topic else 1.0
        drawn = [(word, weight / top) for word, weight in topic] or [("(empty)", 0.0)]
        named_bars(fig, drawn, item.look.colour, row=k, col=1)
        rows += [
            {"topic": first + k, "word": word, "weight": weight, "relative": weight / top}
            for word, weight in topic
        ]
    fig.update_xaxes(visible=False, range=[0, 1.35])
    fig.update_layout(
        height=30 + 178 * len(named), margin={"l": 0, "r": 0, "t": 24, "b": 0}, bargap=0.12
    )
    fig.update_annotations(font={"size": None}, x=0.0, xanchor="left")
    return fig, pd.DataFrame(rows)


@of_results
def objective_curves(items: Sequence[Learned]) -> Drawn:
    """Objective per round of each result.

    At its end 95 % over the choice of images or documents. Baselines and scikit-learn's
    NMF as horizontal lines.
    """
    one = "an image" if items[0].result.clean.unit == "image" else "a document"
    fig = figure(
        "round (log scale)", f"objective (½ squared error of {one} of length at most 1)", log_x=True
    )
    lines, rows, settled = [], [], list[float]()
    for item in items:
        metrics = item.result.metrics
        y = [m.objective for m in metrics]
        halves = [math.nan] * (len(metrics) - 1) + [metrics[-1].half_width]
        settled += y[1:] or y  # the start can be far off
        lines.append(_by_round(item, y, halves))
        rows += [
            {
                "method": item.name,
                "round": m.iteration,
                "objective": m.objective,
                "half_width_95": m.half_width,
            }
            for m in metrics
        ]
    first = items[0].result
    levels = {f"{name} (baseline)": value for name, value in first.baselines.items()}
    levels["scikit-learn's NMF"] = first.reference
    levels = {name: value for name, value in levels.items() if math.isfinite(value)}
    reach(fig.layout.yaxis, [*settled, *levels.values()], 0.08)
    return named_lines(fig, lines, levels), pd.DataFrame(rows)


def _by_round(item: Learned, y: list[float], halves: Sequence[float] = ()) -> Line:
    look = replace(item.look, title=item.name)
    rounds = [m.iteration for m in item.result.metrics]
    return Line(look, rounds, y, halves, trace={"marker": look.mark(maxdisplayed=8)})


@of_results
def moved_curves(items: Sequence[Learned]) -> Drawn:
    """How far W is from its start by round, ‖W − W₀‖/‖W₀‖, of results that say it."""
    fig = figure("round (log scale)", "distance of W from its start (% of ‖W₀‖)", log_x=True)
    lines = [_by_round(i, [100 * (m.moved or 0.0) for m in i.result.metrics]) for i in items]
    rows = [
        {"method": item.name, "round": m.iteration, "moved": m.moved}
        for item in items
        for m in item.result.metrics
    ]
    return named_lines(fig, lines), pd.DataFrame(rows)


def rebuilt(result: FactorResult, column: int, parts: int) -> tuple[FloatArray, float]:
    """One image made of its ``parts`` most used parts, and the distance to it (its length is 1
    at most) unexplained, ‖v − Wh‖.
    """
    weights = result.coefficients[:, column]
    used = np.argsort(-weights * np.linalg.norm(result.dictionary, axis=0), kind="stable")[:parts]
    image = result.dictionary[:, used] @ weights[used]
    truth = np.asarray(result.clean.values[:, column])
    return image, float(np.linalg.norm(truth - image))


@of_results
def rebuilt_tiles(items: Sequence[Learned], column: int, parts: int) -> Drawn:
    """One face as it is, and as each dictionary rebuilds it: three to a row, on one scale."""
    first = items[0].result
    shape = first.clean.shape
    assert shape is not None  # images have one
    truth = np.asarray(first.clean.values[:, column])
    pictures = [("the image", truth, 0.0)]
    if column in first.samples.spoiled:
        place = np.flatnonzero(first.shown == column)
        if place.size:
            pictures.append(("spoiled", first.corrupted_values[:, place[0]], math.nan))
    for item in items:
        image, left = rebuilt(item.result, column, parts)
        pictures.append((item.name, image, left))
    titles = [
        name
        if math.isnan(left) or name == "the image"
        else f"{wrapped(name, 14)}<br>error {left:.3f}"
        for name, _, left in pictures
    ]
    across, top = 3, max(float(truth.max()), 1e-300)
    down = -(-len(pictures) // across)
    fig = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=titles,
        horizontal_spacing=0.02,
        vertical_spacing=0.22 / down,
    )
    for k, (_, image, _) in enumerate(pictures):
        grey = np.round(255 * np.clip(image.reshape(shape) / top, 0, 1)).astype(np.uint8)
        at = {"row": k // across + 1, "col": k % across + 1}
        fig.add_image(z=np.repeat(grey[:, :, None], 3, axis=2), hoverinfo="skip", **at)
    fig.update_xaxes(visible=False)
    fig.update_yaxes(visible=False)
    fig.update_layout(height=40 + 250 * down, margin={"l": 0, "r": 0, "t": 54, "b": 0})
    fig.update_annotations(font={"size": None})
    return fig, pd.DataFrame(
        [{"image": name, "error": left, "parts": parts} for name, _, left in pictures]
    )


def corrupted_shown(item: Learned) -> int:
    """How many spoiled images ``outlier_tiles`` shows."""
    return int(np.isin(item.result.shown, item.result.samples.spoiled)[:4].sum())


@of_results
def outlier_tiles(item: Learned) -> go.Figure:
    """Spoiled images, what the outlier matrix R took up of each (its size), and what the parts
    rebuilt: a row each.
    """
    result = item.result
    assert result.outliers is not None  # only results with outliers are shown so
    count = corrupted_shown(item)
    columns = result.shown[:count]  # spoiled ones come first
    table = np.concatenate(
        [
            result.corrupted_values[:, :count],
            np.abs(result.outliers[:, :count]),
            result.dictionary @ result.coefficients[:, columns],
        ],
        axis=1,
    )
    return picture(tiles(table, result.clean.shape, count), 360)


@of_results
def document_bars(item: Learned, column: int) -> Drawn:
    """The topics of one document: how much of what is rebuilt of it each makes up."""
    result = item.result
    weights = result.coefficients[item.order, column] * np.linalg.norm(item.dictionary, axis=0)
    share = weights / max(float(weights.sum()), 1e-300)
    heads = shown_words(item.dictionary, result.clean.words, 3)
    order = [int(k) for k in np.argsort(-share, kind="stable")[:6] if share[k] > 0.005]
    names = [f"{k + 1}: " + ", ".join(word for word, _ in heads[k]) for k in order]
    rows = pd.DataFrame({"topic": names, "share": share[order]})
    fig = figure("share of the topic", "", height=110 + 34 * max(len(rows), 1))
    named_bars(fig, rows.to_numpy().tolist(), item.look.colour)
    fig.update_xaxes(range=[0, 1.2], tickvals=[0, 0.5, 1])
    return fig, rows
