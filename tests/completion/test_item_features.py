"""Public item features: what they are read for, what they improve, and what is refused."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.cli.common.main import main
from dpmc_core.completion.common.profiles import RATING_SD, TASTE_SD, own_tastes
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.completion.moments import MomentsConfig
from dpmc_core.datasets.own import read_item_table
from dpmc_core.datasets.ratings import ItemFeatures, Ratings, random_split
from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.privacy.budget import Budget
from tests.completion.references import error, ratings_in, solved_rows
from tests.own.files import long_csv
from tests.steps import last_of

KINDS = 4


def by_kind(seed: int, n_users: int = 400, n_items: int = 120) -> Ratings:
    """Ratings by each user's taste for one of four kinds of item, which the features name."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_items) % KINDS
    tastes = rng.normal(size=(n_users, KINDS))
    there = rng.random((n_users, n_items)) < 0.25
    values = 3 + 0.8 * tastes[:, kind] + 0.3 * rng.normal(size=there.shape)
    flags = (kind[:, None] == np.arange(KINDS)).astype(float)
    features = ItemFeatures.checked(list("abcd"), flags, n_items)
    return ratings_in(there * np.clip(np.rint(values), 1, 5), item_features=features)


def test_a_users_tastes_are_a_ridge_on_their_own_ratings_alone() -> None:
    """Against the normal equations of one user at a time."""
    ratings = by_kind(1, n_users=20, n_items=30)
    public, targets = ratings.item_features.scaled, ratings.values - 3
    tastes = own_tastes(replace(ratings, values=targets), public, Workers(1))
    ridge = (RATING_SD / TASTE_SD) ** 2
    expected = solved_rows(ratings.users, ratings.items, targets, public, ridge, 20)
    np.testing.assert_allclose(tastes, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "scaled"),
    [
        ([[0, 5, 1.0], [0, 5, 2.0], [1, 5, 9.0]], [[-0.5, -0.6], [-0.5, -0.4], [1, 1]]),
        ([[1e308, -1e308], [1e308, 1e308]], [[-1], [1]]),
    ],
    ids=["usual", "near the largest double"],
)
def test_scaled_features_are_centred_within_one_and_without_constants(
    values: list[list[float]], scaled: list[list[float]]
) -> None:
    names = [f"feature {k}" for k in range(len(values[0]))]
    features = ItemFeatures.checked(names, values, len(values))
    np.testing.assert_allclose(features.scaled, scaled, atol=1e-15)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_features_that_say_something_help(epsilon: float) -> None:
    """The least of three paired differences is far from none: 0.1 in a scale of four."""
    for seed in range(3):
        split, errors = random_split(by_kind(seed), 0.2, seed), []
        for use in ("none", "shrink"):
            config = MomentsConfig(item_features=use, budget=Budget(epsilon=epsilon))
            errors.append(error(last_of(config, split.train, seed, 1).model, split.test))
        without, shrunk = errors
        assert shrunk < without - 0.1


@pytest.mark.parametrize(
    ("algorithm", "task"), [("moments", "rate"), ("moments", "recommend"), ("dpals", "rate")]
)
def test_what_is_released_does_not_depend_on_features(
    algorithm: str, task: str, data_dir: Path
) -> None:
    """The same releases with the same sensitivities, and the statement names what is public."""
    del data_dir
    spec = RunSpec.of(
        dataset="ml-100k", algorithm=algorithm, task=task, mechanism="gaussian", epsilon=2.0
    )
    results = [run(spec), run(spec.replace(item_features="shrink"))]
    without, shrunk = results
    assert shrunk.ledger == without.ledger
    assert shrunk.statement.epsilon == without.statement.epsilon
    (caveat,) = [c for c in shrunk.statement.caveats if "item features" in c]
    assert "Film-Noir" in caveat
    assert "Western" in caveat
    assert not [c for c in without.statement.caveats if "item features" in c]
    before, after = (r.final.recall if task == "recommend" else -r.value for r in results)
    assert after > before - 0.01


@pytest.mark.parametrize(
    ("read", "arguments", "message"),
    [
        (ItemFeatures.checked, (["a"], [[1.0], [2.0]], 3), "2 items where the ratings have 3"),
        (ItemFeatures.checked, (["a"], [["x"], ["y"], ["z"]], 3), "must be numbers, not text"),
        (ItemFeatures.checked, (["a"], [[1.0], [math.nan], [2.0]], 3), "a of item 2 is nan"),
        (ItemFeatures.checked, (["a", "a"], [[1, 2], [1, 2], [1, 2]], 3), "'a' is there twice"),
        (ItemFeatures.checked, ([], [[], [], []], 3), "at least one"),
        (read_item_table, ("i.csv", b"item,a\nx,1\n,2\n"), "row 2 names no item"),
        (read_item_table, ("i.csv", b"item,a\nx,1\ny,old\nz,2\n"), "a of 'y' is 'old'"),
        (read_item_table, ("i.csv", b"item,a\nx,1\ny,\nz,2\n"), "a of 'y' is"),
        (read_item_table, ("i.csv", b"item,a\nx,1\nx,1\ny,2\nz,2\n"), "'x' is there twice"),
    ],
)
def test_bad_features_and_tables(read: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(*arguments)


@pytest.mark.parametrize(("names", "order"), [("z b x y", "b x y z"), ("20 100 3", "3 20 100")])
def test_an_item_table_has_an_order_of_its_own(names: str, order: str) -> None:
    """As ratings number their items: numbers by size, words by letters, wherever the rows are."""
    given, expected = names.split(), order.split()
    rows = "\n".join(f"{name},{k % 2},{1990 + k}" for k, name in enumerate(given))
    table = read_item_table("items.csv", f"film,funny,year\n{rows}\n".encode())
    assert list(table.labels) == expected
    assert table.features.names == ("funny", "year")
    places = map(given.index, expected)
    np.testing.assert_array_equal(table.features.values, [[k % 2, 1990 + k] for k in places])


def test_the_command_line_takes_an_item_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.csv").write_bytes(long_csv(60, 20))
    table = ["item,a,b", *(f"book {i},{i % 2},{i}" for i in range(20))]
    (tmp_path / "i.csv").write_text("\n".join(table))
    line = f"complete moments --data {tmp_path}/r.csv --mechanism gaussian --epsilon 2 "
    words = [*line.split(), "--item-features", "shrink"]
    assert main([*words, "--items", f"{tmp_path}/i.csv"]) == 0
    printed = capsys.readouterr()
    assert "public item features: a, b" in printed.err
    assert "item features a, b (given; nothing in them may come from" in printed.out
    for refused, message in (
        (words, "no item features are known of Your ratings"),
        (["complete", "moments", "--items", "x.csv"], "left out without --data"),
    ):
        assert main(refused) == 2
        assert message in capsys.readouterr().err
