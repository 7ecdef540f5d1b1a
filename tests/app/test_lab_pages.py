"""Tradeoffs, Papers, Runs, Lessons and sharing, in-process."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Radio

from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.examples import example, names
from dpmc_core.experiments.papers import ENTRIES, PAPERS, Entry, rows_of, stored
from dpmc_core.experiments.papers.compute import judged
from dpmc_core.experiments.store.records import Record, failed, record_of
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.spec import SweepSpec
from pages.parts.frame import share
from pages.parts.lessons import lessons
from pages.parts.papers.drawing import CURVES, drawing
from pages.parts.papers.view import as_printed
from pages.parts.server import jobs, run_store
from pages.parts.tradeoffs import charts as tradeoff_charts
from pages.parts.tradeoffs.controls import BY, VIEWS
from pages.parts.ui import run_panel
from tests.app.test_pages import (
    OF_RATINGS,
    example_note,
    fresh_visitor,  # noqa: F401 - a fixture
    open_page,
    verdict_of,
)
from tests.app.test_tabs import opened, strip_of

TINY = RunSpec.of(n_users=30, n_items=20, observed=0.5, rank=2, reg=0.5, iterations=2)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))
    return tmp_path / "runs.sqlite"


def texts(app: AppTest) -> str:
    return "\n".join(
        str(e.value).replace("\N{NO-BREAK SPACE}", " ")
        for kind in ("markdown", "caption", "info", "warning", "error", "success")
        for e in app.get(kind)
    )


def wait(app: AppTest) -> AppTest:
    for _ in range(600):
        job = jobs.current("sweep") or jobs.current("row") or jobs.current()
        if job is None or not job.active:
            break
        time.sleep(0.1)
    return app.run()


def keep(store: Path, *records: Record) -> None:
    with RunStore(store) as opened:
        for record in records:
            assert opened.add(record)


def run_on_the_page() -> AppTest:
    """Two runs of a second, made and shown by the page."""
    app = open_page(
        "completion", dataset="low-rank", n="2", n_users="30", n_items="20", observed="0.5",
        rank="2", iterations="2",
    )  # fmt: skip
    app.button(key="go").click().run()
    return wait(app)


def headings(app: AppTest) -> str:
    return "\n".join(s.value for s in app.subheader)


def open_step(name: str, number: int) -> AppTest:
    """A lesson's step, on its page and with its settings."""
    step = lessons.lessons()[name].steps[number - 1]
    settings = {
        key: f"{v:g}" if isinstance(v, float) else str(v) for key, v in step.settings.items()
    }
    return open_page(step.page, **settings, lesson=name, step=str(number))


def question_of(app: AppTest, step: lessons.Step) -> Radio:
    (question,) = [r for r in app.radio if r.label == f"**{step.question}**"]
    return question


@pytest.mark.parametrize("view", VIEWS.values())
@pytest.mark.parametrize("by", BY.values())
def test_nominal_examples_in_every_view(by: str, view: str) -> None:
    app = open_page("tradeoffs", t_protect="one rating (nominal)", t_by=by, t_view=view)
    assert not app.error
    assert "Stored example" in texts(app)
    assert "Nominal" in texts(app)
    assert app.get("plotly_chart")[0].proto.alt


@pytest.mark.parametrize("view", VIEWS.values())
@pytest.mark.parametrize("vary", ["the amount of noise", "how many people"])
def test_sound_examples_in_every_view(vary: str, view: str) -> None:
    app = open_page("tradeoffs", t_vary=vary, t_view=view)
    assert not app.error
    assert "A guarantee" in texts(app)
    if vary == "how many people" and view == "Curves":
        assert any("people needed (median)" in frame.value.columns for frame in app.dataframe)


def test_examples_are_whole() -> None:
    for name in names("tradeoffs"):
        one = example("tradeoffs", name)
        assert len(one.runs) == one.made["runs"], name
        assert len(one.points) == len(one.spec.cells()), name
        for point in one.points:
            assert point.nominal == (
                name.startswith("rating") and point.spec.noise.mechanism != "none"
            )
            if name in ("user", "people") and point.spec.noise.mechanism != "none":
                assert point.epsilon <= dict(point.settings)["total_epsilon"] * (1 + 1e-9)
                assert point.unit == "user"


@pytest.mark.long
def test_a_sweep_runs_on_the_page_and_is_kept(own_store: Path) -> None:
    app = open_page("tradeoffs", **OF_RATINGS)
    assert not app.error
    app.button(key="go").click().run()
    job = jobs.current("sweep")
    assert job is not None
    wait(app)
    assert job.state == "done", job.error
    assert not app.exception
    assert not example_note(app)
    assert job.progress == (6, 6)
    with RunStore(own_store) as store:
        assert store.count() == 6
    # another visitor with the same link finds it in the store, without a run
    again = open_page("tradeoffs", **OF_RATINGS)
    assert not example_note(again)
    # more repetitions: what is there is shown, as a part
    more = open_page("tradeoffs", **{**OF_RATINGS, "t_seeds": "3"})
    assert "6 of 9 runs are kept so far" in texts(more)
    # after a cancelled job its own total stands alone
    jobs._box().replace(
        jobs.Job(kind="sweep", specs=job.specs, results=[None], progress=(2, 4), state="cancelled")
    )
    cancelled = texts(open_page("tradeoffs", **{**OF_RATINGS, "t_seeds": "3"}))
    assert "Cancelled after 2 of 4 runs" in cancelled
    assert "6 runs are kept so far" in cancelled
    assert " of 9 runs" not in cancelled
    jobs._box().replace(job)
    # of many more a few say little: the example stands, and what is kept is said
    wider = {"t_seeds": "8", "t_variance_rating": "1, 2, 3, 4"}
    many = open_page("tradeoffs", **{**OF_RATINGS, **wider})
    assert "Example, not your settings" in example_note(many)
    assert "6 of 40 runs are finished" in example_note(many)
    listed = open_page("runs")
    assert "6 runs" in texts(listed)


@pytest.mark.long
def test_what_a_quick_look_ran_is_not_run_again(
    own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two repetitions of the first, the middle and the last amount, and without noise."""
    asked = {**OF_RATINGS, "t_variance_rating": "1, 2, 3, 4, 5", "t_seeds": "3"}
    assert "go-quick" not in [button.key for button in open_page("tradeoffs", **asked).button]
    monkeypatch.setattr(run_panel, "_LONG", 0.0)  # as if it took long
    app = open_page("tradeoffs", **asked)
    wait(app.button(key="go-quick").click().run())
    assert verdict_of(app).startswith("Quick look (2 repetitions): At variance 3, Laplace noise")
    assert app.query_params["run"] == "quick"
    with RunStore(own_store) as store:
        assert store.count() == 2 * (3 + 1)
    another = jobs.Box()
    monkeypatch.setattr(jobs, "_box", lambda: another)  # another visitor
    again = open_page("tradeoffs", **asked, run="quick")
    assert verdict_of(again) == verdict_of(app)
    assert "go-quick" not in [button.key for button in again.button]
    wait(again.button(key="go").click().run())
    assert verdict_of(again).startswith("At variance 2, Laplace noise")
    job = jobs.current("sweep")
    assert job is not None
    assert (job.results[0].before, job.results[0].total) == (8, 3 * (5 + 1))


def test_lines_and_needed_people_follow_the_example() -> None:
    points = example("tradeoffs", "people").points
    lines = tradeoff_charts.lines_of(points, "n_users")
    assert lines.algorithms == ["moments", "dpals"]
    figure, numbers = tradeoff_charts.curves(lines, "error")
    assert {"mean", "half_width_95", "best_trivial", "stated_epsilon"} <= set(numbers.columns)
    assert len(figure.data) > 6


def test_presenter_shows_stored_results_only() -> None:
    app = open_page("tradeoffs")
    app.session_state["present"] = True
    app.run()
    assert not app.exception
    assert not app.error
    assert "Stored results of" in texts(app)
    assert verdict_of(app).startswith("At total ε = 5")
    assert len(app.get("plotly_chart")) == 1
    assert not [b for b in app.button if "Run" in b.label]
    assert not app.sidebar.number_input
    assert not app.sidebar.segmented_control


@pytest.mark.long
@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"t_total_epsilon_user": "1, many"},
            "'many' is not allowed: it must be a number from 0.001 to 1000000",
        ),
        ({"t_total_epsilon_user": "<script>alert(1)</script>"}, "is not allowed"),
        ({"t_seeds": "99999999"}, "Repetitions of each point"),
        ({"t_view": "__import__('os')"}, "Figure = "),
        ({"t_noises": "../../etc/passwd"}, "Mechanisms = "),
        ({"t_seed": "1e400"}, "t_seed = '1e400' is not allowed: it must be a finite number"),
        ({"t_seed": "1_5"}, "t_seed = '1_5' is not allowed: it must be a finite number in plain"),
        ({"t_seeds": "2000"}, "at most 2,000 are made from this page"),
        ({"t_total_epsilon_user": "1,2,3,4,5,6,7,8,9"}, "1 to 8 numbers with commas between"),
    ],
)
def test_hostile_and_mistaken_links(params: dict[str, str], said: str) -> None:
    app = open_page("tradeoffs", **params)
    assert said in texts(app).replace("\\", "")
    assert app.get("plotly_chart")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_entry_of_a_paper_can_be_read(paper: str) -> None:
    app = open_page("papers", p_paper=paper)
    for entry in (e for e in ENTRIES if e.paper == paper):
        app.selectbox(key=f"p_entry_{paper}").set_value(entry.id).run()
        assert not app.exception, entry.id
        assert not app.error, entry.id
        drawn = bool(rows_of(entry.source)) or entry.id in CURVES
        assert bool(app.get("plotly_chart")) == drawn, entry.id
        assert app.get("plotly_chart") or app.dataframe or entry.title in verdict_of(app), entry.id
        if entry.finding:
            assert "What we found" in texts(app)


LIVE = {f"{e.page} {e.state}": e for e in ENTRIES if e.state}


@pytest.mark.long
@pytest.mark.parametrize("entry", LIVE.values(), ids=lambda e: e.id)
def test_the_page_that_draws_a_figure_takes_the_settings_of_its_link(entry: Entry) -> None:
    app = open_page(entry.page, **entry.state)
    end = time.monotonic() + 60
    while not app.get("plotly_chart") and time.monotonic() < end:
        time.sleep(0.1)
        app.run()
    assert "From the address" not in texts(app)
    assert not app.error
    assert app.get("plotly_chart")


def test_a_table_of_the_thesis_shows_the_rows_of_the_papers_table() -> None:
    app = open_page("papers", p_paper="thesis", p_entry_thesis="thesis-table-5.1")
    assert verdict_of(app) == "Table 5.1: of 12 rows, 7 reproduced, 5 differ."
    assert "The thesis prints the numbers of Table 1 of the paper, rounded to two digits" in texts(
        app
    )
    assert "Equation 4.4" in texts(app)  # its misprints


def test_a_paper_opens_on_a_table_as_printed_with_ours_marked_by_verdict() -> None:
    app = open_page("papers", p_paper="huber")
    assert verdict_of(app).startswith("Table 3: of 48 rows, 17 reproduced")
    table = app.dataframe[0].value
    parts = ["variance of the noise", "share observed", "algorithm"]
    noises = ["no noise", "Gaussian noise", "Laplace noise", "Huber noise"]
    assert list(table) == [*parts, *noises]
    # the paper's line for variance 2, 10 % observed, IRLS
    (line,) = [line for line in table.values if [*line[:3]] == ["2", "10 %", "IRLS"]]
    printed = ["0.0982", "0.2194", "0.2208", "0.2047"]
    assert [cell.split(" | ")[0] for cell in line[3:]] == printed
    marks = [cell[-1] for line in table.values for cell in line[3:]]
    assert (marks.count("●"), marks.count("◆"), marks.count("■")) == (17, 31, 0)
    assert re.search(r"One trial takes .*\d s, as when it was stored", texts(app))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if rows_of(e.source)], ids=lambda e: e.id)
def test_every_printed_number_has_its_cell(entry: Entry) -> None:
    rows = judged(rows_of(entry.source), stored(entry.source))
    printed = sorted(one.row.printed.text for one in rows if one.row.printed is not None)
    table = as_printed(rows)
    cells = [] if table is None else [str(cell) for cell in table.data.values.flat]
    assert sorted(cell.split(" | ")[0] for cell in cells if " | " in cell) == printed


@pytest.mark.parametrize("entry", [e for e in ENTRIES if rows_of(e.id)], ids=lambda e: e.id)
def test_every_number_is_drawn_on_the_axes_of_its_figure(entry: Entry) -> None:
    """Ours with its interval, what is printed hollow; in one of the figures."""
    rows = judged(rows_of(entry.id), stored(entry.id))
    traces = [trace for axes in entry.figures for trace in drawing(axes, entry.paper, rows).data]
    drawn = [trace for trace in traces if not trace.fill]
    by_kind = {
        hollow: {y for t in drawn if ("-open" in t.marker.symbol) == hollow for y in t.y}
        for hollow in (False, True)
    }
    assert {one.result.mean for one in rows if one.result.values} == by_kind[False]
    assert {one.row.printed.value for one in rows if one.row.printed} <= by_kind[True]
    halves = [half for t in drawn if t.error_y.array is not None for half in t.error_y.array]
    assert any(half > 0 for half in halves) == any(len(set(one.result.values)) > 1 for one in rows)


def test_figures_have_the_axes_of_the_paper() -> None:
    def of(name: str) -> tuple[go.Figure, dict[str, tuple[list[float], list[float]]]]:
        entry = next(e for e in ENTRIES if e.id == name)
        fig = drawing(entry.figures[0], entry.paper, judged(rows_of(name), stored(name)))
        return fig, {t.name: ([*t.x], [*t.y]) for t in fig.data}

    # error against ε, a line for each algorithm, levels without noise, Table 5's numbers beside
    figure, lines = of("dpals-figure-3")
    means = [stored("dpals-figure-3").row(f"ε={e};algorithm=dpals").mean for e in (1, 5, 10, 20)]
    assert lines["DPALS"] == ([1, 5, 10, 20], means)
    assert lines["DPALS, MovieLens 10M, printed"][1] == [0.9398, 0.8725, 0.853, 0.8373]
    (level,) = {*lines["ALS, no noise"][1]}
    assert any(min(t.y) < level < max(t.y) for t in figure.data if t.fill)
    assert figure.layout.xaxis.ticktext == ("1", "5", "10", "20")
    # a panel for each number of users, ratios of errors as distances
    figure, lines = of("dpals-figure-4")
    titles = [a.text for a in figure.layout.annotations]
    assert titles == ["5,000 users", "20,000 users", "total ε"]
    assert figure.layout.yaxis.type == "log"
    # learning curves: rounds across
    figure, lines = of("nmf-figure-5")
    assert lines["as published, ε = 0.5 a round"][0] == [25, 50, 100, 200, 400, 700, 1000]
    assert not figure.layout.yaxis2.matches  # each set of images has its own scale
    # words on the axis: mechanisms stand beside each other
    _, lines = of("huber-table-4")
    assert len({x for xs, _ in lines.values() for x in xs if x % 1}) == 6


def test_the_papers_overview_counts_verdicts_and_stays_as_it_is() -> None:
    app = opened("papers", tab="all", p_differs="true")
    board, overview = (frame.value for frame in app.dataframe[-2:])
    differ = [
        int(n) for line in overview["what stands for it"] for n in re.findall(r"■ (\d+)", line)
    ]
    assert len(differ) == len(overview)
    assert sum(differ) == board["differs"].sum()
    for key in ("about", "all"):
        strip_of(app).set_value(key).run()
    assert app.toggle(key="p_differs").value
    assert app.dataframe[-1].value.equals(overview)


def test_names_of_accounting_have_room_at_their_lines() -> None:
    entry = next(e for e in ENTRIES if e.id == "dpals-table-4")
    rows = judged(rows_of(entry.id), stored(entry.id))
    names = {trace.name for trace in drawing(entry.figures[0], entry.paper, rows).data}
    assert names == {"Theorem 1", "both releases", "both and the mean, exactly", "printed"}


def test_rows_have_names_that_people_read() -> None:
    app = open_page("papers", p_paper="huber", p_entry_huber="huber-table-5", tab="rows")
    table = next(f.value for f in app.dataframe if "verdict" in f.value)
    assert set(table["share observed"]) == {"5 %", "10 %", "15 %"}
    assert "Gaussian" in set(table["noise"])
    assert "IRLS-2" in set(table["algorithm"])


def test_bounds_and_ranges_are_shown_as_printed() -> None:
    app = open_page("papers", p_paper="dpals", p_entry_dpals="dpals-table-1")
    assert "Ω̃(m^(5/4))" in {
        str(cell) for frame in app.dataframe for cell in frame.value.values.flat
    }


def test_a_row_is_run_again_live() -> None:
    app = open_page("papers", p_paper="huber", p_entry_huber="huber-table-1")
    options = app.selectbox(key="p_row_huber-table-1").options
    assert options[0] == "variance 1, Gaussian noise, δ = 10⁻⁵"
    app.button(key="run-row").click().run()
    wait(app)
    assert "exactly as stored" in texts(app)


def test_runs_without_any_show_an_example(own_store: Path) -> None:
    app = open_page("runs")
    assert "No run is kept yet" in texts(app)
    assert "Shown are the stored runs" in texts(app)


def test_runs_are_filtered_compared_and_deleted(own_store: Path) -> None:
    specs = [
        TINY,
        TINY.replace(mechanism="huber", variance=2.0),
        TINY.replace(mechanism="gaussian", variance=2.0, rank=3),
    ]
    records = [record_of(run(spec)) for spec in specs]
    keep(own_store, *records)
    app = open_page("runs", runs=",".join(r.key for r in records[:2]) + ",nonsense")
    assert "1 run of this link is not in the store" in texts(app)
    assert "Side by side" in headings(app)
    assert len(app.metric) == 2
    filtered = open_page("runs", r_mechanism="huber")
    assert "1 run" in texts(filtered)
    assert list(filtered.dataframe[0].value["noise"]) == ["Huber"]
    assert list(filtered.dataframe[0].value["dataset"]) == ["Synthetic low-rank matrix"]
    app.button(key="delete-runs").click().run()
    assert "2 runs were deleted" in texts(app)
    with RunStore(own_store) as store:
        assert [row["mechanism"] for row in store.rows()] == ["gaussian"]


def test_odd_rows_of_a_store_neither_end_the_page_nor_become_links(own_store: Path) -> None:
    """Whoever may write to the database may write anything there."""
    good = record_of(run(TINY))
    link = '<a href="http://evil.example/x">click</a><b>BB</b> $x^2$'
    strange = replace(good, key="s" * len(good.key), algorithm=link, dataset=link)
    other = replace(good, key="o" * len(good.key), measure="another <b>measure</b>")
    keep(own_store, good, strange, other)
    app = open_page("runs", runs=",".join(r.key for r in (good, strange, other)))
    assert not app.exception
    assert "another release's measure" in texts(app).replace("\\", "")
    drawn = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert drawn
    assert not any("<a href" in spec or "<b>BB" in spec or "$x^2" in spec for spec in drawn)
    alone = open_page(
        "runs", runs=f"{good.key},{strange.key}"
    )  # of one measure, so steps are drawn
    drawn = [chart.proto.spec for chart in alone.get("plotly_chart")]
    assert len(drawn) == 2
    assert any("&lt;a href" in spec for spec in drawn)
    assert not any("<a href" in spec or "<b>BB" in spec or "$x^2" in spec for spec in drawn)


def test_with_the_last_tick_taken_away_nothing_is_compared(own_store: Path) -> None:
    kept = record_of(run(TINY))
    keep(own_store, kept)
    app = open_page("runs", runs=kept.key)
    assert "Side by side" in headings(app)
    app.session_state["runs-ticked"] = True  # as after a tick, of which the table now has none
    app.run()
    assert "Side by side" not in headings(app)
    assert "runs" not in app.query_params


def test_a_store_that_cannot_be_read_is_told_and_pages_go_on(own_store: Path) -> None:
    own_store.write_text("this is no database\n" * 50)
    app = open_page("runs")
    assert "damaged, or is no database" in texts(app)
    app = open_page("tradeoffs")
    assert "damaged, or is no database" in texts(app)
    assert app.get("plotly_chart")
    app = run_on_the_page()
    assert app.metric  # the run is shown
    assert "not kept among past runs" in texts(app)
    assert own_store.read_text().startswith("this is no database")


def test_runs_of_pages_are_kept(own_store: Path) -> None:
    run_on_the_page()
    assert run_store.store().count() == 2
    spec = RunSpec.from_json(run_store.store().rows(limit=1)[0]["spec"])
    assert (spec.data.n_users, spec.algorithm.iterations) == (30, 2)
    run_store.store().add(record_of(run(TINY)))  # later, by somebody else
    base = {"n_users": 30, "n_items": 20, "rank": 2, "iterations": 1}
    swept = SweepSpec(base=tuple(base.items()), seeds=1)
    run_store.store().add(record_of(run(next(swept.plan()).spec)))
    jobs._box().replace(jobs.Job(kind="sweep", specs=(swept,), results=[None], state="cancelled"))
    table = next(f.value for f in open_page("runs").dataframe if "mine" in f.value)
    assert table["mine"].tolist() == ["sweep", "yes", "yes", ""]  # the visitor's own first


def test_failed_runs_are_told_and_no_guarantee_is_claimed(own_store: Path) -> None:
    link = {
        "t_protect": "rating",
        "t_by": "variance",
        "t_variance_rating": "2",
        "t_noises": "Huber",
        "t_users_rating": "30",
    }
    spec = SweepSpec.from_dict(
        {
            "name": "privacy against error",
            "seeds": 5,
            "base": {
                "dataset": "low-rank",
                "rank": 5,
                "reg": 0.5,
                "iterations": 20,
                "inner": 10,
                "sensitivity": 5.0,
                "delta": 1e-5,
            }
            | {"n_users": 30, "n_items": 300, "observed": 0.1},
            "grid": [{"algorithm": ["als"], "mechanism": ["none", "huber"], "variance": [2.0]}],
        }
    )
    overflow = DataError("iteration 3 overflowed.")
    keep(own_store, *(failed(planned.spec, overflow) for planned in spec.plan()))
    app = open_page("tradeoffs", **link)
    assert "10 of 10 runs could not be finished" in texts(app)
    assert "iteration 3 overflowed" in texts(app)
    assert "Nominal" in texts(app)
    assert "A guarantee" not in texts(app)
    listed = open_page("runs")
    assert not listed.exception


def test_runs_of_another_release_do_not_break_the_page(own_store: Path) -> None:
    record = record_of(run(TINY))
    odd = [
        replace(record, key="a", spec='{"new_field": 1}'),
        replace(record, key="b", mechanism="cauchy"),
        replace(record, key="c", kind="cooking"),
        replace(record, key="d", summary={}),
        replace(record, key="e", baseline=None),
        replace(record, key="f", value=None, error="*It* broke <b>here</b>."),
    ]
    keep(own_store, *odd)
    assert not open_page("runs").exception
    for one in odd:
        assert not open_page("runs", runs=one.key).exception, one.key
    assert not open_page("runs", runs=",".join(one.key for one in odd)).exception


def test_a_store_that_was_deleted_is_made_anew(own_store: Path) -> None:
    first = run_store.store()
    first.add(record_of(run(TINY)))
    for file in own_store.parent.glob("runs.sqlite*"):
        file.unlink()
    second = run_store.store()
    assert second.count() == 0
    assert second.add(record_of(run(TINY)))
    with RunStore(own_store) as store:
        assert store.count() == 1


def test_lessons_are_whole() -> None:
    assert len(lessons.lessons()) == 4
    assert lessons.lessons()["class"].minutes == 45
    assert all(step.offline for step in lessons.lessons()["class"].steps)
    for lesson in lessons.lessons().values():
        assert 4 <= len(lesson.steps) <= 8
        for step in lesson.steps:
            assert (Path("pages") / f"{step.page}.py").exists()


@pytest.mark.parametrize("name", ["epsilon", "noise", "cost", "class"])
def test_every_step_opens_its_page_with_its_settings(name: str) -> None:
    for k, step in enumerate(lessons.lessons()[name].steps, start=1):
        app = open_step(name, k)
        assert not app.error, (name, k)
        assert "From the address" not in texts(app), (name, k)
        here = {key: v for key, v in step.settings.items() if key != "run"}
        assert {key: app.session_state[key] for key in here} == here, (name, k)
        assert jobs.current() is not None or "run" not in step.settings, (name, k)
        question_of(app, step).set_value(step.options[step.right]).run()
        assert step.feedback[step.right] in texts(app)
        assert not app.exception


@pytest.mark.parametrize(
    ("number", "answer"), [(1, "73 times"), (4, ": 2.96"), (5, "17.9"), (6, "73.1")]
)
def test_numbers_that_answer_an_open_question_wait_for_the_answer(number: int, answer: str) -> None:
    """Neither the figures, nor what is said of them, nor a tab has them beside the question."""
    app = open_step("epsilon", number)
    app.session_state["open_all"] = False
    app.run()
    step = lessons.lessons()["epsilon"].steps[number - 1]

    def shown() -> str:
        layouts = [json.loads(c.proto.spec)["layout"] for c in app.get("plotly_chart")]
        labels = [label["text"] for layout in layouts for label in layout.get("annotations", ())]
        labels += [c.proto.alt for c in app.get("plotly_chart")]
        own = [*step.options, *step.feedback, step.text]
        page = texts(app)
        for text in own:
            page = page.replace(text, "")
        tables = [table.value.to_string() for table in app.dataframe]
        return " ".join([page, *tables, *labels])

    assert answer not in shown()
    assert app.session_state["tab"] is None
    question_of(app, step).set_value(step.options[0]).run()
    assert answer in shown()
    assert app.session_state["tab"]


def test_a_lesson_is_begun_and_left() -> None:
    """Going on and back is tried in the browser: it changes pages."""
    app = open_page("lessons")
    app.button(key="begin-epsilon").click().run()
    assert app.query_params["step"] == "1"
    app.button(key="lesson-leave").click().run()
    assert "lesson" not in app.query_params
    for bad in ("0", "99", "x", "²", "9" * 5000):
        assert not open_page("home", lesson="epsilon", step=bad).exception
    assert (
        "There is no lesson called 'nope': it must be one of epsilon, noise, cost, class"
        in texts(open_page("home", lesson="nope"))
    )


def test_a_step_on_the_same_page_runs_with_its_own_settings() -> None:
    app = open_step("class", 5)
    app.button(key="lesson-next").click().run()
    job = jobs.current()
    assert job is not None
    assert [spec.flat()["algorithm"] for spec in job.specs] == ["als", "irls"]
    wait(app)


def test_a_timetable_has_the_minutes_and_the_link_of_each_step() -> None:
    app = open_page("lessons", l_view="teach")
    assert verdict_of(app).startswith("A class in 45 minutes, and three lessons")
    table = app.table[0].value
    assert list(table["Min"])[:2] + list(table["Min"])[-1:] == ["0–8", "8–13", "41–45"]
    assert "/game?x_target=number&x_noise=laplace&x_epsilon=1&lesson=class&step=1" in str(
        table["Link"].iloc[0]
    )


def test_an_answer_is_kept_when_the_step_is_shown_again() -> None:
    step = lessons.lessons()["epsilon"].steps[0]
    app = open_page(step.page, lesson="epsilon", step="1")
    assert not any("73 times" in m.value for m in app.markdown)  # the verdict would give it away
    question_of(app, step).set_value(step.options[0]).run()
    assert any("guesses right at most 73 times in 100" in m.value for m in app.markdown)
    for k in ("2", "1"):
        app.query_params["step"] = k
        app.run()
    assert question_of(app, step).value == step.options[0]


@pytest.mark.parametrize("answers", [("wrong", "right"), ("right", "wrong")])
def test_the_first_answer_is_scored_until_the_lesson_is_begun_again(
    answers: tuple[str, str],
) -> None:
    lesson = lessons.lessons()["epsilon"]
    step = lesson.steps[0]
    app = open_page(step.page, lesson="epsilon", step="1")
    for answer in answers:
        place = step.right if answer == "right" else step.right - 1
        question_of(app, step).set_value(step.options[place]).run()
    app.switch_page("lessons.py")
    app.query_params.clear()
    app.query_params["done"] = "epsilon"
    app.run()
    right = int(answers[0] == "right")
    said = f"You answered {right} of {len(lesson.steps)} questions correctly at the first try."
    assert said in texts(app)
    app.button(key="lesson-again").click().run()
    assert question_of(app, step).value is None


def test_the_address_is_shared_whole() -> None:
    link = share.address(
        "http://lab/completion",
        {"rank": ["5"], "run": ["1"], "lesson": ["noise"], "step": ["2"], "embed": ["true"]},
    )
    assert (
        link == "http://lab/completion?rank=5&run=1&lesson=noise&step=2"
    )  # the step of a lesson is shared, the frame is not
    assert "&lt;" in share.embedding('http://lab/a?b=<"')


@pytest.mark.parametrize(
    "code",
    [
        TINY.replace(mechanism="huber", variance=2.0).python(),
        RunSpec.of(
            task="recommend",
            algorithm="popular",
            dataset="skewed",
            n_users=60,
            n_items=40,
            n_ratings=900,
        ).python(),
        RunSpec.of(dataset="cartoon", n_samples=200, rank=4, rounds=4).python(),
        SweepSpec(
            base=tuple(TINY.changes().items()),
            grids=((("mechanism", ("none", "laplace")),),),
            seeds=2,
        ).python(),
    ],
    ids=["run", "recommend", "factorize", "sweep"],
)
def test_python_lines_do_what_they_say(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "<exported>", "exec"), {"__name__": "exported"})
    assert capsys.readouterr().out.strip()


def test_a_downloaded_run_is_the_run() -> None:
    result = run(TINY.replace(mechanism="laplace", variance=2.0))
    whole = json.loads(json.dumps(record_of(result).summary))
    assert {"ledger", "statement", "steps", "spec", "versions"} <= whole.keys()
    assert record_of(run(RunSpec.from_dict(whole["spec"]))).value == record_of(result).value
