"""The stories of the *Budget* page.

What was found in the papers, each with its numbers computed on the spot.

Sentences written from accounts, and one fold per finding, whose words are
``data/stories.toml``.
"""

import math
import string
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import streamlit as st

from dpmc_core.experiments.studies.spec import overall_epsilon
from dpmc_core.factorization.published import paper_sigma
from dpmc_core.facts import facts, typed
from dpmc_core.mechanisms import (
    FAMILIES,
    RUN_FAMILIES,
    Gaussian,
    Huber,
    Mechanism,
    textbook_gaussian_epsilon,
)
from dpmc_core.privacy import Statement, odds_sentence
from dpmc_core.privacy.compare import dpals_counts, price
from dpmc_core.wording import power, three
from pages.parts.budget import charts as budget_charts
from pages.parts.budget.controls import MANY, USUAL, Question
from pages.parts.ui.looks import IDENTITY
from pages.parts.ui.on_screen import show_table

_PAUSE = 0.3  # seconds between two counts made ahead: visitors come first


@dataclass(frozen=True, kw_only=True)
class _Story:
    """One finding; the fields are described at the top of ``data/stories.toml``."""

    title: str
    text: str
    source: str
    row: str = ""


_STORIES = {
    name: typed(_Story, fields, f"data/stories.toml, {name}")
    for name, fields in facts("stories").items()
}


class _Rounded(string.Formatter):
    """Numbers get three digits where the text does not say how many."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return (
            three(value)
            if isinstance(value, float) and not format_spec
            else str(super().format_field(value, format_spec))
        )


_filled = _Rounded().format


def observations(
    statements: Sequence[Statement], mechanisms: Sequence[Mechanism], sensitivity: float
) -> list[str]:
    """What the composition figure shows."""
    out = []
    by_name = {m.name: (m, s) for m, s in zip(mechanisms, statements, strict=True)}
    huber, statement = by_name["huber"]
    added = statement.accounts[0].epsilon
    if statement.draws > 1:
        out.append(
            f"The ε values of {statement.draws:,} releases with Huber noise sum to {three(added)}. "
            f"The tightest accounting gives {three(statement.epsilon)} at "
            f"δ = {power(statement.accounts[-1].delta)}."
        )
    costs = ", ".join(
        f"{IDENTITY[m.name].title} {three(price(m, sensitivity))}" for m in mechanisms
    )
    out.append(
        f"One release here costs, relative to Gaussian noise of its own variance: {costs}. For "
        "small shifts that tends to 2 for Laplace, "
        f"{three(huber.fisher_information * huber.variance)} for this Huber noise and 1 for "
        "Gaussian."
    )
    of_huber, of_laplace = price(huber, sensitivity), price(by_name["laplace"][0], sensitivity)
    if abs(of_huber - 1) < 0.3 and of_laplace - of_huber > 0.2:
        out.append(
            "Of the three, only Huber noise has both a pure ε and nearly Gaussian composition "
            f"({three(of_huber)} times its cost)."
        )
    elif abs(of_huber - of_laplace) < abs(of_huber - 1):
        out.append(
            "At this α and Δ Huber noise composes much like Laplace noise; a larger α or more "
            "noise brings it closer to Gaussian noise."
        )
    hopeless = [IDENTITY[m.name].title for m, s in by_name.values() if s.epsilon > 20]
    if hopeless:
        out.append(
            f"An ε above 20 ({', '.join(hopeless)}) is no protection in practice. Use fewer "
            "releases, more noise or more people."
        )
    return out


def least_by_count(variances: Sequence[Sequence[float]], mechanisms: Sequence[Mechanism]) -> str:
    """Which noise needs the least variance at which numbers of releases, in one sentence."""
    names = [IDENTITY[m.name].title for m in mechanisms]
    runs: list[tuple[str, int, int]] = []
    for k, count in enumerate(budget_charts.NEEDED_COUNTS):
        least = min(v[k] for v in variances)
        # the curves are right to 0.2 %: closer than that is a tie
        best = " and ".join(
            name for name, v in zip(names, variances, strict=True) if v[k] <= least * 1.004
        )
        if runs and runs[-1][0] == best:
            runs[-1] = (best, runs[-1][1], count)
        else:
            runs.append((best, count, count))
    clauses = [
        f"{best} at T = {first}" + (f"–{last}" if last > first else "")
        for best, first, last in runs
    ]
    return "Least variance, of the numbers of releases drawn: " + ", ".join(clauses) + "."


@lru_cache(maxsize=32)
def paper_statements(delta: float) -> list[tuple[str, float, float, float, float]]:
    """Variance 2, Δ = 5: noise, ε per draw, and ε of 50 and of 1,000 draws added up and tightest of
    1,000.
    """
    rows = []
    for noise in (FAMILIES[name].with_variance(2.0) for name in RUN_FAMILIES):
        fifty, thousand = (
            Question(run="als", count=count, sensitivity=5.0, delta=delta).statement(noise)
            for count in (50, 1000)
        )
        added, tight = thousand.accounts[0].epsilon, thousand.epsilon
        rows.append(
            (IDENTITY[noise.name].title, fifty.epsilon_per_draw, fifty.epsilon, added, tight)
        )
    return rows


def make_ahead() -> None:
    """The counts of the page as it opens, one after the other and not in a hurry."""
    for noise in USUAL.mechanisms():
        USUAL.curve(noise)
        USUAL.statement(noise)
        time.sleep(_PAUSE)
    for count in MANY:
        for noise in USUAL.mechanisms():
            replace(USUAL, count=count).statement(noise)
        time.sleep(_PAUSE)
    for shape in USUAL.shapes():
        USUAL.needed(shape)
        USUAL.least(shape)
        time.sleep(_PAUSE)
    paper_statements(USUAL.delta)
    dpals_counts()


def tell(
    statement: Statement, variance: float, alpha: float, sensitivity: float, delta: float
) -> None:
    """One fold per finding, with live numbers and its source; ``statement`` is of Huber noise."""
    huber, small, large = Huber(alpha=alpha), dpals_counts()[4], dpals_counts()[6]
    exact = Gaussian.with_variance(variance).epsilon_at_delta(delta, sensitivity)
    two, rows = 5 * Huber.with_variance(2.0).alpha, paper_statements(delta)
    odds = {
        "logarithm": odds_sentence(exact, delta),
        "unit-scale": odds_sentence(two),
        "equal-epsilon": odds_sentence(1.0),
        "composition": odds_sentence(statement.epsilon, statement.delta),
        "one-draw": odds_sentence(rows[0][1], 0.0, "a rating had this value or another"),
        "dpals": odds_sentence(small.derived_exact, 1e-5),
    }
    values = {
        "variance": variance,
        "alpha": alpha,
        "sensitivity": sensitivity,
        "delta": power(delta),
        "huber": huber,
        "said": statement,
        "small": small,
        "large": large,
        "exact": exact,
        "two": two,
        "printed": textbook_gaussian_epsilon(variance, sensitivity, delta, base10=True),
        "natural": textbook_gaussian_epsilon(variance, sensitivity, delta),
        "unit_scale": Huber(alpha=3.0).variance,
        "three": 5 * Huber.with_variance(3.0).alpha,
        "four": 5 * Huber.with_variance(4.0).alpha,
        "ratio": huber.variance * alpha**2 / 2,
        "price": huber.fisher_information * huber.variance,
        "tightest": power(statement.accounts[-1].delta),
        "added": statement.accounts[0].epsilon,
        "rounds": "; ".join(
            _filled(_STORIES["nmf"].row, round=e, count=n, total=overall_epsilon(e, n, 1e-5))
            for e, n in ((0.1, 100), (0.5, 100), (0.5, 200))
        ),
        "one_round": Gaussian(scale=paper_sigma(1.0, 0.5, 1e-5)).epsilon_at_delta(1e-5, 1.0),
    }
    for name, story in _STORIES.items():
        st.subheader(story.title, anchor=False)
        if name == "one-draw":
            for noise, one, fifty, added, tight in rows:
                total = f"sum {three(added)}, " if math.isfinite(added) else ""
                st.markdown(
                    _filled(story.row, noise=noise, one=one, fifty=fifty, added=total, tight=tight)
                )
        if name == "dpals":
            table = budget_charts.dpals_table(dpals_counts())
            show_table(
                table,
                "Printed ε of DPALS beside five ways to count the same noise.",
                column_config={
                    c: st.column_config.NumberColumn(format="%.3f") for c in table.columns[1:]
                },
            )
        st.markdown(_filled(story.text, **values, odds=odds.get(name)))
        st.caption(story.source)
        if name == "nmf":
            st.page_link(
                "factorization.py", label="See it on the Factorization page", icon=":material/face:"
            )
