"""The half problems against other people's solvers, and robust NMF."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition import non_negative_factorization

from dpmc_core.datasets.samples import CORRUPTIONS, Samples, contaminate, unit_columns
from dpmc_core.datasets.synthetic.samples import cartoon_faces, topic_documents
from dpmc_core.factorization import RobustConfig, fit_coefficients, objective, robust_nmf
from dpmc_core.factorization.blocks import (
    active_set,
    admm_steps,
    coordinate_sweeps,
    gradient_steps,
    multiplicative_steps,
)
from dpmc_core.factorization.robust import SOLVERS, NMFConfig, soft_threshold
from dpmc_core.factorization.step import nndsvd, random_dictionary

RNG = np.random.default_rng(0)
both_kinds = pytest.mark.parametrize("kind", ["dense", "sparse"])


def data_of(kind: str) -> Any:
    """Images, or documents, which are sparse."""
    return cartoon_faces(60, 1).values if kind == "dense" else topic_documents(80, 1).values


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@both_kinds
@pytest.mark.parametrize(
    ("config", "options", "precision"),
    [
        (RobustConfig(rank=6, rounds=15, inner=1, outlier_penalty=None), {"init": "nndsvd"}, 1e-10),
        (
            NMFConfig(rank=6, rounds=15, solver="multiplicative"),
            {"init": "nndsvda", "solver": "mu"},
            1e-7,
        ),
    ],
    ids=["coordinates", "multiplicative"],
)
def test_rounds_are_scikit_learns_and_never_go_uphill(
    config: NMFConfig,
    options: dict[str, Any],
    precision: float,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpmc_core.factorization.blocks._BLOCK_CELLS", 40)  # several blocks
    values = data_of(kind)
    theirs = values if kind == "dense" else sparse.csr_matrix(values)
    w, h, _ = non_negative_factorization(
        theirs, n_components=6, random_state=0, max_iter=15, tol=0, **options
    )
    steps = [*robust_nmf(values, config, RNG)]
    np.testing.assert_allclose(steps[-1].dictionary @ steps[-1].coefficients, w @ h, atol=precision)
    objectives = [objective(values, step.dictionary, step.coefficients) for step in steps]
    assert max(np.diff(objectives)) <= 1e-12


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(0, 8), st.integers(0, 10**6))
def test_active_sets_and_admm_end_where_no_change_helps(k: int, rows: int, seed: int) -> None:
    """The conditions of Karush, Kuhn and Tucker, of singular problems too."""
    rng = np.random.default_rng(seed)
    factor, start = rng.normal(size=(rows, k)), rng.random((k, 5))
    gram, target = factor.T @ factor, factor.T @ rng.normal(size=(rows, 5))
    solved = active_set(gram, target, start, 1)
    slope = gram @ solved - target
    assert solved.min() >= 0
    assert slope.min() >= -1e-9
    assert np.abs(solved * slope).max() <= 1e-9
    np.testing.assert_allclose(admm_steps(gram, target, solved, 3), solved, atol=1e-6)
    far = admm_steps(gram, target, start, 20)
    assert far.min() >= 0
    values = [np.vdot(gram @ x / 2 - target, x) for x in (solved, far, start)]
    # of sums of at most 30 products of 6, each rounded
    largest = np.vdot(np.abs(gram) @ start + np.abs(target), start + far)
    assert np.diff(values).min() >= -np.spacing(64 * largest)


@both_kinds
def test_solvers_stay_in_the_unit_ball_and_exact_ones_end_beside_each_other(kind: str) -> None:
    values, exact, ends = data_of(kind), ("coordinates", "active-set", "admm"), []
    for solver in SOLVERS:
        steps = [*robust_nmf(values, NMFConfig(rank=5, rounds=30, solver=solver), RNG)]
        for step in steps:
            assert np.linalg.norm(step.dictionary, axis=0).max() <= 1 + 1e-9
            assert min(step.dictionary.min(), step.coefficients.min()) >= 0
        objectives = [objective(values, step.dictionary, step.coefficients) for step in steps]
        if solver in exact:
            ends.append(objectives[-1])
            assert solver == "admm" or max(np.diff(objectives)) <= 1e-12
    assert max(ends) < 1.02 * min(ends)


def test_coefficients_are_the_non_negative_least_squares_fit() -> None:
    values = np.asarray(cartoon_faces(40, 2).values)
    dictionary = random_dictionary(values.shape[0], 7, np.random.default_rng(1))
    dictionary[:, 3] = 0
    assert not fit_coefficients(values, np.zeros_like(dictionary)).any()
    fitted = fit_coefficients(values, dictionary, sweeps=2000)
    for coefficients, column in zip(fitted.T, values.T, strict=True):
        np.testing.assert_allclose(coefficients, nnls(dictionary, column)[0], atol=1e-8)


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 10**6))
def test_no_step_goes_uphill(k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(k + 2, k))
    target, start = rng.normal(size=(k, n)), rng.random((k, n))

    def value(x: np.ndarray) -> float:
        return 0.5 * float(np.vdot(gram @ x, x)) - float(np.vdot(target, x))

    for step in (coordinate_sweeps, gradient_steps, multiplicative_steps):
        if step is multiplicative_steps:  # whose Gram matrix is of non-negative factors
            factor = np.abs(factor)
        gram = factor.T @ factor
        after = step(gram, target, start, 1)
        assert after.min() >= 0
        assert value(after) <= value(start) + 1e-9
        assert start.min() >= 0  # the start itself is not written to


def test_the_soft_threshold_is_as_printed() -> None:
    x = np.linspace(-8, 8, 9)  # λ and M in units of 1/3
    np.testing.assert_allclose(soft_threshold(x, 9.0, 12.0), [-4, -3, -1, 0, 0, 0, 1, 3, 4])


@given(gone=st.integers(0, 59), share=st.floats(0.05, 1.0), seed=st.integers(0, 9))
@settings(max_examples=40)
def test_what_one_image_holds_spoils_no_other(gone: int, share: float, seed: int) -> None:
    images = np.random.default_rng(seed).random((60, 4, 4))
    black = images.copy()
    black[gone] = 0.0
    whole, fewer = (
        contaminate(Samples.of_images(stack, name="x"), share, 0.7, seed)
        for stack in (images, black)
    )
    assert np.array_equal(np.delete(whole.values, gone, axis=1), fewer.values)
    assert whole.spoiled.size == round(share * 60)


def test_salt_and_pepper_is_black_or_the_brightest_at_even_odds() -> None:
    clean = cartoon_faces(200, 1)
    noisy, salted = (contaminate(clean, 0.5, 0.7, 3, kind) for kind in CORRUPTIONS)
    assert "salt and pepper" in salted.notes[-1]
    np.testing.assert_array_equal(salted.spoiled, noisy.spoiled)
    before, after, added = (s.values[:, noisy.spoiled] for s in (clean, salted, noisy))
    brightest = before.max(axis=0)
    extreme = (after == 0) | (after == brightest)
    assert extreme[added != before].all()  # the same pixels are hit
    np.testing.assert_array_equal(after[~extreme], before[~extreme])
    # of 57,600 pixels: a standard deviation of 0.002
    bright = 0.35 + 0.3 * np.mean(before == brightest)
    assert np.mean(after == brightest) == pytest.approx(bright, abs=0.01)


def test_robust_nmf_takes_outliers_away_and_learns_the_clean_faces_better() -> None:
    clean = cartoon_faces(300, 4)
    spoiled = contaminate(clean, 0.1, 0.7, seed=4)
    errors = []
    for penalty in (None, 0.5):
        config = RobustConfig(rank=20, rounds=30, inner=3, outlier_penalty=penalty)
        *_, step = robust_nmf(spoiled.values, config, RNG)
        fitted = fit_coefficients(clean.values, step.dictionary)
        errors.append(objective(clean.values, step.dictionary, fitted))
    plain, robust = errors
    assert robust < plain
    hit = np.isin(np.arange(len(clean)), spoiled.spoiled)
    size = np.abs(step.outliers).sum(axis=0)
    assert size[hit].mean() > 5 * size[~hit].mean()


@pytest.mark.parametrize("scale", [1e-15, 1e-9, 1e15])
def test_a_scaled_matrix_starts_scaled(scale: float) -> None:
    values = unit_columns(np.random.default_rng(5).random((30, 50)))
    for held in (values, sparse.csc_array(values)):
        for mine, usual in zip(nndsvd(scale * held, 6), nndsvd(values, 6), strict=True):
            np.testing.assert_allclose(mine / np.sqrt(scale), usual, rtol=1e-9, atol=1e-12)
