"""What a page shows of runs while they go on, and of those that stood before."""

from tempfile import gettempdir
from typing import Any

import pytest
import streamlit as st

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.papers.compute import Trial
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from pages.parts.server import jobs, run_store
from pages.parts.server.job import Box, Job
from pages.parts.tradeoffs import view
from pages.parts.ui import on_screen, run_panel
from tests.app.visits import SWEEP, open_page, shows


def put(kind: str, spec: Any, state: str, result: Any = None, **others: Any) -> Job:
    """A job of the visitor's in this ``state``."""
    job = Job(kind=kind, specs=(spec,), results=[result], state=state, **others)
    jobs.visit_box().replace(job)
    return job


def test_what_goes_on_never_takes_the_place_of_what_stands() -> None:
    box = Box()
    first = Job(kind="run", results=["one"], state="done")
    box.replace(first)
    second = Job(kind="run", results=["two"], state="running")
    box.replace(second)
    assert box.standing("run") is first
    second.state = "done"
    assert box.standing("run") is second
    box.replace(Job(kind="run", results=[None], state="failed"))
    assert box.standing("run") is second  # what fails at once takes nothing away


def test_what_stood_before_says_no_verdict_and_is_in_no_handout() -> None:
    on_screen.begin("title", st.container())
    on_screen.verdict("The running one.")

    def fails() -> None:
        with on_screen.silently():
            on_screen.verdict("The former one.")
            on_screen.now().figures["former"] = None, ""
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    on_screen.now().sentences.append("Later.")
    assert on_screen.now().sentences == ["The running one.", "Later."]
    assert on_screen.now().figures == {}


def test_settings_may_change_while_a_sweep_goes_on() -> None:
    former = "Before this run:"
    app = open_page(SWEEP)
    spec = SweepSpec.from_dict(
        {
            "name": "privacy against error",
            "seeds": 2,
            "base": {"dataset": "low-rank", "n_users": 60, "n_items": 40, "iterations": 2},
            "grid": {"algorithm": ["als"], "mechanism": ["none", "laplace"], "variance": [1, 2]},
        }
    )
    assert view.axis_of(spec) == view.compared_at(spec) == "variance"
    job = put("sweep", spec, "running", progress=(0, 6))
    shows(app.run(), former)
    assert app.verdict.startswith("Running")
    # as of a run that began before the page was drawn
    del app.session_state[run_panel._EXAMPLE_SHOWN]
    shows(app.run(), without=[former])
    assert not app.charts
    app.session_state[run_panel._EXAMPLE_SHOWN] = ("sweep", None)
    shows(app.set(t_by="total_epsilon"), former, "The settings have changed since this run")
    assert "run" not in app.query_params
    app.set(t_protect="user").set(t_vary="people")
    job.cancel()
    assert app.run().example
    put("sweep", spec, "cancelled", True, progress=(2, 6))
    app = open_page("tradeoffs?t_protect=rating&t_by=variance")
    shows(app, "Cancelled after 2 of 6 runs. What is finished is kept.", kinds=["info"])


def test_a_former_attack_on_an_algorithm_stands_beside_a_number() -> None:
    app = open_page("audit")
    spec = AuditSpec(target="als", runs=200, iterations=1, neighbours="rating")
    put("audit", spec, "done", audit(spec), progress=(1, 1))
    # all sections open: both say what is attacked
    assert app.run().verdict.startswith("Nominal for one rating: ε = ")


def test_no_private_list_is_said_where_the_run_was_cancelled() -> None:
    app = open_page("completion?question=lists")
    quiet = RunSpec.fitting({**PEOPLE, "n_users": 300, "n_ratings": 4000}, mechanism="none")
    job = put("lists", quiet, "cancelled")
    job.specs, job.results = (quiet,) * 4, [run(quiet), None, None, None]
    assert app.run().verdict.startswith("No private list is finished yet")


def test_a_trial_of_another_table_is_not_shown() -> None:
    app = open_page("papers?p_paper=huber&p_entry_huber=huber-table-1")
    for state in ("failed", "cancelled", "done"):
        put("row", Trial("other", "row", 1), state, error="No.")
        shows(app.run(), without=["Cancelled"])
        assert not app.error


def test_a_link_with_a_control_that_is_not_there_ends() -> None:
    app = open_page("tradeoffs?t_protect=rating&t_by=variance")
    app.query_params |= {"t_protect": "user", "t_by": "epsilon"}  # users have no such choice
    assert app.run().session_state["t_protect"] == "user"


@pytest.mark.parametrize("place", ["/srv/dpmc/runs.sqlite", "postgresql+psycopg://me:pw@host/db"])
def test_messages_about_the_store_name_no_path_of_the_server(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("DPMC_STORE", place)
    file = f"{gettempdir()}/dpmc-unkept-x.jsonl"
    shown = place.replace("me:pw@", "me:***@")
    error = StoreError(f"The run store {shown} could not be read: it is in {file}.")
    message = "The run store of this server could not be read: it is in dpmc-unkept-x.jsonl."
    assert run_store.public_message(error) == message
