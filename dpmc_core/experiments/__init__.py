"""Experiments: the one path from a spec to a result, and what is made of many runs."""

from dpmc_core.experiments.run import TASKS, AnyResult, run, steps
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.factorize import FactorMetrics, FactorResult
from dpmc_core.experiments.tasks.rate import RunResult, StepMetrics
from dpmc_core.experiments.tasks.recommend import RecommendMetrics, RecommendResult

__all__ = [
    "TASKS",
    "AnyResult",
    "FactorMetrics",
    "FactorResult",
    "RecommendMetrics",
    "RecommendResult",
    "RunResult",
    "RunSpec",
    "StepMetrics",
    "run",
    "steps",
]
