"""Studies on the *Factorization* page: many runs for one question.

Lives here: their figure, their sentences, and what is shown of them. Does not live here: controls or running.
"""

import json
import math
from functools import lru_cache

import pandas as pd
import streamlit as st
from plotly.subplots import make_subplots

from dpmc_core.datasets import entry
from dpmc_core.experiments.studies.factor_engine import FactorPoint, FactorStudyResult
from dpmc_core.experiments.studies.factorization import FACTOR_STUDIES, MEASURES
from dpmc_core.experiments.tasks.factorize import TRIVIAL
from dpmc_core.metrics.topics import W2V_WARNING
from dpmc_core.paths import RESULTS
from dpmc_core.wording import three
from pages.parts.factorization.charts import LOOKS
from pages.parts.server import jobs
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import Drawn, Label, draw, label_ends, show

__all__ = [
    "factor_curves",
    "factor_sentences",
    "factor_study_result",
    "factor_study_so_far",
    "stored",
]

_STORED = RESULTS / "factor_studies.json"
_PANEL, _GAP = 330, 60  # pixels
_LINE = "rgba(128,128,128,0.9)"
_GRID = "rgba(128,128,128,0.18)"


@lru_cache(maxsize=1)
def stored() -> dict[str, FactorStudyResult]:
    """Results that come with the app, by kind of study: made by ``python -m benchmarks.factor_studies`` on made data."""
    with _STORED.open(encoding="utf-8") as file:
        return {kind: FactorStudyResult.from_summary(raw) for kind, raw in json.load(file).items()}


def series_of(result: FactorStudyResult) -> dict[str, list[FactorPoint]]:
    """The points of each line, in order of x."""
    out: dict[str, list[FactorPoint]] = {}
    for point in result.points:
        out.setdefault(point.series, []).append(point)
    return {name: sorted(points, key=lambda p: p.x) for name, points in out.items()}


def _algorithm_of(name: str) -> str:
    if name.startswith("Robust"):
        return "robust-nmf"
    if name.startswith("as published"):
        return "private-nmf-published"
    if name.startswith("Moment"):
        return "moment-nmf"
    return "nmf" if name.startswith("NMF") else "private-nmf"


def factor_curves(result: FactorStudyResult) -> Drawn:
    """Each measure of the study against what it varies, one below the other, with 95 % t-intervals over seeds."""
    kind, measures = FACTOR_STUDIES[result.spec.kind], result.measures
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
    by_name = series_of(result)
    last = max(p.x for p in result.points)
    for place, measure in enumerate(measures, start=1):
        ends: list[Label] = []
        values: list[float] = []
        for name, points in by_name.items():
            seen = [p for p in points if math.isfinite(p.mean(measure))]
            if not seen:
                continue
            look = LOOKS[_algorithm_of(name)]
            quiet = name.endswith("no noise")
            half = [
                0.0 if math.isnan(p.half_width(measure)) else p.half_width(measure) for p in seen
            ]
            fig.add_scatter(
                x=[p.x for p in seen],
                y=[p.mean(measure) for p in seen],
                error_y={"type": "data", "array": half, "thickness": 1.2, "width": 3},
                mode="lines+markers",
                name=name,
                line={
                    "color": look.colour,
                    "dash": "longdash" if quiet else look.dash,
                    "width": 1.5 if quiet else 2.5,
                },
                marker={"color": look.colour, "symbol": look.marker, "size": 8},
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
            lines = [(f"{TRIVIAL} (trivial)", result.trivial)]
            lines += (
                [("scikit-learn's NMF", result.yardstick)]
                if result.spec.kind not in ("parts", "people")
                else []
            )
            near = 3 * max(values, default=0.0)  # a line far above all others would flatten them
            for name, value in (
                [(n, v) for n, v in lines if v <= near] if result.spec.kind != "people" else []
            ):
                fig.add_hline(
                    y=value, line={"width": 1, "dash": "dot", "color": _LINE}, row=place, col=1
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


def factor_sentences(result: FactorStudyResult) -> list[str]:
    """What a study shows, from its numbers."""
    kind, by_name = result.spec.kind, series_of(result)
    out = []

    def end(name: str, measure: str, place: int = -1) -> float:
        return by_name[name][place].mean(measure)

    moment = next((n for n in by_name if n.startswith("Moment")), None)
    sound = next(
        (n for n in by_name if _algorithm_of(n) == "private-nmf" and not n.endswith("no noise")),
        None,
    )
    if kind == "epsilon" and moment and sound:
        for name in (moment, sound):
            won = _from_where_on(
                [p.against_trivial[0] + p.against_trivial[1] < 0 for p in by_name[name]]
            )
            if won is not None:
                out.append(
                    f"**{name}** beats the average from ε = {three(by_name[name][won].x)} on (paired over seeds, 95 %)."
                )
            elif all(len(p.trivial) > 1 for p in by_name[name]):
                out.append(f"**{name}** is not shown to beat the average at any of these ε.")
        shared = [
            (a, b) for a, b in zip(by_name[moment], by_name[sound], strict=False) if a.x == b.x
        ]
        ahead = [a.x for a, b in shared if a.mean("objective") < b.mean("objective")]
        out.append(f"Moment NMF has the lower mean objective at {len(ahead)} of {len(shared)} ε.")
    if kind == "rounds":
        loud = by_name.get("as published (not private)", [])
        if loud:
            low, high = (
                min(p.mean("objective") for p in loud),
                max(p.mean("objective") for p in loud),
            )
            where = (
                f"at {low:.5f}"
                if f"{low:.5f}" == f"{high:.5f}"
                else f"between {low:.5f} and {high:.5f}"
            )
            out.append(
                f"**As published, ε hardly matters**: its objective stays {where} while the overall ε by the paper's own formula goes from {three(loud[0].mean('epsilon'))} to "
                f"{three(loud[-1].mean('epsilon'))}. Noise that changes nothing protects nothing: the parts are the raw data's."
            )
        if moment:
            out.append(
                f"Spending the same overall ε on two releases, {moment} goes from {three(end(moment, 'objective', 0))} to {three(end(moment, 'objective'))}."
            )
    if kind == "people" and moment:
        there = _from_where_on([p.mean("found") >= 0.9 for p in by_name[moment]])
        if there is not None:
            out.append(
                f"**{moment}** finds nine in ten true parts from {by_name[moment][there].x:,.0f} on: privacy needs many."
            )
        published = by_name.get("as published (not private)")
        if published:
            out.append(
                f"As published finds {100 * published[-1].mean('found'):.0f} % even of the most: its parts stay where the singular vectors put them."
            )
    if kind == "parts":
        if "npmi" in result.measures:
            name = next(n for n in by_name if n.startswith("NMF"))
            best = max(by_name[name], key=lambda p: p.mean("npmi"))
            out.append(
                f"By NPMI, {best.x:.0f} topics go together best without noise ({three(best.mean('npmi'))})."
            )
        if "tc_w2v" in result.measures:
            out.append(W2V_WARNING)
        if not out and moment:
            out.append(
                f"With the most parts the objective is {three(end(moment, 'objective'))} for {moment}."
            )
    if kind == "outliers":
        plain, robust = by_name.get("NMF, no noise", []), by_name.get("Robust NMF, no noise", [])
        for a, b in zip(plain, robust, strict=False):
            seeds = min(
                len(a.values["objective"]), len(b.values["objective"])
            )  # a study may be stopped between the two
            if a.x in (0.1, 0.2) and seeds > 1:
                pairs = (b.values["objective"][:seeds], a.values["objective"][:seeds])
                apart = FactorPoint(
                    series="", x=a.x, values={"objective": pairs[0]}, trivial=pairs[1]
                ).against_trivial
                told = "" if abs(apart[0]) > apart[1] else ", not told apart from nothing"
                out.append(
                    f"With {100 * a.x:.0f} % spoiled, robust minus plain is {apart[0]:+.4f} ± {apart[1]:.2g} on the clean images{told}."
                )
    return out


def _from_where_on(held: list[bool]) -> int | None:
    """Where the last unbroken run of True begins that reaches the end; None if the last is False."""
    place = len(held)
    while place and held[place - 1]:
        place -= 1
    return place if place < len(held) else None


def factor_study_so_far(job: jobs.Job) -> bool:
    """The points of a running study, if there are any."""
    result: FactorStudyResult | None = job.results[0]
    if result is None:
        return False
    figure, _ = factor_curves(result)
    draw(figure, "live-factor-study", "The runs made so far.")
    return True


def factor_study_result(result: FactorStudyResult, example: bool = False) -> None:
    """Figure, sentences, and what was run."""
    kind, base = FACTOR_STUDIES[result.spec.kind], result.spec.base
    at = "" if kind.own_epsilon else f", total ε = {three(base.epsilon or 1.0)}"
    if example:
        what = "cartoon faces" if base.dataset == "cartoon" else "documents on synthetic topics"
        number = "" if result.spec.kind == "people" else f"{base.n_samples:,} "
        st.caption(
            f":material/info: **Stored example**: {number}{what}, K = {base.rank}{at}, up to {result.spec.seeds} seeds. Press *Run* to compute with the settings in the sidebar."
        )
    figure, numbers = factor_curves(result)
    sentences = factor_sentences(result)
    show(
        figure,
        f"factor-study-{result.spec.kind}",
        sentences[0].replace("**", "") if sentences else kind.title,
        numbers,
    )
    notice(sentences)
    unfinished = "" if result.finished else f" Stopped after {result.runs} of {result.total} runs."
    unit = "image" if entry(base.dataset).holds == "images" else "document"
    counted = {
        "rounds": f"The ε on the axis is the paper's, of one round, for one {unit} replaced by another; the sound lines have the same overall ε for the same neighbours.",
    }.get(
        result.spec.kind,
        f"ε is of one run, at δ = {base.delta:g}, for one {unit} {'replaced by another' if base.neighbours == 'replace-one' else 'added or removed'}.",
    )
    lines = (
        ""
        if result.spec.kind in ("people", "parts")
        else f" The average column, which is trivial, has an objective of {three(result.trivial)}, scikit-learn's NMF {three(result.yardstick)}."
    )
    st.caption(
        f"{result.runs} runs in {result.seconds:.0f} s. Means over up to {result.spec.seeds} seeds (noise and start, and the data where they are made or spoiled anew); bars: 95 % t-intervals of the mean; one run where nothing is random.{unfinished} "
        f"After {kind.source}. Settings stay the same along a line, and were not tuned for its points; moment NMF's and the sound form's constants were chosen on CBCL, cartoon faces and synthetic topics, so figures on those are slightly flattered. {counted} Lines called *no noise* or *not private*, and the dotted ones, protect nobody.{lines} Objectives and coherence are "
        "computed from the data without noise."
    )
    with st.expander(
        "Take it with you", icon=":material/download:", on_change="rerun", key="f-study-take"
    ) as fold:
        if fold.open:
            st.download_button(
                "Study (JSON)",
                data=lambda: json.dumps(result.summary(), indent=1),
                file_name=f"dpmc-factor-study-{result.spec.kind}.json",
                mime="application/json",
                on_click="ignore",
            )
            st.code(
                "from dpmc_core.experiments import FactorSpec\nfrom dpmc_core.experiments.studies.factorization import FactorStudySpec\nfrom dpmc_core.experiments.studies.factor_engine import factor_study\n\n"
                f"base = FactorSpec({', '.join(f'{k}={v!r}' for k, v in base.changes().items())})\n"
                f"result = factor_study(FactorStudySpec(kind={result.spec.kind!r}, base=base, seeds={result.spec.seeds}))\n",
                language="python",
            )
