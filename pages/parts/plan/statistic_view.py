"""A statistic on the *Plan* page: what is asked, its figure and its tabs."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.planning import Candidate, Plan, PlanSpec, halved, plan
from dpmc_core.planning.spec import QUERIES, UNITS, halvings, with_unit, within
from dpmc_core.privacy import Ledger, odds_sentence, state
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.wording import power, three
from pages.parts.frame import drag, presenter, python_lines
from pages.parts.frame.page import caveats, observations, tab, verdict
from pages.parts.ui import controls, declared, densities, on_screen
from pages.parts.ui.figures import Drawn, figure, of_values, show
from pages.parts.ui.looks import IDENTITY, Identity
from pages.parts.ui.on_screen import download, show_table
from pages.parts.ui.series import Line, named_lines

_AROUND = (0.2, 0.35, 0.6, 1.0, 1.7, 2.9, 5.0)  # margins, or people, in those of the answer


@of_values
def epsilon_curves(spec: PlanSpec, candidates: Sequence[Candidate]) -> Drawn:
    """ε of all releases against their margin (or against the people, where these are asked), a
    line for each mechanism, its shape kept; the answer is marked.
    """
    best = candidates[0]
    by_people = spec.unknown == "people"
    x_title = "people" if by_people else f"margin of one release ({UNITS[spec.query][1]})"
    fig = figure(f"{x_title}, log scale", "total ε (log scale)", height=420, log_x=True, log_y=True)
    start = float(best.people or 1) if by_people else best.margin
    xs = [start * factor for factor in _AROUND]
    numbers: dict[str, object] = {x_title: xs}
    lines = []
    for one in (c for c in candidates if c.mechanism.name != "staircase"):
        look = IDENTITY[one.mechanism.name]
        # a wider margin is more noise per person; so are more people with the margin kept
        own = float(one.people or 1) if by_people else one.margin
        (release,) = one.ledger.releases
        more_noise = (replace(release, mechanism=scaled(one.mechanism, x / own)) for x in xs)
        ys = [tightest(Ledger((r,)), spec.delta, coarse=True) for r in more_noise]
        lines.append(Line(look, xs, ys))
        numbers[f"{look.title}: total ε"] = ys
    fig.add_scatter(
        x=[start],
        y=[best.epsilon],
        mode="markers",
        marker={"symbol": "circle-open", "size": 20, "color": "#888888", "line": {"width": 3}},
        name="the plan",
    )
    return named_lines(fig, lines), pd.DataFrame(numbers)


def mechanism_table(answer: Plan) -> pd.DataFrame:
    """All mechanisms, the best first."""
    rows = []
    for one in answer.candidates:
        alpha = getattr(one.mechanism, "alpha", None)
        rows.append(
            {
                "mechanism": one.mechanism.title + (f", α = {three(alpha)}" if alpha else ""),
                "total ε": three(one.epsilon),
                "margin, 95 %": within(one.margin, answer.spec.query),
                **({"people": f"{one.people:,}"} if one.people is not None else {}),
                "standard deviation": with_unit(one.mechanism.std, answer.spec.query),
            }
        )
    return pd.DataFrame(rows)


_plan = lru_cache(maxsize=64)(plan)
_PAUSE = 0.3  # seconds between two plans made ahead: visitors come first
ASKED = {"epsilon": "least ε", "people": "fewest people", "margin": "best mechanism"}
LINK_TITLES = {"n_query": QUERIES, "n_asked": ASKED}
USUAL: dict[str, Any] = {"epsilon": 1.0, "people": 5000, "margin": 1.0, "releases": 10}
USUAL_MARGIN = {"mean": 1.0, "sum": 1000.0, "count": 50.0, "histogram": 50.0}
_FACTORS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)  # of the usual
_SHARES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the people planned
_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def _picked(key: str, titles: dict[str, str], usual: str) -> str:
    """What a box that is drawn later says."""
    linked = st.query_params.get(key, "")
    name = next((name for name, title in titles.items() if linked in (name, title)), usual)
    return str(st.session_state.get(key) or name)


def statistic_panel(row: DeltaGenerator) -> None:
    """Plan what is exact: a number, sum or histogram."""
    try:
        with row:
            spec = statistic_form(goal_box())
            follow_margin(spec)
        controls.link_problems()
        with st.spinner("Searching every mechanism…"):
            answer = _plan(spec)
    except DPMCError as error:
        verdict("This cannot be planned.")
        controls.show_error(error)
        return
    verdict(answer.sentence)
    against = "people" if spec.unknown == "people" else "margin"
    curves = epsilon_curves(answer.spec, answer.candidates)
    show(curves, "plan", f"Total ε against the {against}. {answer.sentence}")
    on_screen.add_lines("The same plan", spec.python())
    observations(findings(answer))
    tab("All mechanisms", "mechanisms", lambda: show_mechanisms(answer))
    if answer.of_population():
        tab("Population", "population", lambda: show_population(answer))
    tab("Attacker", "tradeoff-function", lambda: show_attackers(answer))
    tab("Method", "method", lambda: show_method(answer))
    tab("Export", "export", lambda: offer_export(answer))


def _usual_box(name: str) -> Any:
    return declared.box(f"plan.{name}", f"n_{name}", USUAL[name], needed=True)


def goal_box() -> dict[str, float]:
    """Draw the goal, above the figure: a margin, or, where the bar asks so, ε."""
    if _picked("n_asked", ASKED, "epsilon") == "margin":
        goal = {"epsilon": _usual_box("epsilon")}
        presenter.steps("n_epsilon", _EPSILONS)
        return goal
    query = _picked("n_query", QUERIES, "mean")
    key, margins = f"n_margin_{query}", _margins(query)
    margin = controls.steps_slider(
        f"Margin, 95 % ({UNITS[query][1]})", key, margins, USUAL_MARGIN[query], limit="plan.margin"
    )
    presenter.steps(key, margins)
    return {"margin": margin}


def _margins(query: str) -> tuple[float, ...]:
    return tuple(USUAL_MARGIN[query] * factor for factor in _FACTORS)


def follow_margin(spec: PlanSpec) -> None:
    """Have the figure follow the margin."""

    def frame(margin: float) -> drag.Frame:
        answer = _plan(replace(spec, margin=margin))
        return drag.Frame(
            answer.sentence, {"plan": epsilon_curves(answer.spec, answer.candidates)[0]}
        )

    if spec.margin is not None:
        key = f"n_margin_{spec.query}"
        values = controls.with_linked(key, _margins(spec.query), "plan.margin")
        drag.follow(key, values, frame, replace(spec, margin=1.0), playing="Play")


def statistic_form(target: dict[str, float]) -> PlanSpec:
    """Draw what is released and asked, and the settings. Raises ``ParameterError`` for what
    contradicts itself.
    """
    query = controls.choice("What is released", "n_query", QUERIES, "mean")
    given: dict[str, Any] = {"query": query, **target}
    possible = ASKED if query == "mean" else {n: t for n, t in ASKED.items() if n != "people"}
    with controls.place():
        of = controls.choice("What is asked", "n_asked", possible, "epsilon")
    with controls.place():
        if of == "people":
            given["epsilon"] = _usual_box("epsilon")
        elif query == "mean":
            given["people"] = _usual_box("people")
    given["releases"] = declared.box("plan.releases", "n_releases", USUAL["releases"])
    with controls.settings():
        with controls.place():
            if query in ("mean", "sum"):
                given["low"] = declared.box("plan.low", "n_low")
                given["high"] = declared.box("plan.high", "n_high")
            if query == "mean":
                given["spread"] = declared.box("plan.spread", "n_spread", 10.0)
            if query == "histogram":
                given["bins"] = declared.box("plan.bins", "n_bins")
        given["delta"] = declared.box("account_delta", "n_delta", 1e-5)
    try:
        return PlanSpec(**given)
    except ParameterError as error:
        # the page's words for what contradicts itself
        name = {"low": "Least"}.get(error.name, error.name)
        allowed = error.allowed.replace("below high", "below Most")
        raise ParameterError(name, error.value, allowed) from None


def make_ahead() -> None:
    """The plans of the page as it opens, one after the other and not in a hurry."""
    for margin in _margins("mean"):
        answer = _plan(PlanSpec(margin=margin, people=USUAL["people"], releases=USUAL["releases"]))
        epsilon_curves(answer.spec, answer.candidates)
        time.sleep(_PAUSE)


def findings(answer: Plan) -> list[str]:
    """What to notice: odds, what would halve ε, and what a margin leaves out."""
    spec = answer.spec
    sentences = [odds_sentence(answer.best.epsilon, spec.delta)]
    if spec.query in ("mean", "sum"):
        sentences += [
            f"A person's number is {spec.low:g} to {spec.high:g} points: a point is one unit of "
            "it, such as a year of age."
        ]
    if not on_screen.presenting() and (ways := halvings(halved(answer), spec.query)):
        sentences += [f"To halve ε, accept one of: {', or '.join(ways)}."]
    return [*sentences, answer.population_sentence]


def show_mechanisms(answer: Plan) -> None:
    """Show every mechanism that meets the plan, and why others do not."""
    show_table(mechanism_table(answer), "Every mechanism that meets the plan, the best first.")
    st.caption(
        "Huber noise has the α that needs least here. Mechanisms within 0.1 % of the best are as "
        "good; the simplest stands first."
    )
    for name, why in answer.refused.items():
        st.caption(f"{name.capitalize()}: {why}.")


def show_population(answer: Plan) -> None:
    """Draw both parts of the margin of the population's mean against the number of people."""
    planned = answer.best.people or 1
    people = [max(1.0, planned * factor) for factor in _SHARES]
    margins = [answer.of_population(n) or (0.0, 0.0, 0.0) for n in people]
    fig = figure("people (log scale)", "margin, 95 % (points, log scale)", log_x=True, log_y=True)
    parts = {
        "sampling": ("#D55E00", "dash"),
        "noise": ("#0072B2", "dot"),
        "both": ("#009E73", "solid"),
    }
    numbers: dict[str, object] = {"people": people}
    lines = []
    for k, (name, (colour, dash)) in enumerate(parts.items()):
        numbers[name] = [margin[k] for margin in margins]
        if max(margin[k] for margin in margins) > 0:
            lines.append(Line(Identity(name, colour, dash), people, [m[k] for m in margins]))
    fig.add_vline(x=planned, line={"width": 1, "dash": "dot", "color": "#888888"})
    show(named_lines(fig, lines), "population", answer.population_sentence, pd.DataFrame(numbers))
    st.caption(
        "Noise falls as 1/people, sampling error as 1/√people (drawn at random from many more). "
        "That is about right from 30 people on, or where ten have what few have, and of numbers "
        "cut to the range. "
        "The standard deviation is taken as publicly known: computed from the people it would "
        "itself spend ε; left out, it is the largest that the range allows. Who knows no bounds of "
        "the numbers releases noisy ones first: `python -m dpmc_core plan bounds FILE --epsilon …`."
    )


def show_attackers(answer: Plan) -> None:
    """Draw what an attacker finds who sees all releases with each mechanism."""
    shown = [one for one in answer.candidates if one.mechanism.name != "staircase"]
    densities.show_attackers(
        [one.ledger for one in shown],
        "No rule that tells “in” from “out” lies above its mechanism's line (the trade-off "
        "function, f-DP).",
    )


def show_method(answer: Plan) -> None:
    """Say what one person moves, who neighbours are, and how ε was composed."""
    spec = answer.spec
    (release,) = answer.best.ledger.releases
    moved = {
        "mean": "The number of people is public. One person replaced by another moves a mean of "
        "numbers from Least to Most by at most (Most − Least)/people",
        "sum": "One person added or removed moves a sum by at most the larger of |Least| and "
        "|Most|",
        "count": "One person added or removed moves a count by 1",
        "histogram": "One person is in one bin, and added or removed moves that bin by 1",
    }[spec.query]
    if spec.query in ("mean", "sum"):
        moved += (
            f": {three(release.l1_sensitivity)} here. Numbers outside are cut to the range first"
        )
    statement = state(answer.best.ledger, spec.delta)
    st.markdown(
        f"{moved}. Each mechanism has one scale at which its noise stays within the margin in 95 "
        "of 100 releases"
        + (", all bins at once" if spec.query == "histogram" else "")
        + f". Its total ε is that of all releases at δ = {power(spec.delta)}. {statement.how}."
    )
    caveats(statement.caveats)
    st.caption(
        "To publish a number about real people draw its noise with `mechanism … --release`, "
        "which samples exactly on a grid."
    )


def offer_export(answer: Plan) -> None:
    """Offer the plan and its ledger as files, and the lines that make it again."""
    download("Plan (JSON)", "dpmc-plan.json", answer.as_dict())
    download(
        "Ledger of the best mechanism (JSON)", "dpmc-plan-ledger.json", answer.best.ledger.as_dict()
    )
    python_lines.elsewhere("The plan", answer.spec)
