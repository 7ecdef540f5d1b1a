"""What browsers are told, and who may open a connection; without a server."""

import asyncio
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

HTML = b"<html></html>"


async def behind(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": HTML})


def answer(path: str = "/", kind: str = "http", query: str = "", **headers: str) -> dict[str, Any]:
    """The first message that comes back, headers as text."""
    said: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": kind,
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }
    asyncio.run(edge.Edge(behind)(scope, receive, send))
    first = said[0]
    first["headers"] = {k.decode(): v.decode() for k, v in first.get("headers", [])}
    return first


def framers(path: str) -> str:
    policy = answer(path)["headers"]["content-security-policy"]
    (found,) = re.findall("frame-ancestors (.*)$", policy)
    return str(found)


def test_every_answer_says_what_may_be_loaded() -> None:
    for path in ("/", "/mechanisms", "/runs", "/_stcore/health", "/static/js/index.js"):
        headers = answer(path)["headers"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'self';" in policy
        assert "'unsafe-eval'" not in policy
        assert "http" not in policy.replace("frame-ancestors", "")  # no source but the app
        scripts = policy.partition("script-src ")[2].partition(";")[0]
        assert "unsafe" not in scripts
        assert "sha256-" in scripts  # Streamlit's own line, by its digest
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


@pytest.mark.parametrize(
    "said", ["example.org", "https://a; script-src *", "* https://a.org", "none https://a.org",
             "https://a.org/path", "javascript:1", "'self'", "https://a:123456"],
)  # fmt: skip
def test_what_is_no_site_is_refused_and_no_header(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPMC_EMBED", said)
    with pytest.raises(ParameterError, match=r"DPMC_EMBED = .* is not allowed: it must be \*"):
        settings.check()
    assert framers("/mechanisms") == "'none'"


def test_a_frame_without_a_word_is_told_that_it_is_one() -> None:
    for kind in ("iframe", "frame", "embed", "object"):
        sent = answer("/mechanisms", query="m_alpha=2", sec_fetch_dest=kind)
        assert sent["status"] == 307
        assert sent["headers"]["location"] == "?m_alpha=2&embed=true"
    assert answer("/", sec_fetch_dest="iframe")["headers"]["location"] == "?embed=true"
    told = answer("/", query="embed=false&embed=true", sec_fetch_dest="iframe")
    assert told["status"] == 200
    assert answer("/", sec_fetch_dest="document")["status"] == 200
    # whatever the path: it is never another server's, and stays where a proxy strips its beginning
    assert answer("//evil.org/x", sec_fetch_dest="iframe")["headers"]["location"] == "?embed=true"


def test_what_is_refused_is_noted_but_fills_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[dict[str, Any]] = []
    monkeypatch.setattr(logs, "note", lambda *_, **facts: noted.append(facts))
    monkeypatch.setattr(logs, "_rare", {})

    async def dropped(message: Any) -> None:
        pass

    headers = [(b"origin", b'https://evil.org/"}\x1b' + b"x" * 999), (b"host", b"lab.org")]
    app = edge.Edge(behind)
    for _ in range(9):
        scope = {"type": "websocket", "path": "/", "query_string": b"", "headers": headers}
        asyncio.run(app(scope, dropped, dropped))  # type: ignore[arg-type]
    logs._rare["refused"] = (logs._rare["refused"][0], -math.inf)
    asyncio.run(app(scope, dropped, dropped))  # type: ignore[arg-type]
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


@pytest.mark.usefixtures("open_to_all")
def test_connections_are_opened_by_the_apps_own_pages() -> None:
    def opened(origin: str | None, host: str = "lab.org") -> bool:
        headers = {"host": host} | ({} if origin is None else {"origin": origin})
        return answer("/_stcore/stream", "websocket", **headers)["type"] == "websocket.accept"

    assert opened("https://lab.org")
    assert opened("http://lab.org:8501", "lab.org:8501")
    assert opened("https://LAB.org", "lab.org:443")
    assert opened("http://[::1]:8501", "[::1]:8501")
    assert opened(None)  # no browser
    for foreign, host in (
        ("http://lab.org:9000", "lab.org:8501"),  # another program of the same machine
        ("http://localhost:9000", "localhost:8501"),
        ("http://localhost:8501", "127.0.0.1:8501"),
        ("https://evil.org", "lab.org"),
        ("https://lab.org.evil.org", "lab.org"),
        ("https://evil.org@lab.org:1", "lab.org"),
        ("null", "lab.org"),
        ("", ""),
        ("null", ""),
        ("http://[broken", "lab.org"),
        ("http://lab.org:port", "lab.org"),
    ):
        assert not opened(foreign, host), foreign


def test_connections_may_be_opened_from_where_the_settings_say() -> None:
    assert edge.may_open("https://a.org", "b", ("https://a.org",))
    assert not edge.may_open("https://a.org:1", "b", ("https://a.org",))


def test_a_name_that_is_made_to_lead_to_this_machine_opens_nothing(
    open_to_all: dict[str, Any],
) -> None:
    """Where the app listens to nobody else, its pages have this machine's names."""

    def opened(host: str) -> bool:
        headers = {"host": host, "origin": f"http://{host}"}
        return answer("/_stcore/stream", "websocket", **headers)["type"] == "websocket.accept"

    assert opened("evil.org:8501")  # to a network it may have any name
    for alone in ("127.0.0.1", "localhost", "::1"):
        open_to_all["server.address"] = alone
        for host in (
            "localhost:8501",
            "127.0.0.1:8501",
            "[::1]:8501",
            "lab.localhost",
            "LOCALHOST",
        ):
            assert opened(host), host
        for host in ("evil.org:8501", "localhost.evil.org", "127.0.0.1.evil.org", "10.0.0.1", ""):
            assert not opened(host), host
    open_to_all["server.allowedHosts"] = ["lab.org"]  # a proxy's; Streamlit asks for it
    assert opened("lab.org")


def test_who_turns_the_question_off_is_heard(open_to_all: dict[str, Any]) -> None:
    """Hosts of apps whose proxies pass on another name do that."""
    open_to_all["server.enableCORS"] = False
    foreign = {"host": "inside", "origin": "https://outside"}
    assert answer("/_stcore/stream", "websocket", **foreign)["type"] == "websocket.accept"


def test_the_servers_figures_stay_in_the_house(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/lab/_stcore/metrics"
    assert answer(path)["status"] == 404
    monkeypatch.setenv("DPMC_METRICS", "1")
    assert answer(path)["status"] == 200
    monkeypatch.setenv("DPMC_METRICS", "yes")
    assert answer(path)["status"] == 404
