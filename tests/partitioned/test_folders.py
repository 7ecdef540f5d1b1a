"""Folders that cannot be used, each told in one sentence that names the file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpmc_core.partitioned.partition as partitions
from dpmc_core.datasets.own.given import NOTHING
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.factorization.contributions import Selection, sum_of_columns
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.journal import FolderError
from dpmc_core.partitioned.population import UnitPartitions
from dpmc_core.partitioned.source import check_user_column, open_folder, read_rows
from tests.faults import FULL_DISK, raising
from tests.partitioned.folders import (
    dpals_of,
    id_of_user,
    layout_of,
    quiet,
    ratings,
    write,
    written,
)


def three(folder: Path, **changed: Any) -> Path:
    """Two good files, and a third with some columns changed."""
    for k in range(2):
        write(folder / f"{k}.parquet", who=[10 * k, 10 * k + 1], what=[1, 2], stars=[1.0, 5.0])
    third = {"who": [20, 21], "what": [1, 2], "stars": [2.0, 3.0]}
    write(folder / "2.parquet", **third | changed)
    return folder


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
    alone = {"who": [20], "what": [1], "stars": [2.0]}
    odd, same = (
        layout_of(three(tmp_path / name, **changed)).catalogue
        for name, changed in (("data", PASSED_OVER[case]), ("alone", alone))
    )
    assert odd.notes == (
        "Rows without a user, an item or a finite value, and a user's earlier ratings of an item, "
        "are passed over: 1.",
    )
    assert odd.digest == same.digest
    assert (odd.n_users, odd.n_ratings) == (5, 5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"who": [0, 11]}, r"user 0 is in 0\.parquet and in 2\.parquet, and 1 other users"),
        ({"who": ["a", "b"]}, r"the users in 2\.parquet are text, and whole numbers"),
        ({"what": ["a", "b"]}, r"the items in 2\.parquet are text, and whole numbers"),
        ({"stars": ["a", "b"]}, r"2\.parquet: 'stars' holds text, where ratings must be numbers"),
        ({"who": [1.5, 2.5]}, r"2\.parquet: 'who' holds double"),
        (
            {"who": pa.array([1, 2], type=pa.uint64())},
            r"the users in 2\.parquet are whole numbers of 64 bits without sign",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        layout_of(three(tmp_path / "data", **changed))


def test_a_folder_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = three(tmp_path / "data")
    write(folder / "3.parquet", who=[30], movie=[1], stars=[1.0])
    with pytest.raises(DataError, match=r"3\.parquet has no column 'what'"):
        open_folder(folder)
    (folder / "3.parquet").write_bytes(b"PAR1 nothing at all")
    with pytest.raises(DataError, match=r"3\.parquet cannot be read as Parquet"):
        open_folder(folder)
    (folder / "3.parquet").unlink()
    write(tmp_path / "none" / "1.parquet", user=[], item=[], rating=[])
    different = r"three different ones, named by --user-column"
    for place, columns, message in (
        ("data", {"item": "film"}, r"item column = 'film'.*one of who, what, stars"),
        ("data", {"item": "stars", "value": "stars"}, different),
        (".", {}, "holds no Parquet files"),
        ("nowhere", {}, "holds no Parquet files"),
        ("data/1.parquet", {}, r"1\.parquet is a file: name the folder that it is in"),
        ("none", {}, "none holds no rating: its Parquet files have no rows"),
    ):
        with pytest.raises((DataError, ParameterError), match=message):
            open_folder(tmp_path / place, **columns)
    monkeypatch.setattr("dpmc_core.partitioned.source.MOST_ROWS", 1)  # too large for a worker
    with pytest.raises(DataError, match=r"0\.parquet has 2 ratings; .* at most 1 are allowed"):
        open_folder(folder)


def test_columns_are_guessed_and_those_that_are_near_to_be_named(tmp_path: Path) -> None:
    frame = pd.DataFrame({"userId": [1, 2, 3] * 8, "movieId": sorted([*range(8)] * 3)})
    frame = frame.assign(score=[1, 2, 3, 4] * 6)
    timed = frame.assign(when=np.arange(24) + 1_600_000_000)[["when", *frame]]
    timed.to_parquet(tmp_path / "1.parquet")
    source = open_folder(tmp_path)
    assert (source.user, source.item, source.value) == ("userId", "movieId", "score")
    check_user_column(source)
    titled = frame.assign(title="t" + frame["movieId"].astype(str))
    titled.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ParameterError, match=r"item column is missing.* named: one of .*, title"):
        open_folder(tmp_path)
    assert open_folder(tmp_path, item="title").item == "title"
    likes = frame.drop(columns="score").assign(timestamp=np.arange(24) + 10**9)
    likes.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ParameterError, match="rating column"):
        open_folder(tmp_path)


def test_a_file_cut_in_its_middle_is_told_when_it_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "data", 2)
    path = folder / "part-001.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"part-001\.parquet cannot be read as Parquet"):
        layout_of(folder)


def test_an_empty_partition_is_passed_over(tmp_path: Path) -> None:
    folder = written(tmp_path / "data", 3)
    usual = dpals_of(layout_of(folder), tmp_path / "usual")
    ids = pa.array([], type=pa.int64())
    write(folder / "part-900.parquet", who=ids, what=ids, stars=ids)
    layout = layout_of(folder)
    assert layout.catalogue.empty == ("part-900.parquet",)
    result = dpals_of(layout, tmp_path / "run")
    assert result.errors.test_rmse == pytest.approx(usual.errors.test_rmse, rel=1e-12)
    assert (tmp_path / "run" / "users" / "part-900.parquet").exists()


def test_ids_of_64_bits_and_text_stay_whole(tmp_path: Path) -> None:
    large = np.array([2**63 + 5, 2**64 - 1, 2**63 + 6], dtype=np.uint64)
    write(tmp_path / "large" / "a.parquet", who=large, what=["ä", "b", "a"], stars=[1, 2, 3])
    rows = read_rows(open_folder(tmp_path / "large"), 0)
    assert rows.users.tolist() == sorted(large.tolist())
    assert rows.items.tolist() == ["a", "b", "ä"]
    assert rows.items[rows.item_of].tolist() == ["ä", "b", "a"]
    assert rows.users[rows.user_of].tolist() == large.tolist()


def test_any_change_of_a_rating_changes_the_digest_and_no_order_does(tmp_path: Path) -> None:
    whole = ratings()
    digests = {
        layout_of(written(tmp_path / f"{files}-{seed}", files, whole, seed=seed)).catalogue.digest
        for files, seed in ((1, 0), (3, 1), (5, 2))
    }
    assert len(digests) == 1
    for k in (0, len(whole) - 1):
        values = whole.values.copy()
        values[k] = 6 - values[k] if values[k] != 3 else 4
        layout = layout_of(written(tmp_path / f"changed-{k}", 3, replace(whole, values=values)))
        assert layout.catalogue.digest not in digests


def test_a_worker_with_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(three(tmp_path / "data"))
    monkeypatch.setattr(partitions, "__version__", "0.0.1")
    with pytest.raises(DataError, match=r"A worker has version 0\.0\.1 of this software where"):
        partitions.PartitionGroup(layout, 0)


def test_a_full_disk_on_a_worker_costs_its_copies_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(written(tmp_path / "data", 3), folder=str(tmp_path / "copies"))
    usual = dpals_of(layout, tmp_path / "usual")
    monkeypatch.setattr(partitions, "_write", raising(FULL_DISK))
    other = layout_of(tmp_path / "data", folder=str(tmp_path / "full"))
    result = dpals_of(other, tmp_path / "run")
    assert not list((tmp_path / "full").rglob("*-*"))
    assert result.errors == usual.errors


def test_files_dealt_anew_are_another_run(tmp_path: Path) -> None:
    """The same ratings under the same names, other users in each: no copy is taken for another."""
    folder, copies = tmp_path / "data", str(tmp_path / "copies")
    first = layout_of(written(folder, 2, seed=0), folder=copies)
    dpals_of(first, tmp_path / "run")
    second = layout_of(written(folder, 2, seed=5), folder=copies)
    assert second.catalogue.digest == first.catalogue.digest
    assert second.key != first.key
    with pytest.raises(FolderError, match="other settings, other data"):
        dpals_of(second, tmp_path / "run")
    with pytest.raises(DataError, match=r"part-000\.parquet has changed since the run was begun"):
        dpals_of(replace(first, folder=str(tmp_path / "other")), tmp_path / "third")


def test_who_else_is_there_changes_nobodys_draws(tmp_path: Path) -> None:
    """A user with the lowest id leaves: everybody else is drawn by the same number, and items keep
    theirs.
    """
    whole, drawn_by, items = ratings(), [], []
    for users in (whole, whole.take(whole.users > 0)):
        layout = layout_of(written(tmp_path / f"{len(users)}", 2, users), test_fraction=0.0)
        numbers = [partitions.PartitionGroup(layout, k).ratings.drawing_numbers for k in range(2)]
        ids = [partitions.ids_of(layout, k) for k in range(2)]
        pairs = zip(np.concatenate(ids), np.concatenate(numbers), strict=True)
        drawn_by.append(dict(pairs))
        items.append(layout.catalogue.items.tolist())
    everybody, others = drawn_by
    del everybody[id_of_user(0)]
    assert others == everybody
    assert items[0] == items[1]


def test_one_huge_count_moves_a_sum_by_no_more_than_its_own_column(tmp_path: Path) -> None:
    columns = {"unit": [1, 1, 2, 2], "what": ["a", "b", "a", "c"], "how": [1e308, 1.0, 1.0, 2.0]}
    write(tmp_path / "d" / "0.parquet", **columns)
    layout = layout_of(tmp_path / "d", test_fraction=0.0, given=NOTHING)
    units = UnitPartitions(layout, Here(), quiet)
    units.doing = "trying"
    selection = Selection(np.arange(3), np.array([2.0, 3.0, 2.5]))
    total = units.total(sum_of_columns, selection)
    assert np.isfinite(total).all()
    assert np.linalg.norm(total) <= 2 + 1e-9
