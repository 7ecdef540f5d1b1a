"""The command ``plan``: how much ε, how many people, or how much noise an accuracy takes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.cli.common.options import (
    add_number,
    add_parameters,
    add_spec,
    add_words,
    last_of,
    options_of,
    refuse,
    spec_of,
)
from dpmc_core.cli.common.user_data import add_data, kinds_for, load_user_data
from dpmc_core.config import parameters
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own.sets import MOST_MEGABYTES
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.algorithms import of_task
from dpmc_core.paths import read_file, read_text
from dpmc_core.planning import PlanSpec, halved, plan
from dpmc_core.planning.bounds import BEYOND, LEAST, MOST, private_bounds
from dpmc_core.planning.project import project_from_toml, share_out
from dpmc_core.planning.spec import QUERIES, halvings, within
from dpmc_core.privacy import odds_sentence, read_ledger
from dpmc_core.wording import JsonObject, counted, printable, three

if TYPE_CHECKING:
    from dpmc_core.planning.goal import Search

MODEL, PROJECT, BOUNDS, _LARGEST = "model", "project", "bounds", 1_000_000


def add(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """The options: what is released, what is fixed; what is left out is asked."""
    kinds = (
        f"one of {', '.join(QUERIES)} (mean); model, and then an algorithm; project FILE; or "
        "bounds FILE"
    )
    parser.add_argument("query_name", nargs="?", metavar="QUERY", help=kinds)
    # the first word after the command decides, as it does in run
    kind = argv[argv.index("plan") + 1] if argv[-1] != "plan" and "plan" in argv else ""
    if kind == PROJECT:
        file = "a TOML file: epsilon, delta, mechanism, [[release]]"
        parser.add_argument("file", nargs="?", help=file)
        add_words(
            parser,
            ("--spent", "FILE", "the ledger of what was made before"),
            ("--keep", "FILE", "write the ledger with these releases"),
        )
        return
    if kind == BOUNDS:
        parser.epilog = (
            "Bounds of a column of numbers, one person in each row, for a mean of them: noisy "
            "quantiles, with noise that nobody can draw again."
        )
        parser.add_argument("file", nargs="?", help="a table: CSV, TSV or Parquet")
        add_words(parser, ("--column", "NAME", "the numbers (the only column)"))
        params = parameters(PlanSpec)
        add_parameters(parser, {name: params[name] for name in ("epsilon", "delta")})
        for limit in (BEYOND, LEAST, MOST):
            add_number(parser, limit.name, limit, limit.default)
        add_words(parser, ("--keep", "FILE", "write the ledger with these counts"))
        parser.set_defaults(spent=None)
        return
    if kind == MODEL:
        _add_model(parser, argv)
        return
    parser.epilog = (
        "Leave out the one of --epsilon, --people and --margin that is asked. Every noise "
        "mechanism answers; Huber noise with its best α."
    )
    add_parameters(parser, parameters(PlanSpec))


def _add_model(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    from dpmc_core.cli.sweep import add_store
    from dpmc_core.planning.goal import ModelPlan

    parser.epilog = (
        "Runs are kept, so that the same command goes on where it stopped. Without --target the "
        "goal is to be better than the best baseline."
    )
    add_spec(parser, _tasks(argv), argv)
    group = parser.add_argument_group("plan")
    add_words(group, ("--vary", "NAME", "epsilon (usual), or n_users"))
    add_parameters(group, parameters(ModelPlan))
    add_number(group, "jobs", "sweep_jobs", 2, "runs at once")
    add_store(group)
    add_data(parser, "ratings", "images", "documents")


def _tasks(words: Sequence[str]) -> tuple[str, ...]:
    """What the algorithm among ``words`` does: to factorise, or to complete."""
    return ("rate", "recommend") if kinds_for(words) == ("ratings",) else ("factorize",)


def _model(arguments: argparse.Namespace) -> JsonObject:
    """Search over runs, with progress on standard error."""
    from dpmc_core.experiments.store.records import PassingRuns
    from dpmc_core.experiments.store.store import RunStore
    from dpmc_core.planning.goal import ModelPlan
    from dpmc_core.planning.models import search

    params = parameters(ModelPlan)
    options = options_of(arguments, (*params, "vary"))
    with load_user_data(arguments, *kinds_for([arguments.algorithm])) as own:
        if own is not None and arguments.secret is None:
            arguments.secret = False  # a plan repeats runs on paired seeds
        noisy = arguments.mechanism not in (None, "none") and arguments.epsilon is None
        if noisy and options.get("vary", "epsilon") == "epsilon":
            arguments.epsilon = options.get("most", params["most"].default)
        if arguments.algorithm is None:
            able = [n for n, card in of_task("rate", "factorize").items() if card.guarantee]
            raise ParameterError("algorithm", None, f"one of {', '.join(able)}")
        base = spec_of(arguments, _tasks([arguments.algorithm or ""]), own)
        if options.get("vary") == "n_users":
            people = getattr(base.data, "n_users", 1000)
            options = {"least": float(max(people // 20, 20)), "most": float(10 * people), **options}
        planned = ModelPlan(base=base, **options)
        sets = () if own is None else (user_datasets.find(own),)

        def progress(state: Search) -> str:
            runs = counted(state.spent, "run", "runs")
            return f"{runs}: between {three(state.low)} and {three(state.high)}"

        with PassingRuns() if own is not None else RunStore(arguments.store) as store:
            looks = _changes(search(planned, store, jobs=arguments.jobs, sets=sets))
            result = last_of(looks, arguments, progress)
    if not arguments.json:
        run_count = counted(result.spent, "run", "runs")
        print(f"{'' if result.finished else 'stopped: '}{result.sentence} From {run_count}.")
        for probe in sorted(result.probes, key=lambda one: one.place):
            verdict = {1: "reached", 0: "undecided", -1: "missed"}[probe.decided]
            print(
                f"  {three(probe.place):>8}: {probe.mean:.4f} on average of {len(probe.values)} "
                f"runs, {verdict}"
            )
        for caveat in result.caveats:
            print(f"  - {caveat}")
    return result.as_dict()


def _project(arguments: argparse.Namespace) -> JsonObject:
    """Share one budget out among the releases of a file."""
    if arguments.file is None:
        raise ParameterError("file", None, "a TOML file that names the releases")
    spent = None if arguments.spent is None else read_ledger(arguments.spent)
    _may_write(arguments)
    shared = share_out(project_from_toml(read_text(Path(arguments.file), _LARGEST), spent))
    summary = shared.as_dict()
    _keep(arguments, summary["ledger"])
    if not arguments.json:
        print(shared.sentence)
        for row in summary["items"]:
            print(
                f"  {row['name']}: {within(row['margin_95'], row['query'])} (95 %), standard "
                f"deviation {three(row['standard_deviation'])}, "
                f"ε = {three(row['epsilon_alone'])} alone"
            )
        print(
            f"protects: one person, neighbours: {summary['neighbours']}, δ = {summary['delta']:g}"
        )
    return summary


def _bounds(arguments: argparse.Namespace) -> JsonObject:
    """Release bounds of a column of a file."""
    from dpmc_core.datasets.own.cells import numbers
    from dpmc_core.datasets.own.table_files import open_table
    from dpmc_core.datasets.own.tables import check_column

    for name in ("file", "epsilon"):
        if getattr(arguments, name) is None:
            raise ParameterError(name, None, "given" if name == "epsilon" else "a table of people")
    _may_write(arguments)
    path = Path(arguments.file)
    frame = open_table(path.name, read_file(path, MOST_MEGABYTES * 2**20)).frame
    column = arguments.column
    if column is None and frame.shape[1] == 1:
        column = frame.columns[0]
    check_column(frame, "column", column)
    values = numbers(frame[column]).to_numpy()
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        shown = printable(str(frame[column].iloc[row]))[:40]
        raise DataError(
            f"{path.name}: {printable(column)[:40]} of row {row + 1} is {shown!r}; each person "
            "needs a finite number."
        )
    names = "epsilon", "delta", BEYOND.name, LEAST.name, MOST.name
    bounds = private_bounds(values, **options_of(arguments, names))
    _keep(arguments, bounds.ledger.as_dict())
    if not arguments.json:
        print(bounds.sentence)
        print("protects: one person, neighbours: replace-one; their number is public")
        ends = f"--low={bounds.low:.6g} --high={bounds.high:.6g}"
        print(f"next: python -m dpmc_core plan {ends} --people {bounds.people} --epsilon …")
    return bounds.as_dict()


def _may_write(arguments: argparse.Namespace) -> None:
    """Refuse to write over what another ledger holds: nobody would account for it again."""
    over = arguments.keep is not None and Path(arguments.keep).exists()
    if over and arguments.keep != arguments.spent:
        allowed = "a new file, or the one that --spent names: it may hold what was spent before"
        raise ParameterError("keep", arguments.keep, allowed)


def _keep(arguments: argparse.Namespace, ledger: JsonObject) -> None:
    """Write the ``ledger`` where ``--keep`` says."""
    place = arguments.keep
    if place is None:
        return
    try:
        whole = Path(f"{place}.new")
        whole.write_text(json.dumps(ledger, indent=1), encoding="utf-8")
        whole.replace(place)
    except OSError as error:
        allowed = f"a place that can be written ({error.strerror})"
        raise ParameterError("keep", place, allowed) from None


def _changes(states: Iterator[Search]) -> Iterator[Search]:
    """Those that tell something new."""
    spent = 0
    for state in states:
        if state.finished or state.spent > spent:
            spent = state.spent
            yield state


def run(arguments: argparse.Namespace) -> JsonObject:
    """Answer the plan, for all mechanisms."""
    other = {MODEL: _model, PROJECT: _project, BOUNDS: _bounds}.get(arguments.query_name)
    if other is not None:
        return other(arguments)
    options = options_of(arguments, parameters(PlanSpec))
    if arguments.query_name is not None:
        refuse(arguments, ("query",), "given once")
        options["query"] = arguments.query_name
    spec = PlanSpec(**options)
    answer = plan(spec)
    changes = halved(answer)
    if not arguments.json:
        print(answer.sentence)
        for c in answer.candidates:
            alpha = getattr(c.mechanism, "alpha", None)
            title = c.mechanism.title + ("" if alpha is None else f", α = {three(alpha)}")
            people = "" if c.people is None else f", {c.people:,} people"
            print(
                f"  {title:<18} ε = {three(c.epsilon)}, {within(c.margin, spec.query)}{people}, "
                f"standard deviation {three(c.mechanism.std)}"
            )
        for name, why in answer.refused.items():
            print(f"  {name}: {why}")
        print(odds_sentence(answer.best.epsilon, spec.delta))
        if changes:
            print(f"half of this ε: {', or '.join(halvings(changes, spec.query))}")
        print(answer.population_sentence)
    return {**answer.as_dict(), "half_the_epsilon": changes}
