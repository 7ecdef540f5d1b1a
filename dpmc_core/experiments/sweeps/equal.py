"""Comparing noises on equal terms: the nominal algorithms' noise for a total ε of the whole run.

Lives here: ``at_total``. The papers compare at equal variance, or at equal ε of one draw; a run makes T draws (T·K for IRLS), which compose differently
for different noises. Does not live here: composition itself (``privacy``), or algorithms that take a total anyway (``registry``, protects "user").
"""

from dataclasses import replace
from functools import lru_cache

from dpmc_core import limits
from dpmc_core.datasets.synthetic import low_rank
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import registry
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.calibrate import least_noise

__all__ = ["NOMINAL", "at_total", "check_total"]

NOMINAL = ("als", "irls", "irls-2")  # their sensitivity is what the spec says, whatever the data


def at_total(spec: RunSpec, total: float) -> RunSpec:
    """``spec`` with the least noise at which all draws of the run together have ε = ``total`` at its δ: nominal, for ALS and IRLS. Algorithms
    that protect users take the total themselves, and their plans stay at or a little below it. Huber noise keeps its α (1.5 if none is given). Raises ``ParameterError``.

    >>> spec = at_total(RunSpec(mechanism="laplace", iterations=4), 8.0)
    >>> round(spec.variance, 3), spec.epsilon  # four draws of ε = 2 each, or a little less noise by a sharper count
    (12.5, None)
    """
    if spec.mechanism == "none":
        return spec
    total = check_total(spec, total)
    if registry.ALGORITHMS[spec.algorithm].protects == "user":
        return spec.but(epsilon=total, variance=None)
    alpha = (1.5 if spec.alpha is None else spec.alpha) if spec.mechanism == "huber" else None
    start = spec.but(variance=None, epsilon=1.0, alpha=alpha)
    variance = _variance(
        start.mechanism,
        alpha,
        spec.sensitivity,
        spec.delta,
        spec.iterations * spec.inner_iterations,
        float(total),
    )
    return spec.but(variance=variance, epsilon=None, alpha=alpha)


def check_total(spec: RunSpec, total: object) -> float:
    """``total`` if it is an ε in range that ``spec``'s algorithm can be given. Raises ``ParameterError``."""
    algorithm = spec.algorithm
    if (
        algorithm not in NOMINAL
        and registry.ALGORITHMS[algorithm].protects != "user"
        and spec.mechanism != "none"
    ):
        allowed = (
            "one of "
            + ", ".join(NOMINAL)
            + " or one that protects users, for a total ε of nominal runs"
        )
        raise ParameterError("algorithm", algorithm, allowed)
    return limits.check("total_epsilon", total)


@lru_cache(maxsize=512)
def _variance(
    mechanism: str, alpha: float | None, sensitivity: float, delta: float, draws: int, total: float
) -> float:
    spec = RunSpec(
        mechanism=mechanism,
        alpha=alpha,
        sensitivity=sensitivity,
        delta=delta,
        epsilon=1.0,
        rank=2,
        iterations=1,
    )
    # the releases as the solver itself writes them, on a matrix of no importance
    step = next(registry.start(low_rank(8, 8, rank=2, observed=1.0, value_scale=1.0, seed=0), spec))
    one = step.releases[0]
    return (
        least_noise(Ledger((replace(one, count=draws),)), total, delta)
        .releases[0]
        .mechanism.variance
    )
