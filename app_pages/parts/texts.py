"""Words of the pages.

Lives here: the "What to notice" sentences, written from the numbers on screen by
pure functions. Does not live here: numbers (``dpmc_core``), or what words mean (``glossary``).
"""

import math
from collections.abc import Sequence
from dataclasses import fields

from app_pages.parts.run_charts import Named
from app_pages.parts.style import IDENTITY
from dpmc_core.experiments import RunResult
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.compare import price
from dpmc_core.wording import three

__all__ = [
    "beaten_by",
    "beaten_sentence",
    "describe",
    "noise_sentence",
    "notice_mechanisms",
    "notice_runs",
    "three",
]


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
            f"Gaussian noise reaches ε = {three(exact)} only if the bound may fail with probability δ = {delta:g}."
        )
    guesses = ", ".join(f"{IDENTITY[m.name].title} {100 * m.best_guess(sensitivity):.1f}" for m in mechanisms)
    out.append(
        f"One release, exactly: the best attacker guesses right {guesses} times in 100. ε looks only at the worst outcome, "
        "the guess at all of them."
    )
    if "huber" in by_name and "laplace" in by_name:
        h, la = by_name["huber"], by_name["laplace"]
        if abs(h.variance / la.variance - 1) < 1e-6:
            out.append(
                f"At equal variance Huber's pure ε is {three(pure['huber'] / pure['laplace'])} times Laplace's. When many draws add up, "
                f"a draw at this Δ costs {_cost(h, sensitivity)} (Huber), {_cost(la, sensitivity)} (Laplace) and 1 (Gaussian) in privacy loss; for small "
                f"shifts that tends to {three(h.fisher_information * h.variance)}, 2 and 1."
            )
        elif abs(pure["huber"] / pure["laplace"] - 1) < 1e-6:
            out.append(
                f"At equal pure ε Huber's variance is {three(h.variance / la.variance)} times Laplace's; that ratio is never below 1."
            )
    return out


def _cost(mechanism: Mechanism, sensitivity: float) -> str:
    return three(price(mechanism, sensitivity))


def beaten_sentence(named: Named) -> str:
    """Whether a run beats the trivial predictors, in one sentence."""
    return beaten_by(named.label, named.result)


def beaten_by(label: str, result: RunResult) -> str:
    """The same for a result under any name."""
    lost = [name for name, won in result.beats_trivial.items() if not won]
    value = result.final.test_rmse_clipped
    name, apart, half = result.against_trivial
    best = f"{name} ({three(result.trivial[name])})"
    if abs(apart) <= half:
        return f"{label} ({three(value)} clipped) is not told apart from the best trivial predictor, {best}, by these ratings."
    by = f"the best of them, {best}, by {three(abs(apart))} ± {half:.2g}"
    if not lost:
        return f"{label} ({three(value)} clipped) beats every trivial predictor; {by}."
    return f"{label} ({three(value)} clipped) does not beat: {', '.join(lost)}. It loses to {by}."


def noise_sentence(quiet: Named, noisy: Named) -> str:
    """What noise did to the held-out error, by the paired difference on the same ratings."""
    tests = [n.result.split.test for n in (quiet, noisy)]
    before, after = (
        (n.result.model.predict(t.users, t.items) - t.values) ** 2 for n, t in zip((quiet, noisy), tests, strict=True)
    )
    change = noisy.result.final.test_rmse - quiet.result.final.test_rmse
    # delta method on √mean: each rating moves the two RMSEs by e²/(2·RMSE)
    pulls = after / (2 * noisy.result.final.test_rmse) - before / (2 * quiet.result.final.test_rmse)
    half = 1.96 * float(pulls.std(ddof=1)) / math.sqrt(pulls.size) if pulls.size > 1 else math.inf
    which = f"Noise ({noisy.label} against {quiet.label})"
    if abs(change) <= half:
        return f"{which} changes the unclipped held-out RMSE by {three(change)} ± {three(half)}: not told apart from nothing by these ratings."
    verb = "raises" if change > 0 else "lowers"
    why = "" if change > 0 else " Noise can help where there is too little regularisation: try a larger λ."
    return f"{which} {verb} the unclipped held-out RMSE by {three(abs(change))} ± {three(half)}, in this one draw of noise.{why}"


def notice_runs(results: Sequence[Named]) -> list[str]:
    """What the finished runs on screen show."""
    out = [beaten_sentence(named) for named in results]
    for noisy in results:
        if not noisy.result.statement.private:
            continue
        bare = noisy.result.spec.but(mechanism="none", variance=None, epsilon=None, alpha=None)
        for quiet in results:
            if quiet.result.spec == bare and len(quiet.result.metrics) == len(noisy.result.metrics):
                out.append(noise_sentence(quiet, noisy))
        s = noisy.result.statement
        if not s.nominal:
            out.append(
                f"{noisy.label}: everything released counts together as ε = {three(s.epsilon)} at δ = {s.delta:g}, a guarantee for one {s.unit}."
            )
            continue
        out.append(
            f"{noisy.label}: one draw counts as nominal ε = {three(s.epsilon_per_draw)}; over all {s.draws:,} draws the same count gives "
            f"{three(s.epsilon)}. Neither is a guarantee."
        )
    return out
