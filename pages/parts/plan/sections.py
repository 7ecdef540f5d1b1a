"""The sections of the *Plan* page, one function each."""

import streamlit as st

from dpmc_core.planning import Plan, PlanSpec, halved, plan
from dpmc_core.planning.spec import halvings
from dpmc_core.privacy import odds_sentence, state
from dpmc_core.wording import power, three
from pages.parts.plan import charts
from pages.parts.ui import densities
from pages.parts.ui.figures import show
from pages.parts.ui.on_screen import code, download, presenting


def answer(spec: PlanSpec) -> Plan:
    """Search the plan. Raises ``DPMCError``."""
    with st.spinner("Searching every mechanism…"):
        return plan(spec)


def figure(made: Plan) -> None:
    """Draw ε against the margin, or the people, with the plan marked."""
    against = "people" if made.spec.asked == "people" else "margin"
    show(
        charts.spending(made.spec, made.candidates),
        "plan",
        f"Total ε against the {against}. {made.sentence}",
    )


def notes(made: Plan) -> list[str]:
    """What to notice: odds, what would halve ε, and what a margin leaves out."""
    said = [odds_sentence(made.best.epsilon, made.spec.delta)]
    if not presenting():
        said += [half(made)]
    said += [
        "The margin is of the noise alone: that other people might have taken part comes on top."
    ]
    return [sentence for sentence in said if sentence]


def half(made: Plan) -> str:
    """Say what would halve ε, each alone."""
    ways = halvings(halved(made))
    if not ways:
        return ""
    return f"Half of this ε takes one of: {', or '.join(ways)}."


def mechanisms(made: Plan) -> None:
    """Show every mechanism that meets the plan, and why others do not."""
    st.dataframe(
        charts.table(made),
        hide_index=True,
        alt="Every mechanism that meets the plan, the best first.",
    )
    st.caption(
        "Huber noise has the α that needs least here. Mechanisms within 0.1 % of the best are as "
        "good; the simplest stands first."
    )
    for name, why in made.refused.items():
        st.caption(f"{name.capitalize()}: {why}.")


def attackers(made: Plan) -> None:
    """Draw what an attacker finds who sees all releases with each mechanism."""
    shown = [one for one in made.candidates if one.mechanism.name != "staircase"]
    with st.spinner("Composing the privacy losses…"):
        drawn, numbers, said = densities.attackers([one.ledger for one in shown])
    st.markdown(said)
    show(drawn, "attackers", said, numbers)
    st.caption(
        "No rule that tells “in” from “out” lies above its mechanism's line (the trade-off "
        "function, f-DP)."
    )


def method(made: Plan) -> None:
    """Say what one person moves, who neighbours are, and how ε was composed."""
    spec = made.spec
    (release,) = made.best.ledger.releases
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
    said = state(made.best.ledger, spec.delta)
    st.markdown(
        f"{moved}. Each mechanism has one scale at which its noise stays within the margin in 95 "
        "of 100 releases"
        + (", all bins at once" if spec.query == "histogram" else "")
        + f". Its total ε is that of all releases at δ = {power(spec.delta)}. {said.how}."
    )
    for caveat in said.caveats:
        st.caption(f":material/warning: {caveat}")
    st.caption(
        "To publish a number about real people draw its noise with `mechanism … --release`, "
        "which samples exactly on a grid."
    )


def export(made: Plan) -> None:
    """Offer the plan and its ledger as files, and the lines that make it again."""
    download("Plan (JSON)", "dpmc-plan.json", made.as_dict())
    download(
        "Ledger of the best mechanism (JSON)", "dpmc-plan-ledger.json", made.best.ledger.as_dict()
    )
    code(made.spec.command(), "bash", "On the command line:")
    code(made.spec.python(), "python", "In Python:")
