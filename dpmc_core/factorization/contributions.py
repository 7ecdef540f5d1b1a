"""Images or documents by their sums, and what one contributes, worked out from it alone.

``Units`` is what a factorisation that asks for sums alone is given, wherever they are; ``AllUnits``
are those in memory, ``UnitGroup`` some of them. Then the columns that private factorisations sum
over, and the private choice of words.

TF-IDF columns cannot be summed over privately as they are: the IDF of a word is a count over all
documents, so one document more moves every column. So for text the document frequencies leave
first, with noise, and the columns are weighted by what left. Each document is counted by its words
times 1/√(how many different words it has), a vector of length 1, so one document moves the
frequencies by at most 1 in ℓ2. Longer documents count less for each of their words.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.datasets.samples import Matrix, Samples, unit_columns
from dpmc_core.privacy.budget import Curator, Groups, Part, Term
from dpmc_core.privacy.ledger import Kind
from dpmc_core.privacy.moments import sum_part

WORDS_SHARE = 0.15  # of the budget, for document frequencies
WORDS_PER_SIGNAL = 4.0  # words that take part, per √(N·Δ/σ)


@dataclass(frozen=True, eq=False)
class UnitGroup:
    """Some images or documents, all over the same rows; ``memory`` has the columns that were summed
    over last.
    """

    samples: Samples
    memory: dict[Any, Matrix] = field(default_factory=dict)


class Units(Groups, Protocol):
    """Images or documents in groups."""

    unit: Any  # image or document
    dimension: int  # D: pixels, or words
    given: int  # N, which is taken as public
    shape: tuple[int, int] | None  # height and width of images
    drawn: bool  # whether images are drawings
    whole: UnitGroup | None = None  # all of them, where they are one group in memory


class AllUnits(Units):
    """All units in one group, in memory."""

    def __init__(self, samples: Samples) -> None:
        self.whole = UnitGroup(samples)
        self.unit, self.dimension = samples.unit, samples.dimension
        self.given, self.shape, self.drawn = samples.places.given, samples.shape, samples.drawn

    def total(self, term: Term, *args: Any) -> FloatArray:
        return term(self.whole, *args)


@dataclass(frozen=True, eq=False)
class Selection:
    """The ``rows`` (M,) of the data that take part, and for text the ``idf`` (M,) that follows from
    what was released of them; ``lengthened`` columns are brought to length 1 where they are
    shorter.
    """

    rows: IntArray
    idf: FloatArray | None
    lengthened: bool = False

    def columns(self, group: UnitGroup) -> Matrix:
        """What the units of a group contribute (M×N, columns of length at most 1): images cut to
        length 1, documents weighted by the IDF and brought to length 1, or to unit maximum unless
        ``lengthened``.
        """
        idf = self.idf
        if idf is None:
            assert isinstance(group.samples.values, np.ndarray)
            values = clipped_columns(group.samples.values, 1.0)
            if not self.lengthened:
                return values
            length = np.linalg.norm(values, axis=0)
            shorter = (length > 0) & (length < 1 - 1e-9)
            return values / np.where(shorter, length, 1.0)
        counts, version = group.samples.counts, (idf.tobytes(), self.lengthened)
        assert counts is not None
        if version not in group.memory:
            # first to length 1: one document's huge count must not overflow
            table = unit_columns(sparse.csc_array(sparse.csr_array(counts)[self.rows]))
            table = sparse.csc_array(sparse.diags_array(idf) @ table)
            table = unit_columns(table) if self.lengthened else group.samples.normalised(table)
            group.memory.clear()
            group.memory[version] = table
        return group.memory[version]

    def fewer(self, most: int) -> "Selection":
        """The ``most`` rows of these whose released frequency is highest, so that their IDF is
        lowest; all where none was released.
        """
        if self.idf is None or most >= len(self.rows):
            return self
        chosen = np.sort(np.argsort(self.idf, kind="stable")[:most])
        return Selection(self.rows[chosen], self.idf[chosen])

    def spread(self, dictionary: FloatArray, rows: int) -> FloatArray:
        """A dictionary over the M rows as one over all ``rows``: zero elsewhere."""
        out = np.zeros((rows, dictionary.shape[1]))
        out[self.rows] = dictionary
        return out


def frequency_part(units: Units) -> dict[str, Part]:
    """The plan of the document frequencies; empty for images."""
    if units.unit != "document":
        return {}
    what = "in how many documents each word is"
    return {"frequencies": mean_part(units, units.dimension, WORDS_SHARE, what)}


def mean_part(units: Units, rows: int, share: float, what: str = "the sum of all columns") -> Part:
    """The plan of Σ of the columns over so many ``rows``, or of ``what`` else is of length 1."""
    return sum_part(
        what, clip=1.0, norm=2, coordinates=rows, share=share, unit=units.unit, non_negative=True
    )


def keep_rows(units: Units, curator: Curator, most: int) -> Selection:
    """What is summed over.

    All pixels of images; of documents the ``most`` words whose released frequency is highest, with
    the IDF that follows from it, ln((1 + N)/(1 + df)) + 1. N is taken as public.

    Without noise the frequencies are exact. A word's released frequency estimates Σ 1/√(words of a
    document) over the documents that hold it; times √(the released mean number of words) it is
    about the count of documents.
    """
    if units.unit != "document":
        return Selection(np.arange(units.dimension), None)
    n = units.given
    released = curator.total("frequencies", units, _frequencies)
    # Σ over words of the released sums is Σ over documents of √(their words): its mean over N turns
    # sums into counts
    typical = max(float(released.clip(0).sum()) / n, 1.0)
    counts = np.clip(released * typical, 0.0, n)
    rows = np.sort(np.argsort(-released, kind="stable")[: min(most, units.dimension)])
    return Selection(rows, np.log((1 + n) / (1 + counts[rows])) + 1)


def sum_of_columns(group: UnitGroup, selection: Selection) -> FloatArray:
    """Σ of the columns (M,)."""
    return np.asarray(selection.columns(group).sum(axis=1))


def _frequencies(group: UnitGroup) -> FloatArray:
    """Σ over documents of 1/√(their words) for each word that they hold (D,)."""
    assert group.samples.counts is not None
    binary = sparse.csc_array(group.samples.counts, copy=True)  # it may be sorted in place
    binary.data = np.ones_like(binary.data)
    return np.asarray(unit_columns(binary).sum(axis=1))


def clipped_columns(values: FloatArray, clip: float) -> FloatArray:
    """Columns moved onto the ℓ2 ball of radius ``clip``."""
    length = np.linalg.norm(values, axis=0)
    return values * np.minimum(1.0, clip / np.maximum(length, 1e-300))


def rows_worth_it(
    n: int, shift: float, most: int, per_signal: float = WORDS_PER_SIGNAL, fewest: int = 10
) -> int:
    """How many rows a released second moment may have.

    ``per_signal``·√(N·Δ/σ), between ``fewest`` and ``most``. Reads no data but N.
    """
    if math.isinf(shift):
        return most
    return max(min(fewest, most), min(most, int(per_signal * math.sqrt(n * shift))))


def planned_for(neighbours: str, parts: Mapping[str, Part], **kinds: Kind) -> dict[str, Part]:
    """The ``parts`` of a factorisation for such neighbours, those that are named of other
    ``kinds``.
    """
    out = {}
    for name, part in parts.items():
        of_kind = replace(part, kind=kinds.get(name, "factorization"))
        out[name] = of_kind.for_replacing() if neighbours == "replace-one" else of_kind
    return out
