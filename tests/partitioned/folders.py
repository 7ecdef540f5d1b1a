"""Ratings, the same in partitioned Parquet, and runs on such folders, for tests."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own.given import Given
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.experiments import RunSpec
from dpmc_core.partitioned.engine import Engine, Here
from dpmc_core.partitioned.partition import Layout
from dpmc_core.partitioned.population import Partitions, UnitPartitions, found_in
from dpmc_core.partitioned.run import FolderSet, partitioned_steps
from dpmc_core.partitioned.source import open_folder

SCALE = Given(low=1.0, high=5.0)
USERS, ITEMS = 300, 60


def ratings(seed: int = 0, users: int = USERS) -> Ratings:
    """Half stars of ``users`` users, low-rank with noise; some users and items have few."""
    rng = np.random.default_rng(seed)
    chance = 0.25 * rng.random((users, 1)) + 0.35 * rng.random(ITEMS) ** 3
    there = rng.random((users, ITEMS)) < chance
    there[:, 0] |= ~there.any(axis=1)  # everybody rates something
    there[0] |= ~there.any(axis=0)
    who, what = np.nonzero(there)
    taste = (rng.standard_normal((users, 3)) @ rng.standard_normal((3, ITEMS)))[who, what]
    values = np.clip(
        np.round(2 * (3 + 0.6 * taste + 0.4 * rng.standard_normal(who.size))) / 2, 1, 5
    )
    return Ratings.checked(
        who,
        what,
        values,
        n_users=users,
        n_items=ITEMS,
        low=1.0,
        high=5.0,
        user_labels=[f"{id_of_user(k)}" for k in range(users)],
        item_labels=[f"{id_of_item(k)}" for k in range(ITEMS)],
    )


def id_of_user(k: int) -> int:
    return 10_000_000_000 + 7 * int(k)


def id_of_item(k: int) -> int:
    return 100 + 3 * int(k)


def written(
    folder: Path, files: int, given: Ratings | None = None, *, text: bool = False, seed: int = 0
) -> Path:
    """``given``, or usual ratings, in ``files`` files: users dealt out at random, rows shuffled."""
    given = given or ratings()
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    where = rng.integers(files, size=given.n_users)
    for k in range(files):
        rows = rng.permutation(np.flatnonzero(where[given.users] == k))
        write(
            folder / f"part-{k:03d}.parquet",
            who=[id_of_user(u) for u in given.users[rows]],
            what=[
                f"film {given.items[row]:02d}" if text else id_of_item(given.items[row])
                for row in rows
            ],
            stars=given.values[rows],
        )
    return folder


def write(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def quiet(*progress: Any) -> None:
    """How far a piece of work is, and of an iteration what is done."""
    *what, done, of = progress
    assert all(what)
    assert 0 <= done <= of


def layout_of(place: Path, **options: Any) -> Layout:
    options = {"test_fraction": 0.2, "seed": 3, "given": SCALE} | options
    return found_in(open_folder(place), Here(), quiet, **options)


def dataset_of(people: Partitions | UnitPartitions) -> FolderSet:
    """Partitions as a dataset that a spec can name."""
    if isinstance(people, Partitions):
        return FolderSet(people.layout)
    return FolderSet(people.layout, f"{people.unit}s", people.dimension)


def result_of(people: Partitions | UnitPartitions, place: Path, **settings: Any) -> Any:
    """The last step of a run, kept in the folder ``place``."""
    with user_datasets.using(dataset_of(people)):
        spec = RunSpec.of(dataset=FolderSet.name, **settings)
        *_, last = partitioned_steps(spec, people, place)
    return last


def dpals_of(layout: Layout, place: Path, engine: Engine | None = None, **settings: Any) -> Any:
    """The last step of DPALS, or of another algorithm, on ratings."""
    usual = {"algorithm": "dpals", "rank": 3, "item_share": 0.6, "seed": 4}
    usual |= {"mechanism": "gaussian", "epsilon": 5.0}
    return result_of(Partitions(layout, engine or Here(), quiet), place, **(usual | settings))


def released(place: Path) -> dict[str, np.ndarray]:
    """The numbers of the releases that a run kept."""
    return {
        path.name: np.load(path)["numbers"] for path in sorted((place / "released").glob("*.npz"))
    }
