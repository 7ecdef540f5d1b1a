"""What the server turns away, without a server."""

import asyncio
import inspect
from typing import Any

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.parts.server.layers import gate
from tests.apart import run_apart
from tests.app.answers import Answer, answered

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


async def put(door: Any, visit: str, megabytes: int | None = None, base: str = "") -> int:
    """The status of an upload."""
    size = {} if megabytes is None else {"content_length": str(megabytes * MEGABYTE)}
    path = f"{base}/_stcore/upload_file/{visit}/file"
    request = answered(door, path, method="PUT", **size)
    return (await asyncio.wait_for(request, 30)).status  # what is let in waits to be let go


def status(visit: str, megabytes: int = 1) -> int:
    """The status of an upload that nothing holds up."""

    async def story() -> int:
        behind = Behind()
        behind.let_go.set()
        return await put(gate.Gate(behind), visit, megabytes)

    return run_apart(story())


def test_visits_beyond_the_limit_are_turned_away_until_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPMC_VISITS", "2")
    html = "text/html,*/*"

    async def story() -> None:
        behind = Behind()
        door = gate.Gate(behind)

        async def visit() -> Answer:
            return await answered(door, "/lab/_stcore/stream", kind="websocket")

        inside = [asyncio.create_task(visit()) for _ in range(2)]
        await asyncio.sleep(0)
        assert (await visit()).type == "websocket.close"
        refused = await answered(door, "/lab/budget", accept=html)
        assert (refused.status, refused.headers["retry-after"]) == (503, "120")
        assert b"try again in a few minutes" in refused.body
        others = (("/static/x.js", ""), ("/_stcore/health", html))  # of those who are inside
        inside += [asyncio.create_task(answered(door, path, accept=a)) for path, a in others]
        await asyncio.sleep(0)
        assert behind.seen == 4
        behind.let_go.set()
        assert [(await task).status for task in inside] == [200] * 4
        assert (await answered(door, accept=html)).status == 200

    run_apart(story())


@pytest.mark.parametrize("declared", [25, None])
def test_uploads_on_their_way_are_counted(declared: int | None) -> None:
    async def story() -> None:
        behind = Behind()
        door = gate.Gate(behind)
        coming = [asyncio.create_task(put(door, "a", declared)) for _ in range(gate.UPLOADS_OF_ONE)]
        await asyncio.sleep(0)
        assert await put(door, "a", 1) == 413
        coming.append(asyncio.create_task(put(door, "b", 1, "/lab")))
        await asyncio.sleep(0)
        behind.let_go.set()
        assert {await task for task in coming} == {200}
        assert await put(door, "a", 1) == 200

    run_apart(story())


def test_uploads_that_wait_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        data, name, type = b"x" * (2 * MEGABYTE), "a.csv", "text/csv"

    monkeypatch.setattr(gate, "_storage", lambda: {"a": {str(k): File() for k in range(45)}})
    assert status("a", 11) == 413
    assert status("a", 9) == 200
    assert status("b", 11) == 200
    monkeypatch.setenv("DPMC_OWN_MB", "100")
    assert status("b", 11) == 413


def test_uploads_of_nothing_but_names_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        data, name, type = b"", "n" * 3900, "t" * 3900

    held = {"a": {str(k): File() for k in range(49)}}
    monkeypatch.setattr(gate, "_storage", lambda: held)
    assert status("a") == 200
    held["a"]["one more"] = File()
    assert status("a") == 413
    monkeypatch.setenv("DPMC_OWN_MB", "100")
    held |= {f"v{k}": {str(k): File() for k in range(49)} for k in range(250)}
    assert status("new") == 413  # 120 MB of names


def test_a_setting_that_is_not_allowed_is_left_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPMC_VISITS", "many")

    async def story() -> int:
        behind = Behind()
        behind.let_go.set()
        return (await answered(gate.Gate(behind), accept="text/html")).status

    assert run_apart(story()) == 200


def test_uploads_that_wait_are_found_where_they_are_counted() -> None:
    """The gate asks Streamlit for what it holds.

    By another name it would find nothing, and let everything in.
    """
    held = MemoryUploadedFileManager("/_stcore/upload_file")
    held.add_file("a", UploadedFileRec(file_id="1", name="x", type="text/csv", data=b"12345"))
    assert [len(file.data) for file in held.file_storage["a"].values()] == [5]
    assert isinstance(inspect.getattr_static(Runtime, "uploaded_file_mgr"), property)
