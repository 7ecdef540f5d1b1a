"""The *Plan* page: its sentence is the planner's, and what contradicts itself is one sentence."""

import json
import threading
from collections.abc import Iterator

import pytest

from dpmc_core.experiments.store.records import PassingRuns
from dpmc_core.planning import PlanSpec, plan
from dpmc_core.planning.goal import ModelPlan, Search
from dpmc_core.planning.models import examples, search
from dpmc_core.planning.project import Item, Project, share_out
from pages.parts.server import jobs
from pages.parts.ui import run_panel
from tests.app.visits import Visit, another_visitor, open_page, shows
from tests.waiting import until

MODEL, PROJECT = "plan?n_kind=model", "plan?n_kind=project"
SMALL = f"{MODEL}&n_users=400"


@pytest.mark.parametrize(
    ("query", "spec"),
    [
        ("n_margin_mean=2.5&n_people=300", PlanSpec(margin=2.5, people=300, releases=10)),
        ("n_asked=people&n_epsilon=0.5", PlanSpec(margin=1, epsilon=0.5, releases=10)),
        (
            "n_query=histogram&n_asked=margin&n_bins=30&n_releases=2",
            PlanSpec(query="histogram", bins=30, epsilon=1.0, releases=2),
        ),
        (
            "n_query=sum&n_low=-5&n_high=3",
            PlanSpec(query="sum", low=-5, high=3, margin=1000, releases=10),
        ),
        ("n_query=count&n_asked=people", PlanSpec(query="count", margin=50, releases=10)),
    ],
    ids=str,
)
def test_an_address_is_planned(query: str, spec: PlanSpec) -> None:
    assert open_page(f"plan?{query}").verdict == plan(spec).sentence


def test_every_section_opens_and_says_how_to_do_it_again() -> None:
    app, spec = open_page("plan"), PlanSpec(margin=1.0, people=5000, releases=10)
    assert app.verdict == plan(spec).sentence
    deviations = app.table_with("standard deviation")["standard deviation"]
    assert deviations.str.endswith(" points").all()
    assert [code.value for code in app.code][:2] == [spec.command(), spec.python().strip()]
    less = "a margin of ±1.89 points, or 9,474 people, or 3 releases"
    shows(
        app,
        "The number of people is public",
        "A person's number is 0 to 100 points: a point is one unit of it",
        f"To halve ε, accept one of: {less}",
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("n_low=7&n_high=7", "Least = 7.0 is not allowed: it must be below Most, 7"),
        ("n_margin_mean=0.0001&n_people=1", "cannot be reached with a meaningful ε"),
        ("n_query=count&n_margin_count=1e14", "too small to be told"),
        ("n_margin_mean=-3", "Margin, 95"),
        ("n_people=many", "a whole number from 1"),
        ("n_kind=model&n_least_epsilon=60", "Look from = 60"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(query: str, message: str) -> None:
    app = open_page(f"plan?{query}")
    assert app.texts("error", "warning").count(message) == len([*app.error, *app.warning]) == 1


@pytest.mark.parametrize(
    "query", ["n_method=popular&n_goal=value", "n_method=moment-nmf", "n_vary=n_users&n_total=2"]
)
def test_every_model_can_be_asked_for(query: str) -> None:
    assert not open_page(f"{MODEL}&{query}").error


def test_a_model_is_answered_from_what_is_stored_first() -> None:
    """The stored example of the goal stands there at once, marked; other settings say so."""
    amounts = "5,000 users, 300 items, 20,000 ratings"
    for query, stored in zip(("", "&n_goal=value"), examples(), strict=False):
        app = open_page(f"{MODEL}{query}")
        assert app.verdict == f"Example: {stored.sentence}"
        shows(app, f"Stored example**: {amounts}.", f"From {stored.spent} runs on {amounts}")
    assert "Example, not your settings" in open_page(SMALL).example


def test_stored_searches_are_what_searching_again_begins_with() -> None:
    """The first place of each stored search, made again."""
    for stored in examples():
        states = search(stored.plan, PassingRuns(), jobs=1)
        values = next(state for state in states if state.probes).probes[0].values
        expected = stored.probes[0].values[: len(values)]
        assert values == pytest.approx(expected, rel=1e-9)  # other versions of BLAS


def seen_by_another(link: str, app: Visit, monkeypatch: pytest.MonkeyPatch) -> Visit:
    """What another visitor sees at the address of a finished search: the same."""
    another_visitor(monkeypatch)
    again = open_page(link)
    assert again.verdict == app.verdict
    assert not again.error
    return again


@pytest.mark.long
def test_a_search_runs_on_the_page_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    link = f"{SMALL}&n_most_epsilon=20&n_within=8"
    monkeypatch.setattr(run_panel, "_WORTH_A_QUICK_LOOK", 0.0)  # as if it took long
    app = open_page(f"{link}&run=quick").wait("done")
    assert app.verdict.startswith("Quick look (4 repetitions): One-shot moments is better")
    assert "n_go-quick" not in app.buttons
    app.press("n_go").wait("done")
    assert jobs.current("plan").results[0].before == 12
    assert app.verdict.startswith("One-shot moments is better than the best baseline from")
    shows(app, "Your run")
    shows(seen_by_another(link, app, monkeypatch), "runs that are kept here")


@pytest.mark.long
def test_a_goal_out_of_reach_is_a_verdict_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure with the runs that show it stands below."""
    link = f"{SMALL}&n_most_epsilon=1&n_goal=value&n_target_rate=0.05"
    app = open_page(f"{link}&run=1").wait("done")
    assert not app.error
    assert "up to a total ε of 1, where it misses that by 0." in app.verdict
    shows(app, without=["the interval holds"])
    shows(app, "or another method may reach it")
    seen_by_another(link, app, monkeypatch)


def test_a_project_shares_one_budget() -> None:
    items = (
        Item(name="mean age", query="mean", share=2.0, people=2000, high=110.0),
        Item(name="ill, by month", releases=12),
        Item(name="by region", query="histogram", bins=20),
    )
    app = open_page(PROJECT)
    assert app.verdict == share_out(Project(items=items, epsilon=2.0, reserve=1.0)).sentence
    shows(app, "One person replaced by another")
    rows = json.dumps([{"name": "ill", "query": "count", "releases": 3}])
    alone = share_out(Project(items=(Item(name="ill", releases=3),), epsilon=2.0))
    assert open_page(f"{PROJECT}&n_reserve=0", n_project=rows).verdict == alone.sentence


def test_a_project_goes_on_after_a_ledger() -> None:
    first = share_out(Project(items=(Item(name="ages", query="mean"),), epsilon=1.0, reserve=1.0))
    ledger = json.dumps(first.ledger.as_dict()).encode()
    app = open_page(PROJECT).upload(ledger, "before.json")
    assert f"({first.with_these:.3g} of it before)" in app.verdict
    shows(app.upload(b"{", "before.json"), "is not a ledger file", kinds=["error"])


@pytest.mark.parametrize(
    "rows",
    [
        *("[" * 5000, "[1]", '[{"query": "median"}]', '[{"name": "a", "people": -1}]'),
        *('[{"name": "a", "releases": 1e999}]', '[{"name": "\\ud800"}]'),
    ],
)
def test_a_bad_project_in_an_address_is_one_sentence(rows: str) -> None:
    app = open_page(PROJECT, n_project=rows)
    shows(app, "its releases (n_project) cannot be read", kinds=["warning"])
    assert app.verdict.startswith("These releases bring")


def test_runs_count_before_they_say_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search has looked nowhere until several runs have ended."""
    asked, seen = examples()[0].plan, threading.Event()

    def looked(plan: ModelPlan, *_: object, **__: object) -> Iterator[Search]:
        yield Search(plan=plan, probes=(), under_way=3, before=0, finished=False)
        seen.wait(30)

    monkeypatch.setitem(jobs._MANY, ModelPlan, looked)
    job = jobs.start_many("plan", asked, PassingRuns())
    until(lambda: job.progress[0])
    assert job.progress == (3, asked.total_runs)
    assert job.results == [None]
    seen.set()
