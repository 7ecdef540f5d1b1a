"""What the densities on screen show, in sentences."""

import math
from collections.abc import Sequence

from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.compare import price
from dpmc_core.wording import power, three
from pages.parts.mechanisms.controls import Asked
from pages.parts.ui.figures import IDENTITY

__all__ = ["observations", "verdict"]


def verdict(mechanisms: Sequence[Mechanism], asked: Asked) -> str:
    """Say how well the best attacker on one release with each mechanism guesses; at equal ε, what
    that ε costs in variance.
    """
    if asked.compare == "epsilon":
        return _least_variance(mechanisms, asked)
    equal = {"variance": f"At equal variance {three(asked.variance)}", "free": "At these scales"}[
        asked.compare
    ]
    guesses = sorted(
        (100 * m.best_guess(asked.sensitivity), IDENTITY[m.name].title) for m in mechanisms
    )
    (best, title), *others = guesses
    said = ", ".join(f"{other} {guess:.1f}" for guess, other in others)
    return (
        f"{equal}, {title} noise hides one release best: {best:.1f} right guesses in 100 "
        f"({said}; chance 50)."
    )


def _least_variance(mechanisms: Sequence[Mechanism], asked: Asked) -> str:
    found = sorted((m.variance, IDENTITY[m.name].title, m) for m in mechanisms)
    (least, title, _), *others = found
    said = ", ".join(
        f"{other} {three(variance)}"
        + ("" if math.isfinite(m.epsilon(asked.sensitivity)) else f" with δ = {power(asked.delta)}")
        for variance, other, m in others
    )
    return (
        f"At equal ε = {three(asked.epsilon)} of one release, {title} noise needs the least "
        f"variance: {three(least)} ({said})."
    )


def observations(mechanisms: Sequence[Mechanism], sensitivity: float, delta: float) -> list[str]:
    """What the densities on screen show."""
    by_name = {m.name: m for m in mechanisms}
    out = []
    pure = {name: m.epsilon(sensitivity) for name, m in by_name.items()}
    finite = {name: e for name, e in pure.items() if math.isfinite(e)}
    if finite:
        said = ", ".join(f"{IDENTITY[name].title} {three(e)}" for name, e in finite.items())
        out.append(
            f"Pure ε of one release at sensitivity {three(sensitivity)}: {said}. Gaussian noise "
            "has none."
        )
    if "gaussian" in by_name:
        exact = by_name["gaussian"].epsilon_at_delta(delta, sensitivity)
        out.append(
            f"Gaussian noise reaches ε = {three(exact)} only if the bound may fail with "
            f"probability δ = {power(delta)}."
        )
    if "huber" in by_name and "laplace" in by_name:
        h, la = by_name["huber"], by_name["laplace"]
        if abs(h.variance / la.variance - 1) < 1e-6:
            out.append(
                f"At equal variance Huber's pure ε is {three(pure['huber'] / pure['laplace'])} "
                "times Laplace's. When many releases compose, one at this Δ costs "
                f"{_cost(h, sensitivity)} (Huber), {_cost(la, sensitivity)} (Laplace) and 1 "
                "(Gaussian) in privacy loss; for small shifts that tends to "
                f"{three(h.fisher_information * h.variance)}, 2 and 1."
            )
        elif abs(pure["huber"] / pure["laplace"] - 1) < 1e-6:
            out.append(
                f"At equal pure ε Huber's variance is {three(h.variance / la.variance)} times "
                "Laplace's; that ratio is never below 1."
            )
    return out


def _cost(mechanism: Mechanism, sensitivity: float) -> str:
    return three(price(mechanism, sensitivity))
