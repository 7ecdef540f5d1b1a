"""Tradeoffs, Papers, Runs, Lessons and sharing, in-process."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from urllib.parse import urlencode

import plotly.graph_objects as go
import pytest
from streamlit import config

from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.examples import example, names
from dpmc_core.experiments.papers import ENTRIES, PAPERS, Entry, rows_of, stored
from dpmc_core.experiments.papers.compute import judged, spec_of
from dpmc_core.experiments.store.records import failed, record_of
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.wording import printed_in
from pages.parts.completion.compare_view import title_of
from pages.parts.completion.controls import Asked
from pages.parts.factorization import controls as factors
from pages.parts.frame.study import Built
from pages.parts.lessons import lessons
from pages.parts.papers.drawing import CURVES, drawing
from pages.parts.papers.view import MARKS, as_printed
from pages.parts.server import jobs, run_store
from pages.parts.tradeoffs.controls import BY, VIEWS
from pages.parts.ui import run_panel
from pages.parts.ui.declared import completion_link, factorization_link
from tests.app.visits import SWEEP, TINY, Visit, another_visitor, keep, open_page, opened, shows
from tests.waiting import until


def count(store: Path) -> int:
    with RunStore(store) as runs:
        return runs.count()


def run_on_the_page() -> Visit:
    """Two runs of a second, made and shown by the page."""
    small = "dataset=low-rank&n=2&n_users=30&n_items=20&observed=0.5&rank=2&iterations=2"
    return open_page(f"completion?{small}").press()


# ---- Tradeoffs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        *((f"t_protect=one rating (nominal)&t_by={by}", "Nominal") for by in BY.values()),
        ("t_vary=the amount of noise", "A guarantee"),
        ("t_vary=how many people", "A guarantee"),
    ],
)
def test_an_example_is_shown_in_every_view(query: str, words: str) -> None:
    app = open_page(f"tradeoffs?{query}")
    for view in VIEWS:
        shows(app.set(t_view=view), "Stored example", words)
        assert not app.error
        assert app.charts[0].proto.alt
        if (view, query) == ("curves", "t_vary=how many people"):
            assert len(app.table_with("people needed (median)"))


def test_examples_are_whole() -> None:
    for name in names("tradeoffs"):
        kept = example("tradeoffs", name)
        assert len(kept.runs) == kept.metadata["runs"], name
        assert len(kept.points) == len(kept.spec.cells()), name
        for point in kept.points:
            noisy = point.spec.noise.mechanism != "none"
            assert point.nominal == (name.startswith("rating") and noisy)
            if name in ("user", "people") and noisy:
                assert point.epsilon <= dict(point.settings)["total_epsilon"] * (1 + 1e-9)
                assert point.unit == "user"


@pytest.mark.long
def test_a_sweep_runs_on_the_page_and_is_kept(own_store: Path) -> None:
    app = open_page(SWEEP).press()
    job = jobs.current("sweep")
    assert (job.state, job.progress) == ("done", (6, 6))
    assert app.verdict.startswith("At variance 2, Laplace noise")
    assert count(own_store) == 6
    assert app.set(t_by="epsilon").verdict.startswith("Example: At nominal ε = 5 per release")
    # another visitor with the same link finds it in the store, without a run
    assert not open_page(SWEEP).example
    # more repetitions: what is there is shown, as a part
    shows(open_page(SWEEP, t_seeds="3"), "6 of 9 runs are kept so far")
    # after a cancelled job its own total stands alone
    jobs.visit_box().replace(
        jobs.Job(kind="sweep", specs=job.specs, results=[None], progress=(2, 4), state="cancelled")
    )
    messages = "Cancelled after 2 of 4 runs", "6 runs are kept so far"
    shows(open_page(SWEEP, t_seeds="3"), *messages, without=[" of 9 runs"])
    jobs.visit_box().replace(job)
    # of many more a few say little: the example stands, and what is kept is said
    many = open_page(SWEEP, t_seeds="8", t_variance_rating="1, 2, 3, 4").example
    assert "Example, not your settings" in many
    assert "6 of 40 runs are finished" in many
    shows(open_page("runs"), "6 runs")


@pytest.mark.long
def test_what_a_quick_look_ran_is_not_run_again(
    own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two repetitions of the first, the middle and the last amount, and without noise."""

    wide = {"t_variance_rating": "1, 2, 3, 4, 5", "t_seeds": "3"}
    assert "go-quick" not in open_page(SWEEP, **wide).buttons
    monkeypatch.setattr(run_panel, "_WORTH_A_QUICK_LOOK", 0.0)  # as if it took long
    app = open_page(SWEEP, **wide).press("go-quick")
    assert app.verdict.startswith("Quick look (2 repetitions): At variance 3, Laplace noise")
    assert app.query_params["run"] in ("quick", ["quick"])
    assert count(own_store) == 2 * (3 + 1)
    another_visitor(monkeypatch)
    again = open_page(SWEEP, **wide, run="quick")
    assert again.verdict == app.verdict
    assert "go-quick" not in again.buttons
    assert again.press().verdict.startswith("At variance 2, Laplace noise")
    job = jobs.current("sweep")
    assert (job.results[0].before, job.results[0].total) == (8, 3 * (5 + 1))


def test_presenter_shows_stored_results_only() -> None:
    app = open_page("tradeoffs?present=true")
    shows(app, "Stored results of")
    assert not [b for b in app.button if "Run" in b.label]
    assert not [*app.sidebar.number_input, *app.sidebar.segmented_control]
    assert re.match("With [0-9,]+ people ", app.set(t_slide="people").verdict)


def test_failed_runs_are_told_and_no_guarantee_is_claimed(own_store: Path) -> None:
    base = {"dataset": "low-rank", "rank": 5, "reg": 0.5, "iterations": 20, "inner": 10}
    base |= {"sensitivity": 5.0, "delta": 1e-5, "n_users": 30, "n_items": 300, "observed": 0.1}
    spec = SweepSpec.from_dict(
        {
            "name": "privacy against error",
            "seeds": 5,
            "base": base,
            "grid": [{"algorithm": ["als"], "mechanism": ["none", "huber"], "variance": [2.0]}],
        }
    )
    overflow = DataError("iteration 3 overflowed.")
    keep(own_store, *(failed(planned.spec, overflow) for planned in spec.plan()))
    link = "tradeoffs?t_protect=rating&t_by=variance&t_variance_rating=2&t_noises=Huber"
    app = open_page(f"{link}&t_users_rating=30")
    shows(app, "10 of 10 runs could not be finished", "iteration 3 overflowed", "Nominal")
    shows(app, without=["A guarantee"])


# ---- Papers --------------------------------------------------------------------------------------


# what some entries say beside that, and cells of their tables
SHOWN = {
    "thesis-table-5.1": [
        "Table 5.1: of 12 rows, 7 reproduced, 5 differ.",
        "The thesis prints the numbers of Table 1 of the paper, rounded to two digits",
        "Equation 4.4",  # its misprints
    ],
    "huber-table-3": [
        "Table 3: of 48 rows, 20 reproduced, 28 same trend.",
        "One trial takes a second, as when it was stored",
        "share observed\nalgorithm\nno noise\nGaussian noise\nLaplace noise\nHuber noise\n",
        # the paper's line for variance 2, 10 % observed, IRLS, with ours beside
        r"2\n10 %\nIRLS\n0\.0982 \| .*\n0\.2194 \| .*\n0\.2208 \| .*\n0\.2047 \| ",
    ],
    "dpals-table-1": [re.escape("Ω̃(m^(5/4))")],
    "huber-table-5": [r"(?s)5 %.*10 %.*15 %", "Gaussian", "IRLS-2"],
}


@pytest.mark.nightly
@pytest.mark.parametrize("paper", PAPERS)
def test_every_entry_of_a_paper_can_be_read(paper: str) -> None:
    """Figures that a study of ours answers are drawn by it, where its data are of their kind."""
    by_study = {f"dpals-figure-{n}" for n in (5, 8, 9, "9b", 10, 11, 12)}
    by_study |= {f"dpals-{x}" for x in ("theorem-2", "lemma-4", "remark-4", "remark-5", "remark-6")}
    by_study |= {"nmf-figure-6", "nmf-figure-10", "nmf-section-4.1", "thesis-section-5.2"}
    app = open_page(f"papers?p_paper={paper}")
    for entry in (e for e in ENTRIES if e.paper == paper):
        app.set(**{f"p_entry_{paper}": entry.id})
        assert not app.error, entry.id
        drawn = bool(rows_of(entry.source)) or entry.id in {*CURVES, *by_study}
        assert bool(app.charts) == drawn, entry.id
        if entry.id in by_study:
            shows(app, " seeds a point; means with 95 % t-intervals")
            nominal = entry.id in ("nmf-figure-6", "nmf-section-4.1")
            shows(app, *["is nominal: nothing is guaranteed there"] * nominal)
        assert app.charts or app.dataframe or entry.title in app.verdict, entry.id
        shows(app, *["What we found"] * bool(entry.finding))
        tables = (t.value.map(str) for t in app.dataframe)
        cells = chain.from_iterable([*table, *table.values.flat] for table in tables)
        page = "\n".join([app.texts(), *cells])
        assert [text for text in SHOWN.get(entry.id, ()) if not re.search(text, page)] == [], page


LIVE = {f"{e.page} {e.state}": e for e in ENTRIES if e.state and not e.missing}


@pytest.mark.long
@pytest.mark.parametrize("entry", LIVE.values(), ids=lambda e: e.id)
def test_the_page_that_draws_a_figure_takes_the_settings_of_its_link(entry: Entry) -> None:
    app = open_page(entry.page, **entry.state)
    until(lambda: app.charts or app.run().charts)
    shows(app, without=["From the address"])
    assert not app.error


@pytest.mark.parametrize("entry", [e for e in ENTRIES if rows_of(e.source)], ids=lambda e: e.id)
def test_every_number_of_an_entry_is_in_its_table_and_its_figures(entry: Entry) -> None:
    """What is printed has a cell with the mark of its verdict; ours are drawn with their interval,
    what is printed hollow.
    """
    rows = judged(rows_of(entry.source), stored(entry.source))
    printed = sorted(
        (each.row.printed.text, MARKS[each.verdict.kind])
        for each in rows
        if each.row.printed is not None
    )
    table = as_printed(rows)
    cells = [] if table is None else [str(cell) for cell in table.data.values.flat]
    assert sorted((cell.split(" | ")[0], cell[-1]) for cell in cells if " | " in cell) == printed
    if entry.source != entry.id:
        return
    traces = [trace for axes in entry.figures for trace in drawing(axes, entry.paper, rows).data]
    drawn = [trace for trace in traces if not trace.fill]
    ours, theirs = (
        {y for t in drawn if ("-open" in t.marker.symbol) == hollow for y in t.y}
        for hollow in (False, True)
    )
    assert {each.result.mean for each in rows if each.result.values} == ours
    assert {each.row.printed.value for each in rows if each.row.printed} <= theirs
    halves = [half for t in drawn if t.error_y.array is not None for half in t.error_y.array]
    assert any(half > 0 for half in halves) == any(len({*each.result.values}) > 1 for each in rows)


def figure_of(name: str) -> tuple[go.Figure, dict[str, tuple[list[float], list[float]]]]:
    """The figure of an entry, and its lines by their names."""
    entry = next(e for e in ENTRIES if e.id == name)
    figure = drawing(entry.figures[0], entry.paper, judged(rows_of(name), stored(name)))
    return figure, {t.name: ([*t.x], [*t.y]) for t in figure.data}


def test_figures_have_the_axes_of_the_paper() -> None:
    # error against ε, a line for each algorithm, levels without noise, Table 5's numbers beside
    figure, lines = figure_of("dpals-figure-3")
    means = [stored("dpals-figure-3").row(f"ε={e};algorithm=dpals").mean for e in (1, 5, 10, 20)]
    assert lines["DPALS"] == ([1, 5, 10, 20], means)
    assert lines["DPALS, MovieLens 10M, printed"][1] == [0.9398, 0.8725, 0.853, 0.8373]
    (level,) = {*lines["ALS, no noise"][1]}
    assert any(min(t.y) < level < max(t.y) for t in figure.data if t.fill)
    assert figure.layout.xaxis.ticktext == ("1", "5", "10", "20")
    # a panel for each number of users, ratios of errors as distances
    figure, _ = figure_of("dpals-figure-4")
    titles = [a.text for a in figure.layout.annotations]
    assert titles == [*(f"{n} users" for n in ("5,000", "10,000", "20,000", "50,000")), "total ε"]
    assert figure.layout.yaxis.type == "log"
    # learning curves: rounds across
    figure, lines = figure_of("nmf-figure-5")
    assert lines["as published, ε = 0.5 a round"][0] == [25, 50, 100, 200, 400, 700, 1000]
    assert not figure.layout.yaxis2.matches  # each set of images has its own scale
    # words on the axis: mechanisms stand beside each other
    _, lines = figure_of("huber-table-4")
    assert len({x for xs, _ in lines.values() for x in xs if x % 1}) == 6


def test_the_papers_overview_counts_verdicts_and_stays_as_it_is() -> None:
    app = opened("papers?tab=all&p_differs=true")
    board, overview = (frame.value for frame in app.dataframe[-2:])
    differ = overview["what stands for it"].str.extract(r"■ (\d+)")[0].astype(int)
    assert differ.sum() == board["differs"].sum()
    app.set(tab="about").set(tab="all")
    assert app.dataframe[-1].value.equals(overview)


@pytest.mark.long
def test_a_row_is_run_again_live() -> None:
    app = open_page("papers?p_paper=huber&p_entry_huber=huber-table-1")
    shows(app.press("run-row"), "exactly as stored")


def test_settings_are_shown_as_printed_beside_the_rows_made_with_others() -> None:
    app = opened("papers?p_paper=dpals&p_entry_dpals=dpals-table-4&tab=rows")
    printed = [p.text for p in printed_in("dpals", "4") if p.metric == "lam"]
    assert app.dataframe[-1].value["λ"].dropna().tolist() == printed


def test_a_row_that_the_page_would_run_otherwise_leads_nowhere() -> None:
    ours = RunSpec.of(algorithm="dpals", mechanism="huber", epsilon=5.0)
    others = (
        RunSpec.of(algorithm="dpnmf", mechanism="laplace", variance=2.0),
        ours.replace(alpha=2.0),
        ours,  # with all items, where the page's synthetic sets have half of them
        ours.replace(item_share=0.5, epsilon=3.0),
        ours.replace(item_share=0.5, user_share=0.5),
        RunSpec.of(task="recommend", dataset="skewed"),
    )
    assert {completion_link(spec) for spec in others} == {None}
    assert completion_link(ours.replace(item_share=0.5)) is not None


Sent = Callable[[str, Mapping[str, str]], tuple[RunSpec, ...]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Opens a page with settings, all of which it takes, and returns what it would run."""
    built = list[Built]()
    for asked in (Asked, factors.Asked):
        build = asked.build
        monkeypatch.setattr(asked, "build", lambda it, to=build: built.append(to(it)) or built[-1])

    def send(page: str, link: Mapping[str, str]) -> tuple[RunSpec, ...]:
        shows(opened(f"{page}?{urlencode(link)}"), without=["From the address"])
        return built[-1].specs

    return send


@pytest.mark.parametrize(
    "table",
    [
        *(f"huber-table-{number}" for number in (3, 4, 5)),
        *(f"dpals-{place}" for place in ("table-5", "figure-3", "figure-4")),
    ],
)
def test_a_row_leads_to_the_page_that_runs_it(table: str, sent: Sent) -> None:
    """One row of each algorithm and data, with and without noise."""
    specs = {
        (spec.card.name, spec.noise.mechanism, spec.data.top_items): spec
        for row in rows_of(table)
        if (spec := spec_of(row, 7)) is not None and spec.task == "rate"
    }
    links = {name: link for name, s in specs.items() if (link := completion_link(s)) is not None}
    assert links.keys() == specs.keys()
    for name, link in links.items():
        assert sent("completion", link) == (specs[name],)


def test_runs_of_entries_open_with_the_noise_that_they_are_about(sent: Sent) -> None:
    links = {e.id: {k: v for k, v in e.state.items() if k != "run"} for e in ENTRIES}
    specs = sent("completion", links["dpals-figure-7"] | {"n": "4"})
    assert [s.card.name for s in specs] == ["als", "dpals", "dpals", "private-fw"]
    assert [s.noise.sigma for s in specs] == [None, 10, 20, 10]
    right, output = sent("completion", links["huber-section-3.1"])
    assert (right.algorithm.noise_on, right.noise.kind) == ("right", "variance")
    assert output == right.replace(noise_on="output")
    assert title_of(output) == "ALS, Huber on the output, variance 2"
    for spec in (output, output.replace(algorithm="irls-2", noise_on="both")):
        assert sent("completion", completion_link(spec)) == (spec,)


@pytest.mark.long
def test_a_factorisation_leads_to_the_page_that_runs_it(sent: Sent) -> None:
    """One row of each dataset and of each algorithm, with and without noise, and other settings."""
    rows = (row for name in ("nmf-figure-2", "nmf-figure-5") for row in rows_of(name))
    specs = {}
    for spec in (spec for row in rows if (spec := spec_of(row, 7)) is not None):
        name = spec.card.name
        specs[name, spec.noise.mechanism, spec.dataset * (name == "nmf")] = spec
    assert len(specs) == 9
    made = {"dataset": "cartoon", "n_samples": 300, "data_seed": 3, "seed": 4}
    made |= {"normalisation": "maximum"}
    noise = {"mechanism": "huber", "alpha": 0.7, "epsilon": 5.0, "delta": 1e-6}
    ours = RunSpec.of(
        **made, **noise, algorithm="private-nmf", rounds=7, start="random", averaging=0.5
    )
    steps = {"dictionary_step": 3e-4, "dictionary_steps": 4, "dictionary_start": "random"}
    theirs = RunSpec.of(**made, **steps, algorithm="private-nmf-published", rank=5)
    topics = RunSpec.of(
        dataset="topics",
        algorithm="nmf",
        most_words=900,
        normalisation="maximum",
        solver="active-set",
    )
    for spec in (*specs.values(), ours, theirs, topics):
        assert spec in sent("factorization", factorization_link(spec))
        assert completion_link(spec) is None
    others = (
        *(ours.replace(contaminated=0.1), ours.replace(epsilon=3.0), ours.replace(alpha=None)),
        *(theirs.replace(inner=3), topics.replace(rounds=7)),
        topics.replace(algorithm="sklearn-nmf"),
    )
    assert {factorization_link(spec) for spec in others} == {None}


# ---- Runs ----------------------------------------------------------------------------------------


def test_runs_are_filtered_compared_and_deleted_by_who_may(
    own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows(open_page("runs"), "No run is kept yet", "Shown are the stored runs")
    specs = [
        TINY,
        TINY.replace(mechanism="huber", variance=2.0),
        TINY.replace(mechanism="gaussian", variance=2.0, rank=3),
    ]
    records = [record_of(run(spec)) for spec in specs]
    keep(own_store, *records)
    app = open_page("runs", runs=",".join(r.key for r in records[:2]) + ",nonsense")
    shows(app, "1 run of this link is not in the store", "Side by side")
    filtered = open_page("runs?r_mechanism=huber")
    shows(filtered, "1 run")
    table = filtered.dataframe[0].value
    assert [*table["noise"], *table["dataset"]] == ["Huber", "Synthetic low-rank matrix"]
    alone = open_page("runs", runs=records[0].key)
    alone.session_state["runs-ticked"] = True  # as after a tick, of which the table now has none
    shows(alone.run(), without=["Side by side"])
    assert "runs" not in alone.query_params
    usual = config.get_option("server.address")
    for address, others, who, offered in (
        ("0.0.0.0", [], "", False),
        ("0.0.0.0", [], "1", True),
        (usual, [], "0", False),
        (usual, ["https://lab.example.org"], "", False),  # as behind a proxy
        (usual, [], "", True),
    ):
        config.set_option("server.address", address)
        config.set_option("server.corsAllowedOrigins", others)
        monkeypatch.setenv("DPMC_DELETE_RUNS", who)
        assert ("delete-runs" in app.run().buttons) == offered, (address, who)
    monkeypatch.delenv("DPMC_DELETE_RUNS")
    shows(app.run().press("delete-runs"), "2 runs were deleted")
    with RunStore(own_store) as store:
        assert [row["mechanism"] for row in store.rows()] == ["gaussian"]


def test_odd_rows_of_a_store_neither_end_the_page_nor_become_links(own_store: Path) -> None:
    """Whoever may write to the database may write anything there, as may another release."""
    good = record_of(run(TINY))
    link = '<a href="http://evil.example/x">click</a><b>BB</b> $x^2$'
    strange = replace(good, key="s" * len(good.key), algorithm=link, dataset=link)
    other = replace(good, key="o" * len(good.key), measure="another <b>measure</b>")
    changes = {
        "a": {"spec": '{"new_field": 1}'},
        "b": {"mechanism": "cauchy"},
        "c": {"kind": "cooking"},
        "d": {"summary": {}},
        "e": {"baseline": None},
        "f": {"value": None, "error": "*It* broke <b>here</b>."},
    }
    releases = [replace(good, key=key, **fields) for key, fields in changes.items()]
    keep(own_store, good, strange, other, *releases)
    for keys in ("", *changes, ",".join(changes)):
        open_page("runs", runs=keys)
    all_of_them = open_page("runs", runs=",".join(r.key for r in (good, strange, other)))
    shows(all_of_them, "another release's measure")
    alike = open_page("runs", runs=f"{good.key},{strange.key}")  # so steps are drawn
    assert len(alike.charts) == 2
    for app in (all_of_them, alike):
        drawn = [chart.proto.spec for chart in app.charts]
        assert drawn
        assert [s for s, bad in product(drawn, ("<a href", "<b>BB", "$x^2")) if bad in s] == []
    assert any("&lt;a href" in spec for spec in drawn)


def test_a_store_that_cannot_be_read_is_told_and_pages_go_on(own_store: Path) -> None:
    own_store.write_text("this is no database\n" * 50)
    for page in ("runs", "tradeoffs"):
        app = open_page(page)
        shows(app, "damaged, or is no database")
        assert app.charts
    app = run_on_the_page()
    assert app.metric  # the run is shown
    shows(app, "not kept among past runs")
    assert own_store.read_text().startswith("this is no database")


def test_runs_of_pages_are_kept() -> None:
    run_on_the_page()
    store = run_store.store()
    assert store.count() == 2
    spec = RunSpec.from_json(store.rows(limit=1)[0]["spec"])
    assert (spec.data.n_users, spec.algorithm.iterations) == (30, 2)
    store.add(record_of(run(TINY)))  # later, by somebody else
    base = {"n_users": 30, "n_items": 20, "rank": 2, "iterations": 1}
    swept = SweepSpec(base=tuple(base.items()), seeds=1)
    store.add(record_of(run(next(swept.plan()).spec)))
    jobs.visit_box().replace(
        jobs.Job(kind="sweep", specs=(swept,), results=[None], state="cancelled")
    )
    table = open_page("runs").table_with("mine")
    assert table["mine"].tolist() == ["sweep", "yes", "yes", ""]  # the visitor's own first


def test_a_store_that_was_deleted_is_made_anew(own_store: Path) -> None:
    run_store.store().add(record_of(run(TINY)))
    for file in own_store.parent.glob("runs.sqlite*"):
        file.unlink()
    assert run_store.store().count() == 0
    assert run_store.store().add(record_of(run(TINY)))
    assert count(own_store) == 1


# ---- Lessons -------------------------------------------------------------------------------------

LESSONS = lessons.lessons()
FIRST = LESSONS["epsilon"].steps[1]  # after that with coins


def open_step(name: str, number: int) -> Visit:
    """A lesson's step, on its page and with its settings."""
    step = LESSONS[name].steps[number - 1]
    settings = {
        key: f"{v:g}" if isinstance(v, float) else str(v) for key, v in step.settings.items()
    }
    return open_page(f"{step.page}?lesson={name}&step={number}", **settings)


def choose(app: Visit, step: lessons.Step, place: int) -> Visit:
    """Answer the question of a step."""
    return app.choose(f"**{step.question}**", step.options[place])


@pytest.mark.parametrize("name", LESSONS)
def test_every_step_opens_its_page_with_its_settings(name: str) -> None:
    for k, step in enumerate(LESSONS[name].steps, start=1):
        app = open_step(name, k)
        assert not app.error, (name, k)
        shows(app, without=["From the address"])
        here = {key: v for key, v in step.settings.items() if key != "run"}
        assert {key: app.session_state[key] for key in here} == here, (name, k)
        assert jobs.current() is not None or "run" not in step.settings, (name, k)
        assert step.offline or name != "class"
        shows(choose(app, step, step.right), step.feedback[step.right])


@pytest.mark.parametrize(
    ("number", "answer"), [(2, "73 times"), (5, ": 2.96"), (6, "17.9"), (7, "73.1")]
)
def test_numbers_that_answer_an_open_question_wait_for_the_answer(number: int, answer: str) -> None:
    """Neither the figures, nor what is said of them, nor a tab has them beside the question."""
    app = open_step("epsilon", number)
    app.session_state["open_all"] = False
    app.run()
    step = LESSONS["epsilon"].steps[number - 1]

    def shown() -> str:
        page = app.texts()
        for text in (*step.options, *step.feedback, step.text):
            page = page.replace(text, "")
        labels = [note["text"] for each in app.layouts() for note in each.get("annotations", ())]
        tables = [table.value.to_string() for table in app.dataframe]
        return " ".join([page, *tables, *labels, *(chart.proto.alt for chart in app.charts)])

    assert answer not in shown()
    assert app.session_state["tab"] is None
    choose(app, step, 0)
    assert answer in shown()
    assert app.session_state["tab"]


def test_a_lesson_is_begun_and_left() -> None:
    """Going on and back is tried in the browser: it changes pages."""
    app = open_page("lessons").press("begin-epsilon")
    assert app.query_params["step"] in ("1", ["1"])
    assert "lesson" not in app.press("lesson-leave").query_params
    open_page("home?lesson=epsilon", step="9" * 5000)
    for bad in ("0", "99", "x", "²"):
        app = open_page("home?lesson=epsilon", step=bad)
        shows(app, f"There is no step '{bad}' in this lesson", "This is step 1.")
    needed = "it must be one of epsilon, noise, cost, class"
    shows(open_page("home?lesson=nope"), f"There is no lesson called 'nope': {needed}")


def test_a_step_on_the_same_page_runs_with_its_own_settings() -> None:
    app = open_step("class", 5)
    app.widget("lesson-next").click().run()
    assert [spec.card.name for spec in jobs.current().specs] == ["als", "irls"]


def test_a_timetable_has_the_minutes_and_the_link_of_each_step() -> None:
    app = open_page("lessons?l_view=teach")
    minutes, links = (list(app.table[0].value[name]) for name in ("Min", "Link"))
    assert [*minutes[:2], minutes[-1]] == ["0–8", "8–13", "41–45"]
    assert "/game?x_target=number&x_noise=laplace&x_epsilon=1&lesson=class&step=1" in str(links[0])


@pytest.mark.parametrize("right", [0, 1])
def test_an_answer_is_kept_and_the_first_is_scored_until_the_lesson_is_begun_again(
    right: int,
) -> None:
    app = open_page(f"{FIRST.page}?lesson=epsilon&step=2")
    shows(app, without=["73 times"])  # the verdict would give it away
    shows(choose(app, FIRST, FIRST.right - (not right)), "guesses right at most 73 times in 100")
    choose(app, FIRST, FIRST.right - right)
    for step in "32":
        app.query_params["step"] = step
        app.run()
    question = f"**{FIRST.question}**"
    assert app.widget(question).value == FIRST.options[FIRST.right - right]
    app.query_params.clear()
    app.go_to("lessons?done=epsilon")
    score = f"You answered {right} of {len(LESSONS['epsilon'].steps)} questions correctly"
    shows(app, f"{score} at the first try.")
    app.press("lesson-again").go_to("home?lesson=epsilon&step=2")
    assert app.widget(question).value is None


# ---- Sharing -------------------------------------------------------------------------------------


def test_the_address_is_shared_whole() -> None:
    """The step of a lesson is shared, the frame is not."""
    app = opened("mechanisms?m_alpha=2.5&lesson=noise&step=2&embed=true")
    assert app.code[0].value == "?m_alpha=2.5&lesson=noise&step=2"
