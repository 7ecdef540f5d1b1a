"""The command ``complete``: complete a matrix of ratings, with or without noise."""

import argparse
import math
from collections.abc import Sequence

from dpmc_core.cli.common.main import print_errors, print_statement
from dpmc_core.cli.common.options import add_spec, last_of, spec_of
from dpmc_core.cli.common.user_data import add_data, load_user_data
from dpmc_core.experiments import RecommendMetrics, RecommendResult, RunResult, RunSpec, steps
from dpmc_core.metrics import RECALL_AT
from dpmc_core.wording import JsonObject

TASKS = ("rate", "recommend")


def add(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """The options: those of the algorithm and dataset that ``argv`` names."""
    add_spec(parser, TASKS, argv)
    add_data(parser, "ratings")


def run(arguments: argparse.Namespace) -> JsonObject:
    """Run it, print what came out, and return the summary."""
    with load_user_data(arguments, "ratings") as own:
        return _completed(arguments, spec_of(arguments, TASKS, own))


def _completed(arguments: argparse.Namespace, spec: RunSpec) -> JsonObject:
    result: RunResult | RecommendResult = last_of(steps(spec), arguments, _progress)
    if not arguments.json:
        _print_result(result)
    return result.summary()


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
        one = math.isnan(final.half_width)
        interval = (
            "(one held-out user: no interval)"
            if one
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
    print_statement(result.statement)
    print(f"{result.seconds:.2f} s, {result.split.how}")
