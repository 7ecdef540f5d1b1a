"""A list of words chosen privately from the documents' own: those in clearly more than one of them.

Each document counts its words by 1/√(how many different ones it has), a vector of length 1; the
sums leave with Gaussian noise where they are above a threshold (Korolova et al. 2009; the weights
are those of Gopi et al. 2020, "Differentially private set union"). A word that one document alone
has is above it with a small probability, for which a part of δ is kept.
"""

import math
import zlib
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse, special

from dpmc_core.arrays import BoolArray
from dpmc_core.datasets.samples import Samples, unit_columns
from dpmc_core.datasets.text import TextFilter, samples_of_counts
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.budget import Budget, Curator, Part
from dpmc_core.privacy.ledger import Ledger, Release
from dpmc_core.wording import counted, three

# public: so many different words of a document count, the first in an order that is nobody's
MOST_DIFFERENT = 1000
_LEAST_DELTA = 1e-15  # at which an ε can be stated
SHARE, KEPT = 0.15, 0.1  # of the budget, for the sums; of δ, for words of one document alone


@dataclass(frozen=True)
class WordPlan:
    """What a choice of words releases, and the threshold of a sum; no ``release`` without noise."""

    release: Release | None
    threshold: float


def threshold(std: float, failure: float) -> float:
    """The least threshold that no word of one document alone exceeds, but with probability
    ``failure``, whatever the document.

    t words of its own count 1/√t each; that none of t normal numbers exceeds τ − 1/√t must have
    probability 1 − ``failure``. The largest such τ over t from 1 to ``MOST_DIFFERENT``.
    """
    t = np.arange(1, MOST_DIFFERENT + 1)
    each = -np.expm1(math.log1p(-failure) / t)
    return float(np.max(1 / np.sqrt(t) - std * special.ndtri(each)))


def plan_words(budget: Budget | None, neighbours: str, n: int) -> WordPlan:
    """The release of the words of ``n`` documents (public), before any of them is read.

    Of what Gaussian noise throughout would have to spend, a share of .15 in Σ(Δ/σ)²; of δ a tenth.
    What comes after is planned over the words that were shown. With Gaussian noise it spends the
    same Σ(Δ/σ)² whatever they are, and adaptive choices of such noise compose as if made in advance
    (Smith & Thakurta 2022); with other noise the plans' privacy profiles cross, so that choosing
    one by what was shown would be covered by none.

    Raises ``ParameterError`` for other noise, and where no word could be shown, though all
    documents had it.
    """
    if budget is None:
        return WordPlan(None, 1.0)
    if budget.family != "gaussian":
        allowed = "gaussian with a private choice of words, after which the rest is planned"
        raise ParameterError("mechanism", budget.family, allowed)
    failure = KEPT * budget.delta
    if budget.delta - failure < _LEAST_DELTA:
        allowed = f"{2 * _LEAST_DELTA:g} or more for a private choice of words, which takes a part"
        raise ParameterError("delta", budget.delta, allowed)
    whole = Gaussian.with_epsilon(budget.epsilon, 1.0, delta=budget.delta - failure).scale
    part = Part(
        what="which words are in more than one document",
        l1=math.sqrt(MOST_DIFFERENT),
        l2=1.0,
        coordinates=MOST_DIFFERENT,  # of one document; how many words there are is nobody's to know
        share=1.0,
        unit="document",
        kind="factorization",
        apart=True,
        source=f"{__name__}: a vector of length 1 for each document",
    )
    if neighbours == "replace-one":  # two documents may have no word in common
        part = replace(part, coordinates=2 * MOST_DIFFERENT)
        part = replace(part.for_replacing(), l1=2 * part.l1)
    noise = Gaussian(scale=part.l2 * whole / math.sqrt(SHARE))
    least = threshold(noise.scale, failure)
    if least >= n:
        allowed = (
            f"another list for {n:,} documents: at ε = {three(budget.epsilon)} and "
            f"δ = {budget.delta:g} a word is shown if it counts more than {three(least)}, which "
            "more documents than that would have to have; or a larger ε or δ"
        )
        raise ParameterError("word_list", "private", allowed)
    release = part.release(budget)
    return WordPlan(replace(release, mechanism=noise, failure=failure), least)


def choose_words(
    samples: Samples,
    budget: Budget | None,
    neighbours: str,
    most: int,
    rng: np.random.Generator,
    parts: int = 1,
) -> tuple[Samples, tuple[Release, ...]]:
    """``samples`` over the ``most`` words, at most, whose released sums are largest, and what was
    released of the ``budget``. Without one words are chosen without noise, which no ε covers.

    Raises ``DataError`` where fewer words than ``parts`` are above the threshold,
    ``ParameterError`` as ``plan_words``.
    """
    planned = plan_words(budget, neighbours, samples.places.given)
    assert samples.counts is not None
    plan = None if planned.release is None else {"words": planned.release}
    curator = Curator(plan, rng)
    sums = np.asarray(unit_columns(_limited(samples)).sum(axis=1))
    shown = curator.above("words", sums, planned.threshold)
    rows = np.sort(np.argsort(-shown, kind="stable")[: min(most, int(np.count_nonzero(shown)))])
    if rows.size < max(parts, 1):
        problem = (
            f"only {counted(rows.size, 'word', 'words')} may be shown, too few for rank = {parts}: "
            "fewer parts, more documents, a larger ε or δ, or a public list help."
        )
        if not rows.size:
            problem = (
                "no word is in so many documents that it may be shown (those that count more than "
                f"{three(planned.threshold)}, each document's words 1/√(how many different ones it "
                "has)): more documents, a larger ε or δ, or a public list show some."
            )
        raise DataError(f"{samples.name}: {problem}{_spent(planned.release, budget)}")
    how = "without noise" if planned.release is None else "with noise"
    note = (
        f"{rows.size:,} words were chosen, {how}: what they count in all is above "
        f"{three(planned.threshold)} (each document's words 1/√(how many different ones it has))."
    )
    chosen = samples_of_counts(
        sparse.csc_array(sparse.csr_array(samples.counts)[rows]),
        tuple(samples.words[k] for k in rows),
        name=samples.name,
        chosen=TextFilter(word_list="private"),
        labels=samples.labels,
        texts=samples.texts,
        public_words=planned.release is not None,
        notes=(*samples.notes, note),
        of=samples.places,
        at_maximum=samples.at_maximum,
    )
    return chosen, curator.made()


def _spent(release: Release | None, budget: Budget | None) -> str:
    """What a choice cost that showed too little."""
    if release is None or budget is None:
        return ""
    epsilon = tightest(Ledger((release,)), budget.delta)
    return f" Having looked has spent ε = {three(epsilon)} at δ = {budget.delta:g} all the same."


def _limited(samples: Samples) -> sparse.csc_array:
    """Which words each document has (D×N, ones), at most ``MOST_DIFFERENT`` of them."""
    assert samples.counts is not None
    table = sparse.csc_array(samples.counts, copy=True)
    keep: BoolArray = np.ones(table.nnz, dtype=bool)
    # by the word alone: by its place in the list it would depend on the other documents' words
    order = np.array([zlib.crc32(word.encode()) for word in samples.words])
    for column in np.flatnonzero(np.diff(table.indptr) > MOST_DIFFERENT):
        place = np.arange(table.indptr[column], table.indptr[column + 1])
        keep[place[np.argsort(order[table.indices[place]], kind="stable")[MOST_DIFFERENT:]]] = False
    table.data = keep.astype(np.float64)
    table.eliminate_zeros()
    return table
