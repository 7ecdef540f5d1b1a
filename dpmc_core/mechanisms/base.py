"""The contract that every additive-noise mechanism keeps.

The abstract ``Mechanism`` and what follows from symmetry alone. Each family fills it in its own
file. Also what several families share: Rényi divergence from pieces, without cancellation (the
function eˣ − 1 − x, and the one formula that turns masses and privacy losses into a divergence).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import Field
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from dpmc_core import limits
from dpmc_core.arrays import FloatArray, as_array
from dpmc_core.errors import ParameterError

Size = int | tuple[int, ...] | None


def quantiles(q: FloatArray, sizes: FloatArray) -> FloatArray:
    """The quantiles of symmetric noise at ``q`` from their ``sizes``; NaN outside [0, 1]."""
    return np.where((q >= 0) & (q <= 1), np.where(q < 0.5, -sizes, sizes), np.nan)


def solve_decreasing(f: Any, target: float, low: float, high: float) -> float:
    """The root of ``log f(x) = log target`` for positive, decreasing ``f`` on ``[low, high]``, to
    the last bits.
    """
    goal = math.log(target)
    return _root(lambda x: math.log(f(x)) - goal, low, high)


def solve_decreasing_from(f: Any, target: float, start: float) -> float:
    """The same on all positive numbers: the ends of an interval are searched for from ``start``."""
    low = high = start
    while f(high) > target:
        high *= 2
    while f(low) < target:
        low /= 2
    return solve_decreasing(f, target, low, high) if low < high else low


def _root(f: Any, low: float, high: float) -> float:
    return float(optimize.brentq(f, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))


class Mechanism(ABC):
    """Symmetric noise of mean zero, added to one real number (or to each coordinate of a vector
    independently).

    Subclasses are frozen dataclasses with keyword-only fields in the units of the released number.
    Noise is ``unit`` times that of a law of unit scale, which a subclass fills in: its density,
    distribution function and sampler, and the privacy of a shift of so many units. Arguments are
    checked and brought to units here.
    ``pdf, logpdf, cdf, sf, ppf, isf`` take and return arrays (a Python float or 0-d input gives a
    numpy float). Privacy methods speak of a *scalar* release whose value moves by at most
    ``sensitivity`` between neighbours.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    # what ``with_variance`` takes beside the variance, and ``with_epsilon`` beside ε and Δ
    shape: ClassVar[tuple[str, ...]] = ()
    # False: no finite pure ε, and ``with_epsilon`` takes a ``delta`` as well; its privacy depends
    # on the ℓ2 norm of the shift of a vector, and not on the ℓ1 norm
    pure: ClassVar[bool] = True
    # whether the vector bounds of docs/huber-composition.md are proved for it: log-concave, its
    # divergence convex in the shift. Otherwise vectors are counted by their pure ε alone
    vector_bounds: ClassVar[bool] = False
    # whether runs may use it: any variance from ``with_variance`` and ``shape`` alone
    in_runs: ClassVar[bool] = True
    __dataclass_fields__: ClassVar[
        dict[str, Field[Any]]
    ]  # of the subclass: what ``dataclasses.fields`` asks for
    scale: float

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__.keys() & {"scale", *self.shape}:
            limits.check(name, getattr(self, name))

    @property
    def unit(self) -> float:
        """What the law of unit scale is multiplied by."""
        return self.scale

    @abstractmethod
    def _logpdf(self, t: FloatArray) -> Any:
        """Natural logarithm of the density at ``t`` units."""

    @abstractmethod
    def _cdf(self, t: FloatArray) -> Any:
        """P(noise ≤ t units), right to about 1e-14 relative in the left tail."""

    @abstractmethod
    def _ppf(self, q: FloatArray) -> Any:
        """Inverse of ``_cdf``; −inf at 0, inf at 1, NaN outside [0, 1]."""

    @abstractmethod
    def _draw(self, size: Any, rng: np.random.Generator) -> Any:
        """Independent draws in units, an array of the shape ``size``."""

    @abstractmethod
    def _variance(self) -> float:
        """Variance, in squared units."""

    @abstractmethod
    def _information(self) -> float:
        """Fisher information about location at unit scale."""

    @abstractmethod
    def _epsilon(self, shift: float) -> float:
        """Pure ε of a shift of so many units in the ℓ1 norm."""

    @abstractmethod
    def _delta(self, epsilon: FloatArray, shift: float) -> Any:
        """Exact privacy profile of a shift of so many units, at each ε ≥ 0."""

    @abstractmethod
    def _rdp(self, order: float, shift: float) -> float:
        """Rényi divergence of ``order`` ≥ 1 at a shift of so many units, in nats."""

    def logpdf(self, x: ArrayLike) -> Any:
        """Natural logarithm of the density at ``x``."""
        return (self._logpdf(as_array(x) / self.unit) - math.log(self.unit))[()]

    def cdf(self, x: ArrayLike) -> Any:
        """P(noise ≤ x), right to about 1e-14 relative in the left tail."""
        return self._cdf(as_array(x) / self.unit)[()]

    def ppf(self, q: ArrayLike) -> Any:
        """Inverse of ``cdf``; −inf at 0, inf at 1, NaN outside [0, 1]."""
        return (self.unit * self._ppf(as_array(q)))[()]

    def sample(self, size: Size, rng: np.random.Generator) -> Any:
        """``size`` independent draws (a float for ``None``) from the teaching sampler.

        See the module docstring.
        """
        return self.unit * self._draw(() if size is None else size, rng)

    @property
    def variance(self) -> float:
        """Variance of the noise, in squared units of the released number."""
        return self.unit**2 * self._variance()

    @property
    def fisher_information(self) -> float:
        """Fisher information about location, ∫ p′²/p (inf where the density jumps)."""
        return self._information() / self.unit**2

    def epsilon(self, l1_sensitivity: float) -> float:
        """Pure ε of one release at this ℓ1 sensitivity (coordinates independent).

        Inf for Gaussian noise.
        """
        return self._epsilon(self._units(l1_sensitivity))

    def delta(self, epsilon: ArrayLike, sensitivity: float) -> Any:
        """Exact privacy profile of a scalar release.

        The least δ with which it is (ε, δ)-DP, for each ε ≥ 0.
        """
        eps = as_array(epsilon)
        bad = eps[~(eps >= 0)]
        if bad.size:
            raise ParameterError("epsilon", float(bad[0]), limits.LIMITS["epsilon_or_zero"].allowed)
        return self._delta(eps, self._units(sensitivity))[()]

    def rdp(self, order: float, sensitivity: float) -> float:
        """Rényi divergence of ``order`` ≥ 1 between the noise and the noise shifted by
        ``sensitivity``, in nats.
        """
        return self._rdp(limits.check("order", order), self._units(sensitivity))

    def _units(self, sensitivity: float) -> float:
        """``sensitivity``, checked, in units of the law."""
        return limits.check("sensitivity", sensitivity) / self.unit

    def total_variation(self, other: "Mechanism") -> float:
        """Total variation distance ½∫|p − q| of two noises' laws.

        Of one draw of either, equally likely, the best guess names the noise with probability
        ½(1 + that). By the tails between the points where the densities cross, on the half line.
        """
        x = np.linspace(0.0, 12.0 * max(self.std, other.std), 4001)
        apart = self.pdf(x) - other.pdf(x)
        x, apart = x[apart != 0], apart[apart != 0]  # they may be equal on whole pieces
        crossed = np.flatnonzero(apart[1:] * apart[:-1] < 0)
        ends = [
            optimize.brentq(lambda t: self.pdf(t) - other.pdf(t), x[k], x[k + 1]) for k in crossed
        ]
        tails = [float(self.sf(end) - other.sf(end)) for end in ends]
        return float(np.abs(np.diff([0.0, *tails, 0.0])).sum())

    def rdp_curve(self, orders: FloatArray, sensitivity: float) -> FloatArray:
        """``rdp`` at each of ``orders``, in nats."""
        return np.array([self.rdp(float(order), sensitivity) for order in orders])

    @classmethod
    def with_variance(cls, variance: float, **shape: float) -> Self:
        """The member of the family with this variance (``shape``: what else the family needs)."""
        variance, kind = limits.check("variance", variance), cls._taking("with_variance", shape)
        unit = kind(scale=1.0, **shape)
        return kind(scale=math.sqrt(variance / unit.variance), **shape)

    @classmethod
    def with_epsilon(cls, epsilon: float, sensitivity: float, **shape: float) -> Self:
        """The member with the least noise for this ε at this sensitivity (``shape``: what the
        family needs besides).
        """
        epsilon, kind = limits.check("epsilon", epsilon), cls._taking("with_epsilon", shape)
        unit = kind(scale=1.0, **shape)
        return kind(scale=unit.epsilon(sensitivity) / epsilon, **shape)

    @classmethod
    def _taking(cls, call: str, shape: dict[str, float]) -> Any:
        """The family; refuses shape arguments that it does not have, rather than ignore them."""
        for name in shape.keys() - set(cls.shape):
            allowed = "left out: this family has no such parameter"
            raise ParameterError(f"{name} in {cls.__name__}.{call}", shape[name], allowed)
        return cls

    def pdf(self, x: ArrayLike) -> Any:
        """Density at ``x``."""
        return np.exp(self.logpdf(x))

    def sf(self, x: ArrayLike) -> Any:
        """P(noise > x); by symmetry ``cdf(−x)``, so right in the far right tail too."""
        return self.cdf(-as_array(x))

    def privacy_loss(self, x: ArrayLike, sensitivity: float) -> Any:
        """log p(x)/p(x + Δ) in nats.

        How strongly the noise value x speaks for one dataset over its neighbour.
        """
        return self._loss(as_array(x) / self.unit, self._units(sensitivity))

    def _loss(self, t: FloatArray, shift: float) -> Any:
        return self._logpdf(t) - self._logpdf(t + shift)

    def best_guess(self, sensitivity: float) -> float:
        """The exact best probability of guessing which of two neighbours (chance 1/2 each) gave one
        scalar release.

        (1 + δ(0))/2: δ(0) is the total variation distance. Never above what ε alone allows
        (``privacy.guess_bound``).
        """
        return (1 + _total_variation(self, limits.check("sensitivity", sensitivity))) / 2

    def isf(self, q: ArrayLike) -> Any:
        """Inverse of ``sf``."""
        return -self.ppf(q)

    @property
    def std(self) -> float:
        """Standard deviation of the noise, in units of the released number."""
        return math.sqrt(self.variance)

    def epsilon_at_delta(self, delta: float, sensitivity: float) -> float:
        """The least ε ≥ 0 at which one scalar release is (ε, δ)-DP, by inverting ``delta``.

        Raises ``ParameterError`` unless 0 < δ < 1 and sensitivity > 0.
        """
        return _epsilon_at_delta(
            self, limits.check("delta", delta), limits.check("sensitivity", sensitivity)
        )


@lru_cache(maxsize=4096)  # a page asks for the same few again and again
def _total_variation(mechanism: Mechanism, sensitivity: float) -> float:
    """δ(0): how far the outputs of two neighbours are apart in total variation."""
    return float(mechanism.delta(0.0, sensitivity))


@lru_cache(maxsize=4096)
def _epsilon_at_delta(mechanism: Mechanism, delta: float, sensitivity: float) -> float:
    if _total_variation(mechanism, sensitivity) <= delta:
        return 0.0
    high = mechanism.epsilon(sensitivity)
    if math.isinf(high):
        high = 1.0
        while float(mechanism.delta(high, sensitivity)) > delta:
            high *= 2
            if high > 1e300:
                raise ParameterError(
                    "delta", delta, "large enough for some finite ε at this sensitivity"
                )
    return _root(lambda e: float(mechanism.delta(e, sensitivity)) - delta, 0.0, high)


_TERMS = 22


def exp_minus_linear(x: Any) -> Any:
    """eˣ − 1 − x ≥ 0, by its power series where subtraction would cancel.

    >>> float(exp_minus_linear(1e-9))
    5.000000001666667e-19
    """
    x = as_array(x)
    is_near = np.abs(x) <= 0.5
    near = np.where(is_near, x, 0.0)
    term = near.copy()
    total = np.zeros_like(near)
    for k in range(2, _TERMS):
        term = term * near / k
        total = total + term
    far = np.where(is_near, 1.0, x)
    return np.where(is_near, total, np.expm1(far) - far)[()]


def renyi_of_pieces(order: float, log_p: FloatArray, loss: FloatArray) -> float:
    """D_a(p‖q) in nats from pieces of p with masses e^{``log_p``} on which log p/q is ``loss``.

    Order a ≥ 1.

    With h = a − 1 and e₂(x) = eˣ − 1 − x, ∫ p^a q^{1−a} = ∫ p e^{hℓ} = 1 + ∫ p·[e₂(hℓ) + h·e₂(−ℓ)],
    because ∫ p(e^{−ℓ} − 1) = ∫ (q − p) = 0. Both terms are non-negative, so D = log1p(h·S)/h with S
    = ∫ p·[e₂(hℓ)/h + e₂(−ℓ)] keeps its digits for small shifts and orders near 1, and is the KL
    divergence at a = 1. A large integral is taken as a log-sum-exp instead.
    """
    h = order - 1
    if h > 0:
        exponents = log_p + h * loss
        top = float(np.max(exponents))
        log_total = top + math.log(float(np.sum(np.exp(exponents - top))))
        if log_total > 0.5:
            return log_total / h
    # p·e₂(−ℓ), where −ℓ is large as q − p(1 − ℓ), which does not overflow
    deep = loss < -1
    shallow = np.where(deep, 0.0, loss)
    with np.errstate(under="ignore"):
        p = np.exp(log_p)
        gap = np.where(deep, np.exp(log_p - loss) - p * (1 - loss), p * exp_minus_linear(-shallow))
        total = float(np.sum(gap))
        if h > 0:
            total += float(np.sum(p * exp_minus_linear(np.minimum(h * loss, 700.0)))) / h
            return math.log1p(h * total) / h
    return total
