"""Public item features: what they are read for, what they improve, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.cli.common.main import main
from dpmc_core.completion.common.profiles import RATING_SD, TASTE_SD, own_tastes
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.completion.moments import MomentsConfig, one_shot_moments
from dpmc_core.datasets.own import read_item_table
from dpmc_core.datasets.ratings import ItemFeatures, Ratings, random_split
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.metrics.ratings import rmse
from dpmc_core.privacy.budget import Budget

KINDS = 4


def by_kind(seed: int, n_users: int = 400, n_items: int = 120) -> Ratings:
    """Ratings by each user's taste for one of four kinds of item, which the features name."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_items) % KINDS
    tastes = rng.normal(size=(n_users, KINDS))
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.25)
    said = 3 + 0.8 * tastes[users, kind[items]] + 0.3 * rng.normal(size=users.size)
    flags = (kind[:, None] == np.arange(KINDS)).astype(float)
    return Ratings.checked(
        users,
        items,
        np.clip(np.rint(said), 1, 5),
        n_users=n_users,
        n_items=n_items,
        low=1,
        high=5,
        item_features=ItemFeatures.checked(list("abcd"), flags, n_items),
    )


def test_ratings_keep_their_features_through_splits() -> None:
    ratings = by_kind(0)
    split = random_split(ratings, 0.2, 0)
    assert split.train.item_features is split.test.item_features is ratings.item_features


def test_a_users_tastes_are_a_ridge_on_their_own_ratings_alone() -> None:
    """Against the normal equations of one user at a time."""
    ratings = by_kind(1, n_users=20, n_items=30)
    assert ratings.item_features is not None
    public = ratings.item_features.scaled
    targets = ratings.values - 3
    with Workers(1) as pool:
        found = own_tastes(ratings, targets, public, pool)
    for user in range(20):
        mine = ratings.users == user
        seen = public[ratings.items[mine]]
        system = seen.T @ seen + (RATING_SD / TASTE_SD) ** 2 * np.eye(seen.shape[1])
        np.testing.assert_allclose(
            found[user], np.linalg.solve(system, seen.T @ targets[mine]), rtol=1e-9, atol=1e-12
        )


def test_scaled_features_are_centred_within_one_and_without_constants() -> None:
    values = [[0, 5, 1.0], [0, 5, 2.0], [1, 5, 9.0]]
    scaled = ItemFeatures.checked(("flag", "same", "year"), values, 3).scaled
    assert scaled.shape == (3, 2)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(np.abs(scaled).max(axis=0), 1)


def test_huge_features_are_scaled_without_overflow() -> None:
    scaled = ItemFeatures.checked(("a", "b"), [[1e308, -1e308], [1e308, 1e308]], 2).scaled
    np.testing.assert_allclose(scaled, [[-1], [1]])


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_features_that_say_something_help(epsilon: float) -> None:
    """The least of six paired differences is far from none: 0.1 in a scale of four."""
    budget = Budget(epsilon=epsilon)
    for seed in range(6):
        split = random_split(by_kind(seed), 0.2, seed)
        errors = {}
        for use in ("none", "shrink"):
            config = MomentsConfig(item_features=use, budget=budget)
            *_, last = one_shot_moments(split.train, config, np.random.default_rng(seed), 1)
            test = split.test
            errors[use] = rmse(last.model.predict(test.users, test.items), test.values)
        assert errors["shrink"] < errors["none"] - 0.1


@pytest.mark.parametrize("task", ["rate", "recommend"])
@pytest.mark.parametrize("algorithm", ["moments", "dpals"])
def test_what_is_released_does_not_depend_on_features(
    algorithm: str, task: str, data_dir: Path
) -> None:
    """The same releases with the same sensitivities, and the statement names what is public."""
    del data_dir
    spec = RunSpec.of(
        dataset="ml-100k", algorithm=algorithm, task=task, mechanism="gaussian", epsilon=2.0
    )
    without = run(spec)
    if (algorithm, task) == ("dpals", "recommend"):
        with pytest.raises(ParameterError, match="item_features"):
            run(spec.replace(item_features="shrink"))
        return
    known = run(spec.replace(item_features="shrink"))
    assert known.ledger == without.ledger
    assert known.statement.epsilon == without.statement.epsilon
    (said,) = [c for c in known.statement.caveats if "item features" in c]
    assert "Film-Noir" in said
    assert "Western" in said
    assert not [c for c in without.statement.caveats if "item features" in c]
    measured = [(r.final.recall if task == "recommend" else -r.value) for r in (without, known)]
    assert measured[1] > measured[0] - 0.01


def test_features_that_are_not_there_are_refused_in_one_sentence() -> None:
    with pytest.raises(ParameterError, match="no item features are known of"):
        run(RunSpec.of(dataset="skewed", algorithm="moments", item_features="shrink"))


@pytest.mark.parametrize(
    ("names", "values", "said"),
    [
        (["a"], [[1.0], [2.0]], "2 items where the ratings have 3"),
        (["a"], [["x"], ["y"], ["z"]], "must be numbers, not text"),
        (["a"], [[1.0], [float("nan")], [2.0]], "a of item 2 is nan"),
        (["a", "a"], [[1, 2], [1, 2], [1, 2]], "'a' is there twice"),
        ([], [[], [], []], "at least one"),
    ],
)
def test_bad_features(names: list[str], values: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        ItemFeatures.checked(names, values, 3)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("item,a\nx,1\n,2\n", "row 2 names no item"),
        ("item,a\nx,1\ny,old\nz,2\n", "a of 'y' is 'old'"),
        ("item,a\nx,1\ny,\nz,2\n", "a of 'y' is"),
        ("item,a\nx,1\nx,1\ny,2\nz,2\n", "'x' is there twice"),
    ],
)
def test_bad_item_tables(table: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_item_table("items.csv", table.encode())


@pytest.mark.parametrize(("names", "order"), [("zbxy", "bxyz"), ("20 100 3", "3 20 100")])
def test_an_item_table_has_an_order_of_its_own(names: str, order: str) -> None:
    """As ratings number their items: numbers by size, words by letters, wherever the rows are."""
    given, right = (n.split() if " " in n else list(n) for n in (names, order))
    rows = "\n".join(f"{name},{k % 2},{1990 + k}" for k, name in enumerate(given))
    table = read_item_table("items.csv", f"film,funny,year\n{rows}\n".encode())
    assert list(table.labels) == right
    assert table.features is not None
    assert table.features.names == ("funny", "year")
    places = [given.index(name) for name in right]
    np.testing.assert_array_equal(table.features.values, [[k % 2, 1990 + k] for k in places])
    only_names = read_item_table("items.csv", ("film\n" + "\n".join(given)).encode())
    assert (only_names.labels, only_names.features) == (table.labels, None)


def test_the_command_line_takes_an_item_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratings = by_kind(3, 60, 20)
    rows = zip(ratings.users, ratings.items, ratings.values, strict=True)
    lines = [f"u{u},film {i},{x:g}" for u, i, x in rows]
    (tmp_path / "r.csv").write_text("user,item,rating\n" + "\n".join(lines))
    assert ratings.item_features is not None
    flags = [",".join(f"{x:g}" for x in row) for row in ratings.item_features.values]
    table = "item,a,b,c,d\n" + "\n".join(f"film {k},{f}" for k, f in enumerate(flags))
    (tmp_path / "i.csv").write_text(table)
    words = ["complete", "moments", "--data", str(tmp_path / "r.csv"), "--mechanism", "gaussian"]
    words += ["--epsilon", "2", "--item-features", "shrink"]
    assert main([*words, "--items", str(tmp_path / "i.csv")]) == 0
    said = capsys.readouterr()
    assert "public item features: a, b, c, d" in said.err
    assert "item features a, b, c, d (given; nothing in them may come from" in said.out
    assert main(words) == 2
    assert "no item features are known of Your ratings" in capsys.readouterr().err
    assert main(["complete", "moments", "--items", "x.csv"]) == 2
    assert "left out without --data" in capsys.readouterr().err
