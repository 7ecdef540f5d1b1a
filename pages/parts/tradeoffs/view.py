"""What the *Tradeoffs* page shows of a sweep: points of the store, views, what to take away."""

import json
import math
from collections.abc import Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.stored import examples
from dpmc_core.experiments.sweeps.sweep import finished, how_many
from dpmc_core.experiments.sweeps.tradeoff import Point, points_of
from dpmc_core.wording import csv_text, three
from pages.parts.server import jobs
from pages.parts.server import user_data as own_data
from pages.parts.tradeoffs import best as tradeoff_best
from pages.parts.tradeoffs import charts as tradeoff_charts
from pages.parts.tradeoffs import pairs
from pages.parts.tradeoffs.controls import BY
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import IDENTITY, Drawn, draw, show
from pages.parts.ui.links import plain

__all__ = [
    "axis_of",
    "counted",
    "example_for",
    "export",
    "progress_of",
    "so_far",
    "stored_points",
    "views",
]

_NEAR = 0.1  # what counts as near to no noise


def example_for(protect: str, vary: str, by: str) -> str:
    """Which example is nearest to what is asked."""
    return "people" if vary == "people" else "user" if protect == "user" else f"rating-{by}"


def stored_points(spec: SweepSpec) -> tuple[list[Point], int]:
    """The points of ``spec`` that the store holds, and how many runs they are of.

    Raises ``StoreError``.
    """
    with st.spinner(
        "Looking for runs that are kept…"
    ):  # noise for a total ε may have to be found first
        runs = finished(spec, own_data.runs_for(dict(spec.base)))
    return points_of(runs), len(runs)


def axis_of(vary: str, by: str) -> str:
    """What the x axis is."""
    return "n_users" if vary == "people" else by


def measures(points: Sequence[Point]) -> str:
    """The y axis."""
    return points[0].measure if points else ""


def so_far(job: jobs.Job, axis: str) -> bool:
    """The curves of a running sweep."""
    try:
        points, _ = stored_points(job.specs[0])
    except StoreError:
        return False
    lines = tradeoff_charts.lines_of(points, axis)
    if not any(lines.noisy(a) for a in lines.algorithms):
        return False
    figure, _ = tradeoff_charts.curves(lines, measures(points))
    draw(figure, "live-tradeoff", "Held-out error of the runs made so far.")
    return True


def _made(view: str, points: list[Point], axis: str, large: bool) -> tuple[list[str], Drawn | None]:
    """The sentences and the figure of one view."""
    lines = tradeoff_charts.lines_of(points, axis)
    if view == "pairs":
        apart = pairs.differences(lines)
        drawn = pairs.pairs_figure(apart, axis, large=large) if apart else None
        return pairs.pair_sentences(apart, axis), drawn
    if view == "frontier":
        return tradeoff_best.frontier_sentences(points), tradeoff_best.frontier_figure(
            points, large=large
        )
    return tradeoff_charts.curve_sentences(lines), tradeoff_charts.curves(
        lines, measures(points), large=large
    )


@lru_cache(maxsize=24)
def _of_example(view: str, name: str, axis: str, large: bool) -> tuple[list[str], Drawn | None]:
    return _made(view, examples()[name][1], axis, large)


def views(
    view: str, points: list[Point], axis: str, *, large: bool = False, example: str = ""
) -> None:
    """Draw one view of ``points``: figure, what to notice, and the numbers.

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
    sentences, drawn = (
        _of_example(view, example, axis, large) if example else _made(view, points, axis, large)
    )
    alt = " ".join(sentences[:2]).replace("**", "")
    if drawn is not None:
        figure, numbers = drawn
        if large:
            draw(figure, f"tradeoff-{view}", alt, toolbar=False)
        else:
            show(figure, f"tradeoff-{view}", alt, numbers)
    notice(sentences)
    if view == "frontier":
        st.caption(
            "Filled: nothing of the same kind is better in both ε and error. Colour is the "
            "noise, shape the algorithm. Bars: 95 % t-intervals over repetitions."
        )
    if view == "curves" and axis == "n_users":
        st.subheader("How many people are needed?", anchor=False)
        table = tradeoff_best.needed_table(lines, _NEAR)
        st.dataframe(
            table,
            hide_index=True,
            width="stretch",
            alt="People needed by each method to reach two targets.",
        )
        st.caption(
            "Each repetition has a crossing of its own, read off between the numbers that were "
            "run and never beyond them; it holds from there on. The range covers their median "
            "with 97 % for six repetitions, 94 % for five."
        )


def counted(points: Sequence[Point], spec: SweepSpec, vary: str, by: str) -> None:
    """How the numbers were counted."""
    noisy = [p for p in points if p.unit]
    if not noisy:  # nothing here protects anybody, and nothing was counted
        return
    unit = ", ".join(sorted({f"one {p.unit}" for p in noisy}))
    nominal = any(p.nominal for p in noisy)
    delta = dict(spec.base).get("delta", 1e-5)
    standing = (
        "**Nominal**: as the papers count, with an assumed sensitivity; not a guarantee (the "
        "Budget page says what is left out)."
        if nominal
        else (
            "**A guarantee**: sensitivities are derived, and every release is in the ledger. "
            "Plans may stay a little below the ε that was asked for."
        )
    )
    made = spec.fresh_data and all(p.spec.data.synthetic for p in points)
    differ = "data, split, start and noise" if made else "split, start and noise"
    st.caption(
        f"Protected: {unit}, at δ = {delta:g}. {standing} Means over repetitions with {differ} "
        "of their own; bands: 95 % t-intervals"
        f"{'' if made else ' (how errors would differ on other data is not in them)'}. "
        + (f"Noises are compared at {BY[by]}. " if vary == "noise" else "")
        + "Lines without noise are the same method without privacy; they and the dotted "
        "baseline protect nobody. Whether a point beats that predictor is asked at "
        "95 % for each point on its own. ε is of one run: who publishes many runs adds them "
        "up. Settings stay the same along a line; they were chosen on other data, "
        "and errors shown here are measured without noise, for whoever holds the "
        "data. Predictions are clipped to the rating scale: far above the dotted line "
        "nothing is left to compare."
    )
    ours = [
        p
        for p in noisy
        if p.epsilon and (p.epsilon_published is None or p.epsilon_published > 1.005 * p.epsilon)
    ]
    if ours:
        worst = max(ours, key=lambda p: (p.epsilon_published or math.inf) / (p.epsilon or 1.0))
        beside = (
            "no finite one"
            if worst.epsilon_published is None
            else f"ε = {three(worst.epsilon_published)}"
        )
        noises = ", ".join(sorted({IDENTITY[p.spec.noise.mechanism].title for p in ours}))
        st.caption(
            f":material/info: ε of {noises} noise is counted with the help of a proof of this "
            "project that nobody has reviewed yet (docs/huber-composition.md: it is about every "
            "noise whose sums are symmetric and log-concave, and Laplace vectors use a part of "
            "it). By published results alone ε is larger: where ε = "
            f"{three(worst.epsilon or 0)} is stated, {beside}."
            + (
                f" What is said above about {noises} at equal total ε depends on that proof."
                if by == "total_epsilon"
                else ""
            )
        )


def export(spec: SweepSpec, points: Sequence[Point]) -> None:
    """Downloads and the same sweep elsewhere."""
    with st.expander(
        "Export", icon=":material/download:", on_change="rerun", key="tradeoff-take"
    ) as fold:
        if not fold.open:
            return
        st.download_button(
            "Sweep (TOML)",
            data=spec.to_toml(),
            file_name="dpmc-sweep.toml",
            mime="application/toml",
            on_click="ignore",
        )
        st.download_button(
            "Points with every repetition (JSON)",
            data=lambda: json.dumps(
                {"sweep": spec.as_dict(), "points": [p.to_json() for p in points]}, indent=1
            ),
            file_name="dpmc-sweep.json",
            mime="application/json",
            on_click="ignore",
        )
        st.download_button(
            "Means (CSV)",
            data=lambda: csv_text(
                pd.DataFrame([{**p.as_dict(), **dict(p.settings)} for p in points]).drop(
                    columns=["settings"]
                )
            ),
            file_name="dpmc-sweep.csv",
            mime="text/csv",
            on_click="ignore",
        )
        st.markdown("Save the TOML, then on the command line:")
        st.code(spec.command("dpmc-sweep.toml"), language="bash")
        st.markdown("In Python:")
        st.code(spec.python(), language="python")
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
