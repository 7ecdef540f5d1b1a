"""Matrix completion: one algorithm per file over one batched kernel.

Solvers as generators of steps, and the baselines.
"""

from dpmc_core.completion.als import ALSConfig, als
from dpmc_core.completion.common.baselines import BASELINES, Baseline, fit_baselines
from dpmc_core.completion.common.step import FactorModel, Step
from dpmc_core.completion.irls import IRLSConfig, irls

__all__ = [
    "BASELINES",
    "ALSConfig",
    "Baseline",
    "FactorModel",
    "IRLSConfig",
    "Step",
    "als",
    "fit_baselines",
    "irls",
]
