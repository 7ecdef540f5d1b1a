"""The command ``mechanism``: what one noise mechanism is and protects."""

import argparse
from dataclasses import asdict
from typing import Any

import numpy as np

from dpmc_core import limits
from dpmc_core.cli.common.options import whole
from dpmc_core.errors import ParameterError
from dpmc_core.limits import number_of
from dpmc_core.mechanisms import FAMILIES, Mechanism
from dpmc_core.mechanisms.grid import release_on_grid


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("family", choices=list(FAMILIES))
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
        parser.add_argument(
            f"--{name}", metavar="X", help=f"{meaning}; {limits.LIMITS[limit].allowed}"
        )
    parser.add_argument("--seed", default="0", help="seed of the printed samples")
    parser.add_argument(
        "--release",
        metavar="VALUE",
        help="publish this number with noise sampled exactly on a grid (not repeatable)",
    )
    parser.add_argument(
        "--samples", default="0", help="how many noise samples to print (at most 1000)"
    )


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Build the mechanism and print what it is."""
    given = {
        name: limits.parse(name, getattr(arguments, name))
        for name in ("alpha", "scale", "variance", "epsilon", "sensitivity", "delta", "gamma")
        if getattr(arguments, name) is not None
    }
    sensitivity, delta = given.get("sensitivity", 1.0), given.get("delta", 1e-5)
    noise = _build_noise(arguments.family, given, sensitivity, delta)
    count = whole("samples", arguments.samples, 1000)
    rng = np.random.default_rng(int(limits.parse("seed", arguments.seed)))
    released, rounding = None, ""
    if arguments.release is not None:
        try:
            value = number_of(arguments.release)
        except ValueError:
            raise ParameterError("release", arguments.release, "a finite number") from None
        released = release_on_grid(value, noise, sensitivity)
        # all that is said below is of the number that is published
        rounding = f" ({sensitivity:g}, rounded up to the grid)"
        sensitivity = released.sensitivity
    pure = noise.epsilon(sensitivity)
    result: dict[str, Any] = {
        "mechanism": {"name": noise.name, **asdict(noise)},
        "variance": noise.variance,
        "fisher_information": noise.fisher_information,
        "sensitivity": sensitivity,
        "epsilon": pure,
        "delta": delta,
        "epsilon_at_delta": noise.epsilon_at_delta(delta, sensitivity),
        "best_guess": noise.best_guess(sensitivity),
        "protects": (
            "one scalar release whose value moves by at most the sensitivity between "
            "neighbours; exact"
        ),
    }
    if count:
        result["samples"] = [float(x) for x in noise.sample(count, rng)]
    if released is not None:
        result["release"] = asdict(released)
    if not arguments.json:
        print(f"{noise}")
        print(f"variance {noise.variance:.6g}, Fisher information {noise.fisher_information:.6g}")
        print(f"pure ε at sensitivity {sensitivity:g}{rounding}: {pure:.6g}")
        print(f"exact ε at δ = {delta:g}: {result['epsilon_at_delta']:.6g}")
        print(
            f"the best attacker guesses right {100 * result['best_guess']:.2f} times in 100 "
            "(exact, one release; 50 is chance)"
        )
        for x in result.get("samples", []):
            print(f"{x:.17g}")
        if released is not None:
            print(
                f"released {released.value:.17g}, on a grid of {released.step:g}; zCDP "
                f"ρ {released.rho:.6g}"
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
    shape = {"alpha": given["alpha"]} if "alpha" in kind.shape and "alpha" in given else {}
    for name in ("alpha", "gamma"):
        if name in given and name not in kind.shape:
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
        extra = {} if kind.pure else {"delta": delta}
        return kind.with_epsilon(given["epsilon"], sensitivity, **shape, **extra)
    if "alpha" in kind.shape:
        shape.setdefault("alpha", limits.LIMITS["alpha"].default)
    make: Any = kind
    return make(scale=given.get("scale", 1.0), **shape)
