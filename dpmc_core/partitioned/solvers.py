"""The algorithms that can run on users in partitions, by name.

Provides ``SOLVERS``. Each is a generator of steps on a population: what is released is released
by the same functions, on the same plan and with the same noise as in memory.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.population import Group, Population
from dpmc_core.completion.common.step import FactorModel, check_rank
from dpmc_core.completion.dpals.plan import DPALSConfig, dpals_plan
from dpmc_core.completion.dpals.rounds import Basis
from dpmc_core.completion.dpals.solver import begin, fit_dpals, next_items
from dpmc_core.completion.item_factors import Profile
from dpmc_core.completion.moments import (
    MomentsConfig,
    fit_moments,
    moments_curator,
    release_moments,
)
from dpmc_core.completion.offsets import PrivateMeansConfig, fit_means, means_curator, release_means
from dpmc_core.partitioned.alternating import als, irls
from dpmc_core.partitioned.population import Partitions, PartitionStep
from dpmc_core.privacy.budget import Curator, Journal

Solver = Callable[[Partitions, Any, np.random.Generator, Journal], Iterator[PartitionStep]]


@dataclass(frozen=True, eq=False)
class _Means:
    offsets: FloatArray

    def model(self, group: Group) -> FactorModel:
        return fit_means(group, self.offsets)


@dataclass(frozen=True, eq=False)
class _Moments:
    profile: Profile

    def model(self, group: Group) -> FactorModel:
        return fit_moments(group, self.profile)


@dataclass(frozen=True, eq=False)
class _DPALS:
    basis: Basis
    items: FloatArray

    def model(self, group: Group) -> FactorModel:
        return fit_dpals(group, self.basis, self.items)


def _private_means(
    people: Population, config: PrivateMeansConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    curator = means_curator(people, config, rng, journal)
    learned = _Means(release_means(people, config, curator))
    yield PartitionStep(1, learned, curator.made(), curator.rest())


def _one_shot_moments(
    people: Population, config: MomentsConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    curator = moments_curator(people, config, rng, journal)
    for iteration, profile in enumerate(release_moments(people, config, curator), start=1):
        yield PartitionStep(iteration, _Moments(profile), curator.made(), curator.rest())


def _dpals(
    people: Population, config: DPALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    check_rank(people, config.rank)
    curator = Curator(dpals_plan(people, config), rng, journal)
    basis, items = begin(people, config, curator, rng)
    for iteration in range(1, config.iterations + 1):
        items = next_items(people, basis, items, curator)
        yield PartitionStep(iteration, _DPALS(basis, items), curator.made(), curator.rest())


SOLVERS: dict[str, Solver] = {
    "als": als,
    "irls": irls,
    "irls-2": irls,
    "dpals": _dpals,
    "moments": _one_shot_moments,
    "private-means": _private_means,
}
