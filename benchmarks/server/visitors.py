"""Many visitors at once.

``python -m benchmarks.server.visitors [--visitors 50] [--minutes 5] [--drop 200]``.

Real WebSocket sessions that open pages and move sliders with pauses of 4 to 12 seconds between,
while two more keep a live run going all the time; then sessions that are opened and dropped in the
middle of a run. Reports how long redraws take, whether any session failed, memory of the server and
of its workers, and whether a job outlives its visitor.
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil

from benchmarks.server.visitor import PAGES, App, Visitor, running_app

# page, query, slider, values
SLIDERS = (
    ("mechanisms", "", "Huber's α", [x / 100 for x in range(30, 400, 7)]),
    ("", "", "ε: more private ← → more accurate", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
    ("completion", "", "Total ε", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ("factorization", "", "Total ε", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
)
LIVE = (
    "completion",
    "dataset=skewed&n_users=1500&n_items=1000&n_ratings=150000&rank=32&iterations=500&run=1",
)


async def browse(
    app: App,
    until: float,
    rng: random.Random,
    loads: list[float],
    moves: dict[str, list[tuple[float, float]]],
) -> list[str]:
    """One visitor until the end; ``moves`` are noted with their time."""
    await asyncio.sleep(rng.uniform(0, 10))
    async with Visitor(app.url) as visitor:
        while time.monotonic() < until:
            if rng.random() < 0.3:
                loads.append(await visitor.open(rng.choice(PAGES)))
                await asyncio.sleep(rng.uniform(4, 12))
                continue
            page, query, slider, values = rng.choice(SLIDERS)
            loads.append(await visitor.open(page, query))
            for _ in range(rng.randint(3, 8)):
                await asyncio.sleep(rng.uniform(4, 12))
                if time.monotonic() >= until or slider not in visitor.widgets:
                    break
                taken = await visitor.move(slider, rng.choice(values))
                moves[page or "home"].append((time.monotonic(), taken))
        return visitor.errors


async def keep_running(app: App, until: float) -> list[str]:
    """A visitor whose page runs something all the while."""
    errors: list[str] = []
    while time.monotonic() < until:
        async with Visitor(app.url) as visitor:
            await visitor.open(*LIVE)
            while time.monotonic() < until and visitor.may_draw:
                await asyncio.sleep(1)
            errors += visitor.errors
    return errors


async def drop(app: App, count: int) -> list[str]:
    """Sessions that are opened and left at once, every tenth in the middle of a run."""
    errors: list[str] = []

    async def one(k: int) -> None:
        async with Visitor(app.url) as visitor:
            await visitor.open(*(LIVE if k % 10 == 0 else (PAGES[k % len(PAGES)], "")), timeout=300)
            errors.extend(visitor.errors)

    for start in range(0, count, 10):
        await asyncio.gather(*(one(k) for k in range(start, min(start + 10, count))))
    return errors


async def measured(
    app: App, work: Callable[[], Awaitable[list[list[str]]]]
) -> tuple[list[list[str]], list[tuple[float, float]]]:
    """``work`` with the memory of the server and of its workers, in MB, every five seconds."""
    seen: list[tuple[float, float]] = []

    async def watch() -> None:
        while True:
            seen.append(memory(app))
            await asyncio.sleep(5)

    watching = asyncio.create_task(watch())
    try:
        return await work(), seen
    finally:
        watching.cancel()


def memory(app: App) -> tuple[float, float]:
    """Megabytes of the server itself, and of all its processes."""
    server = psutil.Process(app.process.pid)
    children = 0
    for child in server.children(recursive=True):
        try:
            children += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return server.memory_info().rss / 1e6, (server.memory_info().rss + children) / 1e6


def loop_seconds() -> float:
    """How fast one core is just now."""
    began, total = time.perf_counter(), 0
    for k in range(10_000_000):
        total += k
    return time.perf_counter() - began


def shown(times: list[float]) -> str:
    """Median, 95th percentile and worst, in seconds."""
    if len(times) < 2:
        return f"{len(times)} only"
    ordered = sorted(times)
    return (
        f"median {statistics.median(ordered):.2f} s, p95 "
        f"{ordered[int(0.95 * len(ordered))]:.2f} s, worst {ordered[-1]:.2f} s of {len(ordered)}"
    )


def jobs_in(log: Path) -> Counter[str]:
    """How the log says that jobs ended."""
    found: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            found[entry["event"] if entry["event"] != "job" else entry["state"]] += 1
    return found


async def visits(app: App, arguments: argparse.Namespace) -> None:
    """Both parts, one after the other."""
    async with Visitor(app.url) as first:  # what is worked out once for everybody
        for page in PAGES:
            await first.open(page, timeout=120)
    print(
        f"this machine: {loop_seconds():.2f} s for ten million additions in Python (alone)",
        flush=True,
    )
    start = memory(app)
    print(
        f"memory after one visitor has seen every page: server {start[0]:.0f} MB, with workers "
        f"{start[1]:.0f} MB",
        flush=True,
    )
    if arguments.minutes:
        started = time.monotonic()
        until = started + 60 * arguments.minutes
        loads: list[float] = []
        moves: dict[str, list[tuple[float, float]]] = {page or "home": [] for page, *_ in SLIDERS}

        async def all_of_them() -> list[list[str]]:
            browsing = [
                browse(app, until, random.Random(k), loads, moves)
                for k in range(arguments.visitors)
            ]
            return await asyncio.gather(
                *browsing, *(keep_running(app, until) for _ in range(arguments.live))
            )

        errors, seen = await measured(app, all_of_them)
        print(
            f"{arguments.visitors} visitors and {arguments.live} live runs for "
            f"{arguments.minutes:g} minutes: {sum(map(bool, errors))} sessions failed"
        )
        for line in [e for several in errors for e in several][:10]:
            print(f"  {line}")
        for page, times in moves.items():
            print(f"  slider on {page}: {shown([taken for _, taken in times])}")
        every = [move for times in moves.values() for move in times]
        print(f"  all sliders: {shown([taken for _, taken in every])}")
        print(
            "  all sliders after the first half minute, in which all arrive: "
            f"{shown([taken for when, taken in every if when > started + 30])}"
        )
        print(f"  pages opened: {shown(loads)}")
        third = max(len(seen) // 3, 1)
        for k, who in enumerate(("server", "with workers")):
            values = [s[k] for s in seen]
            print(
                f"  memory, {who}: most {max(values):.0f} MB; mean of the first third "
                f"{statistics.mean(values[:third]):.0f}, of the last "
                f"{statistics.mean(values[-third:]):.0f} MB"
            )
    if arguments.drop:
        before, (dropped, _) = (
            memory(app),
            await measured(app, lambda: _gathered(drop(app, arguments.drop))),
        )
        await asyncio.sleep(20)
        async with Visitor(app.url) as last:
            await last.open("completion", "iterations=3&run=1")
            await asyncio.sleep(5)
        jobs = jobs_in(app.log)
        print(
            f"{arguments.drop} sessions opened and dropped: {len(dropped[0])} errors; jobs by "
            f"how they ended: {dict(jobs)}"
        )
        await asyncio.sleep(arguments.settle)
        async with Visitor(app.url) as last:
            await last.open("mechanisms")
        after = memory(app)
        print(
            f"  memory before {before[0]:.0f} MB, {arguments.settle:g} s after {after[0]:.0f} "
            f"MB (server); {before[1]:.0f} and {after[1]:.0f} MB with workers"
        )


async def _gathered(one: Awaitable[list[str]]) -> list[list[str]]:
    return [await one]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--live", type=int, default=2, help="runs that go on all the while")
    parser.add_argument("--drop", type=int, default=200)
    parser.add_argument(
        "--settle", type=float, default=150, help="seconds until Streamlit itself forgets a session"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "runs.sqlite")
        with running_app(Path(folder), DPMC_STORE=place, DPMC_GRACE_SECONDS="5") as app:
            asyncio.run(visits(app, arguments))
            log = app.log.read_text(errors="replace")
            found = log.split("Traceback")[1:]
            print(f"tracebacks in the log: {len(found)}")
            for text in found[:3]:
                print("Traceback" + text[:3000])


if __name__ == "__main__":
    main()
