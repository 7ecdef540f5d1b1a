"""A study on a page: many runs for one question, their figure, sentences and export."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
from plotly.subplots import make_subplots
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import MEASURES, StudySpec
from dpmc_core.experiments.sweeps.tradeoff import Point
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.server import jobs, user_data
from pages.parts.server.job import Job
from pages.parts.ui.figures import MARGIN, Drawn, draw, figure, show
from pages.parts.ui.labels import Label, label_ends, spaced_ticks
from pages.parts.ui.looks import BASELINE, Identity, curve, intervals
from pages.parts.ui.on_screen import code, download
from pages.parts.ui.run_panel import Example, Panel, panel


@dataclass(frozen=True)
class Built:
    """Runs side by side or a ``study``; ``problem`` says why they cannot be made."""

    specs: tuple[RunSpec, ...] = ()
    study: StudySpec | None = None
    problem: str = ""


Lines = dict[str, list[Point]]
QUIET = ", no noise"
BEST = "best baseline"
_PANEL, _GAP = 360, 60  # pixels


def study_curves(result: StudyResult, looks: Mapping[str, Identity]) -> Drawn:
    """Each measure against what the study varies, one below the other, with 95 % t-intervals over
    seeds, and the baselines. ``looks`` has each line's.
    """
    study, measures, by_people = result.spec.study, result.measures, result.spec.kind == "people"
    down = max(len(measures), 1)
    fig = make_subplots(
        rows=down, cols=1, shared_xaxes=True, vertical_spacing=_GAP / (_PANEL * down)
    )
    look_of_house = figure("", "", height=_PANEL * down + 60).layout
    fig.update_layout(look_of_house.to_plotly_json() | {"margin": {**MARGIN, "r": 190}})
    fig.update_xaxes(look_of_house.xaxis)
    fig.update_yaxes(look_of_house.yaxis)
    rows = []
    ticks = sorted({p.x for p in result.points()}) or [1.0]
    for place, measure in enumerate(measures, start=1):
        ends: list[Label] = []
        values: list[float] = []
        for name, points in result.lines(measure).items():
            seen = [p for p in points if p.values]
            if not seen:
                continue
            line = looks[name].line(**({"width": 1.5} if name.endswith(QUIET) else {}))
            y = [p.mean for p in seen]
            halves = intervals([p.half_width for p in seen])
            at = {"row": place, "col": 1}
            curve(fig, looks[name], [p.x for p in seen], y, error_y=halves, line=line, **at)
            ends.append(Label(ticks[-1], y[-1], name))
            values += y
            rows += [
                {
                    "line": name,
                    study.x_title: p.x,
                    "measure": measure,
                    "mean": p.mean,
                    "half_width_95": p.half_width,
                    "seeds": len(p.values),
                    "stated_epsilon": math.inf if p.epsilon is None else p.epsilon,
                }
                for p in seen
            ]
        if by_people and measure == "error" and values:
            # fewer people have another baseline, and other held-out ratings
            points = next(iter(result.lines(measure).values()))
            beside = [p.baseline for p in points]
            dotted = {"color": BASELINE, "dash": "dot", "width": 1}
            fig.add_scatter(x=[p.x for p in points], y=beside, mode="lines", line=dotted, name=BEST)
            ends.append(Label(ticks[-1], beside[-1], BEST))
            values += beside
        if measure in ("error", "objective") and not by_people:
            levels = dict(result.baselines)
            if measure == "objective" and result.spec.kind != "parts":
                levels["scikit-learn's NMF"] = result.reference
            most = 3 * max(values, default=0.0)  # a line far above all others would flatten them
            for name, value in levels.items():
                if value <= most:
                    dotted = {"width": 1, "dash": "dot", "color": BASELINE}
                    fig.add_hline(y=value, line=dotted, row=place, col=1)
                    ends.append(Label(ticks[-1], value, name))
                    values.append(value)
        if values:
            spread = (max(values) - min(values)) or 1.0
            shown = (min(values) - 0.08 * spread, max(values) + 0.08 * spread)
            title = MEASURES[measure].replace(" (", "<br>(")
            fig.update_yaxes(range=shown, title={"text": title}, row=place, col=1)
            axis = "" if place == 1 else str(place)
            label_ends(fig, ends, shown, log_x=study.log_x, axis=axis, height=_PANEL - _GAP)
    texts = {t: f"{t:,.0f}" if t >= 1000 else f"{t:.4g}" for t in ticks}
    fig.update_xaxes(tickvals=ticks, ticktext=spaced_ticks(texts, log=study.log_x))
    if study.log_x:
        low, high = math.log10(ticks[0]), math.log10(ticks[-1])
        room = 0.04 * (high - low or 1.0)  # the names of the lines stand outside
        fig.update_xaxes(type="log", range=[low - room, high + 0.5 * room])
    fig.update_xaxes(title={"text": study.x_title}, row=down, col=1)
    return fig, pd.DataFrame(rows)


@dataclass(frozen=True, kw_only=True)
class Study:
    """How the studies of one ``room`` are shown.

    Files and jobs are called after ``name``. ``live`` is said of the figure while runs are made;
    ``looks`` has each line's, ``about`` says what a stored study is of, ``method`` how a study was
    computed.
    """

    room: str
    name: str
    live: str
    looks: Callable[[Lines], dict[str, Identity]]
    sentences: Callable[[StudyResult], list[str]]
    about: Callable[[StudyResult], str]
    method: Callable[[StudyResult], None]

    def curves(self, result: StudyResult) -> Drawn:
        """The study's figure and its numbers."""
        return study_curves(result, self.looks(result.lines()))

    def panel(self, question: str, built: Built, row: DeltaGenerator) -> None:
        """Run the many runs of one question, and show their figure."""
        wanted, stored = built.study, example(self.room, question).study
        panel(
            Panel(
                kind=f"{self.name}-{question}",
                wanted=() if wanted is None else (wanted,),
                problem=built.problem,
                start=self._start,
                quick=() if wanted is None else (wanted.quick,),
                at_once=jobs.RUNS_AT_ONCE,
                step="run",
                so_far=self._so_far,
                show=lambda job: self._show(job.results[0]),
                example=Example(
                    about=self.about(stored),
                    specs=(stored.spec,),
                    draw=lambda: self._show(stored),
                    differs=wanted is not None and wanted.one_epsilon != stored.spec.one_epsilon,
                ),
                row=row,
            )
        )

    def _start(self, spec: StudySpec) -> Job:
        kind = f"{self.name}-{spec.kind}"
        return jobs.start_study(kind, spec, user_data.runs_for(spec.dataset))

    def _so_far(self, job: Job) -> bool:
        """The points of a running study, if there are any."""
        result: StudyResult | None = job.results[0]
        if result is not None:
            draw(self.curves(result)[0], f"live-{self.name}", self.live)
        return result is not None

    def _show(self, result: StudyResult) -> None:
        """Figure, sentences, and what was run."""
        sentences = self.sentences(result) or [result.spec.study.title]
        first = sentences[0].replace("**", "")
        verdict(first)
        show(self.curves(result), f"{self.name}-{result.spec.kind}", first)
        observations(sentences[1:])
        python_lines.of_study(result)
        tab("Method and protection", "method", lambda: self.method(result))
        tab("Export", "export", lambda: self._export(result))

    def _export(self, result: StudyResult) -> None:
        file = f"dpmc-{self.name}-{result.spec.kind}.json"
        download("Study (JSON)", file, result.summary)
        code(result.spec.python(), "python")
