"""One-shot moment NMF: mean and second moment leave once, with noise, and what left is factorised.

Lives here: the house's own private factorisation (after findings 15), what is released, and how
parts are made of it. Does not live here: sensitivities (``privacy.moments``), what a document
contributes (``alone``).

Three ideas, none of which costs privacy:

* *Centre before squaring.* The mean leaves first. Each unit then takes its part along the mean out
  of its own column; what is left has a typical length e, which follows from the released mean
  because columns have length 1: e² = 1 − ‖mean‖². In units of e it is cut to length 1, so its
  second moment moves by at most 1 (a column itself would move it by 1/e², ten times as much for
  faces).
* *A public basis for images.* Neighbouring pixels look alike: that is known before any face is
  seen. So the second moment is released over the lowest d frequencies of a cosine transform, d by
  the number of images and ε alone. Fewer numbers bring less noise.
* *A private choice of words for text*: those whose released document frequency is highest, so many
  as N and ε say are worth their noise.

Then eigenvalues are shrunk by what the noise alone would show (``shrink``), columns are drawn from
the Gaussian that is left, negative entries are cut to 0, and an ordinary NMF of this made-up data
gives the parts. No rounds on the data; everything after the releases is free.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.fft import idctn

from dpmc_core.config import Config
from dpmc_core.datasets.samples import Matrix, Samples
from dpmc_core.factorization.contributions import (
    clipped_columns,
    frequency_part,
    record_columns,
    words_worth_it,
)
from dpmc_core.factorization.parameters import NeighbourChoice, Parts, Rounds
from dpmc_core.factorization.robust import NMFConfig, robust_nmf
from dpmc_core.factorization.step import FactorStep, check_parts
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.budget import Budget, Curator, Part, for_replacing, plan
from dpmc_core.privacy.moments import packed, shrink, sum_part, unpacked, whole_moment_part
from dpmc_core.privacy.noise import TotalEpsilon

FloatArray = NDArray[np.float64]

__all__ = ["ALGORITHMS", "MomentConfig", "cosine_basis", "frequencies_worth_it", "moment_nmf"]

# Fixed in advance of any run; chosen on CBCL faces, cartoon faces and synthetic topics, so figures
# on those are slightly flattered.
MEAN_SHARE, WORDS_SHARE = 0.1, 0.15
RESIDUAL_CLIP = 0.9  # in units of the typical length of a centred column
FREQUENCIES_PER_SIGNAL, FEWEST_FREQUENCIES = 2.8, 16
WORDS_PER_SIGNAL, MOST_WORDS = 4.0, 1500
MOST_DIRECTIONS = 300
MOST_MADE_UP, FEWEST_MADE_UP, MADE_UP_PER_ROW = (
    3000,
    500,
    8,
)  # columns drawn from the released moments
_CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class MomentConfig(Config):
    """K parts; ``rounds`` of the NMF of synthetic columns; ``budget`` None for no noise.

    ``neighbours`` as in ``CorrectedNMFConfig``.
    """

    rank: Parts = 16
    rounds: Rounds = 150
    neighbours: NeighbourChoice = "add/remove-one"
    budget: Budget | None = None


def moment_nmf(
    samples: Samples, config: MomentConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    """Two steps: (1) the average as the only part, (2) K parts.

    What does not stand above the noise adds no part: then the rest are empty.
    """
    check_parts(samples.values, config.rank)
    rows, size = _sizes(samples, config)
    curator = Curator(plan(_parts(samples, rows, size, config.neighbours), config.budget), rng)
    columns = record_columns(samples, curator, rows)
    n = len(samples)
    basis = cosine_basis(samples.shape, size) if samples.shape is not None else None

    mean = curator.release("mean", np.asarray(columns.values.sum(axis=1)).ravel()) / n
    noise = len(mean) * (curator.std("mean") / n) ** 2
    energy = min(max(float(mean @ mean) - noise, 0.0), 1.0)
    mean = np.maximum(_smooth(mean, samples.shape, curator.std("mean") / n), 0.0)
    direction = mean / max(float(np.linalg.norm(mean)), 1e-300)
    alone = np.zeros((len(mean), config.rank))
    alone[:, 0] = direction
    average = columns.spread(alone, samples.dimension)
    yield FactorStep(1, average, releases=curator.made(), rest=curator.rest())

    typical = math.sqrt(max(1.0 - energy, 0.01))
    moment = _second_moment(columns.values, direction, basis, typical)
    noisy = unpacked(curator.release("together", packed(moment)), size)
    # off the diagonal the packed noise comes back divided by √2
    vectors, strengths = shrink(
        noisy, curator.std("together") / math.sqrt(2), min(size, MOST_DIRECTIONS)
    )
    spread = vectors * (typical * np.sqrt(strengths / n))
    directions = spread if basis is None else basis @ spread
    if not len(strengths):
        yield FactorStep(2, average, releases=curator.made(), rest=curator.rest())
        return
    size_of_mean = math.sqrt(max(1.0 - float(np.vdot(spread, spread)), 0.05))
    count = min(MOST_MADE_UP, max(FEWEST_MADE_UP, MADE_UP_PER_ROW * len(mean)))
    made = size_of_mean * direction[:, None] + directions @ rng.standard_normal(
        (directions.shape[1], count)
    )
    made = np.maximum(made, 0.0)
    inside = made.any(axis=1)  # pixels that are black in every made-up column
    dictionary = np.zeros((len(mean), config.rank))
    parts = min(config.rank, int(inside.sum()))
    step = None
    plain = NMFConfig(rank=parts, rounds=config.rounds)
    for step in robust_nmf(made[inside], plain, rng):  # noqa: B007
        pass
    assert step is not None
    lengths = np.linalg.norm(step.dictionary, axis=0)
    dictionary[inside, :parts] = step.dictionary / np.where(lengths > 0, lengths, 1.0)
    learned = columns.spread(dictionary, samples.dimension)
    yield FactorStep(2, learned, releases=curator.made(), rest=curator.rest())


def frequencies_worth_it(dimension: int, n: int, snr: float) -> int:
    """How many frequencies of D pixels the second moment is released over.

    2.8·√(N·Δ/σ), at least 16, at most D.
    """
    if math.isinf(snr):
        return dimension
    return max(
        min(FEWEST_FREQUENCIES, dimension),
        min(dimension, int(FREQUENCIES_PER_SIGNAL * math.sqrt(n * snr))),
    )


def cosine_basis(shape: tuple[int, int], size: int) -> FloatArray:
    """The ``size`` lowest frequencies of the two-dimensional cosine transform of images of this
    ``shape``, D×size, orthonormal columns.
    """
    height, width = shape
    rows, columns = np.divmod(np.arange(height * width), width)
    order = np.argsort((rows / height) ** 2 + (columns / width) ** 2, kind="stable")[:size]
    unit = np.zeros((size, height, width))
    unit[np.arange(size), rows[order], columns[order]] = 1.0
    return np.asarray(idctn(unit, axes=(1, 2), norm="ortho").reshape(size, -1).T)


def _sizes(samples: Samples, config: MomentConfig) -> tuple[int, int]:
    """How many rows take part, and how many numbers of each column the second moment is over.

    By D, N and ε alone.
    """
    rows = samples.dimension if samples.unit == "image" else min(samples.dimension, MOST_WORDS)
    if config.budget is None:
        return rows, rows
    trial = min(64, rows)
    planned = plan(_parts(samples, rows, trial, config.neighbours), config.budget)
    assert planned is not None
    snr = RESIDUAL_CLIP**2 / planned["together"].mechanism.std
    if samples.unit == "image":
        return rows, frequencies_worth_it(rows, len(samples), snr)
    kept = words_worth_it(len(samples), snr, WORDS_PER_SIGNAL, rows)
    return kept, kept


def _parts(samples: Samples, rows: int, size: int, neighbours: str) -> dict[str, Part]:
    unit = samples.unit
    parts = frequency_part(samples, WORDS_SHARE)
    parts["mean"] = sum_part(
        "the sum of all columns",
        clip=1.0,
        norm=2,
        coordinates=rows,
        share=MEAN_SHARE,
        unit=unit,
        non_negative=True,
    )
    left = 1.0 - sum(part.share for part in parts.values())
    parts["together"] = whole_moment_part(
        "what goes together (second moment, centred)",
        clip=RESIDUAL_CLIP,
        size=size,
        share=left,
        unit=unit,
    )
    return for_replacing(parts) if neighbours == "replace-one" else parts


def _smooth(mean: FloatArray, shape: tuple[int, int] | None, std: float) -> FloatArray:
    """The released mean image without its highest frequencies.

    As many are kept as make Stein's unbiased estimate of the error least, Σ_{dropped} y² − (dropped
    − kept)·σ² up to a constant. Reads nothing but what was released and the known σ.
    """
    if shape is None or std == 0:
        return mean
    basis = cosine_basis(shape, len(mean))
    seen = basis.T @ mean
    gain = np.cumsum(2 * std**2 - seen**2)
    kept = int(gain.argmin()) + 1
    return np.asarray(basis[:, :kept] @ seen[:kept])


def _second_moment(
    values: Matrix, direction: FloatArray, basis: FloatArray | None, typical: float
) -> FloatArray:
    """Σ z zᵀ over units, z the column without its part along ``direction``, in ``basis``, over
    ``typical``, cut to ``RESIDUAL_CLIP``; in pieces.
    """
    size = len(direction) if basis is None else basis.shape[1]
    total = np.zeros((size, size))
    for first in range(0, values.shape[1], _CHUNK):
        piece = values[:, first : first + _CHUNK]
        dense = np.asarray(piece.toarray() if sparse.issparse(piece) else piece)
        left = dense - np.outer(direction, direction @ dense)
        alone = clipped_columns(
            (left if basis is None else basis.T @ left) / typical, RESIDUAL_CLIP
        )
        total += alone @ alone.T
    return total


ALGORITHMS = (
    Algorithm(
        name="moment-nmf",
        title="One-shot moment NMF",
        summary="The average and what varies together leave once, with noise; the parts are made "
        "from what left.",
        source="this project, after finding 15 (docs/moment-nmf.md)",
        config=MomentConfig,
        order=25,
        noise=(TotalEpsilon,),
        unit="sample",
        guarantee=True,
        factorize=moment_nmf,
        steps=2,
    ),
)
