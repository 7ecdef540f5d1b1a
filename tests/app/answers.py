"""Requests to the layers in front of Streamlit's server, without a server."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from pages.parts.server import logs
from tests.apart import run_apart


@dataclass
class Behind:
    """What stands behind a layer: counts requests, and answers in two pieces, once it is let go."""

    body: bytes = b"behind"
    kind: bytes = b"text/html; charset=utf-8"
    status: int = 200
    extra: tuple[tuple[bytes, bytes], ...] = ()
    let_go: asyncio.Event | None = None
    requests: int = field(default=0, init=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        if self.let_go:
            await self.let_go.wait()
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        headers = [(b"content-type", self.kind), *self.extra]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body[:9], "more_body": True})
        await send({"type": "http.response.body", "body": self.body[9:]})


@dataclass(frozen=True)
class Answer:
    """What comes back: the type of its first message, and the whole."""

    type: str
    status: int
    headers: dict[str, str]
    body: bytes


async def answered(
    layer: Any, path: str = "/", *, kind: str = "http", method: str = "GET", query: str = "",
    **headers: str,
) -> Answer:  # fmt: skip
    """What ``layer`` answers to a request."""
    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "method": method, "path": path, "headers": raw}
    await layer({**scope, "query_string": query.encode()}, receive, send)
    first, *others = messages
    names = {name.decode(): value.decode() for name, value in first.get("headers", ())}
    body = b"".join(message.get("body", b"") for message in others)
    return Answer(first["type"], first.get("status", 0), names, body)


def noted_from_here(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The facts of each line that the log gets from here on; before, nothing was noted."""
    lines: list[dict[str, Any]] = []
    monkeypatch.setattr(logs, "note", lambda *_, **facts: lines.append(facts))
    monkeypatch.setattr(logs, "_rare", {})
    return lines


def answer(layer: Any, path: str = "/", **request: str) -> Answer:
    """``answered``, outside of coroutines."""
    return run_apart(answered(layer, path, **request))
