"""DPALS: alternating least squares at user level (dpals-paper, Algorithms 1 to 3).

Provides the solver, for users in memory or in groups (``next_items``).

A user's own vector depends on other users through released numbers only. That takes care: the paper
divides a user's regularisation weight c_i^ν by its mean over all users, which is released nowhere;
we divide by k^ν.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from dpmc_core.arrays import BoolArray, FloatArray, pieces
from dpmc_core.completion.common.parameters import public_features
from dpmc_core.completion.common.population import Group, Learning, Population, in_memory
from dpmc_core.completion.common.step import FactorModel, Step, check_rank
from dpmc_core.completion.dpals.plan import DPALSConfig, dpals_plan, n_frequent
from dpmc_core.completion.dpals.power_iteration import projection_clip, solve_noisy
from dpmc_core.completion.dpals.preprocessing import Basis, prepare
from dpmc_core.completion.dpals.rounds import projected, rounds_of
from dpmc_core.config import values_of
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Journal
from dpmc_core.privacy.moments import symmetric
from dpmc_core.privacy.noise import Noise, ReleaseSigma, TotalEpsilon

FARTHEST = 1e50
"""Where a diverging chain of steps is held: whether a product overflows must depend on nobody."""


@dataclass(frozen=True, eq=False)
class LearnedItems:
    """What was released, on which each user's own vector follows from their own ratings."""

    basis: Basis
    items: FloatArray

    def model(self, group: Group) -> FactorModel:
        rounds = rounds_of(group, self.basis)
        return rounds.model(_users(group, self.basis, self.items), self.items)

    def penalty(self, model: FactorModel) -> float:
        return 0.0

    def released(self) -> dict[str, Any]:
        """See ``population.Learned``; without the salt, which no user's own fit reads."""
        basis = self.basis
        numbers = {
            "settings": json.dumps(values_of(basis.config)),
            "items": self.items,
            "frequent": basis.frequent,
            "mean": basis.mean,
            "value_clip": basis.value_clip,
        }
        return numbers if basis.public is None else {**numbers, "public": basis.public}

    @classmethod
    def of_released(
        cls, settings: str, items: FloatArray, frequent: BoolArray, **basis: Any
    ) -> "LearnedItems":
        """Return what a new user's fit reads, of ``released`` numbers."""
        config = replace(DPALSConfig(**json.loads(settings)), user_sample="all")
        counts = dict.fromkeys(("first_counts", "counts"), np.ones(len(items)))
        basis = {"public": None, "norm": 2, "salt": 0, "frequent": frequent, **counts, **basis}
        return cls(Basis(config, **basis), items)


def learn_dpals(
    people: Population, config: DPALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each of T rounds.

    Its users are solved once more on the items just released, unclipped (dpals-paper D.1).

    Users are solved on all their ratings of frequent items, which they may (their vectors are their
    own), or in each step on another 1/T of them; only k of them enter the item pass. Predictions:
    mean + u·v for frequent items, the user's own mean for the others (section 5.1); users without
    ratings get the mean of the scale. Values are measured from the middle of the scale, and clipped
    to ±Γ_M, again after centring. The objective is Σ (x − prediction)² over the training ratings.
    Visitors are users of the same matrix who have no ratings in it: they get vectors, and take part
    in nothing that is released (held-out users, dpals-paper D.1). With public item features every
    user first fits alone what these are worth to them, and rounds learn what that leaves. Raises
    ``ParameterError`` for a rank above the smaller side of the matrix or above β·n_items, and for a
    budget that the preparation alone exceeds.
    """
    check_rank(people, config.rank)
    curator = Curator(dpals_plan(people, config), rng, journal)
    basis, items = begin(people, config, curator, rng)
    for iteration in range(1, config.iterations + 1):
        items = next_items(people, basis, items, curator, iteration - 1)
        if config.orthonormal == "on":
            items = _orthonormal(items)
        yield Learning(iteration, LearnedItems(basis, items), curator.made(), curator.rest())


dpals = in_memory(learn_dpals)


def begin(
    people: Population, config: DPALSConfig, curator: Curator, rng: np.random.Generator
) -> tuple[Basis, FloatArray]:
    """Prepare and centre, and start the items' factors (n_items×r)."""
    frequent = n_frequent(people.n_items, config)
    if frequent < config.rank:
        raise ParameterError(
            "item_share",
            config.item_share,
            f"at least {config.rank / people.n_items:.3g} here: the {frequent} items it keeps "
            f"are fewer than the rank, {config.rank}",
        )
    public = public_features(people, config.item_features)
    if public is not None and config.implicit:
        raise ParameterError("item_features", config.item_features, "none for likes with DPALS")
    if config.user_sample == "given":
        given_vectors(None if people.whole is None else people.whole.ratings, config)
    salt = int(curator.once("salt", lambda: np.array([rng.integers(2**63)]))[0])
    basis = prepare(people, config, public, curator, salt)
    shape = people.n_items, config.rank
    power = config.start == "power"
    start = curator.once("directions" if power else "start", lambda: rng.standard_normal(shape))
    if not power:
        return basis, start / math.sqrt(config.rank)
    most = projection_clip(
        people.n_items, min(config.items_per_user, people.n_items), basis.value_clip
    )
    directions, _ = np.linalg.qr(start)
    for _ in range(config.start_rounds):  # W ← orth(Σ x (xᵀW) + noise)
        noisy = curator.total("start", people, projected, basis, directions, most)
        directions, _ = np.linalg.qr(noisy)
    return basis, directions * math.sqrt(people.n_items / config.rank)


def next_items(
    people: Population, basis: Basis, items: FloatArray, curator: Curator, step: int
) -> FloatArray:
    """The items' factors after round ``step`` (from 0), from statistics of all frequent items:
    also of those that nobody's ratings took part for, whose silence would tell.
    """
    config = basis.config
    if config.solve == "gradient":
        return _descended(people, basis, items, curator, step)
    rank, triangle = config.rank, config.rank * (config.rank + 1) // 2
    sums = cache(lambda: people.total(_statistics, basis, items, step))
    shared = _shared(basis, curator, lambda: sums()[-1, :triangle])
    gram = curator.release("gram", lambda: sums()[:-1, :triangle], by_row=True)
    right = curator.release("right", lambda: sums()[:-1, triangle:], by_row=True)
    out = np.zeros_like(items)
    for piece in pieces(len(gram), 256):
        whole, rows = symmetric(gram[piece], rank) + shared, basis.learned[piece]
        out[rows] = solve_noisy(whole, right[piece], basis.item_reg[rows], config.projection)
    return out


def _shared(basis: Basis, curator: Curator, exact: Callable[[], FloatArray]) -> FloatArray | float:
    """λ₀ times the noisy Σ u uᵀ over all users, of which ``exact`` gives the upper triangle."""
    config = basis.config
    if not config.global_penalty:
        return 0.0
    return config.global_penalty * symmetric(curator.release("all users", exact), config.rank)


def _descended(
    people: Population, basis: Basis, items: FloatArray, curator: Curator, step: int
) -> FloatArray:
    """The items' factors S noisy gradient steps on, users' vectors held fixed: dpals-paper Remark 6
    (zeros for infrequent items). A step's size follows from released counts.
    """
    config, learned = basis.config, basis.frequent
    reg = basis.item_reg[learned, None]
    curvature = reg + config.clip_norm**2 * basis.counts[learned, None]
    out = np.where(learned[:, None], items, 0.0)
    for _ in range(config.gradient_steps):
        noisy = curator.total("gradients", people, gradients, basis, items, out, step)
        uphill = noisy - reg * out[learned]
        out[learned] += config.learning_rate * uphill / curvature
        out = np.clip(out, -FARTHEST, FARTHEST)
    return out


def gradients(
    group: Group, basis: Basis, items: FloatArray, moved: FloatArray, step: int | None = None
) -> FloatArray:
    """Σ ω e u of each frequent item at its factors ``moved``, users' vectors on ``items``."""
    rounds = rounds_of(group, basis)
    clipped = rounds.clipped(_users(group, basis, items, step))
    return rounds.gradients(clipped, moved, group.pool)[basis.frequent]


def given_vectors(ratings: Ratings | None, config: DPALSConfig) -> FloatArray:
    """The users' vectors that made these ``ratings``: they are known only of synthetic data, in
    memory. Raises ``ParameterError``.
    """
    truth = None if ratings is None else ratings.truth
    if truth is None or truth.left.shape[1] != config.rank:
        allowed = "all or part: vectors of this rank are not known for these data"
        raise ParameterError("user_sample", "given", allowed)
    return truth.left


def _users(group: Group, basis: Basis, items: FloatArray, step: int | None = None) -> FloatArray:
    """Every user's vector on the items' factors, unclipped, for round ``step`` or the model; kept
    in memory for the next round where both are on the same ratings. Given vectors are those that
    made the data. Raises ``ParameterError`` where these are not known, or not of this rank.
    """
    if basis.config.user_sample == "given":
        return given_vectors(group.ratings, basis.config)
    if basis.config.user_sample == "part" and step is not None:
        return rounds_of(group, basis).users(items, group.pool, step)

    def solved() -> FloatArray:
        return rounds_of(group, basis).users(items, group.pool)

    return group.cached("users", items.tobytes(), solved) if group.in_memory else solved()


def _statistics(group: Group, basis: Basis, items: FloatArray, step: int) -> FloatArray:
    """See ``Rounds.statistics``, of the users' clipped vectors."""
    rounds = rounds_of(group, basis)
    return rounds.statistics(rounds.clipped(_users(group, basis, items, step)), group.pool)


def _orthonormal(factors: FloatArray) -> FloatArray:
    """Ṽ(ṼᵀṼ)^(−½), line 12 of Algorithm 1."""
    u, _, v = np.linalg.svd(factors, full_matrices=False)
    return u @ v


def with_budget(config: DPALSConfig, noise: Noise, data: Any) -> DPALSConfig:
    """Return ``config`` with the total budget or σ of ``noise``, or without noise."""
    return replace(config, private=noise.budget is not None, budget=noise.budget)


def _of_likes(
    likes: Ratings,
    config: DPALSConfig,
    rng: np.random.Generator,
    workers: int | None,
    visitors: Ratings,
) -> Iterator[Step]:
    """DPALS on likes: ratings of 1, not centred."""
    return dpals(likes, replace(config, centring="none", implicit=True), rng, workers, visitors)


ALGORITHMS = (
    guaranteed(
        name="dpals",
        title="DPALS",
        summary="Alternating least squares with noisy item statistics; every user is "
        "clipped and takes part with k items.",
        source="DPALS paper, Algorithms 1 to 3",
        tuned="MovieLens 100K, on other splits than the tables'",
        config=DPALSConfig,
        order=6,
        noise=(TotalEpsilon, ReleaseSigma),
        prepare=with_budget,
        rate=dpals,
        learn=learn_dpals,
        recommend=_of_likes,
    ),
)
