"""The other way round: how much noise a budget asks for.

Lives here: scaling the noise of a ledger until its ε at δ is what was asked. Does not live here: accounting (``account``).
"""

import math
from dataclasses import replace
from functools import lru_cache

from scipy import optimize

from dpmc_core import limits
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Mechanism, Staircase
from dpmc_core.privacy.account import checked_delta, tightest
from dpmc_core.privacy.ledger import Ledger

__all__ = ["least_noise", "scaled"]


def scaled(mechanism: Mechanism, factor: float) -> Mechanism:
    """The noise multiplied by ``factor`` > 0: same family, same shape.

    >>> from dpmc_core.mechanisms import Laplace
    >>> scaled(Laplace(scale=1.5), 2)
    Laplace(scale=3.0)
    """
    if isinstance(mechanism, Staircase):
        return Staircase(
            epsilon=mechanism.epsilon_design, sensitivity=mechanism.sensitivity * factor, gamma=mechanism.gamma
        )
    return replace(mechanism, scale=mechanism.scale * factor)  # type: ignore[type-var,attr-defined]


@lru_cache(maxsize=256)
def least_noise(
    ledger: Ledger,
    epsilon: float,
    delta: float,
    tolerance: float = 1e-6,
    *,
    coarse: bool = False,
    fixed: Ledger | None = None,
) -> Ledger:
    """``ledger`` with all noise multiplied by the least factor at which its tightest ε at ``delta`` is at most ``epsilon``.

    The factor is right to ``tolerance`` relative, on the safe side: the returned ledger's ε is at most ``epsilon``. Sensitivities
    and counts stay. ``fixed`` releases are made besides, with the noise they have: what is returned is without them, its ε with
    them. ``coarse`` counts as ``tightest`` does. Cached. Raises ``ParameterError`` for ε or δ out of range, where no noise in
    range is enough, or where ``fixed`` alone costs ε or more.
    """
    epsilon, delta = limits.check("epsilon", epsilon), checked_delta(delta)
    besides = () if fixed is None else fixed.releases
    if besides:
        alone = tightest(Ledger(besides), delta, coarse=coarse)
        if alone >= epsilon:
            what = " and ".join(sorted({release.what for release in besides}))
            raise ParameterError(
                "epsilon", epsilon, f"above {alone:.4g}, which {what} alone cost(s) with the noise chosen for it"
            )

    def at(log_factor: float) -> Ledger:
        factor = math.exp(log_factor)
        return Ledger(tuple(replace(r, mechanism=scaled(r.mechanism, factor)) for r in ledger.releases))

    def gap(log_factor: float) -> float:
        spent = tightest(Ledger((*besides, *at(log_factor).releases)), delta, coarse=coarse)
        return math.log(max(spent, 1e-300)) - math.log(epsilon)

    low = high = 0.0
    step = 1.0
    try:
        while gap(high) > 0:
            low, high, step = high, high + step, 2 * step
        while gap(low) <= 0:
            high, low, step = low, low - step, 2 * step
    except ParameterError as error:
        raise ParameterError("epsilon", epsilon, f"reachable with noise of allowed {error.name}") from None
    middle = float(optimize.brentq(gap, low, high, xtol=tolerance / 2))
    while gap(middle) > 0:
        middle += tolerance / 2
    return at(middle)
