"""The options ``--data`` and ``--read``: your own file instead of a set of the catalogue.

From a path and its options to an own set, for as long as one command takes.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from dpmc_core.cli.common.options import add_words, refuse, say
from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.sets import MOST_MEGABYTES
from dpmc_core.errors import ParameterError, check_choice
from dpmc_core.experiments.algorithms import of_task
from dpmc_core.paths import read_file

READ = (
    "how the file is read, where the guess is wrong; as often as needed (docs/your-own-data.md "
    "lists the names)"
)


def add_read(parser: argparse.ArgumentParser, text: str = READ) -> None:
    """The option ``--read``."""
    parser.add_argument("--read", metavar="NAME=VALUE", action="append", default=[], help=text)


def add_data(parser: argparse.ArgumentParser, *kinds: str) -> None:
    """The options, for files that hold one of ``kinds``."""
    endings = sorted({ending for kind in kinds for ending in own.KINDS[kind]})
    text = f"your own {' or '.join(kinds)}: {', '.join(endings)}, at most {MOST_MEGABYTES} MB"
    add_words(parser, ("--data", "FILE", text))
    add_read(parser)
    if "ratings" in kinds:
        text = (
            "beside --data: the public list of items, a table whose first column names them; "
            "others hold public numbers about them, for --item-features shrink"
        )
        add_words(parser, ("--items", "FILE", text))


@contextmanager
def load_user_data(arguments: argparse.Namespace, *kinds: str) -> Iterator[str | None]:
    """The name of the set in ``--data``, which can be used within the ``with`` block.

    None without one. Says on standard error how the file was read.
    """
    if arguments.data is None:
        refuse(arguments, ("items", "read"), "left out without --data")
        yield None
        return
    refuse(arguments, ("dataset",), "left out with --data, which brings a set of its own")
    kind, path, data, choices = read_options(arguments.data, arguments.read, kinds)
    visit = choices.pop("visit", "")
    if visit and not re.fullmatch("[0-9a-f]{16}", visit):
        raise ParameterError(
            "visit", visit, "16 digits and letters from a to f, as a page's command has them"
        )
    named = f"{user_datasets.OWN}{kind}-{visit}" if visit else ""
    mine = own.read(kind, path.name, data, name=named, **choices)
    if getattr(arguments, "items", None) is not None:
        path = Path(arguments.items)
        listed = read_file(path, MOST_MEGABYTES * 1_000_000)
        if listed == data:
            allowed = "another file than the ratings: what they list is not public by that"
            raise ParameterError("items", path.name, allowed)
        table = own.read_item_table(path.name, listed)
        mine = own.with_items(mine, table)
    how = ((n, v) for n, v in asdict(mine.reading).items() if v not in ("", None, ()))
    read = ", ".join(f"{name} = {value}" for name, value in how)
    say(f"{mine.file}: {mine.entry.holds}; read with {read}")
    for question in mine.questions:
        say(f"please check: {question}")
    for note in mine.notes:
        say(f"note: {note}")
    with user_datasets.using(mine):
        yield mine.name


def kinds_for(algorithms: Iterable[object]) -> tuple[str, ...]:
    """What the algorithms take: images or documents to factorise, ratings to complete."""
    factorises = set(of_task("factorize")) & set(algorithms)
    return ("images", "documents") if factorises else ("ratings",)


def read_options(
    file: str, words: Sequence[str], kinds: Sequence[str]
) -> tuple[str, Path, bytes, dict[str, str]]:
    """Which of ``kinds`` the file holds, its path and content, and the ``words`` NAME=VALUE about
    how it is read.
    """
    path = Path(file)
    data = read_file(path, MOST_MEGABYTES * 1_000_000)
    choices = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ParameterError("read", word, "NAME=VALUE, for example user=reader")
        choices[name] = value
    kind = choices.pop("kind", "") or own.kind_of(path.name, data, kinds)
    check_choice("kind", kind, kinds)
    for name in choices:
        if name not in (*own.CHOICES[kind], "visit"):
            others = [other for other, names in own.CHOICES.items() if name in names]
            hint = (
                f"; {name} is for {' and '.join(others)}: say kind={others[0]} if that is what "
                "the file holds"
                if others
                else ""
            )
            raise ParameterError(
                "read",
                name,
                "one of kind, visit, " + ", ".join(own.CHOICES[kind]) + f" for {kind}{hint}",
            )
    return kind, path, data, choices
