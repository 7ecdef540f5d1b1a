"""The *Plan* page: its sentence is the planner's, and what contradicts itself is one sentence."""

import pytest
from streamlit.testing.v1 import AppTest

from dpmc_core.planning import PlanSpec, plan
from tests.app.test_pages import fresh_visitor, open_page, verdict_of  # noqa: F401 - a fixture


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
    shown = {f"show-{name}": "true" for name in ("mechanisms", "method", "export")}
    app = open_page("plan", n_query="mean", **shown)
    assert not app.exception
    said = texts_of(app)
    assert "The number of people is public" in said
    spec = PlanSpec(margin=1.0, people=5000, releases=10)
    assert [code.value for code in app.code][:2] == [spec.command(), spec.python().strip()]
    assert "Half of this ε takes one of: a margin of ±1.89, or 9,474 people, or 3 releases" in said


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
