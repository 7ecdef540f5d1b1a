"""What to notice about factorisations.

Sentences written from the numbers on screen, by pure functions.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpmc_core.metrics import Comparison
from dpmc_core.metrics.factors import mean_score
from dpmc_core.wording import three
from pages.parts.factorization.charts import Learned


def factor_verdict(items: Sequence[Learned]) -> str:
    """How the private methods stand, in one sentence."""
    by_name = {item.result.spec.card.name: item.result for item in items}
    found = [by_name[n] for n in ("moment-nmf", "private-nmf") if n in by_name]
    private = [r for r in found if r.finished and r.spec.noise.epsilon is not None]
    if not private:
        return "No method with a guarantee is finished yet."
    nominal = "nominal " * any(r.statement.nominal for r in private)
    where = f"At {nominal}ε = {three(private[0].spec.noise.epsilon or 0.0)}"
    names = {"moment-nmf": "one-shot moment NMF", "private-nmf": "the corrected algorithm"}
    count = private[0].spec.algorithm.rank
    kind = "parts" if private[0].clean.unit == "image" else "topics"
    if all(r.final.found is not None for r in private):
        said = " and ".join(
            f"{names[r.spec.card.name]} {'finds ' * (not k)}{round(count * (r.final.found or 0.0))}"
            for k, r in enumerate(private)
        )
        return f"{where}, {said} of {count} true {kind}."
    standings = [r.against_baseline.than("the baseline") for r in private]
    if len(set(standings)) < len(standings):  # alike
        both = " and ".join(names[r.spec.card.name] for r in private)
        return f"{where}, {both} are {standings[0]}."
    said = " and ".join(
        f"{names[r.spec.card.name]} is {standing}"
        for r, standing in zip(private, standings, strict=True)
    )
    return f"{where}, {said}."


def baseline_sentence(item: Learned) -> str:
    """Whether a dictionary beats the best baseline, paired over images or documents."""
    result = item.result
    apart = result.against_baseline
    unit, beside = result.clean.unit, f"the best baseline, {result.best_baseline},"
    if not apart.detected:
        return f"**{item.name}** is not significantly different from {beside} on these {unit}s."
    compared = "is better than" if apart.better else "is **worse** than"
    way = (
        ""
        if math.isnan(result.way) or apart.worse
        else f": {100 * result.way:.0f} % of the way from there to scikit-learn's NMF"
    )
    by = f"{three(abs(apart.mean))} ± {apart.half_width:.2g}"
    return f"**{item.name}** {compared} {beside} by {by}{way}."


def factor_observations(items: Sequence[Learned]) -> list[str]:
    """What the results on screen show."""
    by_name = {item.result.spec.card.name: item for item in items}
    out = []
    published = by_name.get("private-nmf-published")
    if published is not None and published.result.final.moved is not None:
        out.append(
            "**As published is not private**: it starts from the data's singular vectors, without "
            f"noise; {published.result.final.iteration} noisy rounds change them by "
            f"{three(100 * published.result.final.moved)} %."
        )
    out += [
        baseline_sentence(item)
        for item in items
        if item.result.spec.card.name not in ("nmf", "sklearn-nmf")
    ]
    moment = by_name.get("moment-nmf")
    if moment is not None and moment.result.statement.private and not moment.result.way >= 0.8:
        clean = moment.result.clean
        unit = clean.unit
        alone = len(moment.result.ledger.releases) == 1
        out.append(
            f"Privacy needs many: {len(clean):,} {unit}s are few for this ε. "
            + (
                "Only their average was released; how they vary is taken to be as in any "
                "photograph. "
                if alone
                else ""
            )
            + "Try a larger ε, or synthetic data with a larger N (*Does more data help?*)."
        )
    plain, robust = by_name.get("nmf"), by_name.get("robust-nmf")
    if plain is not None and robust is not None:
        out.append(_outlier_sentence(plain, robust))
    found = {
        item.name: item.result.final.found for item in items if item.result.final.found is not None
    }
    if found:
        kind = "parts" if items[0].result.clean.unit == "image" else "topics"
        said = ", ".join(f"{name} {100 * share:.0f} %" for name, share in found.items())
        out.append(f"True {kind} found (a learned one with a cosine of at least 0.9): {said}.")
    scores = {item.name: mean_score(item.result.coherence) for item in items}
    if any(math.isfinite(s) for s in scores.values()):
        said = ", ".join(f"{name} {s:.2f}" for name, s in scores.items() if math.isfinite(s))
        out.append(
            "Do a topic's words occur together? NPMI from −1 (never) to 1 (always): "
            f"{said}.{_unscored(items)}"
        )
    return out


def _unscored(items: Sequence[Learned]) -> str:
    """Which methods have topics of fewer than two words, which have no score."""
    out = []
    for item in items:
        scores = item.result.coherence
        missing = 0 if scores is None else int((~np.isfinite(scores)).sum())
        if missing:
            out.append(
                f"{missing} of {item.name}'s {item.result.spec.algorithm.rank} topics have "
                "fewer than two words and no score"
            )
    return " " + "; ".join(out) + "." if out else ""


def _outlier_sentence(plain: Learned, robust: Learned) -> str:
    from dpmc_core.metrics.factors import column_errors

    a, b = (
        column_errors(i.result.clean.values, i.result.dictionary, i.result.coefficients) ** 2 / 2
        for i in (robust, plain)
    )
    change = Comparison.of_rows(a - b)
    if not change.detected:
        return (
            "On the clean images the robust parts are not significantly different from the plain "
            "ones."
        )
    return (
        f"On the clean images the robust parts err {'less' if change.better else 'more'} than the "
        f"plain ones, by {three(abs(change.mean))} ± {change.half_width:.2g} (over images; one "
        "draw of corrupted pixels)."
    )
