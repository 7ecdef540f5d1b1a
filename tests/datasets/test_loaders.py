"""Loaders on the real files, and on damaged ones."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpmc_core.datasets import catalogue, configs, entry, factor_sets, loaders
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.synthetic.ratings import low_rank, skewed
from dpmc_core.errors import DataError, DatasetMissingError, ParameterError
from dpmc_core.metrics import rmse, truth_rmse


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "users", "items", "count"),
    [("ml-100k", 943, 1682, 100_000), ("ml-1m", 6040, 3706, 1_000_209)],
)
def test_movielens(data_dir: Path, name: str, users: int, items: int, count: int) -> None:
    ratings = loaders.load(name)
    assert (ratings.n_users, ratings.n_items, len(ratings)) == (users, items, count)
    assert set(np.unique(ratings.values)) == {1, 2, 3, 4, 5}
    if name == "ml-100k":
        assert ratings.item_label(0) == "Toy Story (1995)"
        first = (ratings.users == 195) & (ratings.items == 241)
        assert ratings.values[first] == 3  # "196 242 3" is the file's first line


@pytest.mark.data
def test_sweetrs_both_readings_of_zero(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sweetrs").mkdir()  # its ratings alone are enough
    shutil.copy(data_dir / "sweetrs" / "ratings-final.csv", tmp_path / "sweetrs")
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    missing, rating = loaders.load("sweetrs"), loaders.load("sweetrs", zeros="rating")
    assert (missing.n_users, missing.n_items) == (rating.n_users, rating.n_items) == (1476, 77)
    assert missing.values.min() == 1
    assert rating.values.min() == 0
    assert len(rating) == 44_543 - 50  # 50 pairs occur twice; the later row counts
    assert len(missing) == int((rating.values > 0).sum())
    with pytest.raises(ParameterError, match="zeros = 'maybe'"):
        configs.ZerosData(dataset="sweetrs", zeros="maybe")


@pytest.mark.data
def test_published_split(data_dir: Path) -> None:
    split = loaders.published_split("ml-100k")
    assert (len(split.train), len(split.test)) == (80_000, 20_000)
    whole = loaders.load("ml-100k")
    pairs = np.concatenate(
        [p.users.astype(int) * 1682 + p.items for p in (split.train, split.test)]
    )
    assert np.array_equal(np.sort(pairs), np.sort(whole.users.astype(int) * 1682 + whole.items))
    with pytest.raises(ParameterError, match="ml-100k"):
        loaders.published_split("ml-1m")


@pytest.mark.data
@pytest.mark.parametrize(
    ("load", "file", "content", "message"),
    [
        (loaders.published_split, "u1.base", "40000", "hold 40,000 and 20,000"),
        (loaders.published_split, "u1.base", "0", "cannot be read"),
        (loaders.load, "u.data", "500", "500 ratings were read where 100,000 are expected"),
        (loaders.load, "u.data", "500 12\t9", "cut short"),
        (loaders.load, "u.data", "500 x\ty\tz\t0\n", "cannot be read"),
        (loaders.load, "u.data", "0", "cannot be read"),
    ],
)
def test_damaged_files_are_named(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    load: Callable[[str], object],
    file: str,
    content: str,
    message: str,
) -> None:
    """Only so many lines are there, and something else after them."""
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    shutil.copytree(data_dir / "ml-100k", tmp_path / "ml-100k")
    damaged = tmp_path / "ml-100k" / file
    count, _, rest = content.partition(" ")
    lines = damaged.read_text().splitlines(keepends=True)
    damaged.write_text("".join(lines[: int(count)]) + rest)
    with pytest.raises(DataError, match=message):
        load("ml-100k")


def test_double_colon_format_without_the_real_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ML-10M layout: half stars, UTF-8 titles, ids with gaps."""
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    known = entry("ml-10m")
    known.path().mkdir()
    rows = "1::10::3.5::978300760\n5::10::0.5::978300760\n5::122::5::978300760\n"
    (known.path() / "ratings.dat").write_text(rows)
    (known.path() / "movies.dat").write_text("10::Amélie (1999)::Drama\n", "utf-8")
    with pytest.raises(DataError, match="3 ratings were read where 10,000,054"):
        loaders.load("ml-10m")
    ratings = loaders._ml_double_colon(known)
    assert (ratings.n_users, ratings.n_items) == (2, 2)
    assert ratings.values.tolist() == [3.5, 0.5, 5.0]
    assert ratings.item_label(0) == "Amélie (1999)"


@pytest.mark.parametrize("name", ["ml-20m", "ml-25m", "ml-32m"])
def test_csv_format_of_the_later_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    folder = tmp_path / name
    folder.mkdir()
    (folder / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n1,2,3.5,1\n3,2,4.0,1\n3,9,1.0,1\n"
    )
    (folder / "movies.csv").write_text('movieId,title,genres\n2,"Jumanji, or so (1995)",x\n')
    ratings = loaders._ml_20m(entry(name))
    assert ratings.item_label(0) == "Jumanji, or so (1995)"
    assert ratings.item_label(1) == "item 9"
    assert (ratings.n_users, ratings.n_items, len(ratings)) == (2, 2, 3)
    with pytest.raises(DataError, match=r"3 ratings were read where [\d,]+ are expected"):
        loaders.load(name)


def test_missing_and_unknown_sets_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    with pytest.raises(DatasetMissingError, match="datasets fetch ml-1m"):
        loaders.load("ml-1m")
    with pytest.raises(ParameterError, match="one of low-rank"):
        loaders.load("netflix")
    for known in catalogue().values():
        assert known.terms
        assert known.citation
        if known.kind == "files":
            assert known.page or (
                known.url and known.checksum.partition(":")[0] in ("md5", "sha256", "git-blob")
            )
        else:
            assert known.kind in ("synthetic", "bundled")


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", [n for n, known in catalogue().items() if known.kind == "files"])
def test_messages_about_files_name_no_path_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, there: bool
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    known = entry(name)
    for file in known.files if there else ():
        (tmp_path / known.folder / file).mkdir(parents=True)  # which cannot be read
    load = loaders.load if known.holds == "ratings" else factor_sets.load_samples
    with pytest.raises((DataError, DatasetMissingError)) as caught:
        load(name)
    assert str(tmp_path) not in str(caught.value)
    assert there or f"the folder {known.folder} of the data folder" in str(caught.value)


@pytest.mark.parametrize(
    ("users", "items", "values", "message"),
    [
        ([0], [0], [float("nan")], "rating number 1"),
        ([0, 1], [0, 1], [1, float("inf")], "rating number 2"),
        ([], [], [], "no rating"),
        ([0, 0], [1, 1], [1, 2], "more than once"),
        ([-1], [0], [1], "user -1"),
        ([0], [0, 1], [1], "one length"),
        ([0], [7], [1], "item 7; allowed are 0 to 2"),
    ],
)
def test_bad_ratings_are_refused(
    users: list[int], items: list[int], values: list[float], message: str
) -> None:
    sizes = {"n_users": 1, "n_items": 3} if 7 in items else {}
    arrays = np.array(users, dtype=int), np.array(items, dtype=int), np.array(values, dtype=float)
    with pytest.raises(DataError, match=message):
        Ratings.checked(*arrays, **sizes)


def test_low_rank_is_what_the_thesis_says() -> None:
    data, again = (
        low_rank(80, 60, rank=4, observed=0.25, value_scale=2.0, seed=5) for _ in range(2)
    )
    assert len(data) == 1200
    whole = data.truth.left @ data.truth.right.T
    assert np.linalg.matrix_rank(whole) == 4
    np.testing.assert_allclose(data.values, whole[data.users, data.items])
    assert data.truth.left.max() <= 2
    assert np.array_equal(data.values, again.values)


@pytest.mark.parametrize("popularity", [0.0, 0.9, 3.0])
def test_skewed_has_its_shape_skew_and_noise_floor(popularity: float) -> None:
    data = skewed(400, 300, 6_000, popularity=popularity, noise_floor=0.3, seed=2)
    assert len(data) == 6_000
    counts = np.sort(np.bincount(data.items, minlength=300))[::-1]
    share = counts[:30].sum() / 6_000
    assert share < 0.16 if popularity == 0 else share > 0.2
    truth = np.einsum("kr,kr->k", data.truth.left[data.users], data.truth.right[data.items])
    # sd of 6,000 normal errors: relative standard error 1/√(2n) = 0.91 %, five of them
    assert rmse(truth, data.values) == pytest.approx(0.3, rel=5 * 0.0091)


def test_skewed_refuses_an_overfull_matrix_and_fills_half() -> None:
    with pytest.raises(ParameterError, match="half"):
        configs.SkewedData(n_users=10, n_items=10, n_ratings=51)
    assert len(skewed(12, 10, 60, popularity=3.0)) == 60


def test_truth_rmse_equals_the_dense_difference() -> None:
    data = low_rank(50, 40, rank=3, observed=0.5)
    rng = np.random.default_rng(0)
    left, right = rng.random((50, 6)), rng.random((40, 6))
    dense = np.sqrt(np.mean((left @ right.T - data.truth.left @ data.truth.right.T) ** 2))
    assert truth_rmse(left, right, data.truth) == pytest.approx(dense, rel=1e-12)
    same = truth_rmse(data.truth.left, data.truth.right, data.truth)
    assert same < 1e-14  # exact although both norms are about 1
