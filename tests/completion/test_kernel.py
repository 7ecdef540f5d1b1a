"""The batched kernel against dense normal equations, row by row."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from dpmc_core.completion.kernel import lapack, solve
from dpmc_core.completion.kernel.solve import group_rows, half_sweep
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread
from tests.completion.references import solved_rows
from tests.programs import run_python


def problem(n_rows: int, n_columns: int, density: float, seed: int):
    rng = np.random.default_rng(seed)
    mask = rng.random((n_rows, n_columns)) < density
    mask[rng.integers(n_rows)] = False  # one empty row
    rows, columns = np.nonzero(mask)
    order = rng.permutation(rows.size)
    values = rng.normal(3, 1, rows.size)
    return rows[order].astype(np.int32), columns[order].astype(np.int32), values, rng


@given(
    n_rows=st.integers(1, 60),
    n_columns=st.integers(1, 60),
    density=st.floats(0.02, 1.0),
    rank=st.sampled_from([1, 2, 3, 5, 9, 17, 31, 32, 33, 40, 41, 64]),
    reg=st.sampled_from([1e-3, 0.5, 10.0]),
    noisy=st.booleans(),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=60)
def test_half_sweep_solves_every_row(n_rows, n_columns, density, rank, reg, noisy, seed) -> None:
    rows, columns, values, rng = problem(n_rows, n_columns, density, seed)
    if rows.size == 0:
        return
    factors = rng.normal(0, 1, (n_columns, rank))
    noise = rng.normal(0, 1, (n_rows, rank)) * noisy
    side = group_rows(rows, columns, values, n_rows, n_columns, rank)
    computed, squares = half_sweep(
        side, factors, reg, Workers(2), noise=noise if noisy else None, measure=True
    )
    expected = solved_rows(rows, columns, values, factors, reg, n_rows, noise)
    # conditioning: cond ≤ ‖A‖²/λ + 1 ≤ 60·(√60+√64)²/1e-3, times a few ulp of the largest entry
    scale = np.abs(expected).max() + 1
    np.testing.assert_allclose(
        computed, expected, atol=1e-7 * scale if reg == 1e-3 else 1e-10 * scale
    )
    residuals = values - np.einsum("kr,kr->k", computed[rows], factors[columns])
    assert squares == pytest.approx(
        float(residuals @ residuals), rel=1e-6, abs=1e-6 * float(values @ values)
    )


@pytest.mark.parametrize("rank", [8, 64])
def test_rows_of_any_length_are_solved_alike_whatever_the_number_of_threads(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "_BLOCK_BYTES", 20_000)
    monkeypatch.setattr(solve, "_BLOCK_BYTES_SMALL_RANK", 20_000)
    monkeypatch.setattr(solve, "_GATHER_BYTES", 9_000)
    rng = np.random.default_rng(1)
    lengths = np.minimum((rng.pareto(1.0, 800) * 10).astype(int) + 1, 900)
    rows = np.repeat(np.arange(800), lengths).astype(np.int32)
    columns = np.concatenate([rng.choice(1000, n, replace=False) for n in lengths]).astype(np.int32)
    values = rng.random(rows.size)
    side = group_rows(rows, columns, values, 820, 1000, rank)
    assert list(side.empty_rows) == list(range(800, 820))
    assert len(side.blocks) > 4
    assert sum(block.columns.size for block in side.blocks) <= 1.15 * rows.size  # little padding
    factors = rng.normal(0, 1, (1000, rank))
    expected = solved_rows(rows, columns, values, factors, 0.5, 820)
    results = []
    for count in (1, 2, 5):
        solved, squares = half_sweep(side, factors, 0.5, Workers(count), measure=True)
        np.testing.assert_allclose(solved, expected, atol=1e-10)
        results.append((solved.tobytes(), squares))
    assert len(set(results)) == 1


def without_numba() -> None:
    return None


def test_compiled_loops_do_the_same_to_the_last_bit_and_fallbacks_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    assert lapack._loops() is not None
    # this SciPy exports the pointer; if not, the fallback is what runs
    assert lapack._ADDRESS is not None
    rng = np.random.default_rng(1)
    for size, many in ((1, None), (2, 1), (12, 3), (33, None), (128, 2)):
        a = rng.normal(0, 1, (9, 2 * size, size))
        spd = np.matmul(a.transpose(0, 2, 1), a) + np.eye(size)
        # what is below the diagonal must not be read
        spd = np.triu(spd) + np.tril(np.full_like(spd, 1e9), -1)
        right = rng.normal(0, 1, (9, size) if many is None else (9, many, size))
        weights = rng.random(a.shape[:2])
        compiled = lapack.solve_spd(spd.copy(), right)
        scaled = lapack.scale_rows(a, weights, np.empty_like(a))
        with monkeypatch.context() as patch:
            patch.setattr(lapack, "_loops", without_numba)
            np.testing.assert_array_equal(lapack.solve_spd(spd.copy(), right), compiled)
            np.testing.assert_array_equal(lapack.scale_rows(a, weights, np.empty_like(a)), scaled)
        np.testing.assert_allclose(compiled, lapack._solve_lu(spd, right), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scaled, a * weights[..., None], rtol=0, atol=0)
    assert lapack.solve_spd(np.empty((0, 3, 3)), np.empty((0, 3))).shape == (0, 3)
    for loops in (lapack._loops, without_numba):
        monkeypatch.setattr(lapack, "_loops", loops)
        bad = np.stack([np.eye(3), np.zeros((3, 3))])
        with pytest.raises(np.linalg.LinAlgError, match=r"system 1 of 2 \(size 3\) is not posi"):
            lapack.solve_spd(bad, np.ones((2, 3)))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("change", "there"),
    [("off", False), ("no cache", True), ("damaged", True), ("refuses", False), ("hidden", False)],
)
def test_numba_is_not_needed(change: str, there: bool, tmp_path: Path) -> None:
    """Switched off, without a place for its cache, with a damaged one, installed and of no use, not
    installed.
    """
    pytest.importorskip("numba")
    cache = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    environment = (
        os.environ
        | {
            "off": {"NUMBA_DISABLE_JIT": "1"},
            "no cache": {**cache, "NUMBA_CACHE_DIR": "/proc/nowhere"},
            "damaged": {**cache, "NUMBA_CACHE_DIR": str(tmp_path)},
            "refuses": {"PYTHONPATH": str(tmp_path)},
            "hidden": {},
        }[change]
    )
    if change == "refuses":
        (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.5 or less')")
    if change == "damaged":
        code = "from dpmc_core.completion.kernel import lapack; assert lapack._loops()"
        assert run_python("-c", code, env=environment).returncode == 0
        indices = list(tmp_path.rglob("*.nbi"))
        assert len(indices) == 2
        for index in indices:
            index.write_bytes(b"")
    code = f"""
import sys
{"sys.modules['numba'] = None" if change == "hidden" else ""}
import numpy as np
from dpmc_core.completion.kernel import lapack
assert (lapack._loops() is not None) is {there}
print(lapack.solve_spd(2 * np.eye(3)[None], np.ones((1, 3))))
"""
    done = run_python("-W", "error", "-c", code, env=environment)
    assert done.stdout == "[[0.5 0.5 0.5]]\n", done.stderr


@pytest.mark.parametrize("rank", [3, 32, 40, 41])
@pytest.mark.parametrize("length", [1, 299, 2048, 2049, 4097])
def test_the_upper_triangle_is_that_of_all_rows(length: int, rank: int) -> None:
    a = np.random.default_rng(length).normal(0, 1, (2, length, rank))
    # arbitrary memory may hold what every sum warns of: signalling NaN
    out = np.full((2, rank, rank), 0x7FF0000000000001, dtype=np.uint64).view(np.float64)
    solve.upper_gram(a, out)
    upper = np.triu_indices(rank)
    for computed, rows in zip(out, a, strict=True):
        np.testing.assert_allclose(computed[upper], (rows.T @ rows)[upper], atol=1e-11 * length)


def test_an_error_in_one_block_reaches_the_caller() -> None:
    rows, columns, values, rng = problem(50, 40, 0.4, 9)
    side = group_rows(rows, columns, values, 50, 40, 4)
    with pytest.raises(ZeroDivisionError):
        half_sweep(side, rng.normal(0, 1, (40, 4)), 1.0, Workers(2), update=lambda *_: 1 / 0)


def test_overlapping_runs_share_the_blas_limit_and_the_last_restores_it() -> None:
    def threads() -> int:
        return max(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")

    with threadpool_limits(2, user_api="blas"):
        first, second = single_blas_thread(), single_blas_thread()
        with first:
            second.__enter__()
            assert threads() == 1
        assert threads() == 1  # the second is still inside
        second.__exit__(None, None, None)
        assert threads() == 2
