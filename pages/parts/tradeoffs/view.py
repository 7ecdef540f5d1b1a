"""What the *Tradeoffs* page runs, a sweep that is kept run by run, and what it shows of it: views
of the points that are in the store, and what stands before them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments.examples import example
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import finished, how_many
from dpmc_core.experiments.sweeps.tradeoff import Point, points_of
from dpmc_core.wording import power, three
from pages.parts.frame import presenter, python_lines
from pages.parts.frame.page import control, observations, tab, verdict
from pages.parts.server import jobs, run_store, user_data
from pages.parts.tradeoffs import charts, findings
from pages.parts.tradeoffs.controls import BY, SweepRequest
from pages.parts.ui import controls
from pages.parts.ui.figures import Drawn, draw, show
from pages.parts.ui.looks import IDENTITY
from pages.parts.ui.on_screen import code, download, show_table
from pages.parts.ui.on_screen import points as bullets
from pages.parts.ui.run_panel import Example, Panel, draw_example, draw_panel, note_quick_look

SLIDES = {
    "user": "Privacy and accuracy",
    "people": "How many people?",
    "rating-total_epsilon": "Equal total ε",
    "rating-variance": "Equal variance",
}


def present() -> None:
    """Draw the chosen slide."""
    with control():
        slide = controls.segments("Slide", "t_slide", SLIDES, "user", label_visibility="collapsed")
        presenter.steps("t_slide", list(SLIDES))
    stored = example("tradeoffs", slide)
    views("curves", stored.points, axis_of(stored.spec), example=slide)
    st.caption(
        f"{standing(stored.points)} Stored results of {stored.metadata['runs']} runs "
        f"({stored.spec.seeds} repetitions of each point), made on {stored.metadata['date']}."
    )


@dataclass(frozen=True)
class Live:
    """The sweep of a ``request``, and the view it is ``shown`` in."""

    request: SweepRequest
    shown: str

    @cached_property
    def spec(self) -> SweepSpec | None:
        """The sweep, unless there is a problem: its runs may be too many to list."""
        return None if self.request.problem else self.request.spec

    @cached_property
    def stored(self) -> tuple[list[Point], int, int]:
        """What ``stored_points`` finds of it."""
        return ([], 0, 0) if self.spec is None else stored_points(self.spec)

    def panel(self, row: DeltaGenerator) -> None:
        """Draw the button, the work going on and the results that stand."""
        spec, quick = self.spec, self.request.quick
        _, n_finished, of_file = self.stored
        runs = 0 if spec is None else how_many(spec)
        draw_panel(
            Panel(
                kind="sweep",
                wanted=() if spec is None else (spec,),
                problem=self.request.problem,
                quick=() if quick is None else (quick,),
                step="run",
                so_far=so_far,
                show=lambda _: self._show_stored(least=1),
                # half at least: a part of somebody's sweep is no example
                example=lambda: self._show_stored(least=-(-runs // 2)),
                in_store=True,
                row=row,
                left=1 - (n_finished - of_file) / max(runs, 1),
                quick_left=self._quick_left(),
                hint="" if spec is None else _length(spec),
            )
        )

    def _quick_left(self) -> float:
        quick = self.request.quick
        return 1.0 if quick is None else left_of(quick, self.stored[0])

    def _views(self, spec: SweepSpec, points: list[Point], example: str = "") -> None:
        views(self.shown, points, axis_of(spec), example=example)
        python_lines.of_sweep(spec, example)
        tab("Method and protection", "method", lambda: counted(points, spec))
        tab("Export", "export", lambda: export(spec, points))

    def _show_stored(self, least: int) -> None:
        """Show the runs of these settings that are kept, ``least`` at least; else the stored
        example.

        A class sees the figure that the lesson is about.
        """
        spec, quick = self.request.spec, self.request.quick
        points, n_finished, _ = self.stored
        noisy = any(p.unit for p in points)
        if spec is None or not noisy or n_finished < least or "lesson" in st.query_params:
            self._stored_example(n_finished)
            return
        most = max(len(p.values) for p in points)
        if quick is not None and most <= quick.seeds and not self._quick_left():
            note_quick_look(quick.seeds)
        if n_finished < how_many(spec):
            st.info(
                f"{_finished_runs(spec, n_finished)} are kept so far: what is below is of those. "
                "Press *Run* for the others.",
                icon=":material/hourglass_bottom:",
            )
        self._views(spec, points)

    def _stored_example(self, n_finished: int) -> None:
        """Show the example nearest to what is asked of those that come with the app, and how many
        runs are ``n_finished``.
        """
        request, spec = self.request, self.request.spec
        name = "user" if request.protect == "user" else f"rating-{request.by}"
        name = "people" if request.vary == "people" else name
        stored = example("tradeoffs", name)
        shown = Example(
            about=f"{stored.metadata['runs']} runs on {stored.metadata['about']}, "
            f"{stored.spec.seeds} repetitions",
            specs=(stored.spec,),
            draw=lambda: self._views(stored.spec, stored.points, example=name),
            name="Stored example",
            also=f" {_finished_runs(spec, n_finished)} are finished."
            if n_finished and spec
            else "",
        )
        draw_example(shown, (spec,))


def _length(spec: SweepSpec) -> str:
    return (
        f"Up to {spec.size:,} runs, {jobs.RUNS_AT_ONCE} at once; each is kept as it finishes"
        + (" (your own data: for this visit)" if spec.own_data else "")
        + ", so that a stopped sweep continues."
    )


_NEAR = 0.1  # what counts as near to no noise


def stored_points(spec: SweepSpec) -> tuple[list[Point], int, int]:
    """The points of ``spec`` that the store holds or a file, how many runs they are of, and how
    many of these are a file's; nothing, and a sentence, where it cannot be read.
    """
    try:
        # noise for a total ε may have to be found first
        with st.spinner("Looking for runs that are kept…"):
            store = user_data.shown_runs(str(dict(spec.base)["dataset"]))
            runs = finished(spec, store)
    except StoreError as error:
        st.warning(controls.plain(run_store.public_message(error)), icon=":material/database_off:")
        return [], 0, 0
    user_data.say_from_file(store)
    return points_of(runs), len(runs), len(store.used)


def left_of(spec: SweepSpec, points: Sequence[Point]) -> float:
    """The share of the runs of ``spec`` that ``points``, of a larger sweep, have not."""
    finished_runs = {p.settings: len(p.values) + p.failures for p in points}
    cells = spec.cells()
    there = sum(min(finished_runs.get(settings, 0), spec.seeds) for settings, _ in cells)
    return 1 - there / (spec.seeds * len(cells))


def compared_at(spec: SweepSpec) -> str:
    """In what noises are equal in a sweep that this page can ask for."""
    return next(name for name in BY if name in _varied(spec))


def axis_of(spec: SweepSpec) -> str:
    """What its x axis is."""
    return "n_users" if "n_users" in _varied(spec) else compared_at(spec)


def _varied(spec: SweepSpec) -> set[str]:
    return {name for grid in spec.grids for name, _ in grid}


def so_far(job: jobs.Job) -> bool:
    """The curves of a running sweep."""
    points, *_ = stored_points(job.specs[0])
    lines = charts.lines_of(points, axis_of(job.specs[0]))
    if not lines.points:
        return False
    figure, _ = charts.curves(lines, points[0].measure)
    draw(figure, "live-tradeoff", "Held-out error of the runs made so far.")
    return True


def _drawn(view: str, points: list[Point], axis: str) -> tuple[list[str], Drawn | None]:
    """The sentences, the verdict first, and the figure of one view."""
    lines, measure = charts.lines_of(points, axis), points[0].measure if points else ""
    if view == "pairs":
        apart = findings.differences(lines)
        drawn = findings.pairs_figure(lines, apart, measure) if apart else None
        return findings.pair_sentences(apart, axis, findings.equal_amount(lines)), drawn
    if view == "frontier":
        return findings.frontier_sentences(points), findings.frontier_figure(points)
    return (
        [findings.verdict(lines), *findings.against_baseline(lines)],
        charts.curves(lines, measure),
    )


@lru_cache(maxsize=24)
def _of_example(view: str, name: str, axis: str) -> tuple[list[str], Drawn | None]:
    return _drawn(view, example("tradeoffs", name).points, axis)


def views(view: str, points: list[Point], axis: str, *, example: str = "") -> None:
    """Draw one view of ``points``: verdict, figure, observations.

    Those of the stored ``example`` of that name are drawn once.
    """
    lines = charts.lines_of(points, axis)
    failures = sum(p.failures for p in points)
    if failures:
        message = next(p.error for p in points if p.failures)
        st.warning(
            controls.plain(
                f"{failures} of {failures + sum(len(p.values) for p in points)} runs could not "
                f"be finished, and means are of the others. The first said: {message}"
            ),
            icon=":material/error:",
        )
    if not lines.points:
        st.caption("No run with noise is finished: there is nothing to draw yet.")
    (first, *others), drawn = (
        _of_example(view, example, axis) if example else _drawn(view, points, axis)
    )
    verdict(first)
    if drawn is not None:
        figure, numbers = drawn
        alt = " ".join([first, *others][:2]).replace("**", "")
        show(figure, f"tradeoff-{view}", alt, numbers)
    if ours := _by_our_proof(points):
        st.caption(
            f":material/info: ε of {_noises(ours)} noise by our own proof, not yet peer-reviewed."
        )
    observations(others, most=0)  # the figure shows them
    if view == "curves" and axis == "n_users":
        tab("People needed", "people", lambda: _needed(lines))


def _needed(lines: charts.Lines) -> None:
    table = findings.needed_table(lines, _NEAR)
    fewest = min(len(p.values) for line in lines.of.values() for _, p in line)
    show_table(table, "People needed by each method to reach two targets.")
    st.caption(
        "Each repetition has a crossing of its own, interpolated between the numbers that were "
        "run and never beyond them. The range is from the least to the most of them; it covers "
        f"their median with {100 * (1 - 2.0 ** (1 - fewest)):.0f} % ({fewest} repetitions)."
    )


def standing(points: Sequence[Point]) -> str:
    """Say for whom the ε of these points is, and whether it is a guarantee."""
    noisy = [p for p in points if p.unit]
    unit = ", ".join(sorted({f"one {p.unit}" for p in noisy}))
    if any(p.nominal for p in noisy):
        return f"Nominal ε for {unit} (not a guarantee)."
    return f"A guarantee for {unit}: sensitivities are derived, every release is in the ledger."


def counted(points: Sequence[Point], spec: SweepSpec) -> None:
    """How the numbers were counted."""
    delta = dict(spec.base).get("delta", 1e-5)
    fresh = spec.fresh_data and all(p.spec.data.synthetic for p in points)
    differ = "data, split, start and noise" if fresh else "split, start and noise"
    axis, by = axis_of(spec), compared_at(spec)
    notes = [
        f"{standing(points)} δ = {power(delta)}.",
        f"Means over repetitions, each with {differ} of its own. Bands: 95 % t-intervals"
        f"{'' if fresh else ' (they do not cover other data)'}.",
        "Lines without noise and the dotted baseline protect nobody.",
        "Each point is compared with the baseline at 95 % on its own. "
        + findings.chosen_among(charts.lines_of(points, axis)),
        "ε is of one run: published runs compose.",
        "Settings are the same along a line, and were chosen on other data. Errors are measured "
        "without noise, for the holder of the data. Predictions are clipped to the rating scale.",
        "Best trade-offs: colour is the mechanism, shape the algorithm. Filled markers: nothing of "
        "the same kind is better in both ε and error. Bars: 95 % t-intervals over repetitions.",
        "The total ε spent can be slightly below the ε requested.",
    ]
    if axis != "n_users":
        notes.insert(1, f"Mechanisms are compared at {BY[by]}.")
    bullets(notes)
    if ours := _by_our_proof(points):
        worst = max(ours, key=lambda p: (p.epsilon_published or math.inf) / (p.epsilon or 1.0))
        larger, noises = worst.epsilon_published, _noises(ours)
        beside = "no finite one" if larger is None else f"ε = {three(larger)}"
        st.caption(
            f":material/info: ε of {noises} noise rests on our own proof, "
            "not yet peer-reviewed (docs/huber-composition.md: it is about every "
            "noise whose sums are symmetric and log-concave, and Laplace vectors use a part of "
            "it). By published results alone ε is larger: where ε = "
            f"{three(worst.epsilon or 0)} is stated, {beside}."
            + (
                f" What is said above about {noises} at equal total ε depends on that proof."
                if by == "total_epsilon"
                else ""
            )
        )


def _by_our_proof(points: Sequence[Point]) -> list[Point]:
    """Find the points whose ε is larger by published results alone."""
    return [
        p
        for p in points
        if p.unit
        and p.epsilon
        and (p.epsilon_published is None or p.epsilon_published > 1.005 * p.epsilon)
    ]


def _noises(points: Sequence[Point]) -> str:
    return " and ".join(sorted({IDENTITY[p.spec.noise.mechanism].title for p in points}))


def export(spec: SweepSpec, points: Sequence[Point]) -> None:
    """Downloads and the same sweep elsewhere."""
    download("Sweep (TOML)", "dpmc-sweep.toml", spec.to_toml())
    download(
        "Points with every repetition (JSON)",
        "dpmc-sweep.json",
        lambda: {"sweep": spec.as_dict(), "points": [p.to_json() for p in points]},
    )
    download(
        "Means (CSV)",
        "dpmc-sweep.csv",
        lambda: pd.DataFrame([{**p.as_dict(), **dict(p.settings)} for p in points]).drop(
            columns=["settings"]
        ),
    )
    code(spec.command("dpmc-sweep.toml"), "bash", "Save the TOML, then on the command line:")
    code(spec.python(), "python", "In Python:")
    if spec.own is None:  # runs on own data are kept for the visit only
        st.page_link("runs.py", label="Its runs, one by one", icon=":material/history:")


def _finished_runs(spec: SweepSpec, done: int) -> str:
    """Say how many runs are finished, of all unless a cancelled job has its own total above."""
    job = jobs.current("sweep")
    if job is not None and job.state == "cancelled":
        return f"{done:,} runs"
    return f"{done:,} of {how_many(spec):,} runs"
