"""Where ε stands in the world: what organisations say of their own releases."""

from dataclasses import dataclass
from math import log

import streamlit as st

from dpmc_core.facts import facts, typed
from dpmc_core.wording import power, three
from pages.parts.ui.on_screen import show_table


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One release in use: its ``epsilon`` at ``delta`` (0: pure) for one ``unit`` and ``period``,
    who adds the noise (``model``), since when (year and month), and who says so.
    """

    name: str
    epsilon: float
    unit: str
    period: str
    model: str
    since: str
    source: str
    url: str
    delta: float = 0.0
    note: str = ""


DEPLOYMENTS = sorted(  # the smallest ε first
    (typed(Deployment, row, "data/deployments.toml") for row in facts("deployments")["deployment"]),
    key=lambda row: row.epsilon,
)


def nearest(epsilon: float) -> str:
    """Name the deployment whose ε is nearest, as a ratio."""
    place = min(max(epsilon, 1e-9), 1e9)  # an ε may be infinite
    near = min(DEPLOYMENTS, key=lambda row: abs(log(row.epsilon / place)))
    return (
        f"Nearest to ε = {three(epsilon)}: {near.name}, ε = {three(near.epsilon)} for {near.unit}, "
        f"{near.period}."
    )


def draw(epsilon: float) -> None:
    """Draw the table, with what is nearest to the page's ``epsilon`` and what keeps its numbers
    from being compared.
    """
    st.markdown(
        f"**{nearest(epsilon)}** What organisations say of their own releases. No two are about "
        "the same: whom ε is for, and for how long, decides more than its size. What is spent "
        "*each day* composes to more; in the *local* model nobody is trusted, so that the same ε "
        "costs more accuracy."
    )
    rows = [
        {
            "Release": row.name,
            "ε": three(row.epsilon),
            "δ": power(row.delta),
            "For": row.unit,
            "Period": row.period,
            "Model": row.model,
            "Since": row.since,
            "Source": row.url,
            "Said by": row.source,
            "Note": row.note,
        }
        for row in DEPLOYMENTS
    ]
    link = st.column_config.LinkColumn(display_text="open")
    show_table(rows, "Releases with their ε, the smallest first.", column_config={"Source": link})
