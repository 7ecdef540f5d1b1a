"""What can go wrong around the running app.

It stays up, says what happened, and loses no finished run. (Cut downloads:
``tests/datasets/test_download.py``.)
"""

import asyncio
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from benchmarks.server.visitor import App, Visitor, running_app
from dpmc_core.experiments.store.store import RunStore
from tests.apart import run_apart
from tests.clusters import WORKER, children

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: limits and signals"),
]
LONG = "dataset=skewed&n_users=2500&n_items=1500&n_ratings=300000&rank=64&iterations=500&n=1&run=1"
SHORT = "n=1&iterations=2&rank=2&seed={}&run=1"


async def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 180  # a busy machine is no failure
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.1)


def workers(app: App) -> list[psutil.Process]:
    """The processes that compute for the server, that for files not among them."""
    return children(WORKER, app.process.pid)


def busy(app: App) -> psutil.Process:
    """The worker that computes the first job of ``app``.

    The others have sent no results so far, however busy they are with starting.
    """
    return max(workers(app), key=lambda p: p.io_counters().write_chars)


def ends(app: App) -> list[str]:
    """How jobs ended, by the log."""
    lines = [
        json.loads(line)
        for line in app.log.read_text(errors="replace").splitlines()
        if line.startswith("{")
    ]
    return [line["state"] for line in lines if line["event"] == "job"]


def going(visitor: Visitor) -> bool:
    """Whether its page has shown an iteration of a run."""
    return shown(visitor, r"iteration [1-9]\d* of")


def shown(visitor: Visitor, words: str) -> bool:
    """Whether the page says anything like it."""
    return any(re.search(words, text) for text in (*visitor.alerts, *visitor.texts))


async def run_one(app: App, seed: int) -> Visitor:
    async with Visitor(app.url) as visitor:
        before = len(ends(app))
        await visitor.open("completion", SHORT.format(seed))
        await until(lambda: len(ends(app)) > before and not visitor.may_draw)
        assert visitor.errors == []
        return visitor


def test_a_jobs_process_is_killed_and_a_tab_is_closed(tmp_path: Path) -> None:
    async def tell() -> None:
        async with Visitor(app.url) as visitor:
            await visitor.open("completion", LONG)
            await until(lambda: going(visitor))
            os.kill(busy(app).pid, signal.SIGKILL)
            await until(lambda: shown(visitor, "The process that computed this ended"))
            assert visitor.errors == []
        await until(lambda: ends(app) == ["failed"])  # the page may say it before the log does
        await run_one(app, 1)  # the pool has all its places, and a new process
        assert ends(app) == ["failed", "done"]
        async with Visitor(app.url) as leaving:
            await leaving.open("completion", LONG)
            await until(lambda: going(leaving))
        await until(lambda: ends(app) == ["failed", "done", "cancelled"])
        await run_one(app, 2)

    with running_app(tmp_path, DPMC_STORE=str(tmp_path / "runs"), DPMC_GRACE_SECONDS="2") as app:
        run_apart(tell())
        log = app.log.read_text(errors="replace")
        assert "Traceback" not in log
        assert '"event": "left"' in log
        assert app.process.poll() is None


def test_a_full_disk_and_a_restart_lose_no_finished_run(tmp_path: Path) -> None:
    place = tmp_path / "runs.sqlite"
    most = 150_000  # bytes of a file, from here on in this process

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    def seeds() -> set[int]:
        with RunStore(place) as store:
            return {row["seed"] for row in store.rows({}, limit=100)}

    RunStore(place).close()

    async def fill() -> int:
        for seed in range(60):
            if shown(visitor := await run_one(app, seed), "not kept among past runs"):
                # the run is shown all the same: its own verdict, not the example's
                assert shown(visitor, "ALS has RMSE")
                return seed
        raise AssertionError("the disk was never full")

    async def look() -> None:
        await run_one(app, 1000)
        async with Visitor(app.url) as visitor:
            await visitor.open("runs")
            assert visitor.errors == []

    with running_app(tmp_path, before=small_disk, DPMC_STORE=str(place)) as app:
        stored = run_apart(fill())
        assert app.process.poll() is None
        computing = workers(app)
        assert computing
        app.process.kill()  # no time to tidy up
        app.process.wait()
        _, alive = psutil.wait_procs(computing, timeout=10)
        # nobody computes for nobody
        assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    assert stored >= 2
    assert seeds() >= {*range(stored)}
    with running_app(tmp_path, DPMC_STORE=str(place)) as app:
        run_apart(look())
    assert seeds() >= {*range(stored), 1000}
