"""Studies on the *Completion* page.

Many runs for one question, the spread of ratings over items, and one person's lists.

Lives here: what is shown of them. Does not live here: controls, running, or figures
(``study_charts``).
"""

import json
from functools import lru_cache

import pandas as pd
import streamlit as st

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.configs import RatingsData
from dpmc_core.datasets.data import split_of
from dpmc_core.experiments import RunResult, RunSpec
from dpmc_core.experiments.skew import Skew, spreads
from dpmc_core.experiments.studies.result import StudyResult
from dpmc_core.experiments.studies.spec import cells
from dpmc_core.paths import RESULTS
from dpmc_core.wording import three
from pages.parts.completion import study_charts, texts
from pages.parts.completion.charts import Named, top_entries
from pages.parts.completion.compare_view import export, protection
from pages.parts.server import jobs
from pages.parts.ui import controls
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import draw, show
from pages.parts.ui.names import LETTERS

__all__ = ["lists", "skew", "so_far", "stored", "study_result"]

_STORED = RESULTS / "studies.json"


@lru_cache(maxsize=1)
def stored() -> dict[str, StudyResult]:
    """Results that come with the app, by kind of study.

    Made by ``python -m benchmarks.studies`` on synthetic data.
    """
    with _STORED.open(encoding="utf-8") as file:
        return {kind: StudyResult.from_summary(raw) for kind, raw in json.load(file).items()}


def so_far(job: jobs.Job) -> bool:
    """The points of a running study, if there are any."""
    result: StudyResult | None = job.results[0]
    if result is None:
        return False
    figure, _ = study_charts.study_curves(result)
    draw(figure, "live-study", "Held-out error of the runs made so far.")
    return True


def study_result(result: StudyResult, example: bool = False) -> None:
    """Figure, sentences, and what was run."""
    kind, base = result.spec.study, result.spec.base
    at = "" if kind.own_epsilon else f", total ε = {three(base.noise.epsilon or 1.0)}"
    if example:
        st.caption(
            f":material/info: **Stored example**: {base.data.n_users:,} synthetic users, "
            f"{base.data.n_items} items{at}, {seeds_of(result)}. Press *Run* to compute with "
            "the settings in the sidebar; it takes a minute or two on small data."
        )
    sentences = study_charts.study_sentences(result)
    figure, numbers = study_charts.study_curves(result)
    show(
        figure,
        f"study-{result.spec.kind}",
        sentences[0].replace("**", "") if sentences else kind.title,
        numbers,
    )
    notice(sentences)
    unfinished = (
        ""
        if result.finished
        else (
            f" Stopped after {result.runs} of {result.total} runs: intervals and means are of "
            "those."
        )
    )
    source = kind.source.replace("dpals-paper", "Chien et al. 2021 (DPALS)")
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
        "Settings stay the same along a line: nothing is re-tuned from point to point; every "
        "comparison is at 95 % on its own. ε is of one run: who publishes a whole study adds "
        "its runs up. Where a ledger was written, its sound total is at most "
        f"{most}, at δ = {base.noise.delta:g}, for one user added or removed; lines called *no "
        "noise* and the dotted baselines protect nobody."
    )
    with st.expander(
        "Export", icon=":material/download:", on_change="rerun", key="study-take"
    ) as fold:
        if fold.open:
            st.download_button(
                "Study (JSON)",
                data=lambda: json.dumps(result.summary(), indent=1),
                file_name=f"dpmc-study-{result.spec.kind}.json",
                mime="application/json",
                on_click="ignore",
            )
            st.code(result.spec.python(), language="python")


def seeds_of(result: StudyResult) -> str:
    """How many seeds the points have so far."""
    made = {len(point.values["error"]) for point in result.points}
    low, high = min(made), max(made)
    return (f"{low} to {high} seeds" if low < high else f"{high} seeds") if high > 1 else "one seed"


def skew(data: RatingsData, k: int, seed: int) -> None:
    """How evenly the ratings that take part are spread (dpals-paper figures 2 and 6)."""
    train = split_of(data, seed).train
    skews = _spreads(data, k, seed)
    figure, numbers = study_charts.skew_curves(skews)
    sentences = study_charts.skew_sentences(skews, k)
    show(figure, "skew", sentences[0], numbers)
    notice(sentences)
    st.subheader("Who gains and who loses weight", anchor=False)
    figure, numbers = study_charts.skew_cells(skews)
    show(
        figure,
        "skew-cells",
        "Change in weight by user and item count against all ratings, in percentage points.",
        numbers,
    )
    st.caption(
        f"Training ratings of {train.name}, at most k = {k} a user. Red gains, blue loses "
        "against all ratings. Exact counts stand in for the noisy ones that a private run "
        "samples by: this describes data that you hold, and is no release. After Chien et al. "
        "2021 (DPALS), figures 2 and 6."
    )


@st.cache_resource(max_entries=4, show_spinner="Counting whose ratings take part…")
def _spreads_known(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    return _counted(data, k, seed)


def _spreads(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    """Counted once for a set of the catalogue; of a user's own set nothing is kept here."""
    known = not user_datasets.is_own(data.dataset)
    return _spreads_known(data, k, seed) if known else _counted(data, k, seed)


def _counted(data: RatingsData, k: int, seed: int) -> tuple[Skew, ...]:
    return spreads(split_of(data, seed).train, k, seed)


def lists(results: list[RunResult]) -> None:
    """One person's ten best items from the same model without privacy and at two ε."""
    train = results[0].split.train
    user = controls.whole("User", "list_user", 1, train.n_users, 1) - 1
    titles = [title(r.spec) for r in results]
    entries = [top_entries(r, user) for r in results]
    plain = {item for item, _ in entries[0]}
    columns = {
        heading(r.spec): [("● " if item in plain and k else "") + said for item, said in found]
        + [""] * (10 - len(found))
        for k, (r, found) in enumerate(zip(results, entries, strict=True))
    }
    frame = pd.DataFrame(columns)
    frame.insert(0, "rank", range(1, 11))
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        alt=f"Ten best items for user {user + 1}, without privacy and at two ε.",
    )
    st.caption(
        "● also in the list without privacy. In brackets the predicted rating, clipped to the "
        "scale; ties stand in the order of the unclipped prediction. How many are shared says "
        "how far noise moves a list, not which list is better: by predicted rating alone, items "
        "that few have rated come first where there is no noise to hide them."
    )
    shared = [
        f"{name}: {sum(item in plain for item, _ in found)} of {len(found)} are also in the "
        "list without privacy."
        for name, found in list(zip(titles, entries, strict=True))[1:]
    ]
    notice([*shared, *map(texts.beaten_by, titles, results)])
    rated = int((train.users == user).sum())
    st.caption(
        f"{controls.plain(train.user_label(user).capitalize())} rated {rated} items in the "
        "training data, which are left out. What this person sees is worked out from their own "
        "ratings without noise, for them alone; what the others add to it went through the "
        "noise, where there is any."
    )
    for column, name, result in zip(st.columns(len(results)), titles, results, strict=True):
        with column.container(border=True):
            st.markdown(f"**{name}**")
            protection(result)
    export(
        [
            Named(letter, name, result)
            for letter, name, result in zip(LETTERS, titles, results, strict=False)
        ]
    )


def heading(spec: RunSpec) -> str:
    """A column's heading, short enough for a phone."""
    return (
        "without privacy"
        if spec.noise.mechanism == "none"
        else f"ε = {three(spec.noise.epsilon or 1.0)}"
    )


def title(spec: RunSpec) -> str:
    """A list's heading."""
    name = spec.card.title
    return (
        f"{name}, without privacy"
        if spec.noise.mechanism == "none"
        else f"{name}, total ε = {three(spec.noise.epsilon or 1.0)}"
    )
