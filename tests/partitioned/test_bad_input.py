"""Folders that cannot be used, each told in one sentence that names the file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpmc_core.partitioned.partition as partitions
from dpmc_core.cli.common.main import main
from dpmc_core.completion.dpals.preprocessing import first_k, lottery
from dpmc_core.datasets.own.given import NOTHING
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.factorization.contributions import Kept, sum_of_columns
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.journal import FolderError
from dpmc_core.partitioned.population import UnitPartitions
from dpmc_core.partitioned.source import check_user_column, open_folder, read_rows
from tests.partitioned.folders import id_of_user, ratings, write, written
from tests.partitioned.test_cluster import result_of
from tests.partitioned.test_same_numbers import layout_of, quiet


def three(folder: Path, **changed: Any) -> Path:
    """Two good files, and a third with some columns changed."""
    for k in range(2):
        write(folder / f"{k}.parquet", who=[10 * k, 10 * k + 1], what=[1, 2], stars=[1.0, 5.0])
    write(
        folder / "2.parquet", **({"who": [20, 21], "what": [1, 2], "stars": [2.0, 3.0]} | changed)
    )
    return folder


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "straddling": (
        {"who": [0, 11]},
        r"user 0 is in 0\.parquet and in 2\.parquet, and 1 other users",
    ),
    "text for numbers": (
        {"who": ["a", "b"]},
        r"the users in 2\.parquet are text, and whole numbers",
    ),
    "other items": ({"what": ["a", "b"]}, r"the items in 2\.parquet are text, and whole numbers"),
    "words for stars": ({"stars": ["a", "b"]}, r"2\.parquet: 'stars' holds text, .* numbers"),
    "fractions for users": ({"who": [1.5, 2.5]}, r"2\.parquet: 'who' holds double"),
    "without sign": (
        {"who": pa.array([1, 2], type=pa.uint64())},
        r"the users in 2\.parquet are whole numbers of 64 bits without sign",
    ),
}


PASSED_OVER: dict[str, dict[str, Any]] = {
    "NaN": {"stars": [2.0, np.nan]},
    "infinite": {"stars": [2.0, np.inf]},
    "no value": {"stars": pa.array([2.0, None])},
    "no user": {"who": pa.array([20, None])},
    "no item": {"what": pa.array([1, None])},
    "twice": {"who": [20, 20], "what": [1, 1], "stars": [4.0, 2.0]},
}


@pytest.mark.parametrize("case", PASSED_OVER)
def test_what_one_user_gives_wrongly_ends_no_run(tmp_path: Path, case: str) -> None:
    """The rest of the file counts, and of two ratings of one item the last."""
    found = layout_of(three(tmp_path / "data", **PASSED_OVER[case])).catalogue
    alone = {"who": [20], "what": [1], "stars": [2.0]}
    same = layout_of(three(tmp_path / "alone", **alone)).catalogue
    assert found.notes == (
        "Rows without a user, an item or a finite value, and a user's earlier ratings of an item, "
        "are passed over: 1.",
    )
    assert found.digest == same.digest
    assert (found.n_users, found.n_ratings) == (5, 5)


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path: Path, case: str) -> None:
    changed, said = WRONG[case]
    with pytest.raises(DataError, match=said):
        layout_of(three(tmp_path / "data", **changed))


def test_other_columns_and_other_files(tmp_path: Path) -> None:
    folder = three(tmp_path / "data")
    write(folder / "3.parquet", who=[30], movie=[1], stars=[1.0])
    with pytest.raises(DataError, match=r"3\.parquet has no column 'what'"):
        open_folder(folder)
    (folder / "3.parquet").write_bytes(b"PAR1 nothing at all")
    with pytest.raises(DataError, match=r"3\.parquet cannot be read as Parquet"):
        open_folder(folder)
    (folder / "3.parquet").unlink()
    with pytest.raises(ParameterError, match=r"item column = 'film'.*one of who, what, stars"):
        open_folder(folder, item="film")
    with pytest.raises(DataError, match="holds no Parquet files"):
        open_folder(tmp_path)
    with pytest.raises(DataError, match="holds no Parquet files"):
        open_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"1\.parquet is a file: name the folder that it is in"):
        open_folder(folder / "1.parquet")
    with pytest.raises(ParameterError, match=r"three different ones, named by --user-column"):
        open_folder(folder, item="stars", value="stars")


@pytest.mark.parametrize("beside", ["when", "review_id", "index"])
def test_a_time_and_a_number_of_a_row_are_no_ratings(tmp_path: Path, beside: str) -> None:
    frame = pd.DataFrame({"userId": [1, 2, 3] * 8, "movieId": sorted([*range(8)] * 3)})
    frame["score"] = [1, 2, 3, 4] * 6
    frame.insert(0, beside, np.arange(24) + (1_600_000_000 if beside == "when" else 0))
    if beside == "index":
        frame = frame.iloc[::2]
        del frame["index"]
    frame.to_parquet(tmp_path / "1.parquet")
    source = open_folder(tmp_path)
    assert (source.user, source.item, source.value) == ("userId", "movieId", "score")
    check_user_column(source)


def test_columns_that_are_near_are_to_be_named(tmp_path: Path) -> None:
    frame = pd.DataFrame({"userId": [1, 2, 3] * 8, "movieId": sorted([*range(8)] * 3)})
    frame = frame.assign(title="t" + frame["movieId"].astype(str), score=[1, 2, 3, 4] * 6)
    frame.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ParameterError, match=r"item column is missing.* named: one of .*, title"):
        open_folder(tmp_path)
    assert open_folder(tmp_path, item="title").item == "title"
    likes = frame.drop(columns=["title", "score"]).assign(timestamp=np.arange(24) + 10**9)
    likes.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ParameterError, match="rating column"):
        open_folder(tmp_path)


def test_no_rating_at_all_and_words_for_ratings(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    write(tmp_path / "text" / "1.parquet", user=[1], item=[2], rating=["five"])
    with pytest.raises(DataError, match="'rating' holds text, where ratings must be numbers"):
        open_folder(tmp_path / "text", "user", "item", "rating")
    (tmp_path / "none").mkdir()
    write(tmp_path / "none" / "1.parquet", user=[], item=[], rating=[])
    with pytest.raises(DataError, match="none holds no rating: its Parquet files have no rows"):
        open_folder(tmp_path / "none")


def test_a_file_cut_in_its_middle_is_told_when_it_is_read(tmp_path: Path) -> None:
    folder = written(ratings(), tmp_path / "data", 2)
    path = folder / "part-001.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"part-001\.parquet cannot be read as Parquet"):
        layout_of(folder)


def test_a_file_that_is_too_large_for_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpmc_core.partitioned.source.MOST_ROWS", 1)
    with pytest.raises(DataError, match=r"0\.parquet has 2 ratings; .* at most 1 are allowed"):
        open_folder(three(tmp_path / "data"))


def test_an_empty_partition_is_passed_over(tmp_path: Path) -> None:
    folder = written(ratings(), tmp_path / "data", 3)
    usual = result_of(layout_of(folder), Here(), tmp_path / "usual")
    types = [("who", pa.int64()), ("what", pa.int64()), ("stars", pa.float64())]
    write(folder / "part-900.parquet", **{name: pa.array([], type=kind) for name, kind in types})
    layout = layout_of(folder)
    assert layout.catalogue.empty == ("part-900.parquet",)
    found = result_of(layout, Here(), tmp_path / "run")
    assert found.errors.test_rmse == pytest.approx(usual.errors.test_rmse, rel=1e-12)
    assert (tmp_path / "run" / "users" / "part-900.parquet").exists()


def test_ids_of_64_bits_and_text(tmp_path: Path) -> None:
    """The same matrix under other names is the same run, apart from what is held out."""
    given = ratings()
    large = np.array([2**63 + 5, 2**64 - 1, 2**63 + 6], dtype=np.uint64)
    write(tmp_path / "large" / "a.parquet", who=large, what=["ä", "b", "a"], stars=[1, 2, 3])
    rows = read_rows(open_folder(tmp_path / "large"), 0)
    assert rows.users.tolist() == sorted(large.tolist())
    assert rows.items.tolist() == ["a", "b", "ä"]
    assert rows.items[rows.item_of].tolist() == ["ä", "b", "a"]
    assert rows.users[rows.user_of].tolist() == large.tolist()
    options = {"test_fraction": 1e-9}
    numbers = layout_of(written(given, tmp_path / "numbers", 3), **options)
    text = layout_of(written(given, tmp_path / "text", 3, text=True), **options)
    assert text.catalogue.n_items == numbers.catalogue.n_items
    np.testing.assert_array_equal(text.catalogue.counts, numbers.catalogue.counts)
    assert text.catalogue.digest != numbers.catalogue.digest


def test_any_change_of_a_rating_changes_the_digest_and_no_order_does(tmp_path: Path) -> None:
    given = ratings()
    digests = {
        layout_of(written(given, tmp_path / f"{files}-{seed}", files, seed=seed)).catalogue.digest
        for files, seed in ((1, 0), (3, 1), (5, 2))
    }
    assert len(digests) == 1
    for k in (0, len(given) - 1):
        values = given.values.copy()
        values[k] = 6 - values[k] if values[k] != 3 else 4
        changed = type(given)(given.users, given.items, values, given.n_users, given.n_items, 1, 5)
        layout = layout_of(written(changed, tmp_path / f"changed-{k}", 3))
        assert layout.catalogue.digest not in digests


def test_a_file_that_changed_under_a_run(tmp_path: Path) -> None:
    folder = written(ratings(), tmp_path / "data", 2)
    layout = layout_of(folder)
    write(folder / "part-001.parquet", who=[5], what=[100], stars=[2.0])
    with pytest.raises(DataError, match=r"part-001\.parquet has changed since the run was begun"):
        result_of(layout, Here(), tmp_path / "run")


def test_a_worker_with_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = layout_of(written(ratings(), tmp_path / "data", 2))
    monkeypatch.setattr(partitions, "__version__", "0.0.1")
    with pytest.raises(DataError, match=r"A worker has version 0\.0\.1 of this software where"):
        result_of(layout, Here(), tmp_path / "run")


def test_a_full_disk_on_a_worker_costs_its_copies_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(written(ratings(), tmp_path / "data", 3), folder=str(tmp_path / "copies"))
    usual = result_of(layout, Here(), tmp_path / "usual")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(partitions, "_write", full)
        other = layout_of(tmp_path / "data", folder=str(tmp_path / "full"))
        found = result_of(other, Here(), tmp_path / "run")
    assert not list((tmp_path / "full").rglob("*-*"))
    assert found.errors.as_dict() == usual.errors.as_dict()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["als"], "--folder is missing: it must be a folder"),
        (["als", "--folder", "x"], "--out is missing"),
        (["als", "--folder", "x", "--out", "y", "--workers", "0"], "x holds no Parquet files"),
        (["svt", "--folder", "{data}", "--out", "{run}"], "algorithm = 'svt' is not allowed"),
        (["als", "--folder", "{data}", "--out", "{run}", "--workers", "0"], "workers = '0'"),
        (["als", "--folder", "{data}", "--out", "{run}", "--memory-mb", "1"], "memory_mb = '1'"),
        (["als", "--folder", "{data}", "--out", "{run}", "--rank", "200"], "rank = 200"),
        (["als", "--folder", "{data}", "--out", "{run}", "--rank", "no"], "rank = 'no'"),
        (
            ["moment-nmf", "--folder", "x", "--out", "y"],
            "one of als, irls, irls-2, moments, dpals, private-means on ratings; it runs on "
            "documents or images (--holds).",
        ),
        (
            ["als", "--folder", "x", "--out", "y", "--holds", "documents"],
            "one of private-nmf, moment-nmf on documents; it runs on ratings (--holds).",
        ),
        (["--folder", "x", "--out", "y", "--holds", "documents"], "algorithm is missing"),
        (["als", "--folder", "{data}", "--out", "{run}", "--dataset", "low-rank"], "dataset ="),
    ],
)
def test_mistakes_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    data = written(ratings(), tmp_path / "data", 2)
    filled = [word.format(data=data, run=tmp_path / "run") for word in words]
    filled += ["--user-column", "who"] if "{data}" in words else []
    assert main(["large", *filled]) == 2
    assert said in capsys.readouterr().err
    assert not list((tmp_path / "run").glob("released/*"))


def test_files_dealt_anew_are_another_run(tmp_path: Path) -> None:
    """The same ratings under the same names, other users in each: no copy is taken for another."""
    given = ratings()
    first = layout_of(written(given, tmp_path / "data", 2, seed=0), folder=str(tmp_path / "copies"))
    result_of(first, Here(), tmp_path / "run")
    written(given, tmp_path / "data", 2, seed=5)
    second = layout_of(tmp_path / "data", folder=str(tmp_path / "copies"))
    assert second.catalogue.digest == first.catalogue.digest
    assert second.key != first.key
    with pytest.raises(FolderError, match="other settings, other data"):
        result_of(second, Here(), tmp_path / "run")
    with pytest.raises(DataError, match=r"part-000\.parquet has changed since the run was begun"):
        result_of(layout_with(first, tmp_path / "other copies"), Here(), tmp_path / "third")


def layout_with(layout: Any, folder: Path) -> Any:
    return replace(layout, folder=str(folder))


def test_who_else_is_there_changes_nobodys_draws(tmp_path: Path) -> None:
    """A user with the lowest id leaves: everybody else takes part with the same ratings."""
    given = ratings()
    for users in (given, given.take(given.users > 0)):
        layout = layout_of(written(users, tmp_path / f"{len(users)}", 2), test_fraction=0.0)
        found = {int(who): chosen for k in range(2) for who, chosen in drawn_by(layout, k).items()}
        if users is given:
            everybody = found
    assert found.keys() == everybody.keys() - {id_of_user(0)}
    assert all(everybody[who] == chosen for who, chosen in found.items())


def drawn_by(layout: Any, k: int) -> dict[Any, Any]:
    group = partitions.group_of(layout, k)
    chosen = first_k(group.ratings.users, lottery(group.ratings, 7), 3)
    ids = partitions.ids_of(layout, k)
    out: dict[Any, Any] = {who: set() for who in ids}
    for user, item in zip(group.ratings.users[chosen], group.ratings.items[chosen], strict=True):
        out[ids[user]].add(int(layout.catalogue.items[item]))
    return out


def test_one_huge_count_moves_a_sum_by_no_more_than_its_own_column(tmp_path: Path) -> None:
    columns = {"unit": [1, 1, 2, 2], "what": ["a", "b", "a", "c"], "how": [1e308, 1.0, 1.0, 2.0]}
    write(tmp_path / "d" / "0.parquet", **columns)
    layout = layout_of(tmp_path / "d", test_fraction=0.0, given=NOTHING)
    units = UnitPartitions(layout, Here(), quiet)
    units.doing = "trying"
    kept = Kept(np.arange(3), np.array([2.0, 3.0, 2.5]))
    total = units.total(sum_of_columns, kept)
    assert np.isfinite(total).all()
    assert np.linalg.norm(total) <= 2 + 1e-9
