"""Experiments: the one path from a spec to a result.

Lives here: ``RunSpec``, what its names mean, its data, running it, and named presets. Does not live here: pages or
charts; solvers (``completion``) or datasets.
"""

from dpmc_core.experiments.factor_spec import FactorSpec
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.factorize import FactorResult, factor_steps, factorize
from dpmc_core.experiments.tasks.rate import RunResult, StepMetrics, run, steps
from dpmc_core.experiments.tasks.recommend import (
    RecommendMetrics,
    RecommendResult,
    any_steps,
    recommend,
    recommend_steps,
)

__all__ = [
    "FactorResult",
    "FactorSpec",
    "RecommendMetrics",
    "RecommendResult",
    "RunResult",
    "RunSpec",
    "StepMetrics",
    "any_steps",
    "factor_steps",
    "factorize",
    "recommend",
    "recommend_steps",
    "run",
    "steps",
]
