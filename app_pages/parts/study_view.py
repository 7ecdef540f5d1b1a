"""Studies on the *Completion* page: many runs for one question, the spread of ratings over items, and one person's lists.

Lives here: what is shown of them. Does not live here: controls, running, or figures (``study_charts``).
"""

import json
from functools import lru_cache
from pathlib import Path

import pandas as pd
import streamlit as st

from app_pages.parts import controls, jobs, study_charts, texts
from app_pages.parts.compare_view import protection
from app_pages.parts.run_charts import top_entries
from app_pages.parts.style import draw, show
from dpmc_core.experiments import RunResult, RunSpec
from dpmc_core.experiments.data import split_of
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.skew import spreads
from dpmc_core.experiments.studies import STUDIES, StudyResult

__all__ = ["lists", "skew", "so_far", "stored", "study_result"]

_STORED = Path(__file__).resolve().parents[2] / "data" / "results" / "studies.json"


@lru_cache(maxsize=1)
def stored() -> dict[str, StudyResult]:
    """Results that come with the app, by kind of study: made by ``python -m benchmarks.studies`` on synthetic data."""
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
    kind, base = STUDIES[result.spec.kind], result.spec.base
    if example:
        st.caption(
            f":material/info: **Stored example**: {base.n_users:,} synthetic users, {base.n_items} items, {result.spec.seeds} seeds. Press *Run* to compute with "
            "the settings in the sidebar; it takes less than a minute on small data."
        )
    sentences = study_charts.study_sentences(result)
    figure, numbers = study_charts.study_curves(result)
    show(figure, f"study-{result.spec.kind}", sentences[0].replace("**", "") if sentences else kind.title, numbers)
    st.markdown("**What to notice**")
    for sentence in sentences:
        st.markdown(f"- {sentence}")
    unfinished = (
        ""
        if result.finished
        else f" Stopped after {result.runs} of {result.total} runs: intervals and means are of those."
    )
    st.caption(
        f"{result.runs} runs in {result.seconds:.0f} s. Means over {result.spec.seeds} seeds (split, start and noise); bars: 95 % t-intervals of the mean."
        f"{unfinished} After {kind.source}. Settings stay the same along a line: nothing is re-tuned from point to point. Where a ledger was written, its sound total is at most the ε "
        f"on the axis or in the name, at δ = {base.delta:g}, for one user added or removed; lines called *no noise* protect nobody."
    )
    with st.expander("Take it with you", icon=":material/download:", on_change="rerun", key="study-take") as fold:
        if fold.open:
            st.download_button(
                "Study (JSON)",
                data=lambda: json.dumps(result.summary(), indent=1),
                file_name=f"dpmc-study-{result.spec.kind}.json",
                mime="application/json",
                on_click="ignore",
            )
            st.code(
                "from dpmc_core.experiments import RunSpec\nfrom dpmc_core.experiments.studies import StudySpec, study\n\n"
                f"base = RunSpec({', '.join(f'{k}={v!r}' for k, v in base.changes().items())})\n"
                f"result = study(StudySpec(kind={result.spec.kind!r}, base=base, seeds={result.spec.seeds}))\n",
                language="python",
            )


def skew(spec: RunSpec) -> None:
    """How evenly the ratings that take part are spread (dpals-paper figures 2 and 6), computed at once."""
    train = split_of(spec).train
    skews = spreads(train, spec.items_per_user, spec.seed)
    figure, numbers = study_charts.skew_curves(skews)
    sentences = study_charts.skew_sentences(skews, spec.items_per_user)
    show(figure, "skew", sentences[0], numbers)
    st.markdown("**What to notice**")
    for sentence in sentences:
        st.markdown(f"- {sentence}")
    st.subheader("Who gains and who loses weight", anchor=False)
    figure, numbers = study_charts.skew_cells(skews)
    show(
        figure,
        "skew-cells",
        "Change in weight by user and item count against all ratings, in percentage points.",
        numbers,
    )
    st.caption(
        f"Training ratings of {train.name}, at most k = {spec.items_per_user} a user. Red gains, blue loses against all ratings. Exact counts stand in for the noisy ones that a private run "
        "samples by: this describes data that you hold, and is no release. After dpals-paper, figures 2 and 6."
    )


def lists(results: list[RunResult]) -> None:
    """One person's ten best items from the same model without privacy and at two ε."""
    train = results[0].split.train
    user = controls.whole("User", "list_user", 1, train.n_users, 1) - 1
    titles = [title(r.spec) for r in results]
    entries = [top_entries(r, user) for r in results]
    plain = {item for item, _ in entries[0]}
    columns = {
        name: [("● " if item in plain and k else "") + said for item, said in found] + [""] * (10 - len(found))
        for k, (name, found) in enumerate(zip(titles, entries, strict=True))
    }
    frame = pd.DataFrame(columns)
    frame.insert(0, "rank", range(1, 11))
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        alt=f"Ten best items for user {user + 1}, without privacy and at two ε.",
    )
    st.caption("● also in the list without privacy. In brackets the predicted rating, clipped to the scale.")
    st.markdown("**What to notice**")
    for name, found in list(zip(titles, entries, strict=True))[1:]:
        same = sum(item in plain for item, _ in found)
        st.markdown(f"- {name}: {same} of {len(found)} are also in the list without privacy.")
    for name, result in zip(titles, results, strict=True):
        st.markdown(f"- {texts.beaten_by(name, result)}")
    rated = int((train.users == user).sum())
    st.caption(
        f"{train.user_label(user)} rated {rated} items in the training data, which are left out. What this person sees is worked out from their own ratings without noise, for them alone; "
        "what the others add to it went through the noise."
    )
    for column, name, result in zip(st.columns(len(results)), titles, results, strict=True):
        with column.container(border=True):
            st.markdown(f"**{name}**")
            protection(result)


def title(spec: RunSpec) -> str:
    """A list's heading."""
    name = ALGORITHMS[spec.algorithm].title
    return f"{name}, without privacy" if spec.epsilon is None else f"{name}, total ε = {texts.three(spec.epsilon)}"
