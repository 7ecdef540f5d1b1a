"""The command ``factorize``: factorise faces into parts or documents into topics."""

import argparse
import math
from collections.abc import Sequence

from dpmc_core.cli.common.main import print_statement
from dpmc_core.cli.common.options import add_out, add_spec, released, spec_of
from dpmc_core.cli.common.user_data import add_data, load_user_data
from dpmc_core.datasets.data import samples_of
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import FactorResult, RunSpec
from dpmc_core.metrics.factors import W2V_WARNING, mean_score, tc_w2v, top_words
from dpmc_core.wording import JsonObject

TASKS = ("factorize",)


def add(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """The options: those of the algorithm and dataset that ``argv`` names."""
    add_spec(parser, TASKS, argv)
    parser.add_argument(
        "--w2v",
        action="store_true",
        help="also TC-W2V coherence, by a word2vec trained on the documents (read its warning)",
    )
    add_data(parser, "images", "documents")
    add_out(parser)


def run(arguments: argparse.Namespace) -> JsonObject:
    """Run it, print what came out, and return the summary."""
    with load_user_data(arguments, "images", "documents") as own:
        return _factorized(arguments, spec_of(arguments, TASKS, own))


def _factorized(arguments: argparse.Namespace, spec: RunSpec) -> JsonObject:
    if arguments.w2v and not samples_of(spec.data, clean=True).texts:
        raise ParameterError(
            "w2v",
            spec.dataset,
            "left out for images, and for sets that hold counts without running text",
        )
    result: FactorResult = released(spec, arguments, _progress)
    summary = result.summary()
    if arguments.w2v:
        score = mean_score(tc_w2v(result.clean, result.dictionary))
        if math.isnan(score):
            raise DataError("--w2v: no topic has two words that TC-W2V has learned a vector of.")
        summary["coherence"] = {
            **(summary["coherence"] or {}),
            "tc_w2v": score,
            "warning": W2V_WARNING,
        }
    if not arguments.json:
        _print(result, summary)
    return summary


def _progress(result: FactorResult) -> str:
    last, rounds = result.final, result.spec.length
    return f"round {last.iteration}/{rounds}: objective {last.objective:.5f}, {last.seconds:.1f} s"


def _print(result: FactorResult, summary: JsonObject) -> None:
    final, statement = result.final, result.statement
    print(
        f"objective {final.objective:.5f} ± {final.half_width:.5f} (95 %, over the choice of "
        f"{result.clean.unit}s)"
    )
    against = result.against_baseline
    beside = f"  {against.of_this_run} (difference {against.mean:+.5f} ± {against.half_width:.5f})"
    for name, value in result.baselines.items():
        print(f"  {name:<23} {value:.5f}{beside if name == result.best_baseline else ''}")
    way = (
        f"; {100 * result.way:.0f} % of the way there from the best baseline"
        if math.isfinite(result.way)
        else ""
    )
    print(f"  scikit-learn's NMF {result.reference:.5f}  (not private{way})")
    if final.found is not None:
        print(f"true parts found: {100 * final.found:.0f} % (cosine at least 0.9)")
    if final.moved is not None:
        print(f"W moved {100 * final.moved:.4f} % from its start")
    if result.coherence is not None:
        score = mean_score(result.coherence)
        score_text = ": no topic has two words" if math.isnan(score) else f" {score:.3f}"
        print(f"NPMI coherence{score_text}")
        for k, words in enumerate(top_words(result.dictionary, result.clean.words), start=1):
            print(f"  topic {k}: {' '.join(word for word, _ in words) or '(empty)'}")
    if "tc_w2v" in (summary["coherence"] or {}):
        print(f"TC-W2V {summary['coherence']['tc_w2v']:.3f}. {W2V_WARNING}")
    print_statement(statement)
    for note in result.samples.notes:
        print(f"note: {note}")
    print(
        f"{result.seconds:.2f} s, {len(result.clean):,} {result.clean.unit}s of "
        f"{result.clean.dimension:,} numbers"
    )
