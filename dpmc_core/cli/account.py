"""The command ``account``: what a ledger costs in all, and the least noise for a budget."""

import argparse
import math

from dpmc_core import limits
from dpmc_core.cli.common.options import add_number, add_words, options_of, refuse
from dpmc_core.cli.mechanism import build_noise
from dpmc_core.errors import ParameterError, one_of
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.privacy import Ledger, Release, Statement, least_noise, read_ledger, state
from dpmc_core.privacy.account import choice_epsilon
from dpmc_core.wording import JsonObject, finite, three

_NOISE = ("alpha", "scale", "variance")
# the range of each, and what it is
_OTHER = {
    "l1": ("sensitivity", "most that one person moves the released vector in the ℓ1 norm"),
    "l2": (
        "sensitivity",
        "the same in the ℓ2 norm; one of the two is enough, 1 if neither is given",
    ),
    "linf": ("sensitivity", "most that one number of it moves (as far as the ℓ2 norm says)"),
    "coordinates": ("coordinates", "length of the released vector (1)"),
    "count": ("count", "how many times it is released (1)"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``account``."""
    parser.add_argument(
        "family", nargs="?", choices=list(FAMILIES), help="the noise, unless --ledger is given"
    )
    text = "a ledger or a run's result, as the app exports it (JSON)"
    add_words(parser, ("--ledger", "FILE", text))
    for name in _NOISE:
        add_number(parser, name, name)
    for name, (limit, meaning) in _OTHER.items():
        add_number(parser, name, limit, meaning=meaning)
    add_number(parser, "delta", "account_delta", 1e-5, "δ at which ε is read")
    target = "also find the least noise, same family and shape, with at most this ε"
    add_number(parser, "target_epsilon", "epsilon", meaning=target)
    best = "also count the best of a random (geometric) number of such runs, with this mean"
    add_number(parser, "best_of", "mean_runs", meaning=best)


def run(arguments: argparse.Namespace) -> JsonObject:
    """Run ``account``: the statement of a ledger, and the least noise for a target."""
    delta, target = arguments.delta, arguments.target_epsilon
    if arguments.ledger is not None:
        allowed = "left out with --ledger, which says it all"
        refuse(arguments, ("family", *_NOISE, *_OTHER), allowed)
        ledger = read_ledger(arguments.ledger)
    elif arguments.family is None:
        raise ParameterError("family", "(none)", one_of(FAMILIES) + ", or give --ledger FILE")
    else:
        ledger = _described(arguments)
    statement = state(ledger, delta)
    if target is not None and ledger.private and not statement.private:
        raise ParameterError("target_epsilon", target, f"left out: {statement.how}")
    result: JsonObject = {"statement": statement.as_dict(), "ledger": ledger.as_dict()}
    calibrated = None
    if target is not None:
        calibrated = least_noise(ledger, target, delta)
        result["least_noise"] = {
            "target_epsilon": target,
            "epsilon": state(calibrated, delta).epsilon,
            "factor": calibrated.releases[0].mechanism.std / ledger.releases[0].mechanism.std,
            "ledger": calibrated.as_dict(),
        }
    if arguments.best_of is not None and statement.private:
        epsilon = choice_epsilon(ledger, arguments.best_of, delta)
        result["choice"] = {"mean_runs": arguments.best_of, "epsilon": finite(epsilon)}
    if not arguments.json:
        _print_account(ledger, statement, delta, calibrated)
        if "choice" in result:
            nominal = "nominal " * statement.nominal
            print(
                f"best of {arguments.best_of:g} such runs on average, by a score that is among "
                f"the releases: {nominal}ε = {three(epsilon)} at δ = {delta:g} (privacy/account.py)"
            )
    return result


def _described(arguments: argparse.Namespace) -> Ledger:
    given = options_of(arguments, _NOISE)
    coordinates, l1, l2 = arguments.coordinates or 1, arguments.l1, arguments.l2
    if l1 is None:
        l1 = 1.0 if l2 is None else coordinates**0.5 * l2
        l2 = l2 or 1.0
    shape = FAMILIES[arguments.family].shape
    if "alpha" in shape:
        given.setdefault("alpha", limits.LIMITS["alpha"].default)
    if "gamma" in shape and "scale" not in given:  # staircase noise has no usual ε here
        given.setdefault("variance", 2.0)
    release = Release(
        what="a vector described on the command line",
        mechanism=build_noise(arguments.family, given, l1, arguments.delta),
        l1_sensitivity=l1,
        l2_sensitivity=l1 if l2 is None else l2,
        linf_sensitivity=arguments.linf,
        unit="record",
        neighbours="add/remove-one",
        coordinates=coordinates,
        count=arguments.count or 1,
        sound=False,
        source="given on the command line",
    )
    return Ledger((release,))


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
    print(statement.odds)
    for caveat in statement.caveats:
        print(f"  - {caveat}")
    if calibrated is not None:
        for release in calibrated.releases:
            print(
                f"least noise: {release.mechanism}, standard deviation {release.mechanism.std:.6g}"
            )
        print(f"  with it ε = {three(state(calibrated, delta).epsilon)} at δ = {delta:g}")
