"""The command ``datasets``: list, fetch, make or rewrite datasets."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from dpmc_core.cli.common.main import Progress
from dpmc_core.cli.common.options import add_number, add_words, options_of, refuse, say
from dpmc_core.cli.common.user_data import READ, add_read, read_options
from dpmc_core.datasets import Entry, catalogue, entry, own
from dpmc_core.datasets.configs import config_of
from dpmc_core.datasets.data import forget
from dpmc_core.datasets.loaders import load
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.wording import JsonObject, printable


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    actions = ["list", "fetch", "make", "partition", "read"]
    parser.add_argument("action", nargs="?", choices=actions, default="list")
    text = "the dataset to fetch or to write as partitioned Parquet; read: your own file"
    parser.add_argument("name", nargs="?", help=text)
    add_read(parser, f"for read: {READ}")
    add_words(parser, ("--folder", "FOLDER", "for make and partition: a new folder"))
    for name, usual, text in (
        ("users", 100_000, "for make: how many users"),
        ("items", 5000, "for make: how many items"),
        ("ratings", 1_000_000, "for make: how many ratings"),
        ("files", 8, "partitions"),
        ("seed", 0, "for make: its seed"),
    ):
        add_number(parser, name, Limit(0, 1e9, text, integer=True, name=name), usual)
    add_words(parser, ("--workers", "N", "for make: processes (1)"))
    parser.set_defaults(workers="1")


def run(arguments: argparse.Namespace) -> JsonObject:
    """List, fetch, make or rewrite; or say how a file is read."""
    if arguments.action == "read":
        return _read(arguments)
    refuse(arguments, ("read",), "left out without datasets read")
    if arguments.action in ("make", "partition"):
        return _in_partitions(arguments)
    if arguments.action == "fetch":
        record = entry(arguments.name)
        already = " already; without that folder it is fetched." * record.present()
        if not already:
            _fetch(record)
        if not arguments.json:
            print(f"{record.title} is in {record.path()}{already}")
        return {"dataset": record.name, "folder": str(record.path())}
    listing = [
        {
            "name": record.name,
            "title": record.title,
            "kind": record.kind,
            "present": record.present(),
            "how": "to fetch" if record.url else "an extra" if record.package else "to bring",
            "terms": record.terms,
        }
        for record in catalogue().values()
    ]
    if not arguments.json:
        for row in listing:
            print(f"{row['name']:<14} {'here' if row['present'] else row['how']:<9} {row['title']}")
    return {"datasets": listing}


def _fetch(record: Entry) -> None:
    """Download a set, and tell every tenth of it."""
    from dpmc_core.datasets import download  # its packages are an extra

    say(f"{record.title}. Terms: {record.terms} Cite: {record.citation}")
    shown = -1

    def progress(done: int, total: int) -> None:
        nonlocal shown
        percent = int(100 * done / total) if total else 0
        if percent // 10 > shown:
            shown = percent // 10
            say(f"{percent} % of {total / 1e6:.1f} MB")

    download.fetch(record.name, progress)
    forget()


def _read(arguments: argparse.Namespace) -> JsonObject:
    """Say how a file is read, as the page does."""
    if arguments.name is None:
        raise ParameterError("file", None, "a file of ratings, documents or images")
    kind, path, data, choices = read_options(arguments.name, arguments.read, tuple(own.KINDS))
    choices.pop("visit", None)  # it tells noise apart, and changes nothing here
    summary = own.describe(kind, path.name, data, **choices)
    if not arguments.json:
        counts = {name: summary[name] for name in (kind, "users", "items") if name in summary}
        print(", ".join(f"{number:,} {what}" for what, number in counts.items()))
        if kind == "ratings":
            print(f"from {summary['low']:g} to {summary['high']:g}; layout {summary['layout']}")
            print(
                "; ".join(f"{role}: {printable(name)}" for role, name in summary["columns"].items())
            )
        for note in summary["notes"]:
            print(printable(f"note: {note}"))
        for question in summary["asked"]:
            print(printable(f"please check: {own.Question(**question)}"))
    return summary


def _in_partitions(arguments: argparse.Namespace) -> JsonObject:
    """Write a folder for the command ``large``."""
    from dpmc_core.experiments.worker.cluster import SweepError
    from dpmc_core.partitioned.engine import WORKERS, engine_at
    from dpmc_core.partitioned.generate import Skewed, write_ratings, write_samples, write_skewed

    if arguments.folder is None:
        raise ParameterError("--folder", None, "a new folder")
    folder = Path(arguments.folder)
    if arguments.action == "partition":
        if entry(arguments.name).holds == "ratings":
            ratings = load(arguments.name)
            write_ratings(ratings, folder, arguments.files)
            counts = {"ratings": len(ratings), "files": arguments.files}
        else:
            config: Any = config_of(arguments.name)
            samples = config(dataset=arguments.name).make()
            size = write_samples(samples, folder, arguments.files)
            counts = {"entries": size, "files": arguments.files}
            counts[f"{samples.unit}s"] = len(samples)
            if samples.shape is not None:
                size_of = "x".join(map(str, samples.shape))
                say(f"for large: --holds images --shape {size_of}")
    else:
        sizes = ("users", "items", "ratings", "files", "seed")
        request = Skewed(**options_of(arguments, sizes))
        with engine_at(None, int(WORKERS.parse(arguments.workers))) as engine:
            try:
                active = write_skewed(request, folder, engine, partial(Progress(), "writing"))
            except SweepError as error:
                why = "A process that wrote files ended, perhaps for want of memory"
                raise DataError(f"{why}: remove {folder}, and ask for more files.") from error
        counts = {"ratings": request.ratings, "files": request.files, "users_with_a_rating": active}
    if not arguments.json:
        what = next(iter(counts))
        print(f"{counts[what]:,} {what} in {counts['files']} files are in {folder}")
        if arguments.action == "make" and active < request.users:
            print(f"{active:,} of {request.users:,} users have a rating; the others are in no file")
    return {**counts, "folder": str(folder)}
