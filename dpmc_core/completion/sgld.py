"""Private SGLD (after Liu, Wang & Smola 2015): Langevin steps over the items' factors, a rival that
the DPALS paper names in its Table 1.

The solver, its plan, and what an argument by posterior sampling would claim. We had the DPALS
paper's description of the rival; what it leaves open is ours: users' vectors are best responses,
not samples, all users take part in each step, and the step size is constant.

Energy. User i with m_i ratings x_i, centred by their own mean and clipped to ±Γ, contributes E_i(V)
= ω_i·min_u ½(Σ_j (x_ij − u·v_j)² + λ_i‖u‖²), with weights ω_i for which Σ_j ω_i ≤ k and Σ_j ω_i² ≤
k. At the minimum u_i the gradient by v_j is −ω_i e_ij u_i, e_ij = x_ij − u_i·v_j. A step is v ← v +
η(Σ_i ω_i e_i u_i + z − λv), z ~ N(0, σ²): Langevin dynamics at temperature T = ησ²/2, which for
small η tend to a sample of V ∝ exp(−(Σ E_i + ½λ‖V‖²)/T).

Guarantee (claimed). u_i is cut to length Γ_u and e_ij to ±Γ, so that one user added or removed
moves the sum over all items by at most √k·Γ_u·Γ in ℓ2 (k·Γ_u·Γ·√r in ℓ1), whatever the released V
it is taken at. Each step is a Gaussian release; the ledger composes all of them. That holds after
any number of steps, converged or not.

Nominal (not claimed). With u = 0, 0 ≤ E_i ≤ ½kΓ², so that an *exact* sample is an exponential
mechanism: the density of V changes by a factor within exp(±½kΓ²/T), and ε = kΓ²/(ησ²). A chain of
finite length is no exact sample, and nothing here bounds how far it is from one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpmc_core.completion.common.parameters import BudgetConfig, ItemsPerUser, Penalty, Rank
from dpmc_core.completion.common.population import Learning, Population, in_memory
from dpmc_core.completion.common.step import check_rank
from dpmc_core.completion.dpals.plan import DPALSConfig, value_clip_of
from dpmc_core.completion.dpals.preprocessing import Basis
from dpmc_core.completion.dpals.solver import FARTHEST, LearnedItems, gradients
from dpmc_core.config import parameters
from dpmc_core.limits import Limit
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Journal, Part, plan
from dpmc_core.privacy.ledger import Release


@dataclass(frozen=True, kw_only=True)
class SGLDConfig(BudgetConfig):
    """``budget`` None for no noise: gradient descent."""

    rank: Rank = 8
    reg: Penalty = 25.0
    items_per_user: ItemsPerUser = 100
    clip_norm: Annotated[float, parameters(DPALSConfig)["clip_norm"].rule] = 0.25
    rounds: Annotated[
        int,
        Limit(1, 1000, "Langevin steps, each of which releases", label="Steps of the chain (SGLD)"),
    ] = 30
    step_size: Annotated[
        float,
        Limit(
            0,
            100,
            "step size η of Langevin steps, in units of 1/(λ + Γ_u²·users)",
            open_low=True,
            label="Step size η (SGLD)",
            step=0.5,
        ),
    ] = 4.0


def sgld_plan(people: Population, config: SGLDConfig) -> dict[str, Release] | None:
    """The one kind of release, made once a step; None without noise."""
    basis, n, rank = _basis(people, config), people.n_items, config.rank
    k = min(config.items_per_user, n)
    most = config.clip_norm * basis.value_clip
    part = Part(
        what="gradients of all items",
        l1=k * most * math.sqrt(rank),
        l2=math.sqrt(k) * most,
        coordinates=n * rank,
        share=1.0,
        count=config.rounds,
        source="dpmc_core.completion.sgld: a vector of norm Γ_u times residuals of k items",
        bounded_in=2,
    )
    return plan({"gradients": part}, config.budget)


def posterior_epsilon(people: Population, config: SGLDConfig) -> float:
    """ε that an exact sample at this noise would have, kΓ²/(ησ²): *nominal*, see the module."""
    planned = sgld_plan(people, config)
    if planned is None:
        return math.inf
    k, clip = min(config.items_per_user, people.n_items), _basis(people, config).value_clip
    return k * clip**2 / (_rate(people, config) * planned["gradients"].mechanism.variance)


def learn_sgld(
    people: Population, config: SGLDConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each step of the chain: its current state, no average.

    Predictions are the user's own mean + u·v; the objective is Σ (x − prediction)². Raises
    ``ParameterError`` for a rank above the smaller side of the matrix.
    """
    check_rank(people, config.rank)
    curator = Curator(sgld_plan(people, config), rng, journal)
    basis, rate = _basis(people, config), _rate(people, config)
    shape = people.n_items, config.rank
    items = curator.once("start", lambda: rng.standard_normal(shape)) / math.sqrt(config.rank)
    for step in range(1, config.rounds + 1):
        uphill = curator.total("gradients", people, gradients, basis, items, items)
        items = items + rate * (uphill - config.reg * items)
        items = np.clip(items, -FARTHEST, FARTHEST)
        yield Learning(step, LearnedItems(basis, items), curator.made(), curator.rest())


sgld = in_memory(learn_sgld)


def _basis(people: Population, config: SGLDConfig) -> Basis:
    """Everybody's ratings of all items, by weights that are the same for all of a user's."""
    ones, k = np.ones(people.n_items), min(config.items_per_user, people.n_items)
    shared = DPALSConfig(
        rank=config.rank,
        reg=config.reg,
        items_per_user=k,
        clip_norm=config.clip_norm,
        weight_exponent=0.0,
    )
    return Basis(shared, value_clip_of(people, shared), None, 1, 0, ones > 0, ones, ones)


def _rate(people: Population, config: SGLDConfig) -> float:
    return config.step_size / (config.reg + config.clip_norm**2 * people.n_users)


ALGORITHMS = (
    guaranteed(
        name="private-sgld",
        title="Private SGLD",
        summary="Many small steps of the items' factors, each from noisy gradients of clipped "
        "users. ε is composed over the steps; that of a posterior sample is not claimed.",
        source="after Liu, Wang & Smola 2015, as the DPALS paper describes it",
        config=SGLDConfig,
        order=10,
        mechanisms=("gaussian",),
        rate=sgld,
        learn=learn_sgld,
    ),
)
