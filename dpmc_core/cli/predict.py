"""The command ``predict``: recommend to new users from what a completion released."""

import argparse
from pathlib import Path

from dpmc_core.cli.common.options import add_number, add_words, say
from dpmc_core.cli.common.user_data import add_read, read_options
from dpmc_core.experiments.release import read_release, write_files
from dpmc_core.limits import Limit
from dpmc_core.wording import JsonObject, csv_text

_TOP = Limit(1, 1000, "items for each user", integer=True, name="top")


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("folder", metavar="FOLDER", help="written by complete --out")
    parser.add_argument("ratings", metavar="FILE", help="of new users, with items named as there")
    add_number(parser, "top", _TOP, 10)
    add_read(parser)
    add_words(parser, ("--out", "FILE", "a CSV file (standard output)"))


def run(arguments: argparse.Namespace) -> JsonObject:
    """Write a row for each user and item, and return how many there are."""
    import pandas as pd  # an extra that other commands do without

    released = read_release(Path(arguments.folder))
    _, path, data, choices = read_options(arguments.ratings, arguments.read, ("ratings",))
    ratings, notes = released.read(path.name, data, **choices)
    for note in notes:
        say(f"note: {note}")
    rows = [
        (ratings.user_labels[user], released.items[item], round(value, 4))
        for user, items, values in released.recommend(ratings, arguments.top)
        for item, value in zip(items.tolist(), values.tolist(), strict=True)
    ]
    text = csv_text(pd.DataFrame(rows, columns=["user", "item", "prediction"]))
    if arguments.out is None:
        print(text, end="")
    else:
        place = Path(arguments.out)
        write_files(place.parent, {place.name: text.encode()})
        if not arguments.json:
            print(f"{len(rows):,} predictions are in {place}")
    unknown = int((ratings.per_user == 0).sum())
    return {"users": ratings.n_users, "users_without_known_items": unknown, "rows": len(rows)}
