"""Exact sampling on a grid: the law, the guarantee of what is released, and what is refused."""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.mechanisms.grid import _law, grid_step, release_on_grid, sample_on_grid
from tests.terminal import Terminal

LAPLACE = Laplace(scale=1.0)
NOISES: list[Mechanism] = [
    Huber(alpha=1.5, scale=0.7),
    Huber(alpha=0.3),
    Huber(alpha=8.0),
    Laplace(scale=0.9),
    Gaussian(scale=1.2),
]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=str)


def exact_law(noise: Mechanism, step: float, reach: int) -> np.ndarray:
    """P(k) for |k| ≤ reach, from the density at the grid points alone."""
    p = noise.pdf(np.arange(-reach, reach + 1) * step)
    return p / p.sum()


def released(value: float, noise: Mechanism, sensitivity: float, step: float, seed: int) -> Any:
    return release_on_grid(value, noise, sensitivity, step, random.Random(seed).randrange)


@pytest.mark.parametrize(
    ("noise", "step"), [*zip(NOISES, (0.5, 0.125, 0.125, 0.5, 0.125), strict=True)], ids=str
)
def test_samples_follow_the_density_at_the_grid_points(noise: Mechanism, step: float) -> None:
    reach = 2000
    law = exact_law(noise, step, reach)
    draws = sample_on_grid(noise, 20_000, step, random.Random(4).randrange)
    expected = 20_000 * law
    # cells with at least 20 expected, the rest of each tail in one
    inner = np.flatnonzero(expected >= 20)
    low, high = inner[0], inner[-1]
    cells = np.clip(draws + reach, low - 1, high + 1) - (low - 1)
    counts = np.bincount(cells, minlength=high - low + 3)
    usual = np.r_[expected[:low].sum(), expected[low : high + 1], expected[high + 1 :].sum()]
    counts, usual = counts[usual > 5], usual[usual > 5]
    # five such tests in all: a false alarm in one of 20,000 runs, and the seed is fixed
    assert stats.chisquare(counts, usual * counts.sum() / usual.sum()).pvalue > 1e-5


@every_noise
def test_the_acceptance_probability_never_exceeds_one_and_gives_the_density(
    noise: Mechanism,
) -> None:
    rate, excess = _law(noise, Fraction(1, 8))
    assert min(map(excess, range(400))) >= 0
    logs = np.array([float(-rate * k - excess(k)) for k in range(400)])
    density = np.asarray(noise.logpdf(np.arange(400) / 8))
    assert logs - logs[0] == pytest.approx(density - density[0], abs=1e-9)


@pytest.mark.parametrize("noise", NOISES[:4], ids=str)
@pytest.mark.parametrize("sensitivity", [0.3, 1.0, 2.7])
def test_what_is_released_keeps_its_pure_epsilon(noise: Mechanism, sensitivity: float) -> None:
    """The exact discrete law, shifted by the most that rounding can make of the sensitivity."""
    release = released(10.0, noise, sensitivity, 0.25, 0)
    steps = round(release.sensitivity / 0.25)
    assert steps == math.ceil(sensitivity / 0.25)
    logs = np.asarray(noise.logpdf(np.arange(-3000, 3001) * 0.25))
    worst = float(np.max(np.abs(logs[steps:] - logs[:-steps])))
    assert worst <= release.epsilon * (1 + 1e-12)
    assert worst == pytest.approx(release.epsilon, rel=1e-9)  # and no smaller ε would be true
    assert release.rho == pytest.approx(release.epsilon**2 / 2)


@pytest.mark.parametrize("sensitivity", [1.0, 0.3, 0.25])
def test_rounding_moves_neighbours_at_most_the_counted_steps(sensitivity: float) -> None:
    """The same noise for both, so what is left between two releases is what rounding made of their
    values.
    """
    rng = np.random.default_rng(0)
    eighths = rng.integers(-18, 18, 100) / 8
    for k, value in enumerate((*rng.normal(size=100), *eighths)):
        one, two = (
            released(v, LAPLACE, sensitivity, 0.25, k) for v in (value, value + sensitivity)
        )
        assert abs(two.value - one.value) <= one.sensitivity
    half, next_half = (released(v, LAPLACE, 1.0, 0.25, 1).value for v in (0.125, 0.375))
    assert next_half - half == 0.25  # half up at both: half to even would move two steps or none


@every_noise
def test_what_is_released_is_the_value_plus_the_noise(noise: Mechanism) -> None:
    source = random.Random(2).randrange
    values = [release_on_grid(40.0, noise, 1.0, 2.0**-10, source).value for _ in range(4000)]
    # mean and variance within five standard errors; the fourth moment of these laws is at most 6
    # variances²
    assert abs(np.mean(values) - 40) < 5 * noise.std / math.sqrt(4000)
    assert abs(np.var(values) / noise.variance - 1) < 5 * math.sqrt(5 / 4000)


@pytest.mark.parametrize("value", [0.0, 41.7, -1e6, 4e9])  # the last near the end of the grid
def test_every_released_number_is_a_multiple_of_the_step(value: float) -> None:
    one = release_on_grid(value, LAPLACE, 1.0)
    assert Fraction(one.value) % Fraction(grid_step(LAPLACE)) == 0
    assert one.value == pytest.approx(value, abs=100)
    gaussian = release_on_grid(value, Gaussian(scale=2.0), 1.0)
    assert (gaussian.rho, gaussian.epsilon) == (pytest.approx(1 / 8), math.inf)


@pytest.mark.parametrize("noise", [Gaussian(scale=1.0), Laplace(scale=1.0), Huber(alpha=1.5)])
@pytest.mark.parametrize("steps", [1, 40, 2000])
def test_delta_on_the_grid_is_that_of_the_continuous_noise(noise: Mechanism, steps: int) -> None:
    """To a step in units of the standard deviation, relative."""
    step = 2.0**-9
    law = exact_law(noise, step, math.ceil(40 / step))
    for share in (0.0, 0.5, 0.9):  # of a loss that is reached
        epsilon = share * float(noise.privacy_loss(0.6 - steps * step / 2, steps * step))
        discrete = np.maximum(law[steps:] - math.exp(epsilon) * law[:-steps], 0).sum()
        exact = float(noise.delta(epsilon, steps * step))
        assert discrete == pytest.approx(exact, rel=step / noise.std)


@pytest.mark.parametrize(
    ("words", "moved"),
    [("gaussian --scale 1e6 --sensitivity 1e-4", 1.0), ("laplace --scale 5e6", 4.0)],
)
def test_the_command_says_what_the_released_number_spends(
    words: str, moved: float, terminal: Terminal
) -> None:
    command = f"mechanism {words} --release 41.7 --delta 1e-8"
    printed = terminal.json(command)
    noise = Gaussian(scale=1e6) if moved == 1 else Laplace(scale=5e6)
    assert printed["sensitivity"] == printed["release"]["sensitivity"] == moved
    assert printed["epsilon_at_delta"] == noise.epsilon_at_delta(1e-8, moved) > 0
    assert f"sensitivity {moved:g} (" in terminal.output(command)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (release_on_grid, (1e10, LAPLACE, 1.0), r"within ±4.29497e\+09"),
        (release_on_grid, (math.nan, LAPLACE, 1.0), "finite"),
        (release_on_grid, (0.0, LAPLACE, 1.0, 2.0**-50), r"at least 2\*\*-40 standard deviations"),
        (sample_on_grid, (Staircase(epsilon=1.0, sensitivity=1.0), 1, 0.5), "huber, laplace or"),
        *(
            (sample_on_grid, (LAPLACE, 1, step), "power of two")
            for step in (0.1, 0.0, -0.5, math.inf, math.nan, 3.0)
        ),
    ],
)
def test_what_no_grid_can_hold_is_refused(call: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call(*arguments)
