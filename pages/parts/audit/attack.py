"""The panel of the *Audit* page: a button, the attack going on, and the results that stand."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from pages.parts.audit import result_view
from pages.parts.audit.attacked import in_words
from pages.parts.audit.controls import Built
from pages.parts.server import jobs
from pages.parts.ui import controls
from pages.parts.ui.run_panel import Look, Panel, panel

_LOOK = Look(
    label="Attack",
    key="x_go",
    flag="audit",
    used="audit-linked",
    changed="The settings have changed since this attack; press *Attack* to use them.",
    quiet=True,
    strict=False,
)


def attack(built: Built, fields: dict[str, Any], row: DeltaGenerator) -> None:
    """Draw the panel; what is wrong with the settings stands higher on the page."""
    spec = built.spec
    panel(
        Panel(
            kind="audit",
            wanted=() if spec is None else (spec,),
            problem=built.problem,
            step="output",
            so_far=result_view.so_far,
            show=lambda job: result_view.result_of(job.results[0], "Attacked"),
            example=lambda: result_view.example(spec, fields),
            while_running=lambda job: _going_on(job, spec),
            ended=_ended,
            row=row,
            look=_LOOK,
        )
    )


def _going_on(job: jobs.Job, spec: AuditSpec | None) -> None:
    """Say what is attacked where the settings ask for something else by now."""
    if spec is not None and job.specs[0] != spec:
        st.info(
            f"The settings have changed. The attack going on is still: {in_words(job.specs[0])}.",
            icon=":material/update:",
        )


def _ended(job: jobs.Job) -> None:
    """Say why an attack ended before its time."""
    if job.state == "failed":
        controls.show_error(job.error)
    if job.state == "cancelled":
        done, total = job.progress
        st.info(
            f"Cancelled after {done:,} of {total:,} outputs of each dataset.",
            icon=":material/stop_circle:",
        )
