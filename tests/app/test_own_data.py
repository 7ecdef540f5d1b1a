"""A visitor's own data on the pages: taken, corrected, used, forgotten, and nobody else's."""

import gc
import json
import re
import shlex
import sys
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest
from starlette.datastructures import Headers
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.session_manager import ActiveSessionInfo
from streamlit.runtime.state import SessionState
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.store.store import RunStore
from pages.parts.server import job, jobs, settings, warm
from pages.parts.server.user_data import MultiPartParser
from tests.apart import run_apart
from tests.app.visits import Visit, open_page, shows
from tests.own.files import documents_zip, long_csv, pictures_zip, table_of
from tests.programs import ROOT

pytestmark = pytest.mark.long

SECRET = "Zyxomma"  # stands in names and values of the uploaded file only


def ratings_file() -> bytes:
    return long_csv(30, 12).replace(b"book 1", SECRET.encode() + b" 1")


def brought(content: bytes, name: str = "a.csv", kind: str = "ratings") -> Visit:
    """The page of one's own data with a file in it."""
    return open_page(f"datasets?d_view=own&d_holds={kind}").upload(content, name)


def own_set(app: Visit) -> OwnSet:
    """The visitor's one set."""
    (owned,) = app.session_state["own-sets"].values()
    return owned


def follow(app: Visit, page: str, label: str) -> Visit:
    """Follow the link to ``page`` that says ``label``."""
    (query,) = [
        link.query_string
        for link in app.links
        if link.page == page and label in f"{link.label} {link.query_string}"
    ]
    app.query_params.clear()
    return app.go_to(f"{page}?{query.lstrip('?')}")


def doubts(app: Visit) -> list[str]:
    return [w.value for w in app.warning if "Please check" in w.value]


def test_ratings_are_used_like_a_built_in_set_and_kept_nowhere(
    own_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = brought(long_csv(60, 12).replace(b"book 1", SECRET.encode() + b" 1"), f"{SECRET}.csv")
    shows(app, "**Your ratings** can be chosen on every page that takes ratings", "leaks")
    assert app.verdict.startswith("Your ratings: 60 users rated 12 items;")
    follow(app, "completion", "dataset=Your+ratings")
    assert app.widget("dataset").options[0] == "Your ratings"
    app.press().wait("done")  # with its usual settings
    app.query_params["tab"] = "top-ten"
    assert SECRET in str(app.run().dataframe[1].value)  # it names the visitor's own items
    app.go_to("tradeoffs?t_dataset_user=Your ratings&t_total_epsilon_user=1&t_seeds=1")
    app.press().wait("done")
    with RunStore(own_store) as store:
        assert store.count() == 0
    printed = "".join(capfd.readouterr())
    logged = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    fields = "time event session kind state waited seconds done of holds megabytes"
    assert {*chain.from_iterable(logged)} <= {*fields.split()}
    ended = [(line["kind"], line["state"]) for line in logged if line["event"] == "job"]
    assert ("run", "done") in ended  # the log is written …
    assert SECRET not in f"{printed} {app.query_params}"  # … without a name or value of the data


def test_the_least_epsilon_of_ones_own_file_is_a_link_and_a_press_away() -> None:
    app = open_page("plan?n_kind=model")
    follow(app, "datasets", "Ask this of your own ratings").upload(ratings_file())
    follow(app, "plan", "Least ε of a private model on it")
    assert app.widget("n_data_ratings").value == own_set(app).name
    assert "Ask this" not in " ".join(link.label for link in app.links)
    assert not app.warning
    app.widget("n_go").click().run()
    assert jobs.current("plan").specs[0].base.dataset == own_set(app).name


def test_how_a_file_is_read_is_chosen_and_a_bad_one_takes_nothing_away() -> None:
    app = brought(ratings_file())
    app.choose("Rating column", "when")
    (mean,) = re.findall(r"ratings from \S+ to \S+, mean (\S+)\. ", app.texts("markdown"))
    assert float(mean) > 1e6  # times, as chosen
    still = "What was read before (a.csv) is still in use"
    shows(app.choose("User column", "when"), "three different columns", still)
    rows = ratings_file().replace(b",", b";").replace(b"book 2", b"a, b, c, d")
    app.upload(rows + b"\n9;r1;x;3;4")
    shows(app, "line 182 has 5 cells where the others have 4", kinds=["error"])
    separator = "Cells are separated by"
    shows(app.choose(separator, "comma"), without=["line 182"], kinds=["error"])
    app.upload(b"only,two\n1,2\n", "b.csv")
    assert app.error
    assert own_set(app)
    app = brought(ratings_file()).choose(separator, "comma")
    assert own_set(app).options() == {"separator": "comma"}
    assert not app.choose(separator, "").error


def test_what_is_doubtful_is_asked_and_the_answer_counts() -> None:
    """A browser sends a quote in a name as a code: the command names the file as it is called."""
    app = brought(ratings_file() + b"\n9,r1,book 2,99", "my %22table%22 50%.csv")
    assert shlex.split(own_set(app).words())[:2] == ["--data", 'my "table" 50%.csv']
    assert "99 stands in 1 cell, first in line 182; all others are 1 to 5." in doubts(app)[0]
    app.press("Leave out 99")
    assert own_set(app).entry.scale == (1, 5)
    assert not doubts(app)
    rows = [f"u{k % 20},b{k % 7},{99 if k % 5 == 0 else k % 4 + 1}" for k in range(140)]
    app = brought(table_of(*rows))
    (doubt,) = doubts(app)
    assert "99 stands in 28 cells, far from all others" in doubt
    app.checkbox[0].check().run()
    assert doubts(app) == []
    shows(app, "- 112 ratings from")
    app.checkbox[0].uncheck().run()
    assert doubts(app) == [doubt]
    for codes, words in (("many", "missing = 'many' is not allowed"), ("", "- 140 ratings from")):
        next(box for box in app.text_input if "not rated" in box.label).set_value(codes).run()
        shows(app, words)
    assert not [*app.error, *doubts(app)]
    rows = [f"u{u},{','.join(str(1 + (u * 7 + i * 3) % 5) for i in range(8))}" for u in range(12)]
    app.upload(table_of(*rows, "Total" + ",36" * 8, header="user,a,b,c,d,e,f,g,h"))
    shows(app, "- 96 ratings from")
    shows(app.choose("Rows that sum up others", ""), "- 104 ratings from")


def test_another_visitor_finds_nothing_hears_what_became_of_the_data_and_runs_nothing() -> None:
    name = own_set(brought(ratings_file())).name
    assert re.fullmatch(r"own-ratings-[0-9a-f]{16}", name)
    assert "Your ratings" not in open_page("completion").widget("dataset").options
    for link in (name, "Your ratings"):
        linked = open_page(f"completion?dataset={link}&run=1")
        assert re.search("is not allowed|are not here", linked.texts("warning"))
        assert not linked.error
    shows(linked, "“Your ratings” are not here", "in one tab", kinds=["warning"])
    with pytest.raises(ParameterError, match="a set of this visit"):
        user_datasets.find(name)  # nor does code that runs for nobody
    assert open_page("completion?rank=nonsense&run=1").warning
    assert jobs.current("run") is None


OTHERS = [
    pytest.param(kind, "a.zip", content(30), "factorization", marks=pytest.mark.long)
    for kind, content in (("documents", documents_zip), ("images", pictures_zip))
]


@pytest.mark.parametrize(
    ("kind", "file", "content", "page"),
    [("ratings", "a.csv", long_csv(60, 12), "tradeoffs"), *OTHERS],
)
def test_a_link_to_a_page_chooses_the_set_there(
    kind: str, file: str, content: bytes, page: str
) -> None:
    app = follow(brought(content, file, kind), page, "=Your")
    shows(app, without=["is not allowed"])
    assert own_set(app).name in [box.value for box in app.selectbox]
    if page == "factorization":
        app.set(f_k=3).press().wait("done")
        assert len(app.metric) == 4


def test_removed_means_gone() -> None:
    app = brought(ratings_file())
    app.go_to("completion?dataset=Your ratings&iterations=2&rank=2").press().wait("done")
    app.go_to("datasets").set(d_view="own").press("Remove")
    assert not app.session_state["own-sets"]
    assert jobs.current("run") is None  # its results went with it
    assert "Your ratings" not in app.go_to("completion").widget("dataset").options


def test_a_set_is_swapped_while_a_run_on_it_goes_on() -> None:
    app = brought(ratings_file())
    # 50,000 passes: some 20 seconds
    long = "a_algorithm=irls&inner=100&iterations=500&rank=8"
    app.go_to(f"completion?dataset=Your ratings&{long}").widget("go").click().run()
    job = jobs.current("run")
    assert job.active
    app.go_to("datasets").set(d_view="own").upload(long_csv(44, 12), "b.csv")
    assert app.verdict.startswith("Your ratings: 44 users")
    assert job.state == "cancelled"  # what it would show is of people who are no longer there
    app.go_to("completion")
    assert jobs.current("run") is None
    app.set(dataset=own_set(app).name).set(iterations=2, rank=2).press().wait("done")
    assert {result.split.train.n_users for result in jobs.current("run").results} == {44}


def test_all_visitors_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    before = job.OWN_DATA.megabytes
    monkeypatch.setenv("DPMC_OWN_MB", str(int(before) + 1))
    ratings = [f"r{k % 5000},b{k // 5000},{k % 5 + 1}" for k in range(100_000)]
    app = brought(table_of(*ratings))
    shows(app, "all visitors' own data together may take", kinds=["error"])
    assert "own-sets" not in app.session_state
    gc.collect()
    assert job.OWN_DATA.megabytes <= before  # what was refused is not counted


def test_an_upload_never_touches_a_disk() -> None:
    """The server's own parser of requests, as it is set here: five megabytes stay in memory."""
    opened: list[str] = []
    watching = True

    def hook(event: str, details: object) -> None:
        if watching and event in ("open", "tempfile.mkstemp"):
            opened.append(str(details))

    sys.addaudithook(hook)
    head = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n'
    body = head + b"y" * 5_000_000 + b"\r\n--x--\r\n"

    async def stream():
        yield body

    headers = Headers({"content-type": "multipart/form-data; boundary=x"})
    try:
        form = run_apart(MultiPartParser(headers, stream()).parse())
        assert form["f"].size == 5_000_000
        run_apart(form.close())
    finally:
        watching = False
    assert opened == []


def test_settings_are_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    text = " ".join(text.split())  # the list is wrapped
    monkeypatch.delenv("DPMC_JOB_NICE")  # the tests themselves give way to nobody
    for setting in settings.SETTINGS.values():
        bounds = f"{setting.usual}; {setting.low} to {setting.high}"
        assert f"- `{setting.name}` ({bounds}): {setting.meaning}. - `" in text
        assert settings.of(setting.name) == setting.usual
    monkeypatch.setenv("DPMC_JOBS", " 3 ")
    assert settings.of("DPMC_JOBS") == 3
    monkeypatch.setenv("DPMC_SCHEDULER", "tls://a.example:8786")
    settings.check()


def test_a_session_that_is_over_is_ended_though_something_refers_to_it() -> None:
    """What ``warm`` uses of Streamlit's own manager is private there: a release that changes it
    must be noticed.
    """
    assert callable(Runtime._get_async_objs)
    others = [None] * (len(signature(WebsocketSessionManager).parameters) - 1)
    manager: Any = WebsocketSessionManager(MemorySessionStorage(), *others)
    first, second = (create_autospec(AppSession, instance=True) for _ in range(2))
    for session in (first, second):
        session.session_state = SessionState()
        session.session_state["own-sets"] = "ratings"
        manager._active_session_info_by_id[session] = ActiveSessionInfo(Mock(), session)
    warm.end_sessions(manager)
    first.shutdown.assert_not_called()
    del manager._active_session_info_by_id[first]
    for _ in range(2):
        warm.end_sessions(manager)
        first.shutdown.assert_called_once()
        second.shutdown.assert_not_called()
    assert "own-sets" not in first.session_state
    assert "own-sets" in second.session_state
    manager._active_session_info_by_id.clear()
    warm.end_sessions(manager)
    second.shutdown.assert_called_once()
    assert not warm._last_sessions


def test_ones_own_ratings_are_audited_with_a_record_of_ones_choice() -> None:
    app = brought(ratings_file()).go_to("audit?x_target=als&x_dataset_runs=200")
    app.set(x_ratings=own_set(app).name)
    # the game is about synthetic data
    assert "game" not in [link.page for link in app.links]
    app.set(x_record="nobody").press("x_go").wait("failed")
    shows(app, "record = 'nobody'", kinds=["error"])
    app.set(x_record="3").press("x_go")
    assert jobs.current("audit").state == "done"
    shows(app, "The record: the rating of", kinds=["caption"])
    assert "x_record" not in app.query_params


def test_a_table_of_items_is_public_features_of_ones_own_ratings() -> None:
    app = brought(ratings_file(), "mine.csv")
    ratings = own_set(app).ratings
    labels = [ratings.item_label(item) for item in range(ratings.n_items)]
    rows = [f"{label},{k % 2},{k}" for k, label in enumerate(labels)]
    header = "item,comedy,year"
    app.upload(table_of(*rows, header=header), "items.csv", 1)
    shows(app, "public item features: comedy, year")
    with_features = own_set(app)
    assert with_features.ratings.item_features.values[:, 1].tolist() == [*range(len(labels))]
    app.run()  # the same file again is the same set: nothing that rests on it is dropped
    assert own_set(app) is with_features
    app.upload(table_of(*rows[:-1], header=header), "fewer.csv", 1)
    assert own_set(app).entry.items == len(labels) - 1
    assert own_set(app).ratings.public["item list"] == "given by fewer.csv"
    shows(app, "Ratings of other items are left out: ")
    shows(app, without=["item list"], kinds=["info"])
    app.upload(b"item\nx\nx\n", "bad.csv", 1)
    assert app.texts("error").count("is there twice") == 1
