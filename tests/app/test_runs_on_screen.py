"""What a page shows of runs while they go on, and of those that stood before."""

from pathlib import Path
from tempfile import gettempdir

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
from tests.app.test_pages import (
    OF_RATINGS,
    example_note,
    fresh_visitor,  # noqa: F401 - a fixture
    open_page,
    verdict_of,
)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))


def captions(app) -> str:
    return "\n".join(c.value for c in app.caption)


def test_what_goes_on_never_takes_the_place_of_what_stands() -> None:
    box = Box()
    first = Job(kind="run", results=["one"], state="done")
    box.replace(first)
    second = Job(kind="run", results=["two"], state="running")
    box.replace(second)
    assert box.standing("run") is first
    second.state = "done"
    assert box.standing("run") is second
    third = Job(kind="run", results=[None], state="failed")
    box.replace(third)
    assert box.standing("run") is second  # what fails at once takes nothing away


def test_what_stood_before_says_no_verdict_and_is_in_no_handout() -> None:
    on_screen.begin("title", st.container())
    on_screen.verdict("The running one.")

    def fails() -> None:
        with on_screen.silently():
            on_screen.verdict("The former one.")
            on_screen.add_figure("former", None, "")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    on_screen.add_text("Later.")
    assert on_screen.now().sentences == ["The running one.", "Later."]
    assert on_screen.now().figures == {}


def test_settings_may_change_while_a_sweep_goes_on() -> None:
    app = open_page("tradeoffs", **OF_RATINGS)
    spec = SweepSpec.from_dict(
        {
            "name": "privacy against error",
            "seeds": 2,
            "base": {"dataset": "low-rank", "n_users": 60, "n_items": 40, "iterations": 2},
            "grid": {"algorithm": ["als"], "mechanism": ["none", "laplace"], "variance": [1, 2]},
        }
    )
    assert view.axis_of(spec) == view.compared_at(spec) == "variance"
    job = Job(kind="sweep", specs=(spec,), results=[None], state="running", progress=(0, 6))
    jobs._box().replace(job)
    app.run()
    assert not app.exception
    assert verdict_of(app).startswith("Running")
    assert "Before this run:" in captions(app)
    del app.session_state[run_panel._SHOWN]  # as of a run that began before the page was drawn
    app.run()
    assert "Before this run:" not in captions(app)
    assert not app.get("plotly_chart")
    app.session_state[run_panel._SHOWN] = ("sweep", None)
    app.segmented_control(key="t_by").set_value("total_epsilon").run()
    assert not app.exception
    assert "Before this run:" in captions(app)
    app.selectbox(key="t_protect").set_value("user").run()
    app.selectbox(key="t_vary").set_value("people").run()
    assert not app.exception
    job.cancel()
    app.run()
    assert not app.exception
    assert example_note(app)
    made = Job(kind="sweep", specs=(spec,), results=[True], state="cancelled", progress=(2, 6))
    jobs._box().replace(made)
    app = open_page("tradeoffs", t_protect="rating", t_by="variance")
    (ended,) = [i.value for i in app.info if "Cancelled" in i.value]
    assert ended == "Cancelled after 2 of 6 runs. What is finished is kept."


@pytest.mark.long
def test_a_finished_sweep_is_not_shown_for_other_settings() -> None:
    app = open_page("tradeoffs", **OF_RATINGS)
    app.button(key="go").click().run()
    job = jobs.current("sweep")
    assert job is not None
    while job.active:
        app.run()
    app.run()
    assert "Your run" in captions(app)
    assert verdict_of(app).startswith("At variance 2, Laplace noise")
    app.segmented_control(key="t_by").set_value("epsilon").run()
    assert not app.exception
    assert verdict_of(app).startswith("Example: At nominal ε = 5 per release")


def test_a_former_attack_on_an_algorithm_stands_beside_a_number() -> None:
    app = open_page("audit")
    spec = AuditSpec(target="als", runs=200, iterations=1, neighbours="rating")
    job = Job(kind="audit", specs=(spec,), results=[audit(spec)], state="done", progress=(1, 1))
    jobs._box().replace(job)
    app.run()  # all sections open: both say what is attacked
    assert not app.exception
    assert verdict_of(app).startswith("Nominal for one rating: ε = ")


def test_no_private_list_is_said_where_the_run_was_cancelled() -> None:
    app = open_page("completion", question="lists")
    quiet = RunSpec.fitting({**PEOPLE, "n_users": 300, "n_ratings": 4000}, mechanism="none")
    results = [run(quiet), None, None, None]
    job = Job(kind="lists", specs=(quiet,) * 4, results=results, state="cancelled")
    jobs._box().replace(job)
    app.run()
    assert not app.exception
    assert verdict_of(app).startswith("No private list is finished yet")


@pytest.mark.parametrize("state", ["failed", "cancelled", "done"])
def test_a_trial_of_another_table_is_not_shown(state: str) -> None:
    app = open_page("papers", p_paper="huber", p_entry_huber="huber-table-1")
    other = Job(
        kind="row", specs=(Trial("other", "row", 1),), results=[None], state=state, error="No."
    )
    jobs._box().replace(other)
    app.run()
    assert not app.exception
    assert not app.error
    assert not [i for i in app.info if "Cancelled" in i.value]


def test_a_link_with_a_control_that_is_not_there_ends() -> None:
    app = open_page("tradeoffs", t_protect="rating", t_by="variance")
    app.query_params["t_protect"] = "user"
    app.query_params["t_by"] = "epsilon"  # users have no such choice
    app.run()
    assert not app.exception
    assert app.session_state["t_protect"] == "user"


def test_all_values_of_a_parameter_survive_a_short_link() -> None:
    app = open_page("tradeoffs", t_protect="rating", t_noises=["Huber", "Gaussian"])
    assert app.session_state["t_noises"] == ["huber", "gaussian"]


@pytest.mark.parametrize("place", ["/srv/dpmc/runs.sqlite", "postgresql+psycopg://me:pw@host/db"])
def test_messages_about_the_store_name_no_path_of_the_server(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("DPMC_STORE", place)
    file = f"{gettempdir()}/dpmc-unkept-x.jsonl"
    shown = place.replace("me:pw@", "me:***@")
    said = run_store.told(StoreError(f"The run store {shown} could not be read: it is in {file}."))
    assert said == "The run store of this server could not be read: it is in dpmc-unkept-x.jsonl."
