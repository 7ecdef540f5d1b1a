"""Folders to try things on: as many as asked for, each pair once, the same by any engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpmc_core.errors import DataError, ParameterError
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.generate import Skewed, write_skewed
from tests.partitioned.folders import quiet
from tests.terminal import Terminal

REQUESTED = Skewed(users=300, items=50, ratings=2003, files=3, seed=7)


def tables(folder: Path) -> list[Any]:
    return [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]


class Backwards(Here):
    def each(self, work: Callable[..., Any], n: int, tell: Any) -> list[Any]:
        return [work(k) for k in reversed(range(n))][::-1]


def test_a_skewed_set_is_what_was_asked_for(tmp_path: Path) -> None:
    active = write_skewed(REQUESTED, tmp_path / "set", Here(), quiet)
    files = tables(tmp_path / "set")
    users, items = (
        np.concatenate([file[name].to_numpy() for file in files]) for name in ("user", "item")
    )
    assert len(users) == len(np.unique(users * 50 + items)) == 2003  # nobody rates an item twice
    assert users.max() < 300
    assert active == len(np.unique(users)) < 300
    whose = [set(file["user"].to_numpy()) for file in files]
    assert len(set.union(*whose)) == sum(map(len, whose))  # nobody is in two files
    counts = np.sort(np.bincount(items, minlength=50))[::-1]
    assert counts[:5].sum() > 3 * counts[-25:].sum() / 5  # a few items have most ratings
    # files follow from their number and the seed
    write_skewed(REQUESTED, tmp_path / "again", Backwards(), quiet)
    assert tables(tmp_path / "again") == files
    with pytest.raises(DataError, match="holds Parquet files already"):
        write_skewed(REQUESTED, tmp_path / "set", Here(), quiet)


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"at most half of the 10 × 10 cells"):
        Skewed(users=10, items=10, ratings=51)
    with pytest.raises(ParameterError, match=r"from 3 \(20,000,000 ratings in each\)"):
        Skewed(users=10**6, items=1000, ratings=50_000_000, files=2)


def test_the_command_tells_of_users_without_a_rating(tmp_path: Path, terminal: Terminal) -> None:
    sizes = "--users 300 --items 50 --ratings 2003 --files 3 --seed 7"
    shown = terminal.output(f"datasets make --folder {tmp_path}/set {sizes}")
    active = len({user for file in tables(tmp_path / "set") for user in file["user"].to_pylist()})
    assert f"{active} of 300 users have a rating; the others are in no file" in shown
