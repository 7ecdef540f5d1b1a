"""The command ``complete``: complete a matrix of ratings, with or without noise."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict

from dpmc_core.cli.common.main import print_errors, print_statement
from dpmc_core.cli.common.options import add_number, add_out, add_spec, released, spec_of
from dpmc_core.cli.common.user_data import add_data, load_user_data
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RecommendMetrics, RecommendResult, RunResult, RunSpec
from dpmc_core.metrics import RECALL_AT
from dpmc_core.wording import JsonObject, finite

TASKS = ("rate", "recommend")


def add(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """The options: those of the algorithm and dataset that ``argv`` names."""
    add_spec(parser, TASKS, argv)
    add_data(parser, "ratings")
    add_out(parser)
    add_number(
        parser, "recall_at", "recall_at", meaning="a further k of Recall@k, when recommending"
    )


def run(arguments: argparse.Namespace) -> JsonObject:
    """Run it, print what came out, and return the summary."""
    with load_user_data(arguments, "ratings") as own:
        return _completed(arguments, spec_of(arguments, TASKS, own))


def _completed(arguments: argparse.Namespace, spec: RunSpec) -> JsonObject:
    also = () if arguments.recall_at is None else (int(arguments.recall_at),)
    if also and spec.task != "recommend":
        raise ParameterError("recall_at", *also, "left out unless the task is to recommend")
    result: RunResult | RecommendResult = released(spec, arguments, _progress)
    summary = result.summary()
    if isinstance(result, RecommendResult) and also:
        summary["recalls"] = [finite(asdict(one)) for one in result.recalls(*also)]
    if not arguments.json:
        _print_result(result)
        for name, lists in summary.get("lists", {}).items():
            print(
                f"  lists of {name}: NDCG@{RECALL_AT} {lists['ndcg']:.4f}, "
                f"{100 * lists['coverage']:.0f} % of the items, the most rated tenth takes "
                f"{100 * lists['popular']:.0f} % of the places, Gini {lists['gini']:.2f}"
            )
        for one in summary.get("recalls", ()):
            half = one["half_width"]
            width = "" if half is None else f" ± {half:.4f}"
            print(
                f"  at k = {one['k']}: {one['recall']:.4f}{width}, most liked "
                f"{one['most_liked']:.4f}"
            )
        print_statement(result.statement)
        print(f"{result.seconds:.2f} s, {result.split.how}")
    return summary


def _progress(result: RunResult | RecommendResult) -> str:
    last = result.final
    figure = (
        f"Recall@{RECALL_AT} {last.recall:.4f}"
        if isinstance(last, RecommendMetrics)
        else f"test RMSE {last.test_rmse:.4f}"
    )
    return f"iteration {last.iteration}/{result.spec.length}: {figure}, {last.seconds:.1f} s"


def _print_result(result: RunResult | RecommendResult) -> None:
    if isinstance(result, RecommendResult):
        final = result.final
        interval = (
            "(one held-out user: no interval)"
            if math.isnan(final.half_width)
            else f"± {final.half_width:.4f} (95 %, over held-out users)"
        )
        print(f"Recall@{RECALL_AT} {final.recall:.4f} {interval}")
        for name, value in result.baselines.items():
            print(
                f"  {name:<12} {value:.4f}  "
                f"{'below' if result.beats_baselines[name] else 'NOT below'} this run's"
            )
    else:
        print_errors(result.final, result.baselines, result.against_baseline, "held-out ratings")
        if result.final.chosen_reg is not None:
            print(f"λ = {result.final.chosen_reg:g} was chosen")
