"""What browsers are told, and who may open a connection; without a server."""

import base64
import hashlib
import math
import re
from types import SimpleNamespace
from typing import Any

import pytest

from dpmc_core.errors import ParameterError
from pages.parts.server import logs, settings
from pages.parts.server.layers import early, edge
from tests.app.answers import Behind, answer, noted_from_here

EDGE = edge.Edge(Behind())


def framers(path: str) -> str:
    policy = answer(EDGE, path).headers["content-security-policy"]
    (sites,) = re.findall("frame-ancestors (.*)$", policy)
    return str(sites)


def test_every_answer_says_what_may_be_loaded() -> None:
    for path in ("/", "/runs", "/_stcore/health", "/static/js/index.js"):
        headers = answer(EDGE, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'self';" in policy
        assert "http" not in policy  # no source but the app
        scripts = policy.partition("script-src ")[2].partition(";")[0]
        assert "unsafe" not in scripts
        assert scripts.count("sha256-") > 1  # Streamlit's own line, by its digest
        ours = base64.b64encode(hashlib.sha256(early.WHERE.encode()).digest()).decode()
        assert f"'sha256-{ours}'" in scripts


def test_runs_are_never_framed_and_the_others_by_whom_the_setting_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert framers("/mechanisms") == "*"
    for path in ("/runs", "/runs/", "/lab/runs"):
        assert framers(path) == "'none'"
    monkeypatch.setenv("DPMC_EMBED", " https://moodle.example.org  http://localhost:8080 ")
    assert framers("/mechanisms") == "https://moodle.example.org http://localhost:8080"
    assert framers("/runs") == "'none'"
    monkeypatch.setenv("DPMC_EMBED", "none")
    assert framers("/mechanisms") == "'none'"


NUMBERS = ("many", "0", "-1", "1e3", "9" * 20)
SITES = (
    *("example.org", "https://a; script-src *", "* https://a.org", "none https://a.org"),
    *("https://a.org/path", "javascript:1", "'self'", "https://a:123456"),
)
ADDRESSES = ("localhost", "http://a:1", "tcp://a", "tcp://a:b")


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        *(("DPMC_JOBS", value, "a whole number from 1 to 64") for value in NUMBERS),
        *(("DPMC_EMBED", value, r"\*") for value in SITES),
        *(("DPMC_SCHEDULER", value, ".*tcp://host:8786") for value in ADDRESSES),
    ],
)
def test_a_setting_that_is_not_allowed_is_named(
    name: str, value: str, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ParameterError, match=f"{name} = .* is not allowed: it must be {needed}"):
        settings.check()
    if name == "DPMC_EMBED":
        assert framers("/mechanisms") == "'none'"  # and it is in no header


def test_a_frame_without_a_word_is_told_that_it_is_one() -> None:
    for kind in ("iframe", "frame", "embed", "object"):
        redirect = answer(EDGE, "/mechanisms", query="m_alpha=2", sec_fetch_dest=kind)
        assert (redirect.status, redirect.headers["location"]) == (307, "?m_alpha=2&embed=true")
    # whatever the path: it is never another server's, and stays where a proxy strips its beginning
    for path in ("/", "//evil.org/x"):
        assert answer(EDGE, path, sec_fetch_dest="iframe").headers["location"] == "?embed=true"
    for query, kind in (("embed=false&embed=true", "iframe"), ("", "document")):
        assert answer(EDGE, query=query, sec_fetch_dest=kind).status == 200


def test_what_is_refused_is_noted_but_fills_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = noted_from_here(monkeypatch)
    headers = {"origin": 'https://evil.org/"}\x1b' + "x" * 999, "host": "lab.org"}
    for k in range(10):
        if k == 9:
            logs._rare["refused"] = (logs._rare["refused"][0], -math.inf)
        answer(EDGE, kind="websocket", **headers)
    assert [facts["times"] for facts in noted] == [1, 9]
    assert noted[0]["origin"] == "https://evil.org/???" + "x" * 80
    assert noted[0]["host"] == "lab.org"


def test_without_the_cookie_files_are_taken_only_where_none_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visit = SimpleNamespace(headers={"host": "lab"}, cookies={}, is_embedded=False)
    monkeypatch.setattr(edge.st, "context", visit)
    given = {"server.enableXsrfProtection": True}
    monkeypatch.setattr(edge.config, "get_option", given.__getitem__)
    assert (edge.takes_files(), edge.in_another_site()) == (False, True)
    visit.cookies = {"_streamlit_xsrf": "2|a"}
    assert (edge.takes_files(), edge.in_another_site()) == (True, False)
    visit.cookies, given["server.enableXsrfProtection"] = {}, False
    assert (edge.takes_files(), edge.in_another_site()) == (True, False)
    visit.is_embedded = True
    assert (edge.takes_files(), edge.in_another_site()) == (True, True)


@pytest.fixture
def open_to_all(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a server that listens to a network."""
    given = {
        "server.enableCORS": True,
        "server.corsAllowedOrigins": [],
        "server.allowedHosts": [],
        "server.address": "0.0.0.0",
    }
    monkeypatch.setattr(edge.config, "get_option", given.__getitem__)
    return given


def may_connect(host: str, origin: str | None) -> bool:
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    stream = answer(EDGE, "/_stcore/stream", kind="websocket", **headers)
    return stream.type == "websocket.accept"


@pytest.mark.usefixtures("open_to_all")
def test_connections_are_opened_by_the_apps_own_pages() -> None:
    ours = {
        "https://lab.org": "lab.org",
        "http://lab.org:8501": "lab.org:8501",
        "https://LAB.org": "lab.org:443",
        "http://[::1]:8501": "[::1]:8501",
        None: "lab.org",  # no browser
    }
    theirs = {
        "http://lab.org:9000": "lab.org:8501",  # another program of the same machine
        "http://localhost:9000": "localhost:8501",
        "http://localhost:8501": "127.0.0.1:8501",
        "https://evil.org": "lab.org",
        "https://lab.org.evil.org": "lab.org",
        "https://evil.org@lab.org:1": "lab.org",
        "null": "lab.org",
        "": "",
        "http://[broken": "lab.org",
        "http://lab.org:port": "lab.org",
    }
    assert [origin for origin, host in ours.items() if not may_connect(host, origin)] == []
    assert [origin for origin, host in theirs.items() if may_connect(host, origin)] == []
    assert not may_connect("", "null")


def test_a_name_that_is_made_to_lead_to_this_machine_opens_nothing(
    open_to_all: dict[str, Any],
) -> None:
    """Where the app listens to nobody else, its pages have this machine's names."""

    def connects(host: str) -> bool:
        return may_connect(host, f"http://{host}")

    assert connects("evil.org:8501")  # to a network it may have any name
    ours = ("localhost:8501", "127.0.0.1:8501", "[::1]:8501", "lab.localhost", "LOCALHOST")
    theirs = ("evil.org:8501", "localhost.evil.org", "127.0.0.1.evil.org", "10.0.0.1", "")
    for alone in ("127.0.0.1", "localhost", "::1"):
        open_to_all["server.address"] = alone
        assert [host for host in (*ours, *theirs) if connects(host)] == [*ours]
    open_to_all["server.allowedHosts"] = ["lab.org"]  # a proxy's; Streamlit asks for it
    assert connects("lab.org")


def test_who_turns_the_question_off_is_heard(open_to_all: dict[str, Any]) -> None:
    """Hosts of apps whose proxies pass on another name do that."""
    open_to_all["server.enableCORS"] = False
    assert may_connect("inside", "https://outside")


def test_the_servers_figures_stay_in_the_house(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting, status in (("", 404), ("1", 200), ("yes", 404)):
        monkeypatch.setenv("DPMC_METRICS", setting)
        assert answer(EDGE, "/lab/_stcore/metrics").status == status
