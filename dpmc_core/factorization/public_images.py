"""What is public about images: neighbouring pixels are alike, so low frequencies vary most.

Provides the cosine basis, how much each frequency is expected to vary, and parts made of that
alone, which no image had a say in: the baseline of every factorisation of images.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.fft import idctn

from dpmc_core.arrays import FloatArray
from dpmc_core.factorization.robust import NMFConfig, robust_nmf

SPECTRUM_POWER = 1.5
PLAIN_GREY = 0.8  # length along flat grey of a picture made without data; the rest varies
MOST_MADE_UP, FEWEST_MADE_UP, MADE_UP_PER_ROW = 3000, 500, 8
MOST_FREQUENCIES = 1000  # of random pictures: what is finer hardly varies
_BASELINE_ROUNDS = 100


def cosine_basis(shape: tuple[int, int], size: int) -> FloatArray:
    """The ``size`` lowest frequencies of the two-dimensional cosine transform of images of this
    ``shape``, D×size, orthonormal columns.
    """
    order = np.argsort(_squared_frequencies(shape), kind="stable")[:size]
    unit = np.zeros((order.size, math.prod(shape)))
    unit[np.arange(order.size), order] = 1.0
    return idctn(unit.reshape(-1, *shape), axes=(1, 2), norm="ortho").reshape(order.size, -1).T


def _squared_frequencies(shape: tuple[int, int]) -> FloatArray:
    """Of each term of the cosine transform, in row order, in half waves per pixel."""
    rows, columns = np.indices(shape).reshape(2, -1)
    return (rows / shape[0]) ** 2 + (columns / shape[1]) ** 2


def smooth_shades(shape: tuple[int, int]) -> FloatArray:
    """Directions (D×r) in which smooth images vary, Σ of squares 1: lowest frequencies of
    ``cosine_basis``, 1,000 at most, with a variance of (1 + f²)^−1.5, f in half waves per √D
    pixels.
    """
    squared = np.sort(_squared_frequencies(shape)) * shape[0] * shape[1]
    expected = (1 + squared[:MOST_FREQUENCIES]) ** -SPECTRUM_POWER
    return cosine_basis(shape, MOST_FREQUENCIES) * np.sqrt(expected / expected.sum())


def made_parts(
    direction: FloatArray, directions: FloatArray, rank: int, rounds: int, rng: np.random.Generator
) -> FloatArray:
    """D×K parts of made-up columns: an ordinary NMF of draws from the Gaussian with mean along
    ``direction`` (D,) and covariance ``directions``·``directions``ᵀ (D×r), cut at 0.

    The mean is as long as columns of length 1 leave room for. Reads no data.
    """
    size_of_mean = math.sqrt(max(1.0 - float(np.vdot(directions, directions)), 0.05))
    count = min(MOST_MADE_UP, max(FEWEST_MADE_UP, MADE_UP_PER_ROW * len(direction)))
    columns = size_of_mean * direction[:, None] + directions @ rng.standard_normal(
        (directions.shape[1], count)
    )
    columns = np.maximum(columns, 0.0)
    inside = columns.any(axis=1)  # pixels that are black in every made-up column
    dictionary = np.zeros((len(direction), rank))
    parts = min(rank, int(inside.sum()))
    *_, step = robust_nmf(columns[inside], NMFConfig(rank=parts, rounds=rounds), rng)
    lengths = np.linalg.norm(step.dictionary, axis=0)
    dictionary[inside, :parts] = step.dictionary / np.where(lengths > 0, lengths, 1.0)
    return dictionary


@lru_cache(maxsize=16)
def parts_without_data(shape: tuple[int, int], rank: int) -> FloatArray:
    """D×K parts for images of this ``shape`` that no image had a say in, always the same ones.

    Of pictures that are grey with smooth random light and shadow.
    """
    pixels = shape[0] * shape[1]
    grey = np.full(pixels, 1 / math.sqrt(pixels))
    shades = math.sqrt(1 - PLAIN_GREY**2) * smooth_shades(shape)
    return made_parts(grey, shades, rank, _BASELINE_ROUNDS, np.random.default_rng(0))
