"""What must hold for every mechanism and every parameter, and what must be refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import FAMILIES, Gaussian, Huber, Laplace, Mechanism, Staircase

alphas = st.floats(0.01, 20)
scales = st.floats(1e-3, 1e3)
mechanisms = st.one_of(
    st.builds(Huber, alpha=alphas, scale=scales),
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

every_case = pytest.mark.parametrize("m", CASES, ids=lambda m: f"{m.name}")


@given(mechanisms, st.floats(-30, 30))
def test_symmetry_and_complement(m: Mechanism, t: float) -> None:
    x = t * m.std
    assert float(m.pdf(x)) == float(m.pdf(-x))
    assert float(m.cdf(x) + m.sf(x)) == pytest.approx(1, abs=1e-12)
    assert float(m.cdf(-x)) == float(m.sf(x))


@given(mechanisms, st.floats(1e-12, 1 - 1e-12))
def test_ppf_inverts_cdf(m: Mechanism, q: float) -> None:
    # relative to the nearer tail: the condition number of F at F⁻¹(q) is bounded by |x| f(x)/tail,
    # at most ~ 40 here
    assert float(m.cdf(m.ppf(q)) if q < 0.5 else m.sf(m.isf(1 - q))) == pytest.approx(
        min(q, 1 - q), rel=1e-11
    )


@given(mechanisms, st.floats(0.01, 10), st.floats(0, 20), st.floats(0, 20))
@settings(max_examples=150)
def test_profile_falls_with_epsilon_and_vanishes_at_pure_epsilon(
    m: Mechanism, shift: float, e1: float, e2: float
) -> None:
    s = shift * m.std
    low, high = sorted((e1, e2))
    d_low, d_high = float(m.delta(low, s)), float(m.delta(high, s))
    assert 0 <= d_high <= d_low * (1 + 1e-12) + 1e-300
    assert d_low <= 1
    pure = m.epsilon(s)
    if math.isfinite(pure):
        assert float(m.delta(pure * (1 + 1e-12), s)) <= 1e-15


def test_distances_of_laws_are_those_of_plain_integration() -> None:
    """The thesis calls α ≥ 3 like Gaussian and α ≤ .7 like Laplace noise."""

    def integrated(one: Mechanism, other: Mechanism) -> float:
        x = np.linspace(-40, 40, 800_001)
        return float(0.5 * np.abs(one.pdf(x) - other.pdf(x)).sum() * (x[1] - x[0]))

    gaussian, laplace = Gaussian.with_variance(2.0), Laplace.with_variance(2.0)
    for alpha, far in ((3.0, 0.0009), (1.076, 0.096), (0.7, 0.130)):
        huber = Huber(alpha=alpha, scale=math.sqrt(2.0 / Huber(alpha=alpha).variance))
        assert huber.variance == pytest.approx(2.0)
        assert huber.total_variation(gaussian) == pytest.approx(far, rel=0.05)
        for other in (gaussian, laplace):
            apart = huber.total_variation(other)
            assert apart == pytest.approx(integrated(huber, other), abs=1e-6)
            assert apart == pytest.approx(other.total_variation(huber), abs=1e-12)
    assert gaussian.total_variation(gaussian) == 0
    # densities that cross where both are equal for a while
    steps = [Staircase(epsilon=math.log(2), sensitivity=x, gamma=1.0) for x in (1.0, 2.0)]
    assert steps[0].total_variation(steps[1]) == pytest.approx(0.25, abs=1e-12)


@every_case
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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_gaussian_calibration_is_tight(epsilon: float, delta: float) -> None:
    g = Gaussian.with_epsilon(epsilon, 2.0, delta=delta)
    assert float(g.delta(epsilon, 2.0)) == pytest.approx(delta, rel=1e-9)
    assert g.epsilon_at_delta(delta, 2.0) == pytest.approx(epsilon, rel=1e-9)


def test_gaussian_calibration_at_its_ends() -> None:
    for shift in (1e-10, 1e-3, 40.0, 1e3):
        noise = Gaussian(scale=1.0)
        epsilon = noise.epsilon_at_delta(1e-12, shift)
        assert float(noise.delta(epsilon, shift)) == pytest.approx(1e-12, rel=1e-6)
    strong = Gaussian.with_epsilon(1e4, 5.0)
    assert float(strong.delta(1e4, 5.0)) == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Huber(alpha=0.001), "alpha = 0.001"),
        (lambda: Huber(alpha=21), "from 0.01 to 20"),
        (lambda: Huber(alpha=float("nan")), "alpha = nan"),
        (lambda: Huber(alpha=1, scale=0), "scale = 0"),
        (lambda: Huber(alpha="one"), "alpha = 'one'"),
        (lambda: Laplace(scale=-1), "scale = -1"),
        (lambda: Gaussian(scale=math.inf), "scale = inf"),
        (lambda: Huber.with_variance(0.9), "unit-scale"),
        (lambda: Staircase.with_variance(2.0, gamma=0.3), "γ is the one of least variance"),
        (lambda: Staircase(epsilon=0, sensitivity=1), "epsilon = 0"),
        (lambda: Staircase(epsilon=1, sensitivity=1, gamma=2), "gamma = 2"),
        (lambda: Laplace(scale=1).delta(-1, 1), "epsilon = -1"),
        (lambda: Laplace(scale=1).delta(1, 0), "sensitivity = 0"),
        (lambda: Gaussian(scale=1).rdp(0.5, 1), "order = 0.5"),
        (lambda: Gaussian(scale=1).epsilon_at_delta(1, 1), "delta = 1"),
    ],
)
def test_bad_parameters_are_named(call, words: str) -> None:
    with pytest.raises(ParameterError, match="not allowed") as caught:
        call()
    assert words in str(caught.value)


def test_edges_of_the_inverse() -> None:
    assert set(FAMILIES) == {m.name for m in CASES}
    for m in CASES:
        assert m.ppf(np.array([0, 0.5, 1])) == pytest.approx([-math.inf, 0, math.inf], abs=1e-15)
        assert np.isnan(m.ppf(np.array([-0.1, 1.1]))).all()
