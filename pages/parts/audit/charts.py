"""Charts of the *Audit* page: from audits and neighbouring tables to figures and numbers."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.experiments.tasks.audit import AuditResult, OneRunResult
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import ALICE, FILM, neighbours, pictures
from dpmc_core.privacy.attack import Attack, CurveTest, clopper_pearson
from dpmc_core.wording import three
from pages.parts.ui.densities import attacker_axes
from pages.parts.ui.figures import Drawn, figure
from pages.parts.ui.looks import BASELINE, Identity, band, curve, name_above
from pages.parts.ui.pictures import picture, tiles
from pages.parts.ui.series import Line, named_lines

IN, OUT = "#0072B2", "#D55E00"


def worlds(spec: AuditSpec) -> tuple[str, str]:
    """What the two datasets are called: Alice in and out, or her rating."""
    if spec.dataset:
        high_or_low = about_one_rating(spec)
        return ("rated high", "rated low") if high_or_low else ("with the record", "without")
    return ("Alice's 5", "Alice's 1") if about_one_rating(spec) else ("Alice in", "Alice out")


def about_one_rating(spec: AuditSpec) -> bool:
    """Whether the datasets differ in one of Alice's ratings, not in whether she is there."""
    return spec.target != "number" and spec.neighbours == "rating"


def scores(attack: Attack, axis: str, names: tuple[str, str]) -> Drawn:
    """How often each score occurred in the two datasets, in the held-out half, and where the
    attacker draws the line; without the 2 in 1,000 scores that lie farthest out.
    """
    groups = dict(zip(names, (attack.scores_in, attack.scores_out), strict=True))
    fig, numbers, (low, high) = _histograms(axis, "share of held-out outputs (%)", groups)
    bound = attack.bound
    sides = {bound.threshold: "above" if bound.above else "at or below"}
    if bound.other is not None:
        sides[bound.other] = "at or below"
    middle = (low + high) / 2 if bound.other is None else math.inf
    for cut, side in sides.items():
        if low <= cut <= high:
            fig.add_vline(x=cut, line={"color": BASELINE, "width": 1.5, "dash": "dot"})
            fig.add_annotation(
                x=cut,
                y=1.0,
                yref="paper",
                yanchor="top",
                text=f"attacker: {side} {cut:.3g}",
                # outwards, where there are two, and to where there is room
                xanchor="right" if (left := cut == bound.other or cut > middle) else "left",
                xshift=-5 if left else 5,
            )
    return fig, numbers


def canaries(result: OneRunResult) -> Drawn:
    """How often each score occurred among the canaries that are in, and among the others."""
    groups = {"in": result.scores[result.inside], "out": result.scores[~result.inside]}
    fig, numbers, _ = _histograms("log odds that a canary is in", "share of canaries (%)", groups)
    fig.update_xaxes(exponentformat="power")  # not µ
    return fig, numbers


def _histograms(
    axis: str, share: str, groups: Mapping[str, FloatArray]
) -> tuple[go.Figure, pd.DataFrame, tuple[float, float]]:
    """Two groups of scores over one axis, and the ends of it."""
    scores = np.concatenate([*groups.values()])  # few ones all have a place
    low = np.quantile(scores, 0.001, method="lower")
    high = np.quantile(scores, 0.999, method="higher")
    if low == high:
        low, high = float(low) - 0.5, float(high) + 0.5
    edges = np.linspace(low, high, 61)
    middles = (edges[:-1] + edges[1:]) / 2
    fig = figure(axis, share)
    numbers = {axis: middles}
    for (name, values), colour, dash in zip(
        groups.items(), (IN, OUT), ("solid", "dash"), strict=True
    ):
        shares = 100 * np.histogram(values, edges)[0] / max(len(values), 1)
        numbers[f"{name} (%)"] = shares
        look = Identity(name, colour, dash)
        curve(fig, look, middles, shares, line=look.line(shape="hvh"))
    _, *heights = numbers.values()
    name_above(fig)
    fig.update_xaxes(range=[low, high])
    fig.update_yaxes(range=[0, 1.15 * float(np.max(heights))])
    return fig, pd.DataFrame(numbers), (low, high)


def bound_so_far(
    points: Sequence[tuple[int, float]], claims: Mapping[str, float], ceiling: float, most: int
) -> Drawn:
    """The proved lower bound after each batch, against what is claimed and the most that so many
    outputs can prove.
    """
    runs, bounds = [p[0] for p in points], [p[1] for p in points]
    fig = figure("outputs of each dataset", "ε", height=320)
    proved = Identity(f"proved {bounds[-1]:.3g}", IN, "solid", "circle")
    claimed = [_level(f"{n} {e:.3g}", e, OUT, "dash", most) for n, e in claims.items()]
    high = 1.1 * max(*bounds, *claims.values(), 0.1)
    levels = {"most provable": ceiling} if ceiling < high else {}
    fig.update_xaxes(range=[0, most])
    fig.update_yaxes(range=[0, high])
    named_lines(fig, [Line(proved, runs, bounds), *claimed], levels)
    return fig, pd.DataFrame(
        {
            "outputs of each": runs,
            "proved ε": bounds,
            **{name: [e] * len(runs) for name, e in claims.items()},
        }
    )


def _level(name: str, height: float, colour: str, dash: str, most: int) -> Line:
    """A line from 0 to ``most`` that is no baseline."""
    look = Identity(name, colour, dash, width=2)
    return Line(look, [0, most], [height] * 2, trace={"hoverinfo": "skip"})


def published_parts(output: FloatArray, rank: int) -> go.Figure:
    """The learned parts of one run, as the attacker sees them."""
    return picture(tiles(output.reshape(-1, rank), pictures()[0].shape, rank), 180)


def two_sets() -> go.Figure:
    """The two sets of tiny pictures, one in each row."""
    first, second = (np.asarray(samples.values) for samples in pictures())
    both = np.concatenate([first, second], axis=1)
    return picture(tiles(both, pictures()[0].shape, first.shape[1]), 150)


def two_tables(tables: tuple[Ratings, Ratings], titles: tuple[str, str]) -> Drawn:
    """The neighbouring tables of ratings beside each other; the cells that differ are framed."""
    grids = [one.table(one.values).toarray() for one in tables]  # 0 where nothing is rated
    people, films = _names()
    fig = make_subplots(1, 2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    for column, grid in enumerate(grids, start=1):
        at = {"row": 1, "col": column}
        fig.add_heatmap(
            z=np.where(grid, grid, np.nan),
            x=films,
            y=people,
            coloraxis="coloraxis",
            text=np.where(grid, grid.astype(int).astype(str), ""),
            texttemplate="%{text}",
            hovertemplate="%{y}, %{x}: %{z}<extra></extra>",
            xgap=1,
            ygap=1,
            **at,
        )
        for user, item in zip(*np.nonzero(grids[0] != grids[1]), strict=True):
            _frame(fig, item, user, **at)
    fig.update_layout(
        height=400,
        margin={"r": 10, "t": 34},
        hovermode="closest",
        coloraxis={"cmin": 1, "cmax": 5, "colorbar": {"title": {"text": "rating"}}},
    )
    fig.update_yaxes(autorange="reversed")
    places = pd.MultiIndex.from_product([people, films], names=["person", "film"])
    cells = {title: trace.z.ravel() for title, trace in zip(titles, fig.data, strict=True)}
    return fig, pd.DataFrame(cells, places).reset_index()


def _frame(fig: go.Figure, x: int, y: int, **at: int) -> None:
    """Draw a frame around one cell of a matrix; ``at`` is passed to Plotly."""
    sides = {"x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y + 0.5}
    fig.add_shape(type="rect", **sides, line={"color": OUT, "width": 3}, **at)


def number_line(published: float, truths: tuple[float, float], spread: float) -> go.Figure:
    """One published number beside the two values it may have come from.

    ``spread`` is the noise's standard deviation.
    """
    reach = max(4 * spread, abs(published - truths[0]) * 1.2, 3.0)
    fig = figure("published number", "", height=170)
    fig.update_xaxes(range=[truths[1] - reach, truths[0] + reach])
    fig.update_yaxes(visible=False, range=[0, 1])
    for name, truth, colour, dash, side, shift in (
        ("with Alice", truths[0], IN, "solid", "left", 6),
        ("without", truths[1], OUT, "dash", "right", -6),
    ):
        line = {"color": colour, "width": 2, "dash": dash}
        # above the published number, which would be crossed
        fig.add_shape(type="line", x0=truth, x1=truth, y0=0.35, y1=1, line=line)
        text = f"{truth:g} {name}"
        fig.add_annotation(x=truth, y=0.92, text=text, xanchor=side, xshift=shift)
    fig.add_scatter(
        x=[published],
        y=[0.4],
        mode="markers",
        marker={"size": 16, "symbol": "diamond", "color": "#666666"},
        hovertemplate="%{x:.4f}<extra></extra>",
    )
    fig.add_annotation(
        x=published, y=0.4, text=f"{published:.3f}", yshift=-20, bgcolor="rgba(128,128,128,0.25)"
    )
    fig.update_layout(margin={"r": 20}, hovermode="closest")
    return fig


def rates(hits: Sequence[bool]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The share of right guesses after each round, and its exact 95 % interval."""
    right, played = np.cumsum(hits, dtype=np.int64), np.arange(1, len(hits) + 1)
    return (right / played, *clopper_pearson(right, played, 0.025))


def score(hits: Sequence[bool], bound: float, best: float | None) -> Drawn:
    """The share of right guesses after each round, against the most that a claim allows, the
    ``best`` that is possible where it is known, and chance.
    """
    share, low, high = (100 * part for part in rates(hits))
    played = np.arange(1, len(hits) + 1)
    most = max(10, len(hits))
    fig = figure("round", "right guesses (%)", height=320)
    band(fig, IN, played, (low + high) / 2, (high - low) / 2)
    allowed = {"ε allows": (100 * bound, OUT, "dash")}
    if best is not None:
        allowed["best guess"] = (100 * best, "#009E73", "dashdot")
    lines = [_level(f"{name} {of[0]:.1f}", *of, most) for name, of in allowed.items()]
    lines.append(Line(Identity("", IN, "solid", "circle"), played, share))
    fig.update_xaxes(range=[0, most])
    fig.update_yaxes(range=[0, 101])
    named_lines(fig, lines, {"chance 50.0": 50.0})
    return fig, pd.DataFrame(
        {"round": played, "right (%)": share, "95 % from": low, "95 % to": high}
    )


def published_matrix(spec: AuditSpec, output: FloatArray) -> Drawn:
    """What one run published, as people × films or films × films, with names.

    Alice's film C framed where it is in question.
    """
    people, films = _names()
    rows, columns = people[0 if spec.view == "matrix" else 1 :], films
    if spec.view == "factors":
        rows = [*rows, *films]
        matrix = output.reshape(len(rows), -1)
        # an attacker is given columns of zeros where there are no factors
        matrix = matrix[:, np.any(matrix != 0, axis=0)]
        columns = [f"factor {k + 1}" for k in range(matrix.shape[1])]
    elif spec.view == "items":
        matrix = np.zeros((len(films), len(films)))
        matrix[np.triu_indices(len(films))] = output
        matrix, rows = matrix + np.triu(matrix, 1).T, films
    else:
        matrix = output.reshape(-1, len(films))
    fig = figure("film" if columns is films else "", "", height=270)
    fig.add_heatmap(
        z=matrix,
        x=[name.removeprefix("film ") for name in columns],
        y=rows,
        zmin=float(np.quantile(matrix, 0.02)),
        zmax=float(np.quantile(matrix, 0.98)),
        colorbar={"thickness": 14},
        hovertemplate="%{y}, %{x}: %{z:.2f}<extra></extra>",
    )
    fig.update_xaxes(type="category")
    fig.update_yaxes(type="category", autorange="reversed")
    fig.update_layout(margin={"r": 10}, hovermode="closest")
    if spec.view == "matrix" and about_one_rating(spec):
        _frame(fig, FILM, ALICE)
    return fig, pd.DataFrame(matrix, index=rows, columns=columns)


def _names() -> tuple[list[str], list[str]]:
    """Alice and the others, and the films, in the order of the tables."""
    table, _ = neighbours("rating")
    people = ["Alice" if user == ALICE else f"person {user + 1}" for user in range(table.n_users)]
    return people, [f"film {chr(65 + item)}" for item in range(table.n_items)]


def axis_of(result: AuditResult) -> str:
    """What the horizontal axis of ``scores`` is."""
    if result.spec.target != "number":
        return "the attacker's score (a weighted sum of what is seen)"
    return (
        "last bits finer than the grid (1 = yes)"
        if result.spec.case in ("low-bits", "on-grid")
        else "published number"
    )


def measured(test: CurveTest, confidence: float) -> str:
    """What was found against the claim's curve, in a sentence."""
    sure = f"with {100 * confidence:g} % confidence"
    if not test.exceeded:
        return f"No point that was measured lies beyond the claim's curve ({sure})."
    return (
        f"This attacker finds at least {three(100 * test.found)} % at no more than "
        f"{three(100 * test.false_alarms)} % false alarms ({sure}); the claim allows "
        f"{three(100 * test.allowed)} % there: it is **wrong**."
    )


def claimed_and_measured(attack: Attack, claimed_curve: FloatArray) -> Drawn:
    """The most that the claim lets an attacker find, and boxes around what this one found.

    Each box alone holds with the audit's confidence (Clopper-Pearson on both sides of each share).
    """
    fig = attacker_axes()
    alarms, misses = claimed_curve
    claimed = Identity("claimed: at most", OUT, "solid")
    curve(fig, claimed, 100 * alarms, 100 * (1 - misses))
    boxes = _boxes(attack)
    look = {"line": {"color": IN, "width": 1.5}, "fillcolor": "rgba(0,114,178,0.25)"}
    for left, right, low, high in boxes.to_numpy():
        fig.add_shape(type="rect", x0=left, x1=right, y0=low, y1=high, **look)
    fig.add_scatter(
        x=boxes.iloc[:, :2].mean(axis=1),
        y=boxes.iloc[:, 2:].mean(axis=1),
        mode="markers",
        name="measured",
        marker={"color": IN, "size": 6},
        hovertemplate="%{y:.1f} % at %{x:.1f} %",
    )
    name_above(fig, margin={"t": 40})
    return fig, boxes


def _boxes(attack: Attack) -> pd.DataFrame:
    pooled = np.concatenate([attack.scores_in, attack.scores_out])
    cuts = np.unique(np.quantile(pooled, np.linspace(0.03, 0.97, 9)))
    error = (1 - attack.bound.confidence) / 4  # of each of the four sides of a box
    upwards = float(np.mean(attack.scores_in)) >= float(np.mean(attack.scores_out))
    ends: list[FloatArray] = []
    for scores in (attack.scores_out, attack.scores_in):
        beyond = scores[:, None] > cuts if upwards else scores[:, None] <= cuts
        ends += clopper_pearson(beyond.sum(axis=0), len(scores), error)
    names = ("false alarms from (%)", "to (%)", "found from (%)", "up to (%)")
    return pd.DataFrame({name: 100 * end for name, end in zip(names, ends, strict=True)})
