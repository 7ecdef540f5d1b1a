"""What the *Factorization* page runs: methods side by side, or a study of one question."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.studies.spec import STUDIES
from pages.parts.factorization import view
from pages.parts.factorization.controls import PUBLISHED_ROUNDS, QUESTIONS, Asked
from pages.parts.frame.study import Built
from pages.parts.ui.run_panel import Example, Panel, example_runs, panel


def introduction(asked: Asked) -> None:
    """Say what is compared, and what is protected."""
    images = asked.images
    if asked.question == "compare":
        st.markdown(
            "*Non-negative matrix factorisation* finds "
            f"{'parts that sum to images' if images else 'topics that sum to documents'}. "
            "Four algorithms: NMF without privacy; private NMF **as published**, which is not "
            "private; the same algorithm **corrected**; and **one-shot moment NMF**, which "
            "releases two or three noisy sums once and needs no rounds."
        )
    else:
        study = STUDIES["factorization"][asked.question]
        st.markdown(f"**{QUESTIONS[asked.question]}** {study.intro}")
    unit = "image" if images else "document"
    st.markdown(
        f"**Neighbouring datasets differ in one {unit}**, wherever there is a guarantee. The "
        f"{'parts' if images else 'topics'} are released; the weights of each {unit} stay with "
        "its owner."
    )


def compare(asked: Asked, built: Built, row: DeltaGenerator) -> None:
    """Run the methods side by side, and show what each learned."""
    panel(
        Panel(
            kind="factors",
            wanted=built.specs,
            problem=built.problem,
            step="round",
            so_far=view.factors_so_far,
            show=lambda job: view.factor_results(job.results),
            example=_example(images=asked.images),
            row=row,
            seed="f_seed",
        )
    )


def example_specs(*, images: bool) -> tuple[RunSpec, ...]:
    """The runs that are shown before the first."""
    name, count, parts, epsilon = ("cartoon", 2000, 20, 2.0) if images else ("lee", 0, 8, 2.0)
    data: dict[str, Any] = {"dataset": name, "rank": parts}
    if count:
        data["n_samples"] = count
    private = {"mechanism": "gaussian", "epsilon": epsilon}
    chosen: list[dict[str, Any]] = [
        {"algorithm": "nmf"},
        {
            "algorithm": "private-nmf-published",
            "mechanism": "gaussian",
            "epsilon": 0.5,
            "rounds": PUBLISHED_ROUNDS,
        },
        {"algorithm": "private-nmf", **private},
        {"algorithm": "moment-nmf", **private},
    ]
    return tuple(RunSpec.of(**data, **fields) for fields in chosen)


def _example(*, images: bool) -> Example:
    specs = example_specs(images=images)
    about = (
        "2,000 cartoon faces"
        if images
        else "300 news articles that ship with the app, K = 8, total ε = 2"
    )
    return Example(about=about, specs=specs, draw=lambda: view.factor_results(example_runs(specs)))


def examples() -> list[tuple[RunSpec, ...]]:
    """Return the runs that the page shows as it opens."""
    return [example_specs(images=True)]
