"""What it costs to publish the best of several private runs, of which nobody knows how many.

The best, by a score that each run releases within its own ε, of K runs; K is geometric with mean
1/γ and drawn without looking at any data (Liu & Talwar 2019, Theorem 3.2: ε-DP runs make a choice
that is 3ε-DP). Why 3: let p(y) be the probability that a run releases y, and F(y), F(y⁻) that its
release is at most, or below, y in the order of scores (ties broken by a fixed order). Summed over K
the choice is y with probability γ·p(y)/((1 − (1 − γ)F(y))·(1 − (1 − γ)F(y⁻))). Between neighbours
p(y) changes by a factor within exp(±ε), and so does each bracket, γ + (1 − γ)(1 − F): it is a mean
of a constant and a probability.
"""

import math

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.privacy.account import ORDERS, checked_delta, release_rdp
from dpmc_core.privacy.ledger import Ledger


def choice_rdp(rdp: FloatArray, mean_runs: float) -> FloatArray:
    """Bound the Rényi divergence of the choice at each of ``ORDERS``, from that of one run there.

    ε(a) + 2·min_b((1 − 1/b)·ε(b) + log(1/γ)/b) + log(1/γ)/(a − 1) with γ = 1/``mean_runs``
    (Papernot & Steinke 2022, Theorem 2, η = 1: K geometric, whose mean is 1/γ).
    """
    log_runs = math.log(mean_runs)
    least = np.min((1 - 1 / ORDERS) * rdp + log_runs / ORDERS)
    with np.errstate(divide="ignore", invalid="ignore"):
        chosen = np.where(log_runs > 0, log_runs / (ORDERS - 1), 0.0)
    return np.asarray(rdp + 2 * least + chosen)


def choice_epsilon(ledger: Ledger, mean_runs: float, delta: float) -> float:
    """Return ε at ``delta`` of the best of ``mean_runs`` runs on average, each with ``ledger``.

    The smaller of 3ε and the Rényi bound, both by published results alone; the latter grows with
    ``mean_runs``. Infinite where releases may fail. Raises ``ParameterError``.
    """
    from dp_accounting.rdp import compute_epsilon

    mean_runs, delta = limits.check("mean_runs", mean_runs), checked_delta(delta)
    if ledger.failure:
        return math.inf
    runs = [(r.count, r) for r in ledger.releases]
    pure = 3 * sum(count * r.mechanism.epsilon(r.l1_sensitivity) for count, r in runs)
    rdp = np.sum([count * release_rdp(r, published=True) for count, r in runs], axis=0)
    return min(pure, float(compute_epsilon(ORDERS, choice_rdp(rdp, mean_runs), delta)[0]))
