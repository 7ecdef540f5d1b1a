"""Studies on the *Factorization* page: many runs for one question.

Their figure, their sentences, and what is shown of them.
"""

import math

import pandas as pd
import streamlit as st
from plotly.subplots import make_subplots

from dpmc_core.experiments.studies.engine import StudyResult, from_where_on
from dpmc_core.experiments.studies.spec import MEASURES
from dpmc_core.experiments.sweeps.tradeoff import Point
from dpmc_core.metrics.topics import W2V_WARNING
from dpmc_core.wording import measured, power, signed, three
from pages.parts.factorization.charts import LOOKS
from pages.parts.frame.study import Study
from pages.parts.ui.figures import Drawn
from pages.parts.ui.labels import Label, label_ends
from pages.parts.ui.looks import BASELINE, curve, intervals

Lines = dict[str, list[Point]]
_PUBLISHED = "as published (not private)"


def factor_sentences(result: StudyResult) -> list[str]:
    """What a study shows, from its numbers."""
    kind = result.spec.kind
    if kind == "rounds":
        return _by_rounds(result.lines(), result.lines("epsilon"))
    if kind == "people":
        return _by_people(result.lines("found"))
    if kind == "parts":
        return _by_parts(result)
    return (_by_epsilon if kind == "epsilon" else _by_outliers)(result.lines())


def _one_shot(lines: Lines) -> str | None:
    return next((name for name in lines if name.startswith("One-shot")), None)


def _by_epsilon(lines: Lines) -> list[str]:
    moment = _one_shot(lines)
    corrected = next(
        (n for n in lines if algorithm_of(n) == "private-nmf" and not n.endswith("no noise")), None
    )
    if not moment or not corrected:
        return []
    out = []
    for name in (moment, corrected):
        won = from_where_on([p.against_baseline.better for p in lines[name]])
        if won is not None:
            out.append(
                f"**{name}** is better than the best baseline from ε = "
                f"{three(lines[name][won].x)} on (paired over seeds, 95 %)."
            )
        elif all(len(p.baselines) > 1 for p in lines[name]):
            out.append(
                f"**{name}** is not shown to be better than the best baseline at any ε here."
            )
    shared = [(a, b) for a, b in zip(lines[moment], lines[corrected], strict=False) if a.x == b.x]
    ahead = [a for a, b in shared if a.minus(b).better]
    out.append(
        f"One-shot moment NMF has a significantly lower objective than the corrected algorithm at "
        f"{len(ahead)} of {len(shared)} ε (paired over seeds, 95 % each)."
    )
    return out


def _by_rounds(lines: Lines, epsilons: Lines) -> list[str]:
    out = []
    loud, moment = lines.get(_PUBLISHED, []), _one_shot(lines)
    if loud:
        first, last = epsilons[_PUBLISHED][0].mean, epsilons[_PUBLISHED][-1].mean
        start, end = (three(loud[k].mean) for k in (0, -1))
        quiet = lines.get("as published, no noise", [])
        beside = f"; without noise it is {three(quiet[0].mean)}" if quiet else ""
        out += [
            f"**As published**, from an overall ε of {three(first)} to {three(last)}, the "
            f"objective goes from {start} to {end}{beside}.",
            "That ε is the overall one by the paper's own formula. It leaves out the start, which "
            "is made of the raw data without noise: as published is not private.",
        ]
    if moment:
        first, last = (lines[moment][k].mean for k in (0, -1))
        out.append(
            "Spending the same overall ε on two releases, one-shot moment NMF goes from "
            f"{three(first)} to {three(last)}."
        )
    return out


def _by_people(lines: Lines) -> list[str]:
    moment = _one_shot(lines)
    if not moment:
        return []
    out = []
    there = from_where_on([p.mean >= 0.9 for p in lines[moment]])
    if there is not None:
        out.append(
            f"**{moment}** finds nine in ten true parts from "
            f"{lines[moment][there].x:,.0f} on: privacy needs many."
        )
    if published := lines.get(_PUBLISHED):
        out.append(
            f"As published, which is not private, finds {100 * published[-1].mean:.0f} % "
            f"of them in {published[-1].x:,.0f} after 100 rounds."
        )
    return out


def _by_parts(result: StudyResult) -> list[str]:
    out = []
    lines = result.lines()
    if "npmi" in result.measures:
        name = next(n for n in lines if n.startswith("NMF"))
        best = max(result.lines("npmi")[name], key=lambda p: p.mean)
        out.append(
            f"By NPMI, {best.x:.0f} topics go together best without noise ({three(best.mean)})."
        )
    if "tc_w2v" in result.measures:
        out.append(W2V_WARNING)
    moment = _one_shot(lines)
    if not out and moment:
        last = lines[moment][-1].mean
        out.append(f"With the most parts the objective is {three(last)} for {moment}.")
    return out


def _by_outliers(lines: Lines) -> list[str]:
    out = []
    plain, robust = lines.get("NMF, no noise", []), lines.get("Robust NMF, no noise", [])
    for a, b in zip(plain, robust, strict=False):
        apart = b.minus(a)
        if a.x not in (0.1, 0.2) or apart.pairs < 2:  # one seed has no interval
            continue
        where = f"With {100 * a.x:.0f} % of the images corrupted"
        if not apart.detected:
            out.append(
                f"{where}, robust and plain NMF are not significantly different on the clean "
                f"images ({signed(apart.mean, 4)} ± {apart.half_width:.2g})."
            )
            continue
        percent = 100 / a.mean
        said = measured(percent * abs(apart.mean), percent * apart.half_width)
        out.append(
            f"{where}, robust NMF has {said} % {'less' if apart.better else 'more'} error than "
            "plain NMF on clean images."
        )
    return out


def algorithm_of(name: str) -> str:
    """The algorithm that a line of a study belongs to."""
    if name.startswith("Robust"):
        return "robust-nmf"
    if name.startswith("as published"):
        return "private-nmf-published"
    if name.startswith("One-shot"):
        return "moment-nmf"
    return "nmf" if name.startswith("NMF") else "private-nmf"


_PANEL, _GAP = 330, 60  # pixels
_GRID = "rgba(128,128,128,0.18)"


def factor_curves(result: StudyResult) -> Drawn:
    """Each measure of the study against what it varies, one below the other, with 95 % t-intervals
    over seeds.
    """
    kind, measures = result.spec.study, result.measures
    down = max(len(measures), 1)
    fig = make_subplots(
        rows=down, cols=1, shared_xaxes=True, vertical_spacing=_GAP / (_PANEL * down)
    )
    fig.update_layout(
        height=_PANEL * down + 60,
        margin={"l": 10, "r": 190, "t": 16, "b": 10},
        showlegend=False,
        hovermode="x unified",
        font={"size": 14},
    )
    rows = []
    last = max(p.x for p in result.points())
    for place, measure in enumerate(measures, start=1):
        ends: list[Label] = []
        values: list[float] = []
        for name, points in result.lines(measure).items():
            seen = [p for p in points if p.values]
            if not seen:
                continue
            look = LOOKS[algorithm_of(name)]
            quiet = name.endswith("no noise")
            curve(
                fig,
                look,
                [p.x for p in seen],
                [p.mean for p in seen],
                error_y=intervals([p.half_width for p in seen]),
                name=name,
                line=look.line(dash="longdash", width=1.5) if quiet else look.line(),
                row=place,
                col=1,
            )
            ends.append(Label(last, seen[-1].mean, name))
            values += [p.mean for p in seen]
            rows += [
                {
                    "line": name,
                    kind.x_title: p.x,
                    "measure": measure,
                    "mean": p.mean,
                    "half_width_95": p.half_width,
                    "seeds": len(p.values),
                }
                for p in seen
            ]
        if measure == "objective":
            lines = [(f"{name} (baseline)", value) for name, value in result.baselines.items()]
            lines += (
                [("scikit-learn's NMF", result.reference)]
                if result.spec.kind not in ("parts", "people")
                else []
            )
            near = 3 * max(values, default=0.0)  # a line far above all others would flatten them
            for name, value in (
                [(n, v) for n, v in lines if v <= near] if result.spec.kind != "people" else []
            ):
                fig.add_hline(
                    y=value, line={"width": 1, "dash": "dot", "color": BASELINE}, row=place, col=1
                )
                ends.append(Label(last, value, name))
                values.append(value)
        spread = (max(values) - min(values)) or 1.0
        shown = (min(values) - 0.08 * spread, max(values) + 0.08 * spread)
        title = MEASURES[measure].replace(" (", "<br>(")
        fig.update_yaxes(
            range=shown,
            title={"text": title},
            gridcolor=_GRID,
            zeroline=False,
            automargin=True,
            row=place,
            col=1,
        )
        axis = "" if place == 1 else str(place)
        label_ends(fig, ends, shown, log_x=kind.log_x, axis=axis, height=_PANEL - _GAP)
    ticks = sorted({p.x for p in result.points()})
    fig.update_xaxes(
        gridcolor=_GRID,
        zeroline=False,
        tickvals=ticks,
        ticktext=[f"{t:,.0f}" if t >= 1000 else f"{t:.4g}" for t in ticks],
    )
    if kind.log_x:
        low, high = math.log10(ticks[0]), math.log10(ticks[-1])
        fig.update_xaxes(
            type="log", range=[low - 0.04 * (high - low or 1), high + 0.02 * (high - low or 1)]
        )
    fig.update_xaxes(title={"text": kind.x_title}, row=down, col=1)
    return fig, pd.DataFrame(rows)


def about(result: StudyResult) -> str:
    """What a stored study is of."""
    kind, base = result.spec.study, result.spec.base
    at = "" if kind.own_epsilon else f", total ε = {three(base.noise.epsilon or 1.0)}"
    what = "cartoon faces" if base.dataset == "cartoon" else "documents on synthetic topics"
    number = "" if result.spec.kind == "people" else f"{base.data.n_samples:,} "
    return f"{number}{what}, K = {base.algorithm.rank}{at}, up to {result.spec.seeds} seeds"


def _method(result: StudyResult) -> None:
    kind, base = result.spec.study, result.spec.base
    unfinished = (
        "" if result.finished else f" Stopped after {len(result.runs)} of {result.total} runs."
    )
    unit = "image" if base.data.entry.holds == "images" else "document"
    replaced = base.algorithm.neighbours == "replace-one"
    change = "replaced by another" if replaced else "added or removed"
    counted = {
        "rounds": (
            f"The ε on the axis is the paper's, of one round, for one {unit} replaced by "
            "another; the lines with a guarantee have the same total ε for the same neighbours."
        )
    }.get(
        result.spec.kind,
        f"ε is of one run, at δ = {power(base.noise.delta)}, for one {unit} {change}.",
    )
    lines = (
        ""
        if result.spec.kind in ("people", "parts")
        else (
            " Baselines: "
            + ", ".join(f"{name} {three(value)}" for name, value in result.baselines.items())
            + f"; scikit-learn's NMF {three(result.reference)}."
        )
    )
    st.caption(
        f"{len(result.runs)} runs in {result.seconds:.0f} s. Means over up to {result.spec.seeds} "
        "seeds (noise and start, and the data where they are synthetic or corrupted). Bars: 95 % "
        f"t-intervals of the mean; one run where nothing is random.{unfinished} After "
        f"{kind.source}. Settings stay the same along a line, and were not tuned for its points. "
        "The constants of one-shot moment NMF and of the corrected form were chosen on CBCL, "
        "cartoon faces and synthetic topics, so figures on those are slightly flattered. "
        f"{counted} Lines "
        f"called *no noise* or *not private*, and the dotted ones, protect nobody.{lines} "
        "Objectives and coherence are computed from the data without noise."
    )


STUDY = Study(
    room="factorization",
    name="factor-study",
    live="The runs made so far.",
    curves=factor_curves,
    sentences=factor_sentences,
    about=about,
    method=_method,
)
