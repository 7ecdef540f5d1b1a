"""Benchmarks of the core, run by ``python -m dpmc_core bench``.

Lives here: timings taken in one run and given as ratios (kernel rate over this machine's DGEMM
rate, IRLS inner iteration over ALS half-sweep, time at twice the ratings), plus sampler rates and
extra memory. Does not live here: comparisons with other packages or a browser (``benchmarks/``
beside the tests).
"""

from dpmc_core.bench.kernel import dgemm_rate, sweep_seconds
from dpmc_core.bench.suite import run_all

__all__ = ["dgemm_rate", "run_all", "sweep_seconds"]
