"""Ledgers as files on the *Budget* page: one to be counted, and those of the page to take away."""

from dataclasses import replace

import streamlit as st

from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.planning.project import Item, Project
from dpmc_core.privacy import Ledger, Statement
from dpmc_core.privacy.ledger_file import MOST_BYTES
from dpmc_core.wording import three
from pages.parts.budget import charts
from pages.parts.budget.sections import Counts, statement_card
from pages.parts.server import sandbox
from pages.parts.ui import controls, declared
from pages.parts.ui.on_screen import code, download

__all__ = ["export", "upload"]

_COUNTED, _LEFT = "u_counted", "u_left"
_OF_THE_FILE = (DataError, ParameterError, sandbox.TooMuchError)


def upload(delta: float) -> None:
    """Draw the upload of a ledger, and what it spends by every method."""
    st.markdown(
        "*Completion* exports the ledger of a run; `complete … --json` and `account … --json` "
        "print one. Put a file here to account for it by all methods; it stays in this session."
    )
    st.file_uploader(
        "A ledger file (JSON)",
        type=["json"],
        max_upload_size=MOST_BYTES // 1_000_000,
        key="u_file",
        on_change=_keep_upload,
    )
    kept = st.session_state.get("u_ledger")
    if kept is not None:
        name, content = kept
        _count(name, content, delta)


def _keep_upload() -> None:
    """Remember the file beside the widget, which forgets it when the page is left."""
    given = st.session_state["u_file"]
    st.session_state["u_ledger"] = None if given is None else (given.name, given.getvalue())
    st.session_state.pop(_COUNTED, None)  # whoever brings it again wants it tried again


def _count(name: str, content: bytes, delta: float) -> None:
    st.button(
        f"Forget {controls.plain(name)}",
        icon=":material/delete:",
        key="u_forget",
        on_click=lambda: st.session_state.update(u_ledger=None),
    )
    try:
        yours = _counted(name, content, delta)
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
            label="Plan what follows (A project)",
            icon=":material/target:",
            query_params={"n_kind": "project"},
        )
    except DPMCError as error:
        st.error(controls.plain(str(error)), icon=":material/error:")


def _counted(name: str, content: bytes, delta: float) -> Statement:
    """The statement of a ledger, which may take long: elsewhere, in turn, and once, a refusal too.

    Raises ``DPMCError``.
    """
    asked, kept = (name, content, delta), st.session_state.get(_COUNTED)
    if kept is None or kept[0] != asked:
        with st.spinner("Accounting for the ledger…"):
            try:
                kept = (asked, sandbox.read_file("ledger", ("ledger", *asked)))
            except _OF_THE_FILE as error:  # not: the lab is too busy
                kept = (asked, error)
        st.session_state[_COUNTED] = kept
    if isinstance(kept[1], DPMCError):
        raise kept[1].with_traceback(None)
    made: Statement = kept[1]
    return made


def _left(name: str, content: bytes, delta: float) -> str:
    """Say what is left of a budget after a ledger, as the noise of one more count."""
    epsilon = declared.box("project.epsilon", "u_budget", 2.0, label="Budget: total ε")
    more = Project(items=(Item(name="one more count"),), epsilon=epsilon, delta=delta)
    asked, kept = (name, content, more), st.session_state.get(_LEFT)
    if kept is None or kept[0] != asked:
        with st.spinner("Searching what is left…"):
            try:
                made = sandbox.read_file("call", (sandbox.PROJECT, name, content, more.to_toml()))
                (release,) = made.releases
                nominal = "" if made.ledger.sound else "nominal "
                said = (
                    f"**Left** of {nominal}ε = {three(epsilon)}: for example one more count (one "
                    f"person moves it by 1) with Gaussian noise of standard deviation at least "
                    f"{three(release.mechanism.std)}, which then is the end of the budget."
                )
            except _OF_THE_FILE as error:  # not: the lab is too busy
                said = f"**Left**: {controls.plain(str(error))}"
                if isinstance(error, ParameterError) and error.name == "neighbours":
                    said = "What is left can be said of ledgers about one record (one person) only."
            kept = (asked, said)
        st.session_state[_LEFT] = kept
    return str(kept[1])


def export(counts: Counts) -> None:
    """Offer the ledger of each noise as a file, and the command that counts it."""
    asked = counts.asked
    for title, noise in zip(counts.titles, counts.mechanisms, strict=True):
        ledger = Ledger((replace(asked.release(noise), count=asked.count),))
        download(f"Ledger, {title} (JSON)", f"dpmc-ledger-{title.lower()}.json", ledger.as_dict())
    code(
        f"python -m dpmc_core account --ledger dpmc-ledger-huber.json --delta {asked.delta:g}",
        "bash",
        "On the command line:",
    )
