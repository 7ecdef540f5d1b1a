"""Alternating least squares with optional noise (huber-paper Algorithm 1).

The solver as a generator of steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.alternating import Alternating, losses, solve_items
from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.population import Learning, Population, in_memory
from dpmc_core.completion.common.step import check_rank, item_release_of, start_item_factors
from dpmc_core.config import Choice, Config
from dpmc_core.errors import ParameterError
from dpmc_core.limits import Limit
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import Release, sample
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseVariance, TotalEpsilon


@dataclass(frozen=True, kw_only=True)
class ALSConfig(Config):
    """Settings of ALS; ``mechanism`` is the noise, None for none, and the ledger records the Δ."""

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    sensitivity: Sensitivity = 5.0
    noise_on: Annotated[
        str,
        Choice(
            ("right", "ratings", "both", "output"),
            "where noise is added: to right-hand sides of the item pass (Algorithm 1), to each "
            "rating's term of them (thesis, equation 3.11), in the user pass too, or to solved "
            "item factors",
            titles=("right-hand sides", "each rating's term", "both sides", "output"),
        ),
    ] = "right"
    noisy_iterations: (
        Annotated[
            int,
            Limit(
                "noisy_iterations",
                1,
                500,
                "outer iterations with noise, from the first; the others have none, and the run "
                "protects nothing",
                integer=True,
            ),
        ]
        | None
    ) = None
    mechanism: Mechanism | None = None

    @property
    def stops(self) -> bool:
        """Whether iterations without noise follow those with it."""
        return self.noisy_iterations is not None and self.noisy_iterations < self.iterations


def learn_als(
    people: Population, config: ALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each outer iteration.

    All users solved exactly, then all items with noise.

    u_i ← (Σ v vᵀ + λI)⁻¹ Σ x v;  v_j ← (Σ u uᵀ + λI)⁻¹ (Σ x u + t), t fresh noise of r numbers per
    item. The objective is Σ (x − u·v)² + λ(‖U‖² + ‖V‖²). ``noise_on`` moves the noise: see
    ``_releases``. Raises ``ParameterError`` for a rank above the matrix's smaller side, and for
    noise elsewhere than on right-hand sides of ratings that are in partitions.
    """
    check_rank(people, config.rank)
    if people.whole is None and config.noise_on != "right":
        raise ParameterError("noise_on", config.noise_on, "right for ratings in partitions")
    shape = people.n_items, config.rank
    planned = _releases(people, config)
    items = journal.once("start", lambda: start_item_factors(*shape, rng), rng)
    for iteration in range(1, config.iterations + 1):
        if iteration > (config.noisy_iterations or iteration):
            planned = ()
        release, for_users = (*planned, None, None)[:2]
        noise = None if for_users is None else sample(for_users, rng).reshape(people.n_users, -1)
        state = Alternating(items, items, config.reg, iteration, noise)
        exact: list[float] = []

        def sweep(
            state: Alternating = state,
            exact: list[float] = exact,
            release: Release | None = release,
        ) -> FloatArray:
            noise = None if release is None else _noise(people, config, release, rng)
            if noise is not None and config.noise_on == "output":
                return solve_items(people, state, None)[0] + noise
            solved, *sums = solve_items(people, state, noise)
            exact.extend(sums)  # for the holder of the data: kept nowhere
            return solved

        items = journal.once(f"items {iteration}", sweep, rng, release)
        state = replace(state, items=items)
        if not exact and iteration == config.iterations:  # the last one was kept: one more pass
            squares, _, of_users = losses(people, state, 1.0)
            exact.extend((squares, of_users))
        if not exact:
            yield Learning(iteration, state, planned)
            continue
        squares, of_users = exact
        penalty = config.reg * (of_users + float(np.vdot(items, items)))
        yield Learning(iteration, state, planned, (), squares, squares + penalty)


def _releases(people: Population, config: ALSConfig) -> tuple[Release, ...]:
    """The releases of one iteration: the item pass's and, with noise on both sides, the user
    pass's, at the same Δ. All are nominal.

    A draw for each rating is accounted for as if every rating's noisy term were released, of which
    the noisy sums are computed. Users' right-hand sides Σ x·v take part as items' do. Nothing is
    derived for solved factors: their Δ is the papers' of right-hand sides.
    """
    release = item_release_of(config.mechanism, config.sensitivity, (people.n_items, config.rank))
    if release is None:
        return ()
    changes: dict[str, Any] = {}
    if config.noise_on == "ratings" and people.whole is not None:
        changes = {
            "what": "terms x·u of all ratings, r numbers each; only their sums are used",
            "coordinates": len(people.whole.ratings) * config.rank,
            "kind": "huber-ratings",
        }
    elif config.noise_on == "output":
        changes = {
            "what": "solved factors of all items, r numbers each",
            "source": "none: Δ of right-hand sides is taken, and nothing is derived for factors",
            "kind": "huber-output",
        }
    releases = [replace(release, **changes)]
    if config.noise_on == "both":
        what = "right-hand sides Σ x·v of all users, one vector of r numbers each"
        coordinates = people.n_users * config.rank
        releases.append(replace(release, what=what, coordinates=coordinates, kind="huber-users"))
    if config.stops:
        releases = [replace(one, kind="huber-stopped") for one in releases]
    return tuple(releases)


def _noise(
    people: Population, config: ALSConfig, release: Release, rng: np.random.Generator
) -> FloatArray:
    """The noise of one item pass (n_items×r); with a draw for each rating, those of an item's
    ratings added up, one column at a time so that few are in memory.
    """
    if config.noise_on != "ratings" or people.whole is None:
        return sample(release, rng).reshape(people.n_items, -1)
    items: NDArray[np.integer] = people.whole.ratings.items
    column = replace(release, coordinates=len(items))
    sums = [np.bincount(items, sample(column, rng), people.n_items) for _ in range(config.rank)]
    return np.stack(sums, axis=1)


als = in_memory(learn_als, as_given=True)


ALGORITHMS = (
    Algorithm(
        name="als",
        title="ALS",
        summary="Alternating least squares: all users exactly, then all items, with one noise "
        "vector per item and iteration.",
        source="huber-paper, Algorithm 1",
        tuned="MovieLens 100K",
        config=ALSConfig,
        order=1,
        noise=(ReleaseVariance, NominalEpsilon, TotalEpsilon),
        unit="rating",
        prepare=with_mechanism,
        rate=als,
        learn=learn_als,
    ),
)
