"""Where ALS and IRLS add noise: the releases of an iteration, and the noise that they say."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.population import Population
from dpmc_core.config import Choice, Config
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.ledger import Release, sample


@dataclass(frozen=True, kw_only=True)
class AlternatingConfig(Config):
    """What ALS and IRLS share; ``mechanism`` is the noise, None for none, and the ledger records
    the Δ.
    """

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    sensitivity: Sensitivity = 5.0
    noise_on: Annotated[
        str,
        Choice(
            ("right", "ratings", "both", "output"),
            "where noise is added: to right-hand sides of the item pass (Algorithms 1 and 3), to "
            "each rating's term of them (thesis, equation 3.11), in the user pass too, or to "
            "solved item factors",
            titles=("right-hand sides", "each rating's term", "both sides", "output"),
        ),
    ] = "right"
    mechanism: Mechanism | None = None


def releases_of(
    people: Population, config: AlternatingConfig, inner: int = 1
) -> tuple[Release, ...]:
    """The releases of one iteration: the item pass's and, with noise on both sides, the user
    pass's, at the same Δ; none without noise.

    For each of ``inner`` solves the right-hand sides Σ_i w_ij x_ij u_i of all items, r numbers each
    (huber-paper Alg. 1 line 8; Alg. 3 line 5). The sensitivity is the papers' assumption Δ₁ = Δ₂ =
    Δ, not a derived bound, hence ``sound=False``. A draw for each rating is accounted for as if
    every rating's noisy term were released, of which the noisy sums are computed. Users' right-hand
    sides Σ w x·v take part as items' do. Solved factors are released once, after the last of
    ``inner`` solves. Nothing is derived for them: their Δ is the papers' of right-hand sides.
    Raises ``ParameterError`` for noise elsewhere than on right-hand sides of ratings that are in
    partitions.
    """
    if people.whole is None and config.noise_on != "right":
        raise ParameterError("noise_on", config.noise_on, "right for ratings in partitions")
    if config.mechanism is None:
        return ()
    release = Release(
        what="right-hand sides Σ x·u of all items, one vector of r numbers each",
        mechanism=config.mechanism,
        l1_sensitivity=config.sensitivity,
        l2_sensitivity=config.sensitivity,
        unit="rating",
        neighbours="replace-one",
        coordinates=people.n_items * config.rank,
        count=inner,
        sound=False,
        source="huber-paper, Theorem 2.1 with Δ = width of the rating range (section 2.2)",
        kind="huber-paper",
    )
    if config.noise_on == "ratings" and people.whole is not None:
        release = replace(
            release,
            what="terms x·u of all ratings, r numbers each; only their sums are used",
            coordinates=len(people.whole.ratings) * config.rank,
            kind="huber-ratings",
        )
    elif config.noise_on == "output":
        release = replace(
            release,
            what="solved factors of all items, r numbers each",
            count=1,
            source="none: Δ of right-hand sides is taken, and nothing is derived for factors",
            kind="huber-output",
        )
    if config.noise_on != "both":
        return (release,)
    what = "right-hand sides Σ x·v of all users, one vector of r numbers each"
    coordinates = people.n_users * config.rank
    return release, replace(release, what=what, coordinates=coordinates, kind="huber-users")


def noise_of(
    people: Population, config: AlternatingConfig, release: Release, rng: np.random.Generator
) -> FloatArray:
    """The noise of one pass (count×n×r, n its users or items); with a draw for each rating, those
    of an item's ratings added up, one column at a time so that few are in memory.
    """
    if config.noise_on != "ratings" or people.whole is None:
        return sample(release, rng).reshape(release.count, -1, config.rank)
    items: IntArray = people.whole.ratings.items
    column = replace(release, coordinates=len(items), count=1)
    sums = [
        np.bincount(items, sample(column, rng), people.n_items)
        for _ in range(release.count * config.rank)
    ]
    columns = np.array(sums, dtype=np.float64).reshape(release.count, config.rank, -1)
    return columns.swapaxes(1, 2)
