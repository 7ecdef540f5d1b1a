"""Comparisons that the pages draw.

ε against how often one releases, prices, and the papers' own counts re-done.

Curves and tables made of ledgers and accounts.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from dpmc_core.mechanisms import Gaussian, Mechanism
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.calibrate import least_noise
from dpmc_core.privacy.ledger import Ledger, Release
from dpmc_core.wording import printed_in


def price(mechanism: Mechanism, sensitivity: float) -> float:
    """What one release costs in a long composition, relative to Gaussian noise of the same variance
    (1 = the same).

    D₁·2σ²/Δ², the Kullback–Leibler divergence at this shift against the Gaussian's Δ²/2σ². For
    small shifts it tends to I·σ²: 2 for Laplace, between 1 and 2 for Huber noise.

    >>> from dpmc_core.mechanisms import Laplace
    >>> round(price(Laplace(scale=1.0), 1e-3), 2)
    2.0
    """
    return mechanism.rdp(1.0, sensitivity) * 2 * mechanism.variance / sensitivity**2


@lru_cache(maxsize=256)
def epsilon_curve(release: Release, counts: tuple[int, ...], delta: float) -> tuple[float, ...]:
    """The tightest ε at ``delta`` when ``release`` is made so many times, for each of ``counts``.

    Cached.
    """
    return tuple(
        tightest(Ledger((replace(release, count=count),)), delta, coarse=True) for count in counts
    )


@lru_cache(maxsize=256)
def variance_curve(
    release: Release, counts: tuple[int, ...], epsilon: float, delta: float
) -> tuple[float, ...]:
    """The least variance of ``release``'s noise, shape kept, with which so many of it have at most
    ``epsilon`` at ``delta``; cached.

    The counting is right to 0.2 % for single numbers; for vectors with Laplace or Huber noise it is
    an upper bound that may be a fifth too large, where Gaussian noise is counted exactly. For
    pictures: ``calibrate.least_noise`` is sharper.
    """
    return tuple(
        least_noise(
            Ledger((replace(release, count=count),)),
            epsilon,
            delta,
            tolerance=1e-3,
            coarse=True,
            quick=True,
        )
        .releases[0]
        .mechanism.variance
        for count in counts
    )


@dataclass(frozen=True, kw_only=True)
class DpalsCount:
    """One setting of Table 4 of the DPALS paper and five ways to account for it, one user added or
    removed, at δ = 1e-5 (ML-10M) or 1/n (ML-20M, section 6.1).

    ``printed`` is the paper's target; ``theorem`` counts one of the two releases of a step, as its
    Theorem 1 does, plus pre-processing; ``both`` counts both, with the paper's conversion;
    ``exact`` counts both, exactly. ``derived`` also counts the private mean as it must be: a sum
    over k ratings is one number that moves by k·Γ_M, not √k·Γ_M, so that pre-processing costs
    2k/σ_p² and not (k + 1)/σ_p² (our own finding, ``completion.preprocessing``); with the paper's
    conversion, and ``derived_exact`` exactly.
    """

    dataset: str
    printed: float
    theorem: float
    both: float
    exact: float
    derived: float
    derived_exact: float


_DELTAS = {"ml-20m": 1 / 136_677}  # 1/n (section 6.1); 1e-5 for the others


def dpals_ledger(
    items: int,
    sigma_gram: float,
    sigma_right: float,
    sigma_pre: float,
    rounds: int,
    *,
    derived: bool = False,
) -> Ledger:
    """What DPALS releases (dpals-paper, Algorithms 1 and 3), with sensitivities in units of its
    clipping norms.

    A user is in ``items`` k items' statistics, whose parts of norm ≤ 1 add up to a vector of ℓ2
    norm √k: once per step in the Gram matrices with noise σ_G and once in the right-hand sides with
    σ_g. Pre-processing costs (k + 1)/σ_p², hence a shift of √(2(k + 1)); ``derived``
    takes 2k/σ_p², hence √(4k).
    """

    def release(what: str, sigma: float, shift: float, count: int) -> Release:
        return Release(
            what=what,
            mechanism=Gaussian(scale=sigma),
            l1_sensitivity=shift,
            l2_sensitivity=shift,
            unit="user",
            neighbours="add/remove-one",
            coordinates=1,
            count=count,
            sound=False,
            source="dpals-paper, Appendix A and C, with both releases of a step",
        )

    root = math.sqrt(items)
    return Ledger(
        (
            release("Gram matrices of all items", sigma_gram, root, rounds),
            release("right-hand sides of all items", sigma_right, root, rounds),
            release(
                "pre-processing: item counts and means",
                sigma_pre,
                math.sqrt(4 * items if derived else 2 * (items + 1)),
                1,
            ),
        )
    )


@cache
def dpals_counts() -> tuple[DpalsCount, ...]:
    """Account for Table 4 of the DPALS paper in five ways.

    >>> row = dpals_counts()[4]
    >>> row.printed, round(row.both, 3)
    (1.0, 1.001)

    The columns 8 and 16 fit δ = 1e-6, which is not printed: √ρ is √(ε + ln 1/δ) − √ln 1/δ.

    >>> for row in dpals_counts()[2:4]:
    ...     pairs = (row.both, math.log(1e5)), (row.printed, math.log(1e6))
    ...     print([round(math.sqrt(epsilon + log) - math.sqrt(log), 3) for epsilon, log in pairs])
    [0.954, 0.954]
    [1.743, 1.743]
    """
    settings: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for p in printed_in("dpals", "4"):
        settings[p.setting["dataset"], p.setting["epsilon"]][p.metric] = p.value
    out = []
    for (dataset, epsilon), setting in settings.items():
        if epsilon == "none":
            continue
        gram, right, pre = (setting[name] for name in ("sigma_G", "sigma_g", "sigma_p"))
        items, rounds = int(setting["k"]), int(setting["T"])
        delta = _DELTAS.get(dataset, 1e-5)
        before = (items + 1) / pre**2
        both = items * rounds / 2 * (1 / gram**2 + 1 / right**2) + before
        released = items, gram, right, pre, rounds
        out.append(
            DpalsCount(
                dataset=dataset,
                printed=float(epsilon),
                theorem=_paper_conversion(items * rounds / (2 * right**2) + before, delta),
                both=_paper_conversion(both, delta),
                exact=tightest(dpals_ledger(*released), delta),
                derived=_paper_conversion(both - before + 2 * items / pre**2, delta),
                derived_exact=tightest(dpals_ledger(*released, derived=True), delta),
            )
        )
    return tuple(out)


def _paper_conversion(rho: float, delta: float) -> float:
    """ε = ρ + 2√(ρ·log 1/δ) (dpals-paper, Appendix A, from Mironov 2017, Proposition 3)."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))
