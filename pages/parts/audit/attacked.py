"""What the *Audit* page attacks: in words, and the two datasets as pictures or tables."""

import streamlit as st

from dpmc_core.datasets import entry, user_datasets
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks.audit_spec import (
    CASES,
    FACTOR_TARGETS,
    VIEWS,
    AuditSpec,
    seen_by_attacker,
)
from dpmc_core.experiments.tasks.audit_targets import neighbours, true_counts
from dpmc_core.wording import three
from pages.parts.audit import charts
from pages.parts.audit.controls import CASE_TITLES, NEIGHBOUR_TITLES, NOISES, TARGETS, VIEW_TITLES
from pages.parts.ui import controls
from pages.parts.ui.figures import draw, show

_RECORDS = {
    "rating": "one rating, high or low",
    "user": "one user's ratings",
    "image": "one image or document, there or not",
}
_LOOKED_AT = {
    "parts": "the 64 pixels or words in which the record is farthest from the mean",
    "factors": "the record's 8 least-rated items, and the users who share most of them",
}
REPEATED = (
    "Two datasets differ only in Alice. The attacker sees what is published from one of them, many "
    "times over, and learns to distinguish them. How well that works on fresh outputs *proves* a "
    "lower bound on ε: if a claim is below it, the claim is wrong."
)
ONE_RUN = (
    "Canaries are synthetic records; a coin decides for each whether it is in the data. After one "
    "run the attacker guesses which are in. A small ε allows few more right guesses than wrong "
    "ones, so many right ones *prove* a lower bound on ε: if a claim is below it, the claim is "
    "wrong."
)
_DIFFERENCES = {**NEIGHBOUR_TITLES, "image": "Alice's picture"}


def in_words(spec: AuditSpec) -> str:
    """Say what is attacked, in a few words."""
    noise = f"{NOISES[spec.mechanism]} noise"
    if spec.target == "number":
        return f"one number, {CASE_TITLES[spec.case]}, {noise}, claimed ε = {three(spec.epsilon)}"
    amount = (
        f"total ε = {three(spec.epsilon)}"
        if spec.about_the_whole_run
        else f"nominal ε = {three(spec.epsilon)} per release"
    )
    on, differs = "", _DIFFERENCES[spec.neighbours]
    if spec.dataset:
        on = f" on {controls.plain(_title(spec.dataset))}"
        differs = _RECORDS[spec.neighbours]
    sees = VIEW_TITLES.get(spec.view, "learned parts")
    how = f"the two datasets differ in {differs}; the attacker sees the {sees}"
    if spec.canaries:
        how = f"one run with {spec.canaries:,} canaries; the attacker sees all releases"
    rounds = f", T = {spec.iterations}" if ALGORITHMS[spec.target].steps is None else ""
    return f"{TARGETS[spec.target]}{on}{rounds}, {noise} at {amount}; {how}" + (
        f"; {CASE_TITLES[spec.case]}" if spec.case != "as-claimed" else ""
    )


def _title(dataset: str) -> str:
    """What a set is called; an own one may be gone by now."""
    own = user_datasets.is_own(dataset) and dataset not in user_datasets.current()
    return "your own data" if own else str(entry(dataset).title)


def two_datasets(spec: AuditSpec) -> None:
    """Show the datasets with and without Alice."""
    if spec.target == "number":
        number(spec.case)
    elif spec.dataset:
        _brought(spec)
    elif spec.target in FACTOR_TARGETS:
        _pictures(spec.target)
    else:
        _tables(spec)


def _brought(spec: AuditSpec) -> None:
    parts = spec.target in FACTOR_TARGETS
    sees = seen_by_attacker("parts" if parts else spec.view, "the user")
    st.markdown(
        f"**Attacked:** {TARGETS[spec.target]}, on {controls.plain(_title(spec.dataset))} with one "
        f"record and without it. The attacker knows both and sees {sees}, as far as it tells most: "
        f"{_LOOKED_AT['parts' if parts else 'factors']}."
    )
    st.caption(
        "What the audit shows is drawn from the data itself, without noise: it is for those who "
        "hold them. Settings that are not on this page are the algorithm's usual ones."
    )


def number(case: str) -> None:
    """Say what a published number is with Alice and without her."""
    with_alice, without = (1, 0) if case in ("low-bits", "on-grid") else true_counts()
    st.markdown(
        "**Attacked:** the number of people in the data, published once with noise. It is "
        f"**{with_alice}** with Alice and **{without}** without her. {CASES[case]}"
    )


def _pictures(target: str) -> None:
    st.markdown(
        f"**Attacked:** {TARGETS[target]}, on twelve tiny pictures with Alice's or without it. "
        f"The attacker knows all twelve and sees {VIEWS['parts']}."
    )
    draw(
        charts.two_sets(),
        "pictures",
        "Twelve tiny pictures with Alice's, first, and the same with her place empty.",
        toolbar=False,
    )
    caption = "Above with Alice, whose picture is the first; below her place is empty."
    if not ALGORITHMS[target].guarantee:
        caption += (
            " The paper's claim is about one picture replaced by another: an empty one is a "
            "special case, and moves its statistics by half of what it allows."
        )
    st.caption(caption)


def _tables(spec: AuditSpec) -> None:
    st.markdown(
        f"**Attacked:** {TARGETS[spec.target]}, on the left or the right table. The attacker knows "
        f"both and sees {VIEWS[spec.view]}."
        + (f" {CASES[spec.case]}" if spec.case != "as-claimed" else "")
    )
    one_rating = spec.neighbours == "rating"
    names = ("Alice, C: 5", "Alice, C: 1") if one_rating else ("with Alice", "without Alice")
    show(
        charts.two_tables(neighbours(spec.neighbours), names),
        "tables",
        f"Two tables of ratings, {names[0]} and {names[1]}; all else is equal.",
    )
