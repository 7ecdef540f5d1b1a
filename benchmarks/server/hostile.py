"""What hostile and careless visitors cost others, and what is left of them.

``python -m benchmarks.server.hostile [--minutes 5] [--sets 30] [--results 50]``.

First ten sessions that do their worst, over and over (archives that take as long as a file may, one
small enough to be taken for a small file,
tables of 20 MB, the largest runs that are allowed, links to larger ones), while newcomers bring a
small file and move a slider. Then own sets of 20 MB and large results, whose visitors leave; the
server's memory is looked at until five minutes later, while nobody comes. With ``--minutes 0`` the
limits on own data and results are raised, so that all of them find room.
"""

import argparse
import asyncio
import io
import os
import random
import statistics
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image
from websockets.exceptions import ConnectionClosed

from benchmarks.server.visitor import PAGES, App, Visitor, running_app
from benchmarks.server.visitors import loop_seconds, memory, shown

FIELD = "Your file (at most 25 MB)"
# the largest factors that a visit may hold, and links to more
TWO = "run=1&n=2&dataset=low-rank"
LARGEST = f"{TWO}&n_users=200000&n_items=5000&observed=0.001&rank=100&iterations=3"
TOO_LARGE = f"{TWO}&n_users=200000&n_items=200000&observed=0.0001&rank=256&iterations=1"
KEPT = f"{TWO}&n_users=20000&n_items=20000&observed=0.001&rank=128&iterations=1"


def archive(most: int = 19_000_000) -> bytes:
    """Pictures of 16 million pixels each, as many as fit into ``most`` bytes."""
    picture, out = io.BytesIO(), io.BytesIO()
    Image.new("L", (4000, 3999), 9).save(picture, "PNG")
    with zipfile.ZipFile(out, "w") as packed:
        for k in range(min(most // len(picture.getvalue()), 1200)):
            packed.writestr(f"{k}.png", picture.getvalue())
    return out.getvalue()


def table(megabytes: float, seed: int = 0) -> bytes:
    """Ratings as CSV."""
    rows = int(megabytes * 1e6 / 13.5)
    rng = np.random.default_rng(seed)
    users, items = rng.integers(1, 50_000, rows), rng.integers(1, 20_000, rows)
    lines = (f"{u},{i},{r}" for u, i, r in zip(users, items, rng.integers(1, 6, rows), strict=True))
    return "\n".join(["user,item,rating", *lines]).encode()


async def over_and_over(until: float, work: Callable[[], Awaitable[object]]) -> None:
    """``work`` until then, whatever becomes of it."""
    while time.monotonic() < until:
        with suppress(TimeoutError, urllib.error.HTTPError, OSError, ConnectionClosed):
            await work()
        await asyncio.sleep(0.5)


async def hostile(app: App, until: float, k: int, files: dict[str, bytes]) -> None:
    """One of ten who do their worst."""

    async def bring(kind: str, name: str) -> None:
        async with Visitor(app.url) as visitor:
            await visitor.open("datasets", f"d_view=own&d_holds={kind}")
            await visitor.upload(FIELD, name, files[name], timeout=200)

    async def compute(query: str) -> None:
        async with Visitor(app.url) as visitor:
            await visitor.open("completion", query)
            while time.monotonic() < until and visitor.may_draw:
                await asyncio.sleep(1)

    if k < 4:
        name = "heavy.zip" if k < 2 else "small.zip"
        await over_and_over(until, lambda: bring("images", name))
    elif k < 6:
        await over_and_over(until, lambda: bring("ratings", "large.csv"))
    elif k < 9:
        await over_and_over(until, lambda: compute(f"{LARGEST}&seed={random.randrange(10**6)}"))
    else:
        await over_and_over(until, lambda: compute(TOO_LARGE))


async def newcomers(app: App, until: float, small: bytes, reads: list[float]) -> list[str]:
    """One after the other with a small file; what went wrong."""
    errors: list[str] = []
    while time.monotonic() < until:
        async with Visitor(app.url) as visitor:
            await visitor.open("datasets", "d_view=own&d_holds=ratings")
            await asyncio.sleep(4)  # looking for the file
            reads.append(await visitor.upload(FIELD, "small.csv", small))
            if not any("can be chosen on every page" in text for text in visitor.texts):
                errors.append(f"not read: {visitor.errors or visitor.alerts}")
            errors += visitor.errors
        await asyncio.sleep(3)
    return errors


async def readers(app: App, until: float, moves: list[float]) -> list[str]:
    """Somebody who moves a slider."""
    async with Visitor(app.url) as visitor:
        await visitor.open("mechanisms")
        while time.monotonic() < until:
            await asyncio.sleep(2)
            moves.append(await visitor.move("Huber's α", random.randrange(40, 300) / 100))
        return visitor.errors


def uploads_held(app: App) -> str:
    """What Streamlit's own figures say of files that were uploaded."""
    with urllib.request.urlopen(f"{app.url}/_stcore/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return "; ".join(line for line in lines if "ploadedFile" in line and not line.startswith("#"))


async def worst(app: App, minutes: float) -> None:
    """Ten hostile sessions, and others."""
    until = time.monotonic() + 60 * minutes
    files = {"heavy.zip": archive(), "small.zip": archive(900_000), "large.csv": table(20)}
    reads: list[float] = []
    moves: list[float] = []
    most = [0.0, 0.0]

    async def watch() -> None:
        while time.monotonic() < until:
            most[:] = map(max, zip(most, memory(app), strict=True))
            await asyncio.sleep(0.5)

    doing = [watch(), *(hostile(app, until, k, files) for k in range(10))]
    others = [newcomers(app, until, table(0.01), reads), readers(app, until, moves)]
    tasks = [asyncio.create_task(one) for one in doing]
    errors = [error for several in await asyncio.gather(*others) for error in several]
    await asyncio.gather(*tasks)
    print(f"ten hostile sessions for {minutes:g} minutes: {len(errors)} errors of others")
    print(f"  a newcomer's small file, from arrival to drawn page: {shown(reads)}")
    print(f"  a slider on Mechanisms: {shown(moves)}")
    print(f"  most memory: server {most[0]:.0f} MB, with workers {most[1]:.0f} MB", flush=True)


async def left_behind(app: App, sets: int, results: int, settle: float) -> None:
    """Own sets and results of visitors who then leave."""
    before = memory(app)[0]
    staying: list[Visitor] = []
    for k in range(sets):
        visitor = await Visitor(app.url).__aenter__()
        staying.append(visitor)
        await visitor.open("datasets", "d_view=own&d_holds=ratings")
        await visitor.upload(FIELD, "large.csv", table(20, k), timeout=200)
    with_sets = memory(app)[0]
    for k in range(results):
        visitor = await Visitor(app.url).__aenter__()
        staying.append(visitor)
        await visitor.open("completion", f"{KEPT}&seed={k}", timeout=200)
        while visitor.may_draw:
            await asyncio.sleep(0.2)
    full = memory(app)[0]
    print(
        f"memory of the server before {before:.0f} MB; with {sets} own sets of 20 MB "
        f"{with_sets:.0f}; with {results} large results besides {full:.0f} MB",
        flush=True,
    )
    for visitor in staying:
        await visitor.__aexit__()
    left = time.monotonic()
    while (since := time.monotonic() - left) < settle:
        await asyncio.sleep(30)
        print(
            f"  {since + 30:.0f} s after the last has left: {memory(app)[0]:.0f} MB; "
            f"{uploads_held(app)}",
            flush=True,
        )


async def story(app: App, arguments: argparse.Namespace) -> None:
    """All of it."""
    async with Visitor(app.url) as first:  # what is worked out once for everybody
        for page in PAGES:
            await first.open(page, timeout=120)
    print(
        f"this machine: {statistics.median(loop_seconds() for _ in range(3)):.2f} s for ten "
        "million additions in Python (alone)",
        flush=True,
    )
    if arguments.minutes:
        await worst(app, arguments.minutes)
    if arguments.sets or arguments.results:
        await left_behind(app, arguments.sets, arguments.results, arguments.settle)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--results", type=int, default=50)
    parser.add_argument("--settle", type=float, default=300)
    arguments = parser.parse_args()
    if not arguments.minutes:  # more than the usual limits let in
        os.environ |= {"DPMC_OWN_MB": "4000", "DPMC_RESULTS_MB": "4000"}
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "runs.sqlite")
        with running_app(Path(folder), DPMC_STORE=store, DPMC_METRICS="1") as app:
            asyncio.run(story(app, arguments))
            found = app.log.read_text(errors="replace").split("Traceback")[1:]
            print(f"tracebacks in the log: {len(found)}")
            for text in found[:3]:
                print("Traceback" + text[:3000])


if __name__ == "__main__":
    main()
