"""The sentences of the *Completion* page.

What it compares, who is protected, and the recommended method; then what the finished runs on
screen show.
"""

import math
from collections.abc import Sequence
from dataclasses import fields, replace

import streamlit as st
from scipy import special

from dpmc_core.experiments import RunResult, RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import recommended_algorithm
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.findings import BASELINE, NoiseEffect, noise_and_baseline
from dpmc_core.metrics import Comparison, clipped
from dpmc_core.metrics.ratings import compared_rmse
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.wording import measured, possessive, power, three
from pages.parts.completion.charts import Named
from pages.parts.completion.controls import QUESTIONS
from pages.parts.ui.looks import NOISES, lowered

_QUESTIONS = {
    "compare": (
        "A matrix of ratings is completed from the few that are known, with and without noise. "
        "The error is measured on held-out ratings. The dotted lines are **baselines**: a model "
        "above them has learned nothing useful."
    ),
    "recommend": (
        "The model learns which items people like together, with and without noise, and "
        "recommends items to **held-out** users. The dotted lines are baselines: a model below "
        "*most liked* has learned nothing useful."
    ),
    "skew": (
        "To bound what one user can change, at most k of their ratings take part. Three ways to "
        "choose them: *uniform* (at random), *adaptive* (the items that fewest people rated) "
        "and *all, by weights* (all ratings, rare items with more weight)."
    ),
}


def introduction(question: str, specs: Sequence[RunSpec]) -> None:
    """Say what is compared, what is protected, and which method is recommended."""
    study = STUDIES["completion"].get(question)
    intro = _QUESTIONS.get(question, _QUESTIONS["compare"])  # lists are of the same runs
    if study is not None:
        intro = (
            f"{study.intro} Many runs, the same settings along each line"
            f"{', and the baseline' * study.protected}."
        )
    st.markdown(f"**{QUESTIONS[question]}** {intro}")
    noisy = [s for s in specs if s.card.guarantee and s.noise.kind != "none"]
    if any(s.card.unit == "rating" and s.noise.kind != "none" for s in specs):
        st.markdown(
            "**Where one rating is protected, as published**, neighbouring datasets differ in the "
            "value of one rating. Users' factors are computed without noise, and sensitivities are "
            "assumed: ε is nominal, and no guarantee."
        )
    if noisy and question != "skew":
        st.markdown(
            "**Where one user is protected, neighbouring datasets differ in all their ratings.** "
            "Only noisy statistics about items are released; each user's own factors are computed "
            "from their own ratings (*joint* differential privacy). ε is the total of one run; "
            "several runs on the same people compose."
        )
        if (epsilon := noisy[0].noise.epsilon) is not None:
            odds = odds_sentence(epsilon, noisy[0].noise.delta, subject("user"))
            st.markdown(f"At ε = {three(epsilon)}: {odds}")
            if study is None:
                choice = recommended_algorithm(noisy[0])
                st.markdown(
                    f"**Recommended method: {ALGORITHMS[choice.algorithm].title}.** "
                    f"{choice.why[0].upper()}{choice.why[1:]}. This rule uses sizes and ε only; "
                    "it reads no rating."
                )


def verdict(results: Sequence[Named]) -> str:
    """Say how a run stands against the next best at the same ε, else against itself without noise,
    and against the best baseline.

    Of several that with the least error, which of different ε is mostly the largest's, of those
    with a guarantee if any has one, else of those with noise.
    """
    private = [n for n in results if n.result.statement.private]
    private = [n for n in private if not n.result.statement.nominal] or private or list(results)
    best, *others = sorted(private, key=lambda n: n.result.final.test_rmse_clipped)
    # of one rating and of one user, one ε says different things
    mixed = len({(n.result.statement.unit, _epsilon(n.result)) for n in private}) > 1
    alike = bool(others) and not mixed and all(n.result.finished for n in private)
    epsilon, spec, where = _epsilon(best.result), best.result.spec, []
    if not best.result.finished:
        where = [f"after {best.result.final.iteration} of {spec.length} iterations"]
    where.append(f"at {epsilon} (one draw)" if epsilon else "without noise")
    name, noise = lowered(spec.card.title), NOISES[spec.noise.mechanism]
    quiet = next(iter(_quiet(best, results)), None)
    standing = best.result.against_baseline
    if alike:
        where.append(f"{_below(best, others)}, and {standing.than(BASELINE)}.")
    elif quiet is None:
        rmse = three(best.result.final.test_rmse_clipped, zeros=True)
        error = f"{name}{f' with {noise} noise' * bool(epsilon)} has RMSE {rmse}"
        where.append(f"{_cost(best, results) or error}, {standing.than(BASELINE)}.")
    else:
        change = _paired(quiet.result, best.result, clip=True)
        effect = NoiseEffect(change, quiet.result.final.test_rmse_clipped)
        without = quiet.result.against_baseline
        where.append(f"{noise_and_baseline(noise, name, effect, standing, without)}.")
    sentence = ", ".join(where)
    if mixed:
        return f"The best of {len(private)} runs: {sentence}"
    return sentence[0].upper() + sentence[1:]


def _cost(best: Named, results: Sequence[Named]) -> str:
    """Say how far the error of a private run lies from the least of those without noise, "" if none
    is there or not all have ended.
    """
    quiet = [n.result for n in results if not n.result.statement.private]
    if (
        not quiet
        or not best.result.statement.private
        or not all(n.result.finished for n in results)
    ):
        return ""
    other = min(quiet, key=lambda result: result.final.test_rmse_clipped)
    change = _chosen(other, best.result, (len(results) - len(quiet)) * len(quiet))
    percent = 100 / other.final.test_rmse_clipped
    size = measured(percent * abs(change.mean), percent * change.half_width)
    where = f"{size} % {'above' if change.worse else 'below'}"
    if not change.detected:
        where = "not significantly different from"
    ours, theirs = (possessive(lowered(result.spec.card.title)) for result in (best.result, other))
    return f"{ours} RMSE is {where} noiseless {theirs}"


def _below(best: Named, others: Sequence[Named]) -> str:
    """By how much the error of the ``best`` run is below that of the next of the ``others``.

    The interval is over held-out ratings, for all pairs of runs at once: which are compared is
    chosen by their errors.
    """
    other = others[0]
    specs = [named.result.spec for named in (best, other)]
    names = [lowered(spec.card.title) for spec in specs]
    noises = [NOISES[spec.noise.mechanism] for spec in specs]
    marks = noises if noises[0] != noises[1] else [best.letter, other.letter]
    if marks is noises or names[0] == names[1]:
        names = [f"{name} ({mark})" for name, mark in zip(names, marks, strict=True)]
    change = _chosen(other.result, best.result, math.comb(len(others) + 1, 2))
    if not change.detected:
        return f"{possessive(names[0])} error is {change.than(possessive(names[1]))}"
    percent = 100 / other.result.final.test_rmse_clipped
    size = measured(-percent * change.mean, percent * change.half_width)
    return f"{possessive(names[0])} error is {size} % below {possessive(names[1])}"


def _chosen(other: RunResult, best: RunResult, pairs: int) -> Comparison:
    """The change from ``other`` to ``best``, which were chosen among so many ``pairs`` by their
    errors: the interval holds for all pairs at once (Bonferroni).
    """
    change, quantile = _paired(other, best, clip=True), float(special.ndtri(1 - 0.025 / pairs))
    return replace(change, half_width=change.half_width * quantile / 1.96)


def _epsilon(result: RunResult) -> str:
    """The total ε of a private run, for a verdict."""
    if not result.statement.private:
        return ""
    if result.statement.nominal:
        return f"nominal total ε = {three(result.statement.epsilon)}"
    return f"total ε = {three(result.spec.noise.epsilon or result.statement.epsilon)}"


def _quiet(noisy: Named, results: Sequence[Named]) -> list[Named]:
    """Find the same run without noise, as far along."""
    if not noisy.result.statement.private:
        return []
    spec, steps = noisy.result.spec, len(noisy.result.metrics)
    same = [f.name for f in fields(spec) if f.name not in ("noise", "secret")]
    return [
        quiet
        for quiet in results
        if not quiet.result.statement.private
        and len(quiet.result.metrics) == steps
        and all(getattr(quiet.result.spec, name) == getattr(spec, name) for name in same)
    ]


def beaten_sentence(named: Named) -> str:
    """Whether a run beats the baselines, in one sentence."""
    result = named.result
    value = result.final.test_rmse_clipped
    name, apart = result.best_baseline, result.against_baseline
    comparison = apart.than(
        f"the best baseline, {name} ({three(result.baselines[name], zeros=True)}), by "
    )
    by = (
        f"{three(abs(apart.mean))} ± {apart.half_width:.2g}"
        if apart.detected
        else "these held-out ratings"
    )
    return f"{named.label} (RMSE {three(value, zeros=True)}, clipped) is {comparison}{by}."


def _paired(quiet: RunResult, noisy: RunResult, *, clip: bool) -> Comparison:
    """The change of the held-out RMSE by noise."""
    squares = []
    for result in (noisy, quiet):
        test = result.split.test
        predicted = test.predicted_by(result.model)
        squares.append(((clipped(predicted, test) if clip else predicted) - test.values) ** 2)
    return compared_rmse(*squares)


def noise_sentence(quiet: Named, noisy: Named) -> str:
    """What noise did to the held-out error, by the paired difference on the same ratings."""
    change = _paired(quiet.result, noisy.result, clip=False)
    size, half = three(abs(change.mean)), three(change.half_width)
    which = f"Noise ({noisy.label} against {quiet.label})"
    if not change.detected:
        return (
            f"{which} changes the unclipped held-out RMSE by {three(change.mean)} ± {half}: "
            "no significant difference on these held-out ratings."
        )
    verb = "raises" if change.worse else "lowers"
    why = (
        ""
        if change.worse
        else " Noise can help where there is too little regularisation: try a larger λ."
    )
    return (
        f"{which} {verb} the unclipped held-out RMSE by {size} ± {half}, "
        f"in this one draw of noise.{why}"
    )


def observations(results: Sequence[Named]) -> list[str]:
    """What the finished runs on screen show."""
    out = [beaten_sentence(named) for named in results]
    if sum(named.result.statement.private for named in results) > 1:
        out.append(
            "Intervals are over held-out ratings; another draw of noise moves errors too. "
            "*Tradeoffs* repeats runs over seeds."
        )
    protected = []
    for noisy in results:
        if not noisy.result.statement.private:
            continue
        out += [noise_sentence(quiet, noisy) for quiet in _quiet(noisy, results)]
        s = noisy.result.statement
        if not s.nominal:
            protected.append(
                f"{noisy.label}: all releases together have ε = {three(s.epsilon)} at "
                f"δ = {power(s.delta)}, "
                + (
                    f"a guarantee for one {s.unit}."
                    if s.secret
                    else f"for one {s.unit}; for teaching: the noise follows from its seed, so "
                    "it is no guarantee for real data."
                )
            )
            continue
        if s.uncovered:
            protected.append(f"{noisy.label}: {s.label}; not a guarantee.")
            continue
        published = "" if noisy.result.spec.noise.kind == "total" else "as published; "
        protected.append(
            f"{noisy.label}: nominal ε = {three(s.epsilon_per_draw)} for each of {s.draws:,} "
            f"releases, {three(s.epsilon)} together ({published}not a guarantee)."
        )
    spread = [
        (named.letter, named.result.spec.card.title, named.result.statement)
        for named in results
        if named.result.spec.noise.kind == "total" and named.result.statement.nominal
    ]
    if len({s.draws for *_, s in spread}) > 1:
        each = "; ".join(
            f"{letter}, {title}: {s.draws:,} of ε = {three(s.epsilon_per_draw)}"
            for letter, title, s in spread
        )
        protected.insert(0, f"A total ε is spread over all releases of a run: {each}.")
    return protected[:1] + out + protected[1:]
