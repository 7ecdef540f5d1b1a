"""Every page in-process.

It draws, its controls work, bad links are named, runs and failures behave.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Widget

from dpmc_core.config import Choice, Config, parameters
from dpmc_core.datasets import own
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.worker.cluster import WAITING
from dpmc_core.limits import Limit
from pages.parts.completion.controls import SHARED
from pages.parts.server import jobs
from pages.parts.ui import controls, densities, glossary
from pages.parts.ui.looks import lowered

ROOT = Path(__file__).resolve().parents[2]
# a sweep of a few seconds, as an address of *Tradeoffs* asks for it
OF_RATINGS = {
    "t_protect": "rating",
    "t_noises": "Laplace",
    "t_variance_rating": "1, 2",
    "t_by": "variance",
    "t_seeds": "2",
    "t_iterations_rating": "2",
    "t_users_rating": "60",
    "t_items_rating": "40",
    "t_observed": "0.5",
}


@pytest.fixture(autouse=True)
def fresh_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a visitor of its own: without this all share the session's box of jobs."""
    mine = jobs.Box()
    monkeypatch.setattr(jobs, "_box", lambda: mine)


def open_page(name: str, **params: str | list[str]) -> AppTest:
    """Open a page with all of its sections open, unless ``params`` say otherwise."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60)
    if name != "home":
        app.run()
        app.switch_page(f"{name}.py")
    app.session_state["open_all"] = True
    for key, value in params.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def by_label(elements, label: str):
    (found,) = [e for e in elements if e.label == label]
    return found


def blocks(block: Block) -> Iterator[Block]:
    """All containers inside ``block``, in the page's order."""
    for inside in block.children.values():
        if isinstance(inside, Block):
            yield inside
            yield from blocks(inside)


def verdict_of(app: AppTest) -> str:
    """The one sentence below the page's title; "" where nothing could be said."""
    (place,) = [b for b in blocks(app.main) if str(getattr(b.proto, "id", "")).endswith("-verdict")]
    said = [m.value for m in place.markdown]
    assert len(said) <= 1, said
    return str(said[0]).replace("\N{NO-BREAK SPACE}", " ") if said else ""


def example_note(app: AppTest) -> str:
    """What the page says of the example that it shows; "" where it shows none."""
    notes = [
        e.value for e in [*app.caption, *app.info] if re.search(r"\*\*(Stored e|E)xample", e.value)
    ]
    assert verdict_of(app).startswith("Example: ") == bool(notes)
    return " ".join(notes)


@pytest.mark.parametrize("name", glossary.PAGES)
def test_page_draws_something_with_alt_texts(name: str) -> None:
    app = open_page(name)
    (title,) = app.title
    assert title.value == glossary.PAGES[name].question
    assert verdict_of(app).removeprefix("Example: ").endswith((".", "?"))
    assert not app.error
    charts = app.get("plotly_chart")
    assert charts
    assert all(chart.proto.alt for chart in charts)


def test_home_follows_epsilon() -> None:
    app = open_page("home")
    assert "at most 73 times in 100" in verdict_of(app)
    assert "better than averages" in verdict_of(app)
    app.select_slider(key="home_epsilon").set_value(0.1).run()
    assert "at most 52 times in 100" in verdict_of(app)
    assert "worse than averages" in verdict_of(app)
    seed = app.number_input(key="home_seed").value
    by_label(app.button, "Draw again").click().run()
    assert app.number_input(key="home_seed").value == seed + 1
    assert not app.exception


@pytest.mark.parametrize("by", ["variance", "epsilon", "free"])
def test_mechanisms_in_every_mode(by: str) -> None:
    app = open_page("mechanisms")
    app.session_state["m_by"] = by
    app.session_state["m_staircase"] = True
    for view in ("density", "log-density", "cdf"):
        app.session_state["m_view"] = view
        app.run()
        assert not app.exception, view
        assert not app.error, view
        charts = app.get("plotly_chart")
        assert len(charts) == 6, view
        title = json.loads(charts[0].proto.spec)["layout"]["yaxis"]["title"]["text"]
        assert title == densities.VIEWS[view][0]


def test_mechanisms_at_the_ends_of_the_sliders() -> None:
    app = open_page("mechanisms")
    app.select_slider(key="m_variance").set_value(0.1)
    for alpha, sensitivity in product((0.01, 0.5, 20.0), (0.1, 10.0)):
        app.session_state["m_alpha"] = alpha
        app.slider(key="m_sensitivity").set_value(sensitivity).run()
        assert not app.exception, (alpha, sensitivity)


def test_bad_links_are_named_and_the_usual_value_is_used() -> None:
    app = open_page("mechanisms", m_alpha="99", m_delta="tiny")
    said = " ".join(w.value for w in app.warning)
    assert "Huber's α = '99' is not allowed: it must be a number from 0.01 to 20." in said.replace(
        "\\", ""
    )
    assert "δ = 'tiny'" in said.replace("\\", "")
    assert app.select_slider(key="m_alpha").value == 1.5
    app.select_slider(key="m_alpha").set_value(2.0).run()
    assert "Huber's α" not in " ".join(
        w.value for w in app.warning
    )  # the sentence goes once the value is changed


def test_a_link_may_say_names_or_titles_and_many_at_once() -> None:
    app = open_page(
        "completion",
        dataset="skewed",
        a_algorithm="irls",
        b_noise="laplace",
        c_algorithm="als",
        c_by="nominal_epsilon",
        n="3",
        rank="7",
        reg="2.5",
        seed="11",
        b_by="variance",
    )
    assert not app.warning
    assert app.selectbox(key="dataset").value == "skewed"
    assert app.selectbox(key="a_algorithm").value == "irls"
    assert app.selectbox(key="b_noise").value == "laplace"
    numbers = {"c_nominal_epsilon": 5.0, "rank": 7, "reg": 2.5, "seed": 11, "b_variance": 2.0}
    assert {key: app.number_input(key=key).value for key in numbers} == numbers


@pytest.mark.parametrize(
    ("page", "key", "title", "name"),
    [
        ("datasets", "d_view", "Known datasets", "known"),
        ("mechanisms", "m_view", "Log densities", "log-density"),
        ("factorization", "f_question", "What does privacy cost?", "epsilon"),
        ("completion", "question", "What does privacy cost?", "epsilon"),
    ],
)
def test_links_with_titles_work(page: str, key: str, title: str, name: str) -> None:
    more = {"protect": "user"} if page == "completion" else {}
    app = open_page(page, **{key: title}, **more)
    assert not [w.value for w in app.warning if "From the address" in w.value]
    assert app.session_state[key] == name


@pytest.mark.parametrize(
    ("page", "bad"),
    [
        (
            "completion",
            {
                "clip": ("maybe", "must be true or false"),
                "user": ("99999", "a whole number from 1 to 4000"),
                "a_noise": ("cauchy", "one of no noise, Huber"),
            },
        ),
        (
            "mechanisms",
            {
                "m_samples": ("5", "one of 1,000"),
                "m_staircase": ("perhaps", "true or false"),
                "m_delta": ("1", "above 0 and below 1"),
            },
        ),
        (
            "home",
            {"home_epsilon": ("0.05", "one of 0.1"), "home_seed": ("-1", "a whole number from 0")},
        ),
        (
            "audit",
            {
                "x_epsilon": ("0", "a number from 0.001"),
                "x_confidence": ("1", "above 0.5 and at most 0.999999999"),
                "x_case": ("worse", "one of as claimed"),
                "x_runs": ("7", "one of 1,000"),
            },
        ),
        (
            "budget",
            {
                "u_delta": ("0", "at least 1e-15"),
                "u_run": ("gone", "one of your own"),
                "u_count": ("many", "a whole number from 1 to 10000"),
            },
        ),
    ],
)
def test_every_control_names_a_bad_link(page: str, bad: dict[str, tuple[str, str]]) -> None:
    app = open_page(page, **{key: value for key, (value, _) in bad.items()})
    warnings = [w.value.replace("\\", "") for w in app.warning]
    for value, words in bad.values():
        # one sentence names both the value and what it must be
        assert any(f"'{value}' is not allowed" in w and words in w for w in warnings), warnings


@pytest.mark.parametrize(
    ("page", "key"), [("completion", "n"), ("mechanisms", "m_by"), ("tradeoffs", "t_view")]
)
def test_an_address_with_nothing_after_a_key_gives_the_usual(page: str, key: str) -> None:
    app = open_page(page, **{key: ""})
    assert not app.error
    assert any("is not allowed" in w.value for w in app.warning)
    app.query_params.clear()
    app.run()  # in the next script, too
    assert not app.exception
    assert app.session_state[key] is not None


def test_what_steers_is_no_part_of_a_label() -> None:
    """A label stands beside numbers: one that turns the direction would turn them round."""
    rows = [f"\u202eu{k % 9}\x1b[31m,\u2066i{k % 7} \u06cc\u200c,{k % 5 + 1}" for k in range(63)]
    made = own.read("ratings", "a.csv", "\n".join(["user,item,rating", *rows]).encode())
    assert made.ratings is not None
    assert made.ratings.user_labels[0] == "\u202eu0\x1b[31m"  # whole, where it identifies
    assert made.ratings.user_label(0) == "\\u202eu0\\x1b[31m"
    assert made.ratings.item_label(0) == "\\u2066i0 \u06cc\u200c"  # joiners are spelling


def test_strangers_words_in_a_link_are_not_markdown() -> None:
    app = open_page(
        "mechanisms", m_alpha="[free](https://evil.example) ![x](https://evil.example/a.png)"
    )
    (warning,) = app.warning
    assert "\\[free\\]\\(https" in warning.value
    assert controls.plain("a*b_c`d") == "a\\*b\\_c\\`d"
    assert controls.plain("a: b,\n\nc - d") == "a: b, c - d"  # sentences stay what they are
    assert controls.plain("\u202eevil \u2066x") == "\\\\u202eevil \\\\u2066x"  # nothing turns round
    for start, shown in (("- a", "\\- a"), ("1. a", "1\u2060. a"), ("# a", "\\# a")):
        assert controls.plain(start) == shown


def test_a_warning_stays_on_its_page() -> None:
    app = open_page("mechanisms", m_alpha="99")
    assert app.warning
    app.switch_page("completion.py").run()
    assert not app.warning


def test_extreme_free_settings_draw() -> None:
    app = open_page("mechanisms")
    app.session_state["m_by"] = "free"
    app.run()
    app.slider(key="m_scale_gaussian").set_value(0.05)
    app.slider(key="m_scale_huber").set_value(0.05)
    app.select_slider(key="m_alpha").set_value(20.0)
    app.slider(key="m_sensitivity").set_value(10.0).run()
    assert not app.exception
    assert not app.error


def test_noise_far_outside_the_usual_runs_and_is_counted() -> None:
    """Gaussian noise whose composed ε is beyond what exp can hold."""
    app = open_page("completion", b_by="variance", n="2")
    app.selectbox(key="b_noise").set_value("gaussian").run()
    app.number_input(key="b_variance").set_value(0.01)
    app.number_input(key="iterations").set_value(40).run()
    press_run(app)
    assert not app.exception
    assert not app.error
    assert any(
        "for each of 40 releases, " in m.value and "(as published" in m.value for m in app.markdown
    )
    assert any("over 40 releases" in m.value for m in app.markdown)


def finish(app: AppTest, seconds: float = 60) -> AppTest:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        app.run()
        if not any(b.label == "Cancel" for b in app.button):
            return app
        time.sleep(0.1)
    raise AssertionError("the run did not finish")


def press_run(app: AppTest) -> AppTest:
    app.button(key="go").click().run()
    return finish(app)


def test_run_shows_results_and_keeps_them_while_settings_change() -> None:
    app = open_page("completion", tab="accounts")
    assert example_note(app)
    app.number_input(key="iterations").set_value(4).run()
    press_run(app)
    assert not example_note(app)
    table = app.dataframe[0].value
    assert list(table["protects"]) == ["nobody", "one rating", "one user"]
    marked = "5, nominal, by our own proof (5.06 by published results)"
    assert list(table["total ε"]) == ["–", marked, "5, guaranteed, repeatable for teaching"]
    assert len(app.metric) == 3
    before = [m.value for m in app.metric]
    app.number_input(key="rank").set_value(3).run()
    assert any("settings have changed" in i.value for i in app.info)
    assert [m.value for m in app.metric] == before


def test_an_example_is_never_taken_for_the_visitors_own() -> None:
    app = open_page("completion")
    assert "not your settings" not in example_note(app)
    for page, key, value in (
        ("completion", "iterations", "4"),
        ("factorization", "f_k", "5"),
        ("tradeoffs", "t_seeds", "9"),
    ):
        assert "not your settings" in example_note(open_page(page, **{key: value}))
        # what is open is no setting of a run
        app = open_page(page, tab="method", open_all="true")
        assert example_note(app)
        assert "not your settings" not in example_note(app)


def test_cancelled_before_the_first_iteration_is_not_an_empty_page() -> None:
    app = open_page("completion")
    jobs._box().replace(
        jobs.Job(kind="run", specs=(RunSpec.of(),), results=[None], state="cancelled")
    )
    app.run()
    assert any("Cancelled after" in i.value for i in app.info)
    assert example_note(app)
    assert app.get("plotly_chart")


def test_cancelled_while_it_waits_for_a_worker_waits_no_longer() -> None:
    """Its own thread notices only when its turn comes."""
    app = open_page("completion")
    job = jobs.Job(kind="run", specs=(RunSpec.of(),), results=[None], where=WAITING)
    jobs._box().replace(job)
    job.cancel()
    app.run()
    assert not any(WAITING in i.value for i in app.info)
    assert any("Cancelled after" in i.value for i in app.info)
    away = jobs.Job(where="computed on the server itself")
    away.cancel()
    assert away.where


def test_irls_stands_beside_als_at_the_same_total_epsilon_two_clicks_from_home() -> None:
    app = open_page("home")
    app.switch_page("completion.py").run()
    by_label(app.button, "Compare ALS with IRLS at equal ε").click().run()
    finish(app)
    job = jobs.current()
    assert job is not None
    als, irls = job.specs
    assert (als.card.title, irls.card.title) == ("ALS", "IRLS")
    assert (als.noise, als.data, als.seed) == (irls.noise, irls.data, irls.seed)
    assert (als.noise.mechanism, als.noise.kind, als.noise.epsilon) == ("huber", "total", 5.0)
    said = verdict_of(app)
    assert said.startswith("In one draw at nominal total ε = 5, ALS's error is ")
    assert "% below IRLS's, and" in said
    assert sum(any(map(str.isalnum, word)) for word in said.split()) <= 21
    assert not any(
        b.label == "Compare ALS with IRLS at equal ε" for b in app.button
    )  # it is what stands
    app.selectbox(key="b_noise").set_value("gaussian").run()
    assert by_label(app.button, "Compare ALS with IRLS at equal ε")


def test_presets_fill_in_the_papers_numbers() -> None:
    app = open_page("completion", dataset="low-rank")
    app.button(key="preset-as published").click().run()
    assert app.number_input(key="iterations").value == 50
    assert app.number_input(key="reg").value == 0.5
    app.selectbox(key="dataset").set_value("ml-1m").run()
    assert app.button(key="preset-as published").disabled  # the papers report nothing on it


def test_rank_above_the_matrix_is_refused_in_a_sentence_and_earlier_results_stay() -> None:
    app = open_page("completion", dataset="low-rank", n_users="300", n="2", new_seed="false")
    app.number_input(key="iterations").set_value(2).run()
    press_run(app)
    kept = [m.value for m in app.metric]
    app.number_input(key="n_users").set_value(10).run()
    app.number_input(key="rank").set_value(50).run()
    press_run(app)
    assert any(
        "A: Rank r = 50" in e.value.replace("\\", "") and "at most 10" in e.value for e in app.error
    )
    assert [m.value for m in app.metric] == kept  # the failed run takes nothing away
    assert not app.exception
    app.number_input(key="n_users").set_value(300).run()
    app.number_input(key="rank").set_value(5).run()
    press_run(app)
    assert [m.value for m in app.metric] == kept


def test_each_run_draws_a_seed_unless_it_is_held() -> None:
    app = open_page("completion", iterations="2", tab="accounts")
    seen = []
    for held in (False, False, True):
        app.toggle(key="new_seed").set_value(not held).run()
        press_run(app)
        seen.append((app.number_input(key="seed").value, tuple(m.value for m in app.metric)))
    assert seen[0] != (0, ()) != seen[1] != seen[0]
    assert seen[2] == seen[1]
    assert app.query_params["seed"] in (str(seen[2][0]), [str(seen[2][0])])


def test_missing_dataset_disables_run_and_says_where_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    app = open_page("completion")
    app.selectbox(key="dataset").set_value("ml-1m").run()
    assert any("Datasets page" in e.value for e in app.error)
    assert app.button(key="go").disabled
    page = open_page("datasets")
    page.selectbox(key="d_name").set_value("ml-1m").run()
    fetch = by_label(page.button, "Fetch MovieLens 1M (5.9 MB)")
    assert fetch.disabled
    page.checkbox[0].check().run()
    assert not by_label(page.button, "Fetch MovieLens 1M (5.9 MB)").disabled


def test_users_are_protected() -> None:
    """A run states a total ε for one user."""
    app = open_page(
        "completion", a_algorithm="moments", a_noise="gaussian", b_algorithm="dpals", n="2",
        tab="accounts",
    )  # fmt: skip
    assert "4,000 users" in example_note(app)
    assert any("guaranteed ε" in m.value for m in app.markdown)
    assert app.selectbox(key="dataset").value == "skewed"
    app.number_input(key="user_rank").set_value(3).run()
    press_run(app)
    assert not app.error
    assert sum("guaranteed ε = 5 in total" in m.value for m in app.markdown) == 2
    said = "for one user; for teaching: the noise follows from its seed, so it is no guarantee"
    assert any(said in m.value for m in app.markdown)
    app.selectbox(key="b_algorithm").set_value("svt").run()
    assert not app.exception
    assert not app.error
    app.selectbox(key="b_algorithm").set_value("dpals").run()
    app.number_input(key="beta").set_value(0.005).run()
    press_run(app)
    assert any("fewer than the rank" in e.value for e in app.error)


@pytest.mark.parametrize("question", ["compare", "recommend"])
def test_every_parameter_with_a_label_has_its_box(question: str) -> None:
    app = open_page("completion", question=question)
    units = ("rating", "user") if question == "compare" else ("user",)
    drawn = {e.label for kind in ("number_input", "selectbox", "toggle") for e in app.get(kind)}
    apart = "centring" if question == "recommend" else "global_penalty"
    for card in ALGORITHMS.values():
        for name, known in parameters(card.config).items():
            if card.unit in units and known.rule.label and name != apart:
                label = known.rule.label
                if card.unit == "user" and name in SHARED:
                    label = f"Users: {lowered(label)}"
                # what need not be said has a switch, but where the page has a usual value
                assert label in drawn or (known.optional and f"Choose {label}" in drawn)


def test_a_box_follows_from_its_declaration(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Declared(Config):
        weight: Annotated[int, Limit("weight", 1, 9, "how much", integer=True, label="Weight")] = 4
        way: Annotated[str, Choice(("a", "b"), "which way", "Way", ("one", "other"))] = "b"
        far: Annotated[float, Limit("far", 0, 1, "how far", 0.5, label="Far", step=0.1)] | None = (
            None
        )
        hidden: Annotated[float, Limit("hidden", 0, 1, "no label")] = 0.25

    monkeypatch.setitem(ALGORITHMS, "declared", replace(ALGORITHMS["als"], config=Declared))

    def page() -> None:
        import streamlit as st

        from pages.parts.ui.controls import on_page
        from pages.parts.ui.declared import boxes, titles

        on_page("completion.py", titles(["declared"]))
        st.session_state["got"] = boxes(["declared"], {"w": 5}, (), {"weight": "w"})

    app = AppTest.from_function(page)
    assert app.run().session_state["got"] == {"weight": 5, "way": "b"}
    assert app.selectbox(key="way").options == ["one", "other"]
    assert "how much; a whole number from 1 to 9" in app.number_input(key="w").help.lower()
    app.toggle(key="own_far").set_value(True).run()
    assert app.session_state["got"] == {"weight": 5, "way": "b", "far": 0.5}
    assert app.number_input(key="far").step == 0.1


def _places(app: AppTest) -> dict[str, tuple[int, ...]]:
    """Where each widget of the sidebar stands in the page's tree, by its key."""
    found: dict[str, tuple[int, ...]] = {}

    def walk(block: Block, path: tuple[int, ...]) -> None:
        for place, inside in block.children.items():
            if isinstance(inside, Block):
                walk(inside, (*path, place))
            elif isinstance(inside, Widget) and inside.key:
                found[inside.key] = (*path, place)

    walk(app.sidebar, ())
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, {}) for name in glossary.PAGES),
        ("audit", {"x_target": "irls"}),
        ("factorization", {"f_data": "topics"}),
        ("tradeoffs", {"t_protect": "rating"}),
    ],
)
def test_controls_that_come_and_go_leave_the_others_in_their_places(
    name: str, params: dict[str, str]
) -> None:
    """What moves is made again in the browser: a text half typed into it, or the focus, is lost."""
    app = open_page(name, **params)
    first = _places(app)
    ways = {
        (kind, widget.key): getattr(widget, "options", (True, False))
        for kind in ("selectbox", "button_group", "toggle")
        for widget in app.get(kind)
        if widget.key in first and not widget.proto.disabled and widget.key != "present"
    }
    for (kind, key), options in ways.items():
        for k, option in enumerate(options):
            app = open_page(name, **params)
            (widget,) = (one for one in app.get(kind) if one.key == key)
            widget.set_value(widget.options[k] if kind != "toggle" else option).run()
            assert not app.exception
            now = _places(app)
            assert {k: now[k] for k in first if k in now} == {
                k: first[k] for k in now if k in first
            }


def test_attacking_an_algorithm_that_protects_users() -> None:
    app = open_page("audit", x_target="dpals")
    assert not app.error
    assert app.selectbox(key="x_user_view").value == "factors"
    assert any("DPALS, on the left or the right table" in m.value for m in app.markdown)


@pytest.mark.data
def test_real_ratings_show_titles(data_dir: Path) -> None:
    app = open_page("completion", n="1", new_seed="false")
    app.selectbox(key="dataset").set_value("ml-100k").run()
    assert app.number_input(key="reg").value == 10
    app.number_input(key="iterations").set_value(2).run()
    press_run(app)
    second = [d.value.iloc[:, 1].astype(str) for d in app.dataframe]
    assert any(cells.str.contains(r"\(19\d\d\)").all() for cells in second)


@pytest.mark.data
@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "sweetrs", "skewed", "orthogonal"])
def test_datasets_page_shows_real_sets(name: str, data_dir: Path) -> None:
    app = open_page("datasets")
    app.selectbox(key="d_name").set_value(name).run()
    assert not app.exception
    assert not app.error
    assert len(app.get("plotly_chart")) == 2


class TestJobs:
    """The background runner without a page."""

    def wait(self, job: jobs.Job) -> jobs.Job:
        end = time.monotonic() + 30
        while job.active and time.monotonic() < end:
            time.sleep(0.02)
        assert not job.active
        return job

    def test_a_failure_is_a_sentence(self) -> None:
        def work(job: jobs.Job) -> None:
            raise RuntimeError("disk on fire")

        job = self.wait(jobs.start_task(work))
        assert job.state == "failed"
        assert "RuntimeError: disk on fire" in job.error
        self.wait(jobs.start_task(lambda job: None))

    def test_cancel_stops_at_once_for_the_page(self) -> None:
        begun, over = threading.Event(), threading.Event()

        def work(job: jobs.Job) -> None:
            begun.set()
            while not job.stopped:
                time.sleep(0.01)
            over.set()

        job = jobs.start_task(work)
        assert begun.wait(30)
        assert job.state == "running"
        job.cancel()
        assert job.state == "cancelled"
        assert over.wait(30)
        self.wait(jobs.start_task(lambda job: None))  # its thread is free again
        assert job.state == "cancelled"

    def test_a_new_job_replaces_the_old_and_the_queue_is_bounded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = jobs.start_task(lambda job: job._stop.wait(20) and None)
        second = jobs.start_task(lambda job: None)
        assert first.state == "cancelled"
        self.wait(second)
        slow = jobs.start("run", (RunSpec.of(iterations=500, n_users=600, n_items=600, rank=20),))
        download = jobs.start_task(lambda job: None)
        assert slow.active  # a download does not stop a run
        fast = jobs.start("run", (RunSpec.of(iterations=2),))
        assert slow.state == "cancelled"
        assert self.wait(fast).state == "done"
        assert self.wait(download).state == "done"
        broken = self.wait(jobs.start("run", (RunSpec.of(n_users=10, n_items=10, rank=50),)))
        assert (broken.state, jobs.current(), jobs.standing()) == ("failed", broken, fast)
        long = RunSpec.of(iterations=500, n_users=900, n_items=900, rank=60)
        started: list[jobs.Job] = []
        try:
            for _ in range(5):
                box = jobs.Box()
                monkeypatch.setattr(jobs, "_box", lambda box=box: box)
                started.append(jobs.start("run", (long,)))
                while len(started) <= 2 and started[-1].state == "waiting":
                    time.sleep(0.01)
            assert [job.place for job in started] == [0, 0, 1, 2, 3]  # two compute
            started[3].cancel()  # its place is free at once
            assert [job.place for job in started] == [0, 0, 1, 0, 2]
        finally:
            for job in started:
                job.cancel()


def test_a_finished_run_is_kept_though_the_next_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    monkeypatch.setattr(jobs.run_store, "keep", lambda result, _: kept.append(result.spec) or "")
    good = RunSpec.of(n_users=30, n_items=20, observed=0.5, rank=2, reg=0.5, iterations=2)
    bad = good.replace(rank=19, n_items=3)  # only the data can tell that
    job = jobs.start("run", (good, bad))
    until = time.monotonic() + 60
    while job.active and time.monotonic() < until:
        time.sleep(0.05)
    assert job.state == "failed"
    assert kept == [good]
