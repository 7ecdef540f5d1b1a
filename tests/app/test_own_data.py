"""A visitor's own data on the pages: taken, corrected, used, forgotten, and nobody else's."""

import gc
import json
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.state import SessionState
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.testing.v1 import AppTest

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.store.store import RunStore
from pages.parts.server import job, jobs, settings, warm
from pages.parts.server import sandbox as aside
from tests.apart import run_apart
from tests.app.test_pages import ROOT, by_label, fresh_visitor, open_page, verdict_of
from tests.own.files import documents_zip, long_csv, pictures_zip

__all__ = ["fresh_visitor"]
SECRET = "Zyxomma"  # stands in names and values of the uploaded file only


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))
    return tmp_path / "runs.sqlite"


def ratings_file() -> bytes:
    return long_csv(30, 12).replace(b"book 1", SECRET.encode() + b" 1")


def upload(app: AppTest, name: str, data: bytes) -> AppTest:
    app.file_uploader[0].set_value((name, data, "application/octet-stream"))
    app.run()
    assert not app.exception
    return app


def own_page(kind: str = "ratings") -> AppTest:
    return open_page("datasets", d_view="own", d_holds=kind)


def go_to(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"{page}.py").run()
    assert not app.exception
    return app


def finish(app: AppTest, kind: str) -> AppTest:
    app.button(key="go").click().run()
    return ended(app, kind, "done")


def ended(app: AppTest, kind: str, how: str) -> AppTest:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        job = jobs.current(kind)
        if job is not None and not job.active:
            assert job.state == how, job.error
            app.run()
            assert not app.exception
            return app
        time.sleep(0.05)
    raise AssertionError("the run did not finish")


def said_of(app: AppTest) -> str:
    return "\n".join(m.value for m in app.markdown)


def menu_of(app: AppTest, label: str) -> list[str]:
    (box,) = [s for s in app.selectbox if s.label == label]
    return list(box.options)


@pytest.mark.long
def test_ratings_are_used_like_a_built_in_set_and_kept_nowhere(
    own_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = upload(own_page(), f"{SECRET}.csv", ratings_file())
    assert not app.error
    said = " ".join(m.value for m in app.markdown)
    assert "**Your ratings** can be chosen on every page that takes ratings" in said
    assert any("leaks" in w.value for w in app.warning)
    assert verdict_of(app).startswith("Your ratings: 30 users rated 12 items;")
    assert "- 180 ratings from" in said
    go_to(app, "completion")
    assert menu_of(app, "Dataset")[0] == "Your ratings"
    app.selectbox(key="dataset").select_index(0).run()
    app.number_input(key="rank").set_value(2)
    app.number_input(key="iterations").set_value(2)
    finish(app, "run")
    assert len(app.dataframe[0].value) == 3
    app.query_params["tab"] = "top-ten"
    app.run()
    assert SECRET in str(app.dataframe[1].value)  # the top ten names the visitor's own items
    go_to(app, "tradeoffs")
    app.selectbox(key="t_dataset_user").select_index(0)
    app.text_input(key="t_total_epsilon_user").set_value("1")
    app.number_input(key="t_seeds").set_value(1)
    app.run()
    finish(app, "sweep")
    assert not app.error
    swept = jobs.current("sweep")
    assert swept is not None
    assert swept.progress[0] == swept.progress[1] > 0
    with RunStore(own_store) as store:
        assert store.count() == 0
    printed = "".join(capfd.readouterr())
    assert '"kind": "run"' in printed  # the log is written …
    assert SECRET not in printed  # … without a name or value of the data
    address = " ".join(f"{k}={v}" for k, v in app.query_params.items())
    assert SECRET not in address


def follow(app: AppTest, page: str, label: str) -> AppTest:
    (link,) = [one.proto for one in app.get("page_link") if label in one.proto.label]
    assert link.page == page
    app.query_params.clear()
    app.query_params.update(parse_qsl(link.query_string.lstrip("?")))
    return go_to(app, page)


def test_the_least_epsilon_of_ones_own_file_is_a_link_and_a_press_away() -> None:
    app = open_page("plan", n_kind="model")
    follow(app, "datasets", "Ask this of your own ratings")
    upload(app, "a.csv", ratings_file())
    follow(app, "plan", "Least ε of a private model on it")
    assert app.selectbox(key="n_data_ratings").value == own_data_name(app)
    assert "Ask this" not in " ".join(one.proto.label for one in app.get("page_link"))
    assert not app.warning
    app.button(key="n_go").click().run()
    job = jobs.current("plan")
    assert job is not None
    assert job.specs[0].base.dataset == own_data_name(app)
    job.cancel()


def test_a_rating_far_off_is_left_out_by_a_press() -> None:
    app = upload(own_page(), "a.csv", ratings_file() + b"\n9,r1,book 2,99")

    def scale() -> tuple[float, float] | None:
        (one,) = app.session_state["own-sets"].values()
        return one.entry.scale

    said = [w.value for w in app.warning if "Please check" in w.value]
    assert "99 stands in 1 cell, first in line 182; all others are 1 to 5." in said[0]
    assert scale() == (1, 99)
    by_label(app.button, "Leave out 99").click().run()
    assert scale() == (1, 5)
    assert not [w for w in app.warning if "Please check" in w.value]


def test_a_separator_is_chosen_where_a_line_does_not_fit() -> None:
    rows = ratings_file().replace(b",", b";").replace(b"book 2", b"a, b, c, d")
    app = upload(own_page(), "a.csv", rows + b"\n9;r1;x;3;4")
    (error,) = app.error
    assert "line 182 has 5 cells where the others have 4" in error.value
    by_label(app.selectbox, "Cells are separated by").set_value("comma").run()
    assert "line 182" not in "".join(e.value for e in app.error)
    app = upload(own_page(), "b.csv", ratings_file())
    by_label(app.selectbox, "Cells are separated by").set_value("comma").run()
    assert not app.error
    (one,) = app.session_state["own-sets"].values()
    assert one.options() == {"separator": "comma"}
    by_label(app.selectbox, "Cells are separated by").set_value("semicolon").run()
    assert "The table has 1 column" in app.error[0].value
    by_label(app.selectbox, "Cells are separated by").set_value("").run()
    assert not app.error


def test_the_command_names_a_file_as_it_is_called() -> None:
    """A browser sends a quote in a name as a code."""
    app = upload(own_page(), "my %22table%22 50%.csv", ratings_file())
    (one,) = app.session_state["own-sets"].values()
    assert shlex.split(one.words())[:2] == ["--data", 'my "table" 50%.csv']


def test_another_visitor_finds_nothing() -> None:
    app = upload(own_page(), "a.csv", ratings_file())
    name = next(iter(app.session_state["own-sets"]))
    assert re.fullmatch(r"own-ratings-[0-9a-f]{16}", name)
    other = open_page("completion")
    assert "Your ratings" not in menu_of(other, "Dataset")
    for link in (name, "Your ratings"):
        linked = open_page("completion", dataset=link)
        assert any("is not allowed" in w.value or "are not here" in w.value for w in linked.warning)
        assert not linked.error
    with pytest.raises(ParameterError, match="a set of this visit"):
        user_datasets.find(name)  # nor does code that runs for nobody


@pytest.mark.long
def test_a_wrong_guess_is_corrected_and_a_bad_file_takes_nothing_away() -> None:
    app = upload(own_page(), "a.csv", ratings_file())
    (box,) = [s for s in app.selectbox if s.label == "Rating column"]
    assert box.value == "stars"
    box.set_value("when").run()
    (mean,) = re.findall(r"ratings from \S+ to \S+, mean (\S+)\. ", said_of(app))
    assert float(mean) > 1e6  # times, as chosen
    (box,) = [s for s in app.selectbox if s.label == "User column"]
    box.set_value("when").run()
    assert any("three different columns" in e.value for e in app.error)
    assert any("What was read before (a.csv) is still in use" in c.value for c in app.caption)
    (box,) = [s for s in app.selectbox if s.label == "Rating column"]
    box.set_value("stars").run()
    upload(app, "b.csv", b"only,two\n1,2\n")
    assert app.error
    assert list(app.session_state["own-sets"])


def test_what_is_doubtful_is_asked_and_the_answer_counts() -> None:
    rows = [f"u{k % 20},b{k % 7},{99 if k % 5 == 0 else k % 4 + 1}" for k in range(140)]
    app = upload(own_page(), "a.csv", "\n".join(["user,book,stars", *rows]).encode())

    def asked() -> list[str]:
        return [w.value for w in app.warning if "Please check" in w.value]

    (one,) = asked()
    assert "99 stands in 28 cells, far from all others" in one
    (codes,) = [box for box in app.text_input if "not rated" in box.label]
    assert codes.value == "99"
    app.checkbox[0].check().run()
    assert asked() == []
    assert "- 112 ratings from" in said_of(app)
    app.checkbox[0].uncheck().run()
    assert asked() == [one]
    (codes,) = [box for box in app.text_input if "not rated" in box.label]
    codes.set_value("many").run()
    assert any("missing = 'many' is not allowed" in e.value for e in app.error)
    assert any("What was read before (a.csv) is still in use" in c.value for c in app.caption)
    (codes,) = [box for box in app.text_input if "not rated" in box.label]
    codes.set_value("").run()
    assert not app.error
    assert asked() == []
    assert "- 140 ratings from" in said_of(app)


def test_rows_of_sums_and_likes_are_asked_about_with_their_choices() -> None:
    rows = [f"u{u},{','.join(str(1 + (u * 7 + i * 3) % 5) for i in range(8))}" for u in range(12)]
    table = ["user,a,b,c,d,e,f,g,h", *rows, "Total" + ",36" * 8]
    app = upload(own_page(), "a.csv", "\n".join(table).encode())
    (box,) = [one for one in app.selectbox if one.label == "Rows that sum up others"]
    assert "- 96 ratings from" in said_of(app)
    box.set_value("").run()
    assert not app.error
    assert "- 104 ratings from" in said_of(app)
    likes = ["user,movie,when", *(f"u{k % 9},m{k % 7},2024-01-0{1 + k % 9}" for k in range(60))]
    upload(app, "b.csv", "\n".join(likes).encode())
    assert any("No column holds ratings" in one.value for one in app.warning)
    assert any("there is nothing to learn" in one.value for one in app.error)


def test_in_another_tab_the_address_says_what_became_of_the_data_and_runs_nothing() -> None:
    app = open_page("completion", dataset="Your ratings", run="1")
    assert any(
        "“Your ratings” are not here" in w.value and "in one tab" in w.value for w in app.warning
    )
    assert jobs.current("run") is None
    assert open_page("completion", rank="nonsense", run="1").warning
    assert jobs.current("run") is None


@pytest.mark.long
def test_links_to_other_pages_choose_the_set_and_its_usual_settings_run() -> None:
    app = upload(own_page(), "a.csv", long_csv(60, 12))
    (page,) = [link for link in app.get("page_link") if link.proto.page == "completion"]
    assert page.proto.query_string == "dataset=Your+ratings"
    app.query_params["dataset"] = "Your ratings"
    go_to(app, "completion")
    assert app.selectbox(key="dataset").value == own_data_name(app)
    finish(app, "run")


@pytest.mark.parametrize(
    ("kind", "file", "data", "page"),
    [
        ("ratings", "a.csv", long_csv(60, 12), "tradeoffs"),
        ("documents", "a.zip", documents_zip(30), "factorization"),
        ("images", "a.zip", pictures_zip(30), "factorization"),
    ],
)
def test_every_link_to_a_page_chooses_the_set_there(
    kind: str, file: str, data: bytes, page: str
) -> None:
    app = upload(own_page(kind), file, data)
    (link,) = [
        found
        for found in app.get("page_link")
        if found.proto.page == page and "=Your" in found.proto.query_string
    ]
    key, title = link.proto.query_string.replace("+", " ").split("=")
    app.query_params[key] = title
    go_to(app, page)
    assert app.selectbox(key=key).value == own_data_name(app)


def own_data_name(app: AppTest) -> str:
    return next(iter(app.session_state["own-sets"]))


def test_removed_means_gone() -> None:
    app = upload(own_page(), "a.csv", ratings_file())
    go_to(app, "completion")
    app.selectbox(key="dataset").select_index(0).run()
    app.number_input(key="iterations").set_value(2)
    app.number_input(key="rank").set_value(2)
    app.run()
    finish(app, "run")
    go_to(app, "datasets")
    app.segmented_control(key="d_view").set_value("own").run()
    (button,) = [b for b in app.button if b.label == "Remove"]
    button.click().run()
    assert not app.exception
    assert not app.session_state["own-sets"]
    assert jobs.current("run") is None  # its results went with it
    go_to(app, "completion")
    assert "Your ratings" not in menu_of(app, "Dataset")


@pytest.mark.long
def test_a_set_is_swapped_while_a_run_on_it_goes_on() -> None:
    app = upload(own_page(), "a.csv", ratings_file())
    go_to(app, "completion")
    app.selectbox(key="dataset").select_index(0).run()
    app.selectbox(key="a_algorithm").set_value("irls").run()  # 50,000 passes: some 20 seconds
    app.number_input(key="inner").set_value(100)
    app.number_input(key="iterations").set_value(500)
    app.number_input(key="rank").set_value(8)
    app.button(key="go").click().run()
    job = jobs.current("run")
    assert job is not None
    assert job.active
    go_to(app, "datasets")
    app.segmented_control(key="d_view").set_value("own").run()
    upload(app, "b.csv", long_csv(44, 12))
    assert verdict_of(app).startswith("Your ratings: 44 users")
    until = time.monotonic() + 60
    while job.active and time.monotonic() < until:
        time.sleep(0.05)
    assert job.state == "cancelled"  # what it would show is of people who are no longer there
    go_to(app, "completion")
    assert jobs.current("run") is None
    app.selectbox(key="dataset").select_index(0).run()
    app.number_input(key="iterations").set_value(2)
    app.number_input(key="rank").set_value(2)
    app.run()
    finish(app, "run")
    again = jobs.current("run")
    assert again is not None
    assert {result.split.train.n_users for result in again.results} == {44}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "file", "data"),
    [("documents", "a.zip", documents_zip(30)), ("images", "a.zip", pictures_zip(30))],
)
def test_documents_and_images_are_factorised(kind: str, file: str, data: bytes) -> None:
    app = upload(own_page(kind), file, data)
    assert not app.error
    go_to(app, "factorization")
    options = menu_of(app, "Data")
    app.selectbox(key="f_data").select_index(options.index(f"Your {kind}")).run()
    app.number_input(key="f_k").set_value(3).run()
    finish(app, "factors")
    assert len(app.metric) == 4


def test_all_visitors_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    before = job.OWN_DATA.megabytes
    monkeypatch.setenv("DPMC_OWN_MB", str(int(before) + 1))
    huge = b"reader,book,stars\n" + b"\n".join(
        b"r%d,b%d,%d" % (k % 5000, k // 5000, k % 5 + 1) for k in range(100_000)
    )
    app = upload(own_page(), "a.csv", huge)
    assert any("all visitors' own data together may take" in e.value for e in app.error)
    assert "own-sets" not in app.session_state
    gc.collect()
    assert job.OWN_DATA.megabytes <= before  # what was refused is not counted


def test_a_file_has_its_seconds_from_when_it_can_be_looked_at() -> None:
    class Starting:
        """Computes for longer to start than it may read, then for ``looks`` tenths of a second."""

        ready, busy = False, 0.0

        def __init__(self, looks: int) -> None:
            self._looks = looks

        def draw(self, *_: object, private: bool) -> Iterator[tuple[int, str, bool] | None]:
            for k in range(8 + self._looks):
                self.ready, self.busy = k >= 8, 0.1 * k
                yield None
            yield 0, "read", True

        def close(self) -> None:
            pass

    quick = Starting(looks=0)
    lane, here = aside._Lane("files", "The file", 0.5, ""), threading.Event()
    found = aside._drawn(quick, (), lane, here)  # type: ignore[arg-type]
    assert found == "read"
    with pytest.raises(DPMCError, match="The file could not be read within"):
        aside._drawn(Starting(looks=30), (), lane, here)  # type: ignore[arg-type]


def test_an_upload_never_touches_a_disk() -> None:
    """The server's own parser of requests, as it is set here: five megabytes stay in memory."""
    opened: list[str] = []
    watching = True
    sys.addaudithook(
        lambda event, found: (
            opened.append(str(found))
            if watching and event in ("open", "tempfile.mkstemp")
            else None
        )
    )
    body = (
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n'
        + b"y" * 5_000_000
        + b"\r\n--x--\r\n"
    )

    async def stream():
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    async def parse() -> bool:
        form = await MultiPartParser(
            Headers({"content-type": "multipart/form-data; boundary=x"}), stream()
        ).parse()
        file = form["f"]
        rolled = bool(file.file._rolled)
        await file.close()
        return rolled

    try:
        assert not run_apart(parse())
    finally:
        watching = False
    assert opened == []


def test_settings_are_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    text = " ".join(text.split())  # the list is wrapped
    monkeypatch.delenv("DPMC_JOB_NICE")  # the tests themselves give way to nobody
    for one in settings.SETTINGS.values():
        said = f"- `{one.name}` ({one.usual}; {one.low} to {one.high}): {one.meaning}. - `"
        assert said in text
        assert settings.of(one.name) == one.usual
    for bad in ("many", "0", "-1", "1e3", "9" * 20):
        monkeypatch.setenv("DPMC_JOBS", bad)
        with pytest.raises(
            ParameterError,
            match=r"DPMC_JOBS = .* is not allowed: it must be a whole number from 1 to 64",
        ):
            settings.of("DPMC_JOBS")
    monkeypatch.setenv("DPMC_JOBS", " 3 ")
    assert settings.of("DPMC_JOBS") == 3


def test_the_log_is_lines_of_json_without_a_visitor(capfd: pytest.CaptureFixture[str]) -> None:
    job = jobs.start_task(lambda job: None)
    lines: list[str] = []
    until = time.monotonic() + 30
    while not lines and time.monotonic() < until:  # it is written after the state is set
        lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
        time.sleep(0.01)
    assert job.state == "done"
    entry = json.loads(lines[-1])
    assert (entry["event"], entry["kind"], entry["state"]) == ("job", "task", "done")
    assert set(entry) <= {
        "time",
        "event",
        "session",
        "kind",
        "state",
        "waited",
        "seconds",
        "done",
        "of",
    }


def test_sessions_that_are_over_can_be_dropped() -> None:
    """What ``warm`` uses of Streamlit is private there.

    A release that changes it must be noticed.
    """
    over = MemorySessionStorage(ttl_seconds=0)
    assert callable(over._cache.expire)  # type: ignore[attr-defined]
    manager = WebsocketSessionManager(
        over, *[None] * (len(signature(WebsocketSessionManager).parameters) - 1)
    )
    assert manager._session_storage is over
    assert callable(Runtime._get_async_objs)
    assert manager.list_sessions() == []
    assert callable(AppSession.shutdown)
    assert isinstance(AppSession.session_state, property)
    state = SessionState()
    state["own-sets"] = {"mine": object()}
    state.clear()
    assert "own-sets" not in state


def test_a_session_that_is_over_is_ended_though_something_refers_to_it() -> None:
    class Session:
        def __init__(self) -> None:
            self.ended, self.session_state = 0, {"own-sets": "ratings"}

        def shutdown(self) -> None:
            self.ended += 1

    class Manager:
        def __init__(self) -> None:
            self._session_storage = MemorySessionStorage()
            self.sessions: list[Session] = []

        def list_sessions(self) -> list[SimpleNamespace]:
            return [SimpleNamespace(session=session) for session in self.sessions]

    manager, first, second = Manager(), Session(), Session()
    manager.sessions = [first, second]
    warm.end_sessions(manager)
    assert (first.ended, second.ended) == (0, 0)
    manager.sessions = [second]
    warm.end_sessions(manager)
    warm.end_sessions(manager)
    assert (first.ended, second.ended) == (1, 0)
    assert first.session_state == {}
    assert second.session_state == {"own-sets": "ratings"}
    manager.sessions = []
    warm.end_sessions(manager)
    assert second.ended == 1
    assert not warm._known


def test_a_server_warms_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both its start and each visitor's script ask for it."""
    begun: list[str] = []
    monkeypatch.setattr(warm.runtime, "exists", lambda: True)
    monkeypatch.setattr(warm, "_prepare", lambda: begun.append("prepare"))
    monkeypatch.setattr(warm, "_tidy", lambda: begun.append("tidy"))
    warm._warmed.cache_clear()
    try:
        for _ in range(3):
            warm.warm()
        for thread in threading.enumerate():
            if thread.name in ("dpmc-prepare", "dpmc-tidy"):
                thread.join()
        assert sorted(begun) == ["prepare", "tidy"]
    finally:
        warm._warmed.cache_clear()


@pytest.mark.long
def test_ones_own_ratings_are_audited_with_a_record_of_ones_choice() -> None:
    app = upload(own_page(), "a.csv", long_csv(30, 12))
    app.query_params.update({"x_target": "als", "x_dataset_runs": "200"})
    go_to(app, "audit")
    app.selectbox(key="x_ratings").set_value(own_data_name(app)).run()
    # the game is about synthetic data
    assert not any(one.proto.page == "game" for one in app.get("page_link"))
    app.text_input(key="x_record").set_value("nobody").run()
    app.button(key="x_go").click().run()
    ended(app, "audit", "failed")
    assert any("record = 'nobody'" in e.value.replace("\\", "") for e in app.error)
    app.text_input(key="x_record").set_value("3").run()
    app.button(key="x_go").click().run()
    ended(app, "audit", "done")
    assert any("The record: the rating of" in c.value for c in app.caption)
    assert "x_record" not in app.query_params


def test_a_table_of_items_is_public_features_of_ones_own_ratings() -> None:
    app = upload(own_page(), "mine.csv", ratings_file())

    def mine() -> OwnSet:
        (one,) = app.session_state["own-sets"].values()
        return one

    ratings = mine().ratings
    assert ratings is not None
    labels = [ratings.item_label(item) for item in range(ratings.n_items)]
    table = "item,comedy,year\n" + "".join(f"{name},{k % 2},{k}\n" for k, name in enumerate(labels))
    app.get("file_uploader")[1].upload("items.csv", table.encode(), "text/csv").run()
    assert not app.error
    assert any("public item features: comedy, year" in m.value for m in app.markdown)
    known = mine()
    assert known.ratings is not None
    assert known.ratings.item_features is not None
    assert known.ratings.item_features.values[:, 1].tolist() == list(range(len(labels)))
    app.run()  # the same file again is the same set: nothing that rests on it is dropped
    assert mine() is known
    fewer = "".join(table.splitlines(keepends=True)[:-1])
    app.get("file_uploader")[1].upload("fewer.csv", fewer.encode(), "text/csv").run()
    assert mine().entry.items == len(labels) - 1
    known = mine()
    assert known.ratings is not None
    assert known.ratings.public["item list"] == "given by fewer.csv"
    assert any("Ratings of other items are left out: " in m.value for m in app.markdown)
    assert "item list" not in "".join(i.value for i in app.info)
    app.get("file_uploader")[1].upload("bad.csv", b"item\nx\nx\n", "text/csv").run()
    (error,) = app.error
    assert "is there twice" in error.value
