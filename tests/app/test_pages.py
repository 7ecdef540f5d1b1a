"""Every page in-process.

It draws, its controls work, links set them, bad links are named, runs and failures behave.
"""

import re
import threading
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from streamlit.testing.v1.element_tree import Block, Widget

from benchmarks.server.malformed import links
from dpmc_core.config import Choice, parameters
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.worker.cluster import WAITING
from pages.parts.completion.controls import SHARED, _published
from pages.parts.server import jobs
from pages.parts.ui import densities, glossary
from pages.parts.ui.looks import lowered
from tests.app.visits import TINY, open_page, opened, shows
from tests.faults import raising
from tests.waiting import until

PER_USER = "for one user; for teaching: the noise follows from its seed, so it is no guarantee"


def test_home_follows_epsilon() -> None:
    app = open_page("home")
    shows(app, "at most 73 times in 100", "better than averages", kinds=["markdown"])
    app.set(home_epsilon=0.1)
    assert "at most 52 times in 100" in app.verdict
    assert "worse than averages" in app.verdict
    seed = app.widget("home_seed").value
    assert app.press("Draw again").widget("home_seed").value == seed + 1


def test_mechanisms_in_every_mode_and_at_the_ends_of_their_sliders() -> None:
    app = open_page("mechanisms")
    app.session_state["m_staircase"] = True
    modes = ("variance", "epsilon", "free")
    for by, view in zip(cycle(modes), densities.VIEWS, strict=False):
        app.session_state["m_by"], app.session_state["m_view"] = by, view
        app.run()
        assert (len(app.charts), app.texts("error")) == (6, ""), (by, view)
        assert app.layouts()[0]["yaxis"]["title"]["text"] == densities.VIEWS[view][0]
    app.set(m_by="free")
    app.set(m_scale_gaussian=0.05, m_scale_huber=0.05, m_alpha=20.0, m_sensitivity=10.0)
    assert not app.error
    app.set(m_by="variance").set(m_variance=0.1)
    for alpha, sensitivity in ((0.01, 0.1), (20.0, 0.1), (0.01, 10.0)):
        app.set(m_alpha=alpha, m_sensitivity=sensitivity)


LINKS: list[tuple[str, dict[str, Any]]] = [
    (
        "completion?dataset=skewed&n=3&a_algorithm=irls&b_noise=laplace&b_by=variance"
        "&c_algorithm=als&c_by=nominal_epsilon&rank=7&reg=2.5&seed=11",
        {"dataset": "skewed", "a_algorithm": "irls", "b_noise": "laplace", "b_variance": 2.0}
        | {"c_nominal_epsilon": 5.0, "rank": 7, "reg": 2.5, "seed": 11},
    ),
    (
        "completion?dataset=skewed&split=leave-k-out&left_out=3",
        {"split": "leave-k-out", "left_out": 3},
    ),
    # titles of what they mean
    ("datasets?d_view=Known datasets", {"d_view": "known"}),
    ("mechanisms?m_view=Log densities", {"m_view": "log-density"}),
    ("factorization?f_question=What does privacy cost?", {"f_question": "epsilon"}),
    ("completion?question=What does privacy cost?&protect=user", {"question": "epsilon"}),
    (
        "tradeoffs?t_protect=rating&t_noises=Huber&t_noises=Gaussian",
        {"t_noises": ["huber", "gaussian"]},
    ),
    ("tradeoffs?t_protect=user&t_by=epsilon", {"t_protect": "user"}),  # it has no such box
    ("tradeoffs?present=true&t_slide=How many people?", {"present": True, "t_slide": "people"}),
    ("audit?x_target=moments&x_by=one&x_canaries=1,800", {"x_canaries": 1800}),
]


@pytest.mark.parametrize(("link", "values"), LINKS, ids=str)
def test_a_link_sets_the_controls(link: str, values: dict[str, Any]) -> None:
    app = open_page(link)
    shows(app, without=["is not allowed"])
    assert {key: app.session_state[key] for key in values} == values


def test_a_link_that_names_an_amount_stays_one_by_that_amount() -> None:
    """Streamlit leaves defaults out of the address: the kind of noise must not depend on what it
    leaves out.
    """
    app = open_page("completion?n=1&a_algorithm=dpals&a_noise=gaussian&a_sigma=20")
    assert "σ" in app.query_params["a_by"]
    assert app.set(a_sigma=10.0).session_state["a_by"] == "sigma"


# a link, and what each of its values must be
BAD_LINKS = [
    (
        "completion?clip=maybe&user=99999&a_noise=cauchy",
        ["must be true or false", "a whole number from 1 to 4000", "one of no noise, Huber"],
    ),
    (
        "mechanisms?m_alpha=99&m_samples=5&m_staircase=perhaps&m_delta=1",
        ["a number from 0.01 to 20.", "one of 1,000", "true or false", "above 0 and below 1"],
    ),
    ("mechanisms?m_by=&m_delta=tiny", ["one of", "above 0"]),
    (
        "home?home_epsilon=0.05&home_seed=-1&present=maybe",
        ["one of 0.1", "a whole number from 0", "here: it must be true or false"],
    ),
    (
        "audit?x_epsilon=0&x_confidence=1&x_case=worse&x_runs=7",
        ["number from 0.001", "above 0.5 and at most 0.999999999", "one of as", "one of 1,000"],
    ),
    (
        "budget?u_delta=0&u_run=gone&u_count=many",
        ["at least 1e-15", "one of your own", "a whole number from 1 to 10000"],
    ),
    (
        "tradeoffs?t_view=__import__('os')&t_noises=../../etc/passwd&t_seeds=99999999&t_seed=1e400",
        ["", "", "Repetitions of each point", "Master seed"],
    ),
    (
        "tradeoffs?t_view=&t_seed=1_5",
        ["one of", "Master seed = '1_5' is not allowed: it must be a whole number"],
    ),
    ("completion?n=", ["a whole number from 1 to 6"]),
]


@pytest.mark.parametrize(("link", "needed"), BAD_LINKS, ids=str)
def test_every_control_names_a_bad_link_and_has_its_usual_value(
    link: str, needed: list[str]
) -> None:
    app = open_page(link)
    warnings = app.texts("warning").split("\n")
    values = parse_qs(link.partition("?")[2], keep_blank_values=True)
    for (value,), words in zip(values.values(), needed, strict=True):
        # one sentence names both the value and what it must be
        assert any(f"{value!r} is not allowed" in w and words in w for w in warnings), warnings
    assert app.charts
    assert not app.error
    app.query_params.clear()
    app.run()  # in the next script, too
    assert all(app.session_state[key] is not None for key in values)


@pytest.mark.long
def test_hostile_links_end_in_a_page() -> None:
    """A few of the links that ``benchmarks/server/malformed.py`` goes through at length."""
    for page, query in islice(links(seed=3), 40):
        begun = time.process_time()
        opened(f"{page or 'home'}?{query}")
        assert time.process_time() - begun < 20, (page, query)
        for job in jobs.visit_box().active():
            job.cancel()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            "t_seeds=2000", "at most 2,000 are made from this page", marks=pytest.mark.long
        ),
        ("t_total_epsilon_user=1,2,3,4,5,6,7,8,9", "1 to 8 numbers with commas between"),
        (
            "t_total_epsilon_user=1, many",
            "'many' is not allowed: it must be a number from 0.001 to 1000000",
        ),
        ("t_total_epsilon_user=<script>alert(1)</script>", "is not allowed"),
    ],
)
def test_a_sweep_that_cannot_be_made_is_refused(query: str, message: str) -> None:
    app = open_page(f"tradeoffs?{query}")
    shows(app, message)
    assert app.charts


def test_a_warning_goes_with_its_value_and_stays_on_its_page() -> None:
    app = open_page("mechanisms?m_alpha=[free](https://evil.example)&m_delta=tiny")
    shows(app, "Huber's α", "δ = ", kinds=["warning"])
    assert "\\[free\\]\\(https" in app.warning[0].value  # a stranger's words are no markdown
    assert app.widget("m_alpha").value == 1.5
    shows(app.set(m_alpha=2.0), "δ = ", without=["Huber's α ="], kinds=["warning"])
    assert not app.go_to("completion").warning


@pytest.mark.nightly
def test_results_stay_until_another_run_ends_well() -> None:
    """Each run draws a seed, unless it is held."""
    app = open_page("completion?tab=accounts")
    assert "not your settings" not in app.example
    app.set(iterations=4)
    seeds = []
    for new_seed in (True, True, False):
        app.set(new_seed=new_seed).press()
        seeds.append((app.widget("seed").value, *app.numbers))
    assert not app.example
    assert 0 != seeds[0][0] != seeds[1][0]
    assert seeds[0][1:] != seeds[1][1:]
    assert seeds[2] == seeds[1]
    changed = "settings have changed"
    shows(app.set(seed=7), changed, kinds=["info"])
    # a run cancelled at once leaves the seed that it drew
    shows(app.set(new_seed=True), without=[changed])
    app.set(new_seed=False, seed=seeds[2][0])
    table, results = app.dataframe[0].value, app.numbers
    assert list(table["protects"]) == ["nobody", "one rating", "one user"]
    marked = "5, nominal, by our own proof (5.06 by published results)"
    assert list(table["total ε"]) == ["–", marked, "5, guaranteed, repeatable for teaching"]
    shows(app.set(rank=3), changed, kinds=["info"])
    assert app.numbers == results
    app.set(question="recommend")  # which has results of its own
    assert app.example
    shows(app, without=["A · ALS"])


def test_a_run_that_is_refused_takes_nothing_away() -> None:
    small = "dataset=low-rank&n_users=300&n=2&new_seed=false&iterations=2"
    app = open_page(f"completion?{small}").press()
    results = app.numbers
    app.set(n_users=10).set(rank=50).press()
    shows(app, "A: Rank r = 50", "at most 10", kinds=["error"])
    assert app.numbers == results


@pytest.mark.parametrize(
    "link", ["completion?iterations=4", "factorization?f_k=5", "tradeoffs?t_seeds=9"]
)
def test_an_example_is_never_taken_for_the_visitors_own(link: str) -> None:
    assert "not your settings" in open_page(link).example
    # what is open is no setting of a run
    example = open_page(f"{link.partition('?')[0]}?tab=method&open_all=true").example
    assert example
    assert "not your settings" not in example


def test_a_run_that_was_cancelled_early_leaves_the_example() -> None:
    """Before the first iteration, or while it waits for a worker, as its own thread notices only
    when its turn comes.
    """
    app = open_page("completion")
    job = jobs.Job(kind="run", specs=(RunSpec.of(),), results=[None], where=WAITING)
    jobs.visit_box().replace(job)
    job.cancel()
    shows(app.run(), "Cancelled after", without=[WAITING], kinds=["info"])
    assert app.example
    away = jobs.Job(where="computed on the server itself")
    away.cancel()
    assert away.where


def test_what_was_computed_stays_when_a_run_is_cancelled() -> None:
    slow = "n_users=2500&n_items=1500&n_ratings=300000&rank=64&iterations=500"
    app = open_page(f"completion?n=2&dataset=skewed&{slow}")
    app.widget("go").click().run()
    assert jobs.current("run").wait_for_result(60)
    shows(app.press("Cancel"), "Cancelled after", kinds=["info"])
    results = app.numbers
    assert results
    assert app.go_to("mechanisms").go_to("completion").numbers == results


@pytest.mark.long
def test_algorithms_stand_beside_each_other_two_clicks_from_home() -> None:
    """With the same data and seed, IRLS beside ALS at the same total ε; what stands is no offer."""
    compare = "ALS against IRLS"
    app = open_page("home").go_to("completion").press(compare)
    als, irls = jobs.current().specs  # type: ignore[union-attr]
    assert irls == als.replace(algorithm="irls")
    assert (als.noise.mechanism, als.noise.kind, als.noise.epsilon) == ("huber", "total", 5.0)
    shows(app, "A, ALS: 20 of ε = 0.43; B, IRLS: 200 of ε = 0.131")
    assert compare not in [button.label for button in app.button]
    app.press("Six algorithms")
    specs = jobs.current().specs  # type: ignore[union-attr]
    assert [spec.card.name for spec in specs] == [
        *("als", "irls", "svt", "truncated-svd", "dpals", "moments")
    ]
    assert len({(spec.data, spec.seed) for spec in specs}) == 1
    assert [spec.card.guarantee and spec.noise.epsilon for spec in specs] == [False] * 4 + [5.0] * 2
    open_page(f"completion?{urlencode(app.query_params, doseq=True)}")  # what *Share* copies
    assert jobs.current().specs == specs  # type: ignore[union-attr]


def test_each_column_of_table_4_on_ratings_of_movielens_10m_is_offered() -> None:
    offers = {label: boxes for label, (boxes, _) in _published("ml-10m").items()}
    cuts = {label.rpartition(" = ")[2]: boxes.get("top_items") for label, boxes in offers.items()}
    columns = ["0.8", "4", "8", "16"]
    assert cuts == dict.fromkeys(columns, 400) | dict.fromkeys(["1", "5", "10", "20"])
    assert all(boxes["own_top_items"] == bool(boxes.get("top_items")) for boxes in offers.values())


def test_presets_fill_in_the_papers_numbers() -> None:
    app = open_page("completion?dataset=low-rank").press("preset-as published")
    assert (app.widget("iterations").value, app.widget("reg").value) == (50, 0.5)
    app.set(dataset="ml-1m")
    assert app.widget("preset-as published").disabled  # the papers report nothing on it


def test_a_missing_dataset_says_where_to_get_it_and_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # a closed port
    for link, words in (
        ("completion?dataset=ml-1m", "Datasets page"),
        ("factorization?f_data=cbcl", "where to get it"),
        ("factorization?f_data=guardian", "fetch it on the Datasets page"),
    ):
        app = open_page(link)
        shows(app, words, kinds=["error"])
        assert app.widget("go").disabled
    fetch, app = "Fetch MovieLens 1M (5.9 MB)", open_page("datasets?d_name=ml-1m")
    assert app.widget(fetch).disabled
    app.checkbox[0].check().run()
    shows(app.press(fetch), "could not be fetched from", "Nothing was changed", kinds=["error"])
    app = open_page("datasets?d_name=Guardian 2016 (to fetch, 22.5 MB)")  # another size
    assert app.widget("d_name").value == "guardian"
    assert not app.warning
    shows(app.set(d_name="cbcl"), "put `CBCL_Face.mat` into the folder `cbcl`")
    names = {"Guardian 2016 (to fetch, 23 MB)", "Cartoon faces, any number"}
    assert names <= {*app.widget("d_name").options}


def test_users_are_protected() -> None:
    """A run states a total ε for one user."""
    users = "a_algorithm=moments&a_noise=gaussian&b_algorithm=dpals&n=2"
    app = open_page(f"completion?tab=accounts&{users}")
    assert "4,000 users" in app.example
    shows(app, "guaranteed ε")
    app.set(user_rank=3).press()
    assert not app.error
    assert app.texts("markdown").count("guaranteed ε = 5 in total") == 2
    shows(app, PER_USER)


@pytest.mark.parametrize(
    ("question", "units", "apart"),
    [("compare", ("rating", "user"), "global_penalty"), ("recommend", ("user",), "centring")],
)
def test_every_parameter_with_a_label_has_its_box(
    question: str, units: tuple[str, ...], apart: str
) -> None:
    """As it is declared; what need not be said is offered by a switch."""
    app = open_page(f"completion?question={question}")
    for switch in app.toggle:
        if switch.label.startswith("Choose "):
            switch.set_value(True)
    app.run()
    drawn = {e.label: e for kind in ("number_input", "selectbox", "toggle") for e in app.get(kind)}
    for card in ALGORITHMS.values():
        for name, parameter in parameters(card.config).items():
            rule = parameter.rule
            if card.unit in units and rule.label and name != apart:
                of_users = card.unit == "user" and name in SHARED
                box = drawn[f"Users: {lowered(rule.label)}" if of_users else rule.label]
                assert lowered(rule.meaning) in lowered(box.help)
                if isinstance(rule, Choice):
                    assert box.options == [*rule.titled.values()]
                else:
                    assert rule.low <= box.value <= rule.high
                    assert box.step == rule.step or not rule.step


def _places(block: Block, path: tuple[int, ...] = ()) -> dict[str, tuple[int, ...]]:
    """Where each widget stands in a tree, by its key."""
    places: dict[str, tuple[int, ...]] = {}
    for place, inside in block.children.items():
        if isinstance(inside, Block):
            places |= _places(inside, (*path, place))
        elif isinstance(inside, Widget) and inside.key:
            places[inside.key] = (*path, place)
    return places


@pytest.mark.nightly
@pytest.mark.parametrize(
    "link",
    [
        *glossary.PAGES,
        "audit?x_target=irls",
        "factorization?f_data=topics",
        "tradeoffs?t_protect=rating",
    ],
)
def test_controls_that_come_and_go_leave_the_others_in_their_places(link: str) -> None:
    """What moves is made again in the browser: a text half typed into it, or the focus, is lost."""
    app = open_page(link)
    before = _places(app.sidebar)
    ways = {
        (kind, widget.key): getattr(widget, "options", (True, False))
        for kind in ("selectbox", "button_group", "toggle")
        for widget in app.get(kind)
        if widget.key in before and not widget.proto.disabled and widget.key != "present"
    }
    for (kind, key), options in ways.items():
        for k, option in enumerate(options):
            app = open_page(link)
            widget = app.widget(key)
            app.set(**{key: widget.options[k] if kind != "toggle" else option})
            after = _places(app.sidebar)
            staying = before.keys() & after.keys()
            assert {k: after[k] for k in staying} == {k: before[k] for k in staying}


REAL = [pytest.param(name, marks=pytest.mark.data) for name in ("ml-100k", "ml-1m", "sweetrs")]


@pytest.mark.parametrize("name", [*REAL, "skewed", "orthogonal", "lfw", "cartoon", "lee", "topics"])
def test_the_datasets_page_shows_a_set(name: str, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("data"):
        request.getfixturevalue("data_dir")
    app = open_page(f"datasets?d_name={name}")
    assert not app.error
    assert len(app.charts) == 1 + (name != "lfw")
    amounts = (
        r": [\d,]+ (user|image|document)s( rated|, and a list)?( of)? [\d,]+ (items|pixels|words)"
    )
    assert re.search(amounts, app.verdict)


def ended(job: jobs.Job) -> jobs.Job:
    until(lambda: not job.active)
    return job


def test_a_job_fails_in_a_sentence_and_is_cancelled_at_once_for_the_page() -> None:
    failed = ended(jobs.start_task(raising(RuntimeError("disk on fire"))))
    assert failed.state == "failed"
    assert "RuntimeError: disk on fire" in failed.error
    begun, over = threading.Event(), threading.Event()

    def work(job: jobs.Job) -> None:
        begun.set()
        until(lambda: job.stopped)
        over.set()

    job = jobs.start_task(work)
    assert begun.wait(30)
    assert job.state == "running"
    job.cancel()
    assert job.state == "cancelled"
    assert over.wait(30)
    ended(jobs.start_task(lambda job: None))  # its thread is free again
    assert job.state == "cancelled"


def test_a_new_job_replaces_the_old_and_what_has_ended_well_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored: list[RunSpec] = []
    keep = "keep", lambda result, _: stored.append(result.spec) or ""
    monkeypatch.setattr(jobs.run_store, *keep)
    slow = jobs.start("run", (RunSpec.of(iterations=500, n_users=600, n_items=600, rank=20),))
    download = jobs.start_task(lambda job: None)
    assert slow.active  # a download does not stop a run
    fast = ended(jobs.start("run", (TINY,)))
    assert [job.state for job in (slow, fast, ended(download))] == ["cancelled", "done", "done"]
    bad = TINY.replace(rank=19, n_items=3)  # only the data can tell that
    broken = ended(jobs.start("run", (bad,)))
    assert (broken.state, jobs.current(), jobs.standing()) == ("failed", broken, fast)
    assert ended(jobs.start("run", (TINY.replace(seed=1), bad))).state == "failed"
    assert [spec.seed for spec in stored] == [0, 1]  # it is kept though the next one fails
