"""Private NMF as published (nmf-paper, Algorithm 2), which is not private.

W starts from the NNDSVD of the raw data (section 4.1), without noise, and no ε covers that start
(``dictionary_start`` "random" is there to compare with).
An image that alone shows some pixels is a column of W₀, which is zero there without it: the analyst
of figure 1, who is given W₀, tells the two apart at any ε, N and step. Noise on later rounds is
added to what W₀ already tells. Forms with a guarantee are in ``corrected`` and ``moments``.

Step sizes, as read. Eq. 8 moves H by η_H·∇q with ∇q = (WᵀWH − Wᵀ(V − R))/N, so that the largest
η_H that never goes uphill is N/λ_max(WᵀW); the paper's is fixed and not printed. Section 4.1 takes
η_W 10,000 to 20,000 times smaller; eq. 12 has its 1/N in A and B. Eq. 7 drops the 1/N of eq. 8:
with it η_H, and W's step, would be N times smaller (``dictionary_step`` 1e-4/N). Line 5 prints an
argmin beside the step that leads to it; solving it to the end follows the noise of its round
(docs/moment-nmf.md), so that one step is the default.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import sparse

from dpmc_core.config import Choice
from dpmc_core.datasets.samples import Matrix, Samples
from dpmc_core.factorization.blocks import cross, gram_and_target, unit_ball
from dpmc_core.factorization.robust import soft_threshold
from dpmc_core.factorization.step import (
    FactorStep,
    OutlierBound,
    OutlierPenalty,
    Rounds,
    RoundsConfig,
    check_outliers,
    check_parts,
    nndsvd,
    random_dictionary,
)
from dpmc_core.limits import Limit
from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.ledger import Unit, draw
from dpmc_core.privacy.noise import Noise, RoundEpsilon

SOURCE_A = "nmf-paper eq. 13: 2/N; holds where no column of H is longer than 1, as here"
SOURCE_B = "nmf-paper eq. 14: 2/N without outliers, 4/N with"
SOURCE_START = "; W's un-noised start is not accounted for"


@dataclass(frozen=True, kw_only=True)
class PublishedConfig(RoundsConfig):
    """K parts, T rounds, nominal ``epsilon`` per round and per statistic (A and B each).

    ``epsilon`` None for no noise. ``inner`` steps on H go on from those of the round before; from a
    random start the first begin at 0 (our reading: the paper only says that NNDSVD does better).
    Outliers as in ``RobustConfig``.
    """

    rounds: Rounds = 1000
    inner: Annotated[int, Limit(1, 200, "steps on the coefficients per round")] = 5
    dictionary_steps: Annotated[
        int, Limit(1, 1000, "steps on the dictionary per round", label="Steps on W per round")
    ] = 1
    dictionary_step: Annotated[
        float,
        Limit(
            1e-12,
            10,
            "step size of the dictionary over that of the coefficients, η_W/η_H with η_H = "
            "N/λ_max(WᵀW); the paper finds 1/10,000 to 1/20,000 best",
            label="Step of W over step of H (η_W/η_H)",
            step=1e-5,
            format="%.1e",
        ),
    ] = 1e-4
    dictionary_start: Annotated[
        str,
        Choice(
            ("nndsvd", "random"),
            "where the parts start: at the singular vectors of the raw data, without noise, as the "
            "paper does, or at random, where no data are read",
            "Start of W",
            ("singular vectors (NNDSVD)", "random"),
        ),
    ] = "nndsvd"
    outlier_penalty: OutlierPenalty | None = None
    outlier_bound: OutlierBound = 10.0
    epsilon: float | None = 0.5
    delta: float = 1e-5

    def consistent(self) -> None:
        RoundEpsilon(delta=self.delta)  # whose ranges hold
        if self.epsilon is not None:
            RoundEpsilon(delta=self.delta, epsilon=self.epsilon)


def paper_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """τ = Δ/ε·√(2 ln(1.25/δ)) (nmf-paper Definition 3 and Algorithm 2), which promises ε only for ε
    < 1.
    """
    return sensitivity / epsilon * math.sqrt(2 * math.log(1.25 / delta))


def published_nmf(
    values: Matrix, config: PublishedConfig, rng: np.random.Generator, unit: Unit = "image"
) -> Iterator[FactorStep]:
    """T rounds of Algorithm 2.

    H and R by projected gradient, noisy A = HHᵀ/N and B = (V − R)Hᵀ/N, and steps of W by them.

    Columns of H (and of R) are cut to length 1, without which eqs. 13–14 bound nothing. Noise is
    added to every entry of A and B, as printed; A does not stay symmetric. Raises ``DataError`` for
    outliers in sparse data.
    """
    penalty = config.outlier_penalty
    check_outliers(penalty, dense=not sparse.issparse(values))
    if not sparse.issparse(values):
        values = unit_ball(values)  # columns longer than 1, which eq. 14 does not bound, are cut
    n = values.shape[1]
    check_parts(values.shape, config.rank)
    by_data = config.dictionary_start == "nndsvd"
    dictionary, coefficients = (
        nndsvd(values, config.rank)
        if by_data
        else (random_dictionary(values.shape[0], config.rank, rng), np.zeros((config.rank, n)))
    )
    length = np.linalg.norm(dictionary, axis=0)
    length[length == 0] = 1.0
    dictionary, coefficients = dictionary / length, coefficients * length[:, None]
    begun, scale = dictionary, max(float(np.linalg.norm(dictionary)), 1e-300)
    clean, outliers = values, None
    shift_of_b = (2 if penalty is None else 4) / n
    for iteration in range(1, config.rounds + 1):
        gram = dictionary.T @ dictionary
        eta = 1 / float(np.linalg.eigvalsh(gram)[-1])  # η_H/N
        target = cross(clean, dictionary)
        for _ in range(config.inner):
            coefficients = np.maximum(coefficients - eta * (gram @ coefficients - target), 0.0)
            if penalty is not None:
                left = values - dictionary @ coefficients
                outliers = unit_ball(soft_threshold(left, penalty, config.outlier_bound))
                clean = values - outliers
                target = cross(clean, dictionary)
        coefficients = unit_ball(coefficients)
        first, second = (table / n for table in gram_and_target(clean, coefficients))
        releases = []
        if config.epsilon is not None:
            for name, table, shift, source in (
                ("A", first, 2 / n, SOURCE_A),
                ("B", second, shift_of_b, SOURCE_B),
            ):
                noise, release = draw(
                    Gaussian(scale=paper_sigma(shift, config.epsilon, config.delta)),
                    table.shape,
                    rng,
                    what=f"statistics {name} of one round",
                    l1_sensitivity=shift * math.sqrt(table.size),
                    l2_sensitivity=shift,
                    unit=unit,
                    neighbours="replace-one",
                    sound=False,
                    source=source + SOURCE_START * by_data,
                    kind="nmf-paper" if by_data else "nmf-random",
                )
                table += noise
                releases.append(release)
        size = config.dictionary_step * n * eta
        for _ in range(config.dictionary_steps):
            dictionary = unit_ball(
                np.maximum(dictionary - size * (dictionary @ first - second), 0.0)
            )
        moved = float(np.linalg.norm(dictionary - begun)) / scale
        yield FactorStep(iteration, dictionary, coefficients, outliers, tuple(releases), moved)


def _prepared(config: PublishedConfig, noise: Noise, samples: Samples) -> PublishedConfig:
    return replace(config, epsilon=noise.epsilon, delta=noise.delta)


def _fitted(
    samples: Samples, config: PublishedConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    return published_nmf(samples.values, config, rng, samples.unit)


ALGORITHMS = (
    Algorithm(
        name="private-nmf-published",
        title="Private NMF, as published",
        summary="Noise on every gradient, but the parts start from the raw data's singular "
        "vectors, without noise: not private.",
        source="private-NMF paper, Algorithm 2 and section 4.1",
        config=PublishedConfig,
        order=23,
        noise=(RoundEpsilon,),
        mechanisms=("gaussian",),
        unit="sample",
        prepare=_prepared,
        factorize=_fitted,
    ),
)
