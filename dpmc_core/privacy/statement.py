"""Statements: what can honestly be said about a ledger.

Lives here: the nominal statement of the papers' algorithms, with its caveats (findings 5). Every release of those
algorithms is *nominal*: its sensitivity is assumed, not derived. Does not live here: sound accountants.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy.ledger import Ledger
from dpmc_core.wording import three

__all__ = ["NOMINAL_CAVEATS", "Statement", "nominal_statement"]

NOMINAL_CAVEATS = (
    "The released sum Σ x·u scales with the length of the factor vectors u, which nothing bounds: no Δ is derived.",
    "The user factors U are computed from the ratings without noise, and so is everything shown that uses them: the "
    "completed matrix, predictions, top tens and errors. Who sees those can recover ratings whatever the noise on V.",
    "The matrix Σ u·uᵀ enters the item update without any noise.",
    "Which items a user rated is not hidden at all, and one Δ is used for ℓ1 and ℓ2 alike.",
    "Changing one rating moves that user's factors, hence every item the user rated, not only one.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """What a run protects and how that was counted.

    ``epsilon_per_draw`` is counted as the papers do (their printed Gaussian values use another formula, findings 1); ``epsilon`` is the same count composed over all releases (pure
    composition for finite ε, the exact Gaussian profile otherwise), at ``delta``. ``nominal`` is True when any
    sensitivity is assumed: then it is not a guarantee. Infinite ε is None in ``as_dict``.
    """

    unit: str
    neighbours: str
    epsilon: float
    delta: float
    epsilon_per_draw: float
    draws: int
    how: str
    nominal: bool
    caveats: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether any noise was drawn."""
        return self.draws > 0

    @property
    def label(self) -> str:
        """One short line for tables and metrics."""
        if not self.private:
            return "not private: no noise was added"
        kind = "nominal" if self.nominal else "sound"
        at = f" at δ = {self.delta:g}" if self.delta else ""
        return (
            f"{kind} ε = {three(self.epsilon_per_draw)} per draw, {three(self.epsilon)} over {self.draws:,} draws{at}"
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON-able copy; an infinite ε becomes None."""
        out = asdict(self)
        for key in ("epsilon", "epsilon_per_draw"):
            out[key] = None if math.isinf(out[key]) else out[key]
        out["caveats"] = list(self.caveats)
        out["label"] = self.label
        return out


def nominal_statement(ledger: Ledger, delta: float = 1e-5, rating_width: float | None = None) -> Statement:
    """The statement of a ledger as the Huber paper counts, plus the same count composed.

    Per draw: ε = αΔ/s (Theorem 2.1), Δ/b, or the exact Gaussian ε at ``delta`` (Balle & Wang 2018). Composed: ε adds
    up over draws of finite ε; k Gaussian draws equal one of sensitivity √k·Δ (their joint density ratio depends on
    one Gaussian of that shift), hence the exact profile there. Each coordinate vector is counted as one draw, as the
    papers do. ``rating_width`` is the width of the data's rating scale, told beside the assumed Δ. Raises ``ValueError`` for a ledger that mixes Gaussian and pure releases.
    """
    if not ledger.private:
        return Statement(
            unit="none",
            neighbours="none",
            epsilon=math.inf,
            delta=0.0,
            epsilon_per_draw=math.inf,
            draws=0,
            how="no noise was drawn, so nothing is protected",
            nominal=False,
            caveats=(),
        )
    first = ledger.releases[0]
    draws = sum(release.count for release in ledger.releases)
    gaussian = [isinstance(release.mechanism, Gaussian) for release in ledger.releases]
    if any(gaussian) and not all(gaussian):
        raise ValueError("a nominal statement is defined for one kind of noise at a time")
    if all(gaussian):
        per_draw = max(r.mechanism.epsilon_at_delta(delta, r.l2_sensitivity) for r in ledger.releases)
        ratio = math.sqrt(sum(r.count * (r.l2_sensitivity / r.mechanism.std) ** 2 for r in ledger.releases))
        composed = Gaussian(scale=1.0).epsilon_at_delta(delta, ratio)
        how = "exact Gaussian profile of all draws together, each counted at the assumed sensitivity"
    else:
        delta = 0.0
        each = [release.mechanism.epsilon(release.l1_sensitivity) for release in ledger.releases]
        per_draw = max(each)
        composed = sum(e * release.count for e, release in zip(each, ledger.releases, strict=True))
        how = "ε of each draw at the assumed sensitivity, added up over the draws"
    nominal = not all(release.sound for release in ledger.releases)
    width = "" if rating_width is None else f" Ratings here span {three(rating_width)}."
    assumed = (
        f"The sensitivity is taken to be Δ = {three(first.l1_sensitivity)}, as the papers assume for all their data "
        f"(about the width of the rating range).{width}"
    )
    over = f"Printed ε in the papers count one draw; this run made {draws:,}."
    return Statement(
        unit=first.unit,
        neighbours=first.neighbours,
        epsilon=composed,
        delta=delta,
        epsilon_per_draw=per_draw,
        draws=draws,
        how=how,
        nominal=nominal,
        caveats=(over, assumed, *NOMINAL_CAVEATS) if nominal else (),
    )
