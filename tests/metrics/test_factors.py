"""Scores of dictionaries and topics against independent computations."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dpmc_core.datasets.loaders import load_samples
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.synthetic.samples import cartoon_faces, parts, topic_documents, true_topics
from dpmc_core.errors import DataError
from dpmc_core.factorization import RobustConfig, objective
from dpmc_core.metrics.factors import (
    _vectors,
    column_errors,
    likeness,
    match_parts,
    mean_columns,
    npmi,
    share_found,
    tc_w2v,
    top_words,
    topic_terms,
)
from tests.steps import last_of


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_errors_of_columns_are_their_definition(kind: str) -> None:
    rng = np.random.default_rng(0)
    plain = rng.random((8, 5)) * (rng.random((8, 5)) < 0.6)
    values = plain if kind == "dense" else sparse.csc_array(plain)
    w, h = rng.random((8, 2)), rng.random((2, 5))
    errors = np.linalg.norm(plain - w @ h, axis=0)
    np.testing.assert_allclose(column_errors(values, w, h), errors, atol=1e-12)
    assert objective(values, w, h) == pytest.approx(np.mean(errors**2) / 2, rel=1e-12)  # eq. 15
    mean = plain.mean(axis=1)
    np.testing.assert_allclose(mean_columns(values), mean / np.linalg.norm(mean))


def test_parts_are_matched_one_to_one_with_the_largest_sum() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((6, 4)), rng.random((6, 4))
    table = likeness(a, b)
    orders = [list(order) for order in itertools.permutations(range(4))]
    best = max(orders, key=lambda order: table[range(4), order].sum())
    partner, cosine = match_parts(a, b)
    assert list(partner) == best
    np.testing.assert_allclose(cosine, table[range(4), best])
    partner, cosine = match_parts(a, b[:, :2])
    assert sorted(partner)[:2] == [-1, -1]
    assert (cosine[partner == -1] == 0).all()


def test_true_parts_are_found_and_random_ones_are_not() -> None:
    truth, rng = parts(), np.random.default_rng(0)
    shuffled = truth[:, rng.permutation(truth.shape[1])] * 3.0
    for learned, share in (
        (shuffled, 1.0),
        (shuffled[:, :5], 0.25),
        (rng.random(truth.shape), 0.0),
        (np.zeros_like(truth), 0.0),
    ):
        assert share_found(truth, learned) == share


def documents() -> Samples:
    counts = np.zeros((4, 10))
    counts[0, :6] = counts[1, :5] = 1  # nearly always together
    counts[2, 6:] = 2
    counts[3, ::2] = 1
    table = sparse.csc_array(counts)
    return Samples(
        values=table, unit="document", name="x", words=("a", "b", "c", "d"), counts=table
    )


def test_npmi_is_its_definition_over_documents() -> None:
    samples = documents()
    w = np.array([[3.0, 0, 0], [2, 2, 0], [0, 1, 0], [0, 0.5, 1]])
    there = samples.counts.toarray() > 0

    def of(i: int, j: int) -> float:
        joint = (there[i] & there[j]).mean()
        chance = there[i].mean() * there[j].mean()
        return math.log(joint / chance) / -math.log(joint) if joint else -1.0

    # two words, three, and a single one
    expected = [of(0, 1), np.mean([of(1, 2), of(1, 3), of(2, 3)]), math.nan]
    np.testing.assert_allclose(npmi(samples, w), expected, atol=1e-9)
    np.testing.assert_array_equal(npmi(samples, np.zeros((4, 2))), [math.nan, math.nan])
    counts = samples.counts.toarray() * [[1], [1], [1], [0]]
    absent = replace(samples, counts=sparse.csc_array(counts))  # a word in no document
    assert npmi(absent, np.array([[1.0], [0], [0], [1]])).tolist() == [-1.0]
    with pytest.raises(DataError, match="for documents"):
        npmi(cartoon_faces(5, 0), parts())


def test_top_words_leave_out_weight_zero() -> None:
    w = np.array([[0.2, 0.0], [0.5, 0.0], [0.0, 1.0]])
    assert topic_terms(w, 5) == [[1, 0], [2]]
    assert top_words(w, ("a", "b", "c"), 1) == [[("b", 0.5)], [("c", 1.0)]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_word2vec_of_a_small_corpus_puts_random_words_above_real_topics() -> None:
    """On the 300 articles that ship with gensim; NPMI is not fooled.

    The same numbers every time.
    """
    samples = load_samples("lee")
    step = last_of(RobustConfig(rank=8, rounds=20, inner=1, outlier_penalty=None), samples)
    random = np.random.default_rng(0).random(step.dictionary.shape)
    real, noise = tc_w2v(samples, step.dictionary), tc_w2v(samples, random)
    assert noise.mean() > real.mean() > 0.9
    assert npmi(samples, step.dictionary).mean() > 0.3 > 0 > npmi(samples, random).mean()
    _vectors.clear()
    np.testing.assert_array_equal(real, tc_w2v(samples, step.dictionary))
    with pytest.raises(DataError, match="these are images"):
        tc_w2v(cartoon_faces(5, 0), parts())
    with pytest.raises(DataError, match="counts without text"):
        tc_w2v(topic_documents(10, 0), true_topics())
