"""What a study of factorisations says, in sentences: the verdict first."""

from dpmc_core.experiments.studies.engine import Point, StudyResult, from_where_on
from dpmc_core.metrics.topics import W2V_WARNING
from dpmc_core.wording import measured, signed, three

Lines = dict[str, list[Point]]
_PUBLISHED = "as published (not private)"


def factor_sentences(result: StudyResult) -> list[str]:
    """What a study shows, from its numbers."""
    lines = result.by_series
    said = {
        "epsilon": _by_epsilon,
        "rounds": _by_rounds,
        "people": _by_people,
        "outliers": _by_outliers,
    }.get(result.spec.kind)
    return _by_parts(result, lines) if said is None else said(lines)


def _one_shot(lines: Lines) -> str | None:
    return next((name for name in lines if name.startswith("One-shot")), None)


def _by_epsilon(lines: Lines) -> list[str]:
    moment = _one_shot(lines)
    corrected = next(
        (n for n in lines if algorithm_of(n) == "private-nmf" and not n.endswith("no noise")), None
    )
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
        elif all(len(p.baseline) > 1 for p in lines[name]):
            out.append(
                f"**{name}** is not shown to be better than the best baseline at any ε here."
            )
    shared = [(a, b) for a, b in zip(lines[moment], lines[corrected], strict=False) if a.x == b.x]
    ahead = [a for a, b in shared if a.minus(b, "objective").better]
    out.append(
        f"One-shot moment NMF has a significantly lower objective than the corrected algorithm at "
        f"{len(ahead)} of {len(shared)} ε (paired over seeds, 95 % each)."
    )
    return out


def _by_rounds(lines: Lines) -> list[str]:
    out = []
    loud, moment = lines.get(_PUBLISHED, []), _one_shot(lines)
    if loud:
        start, end = (three(loud[k].mean("objective")) for k in (0, -1))
        quiet = lines.get("as published, no noise", [])
        beside = f"; without noise it is {three(quiet[0].mean('objective'))}" if quiet else ""
        out += [
            f"**As published**, from an overall ε of {three(loud[0].mean('epsilon'))} to "
            f"{three(loud[-1].mean('epsilon'))}, the objective goes from {start} to {end}{beside}.",
            "That ε is the overall one by the paper's own formula. It leaves out the start, which "
            "is made of the raw data without noise: as published is not private.",
        ]
    if moment:
        first, last = (lines[moment][k].mean("objective") for k in (0, -1))
        out.append(
            "Spending the same overall ε on two releases, one-shot moment NMF goes from "
            f"{three(first)} to {three(last)}."
        )
    return out


def _by_people(lines: Lines) -> list[str]:
    moment = _one_shot(lines)
    if not moment:
        return []
    out = []
    there = from_where_on([p.mean("found") >= 0.9 for p in lines[moment]])
    if there is not None:
        out.append(
            f"**{moment}** finds nine in ten true parts from "
            f"{lines[moment][there].x:,.0f} on: privacy needs many."
        )
    if published := lines.get(_PUBLISHED):
        out.append(
            f"As published, which is not private, finds {100 * published[-1].mean('found'):.0f} % "
            f"of them in {published[-1].x:,.0f} after 100 rounds."
        )
    return out


def _by_parts(result: StudyResult, lines: Lines) -> list[str]:
    out = []
    if "npmi" in result.measures:
        name = next(n for n in lines if n.startswith("NMF"))
        best = max(lines[name], key=lambda p: p.mean("npmi"))
        out.append(
            f"By NPMI, {best.x:.0f} topics go together best without noise "
            f"({three(best.mean('npmi'))})."
        )
    if "tc_w2v" in result.measures:
        out.append(W2V_WARNING)
    moment = _one_shot(lines)
    if not out and moment:
        last = lines[moment][-1].mean("objective")
        out.append(f"With the most parts the objective is {three(last)} for {moment}.")
    return out


def _by_outliers(lines: Lines) -> list[str]:
    out = []
    plain, robust = lines.get("NMF, no noise", []), lines.get("Robust NMF, no noise", [])
    for a, b in zip(plain, robust, strict=False):
        apart = b.minus(a, "objective")
        if a.x not in (0.1, 0.2) or apart.pairs < 2:  # one seed has no interval
            continue
        where = f"With {100 * a.x:.0f} % of the images corrupted"
        if not apart.detected:
            out.append(
                f"{where}, robust and plain NMF are not significantly different on the clean "
                f"images ({signed(apart.mean, 4)} ± {apart.half_width:.2g})."
            )
            continue
        percent = 100 / a.mean("objective")
        said = measured(percent * abs(apart.mean), percent * apart.half_width)
        out.append(
            f"{where}, robust NMF has {said} % {'less' if apart.better else 'more'} error than "
            "plain NMF on clean images."
        )
    return out


def algorithm_of(name: str) -> str:
    """The algorithm that a line of a study belongs to."""
    if name.startswith("Robust"):
        return "robust-nmf"
    if name.startswith("as published"):
        return "private-nmf-published"
    if name.startswith("One-shot"):
        return "moment-nmf"
    return "nmf" if name.startswith("NMF") else "private-nmf"
