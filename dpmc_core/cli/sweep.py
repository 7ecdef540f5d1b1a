"""The commands ``sweep`` and ``runs``: many runs from a file, and the store they are kept in.

Lives here: parsing and printing for these two. Does not live here: making runs (``experiments.sweep``) or keeping them (``experiments.store``).
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from dpmc_core import limits
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.store.store import FILTERS, RunStore, default_place
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import Made, finished, read_unkept, sweep
from dpmc_core.experiments.sweeps.tradeoff import points_of
from dpmc_core.wording import three

__all__ = ["add_runs", "add_sweep", "runs_command", "sweep_command"]

_EVERY = 2.0  # seconds between lines of progress
_LISTED = 20


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Options of ``sweep``."""
    parser.add_argument("file", help="a TOML file: [base] settings, [grid] lists of values, seeds")
    parser.add_argument("--jobs", default="2", metavar="N", help="runs at once on this machine (2)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask cluster's scheduler, as tcp://host:8786"
    )
    _store(parser)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Options of ``runs``."""
    parser.add_argument(
        "action", nargs="?", choices=["list", "export", "delete", "add"], default="list"
    )
    parser.add_argument(
        "file",
        nargs="?",
        help="export: a .csv or .parquet file to write; add: a file of runs that could not be kept",
    )
    for name in FILTERS:
        parser.add_argument(f"--{name}", metavar="VALUE", help=f"only runs with this {name}")
    _store(parser)


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        metavar="PLACE",
        help="a file or a database's URL (DPMC_STORE, else data/runs.sqlite)",
    )


def sweep_command(arguments: argparse.Namespace) -> dict[str, Any]:
    """Make the runs of a sweep; stopped by Ctrl-C, the same command goes on."""
    try:
        text = Path(arguments.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(
            "sweep file", arguments.file, f"a TOML file that can be read ({error})"
        ) from None
    spec = SweepSpec.from_toml(text)
    jobs = int(limits.parse("sweep_jobs", arguments.jobs))
    last, said = None, -_EVERY
    with RunStore(arguments.store) as store:
        try:
            for last in sweep(spec, store, jobs=jobs, scheduler=arguments.scheduler):
                if last.seconds - said >= _EVERY or last.done == last.total:
                    said = last.seconds
                    print(_progress(last), file=sys.stderr)
        except KeyboardInterrupt:
            if last is None:
                raise
            print("stopped; the same command goes on from here", file=sys.stderr)
        points = points_of(finished(spec, store))
        place = store.place
    assert last is not None  # a sweep yields before its first run
    rows = [point.as_dict() for point in points]
    if not arguments.json:
        print(f"{last.done} of {last.total} runs of {spec.name!r} are in {place}")
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
                else f"ε = {three(math.inf if row['epsilon'] is None else row['epsilon'])}, {'nominal' if row['nominal'] else 'sound'}, one {row['unit']}, δ = {row['delta']:g}"
            )
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


def _progress(made: Made) -> str:
    left = made.remaining
    return f"{made.done}/{made.total} runs" + ("" if left is None else f", about {left:.0f} s left")


def runs_command(arguments: argparse.Namespace) -> dict[str, Any]:
    """List, export, delete or add runs."""
    where = {
        name: [getattr(arguments, name)] for name in FILTERS if getattr(arguments, name) is not None
    }
    if arguments.action in ("export", "add") and arguments.file is None:
        raise ParameterError(
            "file",
            "(none)",
            "the file to write" if arguments.action == "export" else "the file to read",
        )
    if (
        arguments.store is None
        and arguments.action != "add"
        and "://" not in default_place()
        and not Path(default_place()).exists()
    ):
        raise DPMCError(
            f"There is no run store at {default_place()} yet: a sweep makes one, or name another by DPMC_STORE or --store."
        )
    with RunStore(arguments.store) as store:
        if arguments.action == "add":
            new = read_unkept(Path(arguments.file), store)
            print(f"{new} runs were added to {store.place}", file=sys.stderr)
            return {"added": new, "store": store.place}
        if arguments.action == "delete":
            if not where:
                raise ParameterError(
                    "filter",
                    "(none)",
                    "at least one of --"
                    + ", --".join(FILTERS)
                    + ", so that nothing is deleted by accident",
                )
            known = store.values()
            for name, (value,) in where.items():
                if value not in known[name]:
                    held = (
                        ", ".join(v or '""' for v in known[name]) or "left out: the store is empty"
                    )
                    raise ParameterError(f"--{name}", value, f"one that kept runs have: {held}")
            gone = store.delete(row["key"] for row in store.rows(where))
            print(f"{gone} runs were deleted from {store.place}", file=sys.stderr)
            return {"deleted": gone, "store": store.place}
        if arguments.action == "export":
            frame = pd.DataFrame(store.rows(where))
            write_frame(frame, arguments.file)
            print(f"{len(frame)} runs are in {arguments.file}", file=sys.stderr)
            return {"exported": len(frame), "file": arguments.file}
        total, rows = store.count(where), store.rows(where, limit=_LISTED)
        if not arguments.json:
            for row in rows:
                found = row["error"] or f"{three(row['value'])} {row['measure']}"
                print(
                    f"{row['created'][:19]}  {row['dataset']:<10} {row['algorithm']:<14} {row['mechanism']:<9} {found}"
                )
            print(
                f"{total:,} runs in {store.place}"
                + (f", the latest {len(rows)} above" if total > len(rows) else "")
            )
        return {"runs": total, "store": store.place, "latest": rows}


def write_frame(frame: pd.DataFrame, file: str) -> None:
    """``frame`` as .csv or .parquet, by the file's name. Raises ``ParameterError``."""
    try:
        if file.endswith(".parquet"):
            frame.to_parquet(file, index=False)
        elif file.endswith(".csv"):
            frame.to_csv(file, index=False)
        else:
            raise ParameterError("file", file, "a name that ends in .csv or .parquet")
    except OSError as error:
        raise ParameterError(
            "file", file, f"a place that can be written ({error.strerror})"
        ) from None
