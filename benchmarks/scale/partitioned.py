"""Ratings larger than memory against ratings in memory: time per rating, memory, and what travels.

``python -m benchmarks.scale.partitioned FOLDER [--ratings 100000000] [--reference 10000000]``

Makes skewed sets in FOLDER (100 million ratings of 1 million users and 50,000 items: 0.7 GB, and
3 GB more while it runs), then measures ALS sweeps at r = 32, one-shot moments and private means in
memory on the smaller set, and in partitions with one worker and with two, each of one thread, in
turns; figures are medians over the turns. Run it in a container or control group of 4 GiB to see
that it fits.
"""

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from dpmc_core.completion.als import ALSConfig, als, learn_als
from dpmc_core.completion.common.population import Population, Whole
from dpmc_core.completion.moments import MomentsConfig, learn_one_shot_moments
from dpmc_core.completion.offsets import PrivateMeansConfig, learn_private_means
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.partitioned.engine import Here, Processes, engine_at
from dpmc_core.partitioned.generate import Skewed, write_skewed
from dpmc_core.partitioned.partition import Layout
from dpmc_core.partitioned.population import Partitions, found_in
from dpmc_core.partitioned.source import open_folder, read_rows
from dpmc_core.privacy.budget import Budget, Journal

RANK, SWEEPS, TURNS, PER_FILE = 32, 4, 3, 5_000_000
BUDGET = Budget(epsilon=100.0)  # so much that both sets' second moments are of 2,000 items


def quiet(what: str, done: int, of: int) -> None:
    """No progress."""


def made(folder: Path, ratings: int) -> Path:
    """A skewed set of that many ratings: a hundred of each user, 50,000 items."""
    place = folder / f"skewed-{ratings}"
    if not place.exists():
        asked = Skewed(
            users=ratings // 100, items=50_000, ratings=ratings, files=max(ratings // PER_FILE, 1)
        )
        with engine_at(None, 2) as engine:
            write_skewed(asked, place, engine, lambda done, of: None)
    return place


def sweeps_of(steps: Iterator[Any]) -> list[float]:
    """Seconds of each step."""
    out = []
    for _ in range(SWEEPS):
        began = time.perf_counter()
        next(steps)
        out.append(time.perf_counter() - began)
    return out


def released(people: Population) -> dict[str, float]:
    """Seconds until everything of one-shot moments and of private means was released."""
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    for _ in learn_one_shot_moments(people, MomentsConfig(rank=16, budget=BUDGET), rng, Journal()):
        pass
    moments = time.perf_counter() - began
    began = time.perf_counter()
    list(learn_private_means(people, PrivateMeansConfig(budget=BUDGET), rng, Journal()))
    return {"moments": moments, "private means": time.perf_counter() - began}


def in_memory(folder: Path) -> dict[str, float]:
    """The same on ratings in memory, on one thread, in seconds per million ratings."""
    source = open_folder(folder)
    layout = found_in(source, Here(), quiet, test_fraction=1e-9, seed=0)
    known, parts = layout.catalogue, [read_rows(source, k) for k in range(len(source.files))]
    firsts = np.cumsum([0, *known.sizes])
    users = [firsts[k] + rows.user_of for k, rows in enumerate(parts)]
    items = [np.searchsorted(known.items, rows.items)[rows.item_of] for rows in parts]
    ratings = Ratings(
        np.concatenate(users).astype(np.int32),
        np.concatenate(items).astype(np.int32),
        np.concatenate([rows.values for rows in parts]),
        known.n_users,
        known.n_items,
        known.low,
        known.high,
    )
    del users, items, parts
    config = ALSConfig(rank=RANK, iterations=SWEEPS)
    seconds = sweeps_of(als(ratings, config, np.random.default_rng(0), 1))
    found = {"first sweep": seconds[0], "sweep": statistics.median(seconds[1:])}
    found |= released(Whole(ratings, 1))
    return {name: 1e6 * value / len(ratings) for name, value in found.items()}


class Turns:
    """One worker and two in turns, on the same copies: all that each measured, in seconds."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.seconds: dict[int, dict[str, list[float]]] = {1: {}, 2: {}}
        self.most: dict[int, dict[str, int]] = {1: {}, 2: {}}
        self.ratings = 0
        self._folder, self._megabytes = folder, megabytes
        self._copies = folder.parent / "copies"
        self._layout: Layout | None = None

    def turn(self, workers: int, *, again: bool) -> None:
        """Measure with so many workers; ``again`` without copies."""
        if again:
            shutil.rmtree(self._copies, ignore_errors=True)
        with engine_at(None, workers, self._megabytes) as engine:
            assert isinstance(engine, Processes)
            if again or self._layout is None:
                began = time.perf_counter()
                source = open_folder(self._folder)
                self._layout = found_in(
                    source, engine, quiet, test_fraction=1e-9, seed=0, folder=str(self._copies)
                )
                self.ratings = self._layout.catalogue.n_ratings
                self._note(workers, "look", time.perf_counter() - began)
            people = Partitions(self._layout, engine, quiet)
            people.doing = "measuring"
            config = ALSConfig(rank=RANK, iterations=SWEEPS)
            steps = learn_als(people, config, np.random.default_rng(0), Journal())
            first, *later = sweeps_of(steps)
            sent = sum(worker.held for worker in engine.workers.each) / 1e6
            if again:
                self._note(workers, "first sweep", first)
            self._note(workers, "sweep", *later)
            swept = peak()
            for name, seconds in released(people).items():
                self._note(workers, name, seconds)
            told = {
                "peak MB of a worker, sweeps": swept,
                "peak MB of a worker, all": peak(),
                "MB that workers send a sweep": round(sent),
            }
            most = self.most[workers]
            self.most[workers] = {name: max(v, most.get(name, 0)) for name, v in told.items()}

    def _note(self, workers: int, name: str, *seconds: float) -> None:
        self.seconds[workers].setdefault(name, []).extend(seconds)

    def medians(self, workers: int) -> dict[str, float]:
        """Seconds, by what was measured."""
        return {name: statistics.median(all_) for name, all_ in self.seconds[workers].items()}

    def close(self) -> None:
        """Leave no copies."""
        shutil.rmtree(self._copies, ignore_errors=True)


def peak() -> int:
    """Megabytes that any process which computes for this one held at most."""
    most = 0
    for process in psutil.Process().children():
        # of that process alone: what ``getrusage`` tells counts the process that started it too
        status = Path(f"/proc/{process.pid}/status").read_text()
        most = max(most, int(status.partition("VmHWM:")[2].split()[0]) * 1024 // 1_000_000)
    return most


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ratings", type=int, default=100_000_000)
    parser.add_argument("--reference", type=int, default=10_000_000)
    parser.add_argument("--memory-mb", type=int, default=1300, help="of each worker")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    small, large = (made(asked.folder, n) for n in (asked.reference, asked.ratings))
    memory = in_memory(small)
    turns = Turns(large, asked.memory_mb)
    for k in range(TURNS):
        for workers in (1, 2):
            turns.turn(workers, again=k == 0)
            print(json.dumps(turns.seconds), file=sys.stderr, flush=True)
    turns.close()
    one, two = turns.medians(1), turns.medians(2)
    each = {name: 1e6 * seconds / turns.ratings for name, seconds in one.items()}
    found = {
        "seconds": turns.seconds,
        "medians": {1: one, 2: two},
        "at most": turns.most,
        "one worker, µs a rating": each,
        "in memory, µs a rating": memory,
        "in partitions over in memory": {name: each[name] / memory[name] for name in memory},
        "two workers against one": {name: one[name] / two[name] for name in one},
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
