"""The command ``audit``: attack a release with and without one person, and bound its ε."""

import argparse
from dataclasses import replace

from dpmc_core.cli.common.options import add_number, add_parameters, last_of, options_of, refuse
from dpmc_core.cli.common.user_data import add_data, kinds_for, load_user_data
from dpmc_core.config import parameters
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks.audit import Audited, AuditResult, OneRunResult, audit_steps
from dpmc_core.experiments.tasks.audit_outputs import audit_outputs
from dpmc_core.experiments.tasks.audit_spec import CASES, FACTOR_TARGETS, AuditSpec
from dpmc_core.limits import LIMITS
from dpmc_core.privacy.attack import Bound
from dpmc_core.wording import JsonObject, printable, three

_HOLDS = ("ratings", "images", "documents")
# of outputs it may be 0, for pure ε
_DELTA = replace(LIMITS["account_delta"], low=0)


def add(parser: argparse.ArgumentParser) -> None:
    """The options: the parameters of an audit."""
    parser.epilog = "cases: " + " ".join(f"{name}: {meaning}" for name, meaning in CASES.items())
    parser.add_argument(
        "--spec", help="an AuditSpec as JSON, as the app exports it; other options change it"
    )
    parser.add_argument(
        "--outputs",
        metavar="FILE",
        help="a CSV of your own mechanism's outputs: a column 'inside' (1 with the record, 0 "
        "without), the others released numbers; with --epsilon, --delta (0) and --confidence",
    )
    add_parameters(parser, {n: p for n, p in parameters(AuditSpec).items() if n != "delta"})
    add_number(parser, "delta", _DELTA)
    parser.add_argument(
        "--dataset", help="what an algorithm is run on, in the place of a small made table"
    )
    add_data(parser, *_HOLDS)
    parser.add_argument(
        "--record",
        help="what one of the two datasets lacks: a user's name, or the number of a user, image "
        "or document, from 1 (one that stands out)",
    )


def run(arguments: argparse.Namespace) -> JsonObject:
    """Run the audit, with progress on standard error."""
    if arguments.outputs is not None:
        return _own_outputs(arguments)
    target = arguments.target
    with load_user_data(arguments, *(_HOLDS if target is None else kinds_for([target]))) as own:
        return _audited(arguments, own)


def _audited(arguments: argparse.Namespace, own: str | None) -> JsonObject:
    given = AuditSpec.from_json(arguments.spec).as_dict() if arguments.spec is not None else {}
    given |= options_of(arguments, (*parameters(AuditSpec), "dataset", "record"))
    if own is not None:
        given["dataset"] = own
    allowed = (
        ALGORITHMS[given["target"]].mechanisms if given.get("target") in FACTOR_TARGETS else ()
    )
    if "mechanism" not in given and allowed and AuditSpec.mechanism not in allowed:
        given["mechanism"] = allowed[0]
    spec = AuditSpec(**given)
    result = last_of(audit_steps(spec), arguments, _progress)
    if not arguments.json:
        print(result.verdict)
        if isinstance(result, OneRunResult):
            print("\n".join(result.accounts))
        elif isinstance(result, AuditResult) and spec.dataset:
            print(
                f"the two datasets differ in: {printable(result.record)} (read off the data "
                "without noise: for the holder of the data); items, scale and number of users are "
                "the same in both"
            )
        for name, epsilon in result.claims.items():
            print(
                f"{name} ε = {three(epsilon)}: "
                f"{'exceeded' if result.beaten[name] else 'not contradicted'}"
            )
        print(
            f"claimed for: one {result.statement.unit}, neighbours: "
            f"{result.statement.neighbours}; {result.statement.how}"
        )
        if isinstance(result, AuditResult):
            _print_accuracy(result.attack.bound)
    return result.summary()


def _own_outputs(arguments: argparse.Namespace) -> JsonObject:
    """Audit a claim on the outputs in a file."""
    used = ("epsilon", "delta", "confidence")
    names = ("spec", "dataset", "data", "read", "record", *parameters(AuditSpec))
    allowed = "left out with --outputs, which brings what was released"
    refuse(arguments, (name for name in names if name not in used), allowed)
    if arguments.epsilon is None:
        raise ParameterError("epsilon", None, "given with --outputs: it is the claim")
    result = audit_outputs(arguments.outputs, **options_of(arguments, used))
    if not arguments.json:
        print(result.verdict)
        _print_accuracy(result.attack.bound)
    return result.summary()


def _print_accuracy(bound: Bound) -> None:
    print(
        f"the attacker attributes {100 * bound.accuracy:.1f} of 100 held-out outputs correctly "
        f"({100 * bound.accuracy_low:.1f} to {100 * bound.accuracy_high:.1f}; 50 is chance)"
    )


def _progress(result: Audited) -> str:
    if not isinstance(result, AuditResult):
        return f"step {result.runs:,} of {result.spec.amount:,}, {result.seconds:.1f} s"
    return (
        f"{result.runs:,} outputs of each dataset: ε ≥ {result.attack.bound.epsilon:.4f}, "
        f"{result.seconds:.1f} s"
    )
