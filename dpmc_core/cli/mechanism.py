"""The command ``mechanism``: what one noise mechanism is and protects."""

import argparse
from dataclasses import asdict
from typing import Any

import numpy as np

from dpmc_core.cli.common.options import add_number, add_words, options_of
from dpmc_core.errors import ParameterError
from dpmc_core.limits import LIMITS, Limit, number_of
from dpmc_core.mechanisms import FAMILIES, Mechanism
from dpmc_core.mechanisms.grid import release_on_grid
from dpmc_core.wording import JsonObject

_NOISE = ("alpha", "scale", "variance", "epsilon", "gamma")
_SAMPLES = Limit(0, 1000, "how many noise samples to print", integer=True, name="samples")


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("family", choices=list(FAMILIES))
    for name, default, meaning in (
        ("alpha", None, "Huber's transition parameter"),
        ("scale", None, "scale of the noise (σ for gaussian, b for laplace)"),
        ("variance", None, "instead of --scale: the noise with this variance"),
        (
            "epsilon",
            None,
            "instead of --scale: the noise with this ε at --sensitivity (staircase: its design ε)",
        ),
        ("sensitivity", 1.0, "most that one person moves the released number"),
        ("delta", 1e-5, "δ at which ε is read"),
        ("gamma", None, "staircase's step position (default: least variance)"),
        ("seed", 0, "seed of the printed samples"),
    ):
        add_number(parser, name, name, default, meaning)
    text = "publish this number with noise sampled exactly on a grid (not repeatable)"
    add_words(parser, ("--release", "VALUE", text))
    add_number(parser, "samples", _SAMPLES, 0)


def run(arguments: argparse.Namespace) -> JsonObject:
    """Build the mechanism and print what it is."""
    given = options_of(arguments, _NOISE)
    sensitivity, delta = arguments.sensitivity, arguments.delta
    noise = build_noise(arguments.family, given, sensitivity, delta)
    rng = np.random.default_rng(arguments.seed)
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
    result: JsonObject = {
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
    if arguments.samples:
        result["samples"] = noise.sample(arguments.samples, rng).tolist()
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


def build_noise(
    family: str, given: dict[str, float], sensitivity: float, delta: float
) -> Mechanism:
    """The noise that the ``given`` options set: one of its scale, its variance and its ε at this
    ``sensitivity`` (and ``delta``), and its shape. Raises ``ParameterError``.
    """
    kind: Any = FAMILIES[family]
    if family == "staircase" and "scale" in given:
        allowed = "left out for staircase, which is set by its variance or its ε"
        raise ParameterError("scale", given["scale"], allowed)
    ways = [name for name in ("scale", "variance", "epsilon") if name in given]
    if len(ways) > 1:
        allowed = f"left out when {ways[0]} is given (one of them sets the noise)"
        raise ParameterError(ways[1], given[ways[1]], allowed)
    for name in ("alpha", "gamma"):
        if name in given and name not in kind.shape:
            raise ParameterError(name, given[name], f"left out for {family}, which has no {name}")
    shape = {name: given[name] for name in kind.shape if name in given}
    if "variance" in given and "gamma" in given:
        allowed = "left out with variance, which takes the least-variance gamma"
        raise ParameterError("gamma", given["gamma"], allowed)
    if "variance" in given:
        at = {"sensitivity": sensitivity} if family == "staircase" else {}
        return kind.with_variance(given["variance"], **shape, **at)
    if "epsilon" in given or family == "staircase":
        extra = {} if kind.pure else {"delta": delta}
        return kind.with_epsilon(given.get("epsilon", 1.0), sensitivity, **shape, **extra)
    if "alpha" in kind.shape:
        shape.setdefault("alpha", LIMITS["alpha"].default)
    return kind(scale=given.get("scale", 1.0), **shape)
