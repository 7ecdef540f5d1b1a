"""Studies on the *Completion* page: many runs for one question, and popularity skew."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st
from plotly.subplots import make_subplots

from dpmc_core.completion.dpals.plan import n_frequent
from dpmc_core.completion.dpals.preprocessing import Skew, spreads
from dpmc_core.datasets.configs import RatingsData
from dpmc_core.datasets.data import cached, split_of
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.studies.engine import (
    StudyResult,
    bound_on,
    larger_half,
    power_of,
    powers,
)
from dpmc_core.experiments.studies.spec import cells
from dpmc_core.experiments.sweeps.spec import Planned
from dpmc_core.experiments.sweeps.tradeoff import Lines, Point, from_where_on
from dpmc_core.findings import Standings
from dpmc_core.wording import measured, power, three
from pages.parts.completion.controls import Asked, ask
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.frame.study import QUIET, Built, Study, study_curves, total_of
from pages.parts.ui import controls
from pages.parts.ui.figures import Drawn, figure, show
from pages.parts.ui.looks import LINES, Identity, curve, lowered, name_above


def skew_curves(skews: Sequence[Skew]) -> Drawn:
    """Share of what takes part that the most-taken items hold, under each way of taking part."""
    fig = figure(
        "share of the items, most taken first (%)",
        "share of the ratings (or weight) that take part (%)",
        height=420,
    )
    frame: dict[str, object] = {}
    for skew, line in zip(skews, LINES, strict=False):
        look = Identity(skew.name, *line)
        x = np.linspace(0, 100, skew.shares.size)
        spots = np.unique(np.linspace(0, x.size - 1, 101).astype(int))
        shares = 100 * skew.shares[spots]
        curve(fig, look, x[spots], shares, marker=look.mark(maxdisplayed=10))
        frame["percent_of_items"] = x
        frame[skew.name] = 100 * skew.shares
    # all lines end in one point, so their names stand in a legend
    name_above(fig)
    fig.update_yaxes(range=(0.0, 102.0))
    return fig, pd.DataFrame(frame)


def skew_cells(skews: Sequence[Skew]) -> Drawn:
    """How each way of limiting users moves weight between busy and quiet users, popular and rare
    items (percentage points against all ratings).
    """
    whole, *others = skews
    fig = make_subplots(
        len(others),
        1,
        subplot_titles=[s.name for s in others],
        shared_xaxes=True,
        vertical_spacing=0.07,
    )
    changes = [100 * (s.cells - whole.cells) for s in others]
    reach = max(float(np.abs(c).max()) for c in changes) or 1.0
    rows = []
    for k, (skew, change) in enumerate(zip(others, changes, strict=True)):
        at = {"row": k + 1, "col": 1}
        fig.add_heatmap(
            z=np.round(change, 3),
            coloraxis="coloraxis",
            hovertemplate="user bin %{y}, item bin %{x}: %{z:+.2f} points<extra></extra>",
            **at,
        )
        shown = np.arange(0, len(skew.item_edges) - 1, 3)
        for update, edges in (
            (fig.update_xaxes, skew.item_edges),
            (fig.update_yaxes, skew.user_edges),
        ):
            update(tickvals=shown, ticktext=[f"{e:,.0f}" for e in np.ceil(edges[shown])], **at)
        fig.update_yaxes(title_text="ratings of the user", **at)
        i, j = np.indices(change.shape)
        rows.append(
            pd.DataFrame(
                {
                    "taking part": skew.name,
                    "ratings of the user from": skew.user_edges[:-1][i.ravel()],
                    "ratings of the item from": skew.item_edges[:-1][j.ravel()],
                    "percentage points": change.ravel(),
                }
            )
        )
    fig.update_xaxes(title_text="ratings of the item", row=len(others), col=1)
    fig.update_layout(
        height=760,
        margin={"r": 10, "t": 34},
        hovermode="closest",
        coloraxis={
            "colorscale": "RdBu",
            "reversescale": True,
            "cmin": -reach,
            "cmax": reach,
            "colorbar": {"title": {"text": "points"}},
        },
    )
    return fig, pd.concat(rows)


_ONE_SEED = "One seed gives no interval: take more seeds to see which differences are significant."


def study_sentences(result: StudyResult) -> list[str]:
    """What a study's numbers show."""
    by_name = result.lines()
    if not result.baselines or not by_name:
        return []
    if result.spec.seeds == 1 or all(len(p.values) < 2 for p in result.points()):
        return [_ONE_SEED]
    if "apart" in result.measures:
        return _minima(by_name)
    if result.spec.study.log_y:
        return _rates(result, by_name)
    gradient = result.spec.kind == "gradient"
    out = _steps_or_sums(by_name) if gradient else [_special(result, by_name)]
    if result.spec.kind == "sampling":
        out += _effects(by_name)
    if "popular" in result.measures:
        out[:0] = _alike(result)
    if result.spec.kind == "people" and _falls(next(iter(by_name.values()))):
        out.append("More people, same privacy, less error.")
    of_epsilon = dict.fromkeys(("epsilon", "projection", "gradient"), "ε")
    what = {**of_epsilon, "people": "users", "rank": "rank"}.get(_question(result), "β")

    def places(xs: Sequence[float]) -> str:
        return f"at {what} = " + ", ".join(f"{x:,.0f}" if x >= 100 else f"{x:g}" for x in xs)

    for line, points in by_name.items():
        standings = Standings.of((p.x, p.against_baseline) for p in points)
        out.append(f"**{line}** {standings.words(places)}.")
    return [*out, "The best baseline, on the same ratings, protects nobody."]


def _alike(result: StudyResult) -> list[str]:
    """Say, line by line, what the most rated tenth of the items takes at both ends of ε."""
    return [
        f"{line}: the most rated tenth takes {100 * first.mean:.0f} % of all places at ε = "
        f"{first.x:g}, {100 * last.mean:.0f} % at {last.x:g}."
        for line, (first, *_, last) in result.lines("popular").items()
        if not line.endswith(QUIET)
    ]


def _question(result: StudyResult) -> str:
    """What a study varies: the same for the error and for the recall."""
    kind = result.spec.kind.removeprefix("recall-")
    return "epsilon" if kind == "diversity" else kind


def _rates(result: StudyResult, by_name: Lines) -> list[str]:
    """How fast errors change along the axis, beside the bounds that the paper has."""
    kind = result.spec.kind
    symbol = {"rate-epsilon": "ε", "rate-items": "m"}.get(kind, "n")
    lines = []
    for line, points in by_name.items():
        exponent, half = power_of(larger_half(points))
        if math.isfinite(half):
            text = f"**{line}**: error ∝ {symbol} to the power {measured(exponent, half)}"
            if bound := bound_on(kind, points):
                words, *curve = bound
                text += f"; its bound, {words}: {powers(*curve):.2f}".replace("-", "−")
            lines.append(f"{text}.")
    if not lines:
        return [_ONE_SEED]
    return [
        *lines,
        f"Powers are fitted to the larger half of {symbol}, one for each seed. A bound's constant "
        "is not known, and a bound says nothing where its conditions do not hold.",
    ]


def _effects(by_name: Lines) -> list[str]:
    """What sampling and projection change where all items are learned."""
    pairs = (
        ("adaptive", "uniform"),
        ("adaptive, no projection", "adaptive"),
        ("uniform, no noise", "all ratings, no noise"),
    )
    ends = {line: points[-1] for line, points in by_name.items()}
    return [
        f"At the largest β, **{one}** is {ends[one].minus(ends[other]).than(other)}."
        for one, other in pairs
        if one in ends and other in ends and ends[one].x == ends[other].x
    ]


def _special(result: StudyResult, by_name: Lines) -> str:
    """The sentence that a study is made for, short enough for a verdict."""
    kind = _question(result)
    if kind == "epsilon":
        return _better_from(by_name)
    if kind == "people":
        return _more_people(by_name)
    if kind == "projection":
        return _least(by_name)
    if kind != result.spec.kind or kind == "sampling":
        return _best_private(by_name, kind)
    lines: dict[float, list[str]] = {}
    best = []
    for line, points in by_name.items():
        best.append(min(points, key=lambda p: p.mean))
        lines.setdefault(best[-1].x, []).append(line)
    where = ", ".join(f"{_place(x, kind)} ({'; '.join(names)})" for x, names in lines.items())
    return f"The mean error is least with {where}{_beside(best)}."


def _minima(by_name: Lines) -> list[str]:
    """Whether noise in the first iterations lowers the objective at the end, against none and, with
    Huber noise, against other noise; all differences are paired by seed.
    """
    quiet, *noisy = by_name
    pairs = [(one, quiet) for one in noisy] + [("Huber", two) for two in noisy if two != "Huber"]
    together = sum(len(by_name[one]) for one, _ in pairs)
    out, lowered_by = [], []
    for one, other in pairs:
        others = by_name[other] if other != quiet else by_name[other][:1] * len(by_name[one])
        line = zip(by_name[one], others, strict=True)
        standings = Standings.of((p.x, p.minus(q, together)) for p, q in line)
        ends = [
            f"{word} at variance {', '.join(f'{x:g}' for x in places)}"
            for word, places in (("lower", standings.better), ("higher", standings.worse))
            if places
        ]
        out.append(f"**{one}** against {other}: {' and '.join(ends) or 'no difference detected'}.")
        lowered_by += [one] * bool(standings.better and other == quiet)
    first = "Noise at the start never brings ALS to a significantly lower objective than no noise."
    if lowered_by:
        first = f"Noise at the start can bring ALS to a lower objective: {', '.join(lowered_by)}."
    together_all = f"The {together} differences hold at 95 % for all of them together (Bonferroni)."
    return [first, *out, together_all]


def _place(x: float, kind: str) -> str:
    return f"rank {x:g}" if kind == "rank" else f"{100 * x:.3g} % of the items"


def _best_private(by_name: Lines, kind: str) -> str:
    """The best point of all lines with noise."""
    noisy = [
        (p, line)
        for line, points in by_name.items()
        if not line.endswith("no noise")
        for p in points
    ]
    best, line = min(noisy, key=lambda one: one[0].mean if one[0].less_is_better else -one[0].mean)
    measure = "Least error" if best.less_is_better else "Highest recall"
    size = measured(best.mean, _half(best))
    return f"{measure} with noise: {line}, {_place(best.x, kind)}, {size}{_beside([best])}."


def _beside(best: Sequence[Point]) -> str:
    """What the baseline says of the best points, where none is better than it."""
    apart = [p.against_baseline for p in best]
    if any(one.better for one in apart):
        return ""
    if all(one.worse for one in apart):
        return ", worse than the baseline"
    return ", not significantly better than the baseline"


def _better_from(by_name: Lines) -> str:
    """From which ε on each private line is better than the best baseline."""
    starts, never = [], []
    private = {line: points for line, points in by_name.items() if not line.endswith("no noise")}
    for line, points in private.items():
        wins = [p.against_baseline.better for p in points]
        start = from_where_on(wins)
        if start is None:
            never.append(lowered(line))
        else:
            starts.append((line, points[start].x))
    if not starts:
        return f"Nothing here is significantly better than the best baseline: {', '.join(never)}."
    (line, x), *others = starts
    more = [f"{lowered(name)} from {at:g}" for name, at in others]
    more += [f"{' and '.join(never)} nowhere"] if never else []
    return ", ".join([f"{line} is better than the best baseline from ε = {x:g} on", *more]) + "."


def _more_people(by_name: Lines) -> str:
    line, points = next(iter(by_name.items()))
    first, last = points[0], points[-1]
    return (
        f"From {first.x:,.0f} to {last.x:,.0f} users at the same ε, the error of {lowered(line)} "
        f"{'falls' if _falls(points) else 'goes'} from {three(first.mean)} to {three(last.mean)}."
    )


def _falls(points: Sequence[Point]) -> bool:
    """Whether the error is less at the end than at the begin, by intervals that are apart."""
    first, last = points[0], points[-1]
    return last.mean + _half(last) < first.mean - _half(first)


def _least(by_name: Lines) -> str:
    """Which line has the least error where noise is most, if one significantly has."""
    lowest = {line: points[0] for line, points in by_name.items()}
    (line, best), *others = sorted(lowest.items(), key=lambda pair: pair[1].mean)
    where = f"With most noise (ε = {best.x:g})"
    if all(best.minus(other).better for _, other in others):
        least = measured(best.mean, _half(best))
        return f"{where}, projecting “{line}” has the least error, {least}{_beside([best])}."
    return f"{where}, no way of projecting has significantly less error than all others."


def _steps_or_sums(by_name: Lines) -> list[str]:
    """Where gradient steps have less error than noisy sums, then which have more; paired by seed,
    at 95 % for all differences together (Bonferroni).
    """
    (_, sums), *steps = by_name.items()
    together = sum(len(points) for _, points in steps)
    standings = {
        line: Standings.of((p.x, p.minus(q, together)) for p, q in zip(points, sums, strict=False))
        for line, points in steps
    }

    def at(xs: Iterable[float]) -> str:
        return f"error at ε = {', '.join(f'{x:g}' for x in sorted(set(xs)))}"

    more = [
        f"**{line}** have more {at(one.worse)} than noisy sums."
        for line, one in standings.items()
        if one.worse
    ]
    less = {x for one in standings.values() for x in one.better}
    if not less:
        first = "Noisy gradient steps nowhere have significantly less error than noisy sums."
        return [first, *more]
    best = [p for line, points in steps for p in points if p.x in standings[line].better]
    return [f"Noisy gradient steps have less {at(less)} than noisy sums{_beside(best)}.", *more]


def _half(point: Point) -> float:
    return math.inf if math.isnan(point.half_width) else point.half_width


def skew_sentences(skews: Sequence[Skew], k: int) -> list[str]:
    """What the curves show."""
    top = {s.name: 100 * s.top for s in skews}
    out = [
        f"The most popular fifth of the items holds {top['all ratings']:.0f} % of all ratings; "
        f"of at most {k} a user, {top['uniform']:.0f} % if drawn evenly and "
        f"{top['adaptive']:.0f} % if everybody gives their rarest; with weights instead of "
        f"drawing, {top['all, by weights']:.0f} % of the squared weight."
    ]
    if top["uniform"] > top["all ratings"] + 0.5:
        out.append(
            "Drawing evenly makes the skew worse: quiet users, who mostly know popular items, "
            "count for more."
        )
    if top["adaptive"] < top["uniform"] - 0.5:
        out.append(
            "Less skew means that fewer ratings are spent on items that are known well anyway, "
            "and noise hurts less where it hurts most."
        )
    correlation = f"{skews[0].correlation:.3f}".replace("-", "−")
    out.append(
        "Over all ratings, how many its user has and how many its item has have correlation "
        f"{correlation}."
    )
    return out


def about(result: StudyResult) -> str:
    """What a stored study is of."""
    base = result.spec.base
    return f"synthetic, {base.data.amounts}{total_of(result.spec)}, {seeds_of(result)}"


def by_ratings(result: StudyResult) -> StudyResult:
    """The same points at the share of the ratings that the most rated share β of the items holds
    (dpals-paper figure 10, right).
    """
    base = result.spec.base
    shares = _spreads(base.data, 1, base.seed)[0].shares  # of all ratings: no k matters

    def moved(run: Planned) -> Planned:
        x = float(shares[n_frequent(len(shares) - 1, run.spec.algorithm)])
        return replace(run, settings=tuple({**dict(run.settings), "x": x}.items()))

    return replace(result, runs=tuple((moved(run), record) for run, record in result.runs))


def _also(result: StudyResult) -> None:
    if result.spec.kind not in ("items", "sampling"):
        return

    def draw() -> None:
        title = "share of the training ratings that these items hold"
        alt = "The same errors against the share of the ratings that the items learned hold."
        show(study_curves(by_ratings(result), title), "by-ratings", alt)
        st.caption(
            "Shares are of exact counts: they describe data that you hold, and are no release."
        )

    tab("By share of the ratings", "ratings", draw)


def _method(result: StudyResult) -> None:
    kind, base = result.spec.study, result.spec.base
    unfinished = (
        ""
        if result.finished
        else (
            f" Stopped after {len(result.runs)} of {result.total} runs: intervals and means are of "
            "those."
        )
    )
    source = kind.source.replace("DPALS paper", "Chien et al. 2021 (DPALS)")
    every = len(cells(result.spec, possible=False))
    missing = every - len(cells(result.spec))
    if missing:
        unfinished += (
            f" {missing} of {every} points are left out: fewer items or users than factors."
        )
    most = (
        "the ε on the axis or in the name"
        if kind.own_epsilon
        else f"ε = {three(base.noise.epsilon or 1.0)}"
    )
    protection = (
        "Every comparison is at 95 % on its own, unless a sentence says that several hold "
        "together. ε is of one run: the runs of a published study "
        f"compose. The guaranteed total is at most {most}, at δ = {power(base.noise.delta)}, for "
        "one user added or removed; lines called *no noise* and the dotted baselines protect "
        "nobody."
        if kind.protected
        else "Noise ends before the runs do: nothing is protected."
    )
    st.caption(
        f"{len(result.runs)} runs on {base.data.amounts} in {result.seconds:.0f} s. Means over "
        f"{seeds_of(result)} (split, start and noise); bars: 95 % t-intervals of the mean."
        f"{unfinished} After {source}. Settings stay the same along a line. {protection}"
    )


def seeds_of(result: StudyResult) -> str:
    """How many seeds the points have so far."""
    counts = {len(point.values) for point in result.points()}
    low, high = min(counts), max(counts)
    return (f"{low} to {high} seeds" if low < high else f"{high} seeds") if high > 1 else "one seed"


STUDY = Study(
    room="completion",
    name="study",
    live="Measures of the runs made so far.",
    sentences=study_sentences,
    also=_also,
    about=about,
    method=_method,
)


def cost() -> None:
    """The stored answer to what privacy costs, beside runs of other questions."""
    stored = example("completion", "epsilon").study
    sentence = study_sentences(stored)[0]
    st.markdown(f"{sentence} (Stored example: {about(stored)}.)")
    show(study_curves(stored), "cost", sentence)
    st.button("Compute it with my settings", on_click=ask, args=("epsilon",), key="ask-cost")


def skew(data: RatingsData, k: int, seed: int) -> None:
    """How evenly the ratings that take part are spread (dpals-paper figures 2 and 6)."""
    train, skews = split_of(data, seed).train, _spreads(data, k, seed)
    sentences = skew_sentences(skews, k)
    verdict(sentences[0])
    show(skew_curves(skews), "skew", sentences[0])
    observations(sentences[1:])
    tab("By user and item", "cells", lambda: _cells(skews, train.name, k))


def _cells(skews: Sequence[Skew], name: str, k: int) -> None:
    show(
        skew_cells(skews),
        "skew-cells",
        "Change in weight by user and item count against all ratings, in percentage points.",
    )
    st.caption(
        f"Training ratings of {name}, at most k = {k} a user. Red gains, blue loses against all "
        "ratings. Exact counts stand in for the noisy ones that a private run samples by: this "
        "describes data that you hold, and is no release. After Chien et al. 2021 (DPALS), "
        "figures 2 and 6."
    )


def _spreads(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    """Counted once for each set."""
    with st.spinner("Finding whose ratings take part…"):
        return cached(_counted, data, k, seed, most=4)


def _counted(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    return spreads(split_of(data, seed).train, k, seed)


def skewed(request: Asked, built: Built) -> None:
    """Show which ratings take part: computed at once, nothing to run."""
    st.query_params.pop("run", None)
    try:
        if built.problem:
            raise DPMCError(built.problem)
        spec = built.specs[0]
        skew(spec.data, request.items_per_user, spec.seed)
    except DPMCError as error:
        controls.show_error(error)
