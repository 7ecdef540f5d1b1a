"""Charts of completion runs: error, predictions, and the completed matrix."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets import Ratings
from dpmc_core.experiments import RunResult
from dpmc_core.experiments.tasks.rate import CORNER
from dpmc_core.metrics import clipped, top_items
from dpmc_core.wording import not_computed, three
from pages.parts.ui.figures import Drawn, figure, of_results
from pages.parts.ui.looks import BASELINE, LETTERS, LINES, Identity, curve, intervals, name_above
from pages.parts.ui.pictures import heat_map
from pages.parts.ui.series import Line, named_lines


def look_of(letter: str, title: str) -> Identity:
    """How the configuration of that letter looks in every figure."""
    return Identity(title, *LINES[LETTERS.index(letter) % len(LINES)])


@dataclass(frozen=True)
class Named:
    """A result and the letter and name it goes by on the page, ``short`` in a figure."""

    letter: str
    title: str
    result: RunResult
    short: str = ""

    @property
    def label(self) -> str:
        """Letter and name."""
        return f"{self.letter} · {self.title}"

    @property
    def look(self) -> Identity:
        """How this configuration looks in every figure."""
        return look_of(self.letter, f"{self.letter} · {self.short or self.title}")


@of_results
def rmse_curves(results: Sequence[Named], clip: bool) -> Drawn:
    """Held-out RMSE per iteration with 95 % bands over the held-out ratings.

    Baselines as horizontal lines.
    """
    return rmse_until(results, clip, math.inf)


def rmse_until(results: Sequence[Named], clip: bool, iteration: float) -> Drawn:
    """The same up to ``iteration``, on the axes of the whole."""
    # with its axis on the first screen of a laptop; more names at the ends need more room
    height = 316 + 30 * max(0, len(results) - 3)
    title = f"held-out RMSE{', clipped' if clip else ''} (rating units)"
    fig = figure("iteration", title, height=height)
    rows, lines = [], []
    last, top = 1, 0.0
    longest = max(named.result.final.iteration for named in results)
    for named in results:
        metrics = named.result.metrics
        x = np.array([m.iteration for m in metrics])
        y, half = np.array([m.error(clip=clip) for m in metrics]).T
        last, top = max(last, int(x[-1])), max(top, float(y[-1] + half[-1]))
        until = int(np.searchsorted(x, iteration, "right"))
        x_seen, y_seen, halves = x[:until], y[:until], half[:until]
        trace = _spent(named.result, longest)
        lines.append(Line(named.look, x_seen, y_seen, halves=halves, banded=True, trace=trace))
        over = [x[-1], longest] if named.result.finished and until == x.size else []
        after = replace(named.look, title="", dash="dot", marker="", width=1)
        lines.append(Line(after, over, [y[-1]] * len(over), trace={"hoverinfo": "skip"}))
        rows += [
            {
                "configuration": named.label,
                "iteration": m.iteration,
                "test_rmse": m.test_rmse,
                "half_width_95": m.test_half_width,
                "test_rmse_clipped": m.test_rmse_clipped,
                "half_width_95_clipped": m.test_half_width_clipped,
                "train_rmse": m.train_rmse,
                "truth_rmse": m.truth_rmse,
                "objective": m.objective,
                "seconds": m.seconds,
                **({} if m.epsilon is None else {"epsilon": m.epsilon}),
            }
            for m in metrics
        ]
    first = results[0].result
    name = first.best_baseline
    levels = {f"best baseline: {name}": first.baselines[name]}
    # the first iterations of a random start can be far off: keep the eye on where it settles
    reached = [
        *(m.test_rmse for named in results for m in named.result.metrics),
        *(m.test_rmse_clipped for named in results for m in named.result.metrics),
        *levels.values(),
    ]
    top = max(top, *levels.values())
    top = max(top, min(max(reached), 2.5 * top))
    fig.update_yaxes(range=(max(0.0, min(reached) * 0.93), top * 1.08))
    # no half iterations
    fig.update_xaxes(range=[0.8, last + 0.4], dtick=1 if last <= 10 else None)
    named_lines(fig, lines, levels)
    return fig, pd.DataFrame(rows)


def _spent(result: RunResult, longest: int) -> dict[str, object]:
    """Mark ε so far on the first, middle and last point of a run whose noise is given by σ, as far
    as there is room between them beside a run of ``longest`` iterations.
    """
    spent = [m.epsilon for m in result.metrics if m.epsilon is not None]
    if not spent:
        return {}
    last = len(spent) - 1
    marked = {last, *(k for k in (0, len(spent) // 2) if last - k >= longest / 5)}
    texts = [f"ε {three(e)}" if k in marked else "" for k, e in enumerate(spent)]
    return {"mode": "lines+markers+text", "text": texts, "textposition": "top center"}


@of_results
def completed(results: Sequence[Named]) -> Drawn | None:
    """Truth beside each completed matrix, for synthetic data, and their errors below: the first
    users and items. None without truth.
    """
    pictures = [named.result.picture for named in results]
    return _completed(results, [picture for picture in pictures if picture is not None])


def completed_until(results: Sequence[Named], iteration: int) -> Drawn | None:
    """The same after ``iteration``, where each was watched."""
    seen = [named.result.pictures for named in results]
    if not all(seen):
        return None
    return _completed(results, [one[max(k for k in one if k <= iteration)] for one in seen])


def _completed(results: Sequence[Named], pictures: Sequence[FloatArray]) -> Drawn | None:
    truth = results[0].result.split.test.truth
    if truth is None:
        return None
    whole = truth.left[:CORNER] @ truth.right[:CORNER].T
    panels = [(named.letter, picture) for named, picture in zip(results, pictures, strict=True)]
    errors = [(f"error {letter}", np.abs(picture - whole)) for letter, picture in panels]
    low, high = np.percentile(whole, [1, 99])
    return heat_map([("truth", whole), *panels], float(low), float(high), below=errors)


@of_results
def actual_vs_predicted(results: Sequence[Named]) -> Drawn:
    """Mean prediction with the middle 80 % for each actual rating (rounded to halves), clipped
    predictions.
    """
    fig = figure("actual rating", "predicted, clipped (mean, middle 80 %)", height=380)
    rows, lines = [], []
    for k, named in enumerate(results):
        test = named.result.split.test
        predicted = clipped(test.predicted_by(named.result.model), test)
        actual = _rounded(test)
        groups = pd.Series(predicted).groupby(actual)
        table, means = groups.quantile([0.1, 0.9]).unstack(), groups.mean()
        x = means.index.to_numpy() + (k - 1) * 0.06 * (means.index.max() - means.index.min()) / 4
        reach = intervals(table[0.9] - means, symmetric=False, arrayminus=means - table[0.1])
        lines.append(Line(named.look, x, means.to_numpy(), trace={"error_y": reach}))
        rows += [
            {"configuration": named.label, "actual": a, "mean": m, "p10": p10, "p90": p90}
            for a, m, p10, p90 in zip(means.index, means, table[0.1], table[0.9], strict=True)
        ]
    test = results[0].result.split.test
    perfect = Identity("perfect", BASELINE, "dot", width=1)
    ends = [test.low, test.high]
    named_lines(fig, [*lines, Line(perfect, ends, ends)])
    return fig, pd.DataFrame(rows)


@of_results
def errors(results: Sequence[Named]) -> Drawn:
    """Distribution of held-out errors (prediction − rating, clipped predictions) of each
    configuration.
    """
    fig = figure(
        "error, clipped prediction − rating (rating units)",
        "share of held-out ratings per unit",
        height=380,
    )
    reach = max(named.result.split.test.width for named in results)
    edges = np.linspace(-reach, reach, 81)
    middle = (edges[:-1] + edges[1:]) / 2
    rows = {"error": middle}
    for named in results:
        test = named.result.split.test
        error = clipped(test.predicted_by(named.result.model), test) - test.values
        height, _ = np.histogram(error, edges, density=True)
        rows[named.label] = height
        steps = {"line": named.look.line(shape="hvh"), "marker": named.look.mark(maxdisplayed=9)}
        curve(fig, named.look, middle, height, **steps)
    name_above(fig)
    held = np.flatnonzero(sum(rows[named.label] for named in results))
    fig.update_xaxes(range=[float(edges[held[0]]), float(edges[held[-1] + 1])])
    return fig, pd.DataFrame(rows)


def top_ten(results: Sequence[Named], user: int) -> pd.DataFrame:
    """The user's ten best unseen items by each configuration, with titles and predicted ratings."""
    return ranked(
        {named.label: [text for _, text in top_entries(named.result, user)] for named in results}
    )


def ranked(lists: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Lists of the best items side by side, the shorter ones filled up."""
    frame = pd.DataFrame.from_dict(lists, orient="index").T.fillna("")
    frame.insert(0, "rank", range(1, len(frame) + 1))
    return not_computed(frame)


def top_entries(result: RunResult, user: int, at_least: int = 0) -> list[tuple[int, str]]:
    """The user's ten best unseen items: number, and title with the predicted rating.

    Of those with ``at_least`` so many training ratings.
    """
    train = result.split.train
    scores = result.model.block(np.array([user]))[0]
    rare = np.flatnonzero(train.per_item < at_least)
    best = top_items(scores, np.union1d(train.items[train.users == user], rare))
    return [
        (int(j), f"{train.item_label(int(j))}  ({np.clip(scores[j], train.low, train.high):.1f})")
        for j in best
    ]


def _rounded(ratings: Ratings) -> np.ndarray:
    """Actual ratings on a coarse grid.

    Whole or half points for stars, ten steps for continuous synthetic values.
    """
    step = ratings.width / 8 if ratings.truth is not None else 0.5
    return np.clip(
        np.round((ratings.values - ratings.low) / step) * step + ratings.low,
        ratings.low,
        ratings.high,
    )
