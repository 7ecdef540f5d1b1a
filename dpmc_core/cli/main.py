"""The command line: ``python -m dpmc_core COMMAND ... [--seed N] [--json]``.

Lives here: parsing and printing. With ``--json`` the last line on standard output is one JSON object; progress goes to
standard error. A user's mistake is one sentence on standard error and exit code 2. Does not live here: any second path
to a solver (commands call ``experiments``, ``mechanisms``, ``datasets``).
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dpmc_core import __version__, limits
from dpmc_core.cli import factorize as cli_factorize
from dpmc_core.cli import paper as cli_paper
from dpmc_core.cli import privacy as cli_privacy
from dpmc_core.cli import sweep as cli_sweep
from dpmc_core.cli import user_data as cli_data
from dpmc_core.datasets import catalogue, download, entry, names
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments import (
    RecommendMetrics,
    RecommendResult,
    RunResult,
    RunSpec,
    any_steps,
    registry,
)
from dpmc_core.experiments.data import forget
from dpmc_core.experiments.spec import NUMERIC
from dpmc_core.experiments.tasks.factorize import forget_samples
from dpmc_core.mechanisms import FAMILIES, Mechanism
from dpmc_core.mechanisms.grid import release_on_grid
from dpmc_core.metrics import RECALL_AT
from dpmc_core.wording import finite

__all__ = ["main"]

MAIN_HELP = "Differential privacy in matrix completion and factorisation: mechanisms, runs, accounts, audits, datasets."


class _Parser(argparse.ArgumentParser):
    """argparse, except that mistakes become our own errors, so that they end in one sentence."""

    def error(self, message: str) -> Any:
        raise DPMCError(f"{message[0].upper()}{message[1:]}. See '{self.prog} --help'.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (0, or 2 for a user's mistake)."""
    parser = _build()
    try:
        arguments = parser.parse_args(argv)
        result: dict[str, Any] = arguments.command(arguments)
    except DPMCError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (ArithmeticError, MemoryError, RecursionError) as error:
        print(
            f"error: these values cannot be computed with ({type(error).__name__}: {error}).",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # whoever read has gone: nothing more to say
        return 0
    if arguments.json:
        print(json.dumps(finite(result)))
    return 0


def _build() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m dpmc_core", description=MAIN_HELP)
    parser.add_argument("--version", action="version", version=f"dpmc_core {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(
        name: str, summary: str, run: Callable[[argparse.Namespace], dict[str, Any]]
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        sub.add_argument(
            "--json", action="store_true", help="end with one JSON object on standard output"
        )
        sub.set_defaults(command=run)
        return sub

    mechanism = add("mechanism", "What one noise mechanism is and protects.", _mechanism)
    mechanism.add_argument("family", choices=list(FAMILIES))
    for name, limit, meaning in (
        ("alpha", "alpha", "Huber's transition parameter"),
        ("scale", "scale", "scale of the noise (σ for gaussian, b for laplace)"),
        ("variance", "variance", "instead of --scale: the noise with this variance"),
        (
            "epsilon",
            "epsilon",
            "instead of --scale: the noise with this ε at --sensitivity (staircase: its design ε)",
        ),
        (
            "sensitivity",
            "sensitivity",
            "most that one person moves the released number (default 1)",
        ),
        ("delta", "delta", "δ at which ε is read (default 1e-5)"),
        ("gamma", "gamma", "staircase's step position (default: least variance)"),
    ):
        mechanism.add_argument(
            f"--{name}", metavar="X", help=f"{meaning}; {limits.LIMITS[limit].allowed}"
        )
    mechanism.add_argument("--seed", default="0", help="seed of the printed samples")
    mechanism.add_argument(
        "--release",
        metavar="VALUE",
        help="publish this number with noise sampled exactly on a grid (not repeatable)",
    )
    mechanism.add_argument(
        "--samples", default="0", help="how many noise samples to print (at most 1000)"
    )

    complete = add("complete", "Complete a matrix of ratings, with or without noise.", _complete)
    complete.add_argument("--spec", help="a RunSpec as JSON; other options change it")
    cli_data.add_data(complete, "ratings")
    choices = {"dataset": names("ratings"), **registry.CHOICES}
    for field in fields(RunSpec):
        if field.name == "version":
            continue
        option = "--" + field.name.replace("_", "-")
        if field.name in choices:
            complete.add_argument(
                option,
                metavar="NAME",
                help=f"one of {', '.join(choices[field.name])} ({field.default})",
            )
        else:
            limit_of = limits.LIMITS[NUMERIC[field.name]]
            complete.add_argument(
                option,
                metavar="X",
                help=f"{limit_of.meaning}; {limit_of.allowed} ({field.default})",
            )

    cli_factorize.add_factorize(
        add(
            "factorize",
            "Factorise faces into parts or documents into topics.",
            cli_factorize.factorize_command,
        )
    )

    cli_privacy.add_account(
        add(
            "account",
            "What a ledger of releases spends in all, and the least noise for a budget.",
            cli_privacy.account,
        )
    )
    cli_privacy.add_audit(
        add(
            "audit",
            "Attack a release with and without one person, and bound its ε from below.",
            cli_privacy.audit,
        )
    )

    cli_sweep.add_sweep(
        add(
            "sweep",
            "Make many runs from a TOML file, at once and resumable.",
            cli_sweep.sweep_command,
        )
    )
    cli_sweep.add_runs(
        add("runs", "List, export, delete or add runs of the store.", cli_sweep.runs_command)
    )

    cli_paper.add_paper(
        add(
            "paper",
            "Compute a table or figure of the papers and keep its results.",
            cli_paper.paper_command,
        )
    )

    datasets = add("datasets", "List the datasets, or fetch one.", _datasets)
    datasets.add_argument("action", nargs="?", choices=["list", "fetch"], default="list")
    datasets.add_argument("name", nargs="?", help="the dataset to fetch")

    bench = add("bench", "Measure the kernel and the samplers on this machine.", _bench)
    bench.add_argument("--quick", action="store_true", help="small problems only, a few seconds")
    bench.add_argument("--threads", default="2", help="threads of the kernel")
    return parser


def _mechanism(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {
        name: limits.parse(name, getattr(arguments, name))
        for name in ("alpha", "scale", "variance", "epsilon", "sensitivity", "delta", "gamma")
        if getattr(arguments, name) is not None
    }
    sensitivity, delta = given.get("sensitivity", 1.0), given.get("delta", 1e-5)
    noise = _build_noise(arguments.family, given, sensitivity, delta)
    count = _whole("samples", arguments.samples, 1000)
    rng = np.random.default_rng(int(limits.parse("seed", arguments.seed)))
    pure = noise.epsilon(sensitivity)
    result: dict[str, Any] = {
        "mechanism": {"name": noise.name, **asdict(noise)},  # type: ignore[call-overload]
        "variance": noise.variance,
        "fisher_information": noise.fisher_information,
        "sensitivity": sensitivity,
        "epsilon": pure,
        "delta": delta,
        "epsilon_at_delta": noise.epsilon_at_delta(delta, sensitivity),
        "best_guess": noise.best_guess(sensitivity),
        "protects": "one scalar release whose value moves by at most the sensitivity between neighbours; exact",
    }
    if count:
        result["samples"] = [float(x) for x in noise.sample(count, rng)]
    released = None
    if arguments.release is not None:
        try:
            value = float(arguments.release)
        except ValueError:
            raise ParameterError("release", arguments.release, "a finite number") from None
        released = release_on_grid(value, noise, sensitivity)
        result["release"] = asdict(released)
    if not arguments.json:
        print(f"{noise}")
        print(f"variance {noise.variance:.6g}, Fisher information {noise.fisher_information:.6g}")
        print(f"pure ε at sensitivity {sensitivity:g}: {pure:.6g}")
        print(f"exact ε at δ = {delta:g}: {result['epsilon_at_delta']:.6g}")
        print(
            f"the best attacker guesses right {100 * result['best_guess']:.2f} times in 100 (exact, one release; 50 is chance)"
        )
        for x in result.get("samples", []):
            print(f"{x:.17g}")
        if released is not None:
            print(
                f"released {released.value:.17g}, on a grid of {released.step:g}; sensitivity after rounding {released.sensitivity:g}, "
                f"pure ε {released.epsilon:.6g}, zCDP ρ {released.rho:.6g}"
            )
    return result


def _build_noise(
    family: str, given: dict[str, float], sensitivity: float, delta: float
) -> Mechanism:
    ways = [name for name in ("scale", "variance", "epsilon") if name in given]
    kind = FAMILIES[family]
    if len(ways) > 1 and family != "staircase":
        raise ParameterError(
            ways[1],
            given[ways[1]],
            f"left out when {ways[0]} is given (one of them sets the noise)",
        )
    shape = {"alpha": given["alpha"]} if family == "huber" and "alpha" in given else {}
    for name, families in (("alpha", ("huber",)), ("gamma", ("staircase",))):
        if name in given and family not in families:
            raise ParameterError(name, given[name], f"left out for {family}, which has no {name}")
    if family == "staircase":
        if "scale" in given:
            raise ParameterError(
                "scale",
                given["scale"],
                "left out for staircase, which is set by epsilon and sensitivity",
            )
        if "variance" in given and "epsilon" in given:
            raise ParameterError(
                "epsilon",
                given["epsilon"],
                "left out when variance is given (one of them sets the noise)",
            )
        if "variance" in given and "gamma" in given:
            raise ParameterError(
                "gamma",
                given["gamma"],
                "left out with variance, which takes the least-variance gamma",
            )
        if "variance" in given:
            return kind.with_variance(given["variance"], sensitivity=sensitivity)
        gamma = {"gamma": given["gamma"]} if "gamma" in given else {}
        return kind.with_epsilon(given.get("epsilon", 1.0), sensitivity, **gamma)
    if "variance" in given:
        return kind.with_variance(given["variance"], **shape)
    if "epsilon" in given:
        extra = {"delta": delta} if family == "gaussian" else {}
        return kind.with_epsilon(given["epsilon"], sensitivity, **shape, **extra)
    if family == "huber":
        shape.setdefault("alpha", limits.LIMITS["alpha"].default)
    make: Any = kind
    return make(scale=given.get("scale", 1.0), **shape)


def _complete(arguments: argparse.Namespace) -> dict[str, Any]:
    with cli_data.brought(arguments, "ratings") as own:
        return _completed(arguments, own)


def _completed(arguments: argparse.Namespace, own: str | None) -> dict[str, Any]:
    base = RunSpec.from_json(arguments.spec).as_dict() if arguments.spec else {}
    if own is not None:
        base["dataset"] = own
    for field in fields(RunSpec):
        text = getattr(arguments, field.name, None)
        if text is None or field.name == "version":
            continue
        base[field.name] = _number(field.name, text) if field.name in NUMERIC else text
    spec = RunSpec.from_dict(base)
    result: RunResult | RecommendResult | None = None
    try:
        for result in any_steps(spec):
            last = result.final
            figure = (
                f"Recall@{RECALL_AT} {last.recall:.4f}"
                if isinstance(last, RecommendMetrics)
                else f"test RMSE {last.test_rmse:.4f}"
            )
            length = registry.ALGORITHMS[spec.algorithm].length(spec)
            print(
                f"iteration {last.iteration}/{length}: {figure}, {last.seconds:.1f} s",
                file=sys.stderr,
            )
    except KeyboardInterrupt:
        print("stopped; what follows is the result so far", file=sys.stderr)
    if result is None:
        raise KeyboardInterrupt
    if not arguments.json:
        _print_result(result)
    return result.summary()


def _print_result(result: RunResult | RecommendResult) -> None:
    final, statement = result.final, result.statement
    if isinstance(final, RecommendMetrics):
        one = math.isnan(final.half_width)
        interval = (
            "(one held-out user: no interval)"
            if one
            else f"± {final.half_width:.4f} (95 %, over held-out users)"
        )
        print(f"Recall@{RECALL_AT} {final.recall:.4f} {interval}")
    else:
        print(
            f"test RMSE {final.test_rmse:.4f} ± {final.test_half_width:.4f} (95 %, over held-out ratings)"
        )
        print(f"clipped to the rating scale {final.test_rmse_clipped:.4f}")
        if final.truth_rmse is not None:
            print(f"on the whole matrix {final.truth_rmse:.4f}")
    if isinstance(result, RecommendResult):
        for name, value in result.trivial.items():
            print(
                f"  {name:<12} {value:.4f}  {'below' if result.beats_trivial[name] else 'NOT below'} this run's"
            )
    else:
        for name, value in result.trivial.items():
            print(f"  {name:<12} {value:.4f}")
        name, apart, half = result.against_trivial
        verdict = (
            "not told apart" if abs(apart) <= half else "beaten" if apart < 0 else "NOT beaten"
        )
        print(f"against {name}, on the same ratings: {apart:+.4f} ± {half:.2g} (95 %): {verdict}")
    print(statement.label)
    if statement.private:
        print(f"unit: one {statement.unit}, neighbours: {statement.neighbours}; {statement.how}")
    for caveat in statement.caveats:
        print(f"  - {caveat}")
    print(f"{result.seconds:.2f} s, {result.split.how}")


def _datasets(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.action == "fetch":
        if arguments.name is None:
            raise ParameterError("dataset", "(none)", "one of " + ", ".join(catalogue()))
        known = entry(arguments.name)
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
        forget_samples()
        if not arguments.json:
            print(f"{known.title} is in {folder}")
        return {"dataset": known.name, "folder": str(folder)}
    listing = [
        {
            "name": known.name,
            "title": known.title,
            "kind": known.kind,
            "present": known.present(),
            "terms": known.terms,
        }
        for known in catalogue().values()
    ]
    if not arguments.json:
        for row in listing:
            print(f"{row['name']:<10} {'here' if row['present'] else 'to fetch':<9} {row['title']}")
    return {"datasets": listing}


def _bench(arguments: argparse.Namespace) -> dict[str, Any]:
    from dpmc_core.bench import run_all  # only here: it allocates large arrays

    return run_all(
        quick=arguments.quick,
        threads=int(_whole("threads", arguments.threads, 256)),
        tell=lambda line: print(
            line, file=sys.stderr if arguments.json else sys.stdout, flush=True
        ),
    )


def _number(field: str, text: str) -> float:
    try:
        return limits.parse(NUMERIC[field], text)
    except ParameterError as error:
        raise ParameterError(field, text, error.allowed) from None


def _whole(name: str, text: str, high: int) -> int:
    allowed = f"a whole number from 0 to {high}"
    try:
        value = int(text)
    except ValueError:
        raise ParameterError(name, text, allowed) from None
    if not 0 <= value <= high:
        raise ParameterError(name, text, allowed)
    return value
