"""Noise for numbers that leave the machine: exact sampling on a grid, in whole numbers only.

The teaching samplers add floating-point noise to floating-point values, and the last bits of such a
sum tell the value apart (Mironov 2012, "On significance of the least significant bits for
differential privacy"; ``experiments.tasks.audit_targets`` shows it). Here the value is rounded to a
grid first, and the noise is a whole number of grid steps whose probabilities are *exactly*
proportional to the density at the grid points, drawn with random whole numbers and rational
arithmetic (after Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy",
Algorithms 1–3; Huber noise by the same rejection).

``sample_on_grid``, ``release_on_grid`` and what the result satisfies. Documented limits: about ten
thousand draws a second; a value outside ±2⁵² steps is refused, which tells that it was outside;
running time depends on the noise drawn (a remote attacker who can time a draw learns something
about it); Huber, Laplace and Gaussian noise only; what is claimed is one release of one number.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import IntArray
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms.base import Mechanism
from dpmc_core.mechanisms.gaussian import Gaussian
from dpmc_core.mechanisms.huber import Huber
from dpmc_core.mechanisms.laplace import Laplace

RandBelow = Callable[[int], int]
Law = tuple[Fraction, Callable[[int], Fraction]]
# a whole number of steps up to here, times a power of two, is a float without rounding
_MOST_STEPS = 2**53
# steps to a standard deviation; noise beyond the exact range is then too rare to be seen in any
# lifetime
_FINEST = 2**40


@dataclass(frozen=True, kw_only=True)
class GridRelease:
    """One published number and what it satisfies.

    ``value`` a multiple of ``step``; ``sensitivity`` after rounding to the grid, Δ rounded up to
    whole steps; pure ``epsilon`` (∞ for Gaussian noise); ``rho``, the zCDP parameter of the
    discrete law. Its δ(ε) is that of the continuous noise at this ``sensitivity`` but for a
    relative error of step/standard deviation, a millionth at the default step: the sum of a
    function over the grid instead of its integral.
    """

    value: float
    step: float
    sensitivity: float
    epsilon: float
    rho: float


def grid_step(mechanism: Mechanism) -> float:
    """The grid used by default.

    The largest power of two at most a millionth of the noise's standard deviation.

    >>> grid_step(Laplace(scale=1.0)) == 2.0**-20
    True
    """
    return float(2.0 ** math.floor(math.log2(mechanism.std / 1e6)))


def sample_on_grid(
    mechanism: Mechanism, size: int, step: float, randbelow: RandBelow = secrets.randbelow
) -> IntArray:
    """``size`` independent draws as whole numbers k of grid steps, with P(k) ∝ the density at
    k·``step``, exactly.

    ``randbelow(n)`` gives a uniform whole number below n; the default is the operating system's
    source for secrets. Raises ``ParameterError`` for staircase noise, or a ``step`` that is not a
    power of two or finer than 2⁻⁴⁰ standard deviations.
    """
    check_step(step, mechanism)
    law = _law(mechanism, Fraction(step))
    return np.array([_draw(law, randbelow) for _ in range(size)], dtype=np.int64)


def release_on_grid(
    value: float,
    mechanism: Mechanism,
    sensitivity: float,
    step: float | None = None,
    randbelow: RandBelow = secrets.randbelow,
) -> GridRelease:
    """``value`` plus noise, safe to publish, for a value that one person can move by at most
    ``sensitivity``.

    The value is rounded to the grid (half up, which keeps whole-step shifts whole), which moves
    neighbours apart by at most ⌈Δ/step⌉ steps; the noisy sum is kept within ±2⁵³ steps, which is
    post-processing. On whole-step shifts the discrete laws keep the continuous pure ε, since ρ's
    slope is at most that of the density everywhere: αΔ/s and Δ/b. zCDP: Δ²/2σ² for Gaussian noise
    (Canonne et al., Theorem 4), otherwise ε²/2 (Bun & Steinke 2016).
    """
    step = grid_step(mechanism) if step is None else step
    check_step(step, mechanism)
    most = _MOST_STEPS // 2 * step
    if not (math.isfinite(value) and abs(value) <= most):
        raise ParameterError(
            "value",
            value,
            f"a finite number within ±{most:g}, the range of this grid (a larger step has more)",
        )
    exact = Fraction(step)
    steps = math.ceil(Fraction(limits.check("sensitivity", sensitivity)) / exact)
    rounded = math.floor(Fraction(value) / exact + Fraction(1, 2))
    noisy = rounded + _draw(_law(mechanism, exact), randbelow)
    noisy = max(-_MOST_STEPS, min(_MOST_STEPS, noisy))
    moved = float(steps * exact)
    pure = mechanism.epsilon(moved)
    rho = (moved / mechanism.std) ** 2 / 2 if isinstance(mechanism, Gaussian) else pure**2 / 2
    return GridRelease(value=noisy * step, step=step, sensitivity=moved, epsilon=pure, rho=rho)


def check_step(step: float, mechanism: Mechanism) -> None:
    """Raise ``ParameterError`` unless ``step`` is a positive power of two, which whole numbers
    multiply without rounding, and at least 2⁻⁴⁰ standard deviations of the noise.
    """
    if not (
        isinstance(step, float) and math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5
    ):
        raise ParameterError("step", step, "a positive power of two, for example 2**-20")
    if mechanism.std / step > _FINEST:
        raise ParameterError("step", step, "at least 2**-40 standard deviations of the noise")


def _draw(law: Law, randbelow: RandBelow) -> int:
    rate, excess = law
    while True:
        k = _discrete_laplace(rate, randbelow)
        if _bernoulli_exp(excess(abs(k)), randbelow):
            return k


def _law(mechanism: Mechanism, step: Fraction) -> Law:
    """The rate of a discrete Laplace proposal per step, and what its acceptance's −log must add for
    k ≥ 0.

    With u = k·step/scale and a tangent of slope r to ρ at u = r: ρ(u) ≥ r·u − r²/2, so e^{−ρ} is
    e^{−ru} times a probability times a constant.
    """
    if not isinstance(mechanism, (Huber, Laplace, Gaussian)):
        raise ParameterError(
            "mechanism", mechanism.name, "huber, laplace or gaussian for sampling on a grid"
        )
    unit = step / Fraction(mechanism.scale)
    if isinstance(mechanism, Laplace):
        return unit, lambda k: Fraction(0)
    alpha = Fraction(mechanism.alpha) if isinstance(mechanism, Huber) else None
    r = Fraction(1) if alpha is None else min(alpha, Fraction(1))

    def excess(k: int) -> Fraction:
        u = k * unit
        rho = u * u / 2 if alpha is None or u <= alpha else alpha * u - alpha * alpha / 2
        return rho - r * u + r * r / 2

    return r * unit, excess


def _discrete_laplace(rate: Fraction, randbelow: RandBelow) -> int:
    """k with P(k) ∝ e^{−rate·|k|} (Canonne, Kamath & Steinke 2020, Algorithm 2)."""
    s, t = rate.numerator, rate.denominator
    while True:
        u = randbelow(t)
        if not _bernoulli_exp(Fraction(u, t), randbelow):
            continue
        v = 0
        while _bernoulli_exp(Fraction(1), randbelow):
            v += 1
        size = (u + t * v) // s
        negative = randbelow(2) == 1
        if not (negative and size == 0):
            return -size if negative else size


def _bernoulli_exp(gamma: Fraction, randbelow: RandBelow) -> bool:
    """True with probability e^{−γ} exactly, γ ≥ 0 rational (Canonne, Kamath & Steinke 2020,
    Algorithm 1).
    """
    whole, part = divmod(gamma, 1)
    for _ in range(int(whole)):
        if not _bernoulli_exp_small(Fraction(1), randbelow):
            return False
    return _bernoulli_exp_small(part, randbelow)


def _bernoulli_exp_small(gamma: Fraction, randbelow: RandBelow) -> bool:
    k = 1
    while gamma and randbelow(gamma.denominator * k) < gamma.numerator:
        k += 1
    return k % 2 == 1
