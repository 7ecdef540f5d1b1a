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
from tests.app.answers import Answer, Behind, answer, answered

MEGABYTE = 2**20


async def put(door: Any, visit: str, megabytes: int | None = 1, base: str = "") -> int:
    """The status of an upload."""
    size = {} if megabytes is None else {"content_length": str(megabytes * MEGABYTE)}
    path = f"{base}/_stcore/upload_file/{visit}/file"
    request = answered(door, path, method="PUT", **size)
    return (await asyncio.wait_for(request, 30)).status  # what is let in waits to be let go


def status(visit: str, megabytes: int = 1) -> int:
    """The status of an upload that nothing holds up."""
    return run_apart(put(gate.Gate(Behind()), visit, megabytes))


def test_visits_beyond_the_limit_are_turned_away_until_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPMC_VISITS", "2")
    html = "text/html,*/*"

    async def story() -> None:
        let_go = asyncio.Event()
        behind = Behind(let_go=let_go)
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
        assert behind.requests == 4
        let_go.set()
        assert [(await task).type for task in inside[:2]] == ["websocket.accept"] * 2
        assert [(await task).status for task in inside[2:]] == [200] * 2
        assert (await answered(door, accept=html)).status == 200

    run_apart(story())


@pytest.mark.parametrize("declared", [25, None])
def test_uploads_on_their_way_are_counted(declared: int | None) -> None:
    async def story() -> None:
        let_go = asyncio.Event()
        behind = Behind(let_go=let_go)
        door = gate.Gate(behind)
        coming = [asyncio.create_task(put(door, "a", declared)) for _ in range(gate.UPLOADS_OF_ONE)]
        await asyncio.sleep(0)
        assert await put(door, "a") == 413
        coming.append(asyncio.create_task(put(door, "b", base="/lab")))
        await asyncio.sleep(0)
        let_go.set()
        assert {await task for task in coming} == {200}
        assert await put(door, "a") == 200

    run_apart(story())


def test_uploads_that_wait_are_counted_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Streamlit's own place for them: by another name nothing would be found there, and all let
    in.
    """
    assert isinstance(inspect.getattr_static(Runtime, "uploaded_file_mgr"), property)

    def waiting(data: bytes = b"", letters: int = 3900, **files: int) -> None:
        held, name = MemoryUploadedFileManager("/_stcore/upload_file"), "n" * letters
        for visit, count in files.items():
            for k in range(count):
                held.add_file(visit, UploadedFileRec(str(k), name, name, data))
        monkeypatch.setattr(gate, "_storage", lambda: held.file_storage)

    waiting(b"x" * (2 * MEGABYTE), 5, a=45)
    assert [status("a", 11), status("a", 9), status("b", 11)] == [413, 200, 200]
    for count, expected in ((49, 200), (50, 413)):
        waiting(a=count)
        assert status("a") == expected
    monkeypatch.setenv("DPMC_OWN_MB", "100")
    waiting(b"x" * (2 * MEGABYTE), 5, a=45)
    assert status("b", 11) == 413
    waiting(**{f"v{k}": 49 for k in range(250)})
    assert status("new") == 413  # 120 MB of names


def test_a_setting_that_is_not_allowed_is_left_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPMC_VISITS", "many")
    assert answer(gate.Gate(Behind()), accept="text/html").status == 200
