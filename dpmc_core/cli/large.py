"""The command ``large``: complete or factorise a matrix larger than memory, from Parquet files."""

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpmc_core.cli.common.main import Progress, print_against, print_errors, print_statement
from dpmc_core.cli.common.options import (
    SCHEDULER,
    add_number,
    add_spec,
    add_words,
    after,
    last_of,
    refuse,
    say,
    spec_of,
)
from dpmc_core.datasets import user_datasets
from dpmc_core.errors import ParameterError, check_choice
from dpmc_core.experiments.algorithms import ON_PARTITIONS
from dpmc_core.limits import Limit
from dpmc_core.metrics import Comparison
from dpmc_core.paths import read_file, read_text, text_lines
from dpmc_core.wording import JsonObject, counted

HOLDS = ("ratings", "documents", "images")
_COLUMNS = ("user", "item", "rating")
_LARGEST = 50_000_000  # bytes of a list of words
_MEMORY = Limit(500, 1_000_000, "megabytes of each process", integer=True, name="memory_mb")
_SIDE = Limit(1, 10_000, "a side of an image in pixels", integer=True, name="shape")


def add(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """The options: where ratings and results are, who works, and those of the algorithm."""
    holds = after("--holds", argv)
    by_name = any(word in ON_PARTITIONS["factorize"] for word in argv)
    tasks = ("factorize",) if by_name and not holds else _tasks(holds or "ratings")
    add_spec(parser, tasks, argv, ON_PARTITIONS[tasks[0]])
    folder = parser.add_argument_group("data in partitions (docs/cluster.md)")
    text = "of Parquet files, each with all ratings of some users (or all words of some documents)"
    add_words(
        folder,
        ("--folder", "FOLDER", text),
        (
            "--holds",
            "NAME",
            "ratings, documents (a document, a word and a count a row) or images (ratings)",
        ),
        ("--words", "FILE", "of documents: a public list, one a line"),
    )
    text = "of images: they are drawings, with sharp edges, and no photographs"
    folder.add_argument("--drawn", action="store_true", help=text)
    columns = ((f"--{name}-column", f"the column of {name}s") for name in _COLUMNS)
    ends = (("--low", "the lowest rating"), ("--high", "the highest rating"))
    add_words(
        folder,
        ("--shape", "HEIGHTxWIDTH", "of images, whose pixels are numbered from 0 row by row"),
        *((flag, "NAME", f"{text}, where the guess is wrong") for flag, text in columns),
        *((flag, "X", f"{text} of the scale (that of the data)") for flag, text in ends),
        (
            "--items",
            "FILE",
            "the public list of items, a table whose first column names them (those rated)",
        ),
        (
            "--users",
            "N",
            "how many users, documents or images there are at most (as many as there are)",
        ),
        ("--out", "FOLDER", "of the run: a new one, or one that goes on"),
    )
    work = parser.add_argument_group("workers")
    add_words(work, SCHEDULER, ("--workers", "N", "processes on this machine (1)"))
    add_number(work, "memory_mb", _MEMORY)
    parser.set_defaults(holds="ratings", workers="1")


def run(arguments: argparse.Namespace) -> JsonObject:
    """Run it, print what came out, and return the summary; stopped by Ctrl-C, the same command
    goes on.
    """
    from dpmc_core.partitioned.engine import WORKERS, engine_at
    from dpmc_core.partitioned.population import Partitions, UnitPartitions, found_in
    from dpmc_core.partitioned.run import FolderSet, partitioned_steps
    from dpmc_core.partitioned.source import check_user_column, open_folder

    for name in ("folder", "out"):
        if getattr(arguments, name) is None:
            raise ParameterError(f"--{name}", None, "a folder")
    refuse(arguments, ("dataset", "spec", "top_items"), "left out with --folder")
    shape = _shape_of(arguments)
    _check_algorithm(arguments)
    words = None if arguments.words is None else _words_of(arguments)
    columns = (getattr(arguments, f"{name}_column") or "" for name in _COLUMNS)
    rated = arguments.holds == "ratings"
    source = open_folder(arguments.folder, *columns, ratings=rated)
    if rated and not arguments.user_column:
        check_user_column(source)
    # mistakes are told before files are read
    spec = spec_of(arguments, _tasks(arguments.holds), None)
    given = _given(arguments)
    place = Path(arguments.out)
    before = (place / "result.json").exists()
    progress = Progress()
    n_releases = len(list(place.glob("released/*.npz")))
    if n_releases and not before:
        say(
            f"{place} holds releases of a run ({n_releases}): with the same settings and data it "
            "goes on, and they are read, not drawn again"
        )
    if arguments.scheduler is not None:
        where = f"on the workers of {arguments.scheduler}"
        say(f"{where}; where it has no worker, it waits a minute for one")
    workers, memory = int(WORKERS.parse(arguments.workers)), arguments.memory_mb or 0
    with engine_at(arguments.scheduler, workers, memory) as engine:
        layout = found_in(
            source,
            engine,
            progress,
            test_fraction=spec.data.test_fraction if rated else 0.0,
            seed=spec.seed,
            given=given,
            folder="" if arguments.scheduler else str(place.resolve() / "copies"),
        )
        people: Any
        if rated:
            folder, people = FolderSet(layout), Partitions(layout, engine, progress)
        else:
            people = UnitPartitions(layout, engine, progress, shape, words, drawn=arguments.drawn)
            folder = FolderSet(layout, arguments.holds, people.dimension)
        with user_datasets.using(folder):
            spec = spec_of(arguments, _tasks(arguments.holds), folder.name)
            steps = partitioned_steps(spec, people, place)
            result: Any = last_of(steps, arguments, _progress)
    if not arguments.json:
        _print(result) if rated else _print_parts(result)
    if result.finished:
        shutil.rmtree(place / "copies", ignore_errors=True)
        if not arguments.json:
            print(f"what was learned, and the ledger, are in {place}")
            if before:
                print("it was finished before: nothing was drawn again")
    elif not arguments.json:
        print(f"the same command goes on; the ratings' copies stay in {place} until it is through")
    return {**result.summary(), "folder": str(place)}


def _given(arguments: argparse.Namespace) -> Any:
    """What is public of the ratings."""
    from dpmc_core.datasets.own import read_item_table
    from dpmc_core.datasets.own.tables import RatingsReading

    ends = {"low": arguments.low, "high": arguments.high}
    given = RatingsReading(**ends, users=arguments.users).given
    if arguments.items is None:
        return given
    if arguments.holds != "ratings":
        raise ParameterError("items", arguments.items, f"left out with {arguments.holds}")
    path = Path(arguments.items)
    table = read_item_table(path.name, read_file(path, _LARGEST))
    return replace(given, items=table.labels, by=f"given by {path.name}")


def _words_of(arguments: argparse.Namespace) -> list[str]:
    if arguments.holds != "documents":
        raise ParameterError("words", arguments.words, "left out unless --holds documents")
    lines = text_lines(read_text(Path(arguments.words), _LARGEST))
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


def _check_algorithm(arguments: argparse.Namespace) -> None:
    """Raise ``ParameterError`` for one that does not run on partitions of what the folder holds."""
    name = arguments.algorithm
    here = ON_PARTITIONS[_tasks(arguments.holds)[0]]
    if name in here or (name is None and "als" in here):
        return
    allowed = f"one of {', '.join(here)} on {arguments.holds}"
    if any(name in others for others in ON_PARTITIONS.values()):
        other = "documents or images" if arguments.holds == "ratings" else "ratings"
        allowed += f"; it runs on {other} (--holds)"
    raise ParameterError("algorithm", name, allowed)


def _tasks(holds: str) -> tuple[str, ...]:
    return ("rate",) if holds == "ratings" else ("factorize",)


def _shape_of(arguments: argparse.Namespace) -> tuple[int, int] | None:
    check_choice("holds", arguments.holds, HOLDS)
    if (arguments.shape is not None) != (arguments.holds == "images"):
        allowed = "given for images, and for them alone, as 64x64"
        raise ParameterError("shape", arguments.shape, allowed)
    if arguments.shape is None:
        return None
    height, _, width = arguments.shape.partition("x")
    return int(_SIDE.parse(height)), int(_SIDE.parse(width))


def _progress(result: Any) -> str:
    what = "round" if result.rating_width is None else "iteration"
    return f"{what} {result.step.iteration}"


def _print(result: Any) -> None:
    catalogue = result.people.layout.catalogue
    print(
        f"{catalogue.n_users:,} users, {catalogue.n_items:,} items, "
        f"{catalogue.n_ratings:,} ratings in {_files(catalogue)}"
    )
    source = catalogue.source
    print(f"columns: users {source.user}, items {source.item}, ratings {source.value}")
    print(f"rating scale: {catalogue.low:g} to {catalogue.high:g}")
    for name in catalogue.empty:
        print(f"  {name} holds no rating and was passed over")
    for note in catalogue.notes:
        print(f"  note: {note}")
    errors = result.errors
    if errors is not None:
        against = Comparison(errors.apart, errors.apart_half_width)
        held_out = f"{errors.held_out:,} held-out ratings"
        print_errors(errors, errors.baselines, against, held_out)
    print_statement(result.statement)


def _print_parts(result: Any) -> None:
    units, errors = result.people, result.errors
    catalogue = units.layout.catalogue
    what = "documents" if units.unit == "document" else "images"
    rows = "words" if units.unit == "document" else "pixels"
    print(
        f"{catalogue.n_users:,} {what}, {units.dimension:,} {rows}, "
        f"{catalogue.n_ratings:,} entries in {_files(catalogue)}"
    )
    if errors is not None:
        print(
            f"objective {errors['objective']:.4f} ± {errors['half_width_95']:.2g} (95 %, over "
            f"{what}), of the average column {errors['baseline']:.4f}"
        )
        print_against("it", Comparison(errors["apart"], errors["apart_half_width_95"]))
    print_statement(result.statement)


def _files(catalogue: Any) -> str:
    return counted(len(catalogue.source.files), "file", "files")
