"""The command ``large``: complete a matrix larger than memory, from partitioned Parquet."""

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpmc_core.cli.common.options import add_spec, last_of, parsed, spec_of
from dpmc_core.datasets import user_datasets
from dpmc_core.errors import ParameterError
from dpmc_core.limit import Limit

__all__ = ["add", "run"]

TASKS = ("rate",)
_EVERY = 2.0  # seconds between lines of progress
_MEMORY = Limit("memory_mb", 500, 1_000_000, "megabytes of each process", integer=True)
_NUMBER = Limit("end of the scale", -1e6, 1e6, "an end of the rating scale")


def add(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """The options: where ratings and results are, who works, and those of the algorithm."""
    add_spec(parser, TASKS, argv)
    folder = parser.add_argument_group("ratings in partitions (docs/cluster.md)")
    folder.add_argument(
        "--folder", metavar="FOLDER", help="of Parquet files, each with all ratings of some users"
    )
    for name in ("user", "item", "rating"):
        text = f"the column of {name}s, where the guess is wrong"
        folder.add_argument(f"--{name}-column", metavar="NAME", default="", help=text)
    for name, text in (("low", "lowest"), ("high", "highest")):
        folder.add_argument(
            f"--{name}", metavar="X", help=f"the {text} rating of the scale (that of the data)"
        )
    folder.add_argument(
        "--out", metavar="FOLDER", help="of the run: a new one, or one that goes on"
    )
    work = parser.add_argument_group("workers")
    work.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask cluster's scheduler, as tcp://host:8786"
    )
    work.add_argument("--workers", metavar="N", default="1", help="processes on this machine (1)")
    work.add_argument("--memory-mb", metavar="N", help="memory of each of them (no limit)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run it, print what came out, and return the summary; stopped by Ctrl-C, the same command
    goes on.
    """
    from dpmc_core.partitioned.local import WORKERS, engine_at
    from dpmc_core.partitioned.population import found_in
    from dpmc_core.partitioned.run import FolderSet, partitioned_steps
    from dpmc_core.partitioned.source import open_folder

    for name in ("folder", "out"):
        if getattr(arguments, name) is None:
            raise ParameterError(f"--{name}", None, "a folder")
    for name in ("dataset", "spec"):
        if getattr(arguments, name, None) is not None:
            raise ParameterError(name, getattr(arguments, name), "left out with --folder")
    columns = (arguments.user_column, arguments.item_column, arguments.rating_column)
    source = open_folder(arguments.folder, *columns)
    low, high = (None if x is None else _NUMBER.parse(x) for x in (arguments.low, arguments.high))
    place = Path(arguments.out)
    memory = 0 if arguments.memory_mb is None else int(_MEMORY.parse(arguments.memory_mb))
    fraction = 0.2
    if arguments.test_fraction is not None:
        fraction = parsed("test_fraction", "test_fraction", arguments.test_fraction)
    seed = int(parsed("seed", "seed", arguments.split_seed or arguments.seed or "0"))
    progress = _Progress()
    with engine_at(arguments.scheduler, int(WORKERS.parse(arguments.workers)), memory) as engine:
        layout = found_in(
            source,
            engine,
            progress,
            test_fraction=fraction,
            seed=seed,
            low=low,
            high=high,
            folder="" if arguments.scheduler else str(place.resolve() / "copies"),
        )
        with user_datasets.using(FolderSet(layout)):
            spec = spec_of(arguments, TASKS, FolderSet.name)
            steps = partitioned_steps(spec, layout, engine, place, progress)
            result = last_of(steps, arguments, lambda found: f"iteration {found.step.iteration}")
    if result.finished:
        shutil.rmtree(place / "copies", ignore_errors=True)
    if not arguments.json:
        _print(result, place)
    return {**result.summary(), "folder": str(place)}


class _Progress:
    """A line on standard error now and then."""

    def __init__(self) -> None:
        self._began = self._said = time.monotonic()
        self._doing = ""

    def __call__(self, doing: str, done: int, of: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._began, self._said = doing, now, now
        if now - self._said >= _EVERY:
            self._said = now
            print(f"{doing}: {done} of {of} partitions, {now - self._began:.0f} s", file=sys.stderr)


def _print(result: Any, place: Path) -> None:
    known = result.layout.catalogue
    print(
        f"{known.n_users:,} users, {known.n_items:,} items, {known.n_ratings:,} ratings in "
        f"{len(known.source.files)} files"
    )
    for name in known.empty:
        print(f"  {name} holds no rating and was passed over")
    errors = result.errors
    if errors is not None:
        print(
            f"test RMSE {errors.test_rmse:.4f} ± {errors.test_half_width:.4f} (95 %, over "
            f"{errors.held_out:,} held-out ratings)"
        )
        print(f"clipped to the rating scale {errors.test_rmse_clipped:.4f}")
        for name, value in errors.baselines.items():
            print(f"  {name:<12} {value:.4f}")
        sure = abs(errors.apart) > errors.apart_half_width
        verdict = (
            ("this run is better" if errors.apart < 0 else "this run is worse")
            if sure
            else ("not significantly different")
        )
        print(
            f"against {errors.against}, on the same ratings: {errors.apart:+.4f} ± "
            f"{errors.apart_half_width:.2g} (95 %): {verdict}"
        )
    statement = result.statement
    print(statement.label)
    if statement.private:
        print(f"unit: one {statement.unit}, neighbours: {statement.neighbours}; {statement.how}")
    for caveat in statement.caveats:
        print(f"  - {caveat}")
    if result.finished:
        print(f"items' and users' factors, and the ledger, are in {place}")
