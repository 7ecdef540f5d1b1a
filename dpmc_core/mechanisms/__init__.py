"""Additive-noise mechanisms, one family per file, behind one contract (``base.Mechanism``).

Noise for one number, its law, its sampler and its exact scalar privacy.
"""

from dpmc_core.mechanisms.base import Mechanism
from dpmc_core.mechanisms.gaussian import Gaussian, textbook_gaussian_epsilon
from dpmc_core.mechanisms.huber import Huber
from dpmc_core.mechanisms.laplace import Laplace
from dpmc_core.mechanisms.staircase import Staircase

FAMILIES: dict[str, type[Mechanism]] = {c.name: c for c in (Huber, Laplace, Gaussian, Staircase)}
RUN_FAMILIES = tuple(name for name, family in FAMILIES.items() if family.in_runs)

__all__ = [
    "FAMILIES",
    "RUN_FAMILIES",
    "Gaussian",
    "Huber",
    "Laplace",
    "Mechanism",
    "Staircase",
    "textbook_gaussian_epsilon",
]
