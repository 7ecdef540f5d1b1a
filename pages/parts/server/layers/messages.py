"""What a browser may say once a page is open: each kind of message, and how large it may be.

Streamlit does all that a message asks for, in the one loop that serves everybody: it clears the
caches of all visitors, and makes as many addresses as there are names. So the layer here passes on
what pages send in normal use, within bounds and not too fast, and nothing else.
"""

import asyncio
import logging
import re
import time
from dataclasses import dataclass

from google.protobuf.message import DecodeError, Message
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Event
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.parts.server import logs

__all__ = ["BOUNDS", "Bound", "Messages", "Refusal", "judge"]


@dataclass(frozen=True, slots=True)
class Bound:
    """How large one kind of message may be: ``parts`` are its fields and values, at any depth.

    ``cost`` is what it takes of what one connection may ask for.
    """

    bytes: int
    parts: int
    cost: int = 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a message is not passed on; without a ``code`` the connection stays open."""

    reason: str
    code: int = 0
    cost: int = 1


# all that the browser sends in normal use; what the largest page sends is a tenth of it
BOUNDS = {
    # settings of controls, and which figures it has: a thread, and a page
    "rerun_script": Bound(256_000, 5_000, cost=5),
    "stop_script": Bound(10, 1),
    "app_heartbeat": Bound(10, 1),
    "file_urls_request": Bound(4_000, 20),  # where a file goes; each field takes one
    "backend_operation_request.deferred_file": Bound(1_000, 20),  # a button that makes a file
    "backend_operation_request.dataframe_chunk": Bound(1_000, 20),  # rows of a long table
}
_MOST_BYTES = max(bound.bytes for bound in BOUNDS.values())
_ID = re.compile(r"[\w-]{0,64}", re.ASCII)  # Streamlit writes them into the log
# what the messages of one connection may cost at once and a second; how many may wait in a row
_AT_ONCE, _A_SECOND, _MOST_LATE = 100, 50, 300
_TOO_LARGE, _TOO_FAST = Refusal("too large", 1009), Refusal("too fast", 1008)
_GONE = {"type": "websocket.disconnect", "code": 1006}
_NO_MESSAGE = Refusal("no message of the protocol", 1002)


def judge(content: bytes | None) -> Bound | Refusal:
    """Return the bound that a message keeps, or why it is refused; text has no ``content``.

    >>> judge(BackMsg(app_heartbeat=True).SerializeToString())
    Bound(bytes=10, parts=1, cost=1)
    >>> judge(BackMsg(clear_cache=True).SerializeToString())
    Refusal(reason='a kind that no page sends', code=0, cost=1)
    >>> judge(None).code
    1003
    """
    if content is None:
        return Refusal("text", 1003)
    if len(content) > _MOST_BYTES:
        return _TOO_LARGE
    message = BackMsg()
    try:
        message.ParseFromString(content)
    except DecodeError:
        return _NO_MESSAGE
    if message.WhichOneof("type") is None:
        return _NO_MESSAGE
    kind = str(message.WhichOneof("type"))
    if kind == "backend_operation_request":
        asked = message.backend_operation_request
        kind += f".{asked.WhichOneof('payload')}"
        if not _ID.fullmatch(asked.request_id) or not _ID.fullmatch(asked.session_id):
            return _NO_MESSAGE
    bound = BOUNDS.get(kind)
    if bound is None:
        return Refusal("a kind that no page sends")
    if len(content) > bound.bytes or _parts(message, bound.parts) > bound.parts:
        return _TOO_LARGE
    widgets = message.rerun_script.widget_states.widgets
    if any(not widget.id.startswith("$$") for widget in widgets):  # the names of anything else
        return _NO_MESSAGE
    return bound


def _parts(message: Message, most: int) -> int:
    """Count the fields and values of ``message``, those of messages in it too, until ``most``."""
    count = 0
    for field, value in message.ListFields():
        several = value if hasattr(value, "extend") else (value,)
        count += len(several)
        for one in several if field.message_type else ():
            if count > most:
                return count
            count += _parts(one, most - count)
    return count


class Messages:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._refused = logs.Rare("unheard", "messages")
        logging.getLogger("uvicorn.error").addFilter(_is_no_broken_text)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        pace, closed = _Pace(), False

        async def hear() -> Event:
            nonlocal closed
            while (event := await receive())["type"] == "websocket.receive":
                judged = judge(event.get("bytes"))
                refused = judged if isinstance(judged, Refusal) else None
                if not await pace.keep(judged.cost):
                    refused = _TOO_FAST
                if closed:
                    return _GONE
                if refused is None:
                    return event
                self._refused.note(reason=refused.reason)
                if refused.code:
                    closed = True
                    code, reason = refused.code, refused.reason
                    await send({"type": "websocket.close", "code": code, "reason": reason})
                    return _GONE
            return event

        async def say(event: Event) -> None:
            nonlocal closed
            if not closed:
                try:
                    await send(event)
                except OSError:  # the browser has gone, and what it sent before is not heard
                    closed = True

        await self._app(scope, hear, say)


class _Pace:
    """How fast messages of one connection are passed on; the others wait on the line."""

    def __init__(self) -> None:
        self._left, self._seen, self._late = float(_AT_ONCE), time.monotonic(), 0

    async def keep(self, cost: int) -> bool:
        """Wait until a message's turn; False where too many in a row had to wait."""
        now = time.monotonic()
        self._left = min(self._left + (now - self._seen) * _A_SECOND, _AT_ONCE) - cost
        self._seen = now
        self._late = self._late + 1 if self._left < 0 else 0
        await asyncio.sleep(max(-self._left, 0) / _A_SECOND)
        return self._late < _MOST_LATE


def _is_no_broken_text(record: logging.LogRecord) -> bool:
    """Keep the server from writing a traceback for text that is not UTF-8: it closes by itself."""
    return not str(record.msg).startswith("Invalid UTF-8 sequence received")
