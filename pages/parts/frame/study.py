"""A study on a page: many runs for one question, their figure, sentences and export."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd
from plotly.subplots import make_subplots
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.studies.engine import StudyResult, bound_on
from dpmc_core.experiments.studies.spec import MEASURES, StudySpec
from dpmc_core.experiments.sweeps.tradeoff import Lines
from dpmc_core.wording import three
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.server.job import Job
from pages.parts.ui.figures import Drawn, draw, of_results, show
from pages.parts.ui.labels import spaced_ticks
from pages.parts.ui.looks import BEST, FACTORIZATIONS, IDENTITY, LINES, Identity
from pages.parts.ui.on_screen import code, download
from pages.parts.ui.run_panel import Example, Panel, draw_panel
from pages.parts.ui.series import Line, named_lines


@dataclass(frozen=True)
class Built:
    """Runs side by side or a ``study``; ``problem`` says why they cannot be made."""

    specs: tuple[RunSpec, ...] = ()
    study: StudySpec | None = None
    problem: str = ""


def total_of(spec: StudySpec) -> str:
    """The total ε of each run, as a part of a list; "" where a study varies it."""
    return "" if spec.study.own_epsilon else f", total ε = {three(spec.base.noise.epsilon or 1.0)}"


QUIET = ", no noise"
_PANEL, _GAP = 360, 60  # pixels
_CHARACTERS = 26  # that a phone has room for below a panel


def _looks(lines: Lines) -> dict[str, Identity]:
    """How each line looks: as its algorithm that factorizes, if no line before does, else as no
    other line does. Without noise it keeps the colour, in long dashes.
    """
    noisy = [name for name in lines if not name.endswith("no noise")]
    looks: dict[str, Identity] = {}
    mechanisms = {look.title: look for look in IDENTITY.values()}
    for name in (*noisy, *lines):
        algorithm, twin = lines[name][0].spec.card.name, looks.get(name.removesuffix(QUIET))
        if algorithm in FACTORIZATIONS:
            look = twin or FACTORIZATIONS[algorithm]
            if name.endswith(QUIET):
                look = replace(look, dash="longdash")
            elif look in looks.values() and not twin:  # a second line of the algorithm
                look = Identity(name, *LINES[len(looks)])
            looks[name] = look
        elif name in mechanisms:
            looks[name] = mechanisms[name]
        elif name in noisy:
            looks.setdefault(name, Identity(name, *LINES[len(looks) % len(LINES)]))
        else:
            grey = IDENTITY["none"]
            looks[name] = replace(grey, colour=twin.colour) if twin else grey
    return looks


@of_results
def study_curves(result: StudyResult, x_title: str = "") -> Drawn:
    """Each measure against what the study varies (called ``x_title``, if not as the study says),
    one below the other, with 95 % t-intervals over seeds, and the baselines; drawn once of a
    finished study.
    """
    looks = _looks(result.lines())
    x_title = x_title or result.spec.study.x_title
    study, measures, by_people = result.spec.study, result.measures, result.spec.kind == "people"
    down = max(len(measures), 1)
    fig = make_subplots(
        rows=down, cols=1, shared_xaxes=True, vertical_spacing=_GAP / (_PANEL * down)
    )
    fig.update_layout(height=_PANEL * down + 60)
    rows = []
    ticks = sorted({p.x for p in result.points()}) or [1.0]
    texts = {t: f"{t:,.0f}" if t >= 1000 else f"{t:.4g}" for t in ticks}
    longest = max(map(len, texts.values()))
    fig.update_xaxes(
        type="log" if study.log_x else "linear",
        tickvals=ticks,
        ticktext=spaced_ticks(texts, log=study.log_x, most=min(6, _CHARACTERS // longest)),
    )
    for place, measure in enumerate(measures, start=1):
        lines, levels = list[Line](), dict[str, float]()
        for name, points in result.lines(measure).items():
            seen = [p for p in points if p.values]
            if not seen:
                continue
            look = replace(looks[name], title=name, width=1.5 if name.endswith(QUIET) else 2.5)
            x, y = [p.x for p in seen], [p.mean for p in seen]
            lines.append(Line(look, x, y, [p.half_width for p in seen]))
            if bound := bound_on(result.spec.kind, seen):
                words, places, curve = bound
                lines.append(Line(replace(BEST, title=f"∝ {words} (the bound)"), places, curve))
            rows += [
                {
                    "line": name,
                    x_title: p.x,
                    "measure": measure,
                    "mean": p.mean,
                    "half_width_95": p.half_width,
                    "seeds": len(p.values),
                    "stated_epsilon": math.inf if p.epsilon is None else p.epsilon,
                }
                for p in seen
            ]
        if by_people and measure == "error" and lines:
            # fewer people have another baseline, and other held-out ratings
            points = next(iter(result.lines(measure).values()))
            lines.append(Line(BEST, [p.x for p in points], [p.baseline for p in points]))
        if measure in ("error", "objective", "recall") and not by_people:
            levels = dict(result.baselines)
            if measure == "objective" and result.spec.kind != "parts":
                levels["scikit-learn's NMF"] = result.reference
            # a line far above all others would flatten them
            most = 3 * max((y for line in lines for y in line.y), default=0.0)
            levels = {name: value for name, value in levels.items() if value <= most}
        title = MEASURES[measure].replace(" (", "<br>(")
        log = "log" if study.log_y else None
        fig.update_yaxes(title={"text": title}, type=log, row=place, col=1)
        named_lines(fig, lines, levels, "" if place == 1 else str(place))
    fig.update_xaxes(title={"text": x_title}, row=down, col=1)
    return fig, pd.DataFrame(rows)


@dataclass(frozen=True, kw_only=True)
class Study:
    """How the studies of one ``room`` are shown.

    Files and jobs are called after ``name``. ``live`` is said of the figure while runs are made;
    ``about`` says what a stored study is of, ``method`` how a study was computed, and ``also``
    draws further tabs.
    """

    room: str
    name: str
    live: str
    sentences: Callable[[StudyResult], list[str]]
    about: Callable[[StudyResult], str]
    method: Callable[[StudyResult], None]
    also: Callable[[StudyResult], None] = lambda _: None

    def panel(self, question: str, built: Built, row: DeltaGenerator) -> None:
        """Run the many runs of one question, and show their figure."""
        wanted, stored = built.study, example(self.room, question).study
        draw_panel(
            Panel(
                kind=f"{self.name}-{question}",
                wanted=() if wanted is None else (wanted,),
                problem=built.problem,
                quick=() if wanted is None else (wanted.quick,),
                step="run",
                so_far=self._so_far,
                show=lambda results: self._show(results[0]),
                example=Example(
                    about=self.about(stored),
                    specs=(stored.spec,),
                    draw=lambda: self._show(stored),
                    differs=wanted is not None and wanted.one_epsilon != stored.spec.one_epsilon,
                ),
                row=row,
            )
        )

    def _so_far(self, job: Job) -> bool:
        """The points of a running study, if there are any."""
        result: StudyResult | None = job.results[0]
        if result is not None:
            draw(study_curves(result)[0], f"live-{self.name}", self.live)
        return result is not None

    def _show(self, result: StudyResult) -> None:
        """Figure, sentences, and what was run."""
        sentences = self.sentences(result) or [result.spec.study.title]
        first = sentences[0].replace("**", "")
        verdict(first)
        show(study_curves(result), f"{self.name}-{result.spec.kind}", first)
        observations(sentences[1:])
        python_lines.of_study(result)
        self.also(result)
        tab("Method and protection", "method", lambda: self.method(result))
        tab("Export", "export", lambda: self._export(result))

    def _export(self, result: StudyResult) -> None:
        file = f"dpmc-{self.name}-{result.spec.kind}.json"
        download("Study (JSON)", file, result.summary)
        code(result.spec.python(), "python")
