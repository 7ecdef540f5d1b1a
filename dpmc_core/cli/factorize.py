"""The command ``factorize``.

Lives here: its options, its progress and what it prints. Does not live here: any second path to a solver (it calls ``experiments``).
"""

import argparse
import sys
from dataclasses import fields
from typing import Any

import numpy as np

from dpmc_core import limits
from dpmc_core.cli.user_data import add_data, brought
from dpmc_core.datasets import names
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import FactorResult, FactorSpec, factor_registry, factor_steps
from dpmc_core.experiments.factor_spec import FACTOR_NUMERIC
from dpmc_core.experiments.tasks.factorize import TRIVIAL, clean_samples
from dpmc_core.metrics.topics import W2V_WARNING, tc_w2v, top_words

__all__ = ["add_factorize", "factorize_command"]


def add_factorize(parser: argparse.ArgumentParser) -> None:
    """The options: one for each field of a FactorSpec."""
    parser.add_argument("--spec", help="a FactorSpec as JSON; other options change it")
    parser.add_argument(
        "--w2v",
        action="store_true",
        help="also TC-W2V coherence, by a word2vec trained on the documents (read its warning)",
    )
    add_data(parser, "images", "documents")
    choices = {"dataset": names("images", "documents"), **factor_registry.CHOICES}
    for field in fields(FactorSpec):
        if field.name == "version":
            continue
        option = "--" + field.name.replace("_", "-")
        usual = "the algorithm's own" if field.name in ("rounds", "inner") else field.default
        if field.name in choices:
            parser.add_argument(
                option, metavar="NAME", help=f"one of {', '.join(choices[field.name])} ({usual})"
            )
        else:
            limit = limits.LIMITS[FACTOR_NUMERIC[field.name]]
            if field.name == "epsilon":
                meaning = "total ε of a sound run (1 if left out), or nominal ε of one round as published (0.5 if left out)"
                parser.add_argument(option, metavar="X", help=f"{meaning}; {limit.allowed}")
                continue
            parser.add_argument(
                option,
                metavar="X",
                help=f"{limit.meaning}; {limit.allowed} ({usual})".replace("%", "%%"),
            )


def factorize_command(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run it, print what came out, and return the summary."""
    with brought(arguments, "images", "documents") as own:
        return _factorized(arguments, _spec(arguments, own))


def _factorized(arguments: argparse.Namespace, spec: FactorSpec) -> dict[str, Any]:
    if arguments.w2v and not clean_samples(spec).texts:
        raise ParameterError(
            "w2v",
            spec.dataset,
            "left out for images, and for sets that hold counts without running text",
        )
    result: FactorResult | None = None
    try:
        for result in factor_steps(spec):
            last = result.final
            length = factor_registry.FACTORIZERS[spec.algorithm].length(spec)
            print(
                f"round {last.iteration}/{length}: objective {last.objective:.5f}, {last.seconds:.1f} s",
                file=sys.stderr,
            )
    except KeyboardInterrupt:
        print("stopped; what follows is the result so far", file=sys.stderr)
    if result is None:
        raise KeyboardInterrupt
    summary = result.summary()
    if arguments.w2v:
        scores = tc_w2v(result.clean, result.dictionary)
        summary["coherence"] = {
            **(summary["coherence"] or {}),
            "tc_w2v": float(np.nanmean(scores)),
            "warning": W2V_WARNING,
        }
    if not arguments.json:
        _print(result, summary)
    return summary


def _spec(arguments: argparse.Namespace, own: str | None) -> FactorSpec:
    base = FactorSpec.from_json(arguments.spec).as_dict() if arguments.spec else {}
    given: dict[str, Any] = {} if own is None else {"dataset": own}
    for field in fields(FactorSpec):
        text = getattr(arguments, field.name, None)
        if text is None or field.name == "version":
            continue
        if field.name not in FACTOR_NUMERIC:
            given[field.name] = text
            continue
        try:
            given[field.name] = limits.parse(FACTOR_NUMERIC[field.name], text)
        except ParameterError as error:
            raise ParameterError(field.name, text, error.allowed) from None
    if base and given.get("algorithm", base["algorithm"]) != base["algorithm"]:
        base = {**base, "rounds": 0, "inner": 0}  # another algorithm has other usual numbers
    return FactorSpec.from_dict({**base, **given})


def _print(result: FactorResult, summary: dict[str, Any]) -> None:
    final, statement = result.final, result.statement
    print(
        f"objective {final.objective:.5f} ± {final.half_width:.5f} (95 %, over the choice of {result.clean.unit}s)"
    )
    apart, half = result.against_trivial
    verdict = (
        "beaten" if apart + half < 0 else "NOT beaten" if apart - half > 0 else "not told apart"
    )
    print(f"  {TRIVIAL:<18} {result.trivial:.5f}  {verdict} (difference {apart:+.5f} ± {half:.5f})")
    way = (
        f"; {100 * result.way:.0f} % of the way there from the average"
        if np.isfinite(result.way)
        else ""
    )
    print(f"  scikit-learn's NMF {result.yardstick:.5f}  (not private{way})")
    if final.found is not None:
        print(f"true parts found: {100 * final.found:.0f} % (cosine at least 0.9)")
    if final.moved is not None:
        print(f"W moved {100 * final.moved:.4f} % from its start, which is made of the raw data")
    if result.coherence is not None:
        known = result.coherence[np.isfinite(result.coherence)]
        print(
            f"NPMI coherence {known.mean():.3f}"
            if known.size
            else "NPMI coherence: no topic has two words"
        )
        for k, words in enumerate(top_words(result.dictionary, result.clean.words), start=1):
            print(f"  topic {k}: {' '.join(word for word, _ in words) or '(empty)'}")
    if "tc_w2v" in (summary["coherence"] or {}):
        print(f"TC-W2V {summary['coherence']['tc_w2v']:.3f}. {W2V_WARNING}")
    print(statement.label)
    if statement.private:
        print(f"unit: one {statement.unit}, neighbours: {statement.neighbours}; {statement.how}")
    for caveat in statement.caveats:
        print(f"  - {caveat}")
    for note in result.samples.notes:
        print(f"note: {note}")
    print(
        f"{result.seconds:.2f} s, {len(result.clean):,} {result.clean.unit}s of {result.clean.dimension:,} numbers"
    )
