"""Audit of a visitor's own mechanism, from a file of its outputs with and without a record."""

from functools import partial

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.tasks.audit_outputs import INSIDE, MOST_BYTES, OutputsAudit, audit_text
from pages.parts.audit import charts
from pages.parts.audit.controls import DELTAS
from pages.parts.frame.upload import ask_for_file, once
from pages.parts.server import sandbox
from pages.parts.ui import controls, declared
from pages.parts.ui.figures import show
from pages.parts.ui.on_screen import code, download

_DONE = "y_audited"


def audit_yours() -> None:
    """Draw the upload of outputs, the claim, and what an attack on them shows."""
    st.markdown(
        "Run it many times on data with one record and on the same data without it; each row of a "
        f"CSV file is one output. The column `{INSIDE}` is 1 with the record and 0 without, every "
        "other column a number that was released. Shuffle the rows and leave out row numbers. The "
        "file stays in this session."
    )
    claim, size, sure = st.columns(3)
    with claim:
        epsilon = declared.box("nominal.epsilon", "y_epsilon", 1.0, label="Claimed ε")
    with size:
        delta = float(controls.choice("Claimed δ", "y_delta", DELTAS, "0"))
    with sure:
        confidence = declared.box("confidence", "y_confidence")
    brought = ask_for_file("Outputs (CSV)", "csv", MOST_BYTES, "y", _DONE)
    if brought is None:
        return
    claimed = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
    name, content = brought
    audit = partial(audit_text, **claimed)
    try:  # it may take long: elsewhere, and in turn
        _show(
            once(
                _DONE,
                (*brought, claimed),
                "Attacking your outputs…",
                lambda: sandbox.read_file(audit, content, name),
            )
        )
    except DPMCError as error:
        controls.show_error(error)


def _show(result: OutputsAudit) -> None:
    attack, test = result.attack, result.attack.test
    assert test is not None
    (st.error if result.beaten else st.info)(
        controls.plain(result.verdict),
        icon=":material/gavel:" if result.beaten else ":material/info:",
    )
    show(
        charts.scores(attack, "the attacker's score of an output", ("with the record", "without")),
        "your-scores",
        f"Scores of your outputs. {result.verdict}",
    )
    said = charts.measured(test, attack.bound.confidence)
    st.markdown(said)
    show(charts.claimed_and_measured(attack, result.claimed_curve), "your-curve", said)
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
