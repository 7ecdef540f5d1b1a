"""Plans of releases and second moments.

Sensitivities, what a curator lets out, shares of the budget, and shrinkage.
"""

import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from dpmc_core.privacy import Ledger, moments
from dpmc_core.privacy.budget import Curator, Part, plan
from dpmc_core.privacy.moments import (
    _ends,
    _some_ends,
    clip_rows,
    packed,
    second_moment,
    second_moment_part,
    shrink,
    shrink_off_diagonal,
    sum_part,
    symmetric,
)
from tests.privacy.helpers import curator_of


def above_diagonal(z: np.ndarray) -> np.ndarray:
    """What a row adds to a second moment."""
    return np.outer(z, z)[np.triu_indices(len(z), 1)]


def moment_part(size: int, norm: int, clip: float) -> Part:
    return second_moment_part("x", clip=clip, norm=norm, size=size, share=1.0)


def planned_otherwise() -> Any:
    return pytest.raises(RuntimeError, match="planned otherwise")


@given(st.integers(2, 12), st.integers(1, 2), st.floats(0.1, 5), st.integers(0, 2**32 - 1))
def test_second_moment_sensitivities_hold(size: int, norm: int, clip: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    users = np.zeros(size, dtype=int)
    z = clip_rows(users, rng.standard_normal(size) * rng.exponential(2.0), norm, clip)
    own = second_moment(users, np.arange(size), z, 1, size)
    assert own == pytest.approx(above_diagonal(z))
    summed = sum_part("x", clip=clip, norm=norm, coordinates=size, share=1.0)
    for part, vector in ((moment_part(size, norm, clip), own), (summed, z)):
        assert np.linalg.norm(vector) <= part.l2 * (1 + 1e-12)
        assert np.abs(vector).sum() <= part.l1 * (1 + 1e-12)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("norm", [1, 2])
def test_no_vector_moves_a_second_moment_by_more(size: int, norm: int) -> None:
    """A search from many starts, which knows nothing of the proof, ends at the ℓ2 bound; equal
    entries reach 1 − 1/d of the ℓ1 bound of ℓ1-clipped vectors.
    """
    part, rng = moment_part(size, norm, 1.0), np.random.default_rng(size)

    def closeness(z: np.ndarray) -> float:
        return -float(np.linalg.norm(above_diagonal(z / np.linalg.norm(z, norm))))

    farthest = -min(
        optimize.minimize(closeness, rng.normal(size=size), method="Nelder-Mead").fun
        for _ in range(8)
    )
    assert farthest == pytest.approx(part.l2, rel=1e-3)
    assert farthest <= part.l2 * (1 + 1e-12)
    even = above_diagonal(np.full(50, 1 / 50))
    assert np.abs(even).sum() == pytest.approx(moment_part(50, 1, 1.0).l1 * (1 - 1 / 50))


@pytest.mark.parametrize("kind", ["outer", "non-negative", "product"])
def test_one_replaced_moves_a_sum_by_root_two_at_most(kind: str) -> None:
    """Random and orthogonal pairs: never above √2 times what one adds, and reached."""
    vectors = np.random.default_rng(3).normal(size=(400, 4, 6))
    vectors[::4, 0, 3:] = vectors[::4, 1, :3] = 0  # z and y have nothing in common
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    change = {
        "outer": lambda z, y, *_: packed(np.outer(z, z)) - packed(np.outer(y, y)),
        "non-negative": lambda z, y, *_: abs(z) - abs(y),
        "product": lambda z, y, u, v: np.outer(abs(z), abs(u)) - np.outer(abs(y), abs(v)),
    }[kind]
    largest = max(np.linalg.norm(change(*four)) for four in vectors)
    assert largest == pytest.approx(math.sqrt(2), rel=1e-12)


def test_shrink_finds_what_stands_above_the_noise_and_nothing_else() -> None:
    size, rng = 300, np.random.default_rng(0)
    noise = symmetric(rng.standard_normal(size * (size - 1) // 2), size, 1)
    # ten per cent above the edge: the largest fluctuates by about 1 %
    assert shrink(noise, 1.1, 10)[0].shape[1] == 0
    # what is no part of the diagonal is judged by its entries too: by a σ that is too small as well
    for std in (1.1, 0.3):
        assert np.all(shrink_off_diagonal(noise, std, 10)[1] < 0.5 * 2 * math.sqrt(size))
    direction = rng.standard_normal(size)
    direction /= np.linalg.norm(direction)
    strength = 4 * math.sqrt(size)  # twice the edge
    planted = strength * np.outer(direction, direction)
    vectors, values = shrink(planted + noise, 1.0, 10)
    # a value at the very edge of the noise may pass, shrunk to almost nothing
    assert values.size <= 2
    first = vectors[:, 0]
    assert abs(first @ direction) ** 2 == pytest.approx(1 - 1 / 16, abs=0.03)
    # the multiple of the vector that is nearest to what was planted
    assert values[0] == pytest.approx(strength * (first @ direction) ** 2, rel=0.05)


@pytest.mark.parametrize(("size", "rank"), [(10, 2), (20, 4), (100, 6)])
def test_an_unreleased_diagonal_takes_nothing_from_the_factors(size: int, rank: int) -> None:
    # Σ = VVᵀ − c·11ᵀ (numbers centred by their own mean), a diagonal nobody released, little noise
    rng = np.random.default_rng(size)
    factors = rng.standard_normal((size, rank))
    planted = factors @ factors.T
    noise = 1e-4 * rng.standard_normal((size, size))
    released = planted - 0.5 + (noise + noise.T) / 2

    def rebuilt(shrinking: Any, diagonal: Any) -> np.ndarray:
        np.fill_diagonal(released, diagonal)
        vectors, strengths = shrinking(released, 1e-4, 16)
        assert shrinking is shrink or list(strengths) == sorted(strengths, reverse=True)
        assert np.all(strengths >= 0)
        return (vectors * strengths) @ vectors.T

    filled, anything, of_zeros = (
        rebuilt(shrink_off_diagonal, 0.0),
        rebuilt(shrink_off_diagonal, rng.uniform(-99, 99, size)),
        rebuilt(shrink, 0.0),
    )
    np.testing.assert_array_equal(filled, anything)
    error, zeros, all_of_it = map(np.linalg.norm, (filled - planted, of_zeros - planted, planted))
    assert error < min(0.7 * zeros, 0.45 * all_of_it)


@pytest.mark.parametrize("size", [1, 2, 30, 99, 100, 101, 257])
@pytest.mark.parametrize("kind", ["noise", "planted", "clustered", "zero"])
def test_the_largest_and_the_lowest_are_those_of_all(size: int, kind: str) -> None:
    noise = np.random.default_rng(size).standard_normal((size, size))
    turned, _ = np.linalg.qr(noise)
    levels = np.resize([2.5, -1.0, 0.5], size)
    matrix = {
        "noise": noise,
        "planted": noise + 10 * np.outer(noise[0], noise[0]),
        "clustered": (turned * levels) @ turned.T,
        "zero": 0 * noise,
    }[kind]
    matrix += matrix.T.copy()
    before, values = matrix.copy(), np.linalg.eigvalsh(matrix)
    scale = np.abs(values).max() + 1
    finders = [(_ends, largest) for largest in (1, min(16, size), size)]
    if size > 1 and kind in ("noise", "planted"):  # as ``_ends`` for large ones, with no other way
        finders.append((_some_ends, 2))
    for ends, largest in finders:
        extremes, vectors = ends(matrix, largest)
        expected = [*values[::-1][:largest], values[0]]
        np.testing.assert_allclose(extremes, expected, atol=1e-12 * scale)
        np.testing.assert_allclose(matrix @ vectors, vectors * extremes, atol=1e-11 * scale)
        gram = vectors.T @ vectors
        np.testing.assert_allclose(gram[:-1, :-1], np.eye(largest), atol=1e-11)
        assert gram[-1, -1] == pytest.approx(1, abs=1e-11)
        largest_entry = np.abs(vectors).max(axis=0)
        assert np.all(vectors.max(axis=0) >= (1 - 1e-6) * largest_entry)  # none is turned over
    np.testing.assert_array_equal(matrix, before)


@pytest.mark.parametrize("tilt", [-1e-13, 0.0, 1e-13])
def test_a_tie_has_one_sign(tilt: float) -> None:
    _, vectors = _ends(np.array([[1.0 + tilt, -1.0], [-1.0, 1.0 - tilt]]), 1)
    assert vectors[0, 0] > 0 > vectors[1, 0]


@pytest.mark.parametrize("size", [50, 150])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_told_as_numpy_tells_it(size: int, bad: float) -> None:
    matrix = np.eye(size)
    matrix[0, 1] = matrix[1, 0] = bad
    with suppress(np.linalg.LinAlgError):  # which runs turn into a sentence
        assert shrink_off_diagonal(matrix, 1.0, 5)[0].shape == (size, 0)


def test_who_happens_to_be_there_makes_no_factors() -> None:
    """Columns that many units have vary more; without noise nothing else tells their sizes."""
    rng = np.random.default_rng(3)
    often = np.where(np.arange(200) < 20, 1.0, 0.1)
    units = often * rng.standard_normal((600, 200))
    assert len(shrink_off_diagonal(units.T @ units, 0.0, 16)[1]) <= 5  # one edge for all: 15
    planted = units + 0.6 * np.outer(rng.standard_normal(600), often)
    vectors, strengths = shrink_off_diagonal(planted.T @ planted, 0.0, 16)
    assert abs(vectors[:, 0] @ often) / np.linalg.norm(often) > 0.95
    assert strengths[0] == pytest.approx(600 * 0.36 * (often @ often), rel=0.2)


# --- plans and the curator


def test_a_curator_makes_what_was_planned_and_nothing_else() -> None:
    curator = curator_of(np.random.default_rng(0), coordinates=3, count=2)
    planned = curator.rest()
    with planned_otherwise():
        curator.release("x", np.zeros(4))
    assert curator.rest() == planned
    noisy = [curator.release("x", np.zeros(3)) for _ in range(2)]
    assert not np.array_equal(*noisy)
    with planned_otherwise():
        curator.release("x", np.zeros(3))
    releases = curator.made()
    assert [r.count for r in releases] == [1, 1]
    assert curator.made() == curator.rest() == ()
    assert Ledger().plus(releases).releases == planned
    assert plan({}, None) is None
    bare = Curator(None, np.random.default_rng(0))
    assert np.array_equal(bare.release("x", np.ones(3)), np.ones(3))
    assert (bare.std("x"), bare.shift("x")) == (0.0, math.inf)
    assert bare.made() == bare.rest() == ()


def test_noise_by_row_is_the_planned_noise() -> None:
    curator = curator_of(np.random.default_rng(0), coordinates=30_000)
    noise = curator.release("x", lambda: np.zeros((10, 3_000)), by_row=True).ravel()
    assert curator.rest() == ()
    assert len(set(noise)) == noise.size
    # the sample variance of n Gaussian numbers has relative standard deviation √(2/n); five of them
    assert noise.var() == pytest.approx(curator.std("x") ** 2, rel=5 * math.sqrt(2 / noise.size))


@pytest.mark.parametrize("ratings", [400, 9_000])  # sparse pieces, and dense ones
def test_a_second_moment_is_the_sum_of_outer_products(
    monkeypatch: pytest.MonkeyPatch, ratings: int
) -> None:
    """Of columns that most users have, that some have, and that nobody has, by small pieces."""
    n_users, size = 300, 40
    rng = np.random.default_rng(5)
    share = np.repeat([0.6, 0.01, 0.0], [2, 36, 2])
    cells = rng.permutation(np.flatnonzero(rng.random(n_users * size) < np.tile(share, n_users)))
    if ratings > 1000:
        cells = rng.permutation(n_users * size)[:ratings]
    users, columns = np.divmod(cells[:ratings], size)
    values = rng.normal(size=len(users))
    table = np.zeros((n_users, size))
    table[users, columns] = values
    whole = sum(map(above_diagonal, table))
    for pieces in (10**8, 1_000):
        for name in ("_CHUNK_CELLS", "_SPARSE_CELLS"):
            monkeypatch.setattr(moments, name, pieces)
        moment = second_moment(users, columns, values, n_users, size)
        np.testing.assert_allclose(moment, whole, rtol=1e-12, atol=1e-12)
