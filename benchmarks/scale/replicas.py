"""Many visitors on two replicas, a Dask cluster and a proxy, while some of them are killed.

``python -m benchmarks.scale.replicas [--visitors 200] [--minutes 4]``

Real WebSocket sessions that open pages and move sliders with pauses of 4 to 12 seconds between, on
two replicas behind ``deploy/haproxy.cfg``, and a few whose runs follow one another. After a third
of the time one worker is killed, after a half one replica, which is started again; those who were
there connect again, as a browser does. Runs are kept in PostgreSQL where it is installed. Reports
what failed, which runs are missing in the store, how long redraws take, and the processor's time of
a visitor's minute against one server without proxy and cluster. Needs haproxy.
"""

import argparse
import asyncio
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import websockets

from benchmarks.server.visitor import PAGES, ROOT, App, Visitor, free_port, running_app
from benchmarks.server.visitors import SLIDERS, shown
from dpmc_core.experiments.store.store import RunStore
from tests.clusters import cluster
from tests.postgres import installed, postgres

RUN = "dataset=skewed&n_users=800&n_items=500&n_ratings=60000&rank=16&iterations=60&n=1&run=1"
LOST = (OSError, EOFError, asyncio.TimeoutError, websockets.ConnectionClosed)


@dataclass
class Seen:
    """What visitors saw."""

    moves: list[tuple[float, float]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    again: int = 0
    runs: set[int] = field(default_factory=set)


async def back(visitor: Visitor, seen: Seen) -> None:
    """Connect again until it works, for two minutes."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(*LOST):
            await visitor.reconnect()
            seen.again += 1
            return
        await asyncio.sleep(0.5)
    seen.failed.append("no connection for two minutes")


async def browse(url: str, until: float, rng: random.Random, seen: Seen) -> None:
    """One visitor until the end."""
    await asyncio.sleep(rng.uniform(0, 20))
    async with Visitor(url) as visitor:
        while time.monotonic() < until:
            page, query, slider, values = rng.choice(SLIDERS)
            if rng.random() < 0.3:
                page, query = rng.choice(PAGES), ""
            try:
                await visitor.open(page, query, timeout=120)
                for _ in range(rng.randint(3, 8)):
                    await asyncio.sleep(rng.uniform(4, 12))
                    if time.monotonic() >= until or slider not in visitor.widgets:
                        break
                    taken = await visitor.move(slider, rng.choice(values), timeout=120)
                    seen.moves.append((time.monotonic(), taken))
            except LOST as error:
                if not visitor.lost:
                    seen.failed.append(f"{page}: {type(error).__name__}")
                await back(visitor, seen)
        seen.failed += visitor.errors


async def compute(url: str, until: float, seeds: Iterator[int], store: str, seen: Seen) -> None:
    """Visitors one after the other, each of whom stays until the run of a link is in the store."""
    while time.monotonic() < until:
        seed = next(seeds)
        seen.runs.add(seed)
        async with Visitor(url) as visitor:
            with suppress(*LOST):
                await visitor.open("completion", f"{RUN}&seed={seed}", timeout=120)
            end = time.monotonic() + 180
            while not await asyncio.to_thread(_kept, store, seed):
                if visitor.lost:
                    await back(visitor, seen)
                if time.monotonic() > end:
                    seen.failed.append(f"run {seed} took more than three minutes")
                    break
                await asyncio.sleep(0.5)
            seen.failed += visitor.errors


def _kept(store: str, seed: int) -> bool:
    with RunStore(store) as runs:
        return seed in {row["seed"] for row in runs.rows(limit=None)} if runs.count() else False


def busy(processes: list[psutil.Process]) -> float:
    """Seconds of a processor that they used so far."""
    total = 0.0
    for one in processes:
        with suppress(psutil.Error):
            times = one.cpu_times()
            total += times.user + times.system
    return total


@contextmanager
def proxy(folder: Path, apps: tuple[int, int]) -> Iterator[str]:
    """The address of the proxy before two replicas."""
    port = free_port()
    places = {"LAB_BIND": f"127.0.0.1:{port}"}
    places |= {f"APP_{n}": f"127.0.0.1:{p}" for n, p in zip("AB", apps, strict=True)}
    command = [str(shutil.which("haproxy")), "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")]
    with (folder / "proxy.log").open("ab") as log:
        process = subprocess.Popen(command, env=places, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def replicas(asked: argparse.Namespace, folder: Path) -> None:
    """Two replicas and two workers, one of each killed."""
    ports = (free_port(), free_port())
    with ExitStack() as stack:
        store = str(folder / "runs.sqlite")
        if installed():
            store = stack.enter_context(postgres())
        address, hands = stack.enter_context(cluster(folder, 2))
        entered = [stack.enter_context(ExitStack()) for _ in ports]

        def start(k: int) -> App:
            place = folder / "ab"[k]
            place.mkdir(exist_ok=True)
            app = running_app(
                place, port=ports[k], DPMC_STORE=store, DPMC_SCHEDULER=address, DPMC_VISITS="1000"
            )
            return entered[k].enter_context(app)

        apps = [start(0), start(1)]
        url = stack.enter_context(proxy(folder, ports))
        await asyncio.sleep(5)
        async with Visitor(apps[0].url) as first, Visitor(apps[1].url) as second:
            for page in PAGES:
                await first.open(page, timeout=120)
                await second.open(page, timeout=120)
        seen, began = Seen(), time.monotonic()
        until = began + 60 * asked.minutes
        servers = [psutil.Process(app.process.pid) for app in apps]
        before, spent = busy(servers), 0.0
        seeds = iter(range(1, 10_000))
        going = [
            *(browse(url, until, random.Random(k), seen) for k in range(asked.visitors)),
            *(compute(url, until, seeds, store, seen) for _ in range(asked.live)),
        ]
        everybody = asyncio.gather(*going)
        await asyncio.sleep(20 * asked.minutes)
        hands[0].kill()
        print("a worker was killed", flush=True)
        await asyncio.sleep(10 * asked.minutes)
        spent = busy(servers) - before
        minutes = asked.visitors * (time.monotonic() - began) / 60
        apps[0].process.kill()
        print("a replica was killed", flush=True)
        await asyncio.sleep(5)
        await asyncio.to_thread(entered[0].close)
        apps[0] = await asyncio.to_thread(start, 0)
        await everybody
        await asyncio.sleep(5)
        missing = [seed for seed in seen.runs if not _kept(store, seed)]
        late = [taken for when, taken in seen.moves if when > began + 30]
        print(f"runs in {store.partition(':')[0] if '://' in store else 'a file'}; ", end="")
        print(f"{asked.visitors} visitors, {asked.live} whose runs follow one another:")
        print(f"  {len(seen.failed)} failed, {seen.again} connected again: {seen.failed[:5]}")
        print(f"  {len(seen.runs)} runs were begun, {len(missing)} are missing in the store")
        print(f"  sliders after the first half minute: {shown(late)}")
        print(f"  {spent / minutes:.3f} s of a processor for a visitor's minute (before a kill)")


async def alone(asked: argparse.Namespace, folder: Path) -> None:
    """The same visitors of one server, half as many."""
    place = folder / "alone"
    place.mkdir()
    with running_app(place, DPMC_STORE=str(place / "runs.sqlite"), DPMC_VISITS="1000") as app:
        async with Visitor(app.url) as first:
            for page in PAGES:
                await first.open(page, timeout=120)
        seen, began = Seen(), time.monotonic()
        until = began + 60 * asked.minutes / 2
        server = [psutil.Process(app.process.pid)]
        before, count = busy(server), asked.visitors // 2
        await asyncio.gather(
            *(browse(app.url, until, random.Random(k), seen) for k in range(count))
        )
        minutes = count * (time.monotonic() - began) / 60
        late = [taken for when, taken in seen.moves if when > began + 30]
        print(f"one server, {count} visitors: {len(seen.failed)} failed, {shown(late)}")
        print(f"  {(busy(server) - before) / minutes:.3f} s of a processor for a visitor's minute")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=200)
    parser.add_argument("--live", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=4.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dpmc-replicas-") as folder:
        asyncio.run(replicas(asked, Path(folder)))
        asyncio.run(alone(asked, Path(folder)))


if __name__ == "__main__":
    main()
