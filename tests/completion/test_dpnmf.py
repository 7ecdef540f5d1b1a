"""DPNMF: non-negative, right without noise, counted by the functional mechanism's sensitivity."""

import numpy as np
import pytest

from dpmc_core.completion.dpnmf import DPNMFConfig, functional_sensitivity
from dpmc_core.datasets.synthetic.ratings import low_rank
from dpmc_core.experiments import RunSpec, run
from dpmc_core.mechanisms import Laplace
from tests.steps import last_of


@pytest.mark.parametrize(("reg", "most"), [(1e-3, 0.03), (0.5, 0.5)])
def test_without_noise_it_recovers_a_low_rank_matrix(reg: float, most: float) -> None:
    """And ends where no change of an item helps: by the slopes of Σ ½(x − u·v)² + ½λ‖v‖²."""
    ratings = low_rank(80, 60, rank=3, observed=0.7, seed=1)
    step = last_of(DPNMFConfig(rank=3, reg=reg, iterations=200), ratings)
    users, items = step.model.user_factors, step.model.item_factors
    assert min(users.min(), items.min()) >= 0
    assert np.linalg.norm(users, axis=1).max() <= 1 + 1e-9
    assert np.sqrt(step.squared_residuals / len(ratings)) < most
    left, slopes = step.model.predict(ratings.users, ratings.items) - ratings.values, reg * items
    np.add.at(slopes, ratings.items, left[:, None] * users[ratings.users])
    assert slopes.min() > -1e-4
    np.testing.assert_allclose(slopes * items, 0, atol=1e-4)
    assert step.releases == ()


def test_the_functional_mechanisms_sensitivity() -> None:
    """The ℓ1 change of one term's coefficients, by drawing users of length 1 and ratings up to X,
    stays below Δ and comes near half of it.
    """
    rng = np.random.default_rng(0)
    rank, largest = 5, 4.0

    def coefficients(u: np.ndarray, x: float) -> np.ndarray:
        square = np.outer(u, u)
        return np.concatenate([-2 * x * u, np.diag(square), 2 * square[np.triu_indices(rank, 1)]])

    changes = []
    for _ in range(2000):
        first, second = (
            coefficients(v / np.linalg.norm(v), largest * rng.random())
            for v in rng.random((2, rank)) ** 2
        )
        changes.append(np.abs(first - second).sum())
    bound = functional_sensitivity(rank, largest)
    assert bound == pytest.approx(2 * (2 * 4 * np.sqrt(5) + 5))
    assert 0.3 * bound < max(changes) <= bound


def test_noise_is_as_large_as_the_nominal_epsilon_asks_for() -> None:
    without = RunSpec.of(algorithm="dpnmf", rank=4, iterations=3, reg=0.5)
    result = run(without.replace(mechanism="laplace", epsilon=2.0))
    (release,) = result.ledger.releases
    assert (release.count, release.coordinates, release.sound) == (3, 300 * (4 + 10), False)
    assert isinstance(release.mechanism, Laplace)
    assert release.mechanism.epsilon(release.l1_sensitivity) == pytest.approx(2.0)
    assert result.statement.nominal
    assert result.statement.epsilon_per_draw == pytest.approx(2.0)
    assert any("computed from their ratings without noise" in c for c in result.statement.caveats)
    assert run(without).final.test_rmse < result.final.test_rmse < np.inf
