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
LOST_CONNECTION = (OSError, EOFError, asyncio.TimeoutError, websockets.ConnectionClosed)


@dataclass
class Observations:
    """What visitors saw."""

    moves: list[tuple[float, float]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    reconnections: int = 0
    runs: set[int] = field(default_factory=set)


async def reconnect(visitor: Visitor, observed: Observations) -> None:
    """Connect again until it works, for two minutes."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(*LOST_CONNECTION):
            await visitor.reconnect()
            observed.reconnections += 1
            return
        await asyncio.sleep(0.5)
    observed.failed.append("no connection for two minutes")


async def browse(url: str, until: float, rng: random.Random, observed: Observations) -> None:
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
                    seconds = await visitor.move(slider, rng.choice(values), timeout=120)
                    observed.moves.append((time.monotonic(), seconds))
            except LOST_CONNECTION as error:
                if not visitor.lost:
                    observed.failed.append(f"{page}: {type(error).__name__}")
                await reconnect(visitor, observed)
        observed.failed += visitor.errors


async def compute(
    url: str, until: float, seeds: Iterator[int], store: str, observed: Observations
) -> None:
    """Visitors one after the other, each of whom stays until the run of a link is in the store."""
    while time.monotonic() < until:
        seed = next(seeds)
        observed.runs.add(seed)
        async with Visitor(url) as visitor:
            with suppress(*LOST_CONNECTION):
                await visitor.open("completion", f"{RUN}&seed={seed}", timeout=120)
            end = time.monotonic() + 180
            while not await asyncio.to_thread(_kept, store, seed):
                if visitor.lost:
                    await reconnect(visitor, observed)
                if time.monotonic() > end:
                    observed.failed.append(f"run {seed} took more than three minutes")
                    break
                await asyncio.sleep(0.5)
            observed.failed += visitor.errors


def _kept(store: str, seed: int) -> bool:
    with RunStore(store) as runs:
        return seed in {row["seed"] for row in runs.rows(limit=None)} if runs.count() else False


def processor_seconds(processes: list[psutil.Process]) -> float:
    """Seconds of a processor that they used so far."""
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


@contextmanager
def proxy(folder: Path, apps: tuple[int, int]) -> Iterator[str]:
    """The address of the proxy before two replicas."""
    port = free_port()
    variables = {"LAB_BIND": f"127.0.0.1:{port}"}
    variables |= {f"APP_{n}": f"127.0.0.1:{p}" for n, p in zip("AB", apps, strict=True)}
    command = [str(shutil.which("haproxy")), "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")]
    with (folder / "proxy.log").open("ab") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def replicas(options: argparse.Namespace, folder: Path) -> None:
    """Two replicas and two workers, one of each killed."""
    ports = (free_port(), free_port())
    with ExitStack() as stack:
        store = str(folder / "runs.sqlite")
        if installed():
            store = stack.enter_context(postgres())
        address, workers = stack.enter_context(cluster(folder, 2))
        contexts = [stack.enter_context(ExitStack()) for _ in ports]

        def start(k: int) -> App:
            place = folder / "ab"[k]
            place.mkdir(exist_ok=True)
            app = running_app(
                place, port=ports[k], DPMC_STORE=store, DPMC_SCHEDULER=address, DPMC_VISITS="1000"
            )
            return contexts[k].enter_context(app)

        apps = [start(0), start(1)]
        url = stack.enter_context(proxy(folder, ports))
        await asyncio.sleep(5)
        async with Visitor(apps[0].url) as first, Visitor(apps[1].url) as second:
            for page in PAGES:
                await first.open(page, timeout=120)
                await second.open(page, timeout=120)
        observed, started = Observations(), time.monotonic()
        until = started + 60 * options.minutes
        servers = [psutil.Process(app.process.pid) for app in apps]
        before = processor_seconds(servers)
        seeds = iter(range(1, 10_000))
        visits = [
            *(browse(url, until, random.Random(k), observed) for k in range(options.visitors)),
            *(compute(url, until, seeds, store, observed) for _ in range(options.live)),
        ]
        all_visits = asyncio.gather(*visits)
        await asyncio.sleep(20 * options.minutes)
        workers[0].kill()
        print("a worker was killed", flush=True)
        await asyncio.sleep(10 * options.minutes)
        spent = processor_seconds(servers) - before
        minutes = options.visitors * (time.monotonic() - started) / 60
        apps[0].process.kill()
        print("a replica was killed", flush=True)
        await asyncio.sleep(5)
        await asyncio.to_thread(contexts[0].close)
        apps[0] = await asyncio.to_thread(start, 0)
        await all_visits
        await asyncio.sleep(5)
        missing = [seed for seed in observed.runs if not _kept(store, seed)]
        redraws = [seconds for when, seconds in observed.moves if when > started + 30]
        print(f"runs in {store.partition(':')[0] if '://' in store else 'a file'}; ", end="")
        print(f"{options.visitors} visitors, {options.live} whose runs follow one another:")
        print(f"  {len(observed.failed)} failed: {observed.failed[:5]}")
        print(f"  {observed.reconnections} connected again")
        print(f"  {len(observed.runs)} runs were begun, {len(missing)} are missing in the store")
        print(f"  sliders after the first half minute: {shown(redraws)}")
        print(f"  {spent / minutes:.3f} s of a processor for a visitor's minute (before a kill)")


async def alone(options: argparse.Namespace, folder: Path) -> None:
    """The same visitors of one server, half as many."""
    place = folder / "alone"
    place.mkdir()
    with running_app(place, DPMC_STORE=str(place / "runs.sqlite"), DPMC_VISITS="1000") as app:
        async with Visitor(app.url) as first:
            for page in PAGES:
                await first.open(page, timeout=120)
        observed, started = Observations(), time.monotonic()
        until = started + 60 * options.minutes / 2
        server = [psutil.Process(app.process.pid)]
        before, count = processor_seconds(server), options.visitors // 2
        await asyncio.gather(
            *(browse(app.url, until, random.Random(k), observed) for k in range(count))
        )
        minutes = count * (time.monotonic() - started) / 60
        redraws = [seconds for when, seconds in observed.moves if when > started + 30]
        print(f"one server, {count} visitors: {len(observed.failed)} failed, {shown(redraws)}")
        spent = processor_seconds(server) - before
        print(f"  {spent / minutes:.3f} s of a processor for a visitor's minute")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=200)
    parser.add_argument("--live", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=4.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dpmc-replicas-") as folder:
        asyncio.run(replicas(options, Path(folder)))
        asyncio.run(alone(options, Path(folder)))


if __name__ == "__main__":
    main()
