"""What the *Tradeoffs* page runs: a sweep, kept run by run, and what stands before it."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments.examples import example
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import how_many
from dpmc_core.experiments.sweeps.tradeoff import Point
from pages.parts.frame import presenter, python_lines
from pages.parts.frame.page import control, head, tab
from pages.parts.server import jobs, run_store, user_data
from pages.parts.tradeoffs import view
from pages.parts.tradeoffs.controls import Built, Form
from pages.parts.ui import controls
from pages.parts.ui.run_panel import Panel, draw_example, note_quick_look, panel

SLIDES = {
    "user": "Privacy and accuracy",
    "people": "How many people?",
    "rating-total_epsilon": "Equal total ε",
    "rating-variance": "Equal variance",
}


def present() -> None:
    """Draw the chosen slide."""
    head("tradeoffs")
    with control():
        slide = controls.segments("Slide", "t_slide", SLIDES, "user", label_visibility="collapsed")
        presenter.steps("t_slide", list(SLIDES))
    of = example("tradeoffs", slide)
    view.views("curves", of.points, view.axis_of(of.spec), example=slide)
    st.caption(
        f"{view.standing(of.points)} Stored results of {of.made['runs']} runs ({of.spec.seeds} "
        f"repetitions of each point), made on {of.made['date']}."
    )


@dataclass(frozen=True)
class Live:
    """The sweep that was ``asked`` for, as ``built``, and the view it is ``shown`` in."""

    asked: Form
    built: Built
    shown: str

    def panel(self, row: DeltaGenerator) -> None:
        """Draw the button, the work going on and the results that stand."""
        spec = self.built.spec
        points, kept, of_file = (
            ([], 0, 0) if spec is None or self.built.problem else _stored_points(spec)
        )
        quick, quick_left = self.built.quick, self._quick_left(points)
        panel(
            Panel(
                kind="sweep",
                wanted=() if spec is None else (spec,),
                problem=self.built.problem,
                start=_start,
                quick=() if quick is None else (quick,),
                step="run",
                so_far=view.so_far,
                show=lambda _: self._kept(points, kept, least=1),
                # half at least: a part of somebody's sweep is no example
                example=lambda: self._kept(points, kept, least=_half(spec)),
                in_store=True,
                row=row,
                at_once=jobs.RUNS_AT_ONCE,
                left=1.0 if spec is None else 1 - (kept - of_file) / how_many(spec),
                quick_left=quick_left,
                hint="" if spec is None else _length(spec),
            )
        )

    def _quick_left(self, points: list[Point]) -> float:
        quick = self.built.quick
        return 1.0 if quick is None else view.left_of(quick, points)

    def _views(self, spec: SweepSpec, points: list[Point], example: str = "") -> None:
        view.views(self.shown, points, view.axis_of(spec), example=example)
        python_lines.of_sweep(spec, example)
        tab("Method and protection", "method", lambda: view.counted(points, spec))
        tab("Export", "export", lambda: view.export(spec, points))

    def _kept(self, points: list[Point], kept: int, least: int) -> None:
        """Show the ``kept`` runs of these settings, ``least`` at least; else the stored example.

        A class sees the figure that the lesson is about.
        """
        spec = self.built.spec
        noisy = any(p.unit for p in points)
        if spec is None or not noisy or kept < least or "lesson" in st.query_params:
            self._stored_example(kept)
            return
        quick = self.built.quick
        most = max(len(p.values) for p in points)
        if quick is not None and most <= quick.seeds and not self._quick_left(points):
            note_quick_look(quick.seeds)
        view.progress_of(spec, kept)
        self._views(spec, points)

    def _stored_example(self, kept: int) -> None:
        """Show the example that comes with the app, and how many runs are ``kept``."""
        spec, asked = self.built.spec, self.asked
        name = view.example_for(asked.protect, asked.vary, asked.by)
        of = example("tradeoffs", name)
        about = f"{of.made['runs']} runs on {of.made['about']}, {of.spec.seeds} repetitions"
        done = f" {kept} of {how_many(spec)} runs are finished." if kept and spec else ""
        draw_example(
            about,
            lambda: self._views(of.spec, of.points, example=name),
            same=spec == of.spec,
            name="Stored example",
            also=done,
        )


def _start(spec: SweepSpec) -> jobs.Job:
    return jobs.start_sweep(spec, user_data.runs_for(str(dict(spec.base)["dataset"])))


def _stored_points(spec: SweepSpec) -> tuple[list[Point], int, int]:
    """Read a sweep from the store; nothing, and a sentence, where it cannot be read."""
    try:
        return view.stored_points(spec)
    except StoreError as error:
        st.warning(controls.plain(run_store.told(error)), icon=":material/database_off:")
        return [], 0, 0


def _length(spec: SweepSpec) -> str:
    return (
        f"Up to {spec.size:,} runs, {jobs.RUNS_AT_ONCE} at once; each is kept as it finishes"
        + (" (your own data: for this visit)" if spec.own_data else "")
        + ", so that a stopped sweep continues."
    )


def _half(spec: SweepSpec | None) -> int:
    return 0 if spec is None else -(-how_many(spec) // 2)
