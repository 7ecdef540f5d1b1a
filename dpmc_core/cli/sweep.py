"""The command ``sweep``: many runs from a file, and the store they are kept in."""

import argparse
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpmc_core.cli.common.options import SCHEDULER, add_number, add_words, refuse, say
from dpmc_core.cli.common.user_data import add_data, kinds_for, load_user_data
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.store.records import PassingRuns, Runs
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import Made, finished, sweep
from dpmc_core.experiments.sweeps.tradeoff import points_of
from dpmc_core.paths import LOCAL, read_text
from dpmc_core.wording import JsonObject, three

_EVERY = 2.0  # seconds between lines of progress
_LARGEST = 1_000_000  # bytes of a sweep's file


def add(parser: argparse.ArgumentParser) -> None:
    """Options of ``sweep``."""
    parser.add_argument("file", help="a TOML file: [base] settings, [grid] lists of values, seeds")
    add_number(parser, "jobs", "sweep_jobs", 2, "runs at once on this machine")
    add_words(parser, SCHEDULER)
    add_data(parser, "ratings", "images", "documents")
    add_store(parser)


def add_store(parser: Any) -> None:
    """Where runs are kept."""
    text = f"a file or a database's URL (DPMC_STORE, else {LOCAL}/runs.sqlite)"
    add_words(parser, ("--store", "PLACE", text))


def run(arguments: argparse.Namespace) -> JsonObject:
    """Make the runs of a sweep; stopped by Ctrl-C, the same command goes on.

    Runs on own data are held in memory only.
    """
    with _named(arguments.file):
        text = read_text(Path(arguments.file), _LARGEST)
    # which files fit, before the sweep is read: it may name the set that these become
    listed = re.findall(r"\balgorithm\W*=\s*(\[[^\]]*\]|.*)", text)
    with load_user_data(arguments, *kinds_for(re.findall(r"[\w-]+", " ".join(listed)))) as own:
        with _named(arguments.file):
            spec = SweepSpec.from_toml(text)
        if own is None:
            with RunStore(arguments.store) as store:
                return _run_sweep(spec, store, store.place, arguments)
        refuse(arguments, ("store", "scheduler"), "left out with --data")
        spec = replace(spec, base=tuple({**dict(spec.base), "dataset": own}.items()))
        return _run_sweep(spec, PassingRuns(), "memory, until this ends", arguments)


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Say of which ``file`` a mistake in it is."""
    try:
        yield
    except DataError as error:
        allowed = f"a TOML file that can be read: {error}"
        raise ParameterError("sweep file", file, allowed.rstrip(".")) from None
    except ParameterError as error:
        if error.name != "sweep file":
            raise
        raise ParameterError("sweep file", file, error.allowed) from None


def _run_sweep(
    spec: SweepSpec, store: Runs, place: str, arguments: argparse.Namespace
) -> JsonObject:
    last, printed_at = None, -_EVERY
    sets = () if spec.own is None else (spec.own,)
    try:
        for last in sweep(
            spec, store, jobs=arguments.jobs, scheduler=arguments.scheduler, sets=sets
        ):
            if last.seconds - printed_at >= _EVERY or last.done == last.total:
                printed_at = last.seconds
                say(_progress(last))
    except KeyboardInterrupt:
        if last is None:
            raise
        goes_on = "" if sets else "; the same command goes on from here"
        say(f"stopped{goes_on}")
        arguments.stopped = True
    points = points_of(finished(spec, store))
    assert last is not None  # a sweep yields before its first run
    rows = [point.as_dict() for point in points]
    if not arguments.json:
        print(f"{last.done} of {last.total} runs of {spec.name!r} are in {place}")
        for measure in sorted({row["measure"] for row in rows}):
            print(f"means of: {measure}")
        for row in rows:
            half = "" if row["half_width_95"] is None else f" ± {three(row['half_width_95'])}"
            shown = ", ".join(f"{k} = {v}" for k, v in row["settings"].items()) or "the only cell"
            mean = (
                "no run finished"
                if row["mean"] is None
                else f"{row['mean']:.4f}{half} ({row['runs']} runs)"
            )
            spent = (
                "no noise"
                if not row["unit"]
                else (
                    f"ε = {three(math.inf if row['epsilon'] is None else row['epsilon'])}, "
                    f"{'nominal' if row['nominal'] else 'sound'}, one {row['unit']}, δ = "
                    f"{row['delta']:g}"
                )
            )
            published = row["epsilon_by_published_results"]
            if published not in (None, row["epsilon"]):
                spent += f" (by published results alone {three(published)})"
            print(f"  {shown}: {mean}; {spent}")
    return {
        "sweep": spec.as_dict(),
        "done": last.done,
        "total": last.total,
        "already_there": last.before,
        "failures": last.failures,
        "seconds": round(last.seconds, 3),
        "store": place,
        "points": rows,
    }


def _progress(state: Made) -> str:
    left = state.remaining
    return f"{state.done}/{state.total} runs" + (
        "" if left is None else f", about {left:.0f} s left"
    )
