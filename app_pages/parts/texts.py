"""Words of the pages.

Lives here: definitions that a hover shows, and the "What to notice" sentences, written from the numbers on screen by
pure functions. Does not live here: numbers (``dpmc_core``).
"""

import math
from collections.abc import Sequence
from dataclasses import fields

from app_pages.parts.run_charts import Named
from app_pages.parts.style import IDENTITY
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy import guess_bound

__all__ = ["DEFINITIONS", "beaten_sentence", "describe", "notice_mechanisms", "notice_runs", "three"]

DEFINITIONS = {
    "epsilon": "ε (epsilon) bounds how much more likely any output becomes when one person's data changes: by a factor "
    "of at most e^ε. Smaller is more private.",
    "delta": "δ (delta) is a small probability with which the ε bound may fail.",
    "sensitivity": "The most that one person's data can move the released number.",
    "alpha": "α: Huber noise looks Gaussian within ±α scales of zero and exponential (like Laplace) beyond.",
    "rmse": "Root mean squared error: the typical distance between prediction and rating, in rating units.",
    "nominal": "Nominal: counted as the paper counts, with an assumed sensitivity. It is not a guarantee.",
    "trivial": "A trivial predictor uses no factors and no noise, for example everybody's mean rating.",
}


def three(value: float) -> str:
    """Three significant digits.

    >>> three(0.12345), three(1234.5), three(float("inf"))
    ('0.123', '1,230', '∞')
    """
    if math.isinf(value):
        return "∞"
    if value and abs(value) >= 1000:
        digits = len(str(int(abs(value)))) - 3
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}"


def describe(mechanism: Mechanism) -> str:
    """A mechanism and its parameters in a few words.

    >>> from dpmc_core.mechanisms import Huber
    >>> describe(Huber(alpha=1.07597, scale=1.0))
    'Huber noise, α = 1.08, scale = 1'
    """
    names = {"alpha": "α", "epsilon_design": "ε", "gamma": "γ", "sensitivity": "Δ"}
    parameters = ", ".join(
        f"{names.get(f.name, f.name)} = {three(getattr(mechanism, f.name))}" for f in fields(mechanism)
    )
    return f"{IDENTITY[mechanism.name].title} noise, {parameters}"


def notice_mechanisms(mechanisms: Sequence[Mechanism], sensitivity: float, delta: float) -> list[str]:
    """What the densities on screen show."""
    by_name = {m.name: m for m in mechanisms}
    out = []
    pure = {name: m.epsilon(sensitivity) for name, m in by_name.items()}
    finite = {name: e for name, e in pure.items() if math.isfinite(e)}
    if finite:
        said = ", ".join(f"{IDENTITY[name].title} {three(e)}" for name, e in finite.items())
        out.append(f"Pure ε of one release at sensitivity {three(sensitivity)}: {said}. Gaussian noise has none.")
    if "gaussian" in by_name:
        exact = by_name["gaussian"].epsilon_at_delta(delta, sensitivity)
        out.append(
            f"Gaussian noise reaches ε = {three(exact)} only if the bound may fail with probability δ = {delta:g}: an "
            f"attacker is right at most {100 * guess_bound(exact, delta):.1f} times in 100."
        )
    if "huber" in by_name and "laplace" in by_name:
        h, la = by_name["huber"], by_name["laplace"]
        if abs(h.variance / la.variance - 1) < 1e-6:
            out.append(
                f"At equal variance Huber's pure ε is {three(pure['huber'] / pure['laplace'])} times Laplace's, but one "
                f"draw costs {three(h.fisher_information * h.variance)} instead of 2 where many draws add up (1 is Gaussian)."
            )
        elif abs(pure["huber"] / pure["laplace"] - 1) < 1e-6:
            out.append(
                f"At equal pure ε Huber's variance is {three(h.variance / la.variance)} times Laplace's; it is never below 1."
            )
    return out


def beaten_sentence(named: Named) -> str:
    """Whether a run beats the trivial predictors, in one sentence."""
    result = named.result
    lost = [name for name, won in result.beats_trivial.items() if not won]
    value = result.final.test_rmse_clipped
    if not lost:
        return f"{named.label} ({three(value)} clipped) beats every trivial predictor."
    best = min(result.trivial.items(), key=lambda item: item[1])
    names = ", ".join(lost)
    return f"{named.label} ({three(value)} clipped) does not beat: {names}. The best of them, {best[0]}, has {three(best[1])}."


def notice_runs(results: Sequence[Named]) -> list[str]:
    """What the finished runs on screen show."""
    out = [beaten_sentence(named) for named in results]
    quiet = [n for n in results if not n.result.statement.private]
    noisy = [n for n in results if n.result.statement.private]
    if quiet and noisy:
        a, b = quiet[0].result.final, noisy[0].result.final
        change = b.test_rmse - a.test_rmse
        if abs(change) <= a.test_half_width:
            verb = "changes the held-out RMSE by less than its interval"
        else:
            verb = f"{'raises' if change > 0 else 'lowers'} the held-out RMSE by {three(abs(change))}"
            if change < 0:
                verb += ": noise that helps is a sign of too little regularisation"
        out.append(f"Noise ({noisy[0].label} against {quiet[0].label}) {verb}.")
    if noisy:
        s = noisy[0].result.statement
        out.append(
            f"{noisy[0].label}: the papers would print ε = {three(s.epsilon_per_draw)}; the same count over all "
            f"{s.draws:,} draws is {three(s.epsilon)}. Both are nominal, not guarantees."
        )
    return out
