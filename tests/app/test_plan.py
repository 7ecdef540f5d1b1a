"""The *Plan* page: its sentence is the planner's, and what contradicts itself is one sentence."""

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpmc_core.experiments.store.records import PassingRuns
from dpmc_core.planning import PlanSpec, plan
from dpmc_core.planning.models import examples, search
from dpmc_core.planning.project import Item, Project, share_out
from pages.parts.plan.model_view import figure_of_runs
from pages.parts.server import jobs
from pages.parts.server.job import Box
from pages.parts.ui import run_panel
from tests.app.test_pages import fresh_visitor, open_page, verdict_of  # noqa: F401 - a fixture


def ended(app: AppTest) -> jobs.Job:
    """The visitor's search, once it is over and the page shows that."""
    job = jobs.current("plan")
    assert job is not None
    while job.active:
        time.sleep(0.05)
    app.run()
    return job


def texts_of(app: AppTest) -> str:
    shown = (x.value for x in (*app.markdown, *app.caption))
    return "\n".join(shown).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("address", "spec"),
    [
        ({}, PlanSpec(margin=1.0, people=5000, releases=10)),
        (
            {"n_margin_mean": "2.5", "n_people": "300"},
            PlanSpec(margin=2.5, people=300, releases=10),
        ),
        ({"n_asked": "people", "n_epsilon": "0.5"}, PlanSpec(margin=1, epsilon=0.5, releases=10)),
        (
            {"n_query": "histogram", "n_asked": "margin", "n_bins": "30", "n_releases": "2"},
            PlanSpec(query="histogram", bins=30, epsilon=1.0, releases=2),
        ),
        (
            {"n_query": "sum", "n_low": "-5", "n_high": "3"},
            PlanSpec(query="sum", low=-5, high=3, margin=1000, releases=10),
        ),
        (
            {"n_query": "count", "n_asked": "people"},
            PlanSpec(query="count", margin=50, releases=10),
        ),
    ],
    ids=str,
)
def test_an_address_is_planned(address: dict[str, str], spec: PlanSpec) -> None:
    app = open_page("plan", **address)
    assert not app.exception
    assert verdict_of(app).replace("\N{NO-BREAK SPACE}", " ") == plan(spec).sentence


def test_every_section_opens_and_says_how_to_do_it_again() -> None:
    shown = {"open_all": "true"}
    app = open_page("plan", n_query="mean", **shown)
    assert not app.exception
    said = texts_of(app)
    assert "The number of people is public" in said
    assert "A person's number is 0 to 100 points: a point is one unit of it" in said
    (table,) = [f.value for f in app.dataframe if "standard deviation" in f.value]
    assert table["standard deviation"].str.endswith(" points").all()
    spec = PlanSpec(margin=1.0, people=5000, releases=10)
    assert [code.value for code in app.code][:2] == [spec.command(), spec.python().strip()]
    assert (
        "To halve ε, accept one of: a margin of ±1.89 points, or 9,474 people, or 3 releases"
        in said
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"n_low": "7", "n_high": "7"}, "Least = 7.0 is not allowed: it must be below Most, 7"),
        ({"n_margin_mean": "0.0001", "n_people": "1"}, "cannot be reached with a meaningful ε"),
        ({"n_query": "count", "n_margin_count": "1e14"}, "too small to be told"),
        ({"n_margin_mean": "-3"}, "Margin, 95"),
        ({"n_people": "many"}, "a whole number from 1"),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_one_sentence(address: dict[str, str], said: str) -> None:
    app = open_page("plan", **address)
    assert not app.exception
    shown = " ".join(x.value for x in (*app.error, *app.warning)).replace("\\", "")
    assert said in shown


def test_a_model_is_answered_from_what_is_stored_first() -> None:
    """The stored example of the goal stands there at once, marked; other settings say so."""
    for address, found in (({}, examples()[0]), ({"n_goal": "value"}, examples()[1])):
        app = open_page("plan", n_kind="model", **address)
        assert not app.exception
        assert verdict_of(app).replace("\N{NO-BREAK SPACE}", " ") == f"Example: {found.sentence}"
        assert "Stored example" in texts_of(app)
        amounts = "5,000 users, 300 items, 20,000 ratings"
        assert f"Stored example**: {amounts}." in texts_of(app)
        assert f"From {found.spent} runs on {amounts}" in texts_of(app)
        assert "not your settings" not in " ".join(note.value for note in app.info)
    other = open_page("plan", n_kind="model", n_users="400")
    assert "Example, not your settings" in " ".join(note.value for note in other.info)


def test_stored_searches_are_what_searching_again_begins_with() -> None:
    """The first place of each stored search, made again."""
    for found in examples():
        states = search(found.plan, PassingRuns(), jobs=1)
        first = next(state for state in states if state.probes)
        made, stored = first.probes[0].values, found.probes[0].values
        assert made == pytest.approx(stored[: len(made)], rel=1e-9)  # other versions of BLAS


@pytest.mark.long
def test_a_search_runs_on_the_page_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"n_kind": "model", "n_users": "400", "n_most_epsilon": "20", "n_within": "8"}
    monkeypatch.setattr(run_panel, "_LONG", 0.0)  # as if it took long
    app = open_page("plan", **small, run="quick")
    ended(app)
    assert verdict_of(app).startswith("Quick look (4 repetitions): One-shot moments is better")
    assert "n_go-quick" not in [button.key for button in app.button]
    app.button(key="n_go").click().run()
    job = ended(app)
    assert not app.exception
    assert not app.error
    assert job.results[0].before == 12
    axis = figure_of_runs(job.results[0])[0].layout.yaxis.title.text
    assert axis.endswith("(rating units; lower is better)")
    assert verdict_of(app).startswith("One-shot moments is better than the best baseline from")
    assert "Your run" in texts_of(app)
    another = Box()
    monkeypatch.setattr(jobs, "_box", lambda: another)  # another visitor
    again = open_page("plan", **small)
    assert "runs that are kept here" in texts_of(again)
    assert verdict_of(again) == verdict_of(app)


def test_a_goal_out_of_reach_is_a_verdict_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure with the runs that show it stands below."""
    small = {"n_kind": "model", "n_users": "400", "n_most_epsilon": "1"}
    wanted = {**small, "n_goal": "value", "n_target_rate": "0.05"}
    app = open_page("plan", **wanted, run="1")
    ended(app)
    assert not app.exception
    assert not app.error
    assert "up to a total ε of 1: its best is" in verdict_of(app).replace("\N{NO-BREAK SPACE}", " ")
    assert "or another method may reach it" in texts_of(app)
    another = Box()
    monkeypatch.setattr(jobs, "_box", lambda: another)  # another visitor
    again = open_page("plan", **wanted)
    assert not again.error
    assert verdict_of(again) == verdict_of(app)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"n_least_epsilon": "60"}, "Look from = 60"),
        ({"n_method": "popular", "n_goal": "value"}, ""),
        ({"n_method": "moment-nmf"}, ""),
        ({"n_vary": "n_users", "n_total": "2"}, ""),
    ],
    ids=str,
)
def test_every_model_can_be_asked_for(address: dict[str, str], said: str) -> None:
    app = open_page("plan", n_kind="model", **address)
    assert not app.exception
    assert [said in error.value for error in app.error] == [True] * bool(said)


def test_a_project_shares_one_budget() -> None:
    app = open_page("plan", n_kind="project", open_all="true")
    assert not app.exception
    items = (
        Item(name="mean age", query="mean", share=2.0, people=2000, high=110.0),
        Item(name="ill, by month", releases=12),
        Item(name="by region", query="histogram", bins=20),
    )
    made = share_out(Project(items=items, epsilon=2.0, reserve=1.0))
    assert verdict_of(app).replace("\N{NO-BREAK SPACE}", " ") == made.sentence
    assert "One person replaced by another" in texts_of(app)
    rows = json.dumps([{"name": "ill", "query": "count", "releases": 3}])
    linked = open_page("plan", n_kind="project", n_project=rows, n_reserve="0")
    alone = share_out(Project(items=(Item(name="ill", releases=3),), epsilon=2.0))
    assert verdict_of(linked).replace("\N{NO-BREAK SPACE}", " ") == alone.sentence


def test_a_project_goes_on_after_a_ledger() -> None:
    first = share_out(Project(items=(Item(name="ages", query="mean"),), epsilon=1.0, reserve=1.0))
    app = open_page("plan", n_kind="project")
    ledger = json.dumps(first.ledger.as_dict()).encode()
    app.get("file_uploader")[0].upload("before.json", ledger, "application/json").run()
    assert not app.exception
    assert not app.error
    assert f"({first.with_these:.3g} of it before)" in verdict_of(app)
    app.get("file_uploader")[0].upload("before.json", b"{", "application/json").run()
    assert "is not a ledger file" in app.error[0].value


@pytest.mark.parametrize(
    "rows",
    [
        *("[", "{}", "[1]", "[" * 5000, '[{"query": "median"}]', '[{"name": "a", "people": -1}]'),
        *('[{"name": "a", "releases": 1e999}]', '[{"name": "a", "releases": 1.5}]'),
        *(
            '[{"name": "\\ud800"}]',
            '[{"name": "a", "bins": "20"}]',
            '[{"name": "a", "bins": true}]',
        ),
    ],
)
def test_a_bad_project_in_an_address_is_one_sentence(rows: str) -> None:
    app = open_page("plan", n_kind="project", n_project=rows)
    assert not app.exception
    assert "its releases cannot be read" in " ".join(note.value for note in app.warning)
    assert verdict_of(app).startswith("These releases bring")
