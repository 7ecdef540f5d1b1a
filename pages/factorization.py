"""Factorization: faces into parts, documents into topics, with and without privacy, run live; and studies of what privacy costs."""

import streamlit as st

from dpmc_core.datasets import entry
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments import FactorSpec
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.studies.factorization import FACTOR_STUDIES, FactorStudySpec
from pages.parts.factorization import study_view as factor_study_view
from pages.parts.factorization import view as factor_view
from pages.parts.factorization.controls import (
    FACTOR_TITLES,
    QUESTIONS,
    data_controls,
    method_controls,
    privacy_controls,
    side_by_side,
)
from pages.parts.server import jobs
from pages.parts.ui import controls, glossary
from pages.parts.ui.run_panel import Panel, panel

controls.on_page("factorization.py", FACTOR_TITLES)
seeds = 1
with st.sidebar:
    st.subheader("Question")
    question = controls.choice("Question", "f_question", QUESTIONS, "compare")
    st.subheader("Data")
    shared = data_controls(question)
    known = entry(shared["dataset"])
    st.subheader("Method")
    shared |= method_controls(known.name, question)
    st.subheader("Privacy")
    privacy = privacy_controls(known.name, question)
    st.subheader("Seed")
    shared["seed"] = controls.number("Seed", "f_seed", "seed", 0)
    if question in FACTOR_STUDIES:
        seeds = int(controls.number("Seeds of each point", "f_seeds", "study_seeds", 3))

images = known.holds == "images"
glossary.title("Can faces and topics be learned in private?", "factorization")
if question == "compare":
    st.markdown(
        f"*Non-negative factorisation* finds {'parts that add up to faces' if images else 'topics that add up to documents'}. Four ways side by side: not private; private **as published**, "
        "which is not; the same idea **made sound**; and **moment NMF**, which releases two or three sums once, without rounds."
    )
else:
    st.markdown(f"**{QUESTIONS[question]}** {FACTOR_STUDIES[question].intro}")
st.markdown(
    f"**One {'image' if images else 'document'} is protected** in the sound forms: it may be in the data or not. What leaves is the {'parts' if images else 'topics'}; how much of each "
    f"{'a face' if images else 'a document'} holds stays with its owner."
)
problems = st.container()  # filled last, when every control has been drawn

specs: tuple[FactorSpec, ...] = ()
study: FactorStudySpec | None = None
problem = ""
try:
    if question == "compare":
        specs = tuple(FactorSpec(**fields) for fields in side_by_side(shared, privacy))
    else:
        noise = {
            name: privacy[name] for name in ("mechanism", "alpha", "epsilon") if name in privacy
        }
        fields = {
            **shared,
            **noise,
            **{name: privacy[name] for name in ("delta", "averaging", "start", "neighbours")},
        }
        if question == "rounds":
            base = FactorSpec(
                **fields, algorithm="private-nmf-published", rounds=privacy["published_rounds"]
            )
        else:
            base = FactorSpec(**fields, algorithm="moment-nmf")
        study = FactorStudySpec(kind=question, base=base, seeds=seeds)
    if not known.present():
        where = (
            "fetch it on the Datasets page"
            if known.fetchable
            else "the Datasets page says where to get it"
        )
        problem = f"{known.title} is not on this machine yet: {where}, or choose a set that ships with the app."
except ParameterError as error:
    named = f"How many {'parts' if images else 'topics'} K" if error.name == "rank" else error.name
    problem = str(ParameterError(named, error.value, error.allowed))
except DPMCError as error:
    problem = str(error)
if not known.present():
    st.page_link("datasets.py", label="Go to the Datasets page", icon=":material/database:")


def compare() -> None:
    """What each method learned."""

    def example() -> None:
        name, count, parts = ("lfw", "100 faces", 16) if images else ("lee", "300 news articles", 8)
        st.caption(
            f":material/info: **Example**: {count} that ship with the app, K = {parts}, total ε = 10. Choose yours in the sidebar and press *Run*."
        )
        sound = {"mechanism": "gaussian", "epsilon": 10.0}
        chosen = [
            {"algorithm": "nmf"},
            {"algorithm": "private-nmf-published", "mechanism": "gaussian", "epsilon": 0.5},
            {"algorithm": "private-nmf", **sound},
            {"algorithm": "moment-nmf", **sound},
        ]
        factor_view.factor_results(
            factor_view.example(
                tuple(FactorSpec(dataset=name, rank=parts, **fields) for fields in chosen)
            )
        )

    panel(
        Panel(
            kind="factors",
            wanted=specs,
            problem=problem,
            start=lambda: jobs.start_factors(specs),
            step="round",
            so_far=factor_view.factors_so_far,
            show=lambda job: factor_view.factor_results(job.results),
            example=example,
            beside=lambda: st.caption(
                "Not private: "
                + ", ".join(FACTORIZERS[n].title for n in ("nmf", "private-nmf-published"))
                + ". With a guarantee: "
                + ", ".join(FACTORIZERS[n].title for n in ("private-nmf", "moment-nmf"))
                + "."
            ),
        )
    )


def studied() -> None:
    """Many runs for one question."""
    wanted = study
    panel(
        Panel(
            kind=f"factor-study-{question}",
            wanted=() if wanted is None else (wanted,),
            problem=problem,
            start=lambda: jobs.start_factor_study(wanted) if wanted is not None else jobs.Job(),
            step="run",
            so_far=factor_study_view.factor_study_so_far,
            show=lambda job: factor_study_view.factor_study_result(job.results[0]),
            example=lambda: factor_study_view.factor_study_result(
                factor_study_view.stored()[question], example=True
            ),
        )
    )


(compare if question == "compare" else studied)()

with problems:
    controls.link_problems()
