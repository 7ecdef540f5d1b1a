"""What the *Factorization* page runs: methods side by side, or a study of one question."""

from typing import Any

import streamlit as st

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.studies.spec import STUDIES
from pages.parts.factorization import study_view, view
from pages.parts.factorization.asked import Asked, Built
from pages.parts.factorization.controls import QUESTIONS
from pages.parts.server import jobs
from pages.parts.ui.run_panel import Panel, panel

__all__ = ["compare", "introduction", "studied"]


def introduction(asked: Asked) -> None:
    """Say what is asked, and what is protected."""
    images = asked.images
    if asked.question == "compare":
        st.markdown(
            "*Non-negative factorisation* finds "
            f"{'parts that add up to images' if images else 'topics that add up to documents'}. "
            "Four ways side by side: not private; private **as published**, which is not; the "
            "same idea **corrected**; and **moment NMF**, which releases two or three sums "
            "once, without rounds."
        )
    else:
        study = STUDIES["factorization"][asked.question]
        st.markdown(f"**{QUESTIONS[asked.question]}** {study.intro}")
    st.markdown(
        f"**One {'image' if images else 'document'} is protected** in the sound forms: it may "
        f"be in the data or not. What leaves is the {'parts' if images else 'topics'}; how much "
        f"of each {'an image' if images else 'a document'} holds stays with its owner."
    )


def compare(asked: Asked, built: Built) -> None:
    """Run the methods side by side, and show what each learned."""
    panel(
        Panel(
            kind="factors",
            wanted=built.specs,
            problem=built.problem,
            start=lambda: jobs.start("factors", built.specs),
            step="round",
            so_far=view.factors_so_far,
            show=lambda job: view.factor_results(job.results),
            example=lambda: _example(images=asked.images),
            beside=_guarantees,
        )
    )


def _example(*, images: bool) -> None:
    name, count, parts = ("lfw", "100 faces", 16) if images else ("lee", "300 news articles", 8)
    st.caption(
        f":material/info: **Example**: {count} that ship with the app, K = {parts}, total ε = "
        "10. Choose yours in the sidebar and press *Run*."
    )
    sound = {"mechanism": "gaussian", "epsilon": 10.0}
    chosen: list[dict[str, Any]] = [
        {"algorithm": "nmf"},
        {"algorithm": "private-nmf-published", "mechanism": "gaussian", "epsilon": 0.5},
        {"algorithm": "private-nmf", **sound},
        {"algorithm": "moment-nmf", **sound},
    ]
    specs = tuple(RunSpec.of(dataset=name, rank=parts, **fields) for fields in chosen)
    view.factor_results(view.example(specs))


def _guarantees() -> None:
    st.caption(
        "Not private: "
        + ", ".join(ALGORITHMS[n].title for n in ("nmf", "private-nmf-published"))
        + ". With a guarantee: "
        + ", ".join(ALGORITHMS[n].title for n in ("private-nmf", "moment-nmf"))
        + "."
    )


def studied(question: str, built: Built) -> None:
    """Run the many runs of one question, and show their figure."""
    wanted = built.study
    panel(
        Panel(
            kind=f"factor-study-{question}",
            wanted=() if wanted is None else (wanted,),
            problem=built.problem,
            start=lambda: jobs.start(f"factor-study-{question}", (wanted,)),
            step="run",
            so_far=study_view.factor_study_so_far,
            show=lambda job: study_view.factor_study_result(job.results[0]),
            example=lambda: study_view.factor_study_result(
                study_view.stored()[question], example=True
            ),
        )
    )
