"""The command ``runs``: list, export, delete or add runs of the store."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from dpmc_core.cli.common.options import options_of, say
from dpmc_core.cli.sweep import add_store
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.store.store import FILTERS, RunStore
from dpmc_core.experiments.sweeps.sweep import read_unkept
from dpmc_core.wording import JsonObject, csv_text, printable, three

if TYPE_CHECKING:
    import pandas as pd

_LISTED = 20


def add(parser: argparse.ArgumentParser) -> None:
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
    add_store(parser)


def run(arguments: argparse.Namespace) -> JsonObject:
    """List, export, delete or add runs."""
    where = {name: [value] for name, value in options_of(arguments, FILTERS).items()}
    if arguments.action in ("export", "add") and arguments.file is None:
        raise ParameterError(
            "file",
            "(none)",
            "the file to write" if arguments.action == "export" else "the file to read",
        )
    with RunStore(arguments.store, new=arguments.action == "add") as store:
        if arguments.action == "add":
            new = read_unkept(Path(arguments.file), store)
            say(f"{new} runs were added to {store.place}")
            return {"added": new, "store": store.place}
        if arguments.action == "delete":
            if not where:
                flags = ", --".join(FILTERS)
                allowed = f"at least one of --{flags}, so that nothing is deleted by accident"
                raise ParameterError("filter", "(none)", allowed)
            values = store.values()
            for name, (value,) in where.items():
                if value not in values[name]:
                    held = (
                        ", ".join(v or '""' for v in values[name]) or "left out: the store is empty"
                    )
                    raise ParameterError(f"--{name}", value, f"one that kept runs have: {held}")
            gone = store.delete(row["key"] for row in store.rows(where))
            say(f"{gone} runs were deleted from {store.place}")
            return {"deleted": gone, "store": store.place}
        if arguments.action == "export":
            import pandas as pd  # an extra that the other actions do without

            frame = pd.DataFrame(store.rows(where))
            write_frame(frame, arguments.file)
            say(f"{len(frame)} runs are in {arguments.file}")
            return {"exported": len(frame), "file": arguments.file}
        total, rows = store.count(where), store.rows(where, limit=_LISTED)
        if not arguments.json:
            for row in rows:
                value = math.nan if row["value"] is None else row["value"]
                outcome = row["error"] or f"{three(value)} {row['measure']}"
                line = (
                    f"{row['created'][:19]}  {row['dataset']:<10} {row['algorithm']:<14} "
                    f"{row['mechanism']:<9} {outcome}"
                )
                print(printable(line))
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
            Path(file).write_text(csv_text(frame), encoding="utf-8")
        else:
            raise ParameterError("file", file, "a name that ends in .csv or .parquet")
    except OSError as error:
        raise ParameterError(
            "file", file, f"a place that can be written ({error.strerror or error})"
        ) from None
