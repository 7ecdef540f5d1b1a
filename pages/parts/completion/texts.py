"""What the finished runs on screen show, in sentences."""

import math
from collections.abc import Sequence

from dpmc_core.experiments import RunResult
from dpmc_core.wording import three
from pages.parts.completion.charts import Named

__all__ = ["beaten_by", "beaten_sentence", "noise_sentence", "notice_runs"]


def beaten_sentence(named: Named) -> str:
    """Whether a run beats the baselines, in one sentence."""
    return beaten_by(named.label, named.result)


def beaten_by(label: str, result: RunResult) -> str:
    """The same for a result under any name."""
    lost = [name for name, won in result.beats_baselines.items() if not won]
    value = result.final.test_rmse_clipped
    name, apart, half = result.against_baseline
    best = f"{name} ({three(result.baselines[name])})"
    if abs(apart) <= half:
        return (
            f"{label} ({three(value)} clipped) is not significantly different from the best "
            f"baseline, {best}, by these ratings."
        )
    by = f"the best of them, {best}, by {three(abs(apart))} ± {half:.2g}"
    if not lost:
        return f"{label} ({three(value)} clipped) beats every baseline; {by}."
    return f"{label} ({three(value)} clipped) does not beat: {', '.join(lost)}. It loses to {by}."


def noise_sentence(quiet: Named, noisy: Named) -> str:
    """What noise did to the held-out error, by the paired difference on the same ratings."""
    tests = [n.result.split.test for n in (quiet, noisy)]
    before, after = (
        (n.result.model.predict(t.users, t.items) - t.values) ** 2
        for n, t in zip((quiet, noisy), tests, strict=True)
    )
    change = noisy.result.final.test_rmse - quiet.result.final.test_rmse
    # delta method on √mean: each rating moves the two RMSEs by e²/(2·RMSE)
    pulls = after / (2 * noisy.result.final.test_rmse) - before / (2 * quiet.result.final.test_rmse)
    half = 1.96 * float(pulls.std(ddof=1)) / math.sqrt(pulls.size) if pulls.size > 1 else math.inf
    which = f"Noise ({noisy.label} against {quiet.label})"
    if abs(change) <= half:
        return (
            f"{which} changes the unclipped held-out RMSE by {three(change)} ± {three(half)}: "
            "not significantly different from zero by these ratings."
        )
    verb = "raises" if change > 0 else "lowers"
    why = (
        ""
        if change > 0
        else " Noise can help where there is too little regularisation: try a larger λ."
    )
    return (
        f"{which} {verb} the unclipped held-out RMSE by {three(abs(change))} ± {three(half)}, "
        f"in this one draw of noise.{why}"
    )


def notice_runs(results: Sequence[Named]) -> list[str]:
    """What the finished runs on screen show."""
    out = [beaten_sentence(named) for named in results]
    for noisy in results:
        if not noisy.result.statement.private:
            continue
        bare = noisy.result.spec.replace(mechanism="none", variance=None, epsilon=None, alpha=None)
        for quiet in results:
            if quiet.result.spec == bare and len(quiet.result.metrics) == len(noisy.result.metrics):
                out.append(noise_sentence(quiet, noisy))
        s = noisy.result.statement
        if not s.nominal:
            out.append(
                f"{noisy.label}: everything released counts together as ε = {three(s.epsilon)} "
                f"at δ = {s.delta:g}, "
                + (
                    f"a guarantee for one {s.unit}."
                    if s.secret
                    else f"for one {s.unit}; no guarantee for real data, as the noise is "
                    "repeatable."
                )
            )
            continue
        out.append(
            f"{noisy.label}: one draw counts as nominal ε = {three(s.epsilon_per_draw)}; over "
            f"all {s.draws:,} draws the same count gives {three(s.epsilon)}. Neither is a "
            "guarantee."
        )
    return out
