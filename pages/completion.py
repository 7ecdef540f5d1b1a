"""Completion: ratings filled in and items recommended, with and without noise, run live; and studies of what privacy costs."""

from typing import Any

import streamlit as st

from dpmc_core.datasets import entry
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.presets import LIKING, PEOPLE, WELL_REGULARISED, preset
from dpmc_core.experiments.recommended import house_choice
from dpmc_core.experiments.studies.completion import STUDIES, StudySpec
from pages.parts.completion import compare_view, recommend_view, study_view
from pages.parts.completion.controls import (
    LINK_TITLES,
    configuration,
    data_controls,
    method_controls,
)
from pages.parts.completion.user_controls import (
    PROTECTED,
    QUESTIONS,
    USER_TITLES,
    first_numbers,
    one_configuration,
    use_numbers,
    use_protection,
    use_question,
    user_configurations,
    user_controls,
    usual_numbers,
)
from pages.parts.server import jobs
from pages.parts.ui import controls, glossary
from pages.parts.ui.names import LETTERS
from pages.parts.ui.run_panel import Panel, panel

LISTED = (None, 10.0, 1.0)  # total ε of the three lists that one person sees

controls.on_page("completion.py", LINK_TITLES | USER_TITLES)
question = "compare"
with st.sidebar:
    st.subheader("Question")
    protect = controls.choice(
        "Who is protected", "protect", PROTECTED, "rating", then=use_protection
    )
    if protect == "user":
        question = controls.choice("Question", "question", QUESTIONS, "compare", then=use_question)
    st.subheader("Data")
    shared = data_controls(first_numbers(protect), use_numbers)
    st.subheader("Method")
    usual = usual_numbers(shared["dataset"], question) if protect == "user" else {}
    delta = 1e-5
    if question == "skew":
        st.caption("Nothing is learned here.")
    else:
        shared |= method_controls(
            shared["dataset"],
            usual,
            rating=protect == "rating",
            splits=question in ("compare", "lists"),
        )
    st.subheader("Privacy")
    configurations: list[dict[str, Any]]
    seeds = 1
    if protect == "user":
        settings = user_controls(shared["dataset"], question, shared.get("delta", delta))
        if question in ("compare", "recommend"):
            configurations = user_configurations(question, settings)
        else:
            configurations = [one_configuration(question, settings)]
        if question == "recommend":
            configurations = [{**c, "task": "recommend"} for c in configurations]
    else:
        count = int(controls.segments("Configurations", "n", {"1": "1", "2": "2", "3": "3"}, "2"))
        configurations = [configuration(letter) for letter in LETTERS[:count]]
    st.subheader("Seed")
    shared["seed"] = controls.number("Seed", "seed", "seed", 0)
    if question in STUDIES:
        seeds = int(controls.number("Seeds of each point", "seeds", "study_seeds", 3))

glossary.title("What does noise cost a recommender?", "completion")
if question in ("compare", "lists"):
    st.markdown(
        "Fill in a matrix of ratings from the few that are known, with and without noise, and compare the error on ratings that were "
        "held out. The dotted lines are **trivial predictors**: a run above them has learned nothing useful."
    )
elif question == "recommend":
    st.markdown(
        "Learn from some people what is liked together, with and without noise, and recommend to others who were **held out**. The dotted "
        "lines are trivial: a run below *most liked* has learned nothing useful."
    )
elif question == "skew":
    st.markdown(
        f"**{QUESTIONS[question]}** To bound what one person can change, at most k of their ratings take part. Which of a person's ratings those are "
        "decides how unevenly items are known. *Uniform*: drawn evenly. *Adaptive*: everybody's rarest. *All, by weights*: all of them, rare items weighing more."
    )
else:
    st.markdown(
        f"**{QUESTIONS[question]}** {STUDIES[question].intro} Many runs, the same settings along each line, and what a trivial predictor reaches."
    )
if protect == "user" and question != "skew":
    st.markdown(
        "**Users are protected** wherever there is noise. All of a user's ratings may be in or out. What is learned about items leaves with noise; then "
        "every user's own taste is worked out from their own ratings, for them alone (*joint* differential privacy). ε is the total of one run; several runs on the same people add up."
    )
problems = st.container()  # filled last, when every control has been drawn

specs: tuple[RunSpec, ...] = ()
study: StudySpec | None = None
problem = ""
try:
    specs = tuple(RunSpec(**{**shared, **fields}) for fields in configurations)
    if question in STUDIES:
        study = StudySpec(kind=question, base=specs[0], seeds=seeds)
    if not entry(shared["dataset"]).present():
        problem = f"{entry(shared['dataset']).title} is not on this machine yet: fetch it on the Datasets page, or choose a synthetic set."
except DPMCError as error:
    problem = str(error)
if not entry(shared["dataset"]).present():
    st.page_link("datasets.py", label="Go to the Datasets page", icon=":material/database:")


def chosen_by_rule() -> None:
    """Which model the house would take here, and why; no private data is read."""
    noisy = next((s for s in specs if s.epsilon is not None), None)
    if protect != "user" or noisy is None:
        return
    choice = house_choice(noisy)
    st.caption(
        f":material/rule: **The house's choice here: {compare_view.ALGORITHMS[choice.algorithm].title}.** {choice.why[0].upper()}{choice.why[1:]}. "
        "A rule by sizes and ε; it reads no rating."
    )


def compare() -> None:
    """Ratings predicted by up to three configurations."""

    def beside() -> None:
        controls.switch(
            "Clip predictions to the rating scale",
            "clip",
            help="A prediction of 6 stars becomes 5; the papers probably do this.",
        )

    def clip() -> bool:
        return bool(
            st.session_state.get("clip", False)
        )  # a part of the page may run without its other controls

    def example() -> None:
        if protect == "user":
            text = "4,000 synthetic users and 300 items, total ε = 5"
            people = RunSpec(**PEOPLE)
            shown = tuple(people.but(algorithm=name) for name in ("moments", "dpals"))
        else:
            text = "computed with the usual settings on synthetic data"
            usual = preset(WELL_REGULARISED, "low-rank")
            shown = (RunSpec(**usual), RunSpec(**usual, mechanism="huber", variance=2.0))
        st.caption(
            f":material/info: **Example**: {text}. Choose yours in the sidebar and press *Run*."
        )
        compare_view.results_of(compare_view.named(compare_view.example(shown)), clip())

    panel(
        Panel(
            kind="run-user" if protect == "user" else "run",
            wanted=specs,
            problem=problem,
            start=lambda: jobs.start(specs, "run-user" if protect == "user" else "run"),
            step="iteration",
            so_far=lambda job: compare_view.so_far(job, clip()),
            show=lambda job: compare_view.results_of(compare_view.named(job.results), clip()),
            example=example,
            beside=beside,
        )
    )


def recommend() -> None:
    """Items recommended by up to three configurations."""

    def example() -> None:
        people = RunSpec(
            **{**PEOPLE, **LIKING, "item_share": PEOPLE["item_share"], "task": "recommend"}
        )
        st.caption(
            ":material/info: **Example**: 4,000 synthetic users and 300 items, total ε = 5, moments once and DPALS. Choose yours in the sidebar and press *Run*; on MovieLens, "
            "where what people watch says more about their taste, there is more to find."
        )
        recommend_view.results_of(recommend_view.example((people, people.but(algorithm="dpals"))))

    panel(
        Panel(
            kind="recommend",
            wanted=specs,
            problem=problem,
            start=lambda: jobs.start(specs, "recommend"),
            step="step",
            so_far=recommend_view.so_far,
            show=lambda job: recommend_view.results_of(job.results),
            example=example,
        )
    )


def lists() -> None:
    """One person's ten best without privacy and at two ε."""
    wanted = tuple(
        s.but(mechanism="none", epsilon=None) if epsilon is None else s.but(epsilon=epsilon)
        for s in specs
        for epsilon in LISTED
    )

    def show(results: list[Any]) -> None:
        done = [r for r in results if r is not None]
        if done:
            study_view.lists(done)

    def example() -> None:
        people = RunSpec(**PEOPLE)
        st.caption(
            ":material/info: **Example**: 4,000 synthetic users and 300 items, which have no names. Choose MovieLens 100K in the sidebar for film titles, and press *Run*."
        )
        show(
            compare_view.example(
                tuple(people.but(epsilon=e, **({} if e else {"mechanism": "none"})) for e in LISTED)
            )
        )

    panel(
        Panel(
            kind="lists",
            wanted=wanted,
            problem=problem,
            start=lambda: jobs.start(wanted, "lists"),
            step="iteration",
            so_far=lambda job: compare_view.so_far(job, True),
            show=lambda job: show(job.results),
            example=example,
        )
    )


def studied() -> None:
    """Many runs for one question."""
    wanted = study
    panel(
        Panel(
            kind=f"study-{question}",
            wanted=() if wanted is None else (wanted,),
            problem=problem,
            start=lambda: jobs.start_study(wanted) if wanted is not None else jobs.Job(),
            step="run",
            so_far=study_view.so_far,
            show=lambda job: study_view.study_result(job.results[0]),
            example=lambda: study_view.study_result(study_view.stored()[question], example=True),
        )
    )


def skewed() -> None:
    """Which ratings take part: computed at once, nothing to run."""
    st.query_params.pop("run", None)
    if problem:
        st.error(controls.plain(problem), icon=":material/error:")
        return
    try:
        study_view.skew(specs[0])
    except DPMCError as error:
        st.error(controls.plain(str(error)), icon=":material/error:")


if question not in ("skew", *STUDIES):
    chosen_by_rule()
{"compare": compare, "recommend": recommend, "lists": lists, "skew": skewed}.get(
    question, studied
)()

with problems:
    controls.link_problems()
