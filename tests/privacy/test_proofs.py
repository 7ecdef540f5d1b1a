"""Every step of docs/huber-composition.md, computed with formulas written here."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from dpmc_core.mechanisms import Huber, Laplace
from dpmc_core.privacy.account import tightest
from tests.privacy.helpers import ledger, mixed

ALPHAS = (0.05, 0.3, 1.0, 1.5, 3.0, 8.0)
SHIFTS = (0.05, 0.5, 1.0, 2.5, 6.0, 20.0)


every_alpha = pytest.mark.parametrize("alpha", ALPHAS)
every_noise = pytest.mark.parametrize(
    "noise", [*(Huber(alpha=alpha) for alpha in (0.5, 1.5, 4.0)), Laplace(scale=1.0)], ids=str
)


def rho(x: NDArray, alpha: float) -> NDArray:
    return np.where(np.abs(x) <= alpha, x * x / 2, alpha * np.abs(x) - alpha**2 / 2)


def psi(x: NDArray, alpha: float) -> NDArray:
    return np.clip(x, -alpha, alpha)


def grid(alpha: float, shift: float) -> tuple[NDArray, NDArray]:
    """Trapezoid nodes and weights that reach far into both tails, with every kink on a node."""
    reach = alpha + shift + 60 / alpha
    edges = np.unique([-reach, -alpha, alpha, shift - alpha, shift + alpha, reach])
    nodes = np.concatenate(
        [np.linspace(a, b, 20_001)[:-1] for a, b in itertools.pairwise(edges)] + [edges[-1:]]
    )
    widths = np.diff(nodes)
    weights = np.zeros_like(nodes)
    weights[:-1] += widths / 2
    weights[1:] += widths / 2
    return nodes, weights


def tilted_mean(alpha: float, shift: float, order: float) -> float:
    """E_π[ψ(x) − ψ(x − d)] for π ∝ p^a p_d^{1−a}."""
    x, w = grid(alpha, shift)
    logs = -order * rho(x, alpha) + (order - 1) * rho(x - shift, alpha)
    mass = w * np.exp(logs - logs.max())
    return float(mass @ (psi(x, alpha) - psi(x - shift, alpha)) / mass.sum())


@every_alpha
def test_the_divergence_is_convex_in_the_shift(alpha: float) -> None:
    shifts = np.linspace(0.02, 4 * alpha + 10, 80)
    for order in (1.0, 1.5, 2.0, 8.0, 64.0):
        d = np.array([0.0] + [Huber(alpha=alpha).rdp(order, float(s)) for s in shifts])
        steps = np.diff(d) / np.diff([0.0, *shifts])
        assert np.all(np.diff(steps) >= -1e-9 * steps.max()), (order, np.diff(steps).min())


@pytest.mark.parametrize("alpha", [*ALPHAS, *np.geomspace(0.05, 8, 8)])
def test_the_divergence_is_at_most_order_times_its_limit_and_the_fisher_bound(alpha: float) -> None:
    noise = Huber(alpha=alpha)
    for shift in (*SHIFTS, *np.geomspace(0.01, 40, 12)):
        kl = noise.rdp(1.0, shift)
        assert kl <= noise.fisher_information * shift**2 / 2 * (1 + 1e-12)
        for order in (1.001, 1.05, 1.5, 2.0, 5.0, 8.0, 30.0, 64.0, 300.0, 1e4):
            value = noise.rdp(order, shift)
            assert value <= order * kl * (1 + 1e-12)
            assert value <= alpha * shift * (1 + 1e-12)


@every_alpha
@pytest.mark.parametrize("shift", SHIFTS)
def test_step_1_and_2_the_derivative_is_the_tilted_mean_which_falls_with_the_order(
    alpha: float, shift: float
) -> None:
    noise, h, orders = Huber(alpha=alpha), 1e-4 * shift, (1.0, 1.5, 3.0, 10.0, 100.0)
    means = [tilted_mean(alpha, shift, order) for order in orders]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in itertools.pairwise(means)), means
    for order, mean in zip(orders[1:4], means[1:4], strict=True):
        slope = (noise.rdp(order, shift + h) - noise.rdp(order, shift - h)) / (2 * h)
        # central difference: error h²/6·D‴, and the trapezoid's (panel)²; both far below 1e-4 of
        # the slope here
        assert slope == pytest.approx(order * mean, rel=1e-4)


@every_alpha
def test_step_5_no_window_holds_more_than_the_central_one(alpha: float) -> None:
    noise, middles = Huber(alpha=alpha), np.linspace(0, 5 * alpha, 60)
    windows = noise.cdf(middles + alpha) - noise.cdf(middles - alpha)
    assert windows.max() == windows[0]
    assert windows[0] == pytest.approx(noise.fisher_information, rel=1e-12)


def profile_of_two(noise: Huber | Laplace, s: float, t: float, epsilon: float) -> float:
    """δ(ε) of two coordinates that moved by s and t, by integrating the profile of one over the
    loss of the other.
    """

    def single(eps: float) -> float:
        if eps >= 0:
            return float(noise.delta(eps, t))
        return -math.expm1(eps) + math.exp(eps) * float(noise.delta(-eps, t))

    def integrand(x: float) -> float:
        return float(noise.pdf(x)) * single(epsilon - float(noise.privacy_loss(x, s)))

    unit = getattr(noise, "alpha", 0.0) * noise.scale
    kinks = sorted({-unit - s, unit - s, -unit, unit, -s, 0.0})
    reach = 50 * noise.scale / max(getattr(noise, "alpha", 1.0), 0.05)
    edges = [-reach, *kinks, reach]
    return sum(
        integrate.quad(integrand, a, b, limit=200, epsabs=1e-12)[0]
        for a, b in itertools.pairwise(edges)
    )


@every_noise
@pytest.mark.parametrize(("s", "t"), [(0.5, 0.5), (0.3, 1.5), (2.0, 1.0)])
def test_two_coordinates_are_no_worse_than_one_that_moved_by_the_sum(
    noise: Huber | Laplace, s: float, t: float
) -> None:
    top = noise.epsilon(s + t)
    strictly = 0
    for epsilon in np.linspace(0, 0.95 * top, 6):
        two, one = profile_of_two(noise, s, t, float(epsilon)), float(noise.delta(epsilon, s + t))
        assert two <= one + 1e-9
        strictly += two < 0.999 * one
    assert strictly  # a real difference, not an identity


@pytest.mark.nightly
@every_noise
@pytest.mark.parametrize("total", [1.0, 3.0])
def test_evener_movements_tell_less(noise: Huber | Laplace, total: float) -> None:
    """δ(ε) of two coordinates grows as the larger shift takes from the smaller one, at every ε of
    either sign.
    """
    for epsilon in np.linspace(-0.6, 0.9, 6) * noise.epsilon(total):
        profiles = [
            profile_of_two(noise, share * total, (1 - share) * total, float(epsilon))
            for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.999)
        ]
        assert all(b >= a - 1e-9 for a, b in itertools.pairwise(profiles)), (epsilon, profiles)


@pytest.mark.parametrize(
    ("alpha", "s", "t"), [(1.5, 0.5, 0.5), (0.5, 1.5, 0.3), (4.0, 1.5, 0.3), (1.5, 3.0, 1.0)]
)
def test_step_1_and_3_the_slope_is_an_expectation_that_is_not_negative(
    alpha: float, s: float, t: float
) -> None:
    """dδ/dh at shifts s + h, t − h against E[(ψ(U) − ψ(V))·1{g_s(U) + g_t(V) > ε}] on a grid of
    two draws; and what is averaged after swapping them is nowhere negative.
    """
    noise, reach = Huber(alpha=alpha), alpha + s + 30 / alpha
    x = np.linspace(-reach, reach, 3001)
    p = np.exp(-rho(x, alpha))
    p /= p.sum()
    u, v = x[:, None], x[None, :]
    loss = {
        k: rho(x + k, alpha) - rho(x, alpha) for k in (s, t)
    }  # log likelihood ratio at what was drawn and moved
    one = loss[s][:, None] + loss[t][None, :]
    other = one.T
    difference = psi(u, alpha) - psi(v, alpha)
    assert (np.sign(difference) * (one - other) >= -1e-9).all()  # so every swap adds or keeps
    for epsilon in (0.1, 0.4 * alpha * (s + t)):  # none of them a loss that has mass
        swapped = difference * ((one > epsilon).astype(float) - (other > epsilon))
        assert swapped.min() >= 0
        expected = p @ (swapped / 2) @ p
        h = 0.02 * t
        slope = (
            profile_of_two(noise, s + h, t - h, epsilon) - profile_of_two(noise, s, t, epsilon)
        ) / h
        # the grid's edge of the event is jagged and the difference one-sided: a tenth, and where
        # shifts are equal the slope at 0 is 0
        assert slope == pytest.approx(expected, rel=0.1, abs=0.02)


@pytest.mark.parametrize("noise", [Huber(alpha=1.5, scale=15.0), Laplace(scale=10.0)], ids=str)
def test_bounds_on_single_numbers_are_counted_exactly(noise: Huber | Laplace) -> None:
    """Twenty numbers that move by 1 each cost as much as twenty releases; every other movement of
    length 20 with no number above 1 costs less; 20.5 is twenty and a half one.
    """

    def of_vector(l1: float, coordinates: int) -> float:
        vector = ledger(noise, 1, l1, math.sqrt(l1), coordinates, linf_sensitivity=1.0)
        return tightest(vector, 1e-5)

    def of_numbers(*parts: tuple[int, float]) -> float:
        return tightest(mixed(*((noise, count, shift) for count, shift in parts)), 1e-5)

    whole = of_vector(20.0, 20)
    assert whole == pytest.approx(of_numbers((20, 1.0)), rel=1e-6)
    assert whole == pytest.approx({"huber": 0.986, "laplace": 1.592}[noise.name], abs=6e-4)
    assert of_numbers((15, 1.0), (10, 0.5)) < whole < of_vector(20.5, 21) < of_vector(21.0, 21)
    assert of_vector(20.5, 21) == pytest.approx(of_numbers((20, 1.0), (1, 0.5)), rel=1e-6)
