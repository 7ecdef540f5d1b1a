"""Amounts of noise by kind, for every family."""

import pytest

from dpmc_core.completion.common.parameters import BudgetConfig
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseSigma, ReleaseVariance, TotalEpsilon


@pytest.mark.parametrize(
    ("name", "shape"), [*((name, {}) for name in RUN_FAMILIES), ("huber", {"alpha": 0.8})]
)
def test_every_kind_of_amount_gives_the_family_and_the_shape_it_names(
    name: str, shape: dict[str, float]
) -> None:
    by_variance = ReleaseVariance(mechanism=name, variance=3.0, **shape).of_release(5.0)
    assert (by_variance.name, by_variance.variance) == (name, pytest.approx(3.0, rel=1e-9))
    nominal = NominalEpsilon(mechanism=name, epsilon=2.0, delta=1e-6, **shape).of_release(5.0)
    got = nominal.epsilon(5.0) if nominal.pure else nominal.epsilon_at_delta(1e-6, 5.0)
    assert (nominal.name, got) == (name, pytest.approx(2.0, rel=1e-9))
    budget = TotalEpsilon(mechanism=name, epsilon=1.0, **shape).budget
    by_sigma = ReleaseSigma(mechanism=name, sigma=3.0, **shape)
    assert (by_sigma.budget.sigma, by_sigma.epsilon) == (3.0, None)
    assert by_sigma.budget.noise(0.7) == budget.noise(0.7)
    assert budget.noise(0.7).name == name
    assert budget.noise(0.7).std == pytest.approx(0.7, rel=1e-12)
    for noise in (by_variance, nominal, budget.noise(0.7)):
        assert shape.items() <= vars(noise).items()
    assert budget.norm == (2 if name == "gaussian" else 1)


def test_families_that_need_a_design_are_not_for_runs() -> None:
    assert set(FAMILIES) - set(RUN_FAMILIES) == {"staircase"}
    assert BudgetConfig().norm == 2
