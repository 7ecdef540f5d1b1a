"""Comparing noise distributions on equal terms: the noise of one release for a total ε of the run.

The papers compare at equal variance, or at equal ε of one release; a run makes T releases (T·K for
IRLS), which compose differently for different distributions.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpmc_core.config import Config
from dpmc_core.datasets.synthetic.ratings import low_rank
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.privacy import Ledger, least_noise
from dpmc_core.privacy.noise import NominalEpsilon, TotalEpsilon


def resolved(spec: RunSpec) -> RunSpec:
    """``spec`` with a total ε of nominal releases turned into the variance of each.

    The least noise at which all releases together have that ε: nominal, for ALS and IRLS. Other
    specs stay as they are. Huber noise keeps its α (1.5 if none is given).

    >>> spec = RunSpec.of(mechanism="laplace", iterations=4, total_epsilon=8.0)
    >>> round(resolved(spec).noise.variance, 3)  # four draws of ε = 2 each, or a little less noise
    12.5
    """
    noise = spec.noise
    if not isinstance(noise, TotalEpsilon) or spec.card.guarantee:
        return spec
    shaped = "alpha" in noise.family.shape
    alpha = (1.5 if noise.alpha is None else noise.alpha) if shaped else None
    config: Any = spec.algorithm
    if getattr(config, "stops", False):
        allowed = "left out where noise ends before the last iteration (noisy_iterations)"
        raise ParameterError("total_epsilon", noise.epsilon, allowed)
    variance, draws = _variance(
        spec.card.name,
        replace(config, rank=2, iterations=1),
        spec.card.length(config),
        replace(noise, alpha=alpha),
    )
    try:
        return spec.replace(total_epsilon=None, variance=variance, alpha=alpha)
    except ParameterError as error:  # nobody gave a variance
        allowed = f"another for {draws:,} releases, whose variance would be {variance:.3g} each"
        raise ParameterError("total_epsilon", noise.epsilon, allowed) from error


@lru_cache(maxsize=512)
def _variance(algorithm: str, one: Config, length: int, noise: TotalEpsilon) -> tuple[float, int]:
    """The variance of each release of a run of so many iterations, and how many it makes."""
    # the releases as the solver itself writes them, of ``one`` iteration on a matrix of no
    # importance
    data = low_rank(8, 8, rank=2, observed=1.0, value_scale=1.0, seed=0)
    card: Any = ALGORITHMS[algorithm]
    amount = NominalEpsilon(
        mechanism=noise.mechanism, epsilon=1.0, alpha=noise.alpha, delta=noise.delta
    )
    (step,) = card.rate(data, card.prepare(one, amount, data), np.random.default_rng(0))
    ledger = Ledger(tuple(replace(r, count=length * r.count) for r in step.releases))
    least = least_noise(ledger, noise.epsilon, noise.delta)
    return least.releases[0].mechanism.variance, ledger.draws
