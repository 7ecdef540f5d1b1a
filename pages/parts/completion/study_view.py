"""Studies on the *Completion* page: many runs for one question, and popularity skew."""

from collections.abc import Sequence

import streamlit as st

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.configs import RatingsData
from dpmc_core.datasets.data import split_of
from dpmc_core.experiments.skew import Skew, spreads
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import cells
from dpmc_core.wording import power, three
from pages.parts.completion import study_charts, study_sentences
from pages.parts.frame.page import fold, observations, verdict
from pages.parts.frame.study import Study
from pages.parts.ui.figures import show


def about(result: StudyResult) -> str:
    """What a stored study is of."""
    kind, base = result.spec.study, result.spec.base
    at = "" if kind.own_epsilon else f", total ε = {three(base.noise.epsilon or 1.0)}"
    return (
        f"{base.data.n_users:,} synthetic users, {base.data.n_items} items{at}, {seeds_of(result)}"
    )


def _method(result: StudyResult) -> None:
    kind, base = result.spec.study, result.spec.base
    unfinished = (
        ""
        if result.finished
        else (
            f" Stopped after {result.runs} of {result.total} runs: intervals and means are of "
            "those."
        )
    )
    source = kind.source.replace("DPALS paper", "Chien et al. 2021 (DPALS)")
    every = len(cells(result.spec, possible=False))
    missing = every - len(cells(result.spec))
    if missing:
        unfinished += (
            f" {missing} of {every} points are left out: fewer items or users than factors."
        )
    most = (
        "the ε on the axis or in the name"
        if kind.own_epsilon
        else f"ε = {three(base.noise.epsilon or 1.0)}"
    )
    st.caption(
        f"{result.runs} runs in {result.seconds:.0f} s. Means over {seeds_of(result)} (split, "
        f"start and noise); bars: 95 % t-intervals of the mean.{unfinished} After {source}. "
        "Settings stay the same along a line; every comparison is at 95 % on its own. ε is of one "
        "run: the runs of a published study compose. The guaranteed total is at most "
        f"{most}, at δ = {power(base.noise.delta)}, for one user added or removed; lines called "
        "*no noise* and the dotted baselines protect nobody."
    )


def seeds_of(result: StudyResult) -> str:
    """How many seeds the points have so far."""
    made = {len(point.values["error"]) for point in result.points}
    low, high = min(made), max(made)
    return (f"{low} to {high} seeds" if low < high else f"{high} seeds") if high > 1 else "one seed"


STUDY = Study(
    room="completion",
    name="study",
    live="Held-out error of the runs made so far.",
    curves=study_charts.study_curves,
    sentences=study_sentences.study_sentences,
    about=about,
    method=_method,
)


def skew(data: RatingsData, k: int, seed: int) -> None:
    """How evenly the ratings that take part are spread (dpals-paper figures 2 and 6)."""
    train = split_of(data, seed).train
    skews = _spreads(data, k, seed)
    sentences = study_sentences.skew_sentences(skews, k)
    verdict(sentences[0])
    show(study_charts.skew_curves(skews), "skew", sentences[0])
    observations(sentences[1:])
    fold("Weight gained and lost, by user and item", "cells", lambda: _cells(skews, train.name, k))


def _cells(skews: Sequence[Skew], name: str, k: int) -> None:
    show(
        study_charts.skew_cells(skews),
        "skew-cells",
        "Change in weight by user and item count against all ratings, in percentage points.",
    )
    st.caption(
        f"Training ratings of {name}, at most k = {k} a user. Red gains, blue loses against all "
        "ratings. Exact counts stand in for the noisy ones that a private run samples by: this "
        "describes data that you hold, and is no release. After Chien et al. 2021 (DPALS), "
        "figures 2 and 6."
    )


@st.cache_resource(max_entries=4, show_spinner="Finding whose ratings take part…")
def _spreads_known(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    return _counted(data, k, seed)


def _spreads(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    """Counted once for a set of the catalogue; of a user's own set nothing is kept here."""
    known = not user_datasets.is_own(data.dataset)
    return _spreads_known(data, k, seed) if known else _counted(data, k, seed)


def _counted(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    return spreads(split_of(data, seed).train, k, seed)
