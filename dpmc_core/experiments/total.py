"""Comparing noise distributions on equal terms: the noise of one release for a total ε of the run.

The papers compare at equal variance, or at equal ε of one release; a run makes T releases (T·K for
IRLS), which compose differently for different distributions.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpmc_core.completion.als import ALSConfig, als
from dpmc_core.datasets.synthetic.ratings import low_rank
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.algorithm import with_mechanism
from dpmc_core.privacy.calibrate import least_noise
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
    sides = 2 if getattr(config, "noise_on", "") == "both" else 1
    draws = sides * spec.card.length(config) * getattr(config, "inner", 1)
    variance = _variance(
        noise.mechanism, alpha, config.sensitivity, noise.delta, draws, noise.epsilon
    )
    try:
        return spec.replace(total_epsilon=None, variance=variance, alpha=alpha)
    except ParameterError as error:  # nobody gave a variance
        allowed = f"another for {draws:,} releases, whose variance would be {variance:.3g} each"
        raise ParameterError("total_epsilon", noise.epsilon, allowed) from error


@lru_cache(maxsize=512)
def _variance(
    mechanism: str, alpha: float | None, sensitivity: float, delta: float, draws: int, total: float
) -> float:
    # the release as the solver itself writes it, on a matrix of no importance
    data = low_rank(8, 8, rank=2, observed=1.0, value_scale=1.0, seed=0)
    noise = NominalEpsilon(mechanism=mechanism, epsilon=1.0, alpha=alpha, delta=delta)
    config = ALSConfig(rank=2, iterations=1, sensitivity=sensitivity)
    (step,) = als(data, with_mechanism(config, noise, data), np.random.default_rng(0))
    ledger = Ledger((replace(step.releases[0], count=draws),))
    return least_noise(ledger, total, delta).releases[0].mechanism.variance
