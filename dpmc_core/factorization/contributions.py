"""What one image or document contributes, worked out from it alone.

Lives here: the columns that private factorisations sum over, and the private choice of words. Does
not live here: the sums' noise (``privacy.budget``) or what is made of them (``sound``,
``moments``).

TF-IDF columns cannot be summed over privately as they are: the IDF of a word is a count over all
documents, so one document more moves every column. So for text the document frequencies leave
first, with noise, and the columns are weighted by what left. Each document is counted by its words
times 1/√(how many different words it has), a vector of length 1, so one document moves the
frequencies by at most 1 in ℓ2. Longer documents count less for each of their words.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core.datasets.samples import Matrix, Samples, unit_columns
from dpmc_core.privacy.budget import Curator, Part
from dpmc_core.privacy.moments import sum_part

FloatArray = NDArray[np.float64]

__all__ = ["Columns", "clipped_columns", "frequency_part", "record_columns", "words_worth_it"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Contributions ``values`` (M×N, columns of length at most 1) over the ``rows`` (M,) of the
    data that take part.
    """

    values: Matrix
    rows: NDArray[np.intp]

    def spread(self, dictionary: FloatArray, rows: int) -> FloatArray:
        """A dictionary over the M rows as one over all ``rows``: zero elsewhere."""
        out = np.zeros((rows, dictionary.shape[1]))
        out[self.rows] = dictionary
        return out


def frequency_part(samples: Samples, share: float) -> dict[str, Part]:
    """The plan of the document frequencies; empty for images."""
    if samples.unit != "document":
        return {}
    return {
        "frequencies": sum_part(
            "in how many documents each word is",
            clip=1.0,
            norm=2,
            coordinates=samples.dimension,
            share=share,
            unit="document",
            non_negative=True,
        )
    }


def record_columns(samples: Samples, curator: Curator, most: int) -> Columns:
    """The columns to sum over.

    Images, cut to length 1; documents over the ``most`` words whose released frequency is highest,
    weighted by the IDF that follows from it, ln((1 + N)/(1 + df)) + 1, and brought to length 1. N
    (``Samples.places``) is taken as public.

    Without noise the frequencies are exact. A word's released frequency estimates Σ 1/√(words of a
    document) over the documents that hold it; times √(the released mean number of words) it is
    about the count of documents.
    """
    if samples.unit != "document":
        assert isinstance(samples.values, np.ndarray)
        return Columns(clipped_columns(samples.values, 1.0), np.arange(samples.dimension))
    assert samples.counts is not None
    n = samples.places.given
    binary = sparse.csc_array(samples.counts)
    binary.data = np.ones_like(binary.data)
    lengthened = unit_columns(binary)
    released = curator.release("frequencies", np.asarray(lengthened.sum(axis=1)).ravel())
    # Σ over words of the released sums is Σ over documents of √(their words): its mean over N turns
    # sums into counts
    typical = max(float(released.clip(0).sum()) / n, 1.0)
    counts = np.clip(released * typical, 0.0, n)
    kept = np.sort(np.argsort(-released, kind="stable")[: min(most, samples.dimension)])
    idf = np.log((1 + n) / (1 + counts[kept])) + 1
    table = sparse.csr_array(samples.counts)[kept]
    weighted = sparse.csc_array(sparse.diags_array(idf) @ table)
    return Columns(unit_columns(weighted), kept)


def clipped_columns(values: FloatArray, clip: float) -> FloatArray:
    """Columns moved onto the ℓ2 ball of radius ``clip``."""
    length = np.linalg.norm(values, axis=0)
    return np.asarray(values * np.minimum(1.0, clip / np.maximum(length, 1e-300)))


def words_worth_it(n: int, shift: float, per_signal: float, most: int) -> int:
    """How many rows a released second moment may have.

    ``per_signal``·√(N·Δ/σ), between 10 and ``most``. Reads no data but N.
    """
    if math.isinf(shift):
        return most
    return max(min(10, most), min(most, int(per_signal * math.sqrt(n * shift))))
