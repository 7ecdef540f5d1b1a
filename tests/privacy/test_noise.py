"""Amounts of noise by kind, for every family, and vectors of a family without a vector theorem."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpmc_core.completion.common.parameters import BudgetConfig
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Laplace, Mechanism
from dpmc_core.privacy import Ledger, account
from dpmc_core.privacy.account import ORDERS, release_rdp, tightest, zcdp
from dpmc_core.privacy.noise import (
    Noise,
    NominalEpsilon,
    ReleaseSigma,
    ReleaseVariance,
    TotalEpsilon,
)
from tests.privacy.helpers import release


@dataclass(frozen=True)
class Unproved(Mechanism):
    """Laplace's distribution under a name for which nobody proved anything about vectors."""

    scale: float
    name: ClassVar[str] = "unproved"
    title: ClassVar[str] = "Unproved"
    # no more than what every mechanism must have
    _logpdf, _cdf, _ppf, _draw = Laplace._logpdf, Laplace._cdf, Laplace._ppf, Laplace._draw
    _variance, _information = Laplace._variance, Laplace._information
    _epsilon, _delta, _rdp = Laplace._epsilon, Laplace._delta, Laplace._rdp


@pytest.mark.parametrize("name", RUN_FAMILIES)
def test_every_kind_of_amount_gives_the_family_it_names(name: str) -> None:
    by_variance = ReleaseVariance(mechanism=name, variance=3.0).of_release(5.0)
    assert (by_variance.name, by_variance.variance) == (name, pytest.approx(3.0, rel=1e-9))
    nominal = NominalEpsilon(mechanism=name, epsilon=2.0, delta=1e-6).of_release(5.0)
    got = nominal.epsilon(5.0) if nominal.pure else nominal.epsilon_at_delta(1e-6, 5.0)
    assert (nominal.name, got) == (name, pytest.approx(2.0, rel=1e-9))
    budget = TotalEpsilon(mechanism=name, epsilon=1.0).budget
    by_sigma = ReleaseSigma(mechanism=name, sigma=3.0)
    assert (by_sigma.budget.sigma, by_sigma.epsilon) == (3.0, None)
    assert by_sigma.budget.noise(0.7) == budget.noise(0.7)
    assert budget.noise(0.7).name == name
    assert budget.noise(0.7).std == pytest.approx(0.7, rel=1e-12)
    assert budget.norm == (2 if name == "gaussian" else 1)


@pytest.mark.parametrize("kind", [ReleaseVariance, NominalEpsilon, TotalEpsilon, ReleaseSigma])
def test_a_shape_that_is_given_is_used(kind: type[Noise]) -> None:
    noise = kind(mechanism="huber", alpha=0.8)
    made = noise.budget.noise(1.0) if noise.budget else noise.of_release(1.0)
    assert (made.name, made.alpha) == ("huber", 0.8)


def test_families_that_need_a_design_are_not_for_runs() -> None:
    assert set(FAMILIES) - set(RUN_FAMILIES) == {"staircase"}
    assert BudgetConfig().norm == 2


def test_vectors_without_a_theorem_cost_their_pure_epsilon() -> None:
    """The same distribution with its theorem costs much less: only the theorem allows that."""
    unproved, laplace = (
        release(noise, 1, 2.0, 0.5, 30) for noise in (Unproved(4.0), Laplace(scale=4.0))
    )
    for options in ({}, {"coarse": True}, {"published": True}):
        bound = release_rdp(unproved, **options)
        assert bound == pytest.approx(np.minimum(0.5, ORDERS * 0.5**2 / 2))
    for published in (False, True):
        assert zcdp(unproved, published=published) == 0.5**2 / 2
    assert zcdp(laplace) < 0.5**2 / 8
    assert all(answer.published for answer in account(Ledger((unproved,)), 1e-5))
    epsilon = tightest(Ledger((unproved,)), 1e-5)
    assert epsilon == pytest.approx(0.5, rel=0.1)
    assert tightest(Ledger((laplace,)), 1e-5) < epsilon
