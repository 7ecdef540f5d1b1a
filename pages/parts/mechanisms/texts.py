"""What the densities on screen show, in sentences."""

import math
from collections.abc import Sequence

from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.compare import price
from dpmc_core.wording import power, three
from pages.parts.mechanisms.controls import Asked
from pages.parts.ui.looks import IDENTITY

_SURE = 99.95  # right guesses in 100 that would be written as 100


def verdict(mechanisms: Sequence[Mechanism], request: Asked) -> str:
    """Say how well the best attacker on one release with each mechanism guesses; at equal ε, what
    that ε costs in variance.
    """
    if request.compare == "epsilon":
        return _least_variance(mechanisms, request)
    sensitivity = request.sensitivity
    equal = {
        "variance": f"At equal variance {three(request.variance)} (Δ = {three(sensitivity)})",
        "free": f"At these scales (Δ = {three(sensitivity)})",
    }[request.compare]
    guesses = [(100 * m.best_guess(sensitivity), IDENTITY[m.name].title) for m in mechanisms]
    written = {title: f"{guess:.1f}" for guess, title in guesses}
    least = min(guesses)[0]
    if least >= _SURE:
        return f"{equal}, no noise protects one release: the best attacker is nearly always right."
    best = [title for title, guess in written.items() if guess == f"{least:.1f}"]
    others = [f"{title} {guess}" for title, guess in written.items() if title not in best]
    beside = f" ({', '.join(others)})" if others else ""
    return (
        f"{equal}, {_listed(best)} noise protect{'s' * (len(best) == 1)} one release best: at "
        f"most {least:.1f} % right guesses{beside}."
    )


def _listed(titles: Sequence[str]) -> str:
    return " and ".join(titles) if len(titles) < 3 else ", ".join(titles)


def _least_variance(mechanisms: Sequence[Mechanism], request: Asked) -> str:
    """Say which noise needs the least variance; those that are written alike are equal."""
    by_variance = sorted((m.variance, IDENTITY[m.name].title, m) for m in mechanisms)

    def fails(m: Mechanism) -> str:
        pure = math.isfinite(m.epsilon(request.sensitivity))
        return "" if pure else f" with δ = {power(request.delta)}"

    least = three(by_variance[0][0])
    best = [(title, m) for variance, title, m in by_variance if three(variance) == least]
    rest = ", ".join(
        f"{title} {three(variance)}{fails(m)}"
        for variance, title, m in by_variance
        if three(variance) != least
    )
    return (
        f"At equal ε = {three(request.epsilon)} of one release, "
        f"{_listed([f'{title} noise{fails(m)}' for title, m in best])} "
        f"need{'s' * (len(best) == 1)} the least variance: {least}{f' ({rest})' if rest else ''}."
    )


def observations(mechanisms: Sequence[Mechanism], sensitivity: float, delta: float) -> list[str]:
    """What the densities on screen show."""
    by_name = {m.name: m for m in mechanisms}
    out = []
    pure = {name: m.epsilon(sensitivity) for name, m in by_name.items()}
    finite = {name: e for name, e in pure.items() if math.isfinite(e)}
    hardest = min(mechanisms, key=lambda m: m.best_guess(sensitivity))
    apart = len({three(e) for e in finite.values()}) > 1
    safest = min(finite, key=finite.__getitem__) if finite else ""
    if (
        apart
        and pure[hardest.name] > finite[safest] * 1.001
        and not _alike(hardest, by_name[safest], sensitivity)
    ):
        out.append(
            f"Here {IDENTITY[hardest.name].title} noise is best on average, "
            f"{IDENTITY[safest].title} noise in the worst case, which ε describes."
        )
    if finite:
        summary = ", ".join(f"{IDENTITY[name].title} {three(e)}" for name, e in finite.items())
        out.append(
            f"Pure ε of one release (Δ = {three(sensitivity)}): {summary}; Gaussian noise has none."
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
                f"In a long composition each release costs {_cost(h, sensitivity)} (Huber) or "
                f"{_cost(la, sensitivity)} (Laplace) times as much as with Gaussian noise of equal "
                "variance; for small sensitivities that tends to "
                f"{three(h.fisher_information * h.variance)} and 2."
            )
            others = [by_name[name] for name in ("gaussian", "laplace") if name in by_name]
            far = {m.name: h.total_variation(m) for m in others}
            named = ", ".join(
                f"in {50 * (1 + x):.2f} of 100 cases between Huber and {IDENTITY[name].title} "
                f"noise (total variation {three(x)})"
                for name, x in far.items()
            )
            out.append(f"Of one draw of either, equally likely, the best guess is right {named}.")
        elif abs(pure["huber"] / pure["laplace"] - 1) < 1e-6:
            out.append(
                f"At equal pure ε the variance of Huber noise is {three(h.variance / la.variance)} "
                "times that of Laplace noise; it is never smaller."
            )
    return out


def _alike(one: Mechanism, other: Mechanism, sensitivity: float) -> bool:
    """Whether the best attackers on two mechanisms are written as equally good."""
    first, second = (f"{100 * m.best_guess(sensitivity):.1f}" for m in (one, other))
    return first == second


def _cost(mechanism: Mechanism, sensitivity: float) -> str:
    return three(price(mechanism, sensitivity))
