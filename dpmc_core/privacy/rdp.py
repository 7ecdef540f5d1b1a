"""Rényi divergence of releases, and what it says about ε.

A bound on the Rényi divergence of one release of any kind, at many orders, with and without the
proofs of docs/huber-composition.md. Converting to (ε, δ) is dp-accounting's.
"""

from functools import lru_cache

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.mechanisms import Gaussian, Mechanism
from dpmc_core.privacy.ledger import Release

# dense enough that a finer grid changes ε by less than 0.1 % unless ε is in the thousands, where
# 1.02 is not close enough
# to 1; one grid for all ledgers, so that ε grows with every cost
ORDERS: FloatArray = np.concatenate([[1.0], 1 + np.logspace(np.log10(0.02), 7, 240)])


def release_rdp(release: Release, *, published: bool = False, coarse: bool = False) -> FloatArray:
    """A bound on D_a of one release between neighbours, at each a in ``ORDERS``, in nats.

    Gaussian: a·Δ₂²/2σ², exact. Otherwise the smallest of the bounds that hold, Δ₁ and Δ₂ being the
    sensitivities:

    * (Δ₁/Δ)·D_a(Δ), Δ the smaller of Δ₂ and Δ_∞, D_a the exact scalar divergence: it is convex in
      the shift (docs/huber-composition.md, 1), so this is exact where Δ₁/Δ coordinates move by Δ;
    * a·I·Δ₂²/2, I the Fisher information (docs/huber-composition.md, 2; Laplace: Bun & Steinke
      2016, Prop. 1.4);
    * the pure ε.

    With ``published``, vectors are counted by published results alone: a·ε₂²/2 with ε₂ = αΔ₂/s
    (Laplace: Δ₂/b), since coordinate i is (α|s_i|/s)-DP and ε-DP implies ε²/2-zCDP (Bun & Steinke
    2016, Prop. 1.4), and the pure ε. The exact divergence is kept for a single number, where it is
    a computation and not a theorem. Vectors of a family without ``vector_bounds`` (staircase) are
    always counted by their pure ε: it is ε²/2-zCDP. ``coarse`` replaces D_a by a·D₁, which is never
    smaller (docs/huber-composition.md, 2) and takes one divergence instead of one for each order.
    """
    noise, l1, l2 = release.mechanism, release.l1_sensitivity, release.l2_sensitivity
    if isinstance(noise, Gaussian):
        return ORDERS * (l2 / noise.scale) ** 2 / 2
    pure = np.full_like(ORDERS, noise.epsilon(l1))
    if release.coordinates == 1 and not (coarse and noise.vector_bounds):
        return np.minimum(pure, scalar_rdp(noise, l1))
    if not noise.vector_bounds:
        return np.minimum(pure, ORDERS * noise.epsilon(l1) ** 2 / 2)
    if published:
        return np.minimum(pure, ORDERS * noise.epsilon(l2) ** 2 / 2)
    fisher = ORDERS * noise.fisher_information * l2**2 / 2
    most = min(l2, release.linf_sensitivity or l2)
    one_moves = ORDERS * noise.rdp(1.0, most) if coarse else scalar_rdp(noise, most)
    return np.minimum(np.minimum(pure, fisher), l1 / most * one_moves)


@lru_cache(maxsize=512)
def _scalar_rdp(noise: Mechanism, shift: float) -> tuple[float, ...]:
    return tuple(noise.rdp_curve(ORDERS, shift).tolist())


def scalar_rdp(noise: Mechanism, shift: float) -> FloatArray:
    """The exact scalar divergence at each order of ``ORDERS``."""
    return np.array(_scalar_rdp(noise, shift))


def zcdp(release: Release, *, published: bool = False) -> float:
    """The least ρ for which one release is ρ-zCDP (D_a ≤ ρ·a for all a ≥ 1) by what is proved.

    Gaussian: Δ₂²/2σ². Laplace and Huber: D₁ by the bounds of ``release_rdp``, since D_a ≤ a·D₁
    (docs/huber-composition.md, 2); with ``published``, (αΔ₂/s)²/2 and (Δ₂/b)²/2 (Bun & Steinke
    2016, Prop. 1.4). Staircase noise, which is not log-concave: ε²/2.
    """
    noise = release.mechanism
    if isinstance(noise, Gaussian):
        return (release.l2_sensitivity / noise.scale) ** 2 / 2
    if noise.vector_bounds and published:
        return noise.epsilon(release.l2_sensitivity) ** 2 / 2
    if noise.vector_bounds:
        return float(release_rdp(release, coarse=True)[0])
    return noise.epsilon(release.l1_sensitivity) ** 2 / 2
