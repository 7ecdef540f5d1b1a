"""Whether a printed number was met.

One rule for all rows.

*Reproduced*: ours equals the printed value to its rounding or within the share that the row allows
(exact rows), or lies no farther from it than two means of as many trials as ours may lie apart by
chance (√2 times the half-width of our 95 % interval), or 2 % of it. *Same trend*: not that, but
within a factor of 1.5, and the row differs from its reference row (the same without noise; without
noise, the one with more or less data) in the printed direction, by a paired 95 % interval: noise,
or less data, hurts here too. *Differs*: neither. The paper's number of trials is taken to be ours.
Of exact replicates one in twenty would not be *reproduced* by chance. *No printed value*: the paper
draws it, or the row is ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import three

REPRODUCED, TREND, DIFFERS, UNPRINTED, MISSING = (
    "reproduced",
    "same trend",
    "differs",
    "no printed value",
    "cannot be computed here",
)
KINDS = (REPRODUCED, TREND, DIFFERS, UNPRINTED, MISSING)
_CLOSE = 0.02
_FAR = 1.5  # beyond this factor no trend makes up for the distance


@dataclass(frozen=True)
class Verdict:
    """``kind`` is one of ``KINDS``; ``why`` one sentence with the numbers that decide."""

    kind: str
    why: str


def verdict(
    text: str | None,
    rounding: float,
    values: Sequence[float],
    *,
    exact: bool = False,
    within: float = 0.0,
    reference: tuple[float, Sequence[tuple[float, float]]] | None = None,
) -> Verdict:
    """The verdict on a row: its printed ``text`` and how far that is rounded (for ``exact`` rows
    also the share ``within`` which it may lie), our ``values`` by trial, and the ``reference``
    row's printed value and pairs of values (this row's, that row's) of the same trials.

    >>> verdict("15.000", 0.0005, [15.0], exact=True).kind
    'reproduced'
    >>> reference = (1.0, [(1.1, 0.9), (1.2, 1.0), (1.15, 0.97)])
    >>> verdict("2.0", 0.05, [1.1, 1.2, 1.15], reference=reference).kind
    'differs'
    >>> reference = (1.0, [(1.5, 0.9), (1.6, 1.0), (1.55, 0.97)])
    >>> verdict("2.0", 0.05, [1.5, 1.6, 1.55], reference=reference).kind
    'same trend'
    """
    if not values:
        return Verdict(MISSING, "There is no data for it here.")
    if text is None:
        return Verdict(
            UNPRINTED,
            "The paper draws this, or does not have it: there is no number to compare with.",
        )
    target, mean = float(text), float(np.mean(values))
    apart = mean - target
    if exact:
        if abs(apart) <= rounding * (1 + 1e-9):
            return Verdict(REPRODUCED, f"Equal to the printed {text} as it is rounded.")
        if abs(apart) <= within * abs(target):
            return Verdict(
                REPRODUCED,
                f"Within {100 * within:g} % of the printed {text} ({100 * apart / target:+.2f} %).",
            )
        return Verdict(
            DIFFERS, f"Ours is {apart:+.3g} from the printed {text} ({_percent(apart / target)} %)."
        )
    half = t_half_width(tuple(values))
    allowed = max(_CLOSE * abs(target), 0.0 if math.isnan(half) else math.sqrt(2) * half)
    if abs(apart) <= allowed:
        how = (
            "2 % of it"
            if allowed <= _CLOSE * abs(target)
            else "what two means of as many trials may differ by"
        )
        return Verdict(
            REPRODUCED,
            f"Ours is {apart:+.3g} from the printed {text}, within {how} (±{three(allowed)}).",
        )
    far = (
        f"Ours is {apart:+.3g} from the printed {text} ({100 * apart / target:+.0f} %), more "
        f"than ±{three(allowed)}"
    )
    if reference is None:
        return Verdict(DIFFERS, far + ".")
    base, pairs = reference
    steps = [mine - other for mine, other in pairs]
    step, wide = float(np.mean(steps)), t_half_width(tuple(steps))
    said = f"{target - base:+.3g} in the paper, {step:+.3g} ± {three(wide)} here"
    same_way = not math.isnan(wide) and abs(step) > wide and step * (target - base) > 0
    if same_way and 1 / _FAR <= mean / target <= _FAR:
        return Verdict(
            TREND, f"{far}; but against its reference row it goes the same way ({said})."
        )
    return Verdict(
        DIFFERS,
        f"{far}"
        + (f", beyond a factor of {_FAR:g}" if same_way else "")
        + f"; against its reference row: {said}.",
    )


def _percent(share: float) -> str:
    return f"{100 * share:+,.0f}" if abs(share) >= 0.1 else f"{100 * share:+.2g}"
