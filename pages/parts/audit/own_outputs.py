"""Audit of a visitor's own mechanism, from a file of its outputs with and without a record."""

import streamlit as st

from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments.tasks.audit_outputs import INSIDE, MOST_BYTES, OutputsAudit
from pages.parts.audit import charts, curves
from pages.parts.server import sandbox
from pages.parts.ui import controls, declared
from pages.parts.ui.figures import show
from pages.parts.ui.on_screen import code, download

__all__ = ["DELTAS", "audit_yours"]

DELTAS = {"0": "0 (pure ε)", **{d: d for d in ("1e-9", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3")}}
_FILE, _DONE = "y_outputs", "y_audited"
_OF_THE_FILE = (DataError, ParameterError, sandbox.TooMuchError)


def audit_yours() -> None:
    """Draw the upload of outputs, the claim, and what an attack on them shows."""
    st.markdown(
        "Run it many times on data with one record and on the same data without it; each row of a "
        f"CSV file is one output. The column `{INSIDE}` is 1 with the record and 0 without, every "
        "other column a number that was released. Put the rows in any order that does not depend "
        "on the outputs, without a column that numbers them. The file stays in this session."
    )
    claim, size, sure = st.columns(3)
    with claim:
        epsilon = declared.box("nominal.epsilon", "y_epsilon", 1.0, label="Claimed ε")
    with size:
        delta = float(controls.choice("Claimed δ", "y_delta", DELTAS, "0"))
    with sure:
        confidence = declared.box("confidence", "y_confidence")
    st.file_uploader(
        "Outputs (CSV)",
        type=["csv"],
        max_upload_size=MOST_BYTES // 1_000_000,
        key="y_file",
        on_change=_keep,
    )
    kept: tuple[str, bytes] | None = st.session_state.get(_FILE)
    if kept is None:
        return
    name, content = kept
    st.button(
        f"Forget {controls.plain(name)}",
        icon=":material/delete:",
        key="y_forget",
        on_click=lambda: st.session_state.update({_FILE: None, _DONE: None}),
    )
    try:
        claim_made = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
        _show(_audited(name, content, claim_made))
    except DPMCError as error:
        st.error(controls.plain(str(error)), icon=":material/error:")


def _keep() -> None:
    """Remember the file beside the widget, which forgets it when the page is left."""
    given = st.session_state["y_file"]
    st.session_state[_FILE] = None if given is None else (given.name, given.getvalue())
    st.session_state[_DONE] = None  # whoever brings it again wants it tried again


def _audited(name: str, content: bytes, claim: dict[str, float]) -> OutputsAudit:
    """The audit of a file, which may take long: elsewhere, in turn, and once, a refusal too.

    Raises ``DPMCError``.
    """
    asked, done = (name, content, claim), st.session_state.get(_DONE)
    if done is None or done[0] != asked:
        with st.spinner("Attacking your outputs…"):
            try:
                done = (asked, sandbox.read_file("outputs", ("outputs", *asked)))
            except _OF_THE_FILE as error:  # not: the lab is too busy
                done = (asked, error)
        st.session_state[_DONE] = done
    if isinstance(done[1], DPMCError):
        raise done[1].with_traceback(None)
    made: OutputsAudit = done[1]
    return made


def _show(result: OutputsAudit) -> None:
    attack, test = result.attack, result.attack.test
    assert test is not None
    (st.error if result.beaten else st.info)(
        controls.plain(result.verdict),
        icon=":material/gavel:" if result.beaten else ":material/info:",
    )
    figure, numbers = charts.scores(
        attack, "the attacker's score of an output", ("with the record", "without")
    )
    show(figure, "your-scores", f"Scores of your outputs. {result.verdict}", numbers)
    said = curves.measured(test, attack.bound.confidence)
    st.markdown(said)
    figure, numbers = curves.claimed_and_measured(attack, result.claimed_curve)
    show(figure, "your-curve", said, numbers)
    bound = attack.bound
    st.caption(
        f"The attacker attributes {100 * bound.accuracy:.1f} of 100 held-out outputs correctly "
        f"({100 * bound.accuracy_low:.1f} to {100 * bound.accuracy_high:.1f}; 50 is chance). The "
        "first rows choose the rule, the others count: exact binomial (Clopper–Pearson) bounds. A "
        "tighter attack may exist; an audit never proves that a mechanism is private."
    )
    download("Audit (JSON)", "dpmc-own-audit.json", result.summary, key="y_take")
    code(
        f"python -m dpmc_core audit --outputs FILE.csv --epsilon {result.epsilon!r} "
        f"--delta {result.delta!r} --confidence {bound.confidence!r}",
        "bash",
    )
