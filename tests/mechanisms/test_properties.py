"""What must hold for every mechanism and every parameter, and what must be refused."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import FAMILIES, Gaussian, Huber, Laplace, Mechanism, Staircase

scales = st.floats(1e-3, 1e3)
mechanisms = st.one_of(
    st.builds(Huber, alpha=st.floats(0.01, 20), scale=scales),
    st.builds(Laplace, scale=scales),
    st.builds(Gaussian, scale=scales),
    st.builds(Staircase, epsilon=st.floats(0.01, 8), sensitivity=scales),
)
CASES: list[Mechanism] = [
    Huber(alpha=0.3, scale=2.0),
    Huber(alpha=1.5),
    Huber(alpha=6, scale=0.5),
    Laplace(scale=1.7),
    Gaussian(scale=0.8),
    Staircase(epsilon=1.2, sensitivity=1.5),
]


@given(mechanisms, st.floats(-30, 30))
def test_symmetry_and_complement(m: Mechanism, t: float) -> None:
    x = t * m.std
    assert float(m.pdf(x)) == float(m.pdf(-x))
    assert float(m.cdf(x) + m.sf(x)) == pytest.approx(1, abs=1e-12)


@given(mechanisms, st.floats(1e-12, 1 - 1e-12))
def test_ppf_inverts_cdf(m: Mechanism, q: float) -> None:
    # relative to the nearer tail: the condition number of F at F⁻¹(q) is bounded by |x| f(x)/tail,
    # at most ~ 40 here
    assert float(m.cdf(m.ppf(q)) if q < 0.5 else m.sf(m.isf(1 - q))) == pytest.approx(
        min(q, 1 - q), rel=1e-11
    )


@given(mechanisms, st.floats(0.01, 10))
def test_profile_vanishes_at_pure_epsilon(m: Mechanism, shift: float) -> None:
    pure = min(m.epsilon(shift * m.std), 1e3)
    assert float(m.delta(pure * (1 + 1e-12), shift * m.std)) <= 1e-15


@pytest.mark.parametrize("alpha", [0.7, 1.076, 3.0])
@pytest.mark.parametrize("other", [Gaussian, Laplace])
def test_distances_of_laws_are_those_of_plain_integration(alpha: float, other: Any) -> None:
    one, two = Huber.with_variance(2.0, alpha=alpha), other.with_variance(2.0)
    x = np.linspace(-40, 40, 800_001)
    integral = 0.5 * np.abs(one.pdf(x) - two.pdf(x)).sum() * (x[1] - x[0])
    for apart in (one.total_variation(two), two.total_variation(one)):
        assert apart == pytest.approx(integral, abs=1e-6)
    assert one.total_variation(one) == 0
    # densities that cross where both are equal for a while
    steps = [Staircase(epsilon=math.log(2), sensitivity=x, gamma=1.0) for x in (1.0, 2.0)]
    assert steps[0].total_variation(steps[1]) == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("m", CASES, ids=lambda m: m.name)
def test_sampler_follows_the_law(m: Mechanism) -> None:
    """DKW: P(sup|F_n − F| > t) ≤ 2 exp(−2nt²).

    T below has probability 1e-9 at the seed-free level.
    """
    n = 200_000
    x = np.sort(m.sample(n, np.random.default_rng(7)))
    bound = math.sqrt(math.log(2 / 1e-9) / (2 * n))
    grid = np.arange(1, n + 1) / n
    assert np.max(np.abs(m.cdf(x) - grid)) < bound + 1 / n
    again = m.sample(n, np.random.default_rng(7))
    assert np.array_equal(np.sort(again), x)
    assert m.sample((3, 2), np.random.default_rng(0)).shape == (3, 2)
    assert np.ndim(m.sample(None, np.random.default_rng(0))) == 0


@given(st.floats(0.05, 50), st.floats(0.01, 20))
def test_constructors(variance: float, alpha: float) -> None:
    for family, shape, digits in (
        (Huber, {"alpha": alpha}, 1e-12),
        (Laplace, {}, 1e-12),
        (Gaussian, {}, 1e-12),
        (Staircase, {"sensitivity": 1}, 1e-9),
    ):
        noise = family.with_variance(variance, **shape)
        assert noise.variance == pytest.approx(variance, rel=digits)
    for noise in (
        Huber.with_epsilon(2, 3, alpha=alpha),
        Laplace.with_epsilon(2, 3),
        Staircase.with_epsilon(2, 3),
    ):
        assert noise.epsilon(3) == pytest.approx(2, rel=1e-12)
    if variance > 1.0001:
        unit = Huber.with_variance(variance)
        assert unit.scale == 1
        assert unit.variance == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 1e4])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5, 0.1])
def test_gaussian_calibration_is_tight(epsilon: float, delta: float) -> None:
    g = Gaussian.with_epsilon(epsilon, 2.0, delta=delta)
    assert float(g.delta(epsilon, 2.0)) == pytest.approx(delta, rel=1e-9 if epsilon < 9 else 1e-6)
    assert g.epsilon_at_delta(delta, 2.0) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("shift", [1e-10, 1e-3, 40.0, 1e3])
def test_gaussian_epsilon_at_small_delta(shift: float) -> None:
    noise = Gaussian(scale=1.0)
    epsilon = noise.epsilon_at_delta(1e-12, shift)
    assert float(noise.delta(epsilon, shift)) == pytest.approx(1e-12, rel=1e-6)


LAPLACE, GAUSSIAN = Laplace(scale=1), Gaussian(scale=1)


@pytest.mark.parametrize(
    ("call", "arguments", "words"),
    [
        (Huber, {"alpha": 0.001}, "alpha = 0.001"),
        (Huber, {"alpha": 21}, "from 0.01 to 20"),
        (Huber, {"alpha": math.nan}, "alpha = nan"),
        (Huber, {"alpha": 1, "scale": 0}, "scale = 0"),
        (Huber, {"alpha": "one"}, "alpha = 'one'"),
        (Gaussian, {"scale": math.inf}, "scale = inf"),
        (Huber.with_variance, {"variance": 0.9}, "unit-scale"),
        (Staircase.with_variance, {"variance": 2.0, "gamma": 0.3}, "γ is the one of least"),
        (Staircase, {"epsilon": 0, "sensitivity": 1}, "epsilon = 0"),
        (Staircase, {"epsilon": 1, "sensitivity": 1, "gamma": 2}, "gamma = 2"),
        (LAPLACE.delta, {"epsilon": -1, "sensitivity": 1}, "epsilon = -1"),
        (LAPLACE.delta, {"epsilon": 1, "sensitivity": 0}, "sensitivity = 0"),
        (GAUSSIAN.rdp, {"order": 0.5, "sensitivity": 1}, "order = 0.5"),
        (Huber(alpha=1).rdp_curve, {"orders": [2.0, 0.5], "sensitivity": 1}, "order = 0.5"),
        (GAUSSIAN.epsilon_at_delta, {"delta": 1, "sensitivity": 1}, "delta = 1"),
    ],
)
def test_refusals(call: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=f"{words}.*not allowed|not allowed.*{words}"):
        call(**arguments)


def test_edges_of_the_inverse() -> None:
    assert set(FAMILIES) == {m.name for m in CASES}
    for m in CASES:
        assert m.ppf(np.array([0, 0.5, 1])) == pytest.approx([-math.inf, 0, math.inf], abs=1e-15)
        assert np.isnan(m.ppf(np.array([-0.1, 1.1]))).all()
