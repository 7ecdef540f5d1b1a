"""The command ``account``: what a ledger costs in all, and the least noise for a budget."""

import argparse
import math
from typing import Any

from dpmc_core import limits
from dpmc_core.cli.common.options import parsed
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import FAMILIES, Mechanism
from dpmc_core.privacy import (
    Ledger,
    Release,
    Statement,
    least_noise,
    odds_sentence,
    read_ledger,
    state,
    subject,
)
from dpmc_core.wording import three

_NOISE = ("alpha", "scale", "variance")
_OTHER = {
    "l1": ("sensitivity", "most that one person moves the released vector in the ℓ1 norm"),
    "l2": (
        "sensitivity",
        "the same in the ℓ2 norm; one of the two is enough, 1 if neither is given",
    ),
    "coordinates": ("coordinates", "length of the released vector (1)"),
    "count": ("count", "how many times it is released (1)"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``account``."""
    parser.add_argument(
        "family", nargs="?", choices=list(FAMILIES), help="the noise, unless --ledger is given"
    )
    parser.add_argument(
        "--ledger", metavar="FILE", help="a ledger or a run's result, as the app exports it (JSON)"
    )
    for name in _NOISE:
        limit = limits.LIMITS[name]
        parser.add_argument(f"--{name}", metavar="X", help=f"{limit.meaning}; {limit.allowed}")
    for name, (limit_name, meaning) in _OTHER.items():
        parser.add_argument(
            f"--{name}", metavar="X", help=f"{meaning}; {limits.LIMITS[limit_name].allowed}"
        )
    parser.add_argument(
        "--delta",
        metavar="X",
        default="1e-5",
        help=f"δ at which ε is read; {limits.LIMITS['account_delta'].allowed} (1e-5)",
    )
    parser.add_argument(
        "--target-epsilon",
        metavar="X",
        help=(
            "also find the least noise, same family and shape, with at most this ε; "
            f"{limits.LIMITS['epsilon'].allowed}"
        ),
    )


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run ``account``: the statement of a ledger, and the least noise for a target."""
    delta = parsed("delta", "account_delta", arguments.delta)
    if arguments.ledger is not None:
        given = [
            name for name in ("family", *_NOISE, *_OTHER) if getattr(arguments, name) is not None
        ]
        if given:
            raise ParameterError(
                given[0], getattr(arguments, given[0]), "left out with --ledger, which says it all"
            )
        ledger = read_ledger(arguments.ledger)
    elif arguments.family is None:
        raise ParameterError(
            "family", "(none)", "one of " + ", ".join(FAMILIES) + ", or give --ledger FILE"
        )
    else:
        ledger = _described(arguments)
    statement = state(ledger, delta)
    result: dict[str, Any] = {"statement": statement.as_dict(), "ledger": ledger.as_dict()}
    calibrated = None
    if arguments.target_epsilon is not None:
        target = parsed("target_epsilon", "epsilon", arguments.target_epsilon)
        calibrated = least_noise(ledger, target, delta)
        result["least_noise"] = {
            "target_epsilon": target,
            "epsilon": state(calibrated, delta).epsilon,
            "factor": calibrated.releases[0].mechanism.std / ledger.releases[0].mechanism.std,
            "ledger": calibrated.as_dict(),
        }
    if not arguments.json:
        _print_account(ledger, statement, delta, calibrated)
    return result


def _described(arguments: argparse.Namespace) -> Ledger:
    numbers = {
        name: parsed(name, limit_name, getattr(arguments, name))
        for name, limit_name in [(n, n) for n in _NOISE]
        + [(n, spec[0]) for n, spec in _OTHER.items()]
        if getattr(arguments, name) is not None
    }
    coordinates, count = int(numbers.pop("coordinates", 1)), int(numbers.pop("count", 1))
    l1, l2 = numbers.pop("l1", None), numbers.pop("l2", None)
    if l1 is None and l2 is None:
        l1 = l2 = 1.0
    elif l1 is None:
        assert l2 is not None
        l1 = coordinates**0.5 * l2
    release = Release(
        what="a vector described on the command line",
        mechanism=_noise(arguments.family, numbers, l1),
        l1_sensitivity=l1,
        l2_sensitivity=l1 if l2 is None else l2,
        unit="record",
        neighbours="add/remove-one",
        coordinates=coordinates,
        count=count,
        sound=False,
        source="given on the command line",
    )
    return Ledger((release,))


def _noise(family: str, given: dict[str, float], sensitivity: float) -> Mechanism:
    kind: Any = FAMILIES[family]
    if "alpha" in given and "alpha" not in kind.shape:
        raise ParameterError("alpha", given["alpha"], f"left out for {family}, which has no alpha")
    if "scale" in given and "variance" in given:
        raise ParameterError(
            "variance",
            given["variance"],
            "left out when scale is given (one of them sets the noise)",
        )
    shape = {}
    if "alpha" in kind.shape:
        shape = {"alpha": given.get("alpha", limits.LIMITS["alpha"].default)}
    if family == "staircase":
        if "scale" in given:
            raise ParameterError(
                "scale", given["scale"], "left out for staircase noise; give its variance"
            )
        return kind.with_variance(given.get("variance", 2.0), sensitivity=sensitivity)
    if "variance" in given:
        return kind.with_variance(given["variance"], **shape)
    return kind(scale=given.get("scale", 1.0), **shape)


def _print_account(
    ledger: Ledger, statement: Statement, delta: float, calibrated: Ledger | None
) -> None:
    for release in ledger.releases:
        print(
            f"{release.count:,} × {release.mechanism}, ℓ1 ≤ {release.l1_sensitivity:g}, ℓ2 ≤ "
            f"{release.l2_sensitivity:g}: {release.what}"
        )
    print(f"protects: one {statement.unit}, neighbours: {statement.neighbours}")
    print(statement.label)
    for answer in statement.accounts:
        note = f"  ({answer.note})" if answer.note else ""
        if math.isinf(answer.epsilon):
            print(f"  {answer.title:<27} does not apply{note}")
            continue
        mark = "" if answer.published else "  rests on docs/huber-composition.md, not peer-reviewed"
        print(
            f"  {answer.title:<27} ε = {three(answer.epsilon):<10} δ = {answer.delta:g}{note}{mark}"
        )
    print(f"accounting {statement.how}")
    print(odds_sentence(statement.epsilon, statement.delta, subject(statement.unit)))
    for caveat in statement.caveats:
        print(f"  - {caveat}")
    if calibrated is not None:
        for release in calibrated.releases:
            print(
                f"least noise: {release.mechanism}, standard deviation {release.mechanism.std:.6g}"
            )
        print(f"  with it ε = {three(state(calibrated, delta).epsilon)} at δ = {delta:g}")
