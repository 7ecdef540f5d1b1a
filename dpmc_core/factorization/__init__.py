"""Factorisation: faces into parts, documents into topics, with and without privacy.

Robust NMF, the paper's private form as published, the corrected form, and moment NMF; each a
generator of steps over checked ``Samples``.
"""

from dpmc_core.factorization.blocks import fit_coefficients, objective
from dpmc_core.factorization.corrected import CorrectedNMFConfig, corrected_nmf
from dpmc_core.factorization.moments import MomentConfig, moment_nmf
from dpmc_core.factorization.published import PublishedConfig, published_nmf
from dpmc_core.factorization.robust import RobustConfig, robust_nmf, sklearn_nmf
from dpmc_core.factorization.step import FactorStep

__all__ = [
    "CorrectedNMFConfig",
    "FactorStep",
    "MomentConfig",
    "PublishedConfig",
    "RobustConfig",
    "corrected_nmf",
    "fit_coefficients",
    "moment_nmf",
    "objective",
    "published_nmf",
    "robust_nmf",
    "sklearn_nmf",
]
