"""Likes and the split by users; the DPALS paper's synthetic data."""

from typing import Any

import numpy as np
import pytest

from dpmc_core.datasets.ratings import Ratings, likes, user_split
from dpmc_core.datasets.synthetic.ratings import orthogonal, skewed
from dpmc_core.errors import DataError, ParameterError


def rated(users: Any, items: Any, values: Any = 5.0) -> Ratings:
    arrays = np.broadcast_arrays(users, items, values)
    return Ratings.checked(*arrays, low=1, high=5)


def pairs(part: Ratings) -> set[tuple[int, int]]:
    return {*zip(part.users, part.items, strict=True)}


def test_four_of_five_stars_is_a_like() -> None:
    ratings = rated([0, 0, 1, 2], [0, 1, 1, 2], [3.9, 4.0, 5.0, 1.0])
    liked = likes(ratings)
    assert pairs(liked) == {(0, 1), (1, 1)}
    assert (liked.values == 1).all()
    assert liked.low + liked.high == 0  # what is not known is nothing, not half a like
    assert (liked.n_users, liked.n_items) == (3, 3)
    with pytest.raises(DataError, match="no rating is 4 or more"):
        likes(ratings.take(ratings.values < 4))


@pytest.mark.parametrize("seed", range(4))
def test_the_three_parts_make_up_all_likes(seed: int) -> None:
    ratings = skewed(200, 80, 5_000, seed=seed)
    liked, split = likes(ratings), user_split(ratings, 0.25, seed)
    held = {*split.target.users}
    assert held == {*split.query.users}
    assert not held & {*split.train.users}
    parts = [pairs(part) for part in (split.train, split.query, split.target)]
    assert set.union(*parts) == pairs(liked)
    assert sum(map(len, parts)) == len(liked)
    counts = liked.per_user
    assert len(held) == int(0.25 * np.count_nonzero(counts >= 5))
    for user in held:
        assert counts[user] >= 5
        assert split.query.per_user[user] == int(0.8 * counts[user])
    assert pairs(user_split(ratings, 0.25, seed).target) == parts[2]
    assert pairs(user_split(ratings, 0.25, seed + 1).target) != parts[2]


def test_nobody_to_hold_out_is_said() -> None:
    for users, items, message in (
        (np.arange(4), 0, "0 users liked 5 items or more"),
        (0, np.arange(6), "at least one to hold out and one to learn from"),
    ):
        with pytest.raises(DataError, match=message):
            user_split(rated(users, items), 0.5, 0)
    two = rated(np.repeat([0, 1], 6), np.tile(np.arange(6), 2))
    split = user_split(two, 0.9, 0)
    assert {*split.target.users} ^ {*split.train.users} == {0, 1}
    with pytest.raises(ParameterError, match="test_fraction"):
        user_split(two, 0.0, 0)


def test_orthogonal_is_what_the_dpals_paper_says() -> None:
    data = orthogonal(600, 200, rank=5, observed=0.2, seed=1)
    assert data.truth is not None
    left, right = data.truth.left, data.truth.right
    assert np.allclose(right.T @ right, np.eye(5))
    # the sum of squares of the whole matrix is exactly its number of cells: standard deviation 1
    # (mean near 0)
    assert np.allclose(left.T @ left, np.eye(5) * 600 * 200 / 5)
    assert np.allclose(data.values, np.einsum("kr,kr->k", left[data.users], right[data.items]))
    assert abs(data.per_user.mean() - 40) < 5 * np.sqrt(0.2 * 0.8 * 200 / 600)
    assert (data.low, data.high) == (-4.0, 4.0)
    with pytest.raises(ParameterError, match="true_rank = 9"):
        orthogonal(8, 20, rank=9)
