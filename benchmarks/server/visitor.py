"""A visitor without a browser: one real WebSocket session with the running app.

The app as a process of its own, and ``Visitor``, which opens pages, moves sliders and presses
buttons by Streamlit's own messages, and notes what comes back: how long, which errors.
"""

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from pages.parts.ui import glossary

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple("" if page == "home" else page for page in glossary.PAGES)  # as addresses name them


@dataclass
class App:
    """The running app: where it answers, its process, and its log."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running_app(
    folder: Path,
    *,
    before: Callable[[], None] | None = None,
    port: int | None = None,
    **environment: str,
) -> Iterator[App]:
    """Start the app on ``port`` (a free one), with its log in ``folder`` and after ``before`` was
    called in its process; end it afterwards.
    """
    port = free_port() if port is None else port
    log = folder / "app.log"
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.address",
        "127.0.0.1",
    ]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            preexec_fn=before,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            with suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
            time.sleep(0.05)
        else:
            raise RuntimeError(f"the app did not start: {log.read_text(errors='replace')[-2000:]}")
        yield App(url, process, log)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        process.kill()
        process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Visitor:
    """One session.

    ``errors`` are exceptions that a page showed, ``alerts`` its boxes with a sentence, ``texts``
    all others, ``widgets`` id by label, ``files`` what makes a file when it is asked for by label.
    """

    url: str
    errors: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    widgets: dict[str, str] = field(default_factory=dict)
    # parts of the page that redraw themselves, by widgets' labels
    fragments: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    title: str = ""
    runs: int = 0
    _socket: Any = None
    _listener: Any = None
    _finished: asyncio.Event = field(default_factory=asyncio.Event)
    _timers: dict[str, Any] = field(default_factory=dict)
    _drawing: bool = False
    _live: set[str] = field(default_factory=set)
    _cookie: str = ""
    _token: str = ""
    _session: str = ""
    _visit: str = ""  # whose visit this tab is, as the page told it
    _upload_places: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)  # for files to come
    _made_files: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)  # as asked for
    _heartbeats: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)  # answers to heartbeats
    _page: str = ""
    _query: str = ""
    _page_hash: str = ""

    async def __aenter__(self) -> "Visitor":
        await self._connect()
        return self

    async def reconnect(self, timeout: float = 60.0) -> float:
        """Connect once more, as a browser does that has lost its connection, and ask for the page
        as it was; seconds until its script has ended.
        """
        await self.__aexit__()
        self._drawing, self._page_hash = False, ""
        await self._connect()
        return await self._rerun({}, timeout)

    @property
    def lost(self) -> bool:
        """Whether the connection was closed by the other side."""
        return bool(self._listener.done())

    async def reload(self, timeout: float = 60.0) -> float:
        """Load the tab again, as a visitor does: another session, which shows whose visit it is."""
        await self.__aexit__()
        self._session, self._drawing = "", False
        await self._connect()
        return await self.open(self._page, self._query, timeout)

    async def _connect(self) -> None:
        address = self.url.replace("http", "ws", 1) + f"/_stcore/stream?visit={self._visit}"
        request = urllib.request.Request(
            f"{self.url}/_stcore/health", headers={"Cookie": self._cookie} if self._cookie else {}
        )
        healthy = await asyncio.to_thread(urllib.request.urlopen, request, timeout=30)
        with healthy:  # as a browser keeps them
            new = [one.split(";")[0] for one in healthy.headers.get_all("Set-Cookie") or ()]
        cookies = dict(one.split("=", 1) for one in (*self._cookie.split("; "), *new) if "=" in one)
        self._cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._token = cookies.get("_streamlit_xsrf", "")
        self._socket = await websockets.connect(
            address,
            subprotocols=[
                Subprotocol(one)  # the last one names the visit that a lost connection was of
                for one in ("streamlit", *((self._token, self._session) if self._session else ()))
            ],
            max_size=None,
            open_timeout=30,
            close_timeout=2,
            origin=Origin(self.url),
            additional_headers={"Cookie": self._cookie},
        )
        self._listener = asyncio.create_task(self._listen())

    async def __aexit__(self, *_: object) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._listener.cancel()
        await self._socket.close()

    @property
    def may_draw(self) -> bool:
        """Whether the page is being drawn, or will draw a part of itself again."""
        return self._drawing or bool(self._timers)

    async def open(self, page: str, query: str = "", timeout: float = 60.0) -> float:
        """Open a page; seconds until its script has ended."""
        self._page, self._query, self._page_hash = page, query, ""
        for timer in self._timers.values():
            timer.cancel()
        self._timers, self.widgets, self.alerts, self.texts = {}, {}, [], []
        return await self._rerun({}, timeout)

    async def move(self, label: str, value: float, timeout: float = 60.0) -> float:
        """Move the slider called ``label`` (to a value, or to the number of an option).

        Seconds until the page is drawn again.
        """
        if label in self.options:
            chosen = self.options[label][int(value)]
            return await self._rerun(
                {self.widgets[label]: ("string_array_value", [chosen])}, timeout
            )
        return await self._rerun({self.widgets[label]: ("double_array_value", [value])}, timeout)

    async def upload(self, label: str, name: str, data: bytes, timeout: float = 120.0) -> float:
        """Give a file to the field called ``label``.

        Seconds from when it has arrived until the page is drawn again. Raises ``HTTPError`` where
        it is not taken.
        """
        message = BackMsg()
        message.file_urls_request.request_id = "1"
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self._session
        await self._socket.send(message.SerializeToString())
        (place,) = (await asyncio.wait_for(self._upload_places.get(), timeout)).file_urls
        await asyncio.to_thread(self._send_file, place.upload_url, name, data)
        state = FileUploaderState()
        state.uploaded_file_info.add(
            file_id=place.file_id, name=name, size=len(data), file_urls=place
        )
        return await self._rerun(
            {self.widgets[label]: ("file_uploader_state_value", state)}, timeout
        )

    def _send_file(self, address: str, name: str, data: bytes) -> None:
        boundary = uuid.uuid4().hex
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        )
        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Cookie": self._cookie,
            "X-Xsrftoken": self._token,
        }
        body = f"{head}\r\n".encode() + data + f"\r\n--{boundary}--\r\n".encode()
        whole = address if address.startswith("http") else f"{self.url}{address}"
        request = urllib.request.Request(whole, data=body, headers=headers, method="PUT")
        urllib.request.urlopen(request, timeout=120).close()

    async def send(self, message: BackMsg | bytes | str, *, text: bool | None = None) -> None:
        """Send anything as a message of the page; bytes as ``text`` may be no text."""
        if isinstance(message, BackMsg):
            message = message.SerializeToString()
        await self._socket.send(message, text=text)

    def request_for(self, label: str) -> BackMsg:
        """The message that asks for the file that the button called ``label`` makes."""
        message = BackMsg()
        request = message.backend_operation_request
        request.request_id, request.session_id = uuid.uuid4().hex, self._session
        request.deferred_file.file_id = self.files[label]
        return message

    async def made_file(self, timeout: float = 60.0) -> str:
        """The address of the next file that was asked for; empty where it was not made."""
        return str((await self._next(self._made_files, timeout)).deferred_file.url)

    async def heartbeat(self, timeout: float = 60.0) -> float:
        """Ask whether the connection stands, as a browser does; seconds until the answer."""
        started = time.perf_counter()
        await self.send(BackMsg(app_heartbeat=True))
        await self._next(self._heartbeats, timeout)
        return time.perf_counter() - started

    async def _next(self, answers: asyncio.Queue[Any], timeout: float) -> Any:
        """The next of ``answers``; raises ``ConnectionError`` where there will be none."""
        coming = asyncio.ensure_future(answers.get())
        try:
            async with asyncio.timeout(timeout):
                await asyncio.wait({coming, self._listener}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                raise ConnectionError("the connection was closed")
            return coming.result()
        finally:
            coming.cancel()

    async def press(self, label: str, timeout: float = 60.0) -> float:
        """Press a button."""
        return await self._rerun({self.widgets[label]: ("trigger_value", True)}, timeout)

    async def press_in_fragment(self, label: str) -> None:
        """Press a button of a part of the page that redraws itself, and wait for nothing."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self._query, self._page_hash
        state.fragment_id = self.fragments[label]
        state.widget_states.widgets.add(id=self.widgets[label], trigger_value=True)
        await self.send(message)

    async def _rerun(
        self, states: dict[str, tuple[str, Any]], timeout: float, fragment: str = ""
    ) -> float:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self._query
        state.page_script_hash = self._page_hash
        if not self._page_hash:
            state.page_name = self._page
        state.fragment_id = fragment
        state.is_auto_rerun = bool(fragment)
        state.context_info.timezone = "UTC"
        state.context_info.url = f"{self.url}/{self._page}"
        for name, (kind, value) in states.items():
            widget = state.widget_states.widgets.add(id=name)
            if kind == "file_uploader_state_value":
                widget.file_uploader_state_value.CopyFrom(value)
            elif kind.endswith("_array_value"):
                getattr(widget, kind).data.extend(value)
            else:
                setattr(widget, kind, value)
        self._finished.clear()
        before = self.runs
        started = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while self.runs == before:
            await asyncio.wait_for(self._finished.wait(), timeout)
        return time.perf_counter() - started

    async def _listen(self) -> None:
        with suppress(ConnectionClosed):
            await self._note_messages()

    async def _note_messages(self) -> None:
        async for raw in self._socket:
            message = ForwardMsg()
            message.ParseFromString(raw)
            kind = message.WhichOneof("type")
            if kind == "script_finished":
                self._drawing = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
                # a run that was cut off by the next one has not answered, and one of a part of the
                # page answers nobody
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    for fragment in (
                        self._timers.keys() - self._live
                    ):  # parts of the page that are no longer there
                        self._timers.pop(fragment).cancel()
                    self.runs += 1
                    self._finished.set()
            elif kind == "new_session":
                self._live, self._drawing = set(), True
                self._session = message.new_session.initialize.session_id or self._session
            elif kind == "file_urls_response":
                self._upload_places.put_nowait(message.file_urls_response)
            elif kind == "backend_operation_response":
                self._made_files.put_nowait(message.backend_operation_response)
            elif kind == "heartbeat_ack":
                self._heartbeats.put_nowait(True)
            elif kind == "navigation":
                self._page_hash = (
                    message.navigation.page_script_hash
                )  # which page that is; the session itself begins with the app's entrance
            elif kind == "page_info_changed":
                self._query = message.page_info_changed.query_string
            elif kind == "auto_rerun":
                fragment, interval = message.auto_rerun.fragment_id, message.auto_rerun.interval
                self._live.add(fragment)
                if fragment in self._timers:
                    self._timers[fragment].cancel()
                self._timers[fragment] = asyncio.create_task(self._refresh(fragment, interval))
            elif kind == "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    if fragment in self._timers:
                        self._timers.pop(fragment).cancel()
            elif kind == "delta":
                self._note(message.delta)

    def _note(self, delta: Any) -> None:
        if delta.WhichOneof("type") != "new_element":
            return
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(
                f"{self._page}?{self._query}: {element.exception.type}: "
                f"{element.exception.message[:200]}"
            )
        elif kind == "html" and (token := re.search(r'data-token="([^"]+)"', element.html.body)):
            self._visit = token[1]
        elif kind == "alert":
            self.alerts.append(element.alert.body)
        elif kind == "heading" and element.heading.tag == "h1":
            self.title = element.heading.body
        elif kind == "markdown":
            self.texts.append(element.markdown.body.replace("\N{NO-BREAK SPACE}", " "))
        elif kind == "progress":
            self.texts.append(element.progress.text)
        elif kind == "download_button":
            self.files[element.download_button.label] = element.download_button.deferred_file_id
        elif kind in ("slider", "button", "file_uploader"):
            widget = getattr(element, kind)
            self.widgets[widget.label] = widget.id
            self.fragments[widget.label] = delta.fragment_id
            if kind == "slider" and widget.options:
                self.options[widget.label] = list(widget.options)

    async def _refresh(self, fragment: str, interval: float) -> None:
        """What a browser does for a part of the page that refreshes itself."""
        while True:
            await asyncio.sleep(interval)
            with suppress(Exception):
                message = BackMsg()
                message.rerun_script.query_string = self._query
                message.rerun_script.page_script_hash = self._page_hash
                message.rerun_script.fragment_id = fragment
                message.rerun_script.is_auto_rerun = True
                await self._socket.send(message.SerializeToString())
