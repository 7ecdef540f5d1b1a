"""What a browser may say once a page is open: each kind of message, and how large it may be.

Streamlit does all that a message asks for, in the one loop that serves everybody: it clears the
caches of all visitors, and makes as many addresses as there are names. So the layer here passes on
what pages send in normal use, within bounds and not too fast, and nothing else.
"""

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.parts.server import logs
from pages.parts.server.layers.layer import Layer

# the pace of one connection: seconds after a message, and after one that takes a thread and a page;
# and how many seconds it may be ahead of that
_PACE, _PACE_OF_PAGES, _AHEAD = 0.02, 0.1, 2.0


class Bound(NamedTuple):
    """How large one kind of message may be: ``parts`` are its fields and values, at any depth."""

    bytes: int
    parts: int


class Refusal(NamedTuple):
    """Why a message is not passed on; without a ``code`` the connection stays open."""

    reason: str
    code: int = 0


# all that the browser sends in normal use; the largest page sends a hundredth of it
BOUNDS = {
    "rerun_script": Bound(256_000, 2_000),  # settings of controls, and which figures it has
    "stop_script": Bound(10, 1),
    "app_heartbeat": Bound(10, 1),
    "file_urls_request": Bound(4_000, 20),  # where a file goes; each field takes one
    "deferred_file": Bound(1_000, 20),  # a button that makes a file
    "dataframe_chunk": Bound(1_000, 20),  # rows of a long table
}


def judge(content: bytes | None) -> Bound | Refusal:
    """Return the bound that a message keeps, or why it is refused; text has no ``content``.

    >>> judge(BackMsg(app_heartbeat=True).SerializeToString())
    Bound(bytes=10, parts=1)
    >>> judge(BackMsg(clear_cache=True).SerializeToString())
    Refusal(reason='a kind that no page sends', code=0)
    >>> judge(None).code
    1003
    """
    if not content:
        return Refusal("text or nothing", 1003)
    if len(content) > BOUNDS["rerun_script"].bytes:
        return Refusal("too large", 1009)
    try:
        message = BackMsg.FromString(content)
    except DecodeError:
        return Refusal("no message of the protocol", 1002)
    operation = message.backend_operation_request.WhichOneof("payload")
    bound = BOUNDS.get(operation or str(message.WhichOneof("type")))
    if bound is None:
        return Refusal("a kind that no page sends")
    if len(content) > bound.bytes or any(islice(_parts(message), bound.parts, None)):
        return Refusal("too large", 1009)
    # a widget by another name would be taken for something else that the visit holds
    widgets = message.rerun_script.widget_states.widgets
    if not all(widget.id.startswith("$$") for widget in widgets):
        return Refusal("names that no page sends", 1002)
    return bound


def _parts(message: Any) -> Iterator[bool]:
    """Yield once for each field and value of ``message``, and of messages in it."""
    for field, value in message.ListFields():
        for one in value if hasattr(value, "extend") else (value,):
            yield True
            if field.message_type:
                yield from _parts(one)


class Messages(Layer):
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        logs.hush("uvicorn.error", "Invalid UTF-8 sequence")  # it closes the connection itself
        # these quote the message
        logs.hush("streamlit.runtime.app_session", "Rejecting backend operation")
        logs.hush("streamlit.runtime.app_session", "The fragment with id")

    async def connect(self, scope: Scope) -> ASGIApp:
        """Pass on what pages send in normal use, not too fast."""
        del scope
        return self._paced

    async def _paced(self, scope: Scope, receive: Receive, send: Send) -> None:
        due, closed = 0.0, False

        async def hear() -> Message:
            nonlocal due, closed
            while not closed and (event := await receive())["type"] == "websocket.receive":
                judged, now = judge(event.get("bytes")), time.monotonic()
                pace = _PACE_OF_PAGES if judged is BOUNDS["rerun_script"] else _PACE
                due = max(due, now) + pace
                await asyncio.sleep(max(due - now - _AHEAD, 0))
                if isinstance(judged, Bound):
                    return event
                logs.note_rarely("unheard", reason=judged.reason)
                if judged.code:
                    closed = True
                    await send({"type": "websocket.close", "code": judged.code})
            return {"type": "websocket.disconnect", "code": 1006} if closed else event

        async def say(event: Message) -> None:
            nonlocal closed
            try:
                if not closed:
                    await send(event)
            except OSError:  # the browser has gone, and what it sent before is not heard
                closed = True

        await self.app(scope, hear, say)
