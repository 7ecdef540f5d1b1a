"""What a visitor's messages cost the others, and what is left of the others' work.

``python -m benchmarks.server.messages [--only NAME]``.

One visitor runs a job and asks ten times a second whether the connection stands; another one sends
each attack over the same kind of socket that every page has. Prints how long the longest answer to
the first visitor took, the memory of the server, how the job ended and what the log says.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed

from benchmarks.server.visitor import App, Visitor, running_app
from benchmarks.server.visitors import jobs_in, memory

JOB = "n=1&iterations=500&rank=16&run=1"
STATES = {"done", "cancelled", "failed"}
HANDOUT = "Handout (HTML)"
Made = list[BackMsg | bytes | str]


def _addresses(count: int) -> BackMsg:
    message = BackMsg()
    message.file_urls_request.request_id = "1"
    message.file_urls_request.file_names.extend(["a"] * count)
    return message


def _states(count: int, name: str = "$$ID-{}-None") -> BackMsg:
    message = BackMsg()
    for k in range(count):
        message.rerun_script.widget_states.widgets.add(id=name.format(k))
    return message


def _values(count: int) -> BackMsg:
    message = _states(1)
    message.rerun_script.widget_states.widgets[0].string_array_value.data.extend([""] * count)
    return message


def _files(count: int) -> BackMsg:
    message = _states(1)
    state = message.rerun_script.widget_states.widgets[0].file_uploader_state_value
    for _ in range(count):
        state.uploaded_file_info.add()
    return message


def _hashes(count: int) -> BackMsg:
    message = BackMsg()
    message.rerun_script.cached_message_hashes.extend(f"{k:x}" for k in range(count))
    return message


def _query(count: int) -> BackMsg:
    message = BackMsg()
    message.rerun_script.query_string = "&".join(f"k{k}=1" for k in range(count))
    return message


def _fragment(length: int) -> BackMsg:
    message = BackMsg()
    message.rerun_script.fragment_id = "x\n" * (length // 2)
    return message


def _operation(kind: str) -> Callable[[Visitor], Made]:
    def made(visitor: Visitor) -> Made:
        message = BackMsg()
        message.backend_operation_request.session_id = visitor._session
        getattr(message.backend_operation_request, kind).SetInParent()
        return [message]

    return made


def _says(*messages: BackMsg | bytes | str) -> Callable[[Visitor], Made]:
    return lambda _: list(messages)


ATTACKS: dict[str, Callable[[Visitor], Made]] = {
    "clear_cache": _says(BackMsg(clear_cache=True)),
    "clear_cache behind another kind": _says(
        BackMsg(app_heartbeat=True).SerializeToString()
        + BackMsg(clear_cache=True).SerializeToString()
    ),
    "set_run_on_save": _says(BackMsg(set_run_on_save=True)),
    "load_git_info": _says(BackMsg(load_git_info=True)),
    "debug_disconnect_websocket": _says(BackMsg(debug_disconnect_websocket=True)),
    "debug_shutdown_runtime": _says(BackMsg(debug_shutdown_runtime=True)),
    "install_skills": _operation("install_skills"),
    "dismiss_skills_nudge": _operation("dismiss_skills_nudge"),
    "dataframe_chunk": _operation("dataframe_chunk"),
    "no operation": _operation("deferred_file"),
    "800,000 addresses": _says(_addresses(800_000)),
    "1,000,000 addresses": _says(_addresses(1_000_000)),
    "500 times 10,000 addresses": _says(*[_addresses(10_000)] * 500),
    "5,000 times 10 addresses": _says(*[_addresses(10)] * 5_000),
    "300,000 widgets": _says(_states(300_000)),
    "1,000 reruns": _says(*[_states(1)] * 1_000),
    "200 reruns with 600 widgets": _says(*[_states(600)] * 200),
    "a widget by another name": _says(_states(1, "own-sets")),
    "3,000 widgets, 20 times": _says(*[_states(3_000)] * 20),
    "400,000 values": _says(_values(400_000)),
    "400,000 files of a widget": _says(_files(400_000)),
    "200,000 hashes": _says(_hashes(200_000)),
    "40,000 keys": _says(_query(40_000)),
    "a part of the page that is none": _says(*[_fragment(200_000)] * 20),
    "24 MB of zeros": _says(b"\0" * 24_000_000),
    "30 MB of zeros": _says(b"\0" * 30_000_000),
    "nothing": _says(b""),
    "text": _says("hello"),
    "text that is none": _says(b"\x0a\xff"),
    "garbage": _says(b"\xff" * 100, bytes(range(256))),
    "a kind that is none": _says(b"\xfa\x3f\x00"),
    "200 handouts": lambda visitor: [visitor.request_for(HANDOUT) for _ in range(200)],
}


async def attack(app: App, name: str, most: float = 60.0) -> bool:
    """Send one of ``ATTACKS`` from a visit of its own, for ``most`` seconds; whether its connection
    still stands.
    """
    async with Visitor(app.url) as visitor:
        await visitor.open("mechanisms")
        with suppress(ConnectionClosed, ConnectionError, TimeoutError):
            async with asyncio.timeout(most):
                await _send(visitor, name)
        return not visitor.lost


async def _send(visitor: Visitor, name: str) -> None:
    for message in ATTACKS[name](visitor):
        await visitor.send(message, text=True if "text" in name else None)
    if "handouts" in name:
        for _ in range(200):
            await visitor.made_file()
    await visitor.heartbeat()


@asynccontextmanager
async def asked_all_the_while(visitor: Visitor) -> AsyncIterator[list[float]]:
    """Seconds until ``visitor`` is answered, ten times a second."""
    seconds: list[float] = []

    async def ask() -> None:
        while True:
            began = time.perf_counter()
            try:
                await visitor.heartbeat(timeout=600)
            finally:  # what was not answered counts too
                seconds.append(time.perf_counter() - began)
            await asyncio.sleep(0.1)

    asking = asyncio.create_task(ask())
    try:
        yield seconds
        await asyncio.sleep(0.3)
    finally:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking


async def story(app: App, only: str) -> None:
    """All attacks, one after the other."""
    for name in ATTACKS:
        if only not in name:
            continue
        before = jobs_in(app.log)
        log = app.log.stat().st_size
        async with Visitor(app.url) as working:
            await working.open("completion", JOB)
            held, began = memory(app)[0], time.monotonic()
            async with asked_all_the_while(working) as seconds:
                await asyncio.sleep(0.3)
                stands = await attack(app, name)
            took, after = time.monotonic() - began, memory(app)[0]
            text = app.log.read_bytes()[log:].decode(errors="replace")
            end = time.monotonic() + 60
            while not (ended := set(jobs_in(app.log) - before) & STATES) and time.monotonic() < end:
                await asyncio.sleep(0.1)
        print(
            f"{name:32} worst answer {max(seconds):6.2f} s of {len(seconds):3}; {took:5.1f} s; "
            f"memory {held:5.0f} to {after:5.0f} MB; job {' '.join(ended)}; "
            f"{'stands' if stands else 'closed'}; tracebacks {text.count('Traceback')}",
            flush=True,
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "runs.sqlite")
        with running_app(Path(folder), DPMC_STORE=store) as app:
            asyncio.run(story(app, arguments.only))


if __name__ == "__main__":
    main()
