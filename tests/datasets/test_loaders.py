"""Loaders on the real files, and on damaged ones."""

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import user_level
from dpmc_core.datasets import catalogue, configs, entry, loaders
from dpmc_core.datasets.data import forget, ratings_of, split_of
from dpmc_core.datasets.ratings import Ratings, leave_out
from dpmc_core.datasets.synthetic.ratings import low_rank, skewed
from dpmc_core.errors import DataError, DatasetMissingError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import record_of
from dpmc_core.metrics import rmse, truth_rmse
from dpmc_core.wording import printed_in


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data."""
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.data
def test_movielens(data_dir: Path) -> None:
    for name, *sizes in (("ml-1m", 6040, 3706, 1_000_209), ("ml-100k", 943, 1682, 100_000)):
        ratings = loaders.load(name)
        assert [ratings.n_users, ratings.n_items, len(ratings)] == sizes
        assert set(np.unique(ratings.values)) == {1, 2, 3, 4, 5}
    assert ratings.item_label(0) == "Toy Story (1995)"
    first = (ratings.users == 195) & (ratings.items == 241)
    assert ratings.values[first] == 3  # "196 242 3" is the file's first line


@pytest.mark.data
def test_sweetrs_both_readings_of_zero(data_dir: Path, folder: Path) -> None:
    (folder / "sweetrs").mkdir()  # its ratings alone are enough
    shutil.copy(data_dir / "sweetrs" / "ratings-final.csv", folder / "sweetrs")
    missing, rating = loaders.load("sweetrs"), loaders.load("sweetrs", zeros="rating")
    assert (missing.n_users, missing.n_items) == (rating.n_users, rating.n_items) == (1476, 77)
    assert (missing.values.min(), rating.values.min()) == (1, 0)
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
def test_the_latest_ratings_are_held_out(data_dir: Path) -> None:
    split = split_of(RunSpec.of(dataset="ml-100k", split="latest", test_fraction=0.1).data, 0)
    rows = np.loadtxt(data_dir / "ml-100k" / "u.data", dtype=np.int64)
    first = np.sort(rows[:, 3])[-10_000]
    for part, late in ((split.train, False), (split.test, True)):
        expected = rows[(rows[:, 3] >= first) == late]
        assert np.array_equal(np.c_[part.users + 1, part.items + 1, part.values], expected[:, :3])
    new = ~np.isin(split.test.users, split.train.users)
    assert f"from 1998-03-31 on; {new.mean():.0%} of them of users with no" in split.how
    with pytest.raises(DataError, match="MovieLens 1M: all ratings have one time in its file"):
        loaders.latest_split("ml-1m", 0.2)
    with pytest.raises(ParameterError, match="this set has no times"):
        loaders.latest_split("sweetrs", 0.2)


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
    folder: Path,
    load: Callable[[str], object],
    file: str,
    content: str,
    message: str,
) -> None:
    """Only so many lines are there, and something else after them."""
    shutil.copytree(data_dir / "ml-100k", folder / "ml-100k")
    damaged = folder / "ml-100k" / file
    count, _, rest = content.partition(" ")
    lines = damaged.read_text().splitlines(keepends=True)
    damaged.write_text("".join(lines[: int(count)]) + rest)
    with pytest.raises(DataError, match=message):
        load("ml-100k")


STARS = "1::10::3.5::978300761\n5::10::0.5::978300762\n5::122::5::978300760\n"
TABLE = (
    "userId,movieId,rating,timestamp\n1,10,3.5,978300761\n5,10,0.5,978300762\n5,122,5.0,978300760\n"
)
CSV = "ratings.csv", TABLE, "movies.csv", 'movieId,title,genres\n10,"Amélie, or so (1999)",\n'
FORMATS = {
    "ml-10m": ("ratings.dat", STARS, "movies.dat", "10::Amélie, or so (1999)::Drama\n"),
    **dict.fromkeys(("ml-20m", "ml-25m", "ml-32m"), CSV),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats_without_the_real_files(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half stars, UTF-8 titles, ids with gaps, a film without a genre."""
    known, (file, rows, titles, title) = entry(name), FORMATS[name]
    known.path().mkdir()
    (known.path() / file).write_text(rows)
    (known.path() / titles).write_text(title, "utf-8")
    with pytest.raises(DataError, match=r"3 ratings were read where [\d,]{10} are expected"):
        loaders.load(name)
    read = loaders._ml_double_colon if name == "ml-10m" else loaders._ml_20m
    ratings = read(known)
    assert (ratings.n_users, ratings.n_items) == (2, 2)
    assert ratings.values.tolist() == [3.5, 0.5, 5.0]
    assert [ratings.item_label(k) for k in (0, 1)] == ["Amélie, or so (1999)", "item 122"]
    monkeypatch.setattr(loaders, "load", lambda _: ratings)
    split = loaders.latest_split(name, 0.4)
    assert (split.train.values.tolist(), split.test.values.tolist()) == ([3.5, 5.0], [0.5])
    assert split.how == "latest 33%, from 2000-12-31 on; 0% of them of users with no earlier one"


@pytest.mark.parametrize("count", [1, 7])
def test_some_of_each_users_ratings_are_held_out(count: int) -> None:
    ratings = ratings_of(RunSpec.of(dataset="skewed", n_users=90, n_items=40, n_ratings=600).data)
    split = leave_out(ratings, count, 3)
    per_user = ratings.per_user
    assert np.array_equal(split.test.per_user, np.where(per_user > count, count, 0))
    assert np.array_equal(split.train.per_user, per_user - split.test.per_user)
    cells = [part.users * 40 + part.items for part in (split.train, split.test, ratings)]
    assert np.array_equal(np.sort(np.concatenate(cells[:2])), np.sort(cells[2]))
    alone = leave_out(ratings.take(ratings.users >= 30), count, 3).test  # others left
    stayed = split.test.take(split.test.users >= 30)
    assert np.array_equal(np.c_[alone.users, alone.items], np.c_[stayed.users, stayed.items])
    assert not np.array_equal(leave_out(ratings, count, 4).test.items, split.test.items)
    with pytest.raises(DataError, match="no user has more than 40 ratings"):
        leave_out(ratings, 40, 3)


def test_the_most_rated_items_alone_are_a_smaller_matrix() -> None:
    spec = RunSpec.of(dataset="skewed", n_users=90, n_items=40, n_ratings=1500, top_items=7)
    whole, cut = ratings_of(replace(spec.data, top_items=None)), ratings_of(spec.data)
    counts = np.bincount(whole.items, minlength=40)
    assert spec.data.sizes == (cut.n_users, cut.n_items) == (90, 7)
    same = (whole.truth.right[None] == cut.truth.right[:, None]).all(axis=2)
    items, chosen = np.nonzero(same)
    assert items.tolist() == [*range(7)]
    assert counts[chosen].min() >= np.delete(counts, chosen).max()
    inside = whole.take(np.isin(whole.items, chosen))
    assert np.array_equal(chosen[cut.items], inside.items)
    assert np.array_equal(cut.values, inside.values)
    assert np.array_equal(cut.users, inside.users)
    private = spec.replace(algorithm="private-means", mechanism="gaussian", epsilon=1.0)
    statement = run(private).statement  # the list was counted, and these ratings are not published
    assert statement.nominal
    assert "list of the most rated items read off the data" in statement.label
    assert record_of(run(private)).nominal


@pytest.mark.data
def test_the_most_rated_items_of_a_published_set_are_public(data_dir: Path) -> None:
    settings = {"mechanism": "gaussian", "epsilon": 1.0, "top_items": 100}
    result = run(RunSpec.of(dataset="ml-100k", algorithm="private-means", **settings))
    assert not result.statement.nominal
    assert any("list of the most rated items (public by" in c for c in result.statement.caveats)
    assert len(result.split.train.item_labels) == result.split.train.n_items == 100
    assert result.split.train.item_label(0) == "Toy Story (1995)"
    published = split_of(replace(result.spec.data, dataset="ml-100k", split="u1"), 0)
    both = len(published.train) + len(published.test)
    assert both == len(result.split.train) + len(result.split.test)
    assert len(published.train) > 3 * len(published.test)


@pytest.mark.parametrize("archive", ["ml-10m", "ml-20m"])
def test_the_papers_table_is_computed_for_whoever_has_the_files(
    archive: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the archives' layout, with fewer users and films."""
    few = archive == "ml-10m"
    ratings = skewed(200, 700 if few else 3000, 9000 if few else 40_000, seed=3)
    stars = np.clip(np.round(2 * ratings.values) / 2, 0.5, 5.0)
    mark, head = ("::", "") if few else (",", "userId,movieId,rating,timestamp\n")
    lines = [
        f"{u + 1}{mark}{3 * i + 1}{mark}{value:g}{mark}978300760\n"
        for u, i, value in zip(ratings.users, ratings.items, stars, strict=True)
    ]
    seen = [len(np.unique(numbers)) for numbers in (ratings.users, ratings.items)]
    sizes = {"users": seen[0], "items": seen[1], "ratings": len(lines)}
    monkeypatch.setitem(catalogue(), archive, replace(entry(archive), **sizes))
    entry(archive).path().mkdir()
    entry(archive).file.write_text(head + "".join(lines))
    monkeypatch.setenv("DPMC_STORE", str(folder / "runs.sqlite"))
    monkeypatch.setattr(user_level, "EPSILONS", (5.0,))
    line = f"user_level {archive} --trials 1 --seeds 1 --algorithms private-means private-fw"
    monkeypatch.setattr(sys, "argv", line.split())
    forget()
    user_level.main()
    forget()
    told = capsys.readouterr().out
    first, *_ = told.splitlines()
    runs = 8 if few else 4
    assert re.fullmatch(rf".*: {runs} runs of DPALS, at most about \d+ minutes .* GiB .*", first)
    printed = [p.text for p in printed_in("dpals", "5") if p.setting["dataset"].startswith(archive)]
    assert re.findall(r", printed ([\d.]+); ε by our accounting [\d.]+;", told) == printed
    assert ("private-fw     ε=5" in told) == few


def test_without_the_files_the_command_says_how_to_get_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["user_level", "ml-10m"])
    with pytest.raises(SystemExit, match="datasets fetch ml-10m"):
        user_level.main()


def test_missing_and_unknown_sets_say_what_to_do(folder: Path) -> None:
    with pytest.raises(DatasetMissingError, match="datasets fetch ml-1m"):
        loaders.load("ml-1m")
    with pytest.raises(ParameterError, match="one of low-rank"):
        loaders.load("netflix")
    for known in catalogue().values():
        assert known.terms
        assert known.citation
        assert known.kind in ("synthetic", "bundled", "files")
        checked = known.checksum.partition(":")[0] in ("md5", "sha256", "git-blob")
        assert known.kind != "files" or known.page or (known.url and checked)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", [n for n, known in catalogue().items() if known.kind == "files"])
def test_messages_about_files_name_no_path_of_the_server(
    folder: Path, name: str, there: bool
) -> None:
    known = entry(name)
    for file in known.files if there else ():
        (folder / known.folder / file).mkdir(parents=True)  # which cannot be read
    load = loaders.load if known.holds == "ratings" else loaders.load_samples
    with pytest.raises((DataError, DatasetMissingError)) as caught:
        load(name)
    assert str(folder) not in str(caught.value)
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
        skewed(10, 10, 51)
    assert len(skewed(12, 10, 60, popularity=3.0)) == 60


def test_truth_rmse_of_the_truth_is_exact_although_both_norms_are_about_1() -> None:
    truth = low_rank(50, 40, rank=3, observed=0.5).truth
    assert truth_rmse(truth.left, truth.right, truth) < 1e-14
