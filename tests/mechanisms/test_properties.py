"""What must hold for every mechanism and every parameter, and what must be refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import FAMILIES, Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.mechanisms.huber_privacy import loss, loss_inverse

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


@given(mechanisms, st.floats(1.0, 60), st.floats(0.001, 8))
@settings(max_examples=150)
def test_renyi_is_monotone_in_order_and_below_pure_epsilon(
    m: Mechanism, order: float, shift: float
) -> None:
    s = shift * m.std
    value = m.rdp(order, s)
    assert 0 <= value <= m.epsilon(s) * (1 + 1e-12)
    assert m.rdp(1.0, s) <= value * (1 + 1e-9)
    # Pinsker: total variation, which is δ(0), is at most sqrt(KL/2)
    assert float(m.delta(0.0, s)) <= math.sqrt(m.rdp(1.0, s) / 2) * (1 + 1e-9)


@given(alphas, st.floats(0.001, 60), st.floats(0, 0.999))
def test_loss_inverse_inverts_the_loss(alpha: float, shift: float, share: float) -> None:
    epsilon = share * alpha * shift
    x = float(loss_inverse(epsilon, alpha, shift))
    assert float(loss(x, alpha, shift)) == pytest.approx(
        epsilon, rel=1e-9, abs=1e-9 * alpha * shift
    )
    assert abs(float(loss(x + 3, alpha, shift))) <= alpha * shift * (1 + 1e-12)


@given(alphas, st.floats(0.001, 30), st.floats(0, 1))
def test_the_laws_pieces_are_those_of_the_thesis(alpha: float, shift: float, share: float) -> None:
    """huber-thesis eq. 4.3–4.5 and appendix A, with the misprints mended."""
    a, d, half = alpha, shift, alpha * alpha / 2
    noise = Huber(alpha=alpha)
    z = 2 / a * math.exp(-half) + math.sqrt(2 * math.pi) * math.erf(a / math.sqrt(2))
    assert noise.variance == pytest.approx(1 + (2 / a + 4 / a**3) * math.exp(-half) / z)
    x = (2 * share - 1) * (a + d) * 1.2
    tail = math.exp(half - a * abs(x)) / (a * z)
    centre = 1 / 2 + math.sqrt(math.pi / 2) * math.erf(x / math.sqrt(2)) / z
    cdf = tail if x < -a else centre if x <= a else 1 - tail
    assert float(noise.cdf(x)) == pytest.approx(cdf, abs=1e-12)
    left, right = (x + d) ** 2 / 2 + a * x + half, a * (x + d) - half - x * x / 2
    inner = d * x + d * d / 2 if d <= 2 * a else a * (2 * x + d)
    knots = [-a - d, *sorted((-a, a - d)), a]
    pieces = (-a * d, left, inner, right, a * d)
    piece = pieces[sum(knot < x for knot in knots)]
    assert float(loss(x, a, d)) == pytest.approx(piece, rel=1e-9, abs=1e-9 * (1 + a * d + half))


@every_case
def test_density_integrates_to_the_cdf_and_the_variance(m: Mechanism) -> None:
    points = [k * m.std * 0.25 for k in range(-160, 161)]
    if isinstance(m, Staircase):
        points = sorted(
            {s * (k + g) * m.sensitivity for s in (-1, 1) for k in range(40) for g in (0, m.gamma)}
        )
    nodes, weights = np.polynomial.legendre.leggauss(30)
    low, high = np.array(points[:-1])[:, None], np.array(points[1:])[:, None]
    x = ((low + high) / 2 + (high - low) / 2 * nodes).ravel()
    w = ((high - low) / 2 * weights).ravel()
    assert float(np.sum(w * m.pdf(x))) == pytest.approx(1, abs=1e-7)
    assert float(np.sum(w * x * x * m.pdf(x))) == pytest.approx(m.variance, rel=1e-4)
    below = x < 0.3 * m.std
    value = float(np.sum((w * m.pdf(x))[below]))
    assert value == pytest.approx(float(m.cdf(0.3 * m.std)), abs=0.05)


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
    # N(0, 1) and N(0, 4) cross where t² = (8/3) log 2
    place = math.sqrt(8 / 3 * math.log(2))
    assert Gaussian(scale=1.0).total_variation(Gaussian(scale=2.0)) == pytest.approx(
        2 * float(Gaussian(scale=2.0).sf(place) - Gaussian(scale=1.0).sf(place)), abs=1e-12
    )


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


@every_case
def test_profile_against_plain_integration(m: Mechanism) -> None:
    s = 1.3 * m.std
    for epsilon in (0.0, 0.2, 0.7):
        grid = np.linspace(-60 * m.std, 60 * m.std, 2_400_001)
        gap = np.maximum(m.pdf(grid) - math.exp(epsilon) * m.pdf(grid - s), 0)
        assert float(m.delta(epsilon, s)) == pytest.approx(integrate.trapezoid(gap, grid), abs=2e-4)
    order = 2.5
    total = integrate.trapezoid(
        np.exp(order * m.logpdf(grid) + (1 - order) * m.logpdf(grid - s)), grid
    )
    assert m.rdp(order, s) == pytest.approx(math.log(total) / (order - 1), rel=2e-3)


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
