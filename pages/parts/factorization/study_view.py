"""Studies on the *Factorization* page: many runs for one question.

Lives here: their figure, their sentences, and what is shown of them. Does not live here: controls
or running.
"""

import math

import pandas as pd
import streamlit as st
from plotly.subplots import make_subplots

from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import MEASURES
from dpmc_core.wording import power, three
from pages.parts.factorization.charts import LOOKS
from pages.parts.factorization.study_sentences import algorithm_of, factor_sentences
from pages.parts.frame.study import Study
from pages.parts.ui.figures import Drawn
from pages.parts.ui.labels import Label, label_ends
from pages.parts.ui.looks import BASELINE, curve, intervals

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
    by_name = result.by_series
    last = max(p.x for p in result.points)
    for place, measure in enumerate(measures, start=1):
        ends: list[Label] = []
        values: list[float] = []
        for name, points in by_name.items():
            seen = [p for p in points if math.isfinite(p.mean(measure))]
            if not seen:
                continue
            look = LOOKS[algorithm_of(name)]
            quiet = name.endswith("no noise")
            curve(
                fig,
                look,
                [p.x for p in seen],
                [p.mean(measure) for p in seen],
                error_y=intervals([p.half_width(measure) for p in seen]),
                name=name,
                line=look.line(dash="longdash", width=1.5) if quiet else look.line(),
                row=place,
                col=1,
            )
            ends.append(Label(last, seen[-1].mean(measure), name))
            values += [p.mean(measure) for p in seen]
            rows += [
                {
                    "line": name,
                    kind.x_title: p.x,
                    "measure": measure,
                    "mean": p.mean(measure),
                    "half_width_95": p.half_width(measure),
                    "seeds": len(p.values[measure]),
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
    ticks = sorted({p.x for p in result.points})
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
    unfinished = "" if result.finished else f" Stopped after {result.runs} of {result.total} runs."
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
        f"{result.runs} runs in {result.seconds:.0f} s. Means over up to {result.spec.seeds} "
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
