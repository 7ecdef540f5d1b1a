"""Ratings: real files and damaged ones, what is held out of them, likes, and synthetic ones."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.datasets import catalogue, configs, entry, loaders
from dpmc_core.datasets.data import ratings_of, split_of
from dpmc_core.datasets.ratings import Ratings, leave_out, likes, user_split
from dpmc_core.datasets.synthetic.ratings import low_rank, orthogonal, skewed
from dpmc_core.errors import DataError, DatasetMissingError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import record_of
from dpmc_core.metrics import rmse, truth_rmse


def rows_of(ratings: Ratings) -> np.ndarray:
    """Users, items and ratings, in the order of users and items."""
    order = np.lexsort((ratings.items, ratings.users))
    return np.column_stack(ratings.numbers)[order]


def both(first: Ratings, second: Ratings) -> np.ndarray:
    """The rows of two parts of one matrix together."""
    numbers = zip(first.numbers, second.numbers, strict=True)
    users, items, values = (np.concatenate(pair) for pair in numbers)
    return rows_of(replace(first, users=users, items=items, values=values))


@pytest.mark.data
def test_movielens_is_read_and_split_as_it_was_published(data_dir: Path) -> None:
    for name, *sizes in (("ml-1m", 6040, 3706, 1_000_209), ("ml-100k", 943, 1682, 100_000)):
        ratings = loaders.load(name)
        assert [ratings.n_users, ratings.n_items, len(ratings)] == sizes
        assert {*ratings.values} == {1, 2, 3, 4, 5}
    assert ratings.item_label(0) == "Toy Story (1995)"
    rows = np.loadtxt(data_dir / "ml-100k" / "u.data", dtype=np.int64)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    assert np.array_equal(np.add(rows_of(ratings), (1, 1, 0)), rows[order, :3])
    split = loaders.published_split("ml-100k")
    assert (len(split.train), len(split.test)) == (80_000, 20_000)
    assert np.array_equal(both(split.train, split.test), rows_of(ratings))
    split = split_of(RunSpec.of(dataset="ml-100k", split="latest", test_fraction=0.1).data, 0)
    assert np.array_equal(both(split.train, split.test), rows_of(ratings))
    late = rows[:, 3] >= np.sort(rows[:, 3])[-10_000]
    assert np.array_equal(np.add(rows_of(split.test), (1, 1, 0)), rows[order][late[order], :3])
    new = ~np.isin(split.test.users, split.train.users)
    assert f"from 1998-03-31 on; {new.mean():.0%} of them of users with no" in split.how


@pytest.mark.data
def test_sets_without_a_split_or_without_times_are_refused(data_dir: Path) -> None:
    with pytest.raises(ParameterError, match="ml-100k"):
        loaders.published_split("ml-1m")
    with pytest.raises(DataError, match="MovieLens 1M: all ratings have one time in its file"):
        loaders.latest_split("ml-1m", 0.2)
    with pytest.raises(ParameterError, match="this set has no times"):
        loaders.latest_split("sweetrs", 0.2)


@pytest.mark.data
def test_a_zero_of_sweetrs_is_missing_or_a_rating(data_dir: Path, folder: Path) -> None:
    (folder / "sweetrs").mkdir()  # its ratings alone are enough
    shutil.copy(data_dir / "sweetrs" / "ratings-final.csv", folder / "sweetrs")
    missing, rating = loaders.load("sweetrs"), loaders.load("sweetrs", zeros="rating")
    assert (missing.n_users, missing.n_items) == (rating.n_users, rating.n_items) == (1476, 77)
    assert (missing.low, rating.low) == (missing.values.min(), rating.values.min()) == (1, 0)
    assert len(rating) == 44_543 - 50  # 50 pairs occur twice; the later row counts
    assert len(missing) == int((rating.values > 0).sum())
    with pytest.raises(ParameterError, match="zeros = 'maybe'"):
        configs.ZerosData(dataset="sweetrs", zeros="maybe")


@pytest.mark.data
@pytest.mark.parametrize(
    ("load", "file", "lines", "rest", "message"),
    [
        (loaders.published_split, "u1.base", 40_000, "", "hold 40,000 and 20,000"),
        (loaders.published_split, "u1.base", 0, "", "cannot be read"),
        (loaders.load, "u.data", 500, "", "500 ratings were read where 100,000 are expected"),
        (loaders.load, "u.data", 500, "12\t9", "cut short"),
        (loaders.load, "u.data", 500, "x\ty\tz\t0\n", "cannot be read"),
        (loaders.load, "u.data", 0, "", "cannot be read"),
    ],
)
def test_damaged_files_are_named(
    data_dir: Path,
    folder: Path,
    load: Callable[[str], object],
    file: str,
    lines: int,
    rest: str,
    message: str,
) -> None:
    """Only so many lines are there, and something else after them."""
    damaged = shutil.copytree(data_dir / "ml-100k", folder / "ml-100k") / file
    damaged.write_text("".join([*damaged.read_text().splitlines(keepends=True)[:lines], rest]))
    with pytest.raises(DataError, match=message):
        load("ml-100k")


@pytest.mark.parametrize(
    ("name", "mark", "head", "title"),
    [
        ("ml-10m", "::", "", "10::Amélie, or so (1999)::Drama\n"),
        *(
            (name, ",", "userId,movieId,rating,timestamp\n", '10,"Amélie, or so (1999)",\n')
            for name in ("ml-20m", "ml-25m", "ml-32m")
        ),
    ],
)
def test_larger_movielens_sets_are_read_in_their_own_formats(
    folder: Path, name: str, mark: str, head: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half stars, UTF-8 titles, ids with gaps, a film without a genre."""
    record = entry(name)
    record.path().mkdir()
    rows = "1,10,3.5,978300761\n5,10,0.5,978300762\n5,122,5,978300760\n"
    record.file.write_text(head + rows.replace(",", mark))
    titles = record.path() / f"movies.{'csv' if head else 'dat'}"
    titles.write_text("movieId,title,genres\n" * bool(head) + title, "utf-8")
    with pytest.raises(DataError, match=r"3 ratings were read where [\d,]{10} are expected"):
        loaders.load(name)
    monkeypatch.setitem(catalogue(), name, replace(record, ratings=3))
    ratings = loaders.load(name)
    assert rows_of(ratings).tolist() == [[0, 0, 3.5], [1, 0, 0.5], [1, 1, 5.0]]
    assert [ratings.item_label(k) for k in (0, 1)] == ["Amélie, or so (1999)", "item 122"]
    split = loaders.latest_split(name, 0.4)
    assert (split.train.values.tolist(), split.test.values.tolist()) == ([3.5, 5.0], [0.5])
    assert split.how == "latest 33%, from 2000-12-31 on; 0% of them of users with no earlier one"


@pytest.mark.parametrize("count", [1, 7])
def test_some_of_each_users_ratings_are_held_out(count: int) -> None:
    ratings = skewed(90, 40, 600)
    split, other = leave_out(ratings, count, 3), leave_out(ratings, count, 4)
    held = np.where(ratings.per_user > count, count, 0)
    assert np.array_equal(split.test.per_user, held)
    assert np.array_equal(both(split.train, split.test), rows_of(ratings))
    # others left
    alone = leave_out(ratings.take(ratings.users >= 30), count, 3).test
    stayed = split.test.take(split.test.users >= 30)
    assert np.array_equal(rows_of(alone), rows_of(stayed))
    assert not np.array_equal(other.test.items, split.test.items)
    with pytest.raises(DataError, match="no user has more than 40 ratings"):
        leave_out(ratings, 40, 3)


def test_the_most_rated_items_alone_are_a_smaller_matrix() -> None:
    spec = RunSpec.of(dataset="skewed", n_users=90, n_items=40, n_ratings=1500, top_items=7)
    whole, cut = ratings_of(replace(spec.data, top_items=None)), ratings_of(spec.data)
    assert spec.data.sizes == (cut.n_users, cut.n_items) == (90, 7)
    same = (whole.truth.right[None] == cut.truth.right[:, None]).all(axis=2)
    items, chosen = np.nonzero(same)
    assert items.tolist() == [*range(7)]
    assert whole.per_item[chosen].min() >= np.delete(whole.per_item, chosen).max()
    inside = whole.take(np.isin(whole.items, chosen))
    assert np.array_equal(rows_of(replace(cut, items=chosen[cut.items])), rows_of(inside))
    result = run(spec.replace(algorithm="private-means", mechanism="gaussian", epsilon=1.0))
    # the list was counted, and these ratings are not published
    assert record_of(result).nominal
    assert "list of the most rated items read off the data" in result.statement.label


@pytest.mark.data
def test_the_most_rated_items_of_a_published_set_are_public(data_dir: Path) -> None:
    settings = {"mechanism": "gaussian", "epsilon": 1.0, "top_items": 100}
    result = run(RunSpec.of(dataset="ml-100k", algorithm="private-means", **settings))
    assert not result.statement.nominal
    assert any("list of the most rated items (public by" in c for c in result.statement.caveats)
    train, test = result.split.train, result.split.test
    assert len(train.item_labels) == train.n_items == 100
    assert train.item_label(0) == "Toy Story (1995)"
    published = split_of(replace(result.spec.data, split="u1"), 0)
    assert np.array_equal(both(published.train, published.test), both(train, test))
    assert len(published.train) > 3 * len(published.test)


def test_missing_and_unknown_sets_say_what_to_do(folder: Path) -> None:
    with pytest.raises(DatasetMissingError, match="datasets fetch ml-1m"):
        loaders.load("ml-1m")
    with pytest.raises(ParameterError, match="one of low-rank"):
        loaders.load("netflix")
    for record in catalogue().values():
        assert record.terms
        assert record.citation
        if record.kind != "files":
            assert record.kind in ("synthetic", "bundled")
            continue
        checked = record.checksum.partition(":")[0] in ("md5", "sha256", "git-blob")
        assert record.page or (record.url and checked)
        # and no message names a path of the server
        load = loaders.load if record.holds == "ratings" else loaders.load_samples
        with pytest.raises(DatasetMissingError) as missing:
            load(record.name)
        assert f"the folder {record.folder} of the data folder" in str(missing.value)
        for file in record.files:
            (folder / record.folder / file).mkdir(parents=True)  # which cannot be read
        with pytest.raises(DataError) as unread:
            load(record.name)
        assert str(folder) not in f"{missing.value} {unread.value}"


@pytest.mark.parametrize(
    ("users", "items", "values", "message"),
    [
        ([0], [0], [np.nan], "rating number 1"),
        ([0, 0], [0, 1], [1, np.inf], "rating number 2"),
        ([], [], [], "no rating"),
        ([0, 0], [1, 1], [1, 2], "more than once"),
        ([-1], [0], [1], "user -1"),
        ([0], [0, 1], [1], "one length"),
        ([0], [7], [1], "item 7; allowed are 0 to 2"),
    ],
)
def test_bad_ratings_are_refused(users: list, items: list, values: list, message: str) -> None:
    arrays = np.array(users, dtype=int), np.array(items, dtype=int), np.array(values, dtype=float)
    with pytest.raises(DataError, match=message):
        Ratings.checked(*arrays, n_users=1, n_items=3)


def test_low_rank_is_what_the_thesis_says() -> None:
    data, again = (
        low_rank(80, 60, rank=4, observed=0.25, value_scale=2.0, seed=5) for _ in range(2)
    )
    assert len(data) == 1200
    whole = data.truth.left @ data.truth.right.T
    assert np.linalg.matrix_rank(whole) == 4
    np.testing.assert_allclose(data.values, whole[data.users, data.items])
    assert data.truth.left.max() <= 2
    assert np.array_equal(rows_of(data), rows_of(again))
    # although both norms are about 1
    assert truth_rmse(data.truth.left, data.truth.right, data.truth) < 1e-14


@pytest.mark.parametrize("popularity", [0.0, 0.9, 3.0])
def test_skewed_has_its_shape_skew_and_noise_floor(popularity: float) -> None:
    data = skewed(400, 300, 6_000, popularity=popularity, noise_floor=0.3, seed=2)
    assert len(data) == 6_000
    share = np.sort(data.per_item)[-30:].sum() / 6_000
    assert share < 0.16 if popularity == 0 else share > 0.2
    truth = np.einsum("kr,kr->k", data.truth.left[data.users], data.truth.right[data.items])
    # sd of 6,000 normal errors: relative standard error 1/√(2n) = 0.91 %, five of them
    assert rmse(truth, data.values) == pytest.approx(0.3, rel=5 * 0.0091)
    with pytest.raises(ParameterError, match="half"):
        skewed(10, 10, 51)
    assert len(skewed(12, 10, 60, popularity=popularity)) == 60


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
