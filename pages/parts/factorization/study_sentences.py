"""What a study of factorisations says, in sentences."""

from dpmc_core.experiments.studies.result import Point, StudyResult
from dpmc_core.metrics.topics import W2V_WARNING
from dpmc_core.wording import signed, three

__all__ = ["algorithm_of", "factor_sentences", "from_where_on", "series_of"]


def factor_sentences(result: StudyResult) -> list[str]:
    """What a study shows, from its numbers."""
    kind, by_name = result.spec.kind, series_of(result)
    out = []

    def end(name: str, measure: str, place: int = -1) -> float:
        return by_name[name][place].mean(measure)

    moment = next((n for n in by_name if n.startswith("One-shot")), None)
    sound = next(
        (n for n in by_name if algorithm_of(n) == "private-nmf" and not n.endswith("no noise")),
        None,
    )
    if kind == "epsilon" and moment and sound:
        for name in (moment, sound):
            won = from_where_on(
                [p.against_baseline[0] + p.against_baseline[1] < 0 for p in by_name[name]]
            )
            if won is not None:
                out.append(
                    f"**{name}** is better than the best baseline from ε = "
                    f"{three(by_name[name][won].x)} on (paired over seeds, 95 %)."
                )
            elif all(len(p.baseline) > 1 for p in by_name[name]):
                out.append(
                    f"**{name}** is not shown to be better than the best baseline at any ε here."
                )
        shared = [
            (a, b) for a, b in zip(by_name[moment], by_name[sound], strict=False) if a.x == b.x
        ]
        ahead = [a.x for a, b in shared if a.mean("objective") < b.mean("objective")]
        out.append(
            f"One-shot moment NMF has the lower mean objective at {len(ahead)} of {len(shared)} ε."
        )
    if kind == "rounds":
        loud = by_name.get("as published (not private)", [])
        if loud:
            low, high = (
                min(p.mean("objective") for p in loud),
                max(p.mean("objective") for p in loud),
            )
            where = (
                f"at {low:.5f}"
                if f"{low:.5f}" == f"{high:.5f}"
                else f"between {low:.5f} and {high:.5f}"
            )
            out.append(
                f"**As published, ε hardly matters**: its objective stays {where} while the "
                "overall ε by the paper's own formula goes from "
                f"{three(loud[0].mean('epsilon'))} to {three(loud[-1].mean('epsilon'))}. Noise "
                "that changes nothing protects nothing: the parts are the raw data's."
            )
        if moment:
            out.append(
                f"Spending the same overall ε on two releases, {moment} goes from "
                f"{three(end(moment, 'objective', 0))} to {three(end(moment, 'objective'))}."
            )
    if kind == "people" and moment:
        there = from_where_on([p.mean("found") >= 0.9 for p in by_name[moment]])
        if there is not None:
            out.append(
                f"**{moment}** finds nine in ten true parts from "
                f"{by_name[moment][there].x:,.0f} on: privacy needs many."
            )
        published = by_name.get("as published (not private)")
        if published:
            out.append(
                f"As published finds {100 * published[-1].mean('found'):.0f} % even of the "
                "most: its parts stay where the singular vectors put them."
            )
    if kind == "parts":
        if "npmi" in result.measures:
            name = next(n for n in by_name if n.startswith("NMF"))
            best = max(by_name[name], key=lambda p: p.mean("npmi"))
            out.append(
                f"By NPMI, {best.x:.0f} topics go together best without noise "
                f"({three(best.mean('npmi'))})."
            )
        if "tc_w2v" in result.measures:
            out.append(W2V_WARNING)
        if not out and moment:
            out.append(
                f"With the most parts the objective is {three(end(moment, 'objective'))} for "
                f"{moment}."
            )
    if kind == "outliers":
        plain, robust = by_name.get("NMF, no noise", []), by_name.get("Robust NMF, no noise", [])
        for a, b in zip(plain, robust, strict=False):
            seeds = min(
                len(a.values["objective"]), len(b.values["objective"])
            )  # a study may be stopped between the two
            if a.x in (0.1, 0.2) and seeds > 1:
                pairs = (b.values["objective"][:seeds], a.values["objective"][:seeds])
                apart = Point(
                    series="", x=a.x, values={"objective": pairs[0]}, baseline=pairs[1]
                ).against_baseline
                told = "" if abs(apart[0]) > apart[1] else ", not significantly different from zero"
                out.append(
                    f"With {100 * a.x:.0f} % corrupted, robust minus plain is "
                    f"{signed(apart[0], 4)} ± {apart[1]:.2g} on the clean images{told}."
                )
    return out


def from_where_on(held: list[bool]) -> int | None:
    """Where the last unbroken run of True begins that reaches the end.

    None if the last is False.
    """
    place = len(held)
    while place and held[place - 1]:
        place -= 1
    return place if place < len(held) else None


def series_of(result: StudyResult) -> dict[str, list[Point]]:
    """The points of each line, in order of x."""
    out: dict[str, list[Point]] = {}
    for point in result.points:
        out.setdefault(point.series, []).append(point)
    return {name: sorted(points, key=lambda p: p.x) for name, points in out.items()}


def algorithm_of(name: str) -> str:
    """The algorithm that a line of a study belongs to."""
    if name.startswith("Robust"):
        return "robust-nmf"
    if name.startswith("as published"):
        return "private-nmf-published"
    if name.startswith("One-shot"):
        return "moment-nmf"
    return "nmf" if name.startswith("NMF") else "private-nmf"
