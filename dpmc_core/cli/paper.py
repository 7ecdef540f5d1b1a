"""The command ``paper``: compute a table or figure of the papers and keep its results.

Parsing and printing.
"""

import argparse

from dpmc_core.cli.common.options import add_number, refuse, say
from dpmc_core.cli.sweep import add_store
from dpmc_core.datasets.catalogue import entry as dataset_entry
from dpmc_core.errors import ParameterError, check_choice
from dpmc_core.experiments.papers import ENTRIES, compute, rows_of
from dpmc_core.experiments.papers.compute import stored, verdict_of, write
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.paths import IN_CHECKOUT
from dpmc_core.wording import JsonObject, three


def add(parser: argparse.ArgumentParser) -> None:
    """Options of ``paper``."""
    parser.add_argument(
        "entry", nargs="?", help="a table or figure, as huber-table-3; left out: list them"
    )
    add_number(parser, "jobs", "sweep_jobs", 1, "runs at once")
    add_number(parser, "trials", "sweep_seeds", meaning="trials of each row (its own number)")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="let the results take the place of the stored ones, which the app shows",
    )
    add_store(parser)


def run(arguments: argparse.Namespace) -> JsonObject:
    """Compute one, or list all."""
    if arguments.entry is None:
        listing = [
            {"id": e.id, "title": e.title, "rows": len(rows_of(e.id)), "missing": e.missing}
            for e in ENTRIES
        ]
        if not arguments.json:
            for row in listing:
                print(f"{row['id']:<18} {row['rows'] or '':>3}  {row['title']}")
        return {"papers": listing}
    check_choice("paper", arguments.entry, (e.id for e in ENTRIES if e.computed))
    before = None
    if arguments.keep:
        if not IN_CHECKOUT:
            allowed = "left out: stored results are part of a checkout of the project"
            raise ParameterError("keep", True, allowed)
        refuse(arguments, ("trials",), "left out with --keep")
        before = stored(arguments.entry)
    if before is not None:
        held = {row.id for row in before.rows}
        needed = {row.needs for row in rows_of(arguments.entry) if row.needs and row.id in held}
        absent = [name for name in needed if not dataset_entry(name).present()]
        if absent:
            allowed = (
                f"left out: stored rows would be lost, whose data ({', '.join(sorted(absent))}) "
            )
            raise ParameterError("keep", True, allowed + "is not here")
    with RunStore(arguments.store) as store:
        result = compute(
            arguments.entry, store, jobs=arguments.jobs, trials=arguments.trials, tell=say
        )
    verdicts = {row.id: verdict_of(row, result) for row in rows_of(result.entry)}
    if arguments.keep:
        if before is not None and before.rows == result.rows and before.versions == result.versions:
            say("the same as stored: the file is left as it is")
        else:
            say(f"kept in {write(result)}")
    if not arguments.json:
        for name, verdict in verdicts.items():
            print(f"{name}: {three(result.row(name).mean)}, {verdict.kind}. {verdict.why}")
    return {
        "entry": result.entry,
        "seconds": result.seconds,
        "rows": {
            name: {"values": list(result.row(name).values), "verdict": v.kind, "why": v.why}
            for name, v in verdicts.items()
        },
    }
