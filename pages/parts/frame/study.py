"""A study on a page: many runs for one question, their figure, sentences and export."""

from collections.abc import Callable
from dataclasses import dataclass

from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import StudySpec
from pages.parts.frame import python_lines
from pages.parts.frame.page import fold, observations, verdict
from pages.parts.server import jobs, user_data
from pages.parts.server.job import Job
from pages.parts.ui.figures import Drawn, draw, show
from pages.parts.ui.on_screen import code, download
from pages.parts.ui.run_panel import Example, Panel, panel


@dataclass(frozen=True)
class Built:
    """Runs side by side or a ``study``; ``problem`` says why they cannot be made."""

    specs: tuple[RunSpec, ...] = ()
    study: StudySpec | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """How the studies of one ``room`` are shown.

    Files and jobs are called after ``name``. ``live`` is said of the figure while runs are made;
    ``about`` says what a stored study is of, ``method`` how a study was computed.
    """

    room: str
    name: str
    live: str
    curves: Callable[[StudyResult], Drawn]
    sentences: Callable[[StudyResult], list[str]]
    about: Callable[[StudyResult], str]
    method: Callable[[StudyResult], None]

    def panel(self, question: str, built: Built, row: DeltaGenerator) -> None:
        """Run the many runs of one question, and show their figure."""
        wanted, stored = built.study, example(self.room, question).study
        panel(
            Panel(
                kind=f"{self.name}-{question}",
                wanted=() if wanted is None else (wanted,),
                problem=built.problem,
                start=lambda: self._start(wanted),
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

    def _start(self, spec: StudySpec | None) -> Job:
        assert spec is not None  # a panel with a problem does not start
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
        fold("How this was computed, and what it protects", "method", lambda: self.method(result))
        fold("Export", "export", lambda: self._export(result), icon=":material/download:")

    def _export(self, result: StudyResult) -> None:
        file = f"dpmc-{self.name}-{result.spec.kind}.json"
        download("Study (JSON)", file, result.summary)
        code(result.spec.python(), "python")
