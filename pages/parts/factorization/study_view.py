"""Studies on the *Factorization* page: many runs for one question.

Their figure, their sentences, and what is shown of them.
"""

import streamlit as st

from dpmc_core.datasets.samples import CORRUPTIONS
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import STARTS
from dpmc_core.experiments.sweeps.tradeoff import Lines, from_where_on
from dpmc_core.metrics.factors import W2V_WARNING
from dpmc_core.wording import measured, power, signed, three
from pages.parts.frame.study import QUIET, Study, total_of

_PUBLISHED = "as published (not private)"


def factor_sentences(result: StudyResult) -> list[str]:
    """What a study shows, from its numbers."""
    of_kind = {
        "rounds": _by_rounds,
        "people": _by_people,
        "parts": _by_parts,
        "start": _by_start,
        "epsilon": _by_epsilon,
    }
    return of_kind.get(result.spec.kind, _by_outliers)(result)


def _private(lines: Lines, algorithm: str) -> str | None:
    """The line of ``algorithm`` with noise."""
    return next(
        (
            name
            for name, points in lines.items()
            if points[0].spec.card.name == algorithm and points[0].spec.noise.kind != "none"
        ),
        None,
    )


def _by_epsilon(result: StudyResult) -> list[str]:
    lines = result.lines()
    moment, corrected = _private(lines, "moment-nmf"), _private(lines, "private-nmf")
    if not moment or not corrected:
        return []
    out = []
    for name in (moment, corrected):
        won = from_where_on([p.against_baseline.better for p in lines[name]])
        if won is not None:
            out.append(
                f"**{name}** is better than the best baseline from ε = "
                f"{three(lines[name][won].x)} on (paired over seeds, 95 %)."
            )
        elif all(len(p.baselines) > 1 for p in lines[name]):
            out.append(
                f"**{name}** is not shown to be better than the best baseline at any ε here."
            )
    shared = [(a, b) for a, b in zip(lines[moment], lines[corrected], strict=False) if a.x == b.x]
    ahead = [a for a, b in shared if a.minus(b).better]
    out.append(
        f"One-shot moment NMF has a significantly lower objective than the corrected algorithm at "
        f"{len(ahead)} of {len(shared)} ε (paired over seeds, 95 % each)."
    )
    return out


def _by_rounds(result: StudyResult) -> list[str]:
    out, lines, epsilons = [], result.lines(), result.lines("epsilon")
    loud, moment = lines.get(_PUBLISHED, []), _private(lines, "moment-nmf")
    if loud:
        first, last = epsilons[_PUBLISHED][0].mean, epsilons[_PUBLISHED][-1].mean
        start, end = (three(loud[k].mean) for k in (0, -1))
        quiet = lines.get("as published, no noise", [])
        beside = f"; without noise it is {three(quiet[0].mean)}" if quiet else ""
        out += [
            f"**As published**, from an overall ε of {three(first)} to {three(last)}, the "
            f"objective goes from {start} to {end}{beside}.",
            "That ε is the overall one by the paper's own formula. It leaves out the start, which "
            "is made of the raw data without noise: as published is not private.",
        ]
    if moment:
        first, last = (lines[moment][k].mean for k in (0, -1))
        out.append(
            "Spending the same overall ε on two releases, one-shot moment NMF goes from "
            f"{three(first)} to {three(last)}."
        )
    return out


def _by_start(result: StudyResult) -> list[str]:
    out, lines = [], result.lines()
    for noise, how in (("", "With noise"), (QUIET, "Without noise")):
        both = [lines.get(f"{title}{noise}", []) for title in STARTS.values()]
        alike = [(a, b) for a, b in zip(*both, strict=False) if a.x == b.x]
        for a, b in alike[-1:]:
            out.append(
                f"{how} NNDSVD is {a.minus(b).than('a random start')} after {a.x:,.0f} rounds: "
                f"objective {three(a.mean)} against {three(b.mean)}."
            )
    return out


def _by_people(result: StudyResult) -> list[str]:
    lines = result.lines("found")
    moment = _private(lines, "moment-nmf")
    if not moment:
        return []
    out = []
    there = from_where_on([p.mean >= 0.9 for p in lines[moment]])
    if there is not None:
        first = lines[moment][there]
        out.append(
            f"**{moment}** finds nine in ten true parts from {first.x:,.0f} "
            f"{first.spec.data.entry.holds} on: privacy needs many of them."
        )
    if published := lines.get(_PUBLISHED):
        out.append(
            f"As published, which is not private, finds {100 * published[-1].mean:.0f} % "
            f"of them in {published[-1].x:,.0f} after 100 rounds."
        )
    return out


def _by_parts(result: StudyResult) -> list[str]:
    out = []
    lines = result.lines()
    if "npmi" in result.measures:
        name = next(n for n in lines if n.startswith("NMF"))
        best = max(result.lines("npmi")[name], key=lambda p: p.mean)
        out.append(
            f"By NPMI, {best.x:.0f} topics go together best without noise ({three(best.mean)})."
        )
    if "tc_w2v" in result.measures:
        out.append(W2V_WARNING)
    moment = _private(lines, "moment-nmf")
    if not out and moment:
        last = lines[moment][-1].mean
        out.append(f"With the most parts the objective is {three(last)} for {moment}.")
    return out


def _by_outliers(result: StudyResult) -> list[str]:
    out, lines = [], result.lines()
    plain, robust = lines.get("NMF, no noise", []), lines.get("Robust NMF, no noise", [])
    for a, b in zip(plain, robust, strict=False):
        apart = b.minus(a)
        if a.x not in (0.1, 0.2) or apart.pairs < 2:  # one seed has no interval
            continue
        kind = CORRUPTIONS[a.spec.data.corruption]
        where = f"With {100 * a.x:.0f} % of the images corrupted ({kind})"
        if not apart.detected:
            out.append(
                f"{where}, robust and plain NMF are not significantly different on the clean "
                f"images ({signed(apart.mean, 4)} ± {apart.half_width:.2g})."
            )
            continue
        percent = 100 / a.mean
        difference = measured(percent * abs(apart.mean), percent * apart.half_width)
        out.append(
            f"{where}, robust NMF has {difference} % {'less' if apart.better else 'more'} error "
            "than plain NMF on clean images."
        )
    return out


def about(result: StudyResult) -> str:
    """What a stored study is of."""
    base, at = result.spec.base, total_of(result.spec)
    what = "cartoon faces" if base.dataset == "cartoon" else "documents on synthetic topics"
    number = "" if result.spec.kind == "people" else f"{base.data.n_samples:,} "
    return f"{number}{what}, K = {base.algorithm.rank}{at}, up to {result.spec.seeds} seeds"


def _method(result: StudyResult) -> None:
    kind, base = result.spec.study, result.spec.base
    unfinished = (
        "" if result.finished else f" Stopped after {len(result.runs)} of {result.total} runs."
    )
    unit = "image" if base.data.entry.holds == "images" else "document"
    replaced = base.algorithm.neighbours == "replace-one"
    change = "replaced by another" if replaced else "added or removed"
    counted = {
        "rounds": (
            f"The ε on the axis is the paper's, of one round, for one {unit} replaced by "
            "another; the lines with a guarantee have the same total ε for the same neighbours."
        ),
        "start": (
            "ε = 0.5 is of one round and nominal: as published has no guarantee, and NNDSVD, which "
            "reads the raw data without noise, is covered by no ε. Starts are compared in pairs of "
            "the same seed and data, 95 %."
        ),
    }.get(
        result.spec.kind,
        f"ε is of one run, at δ = {power(base.noise.delta)}, for one {unit} {change}.",
    )
    lines = (
        ""
        if result.spec.kind in ("people", "parts")
        else (
            " Baselines: "
            + ", ".join(f"{name} {three(value)}" for name, value in result.baselines.items())
            + f"; scikit-learn's NMF {three(result.reference)}."
        )
    )
    st.caption(
        f"{len(result.runs)} runs in {result.seconds:.0f} s. Means over up to {result.spec.seeds} "
        "seeds (noise and start, and the data where they are synthetic or corrupted). Bars: 95 % "
        f"t-intervals of the mean; one run where nothing is random.{unfinished} After "
        f"{kind.source}. Settings stay the same along a line, and were not tuned for its points. "
        "The constants of one-shot moment NMF and of the corrected form were chosen on CBCL, "
        "cartoon faces and synthetic topics, so figures on those are slightly flattered. "
        f"{counted} Lines "
        f"called *no noise* or *not private*, and the dotted ones, protect nobody.{lines} "
        "Objectives and coherence are computed from the data without noise."
    )


STUDY = Study(
    room="factorization",
    name="factor-study",
    live="The runs made so far.",
    sentences=factor_sentences,
    about=about,
    method=_method,
)
