"""The command ``datasets``: list the datasets, or fetch one."""

import argparse
import sys
from typing import Any

from dpmc_core.datasets import catalogue, entry
from dpmc_core.datasets.data import forget
from dpmc_core.errors import ParameterError

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("action", nargs="?", choices=["list", "fetch"], default="list")
    parser.add_argument("name", nargs="?", help="the dataset to fetch")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """List or fetch."""
    if arguments.action == "fetch":
        if arguments.name is None:
            raise ParameterError("dataset", "(none)", "one of " + ", ".join(catalogue()))
        known = entry(arguments.name)
        if known.present():
            if not arguments.json:
                folder = known.path()
                print(f"{known.title} is in {folder} already; without that folder it is fetched.")
            return {"dataset": known.name, "folder": str(known.path())}
        from dpmc_core.datasets import download  # its packages are an extra

        print(f"{known.title}. Terms: {known.terms} Cite: {known.citation}", file=sys.stderr)
        shown = -1

        def progress(done: int, total: int) -> None:
            nonlocal shown
            percent = int(100 * done / total) if total else 0
            if percent // 10 > shown:
                shown = percent // 10
                print(f"{percent} % of {total / 1e6:.1f} MB", file=sys.stderr)

        folder = download.fetch(arguments.name, progress)
        forget()
        if not arguments.json:
            print(f"{known.title} is in {folder}")
        return {"dataset": known.name, "folder": str(folder)}
    listing = [
        {
            "name": known.name,
            "title": known.title,
            "kind": known.kind,
            "present": known.present(),
            "how": "to fetch" if known.url else "an extra" if known.package else "to bring",
            "terms": known.terms,
        }
        for known in catalogue().values()
    ]
    if not arguments.json:
        for row in listing:
            print(f"{row['name']:<14} {'here' if row['present'] else row['how']:<9} {row['title']}")
    return {"datasets": listing}
