"""Non-negative data matrices: one column per image or document.

The checked ``Samples`` that factorisations take, how columns are brought to length 1, and the
outlier contamination of nmf-paper section 4.3.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core import limits
from dpmc_core.arrays import BoolArray, FloatArray, IntArray
from dpmc_core.errors import DataError
from dpmc_core.wording import counted

Matrix = FloatArray | sparse.csc_array

LONGEST_DOCUMENT = 4.0  # C of ``unit_maximum``: public


@dataclass(frozen=True, eq=False)
class Places:
    """Which places of a set hold something: ``at`` (ascending, from 0) of ``given`` in all.

    How many hold nothing is nobody's to know, so what is public of a guarantee is ``given``.
    """

    at: IntArray
    given: int

    def where(self, filled: BoolArray) -> "Places":
        """Those that are ``filled`` too, one truth for each of ``at``."""
        return Places(self.at[filled], self.given)


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """N non-negative columns of length 1 (ℓ2; shorter after ``unit_maximum``, longer where
    ``spoiled``), each one unit of privacy: an image or a document.

    ``values`` is D×N, dense for images, ``csc_array`` for text. ``shape`` is (height, width) of an
    image, pixels in row order. ``words`` names the D rows of text; ``counts`` holds its raw counts
    (D×N, sparse), ``texts`` the documents themselves where there are any. ``labels`` are classes
    that the data came with. ``truth`` is D×K of the parts or topics that made synthetic data.
    ``notes`` says what was left out and why; ``of`` says which places of all those given the
    columns have (None: all): whatever held nothing has no column.
    ``public_words`` is True where the list of words was fixed before any document was read.
    ``drawn`` says of images that they are drawings, with sharp edges, and no photographs: public,
    from the catalogue. ``at_maximum`` says that columns have unit maximum (``unit_maximum``).
    ``spoiled`` are the columns that ``contaminate`` hit.
    """

    values: Matrix
    unit: Literal["image", "document"]
    name: str
    shape: tuple[int, int] | None = None
    words: tuple[str, ...] = ()
    counts: sparse.csc_array | None = None
    texts: tuple[str, ...] = field(default=(), repr=False)
    labels: tuple[str, ...] = ()
    truth: FloatArray | None = None
    notes: tuple[str, ...] = ()
    of: Places | None = None
    public_words: bool = False
    drawn: bool = False
    at_maximum: bool = False
    spoiled: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def dimension(self) -> int:
        """D: pixels of an image, or words."""
        return int(self.values.shape[0])

    @property
    def learned(self) -> str:
        """What factorisation finds in them."""
        return "parts" if self.unit == "image" else "topics"

    @property
    def public(self) -> dict[str, str]:
        """What a guarantee takes as public and was read off the samples, which no ε covers: ""."""
        return {"list of words": ""} if self.unit == "document" and not self.public_words else {}

    @property
    def numbers(self) -> tuple[NDArray[Any], ...]:
        """All that the columns are made of."""
        return tuple(
            numbers
            for table in (self.values, self.counts)
            if table is not None
            for numbers in (
                (table.data, table.indices, table.indptr) if sparse.issparse(table) else (table,)
            )
        )

    def __len__(self) -> int:
        """How many images or documents there are columns of."""
        return int(self.values.shape[1])

    @property
    def places(self) -> Places:
        """The columns' places among all that were given."""
        return Places(np.arange(len(self)), len(self)) if self.of is None else self.of

    def normalised(self, values: Matrix) -> Matrix:
        """``values`` with columns of length 1, or as ``unit_maximum`` has them; each column follows
        from itself alone.
        """
        columns = unit_columns(values)
        if not self.at_maximum:
            return columns
        if sparse.issparse(columns):
            largest = columns.max(axis=0).toarray().ravel()
            scale = sparse.diags_array(1 / np.maximum(LONGEST_DOCUMENT * largest, 1.0))
            return sparse.csc_array(columns @ scale)
        return np.asarray(columns / (columns.max(axis=0) * math.sqrt(len(columns))))

    @classmethod
    def of_images(cls, images: NDArray[np.generic], *, name: str, **about: Any) -> "Samples":
        """From N images (N×height×width); ``about`` are other fields: labels, truth, notes.

        Black images, which no factor can explain or needs to, are left out and counted in
        ``notes``.

        Raises ``DataError`` for anything but finite non-negative pixels of images of one size.
        """
        try:
            stack = np.asarray(images, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{name}: images must be numbers and all of one size (height × width)."
            ) from None
        if stack.ndim != 3 or 0 in stack.shape:
            raise DataError(
                f"{name}: images must be a stack of N × height × width pixels, all of one size; "
                f"this has shape {stack.shape}."
            )
        flat = stack.reshape(len(stack), -1).T
        check_entries(flat, name, "pixel", "image")
        retained = np.asarray(flat.any(axis=0))
        blank = int((~retained).sum())
        if not retained.any():
            raise DataError(f"{name}: every image is black; at least one pixel must be above 0.")
        values, shape = unit_columns(flat[:, retained]), (stack.shape[1], stack.shape[2])
        of = Places(np.flatnonzero(retained), len(retained))
        samples = cls(values=values, unit="image", name=name, shape=shape, of=of, **about)
        if not blank:
            return samples
        phrase = counted(blank, "image is all black:", "images are all black:")
        notes = (*samples.notes, f"{phrase} left out.")
        return replace(samples, labels=tuple(compress(samples.labels, retained)), notes=notes)


def check_entries(values: Matrix, name: str, what: str, unit: str) -> None:
    """Raise ``DataError`` unless all ``values`` are finite and non-negative."""
    data = np.asarray(values.data if sparse.issparse(values) else values)
    bad = ~np.isfinite(data)
    if bad.any():
        raise DataError(
            f"{name}: {int(bad.sum()):,} of the {what}s are NaN or infinite; every {what} must "
            "be a finite number."
        )
    if data.size and data.min() < 0:
        lowest = float(data.min())
        raise DataError(
            f"{name}: the lowest {what} is {lowest:.3g}; non-negative factorisation needs every "
            f"{what} of every {unit} to be 0 or more."
        )


def unit_columns(values: Matrix) -> Matrix:
    """``values`` with every column divided by its ℓ2 norm; columns of zeros stay zero.

    The sensitivities of nmf-paper eqs. 13–14 need this norm; "unit maximum", which its section 4
    says, does not bound them as printed: see ``unit_maximum``.
    """
    if sparse.issparse(values):
        largest = np.asarray(abs(values).max(axis=0).toarray()).ravel()
        scaled: sparse.csc_array = sparse.csc_array(values, dtype=np.float64, copy=True)
        # by the largest first: squares of numbers near the ends of doubles are infinite or 0
        scaled.data /= np.repeat(np.where(largest > 0, largest, 1.0), np.diff(scaled.indptr))
        squares = np.asarray(scaled.multiply(scaled).sum(axis=0)).ravel()
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
        return sparse.csc_array(scaled @ sparse.diags_array(scale))
    dense = np.asarray(values, dtype=np.float64)
    # by the largest first: squares of what is near the largest double, or of a denormal, are not
    # finite or 0
    largest = np.abs(dense).max(axis=0, initial=0.0)
    dense = dense / np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(dense, axis=0)
    return np.asarray(dense / np.where(norms > 0, norms, 1.0))


def direction_of(vector: FloatArray) -> FloatArray:
    """``vector`` brought to length 1; zeros stay zero."""
    return vector / max(float(np.linalg.norm(vector)), 1e-300)


def unit_maximum(samples: Samples) -> Samples:
    """A copy whose columns v have "unit maximum" (nmf-paper section 4), entries in [0, 1], over a
    length C that is public: √D for images of D pixels, 4 for documents, which are cut there.

    With entries in [0, 1] a column is up to √D long, a white image exactly, so that eqs. 13–14 do
    not hold as printed. As there, for ‖h‖ ≤ 1: one unit replaced moves B = VHᵀ/N by at most
    (‖v‖‖h‖ + ‖v′‖‖h′‖)/N ≤ 2C/N for columns of length at most C, and 4C/N with outliers cut to
    length C; A = HHᵀ/N, of H alone, by 2/N as before. Over C all data are of length at most 1, and
    2/N and 4/N hold of B: noise is C times that of the printed bounds, in the unit where the
    largest entry is 1. Whatever is proved here for columns of length at most 1 holds.

    No image needs to be cut. A list of 5,000 words would allow a document to be 71 long, if it had
    all of them equally often, but the longest of 16,877 documents of five sets is 6.1
    long, the median of a set 1.7 to 2.8, and at most 5.4 % of one are longer than 4. So C = 4 for
    documents, fixed before any is read: a longer one is brought to length C, from itself alone.
    On synthetic topics at ε = 10 private NMF, corrected, then leaves 0.80 of the error of the
    average column (0.72 at length 1); with C = 71 noise drowns the documents, and it leaves 1.05.
    """
    marked = replace(samples, at_maximum=True)
    images = samples.unit == "image"
    what, by = (
        ("the brightest pixel of every image", "√pixels")
        if images
        else ("the largest weight of every document", f"{LONGEST_DOCUMENT:g}")
    )
    note = (
        f"Unit maximum: {what} is 1, and all are divided by {by}, so that no {samples.unit} is "
        f"longer than 1{' (longer ones are cut)' * (not images)}: private NMF's bounds need that."
    )
    return replace(marked, values=marked.normalised(samples.values), notes=(*samples.notes, note))


CORRUPTIONS = {"uniform": "noise, U[−1, 1]", "salt-and-pepper": "salt and pepper (impulse noise)"}


def contaminate(
    samples: Samples, share: float = 0.1, pixels: float = 0.7, seed: int = 0, kind: str = "uniform"
) -> Samples:
    """A copy in which a ``share`` of the images have ``pixels`` of their pixels spoiled by U[−1, 1]
    (nmf-paper section 4.3), or by the ``kind`` "salt-and-pepper" (its introduction): each is black
    or as bright as the image's brightest, at even odds.

    As in the paper the noise is added on the scale where the brightest pixel of an image is 1, and
    what falls below 0 becomes 0. The paper does not say how it keeps its data non-negative; cutting
    at 0 is ours. Spoiled columns of length 1 grow longer, as in the paper: what needs a bound on
    them clips them. Which places are hit follows from how many were given, and what hits one from
    its place: what one image holds moves no other. Raises ``DataError`` for text.
    """
    share, pixels = limits.check("contaminated", share), limits.check("spoiled_pixels", pixels)
    if samples.unit != "image":
        raise DataError("Contamination is for images; these are documents.")
    values, places = np.array(samples.values), samples.places
    rng = np.random.default_rng([seed, 0x0F71])
    chosen = rng.choice(places.given, round(share * places.given), replace=False)
    hit = np.flatnonzero(np.isin(places.at, chosen))
    several = round(pixels * samples.dimension)
    for column in hit:
        own = np.random.default_rng([seed, 0x0F71, 1 + int(places.at[column])])
        where = own.choice(samples.dimension, several, replace=False)
        noise, brightest = own.uniform(-1, 1, several), values[:, column].max()
        values[where, column] = (
            np.maximum(values[where, column] + noise * brightest, 0.0)
            if kind == "uniform"
            else brightest * (noise > 0)
        )
    note = (
        f"{hit.size:,} of {len(samples):,} images have {100 * pixels:.0f} % of their pixels "
        f"corrupted: {CORRUPTIONS[kind]}."
    )
    return replace(samples, values=values, notes=(*samples.notes, note), spoiled=hit)


def subset(samples: Samples, columns: IntArray) -> Samples:
    """Some of the ``columns`` only, in that order; weights of text stay as they are."""

    def some(items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(items[k] for k in columns) if items else ()

    return replace(
        samples,
        values=samples.values[:, columns],
        counts=None if samples.counts is None else sparse.csc_array(samples.counts[:, columns]),
        texts=some(samples.texts),
        labels=some(samples.labels),
        spoiled=np.flatnonzero(np.isin(columns, samples.spoiled)),
        of=None,
    )
