"""The other way round: how much noise a budget asks for.

Scaling the noise of a ledger until its ε at δ is what was asked.
"""

import math
from dataclasses import replace
from functools import cache, lru_cache

from scipy import optimize

from dpmc_core import limits
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Gaussian, Mechanism, Staircase
from dpmc_core.privacy.account import checked_delta, tightest, zcdp
from dpmc_core.privacy.ledger import Ledger


def scaled(mechanism: Mechanism, factor: float) -> Mechanism:
    """The noise multiplied by ``factor`` > 0: same family, same shape.

    >>> from dpmc_core.mechanisms import Laplace
    >>> scaled(Laplace(scale=1.5), 2)
    Laplace(scale=3.0)
    """
    if isinstance(mechanism, Staircase):
        return Staircase(
            epsilon=mechanism.epsilon_design,
            sensitivity=mechanism.sensitivity * factor,
            gamma=mechanism.gamma,
        )
    return replace(mechanism, scale=mechanism.scale * factor)


def _equal_zcdp(ledger: Ledger, epsilon: float, delta: float) -> float:
    """The log of the factor that would do if every release were Gaussian noise of the same zCDP,
    which a long composition nearly is.
    """
    rho = sum(release.count * zcdp(release, published=False) for release in ledger.releases)
    try:
        return 0.5 * math.log(2 * rho) + math.log(
            Gaussian.with_epsilon(epsilon, 1.0, delta=delta).scale
        )
    except (ValueError, ArithmeticError):  # nothing to go by: begin with the noise as it is
        return 0.0


_NOTHING = Ledger()


@lru_cache(maxsize=256)
def least_noise(
    ledger: Ledger,
    epsilon: float,
    delta: float,
    tolerance: float = 1e-6,
    *,
    coarse: bool = False,
    fixed: Ledger = _NOTHING,
    quick: bool = False,
) -> Ledger:
    """``ledger`` with all noise multiplied by the least factor at which its tightest ε at ``delta``
    is at most ``epsilon``.

    The factor is right to ``tolerance`` relative, on the safe side: the returned ledger's ε is at
    most ``epsilon``. Sensitivities and counts stay. ``fixed`` releases are made besides, with the
    noise they have: what is returned is without them, its ε with them. ``coarse`` counts as
    ``tightest`` does. ``quick`` begins the search where releases of equal zCDP would end it: half
    the counts, and another answer within ``tolerance`` (so plans of runs do without: their noise
    stays what it was). Cached. Raises ``ParameterError`` for ε or δ out of range, where no noise in
    range is enough, where ``fixed`` alone costs ε or more, or where a release of ``ledger`` may
    fail, which other noise would make more or less likely.
    """
    epsilon, delta = limits.check("epsilon", epsilon), checked_delta(delta)
    if ledger.failure:
        allowed = (
            "left out: with other noise the threshold of what may fail would have to be another"
        )
        raise ParameterError("target ε", f"{epsilon:g}", allowed)
    if fixed.private:
        alone = tightest(fixed, delta, coarse=coarse)
        if alone >= epsilon:
            what = " and ".join(sorted({release.what for release in fixed.releases}))
            raise ParameterError(
                "epsilon",
                epsilon,
                f"above {alone:.4g}, which {what} alone cost(s) with the noise chosen for it",
            )

    def at(log_factor: float) -> Ledger:
        factor = math.exp(log_factor)
        return Ledger(
            tuple(replace(r, mechanism=scaled(r.mechanism, factor)) for r in ledger.releases)
        )

    @cache  # the search comes back to its ends
    def gap(log_factor: float) -> float:
        spent = tightest(Ledger((*fixed.releases, *at(log_factor).releases)), delta, coarse=coarse)
        return math.log(max(spent, 1e-300)) - math.log(epsilon)

    low = high = _equal_zcdp(ledger, epsilon, delta) if quick else 0.0
    try:
        first = gap(low)
        # log ε falls about as fast as the log of the noise rises
        step = max(1.2 * abs(first), 4 * tolerance) if quick else 1.0
        if first > 0:
            while gap(high := low + step) > 0:
                low, step = high, 2 * step
        else:
            while gap(low := high - step) <= 0:
                high, step = low, 2 * step
    except ParameterError as error:
        raise ParameterError(
            "epsilon", epsilon, f"reachable with noise of allowed {error.name}"
        ) from None
    middle = float(optimize.brentq(gap, low, high, xtol=tolerance / 2))
    while gap(middle) > 0:
        middle += tolerance / 2
    return at(middle)
