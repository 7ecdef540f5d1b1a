"""What the *Tradeoffs* page shows of a sweep: points of the store, views, what to take away."""

import math
from collections.abc import Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from dpmc_core.experiments.examples import example
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import finished, how_many
from dpmc_core.experiments.sweeps.tradeoff import Point, points_of
from dpmc_core.wording import power, three
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.server import jobs
from pages.parts.server import user_data as own_data
from pages.parts.tradeoffs import best as tradeoff_best
from pages.parts.tradeoffs import charts as tradeoff_charts
from pages.parts.tradeoffs import pairs, sentences
from pages.parts.tradeoffs.controls import BY
from pages.parts.ui.bullet_list import points as bullets
from pages.parts.ui.figures import Drawn, draw, show
from pages.parts.ui.links import plain
from pages.parts.ui.looks import IDENTITY
from pages.parts.ui.on_screen import code, download

_NEAR = 0.1  # what counts as near to no noise


def example_for(protect: str, vary: str, by: str) -> str:
    """Which example is nearest to what is asked."""
    return "people" if vary == "people" else "user" if protect == "user" else f"rating-{by}"


def stored_points(spec: SweepSpec) -> tuple[list[Point], int, int]:
    """The points of ``spec`` that the store holds or a file, how many runs they are of, and how
    many of these are a file's.

    Raises ``StoreError``.
    """
    with st.spinner(
        "Looking for runs that are kept…"
    ):  # noise for a total ε may have to be found first
        known = own_data.shown_runs(str(dict(spec.base)["dataset"]))
        runs = finished(spec, known)
    own_data.say_from_file(known)
    return points_of(runs), len(runs), len(known.used)


def left_of(spec: SweepSpec, points: Sequence[Point]) -> float:
    """The share of the runs of ``spec`` that ``points``, of a larger sweep, have not."""
    made = {p.settings: len(p.values) + p.failures for p in points}
    cells = spec.cells()
    there = sum(min(made.get(settings, 0), spec.seeds) for settings, _ in cells)
    return 1 - there / (spec.seeds * len(cells))


def compared_at(spec: SweepSpec) -> str:
    """In what noises are equal in a sweep that this page can ask for."""
    asked = {name for grid in spec.grids for name, _ in grid}
    return next(name for name in BY if name in asked)


def axis_of(spec: SweepSpec) -> str:
    """What its x axis is."""
    people = any(name == "n_users" for grid in spec.grids for name, _ in grid)
    return "n_users" if people else compared_at(spec)


def measures(points: Sequence[Point]) -> str:
    """The y axis."""
    return points[0].measure if points else ""


def so_far(job: jobs.Job) -> bool:
    """The curves of a running sweep."""
    try:
        points, *_ = stored_points(job.specs[0])
    except StoreError:
        return False
    lines = tradeoff_charts.lines_of(points, axis_of(job.specs[0]))
    if not any(lines.noisy(a) for a in lines.algorithms):
        return False
    figure, _ = tradeoff_charts.curves(lines, measures(points))
    draw(figure, "live-tradeoff", "Held-out error of the runs made so far.")
    return True


def _made(view: str, points: list[Point], axis: str) -> tuple[list[str], Drawn | None]:
    """The sentences, the verdict first, and the figure of one view."""
    lines = tradeoff_charts.lines_of(points, axis)
    if view == "pairs":
        apart = pairs.differences(lines)
        drawn = pairs.pairs_figure(lines, apart, measures(points)) if apart else None
        return pairs.pair_sentences(apart, axis, sentences.equal_amount(lines)), drawn
    if view == "frontier":
        return tradeoff_best.frontier_sentences(points), tradeoff_best.frontier_figure(points)
    return (
        [sentences.verdict(lines), *sentences.against_baseline(lines)],
        tradeoff_charts.curves(lines, measures(points)),
    )


@lru_cache(maxsize=24)
def _of_example(view: str, name: str, axis: str) -> tuple[list[str], Drawn | None]:
    return _made(view, example("tradeoffs", name).points, axis)


def views(view: str, points: list[Point], axis: str, *, example: str = "") -> None:
    """Draw one view of ``points``: verdict, figure, observations.

    Those of the stored ``example`` of that name are drawn once.
    """
    lines = tradeoff_charts.lines_of(points, axis)
    failures = sum(p.failures for p in points)
    if failures:
        said = next(p.error for p in points if p.failures)
        st.warning(
            plain(
                f"{failures} of {failures + sum(len(p.values) for p in points)} runs could not "
                f"be finished, and means are of the others. The first said: {said}"
            ),
            icon=":material/error:",
        )
    if not any(lines.noisy(a) for a in lines.algorithms):
        st.caption("No run with noise is finished: there is nothing to draw yet.")
    (first, *others), drawn = (
        _of_example(view, example, axis) if example else _made(view, points, axis)
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


def _needed(lines: tradeoff_charts.Lines) -> None:
    table = tradeoff_best.needed_table(lines, _NEAR)
    fewest = min(len(p.values) for line in lines.of.values() for _, p in line)
    st.dataframe(table, hide_index=True, alt="People needed by each method to reach two targets.")
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
    noisy = [p for p in points if p.unit]
    if not noisy:  # nothing here protects anybody, and nothing was counted
        return
    delta = dict(spec.base).get("delta", 1e-5)
    made = spec.fresh_data and all(p.spec.data.synthetic for p in points)
    differ = "data, split, start and noise" if made else "split, start and noise"
    axis, by = axis_of(spec), compared_at(spec)
    points_made = [
        f"{standing(points)} δ = {power(delta)}.",
        f"Means over repetitions, each with {differ} of its own. Bands: 95 % t-intervals"
        f"{'' if made else ' (they do not cover other data)'}.",
        "Lines without noise and the dotted baseline protect nobody.",
        "Each point is compared with the baseline at 95 % on its own. "
        + sentences.chosen_among(tradeoff_charts.lines_of(points, axis)),
        "ε is of one run: published runs compose.",
        "Settings are the same along a line, and were chosen on other data. Errors are measured "
        "without noise, for the holder of the data. Predictions are clipped to the rating scale.",
        "Best trade-offs: colour is the mechanism, shape the algorithm. Filled markers: nothing of "
        "the same kind is better in both ε and error. Bars: 95 % t-intervals over repetitions.",
        "The total ε spent can be slightly below the ε requested.",
    ]
    if axis != "n_users":
        points_made.insert(1, f"Mechanisms are compared at {BY[by]}.")
    bullets(points_made)
    if ours := _by_our_proof(points):
        worst = max(ours, key=lambda p: (p.epsilon_published or math.inf) / (p.epsilon or 1.0))
        beside = (
            "no finite one"
            if worst.epsilon_published is None
            else f"ε = {three(worst.epsilon_published)}"
        )
        noises = _noises(ours)
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


def progress_of(spec: SweepSpec, done: int) -> None:
    """What a partial sweep is."""
    total = how_many(spec)
    if done < total:
        st.info(
            f"{done:,} of {total:,} runs are kept so far: what is below is of those. Press "
            "*Run* for the others.",
            icon=":material/hourglass_bottom:",
        )
