"""How good a dictionary is, and how well the words of a topic go together.

The baseline, the error of each image, and the share of true parts that were found. Top words, NPMI
over documents and TC-W2V, both by gensim.

TC-W2V with a word2vec trained on a small corpus can score random words above real topics, so it is
never shown without NPMI beside it and ``W2V_WARNING``.
"""

import math
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.datasets.samples import Matrix, Samples, direction_of, unit_columns
from dpmc_core.datasets.text import tokens
from dpmc_core.errors import DataError

FOUND = 0.9  # a true part counts as found if a learned one has at least this cosine with it


def mean_columns(values: Matrix) -> FloatArray:
    """The direction of the average column (D,), of length 1.

    What the baseline rebuilds every column from.
    """
    return direction_of(np.asarray(values.sum(axis=1)))


def column_errors(
    values: Matrix,
    dictionary: FloatArray,
    coefficients: FloatArray,
    target: FloatArray | None = None,
) -> FloatArray:
    """‖v − Wh‖ of every column (N,).

    How far each image is from its rebuilt self, of a length of 1. ``target`` is WᵀV where it is
    known already.
    """
    gram = dictionary.T @ dictionary
    if target is None:
        target = (values.T @ dictionary).T
    if sparse.issparse(values):
        squares = values.multiply(values).sum(axis=0)
    else:
        squares = np.einsum("dn,dn->n", values, values)
    left = (
        squares
        - 2 * np.einsum("kn,kn->n", target, coefficients)
        + np.einsum("kn,kn->n", gram @ coefficients, coefficients)
    )
    return np.sqrt(np.maximum(left, 0.0))


def likeness(first: FloatArray, second: FloatArray) -> FloatArray:
    """Cosines between the columns of two dictionaries (K₁×K₂); 0 for empty columns."""
    return np.asarray(unit_columns(first).T @ unit_columns(second))


def match_parts(reference: FloatArray, other: FloatArray) -> tuple[IntArray, FloatArray]:
    """For each column of ``reference`` its partner in ``other`` and their cosine, one to one, the
    sum of cosines largest (Hungarian method).

    Where ``other`` has fewer columns, those left over have partner −1 and cosine 0.
    """
    table = likeness(reference, other)
    rows, columns = linear_sum_assignment(-table)
    partner = np.full(reference.shape[1], -1, dtype=np.intp)
    cosine = np.zeros(reference.shape[1])
    partner[rows], cosine[rows] = columns, table[rows, columns]
    return partner, cosine


def share_found(truth: FloatArray, dictionary: FloatArray) -> float:
    """The share of true parts that have a learned partner of their own with a cosine of at least
    0.9.
    """
    return float(np.mean(match_parts(truth, dictionary)[1] >= FOUND))


TOP_WORDS = 10
W2V_WARNING = (
    "TC-W2V asks a word2vec that was trained on these same documents. On a small collection it "
    "puts all words close together and can score random words above real topics: read NPMI, "
    "which does not."
)


def topic_terms(dictionary: FloatArray, count: int = TOP_WORDS) -> list[list[int]]:
    """For each topic the ``count`` heaviest rows, heaviest first; rows of weight 0 never count."""
    out = []
    for column in dictionary.T:
        order = np.argsort(-column, kind="stable")[:count]
        out.append([int(k) for k in order if column[k] > 0])
    return out


def mean_score(scores: FloatArray | None) -> float:
    """Average the topics that have a score; NaN where none has."""
    if scores is None or not np.isfinite(scores).any():
        return math.nan
    return float(np.nanmean(scores))


def top_words(
    dictionary: FloatArray, words: Sequence[str], count: int = TOP_WORDS
) -> list[list[tuple[str, float]]]:
    """For each topic its heaviest words with their weights, heaviest first."""
    return [
        [(words[row], float(column[row])) for row in rows]
        for rows, column in zip(topic_terms(dictionary, count), dictionary.T, strict=True)
    ]


def npmi(samples: Samples, dictionary: FloatArray) -> FloatArray:
    """Mean normalised pointwise mutual information of each topic's top words (K,), from
    −1 (never together) to 1 (always together).

    log(p(a,b)/p(a)p(b)) / −log p(a,b) over pairs, probabilities as shares of documents, counted by
    gensim (boolean documents, segmentation one–one; Röder, Both & Hinneburg 2015). A pair that
    never occurs together has −1, the limit; gensim's own measure adds 1e-12 instead, which gives
    such pairs −0.4 to −0.9, the rarer the higher. A pair in all documents has 1. A topic of fewer
    than two words has NaN. Computed from the documents without noise. Raises ``DataError`` for
    images.
    """
    if samples.counts is None:
        raise DataError("Coherence is for documents; these are images.")
    from gensim.topic_coherence import probability_estimation, segmentation  # slow to import

    terms = topic_terms(dictionary)
    out = np.full(len(terms), math.nan)
    usable = [k for k, rows in enumerate(terms) if len(rows) >= 2]
    if not usable:
        return out
    wanted = sorted({row for k in usable for row in terms[k]})
    table = samples.counts[wanted].tocsc()
    numbers = {row: k for k, row in enumerate(wanted)}
    corpus = [
        [(int(row), 1) for row in table.indices[table.indptr[n] : table.indptr[n + 1]]]
        for n in range(table.shape[1])
    ]
    lists = [np.array([numbers[row] for row in terms[k]]) for k in usable]
    pairs = segmentation.s_one_one(lists)
    seen = probability_estimation.p_boolean_document(corpus, pairs)
    for k, of_topic in zip(usable, pairs, strict=True):
        out[k] = np.mean(
            [_npmi_of_pair(seen[a], seen[b], seen[a, b], seen.num_docs) for a, b in of_topic]
        )
    return out


def _npmi_of_pair(first: int, second: int, both: int, documents: int) -> float:
    """NPMI of two words by the numbers of documents that hold each, and both."""
    if both == 0:
        return -1.0
    if both == documents:
        return 1.0
    return math.log(both * documents / (first * second)) / math.log(documents / both)


def tc_w2v(samples: Samples, dictionary: FloatArray) -> FloatArray:
    """Mean pairwise cosine of each topic's top words (K,) under a word2vec trained on the same
    documents (O'Callaghan et al. 2015).

    Never show it without ``npmi`` and ``W2V_WARNING``. One thread and a fixed seed: the same
    numbers every time. Trained once for the same documents. Raises ``DataError`` where there is no
    running text (count files, images).
    """
    if samples.unit == "image":
        raise DataError("Coherence is for documents; these are images.")
    if not samples.texts:
        raise DataError(
            f"{samples.name} holds counts without text; word2vec needs the words in their order."
        )
    if not knows_words(samples):
        keep_words(samples, learned_words(samples.texts, samples.words))
    vectors_of = _vectors[samples]
    out = np.full(dictionary.shape[1], math.nan)
    for k, rows in enumerate(topic_terms(dictionary)):
        words = [samples.words[row] for row in rows if samples.words[row] in vectors_of]
        if len(words) < 2:
            continue
        vectors = vectors_of[words].astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines = vectors @ vectors.T
        out[k] = cosines[np.triu_indices(len(words), 1)].mean()
    return out


_vectors: WeakKeyDictionary[Samples, Any] = (
    WeakKeyDictionary()
)  # as long as the documents: they may be somebody's own


def learned_words(texts: Sequence[str], words: Sequence[str]) -> Any:
    """A word2vec of ``texts`` (gensim's ``KeyedVectors``; skip-gram, 100 numbers, window 5, 5
    epochs, seed 0) of those ``words``. Takes a minute for thousands of documents.
    """
    from gensim.models import Word2Vec  # slow to import

    return Word2Vec(
        tokens(texts, words),
        vector_size=100,
        window=5,
        min_count=1,
        sg=1,
        epochs=5,
        workers=1,
        seed=0,
    ).wv


def knows_words(samples: Samples) -> bool:
    """Whether the word vectors of ``samples`` are at hand."""
    return samples in _vectors


def keep_words(samples: Samples, vectors: Any) -> None:
    """Keep what ``learned_words`` gave for as long as ``samples`` live."""
    _vectors[samples] = vectors
