"""What the server turns away, without a server."""

import asyncio
from typing import Any

import pytest

from pages.parts.server.layers import gate
from tests.apart import run_apart

MEGABYTE = 2**20


class Behind:
    """What stands behind the gate: holds whatever comes until it is let go."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.seen = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen += 1
        await self.let_go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})


async def answer(to: gate.Gate, **scope: Any) -> dict[str, Any]:
    """The first message that comes back."""
    said: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    await to({"headers": [], "method": "GET", **scope}, receive, send)
    return said[0]


def put(visit: str, megabytes: int | None, base: str = "") -> dict[str, Any]:
    headers = [] if megabytes is None else [(b"content-length", str(megabytes * MEGABYTE).encode())]
    return {
        "type": "http",
        "method": "PUT",
        "path": f"{base}/_stcore/upload_file/{visit}/file",
        "headers": headers,
    }


def test_visits_beyond_the_limit_are_turned_away_until_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPMC_VISITS", "2")
    html = [(b"accept", b"text/html,*/*")]

    async def story() -> None:
        behind = Behind()
        door = gate.Gate(behind)
        stream = {"type": "websocket", "path": "/lab/_stcore/stream"}
        inside = [asyncio.create_task(answer(door, **stream)) for _ in range(2)]
        await asyncio.sleep(0)
        assert (await answer(door, **stream))["type"] == "websocket.close"
        refused = await answer(door, type="http", path="/lab/budget", headers=html)
        assert (refused["status"], dict(refused["headers"])[b"retry-after"]) == (503, b"120")
        script = asyncio.create_task(
            answer(door, type="http", path="/static/x.js")
        )  # of those who are inside
        health = asyncio.create_task(
            answer(door, type="http", path="/_stcore/health", headers=html)
        )
        await asyncio.sleep(0)
        assert behind.seen == 4
        behind.let_go.set()
        for task in (*inside, script, health):
            assert (await task)["status"] == 200
        assert (await answer(door, type="http", path="/", headers=html))["status"] == 200

    run_apart(story())


@pytest.mark.parametrize("declared", [25, None])
def test_uploads_on_their_way_are_counted(declared: int | None) -> None:
    async def story() -> None:
        behind = Behind()
        door = gate.Gate(behind)
        coming = [
            asyncio.create_task(answer(door, **put("a", declared)))
            for _ in range(gate.UPLOADS_OF_ONE)
        ]
        await asyncio.sleep(0)
        assert (await answer(door, **put("a", 1)))["status"] == 413
        other = asyncio.create_task(answer(door, **put("b", 1, "/lab")))
        await asyncio.sleep(0)
        behind.let_go.set()
        for task in (*coming, other):
            assert (await task)["status"] == 200
        assert (await answer(door, **put("a", 1)))["status"] == 200

    run_apart(story())


def test_uploads_that_wait_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        data, name, type = b"x" * (2 * MEGABYTE), "a.csv", "text/csv"

    async def status(visit: str, megabytes: int) -> int:
        behind = Behind()
        behind.let_go.set()
        return int((await answer(gate.Gate(behind), **put(visit, megabytes)))["status"])

    monkeypatch.setattr(gate, "_storage", lambda: {"a": {str(k): File() for k in range(45)}})
    assert run_apart(status("a", 11)) == 413
    assert run_apart(status("a", 9)) == 200
    assert run_apart(status("b", 11)) == 200
    monkeypatch.setenv("DPMC_OWN_MB", "100")
    assert run_apart(status("b", 11)) == 413


def test_uploads_of_nothing_but_names_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        data, name, type = b"", "n" * 3900, "t" * 3900

    async def status(visit: str) -> int:
        behind = Behind()
        behind.let_go.set()
        return int((await answer(gate.Gate(behind), **put(visit, 1)))["status"])

    held = {"a": {str(k): File() for k in range(49)}}
    monkeypatch.setattr(gate, "_storage", lambda: held)
    assert run_apart(status("a")) == 200
    held["a"]["one more"] = File()
    assert run_apart(status("a")) == 413
    monkeypatch.setenv("DPMC_OWN_MB", "100")
    held |= {f"v{k}": {str(k): File() for k in range(49)} for k in range(250)}
    assert run_apart(status("new")) == 413  # 120 MB of names


def test_a_setting_that_is_not_allowed_is_left_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPMC_VISITS", "many")
    behind = Behind()

    async def story() -> int:
        behind.let_go.set()
        scope = {"type": "http", "path": "/", "headers": [(b"accept", b"text/html")]}
        return int((await answer(gate.Gate(behind), **scope))["status"])

    assert run_apart(story()) == 200
