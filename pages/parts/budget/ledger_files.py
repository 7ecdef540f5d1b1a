"""Ledgers as files on the *Budget* page: one to be counted, and those of the page to take away."""

from dataclasses import replace

import streamlit as st

from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.worker.reading import account
from dpmc_core.planning.project import Item, Project, share_out_after
from dpmc_core.privacy import Ledger, Statement
from dpmc_core.privacy.ledger_file import MOST_BYTES
from dpmc_core.wording import three
from pages.parts.budget import charts
from pages.parts.budget.sections import Counts, statement_card
from pages.parts.frame.upload import OF_THE_FILE, ask_for_file, once
from pages.parts.server import sandbox
from pages.parts.ui import controls, declared
from pages.parts.ui.on_screen import code, download

_COUNTED = "u_counted"


def upload(delta: float) -> None:
    """Draw the upload of a ledger, and what it spends by every method."""
    st.markdown(
        "*Completion* exports the ledger of a run; `complete … --json` and `account … --json` "
        "print one. Put a file here to account for it by all methods; it stays in this session."
    )
    brought = ask_for_file("A ledger file (JSON)", "json", MOST_BYTES, "u", _COUNTED)
    if brought is not None:
        _count(*brought, delta)


def _count(name: str, content: bytes, delta: float) -> None:
    asked = (name, content, delta)
    try:  # it may take long: elsewhere, and in turn
        yours: Statement = once(
            _COUNTED,
            asked,
            "Accounting for the ledger…",
            lambda: sandbox.read_file(account, *asked),
        )
        statement_card(controls.plain(name), yours)
        st.caption("Unit, sensitivities and whether they are derived are as the file declares.")
        st.dataframe(
            charts.methods_table(["ε"], [yours.accounts]),
            hide_index=True,
            alt="ε of your ledger by each method.",
        )
        for caveat in yours.caveats:
            st.caption(f":material/warning: {controls.plain(caveat)}")
        st.markdown(_left(name, content, delta))
        st.page_link(
            "plan.py",
            label="Plan what follows (Several statistics)",
            icon=":material/target:",
            query_params={"n_kind": "project"},
        )
    except DPMCError as error:
        controls.show_error(error)


def _left(name: str, content: bytes, delta: float) -> str:
    """Say what is left of a budget after a ledger, as the noise of one more count."""
    epsilon = declared.box("project.epsilon", "u_budget", 2.0, label="Budget: total ε")
    more = Project(items=(Item(name="one more count"),), epsilon=epsilon, delta=delta)
    spec = (name, content, more.to_toml())
    try:
        made = once(
            "u_left",
            spec,
            "Searching what is left…",
            lambda: sandbox.read_file(share_out_after, *spec),
        )
    except OF_THE_FILE as error:
        if isinstance(error, ParameterError) and error.name == "neighbours":
            return "What is left can be said of ledgers about one record (one person) only."
        return f"**Left**: {controls.plain(str(error))}"
    (release,) = made.releases
    nominal = "" if made.ledger.sound else "nominal "
    return (
        f"**Left** of {nominal}ε = {three(epsilon)}: for example one more count (one "
        f"person moves it by 1) with Gaussian noise of standard deviation at least "
        f"{three(release.mechanism.std)}, which then is the end of the budget."
    )


def export(counts: Counts) -> None:
    """Offer the ledger of each noise as a file, and the command that counts it."""
    asked = counts.question
    for title, noise in zip(counts.titles, counts.mechanisms, strict=True):
        ledger = Ledger((replace(asked.release(noise), count=asked.count),))
        download(f"Ledger, {title} (JSON)", f"dpmc-ledger-{title.lower()}.json", ledger.as_dict())
    code(
        f"python -m dpmc_core account --ledger dpmc-ledger-huber.json --delta {asked.delta:g}",
        "bash",
        "On the command line:",
    )
