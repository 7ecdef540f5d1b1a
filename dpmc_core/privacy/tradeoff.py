"""Trade-off functions (f-DP): the share of misses that an attacker must accept for each share of
false alarms.

An attacker sees one output and says "in" or "out". f(α) is the least probability of missing the
person over all rules whose probability of a false alarm is at most α (Dong, Roth & Su 2022,
"Gaussian differential privacy", Definition 2.1).
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpmc_core.arrays import FloatArray, as_array
from dpmc_core.errors import NotApplicable, ParameterError
from dpmc_core.limits import check
from dpmc_core.mechanisms import Gaussian, Mechanism
from dpmc_core.privacy.account import account, gaussian_equivalent
from dpmc_core.privacy.ledger import Ledger
from dpmc_core.wording import three

_POINTS = 1500  # ε of a profile; any number gives a curve that holds
_DELTAS = (1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """A trade-off function: no attacker misses less often than ``misses`` says.

    ``mu`` is μ where it is that of two normal distributions μ standard deviations apart (μ-GDP),
    else None; ``exact`` whether some attacker reaches it (else it is a bound). ``how`` says where
    it comes from.
    """

    curve: Callable[[FloatArray], FloatArray]
    how: str
    mu: float | None = None
    exact: bool = False

    def misses(self, false_alarms: ArrayLike) -> FloatArray:
        """f(α), the least share of misses, for each share of ``false_alarms`` in [0, 1].

        Raises ``ParameterError`` for a share outside.
        """
        alarms = as_array(false_alarms)
        outside = alarms[~((alarms >= 0) & (alarms <= 1))]
        if outside.size:
            raise ParameterError("false alarms", float(outside[0]), "between 0 and 1")
        return np.asarray(np.clip(self.curve(alarms), 0.0, 1.0 - alarms))

    def found(self, false_alarms: ArrayLike) -> FloatArray:
        """1 − f(α): the largest share of hits (the ROC curve of the best attacker)."""
        return np.asarray(1.0 - self.misses(false_alarms))

    @property
    def points(self) -> FloatArray:
        """Shares of false alarms, and the least share of misses at each (2×201)."""
        alarms = np.linspace(0.0, 1.0, 201)
        return np.array([alarms, self.misses(alarms)])

    def sentence(self) -> str:
        """How to read it.

        >>> of_mechanism(Gaussian(scale=1.0), 1.0).sentence()
        'An attacker who accepts 5 % false alarms finds at most 26 % of those who are in.'
        """
        share = 100 * float(self.found(0.05))
        shown = three(share) if share < 99.95 else "all but 0.05"
        return (
            f"An attacker who accepts 5 % false alarms finds at most {shown} % of those who are in."
        )


def of_mechanism(mechanism: Mechanism, sensitivity: float) -> TradeOff:
    """The trade-off function of one number with this noise, moved by at most ``sensitivity``.

    For log-concave noise the likelihood ratio rises with the output, so the best rule is a
    threshold (Neyman & Pearson) and f(α) = F(F⁻¹(1 − α) − Δ) (Dong, Roth & Su 2022, Proposition
    A.3). For staircase noise it follows from the profile. Raises ``ParameterError``.
    """
    moved = check("sensitivity", sensitivity)
    if isinstance(mechanism, Gaussian):
        return _gaussian(moved / mechanism.scale, f"one number with {mechanism.title} noise")
    how = f"one number with {mechanism.title} noise, exactly"
    if mechanism.vector_bounds:
        return TradeOff(
            curve=lambda alarms: mechanism.cdf(mechanism.isf(alarms) - moved), exact=True, how=how
        )
    epsilons = np.linspace(0.0, mechanism.epsilon(moved), _POINTS)
    deltas = mechanism.delta(epsilons, moved)
    return of_profile(epsilons, deltas, how=f"{how}, from its privacy profile")


def of_profile(epsilons: ArrayLike, deltas: ArrayLike, how: str = "pairs (ε, δ)") -> TradeOff:
    """The trade-off function that pairs (ε, δ) that hold together imply.

    f(α) = maxᵢ max(0, 1 − δᵢ − e^εᵢ·α, e^−εᵢ·(1 − δᵢ − α)) (Dong, Roth & Su 2022, Proposition 2.5):
    a bound, and exact where all ε ≥ 0 with their least δ are given. Raises ``ParameterError`` for
    ε below 0 or δ outside [0, 1].
    """
    losses = as_array(epsilons).ravel()
    slack = as_array(deltas).ravel()
    if losses.size == 0 or losses.shape != slack.shape:
        raise ParameterError("deltas", slack.size, f"as many as there are ε ({losses.size}), not 0")
    if not (losses >= 0).all():
        raise ParameterError("epsilon", float(losses.min()), "at least 0")
    if not ((slack >= 0) & (slack <= 1)).all():
        raise ParameterError("delta", float(slack.max()), "between 0 and 1")

    def best(some: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            steep = 1 - slack - np.where(some > 0, np.exp(losses) * some, 0.0)
            flat = np.exp(-losses) * (1 - slack - some)
        return np.maximum(steep.max(axis=1), flat.max(axis=1))

    def curve(alarms: FloatArray) -> FloatArray:
        # a few at a time, since each is compared with every pair
        parts = np.array_split(alarms.reshape(-1, 1), alarms.size // 1000 + 1)
        return np.concatenate([best(part) for part in parts]).reshape(alarms.shape)

    return TradeOff(curve=curve, how=how)


def of_ledger(ledger: Ledger) -> TradeOff:
    """The trade-off function of everything that ``ledger`` holds.

    Gaussian noise throughout is μ-GDP with μ² = Σ(Δ/σ)² (Dong, Roth & Su 2022, Corollary 3.3), one
    number has its mechanism's own, other ledgers the one of their privacy loss distribution, or of
    a few (ε, δ) where there is none. Raises ``ParameterError`` for a ledger without noise.
    """
    if not ledger.private:
        raise ParameterError(
            "ledger", "without noise", "one with a release: else nothing is hidden"
        )
    if ledger.failure:
        return _failing(of_ledger(ledger.without_failure()), ledger.failure)
    equivalent = gaussian_equivalent(ledger)
    if equivalent is not None:
        return _gaussian(1 / equivalent.scale, "Gaussian noise throughout")
    first = ledger.releases[0]
    if ledger.draws == ledger.mean_runs == first.coordinates == first.sampling_rate == 1:
        return of_mechanism(first.mechanism, first.l1_sensitivity)
    with suppress(NotApplicable, ArithmeticError, MemoryError):
        return _from_distribution(ledger)
    pairs = [
        (answer.epsilon, answer.delta)
        for delta in _DELTAS
        for answer in account(ledger, delta)
        if math.isfinite(answer.epsilon)
    ]
    epsilons, deltas = zip(*pairs, strict=True)
    return of_profile(epsilons, deltas, how="the tightest ε at a few δ")


def _failing(sure: TradeOff, q: float) -> TradeOff:
    """What is left of a trade-off function f where both sides are (1 − q)·P + q·Q
    (``account._left``): (1 − q)·f(α/(1 − q)).
    """

    def curve(alarms: FloatArray) -> FloatArray:
        return (1 - q) * sure.misses(np.minimum(alarms / (1 - q), 1.0))

    how = f"{sure.how}; with probability {three(q)} what only one unit has is shown"
    return TradeOff(curve=curve, how=how)


def _gaussian(mu: float, how: str) -> TradeOff:
    return TradeOff(
        curve=lambda alarms: special.ndtr(-special.ndtri(alarms) - mu),
        mu=mu,
        exact=True,
        how=f"{how}: {three(mu)}-GDP, exactly",
    )


def _from_distribution(ledger: Ledger) -> TradeOff:
    from dpmc_core.privacy.losses import COARSE, numbers_of, pld_epsilon, pld_profile, unlike

    most = min(
        pld_epsilon(ledger, 1e-10, COARSE), 700.0
    )  # e^ε is a number; what lies beyond hides nothing
    # dense near 0, where much of the curve comes from
    epsilons = most * np.linspace(0.0, 1.0, _POINTS) ** 2
    deltas = pld_profile(ledger, epsilons, COARSE)
    if unlike(numbers_of(ledger), COARSE):  # that grid is coarse: tighter at a few δ
        epsilons = np.append(epsilons, [pld_epsilon(ledger, delta, COARSE) for delta in _DELTAS])
        deltas = np.append(deltas, _DELTAS)
    return of_profile(epsilons, deltas, how="the privacy loss distribution of all releases")
