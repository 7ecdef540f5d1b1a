"""Estimators by scikit-learn's own checks, and against the functions behind them."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from dpmc_core.completion import BASELINES
from dpmc_core.estimators import NMF, PrivateNMF, RatingCompletion
from dpmc_core.privacy.account import tightest

# of few rows private parts lose to the average, and say so; what they say has tests of its own
pytestmark = pytest.mark.filterwarnings("ignore:PrivateNMF is no better:UserWarning")
METHODS = ["moments", "corrected"]


@parametrize_with_checks(
    [
        NMF(random_state=0),
        *(PrivateNMF(random_state=0, max_iter=3, method=method) for method in METHODS),
    ]
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def faces(seed: int = 0, rows: int = 3000) -> np.ndarray:
    """Rows of non-negative mixtures of four parts that do not overlap."""
    rng = np.random.default_rng(seed)
    parts = np.kron(np.eye(4), np.ones(6))
    return np.asarray(rng.dirichlet(np.full(4, 0.3), rows) @ parts)


def test_nmf_finds_parts_and_rebuilds() -> None:
    X = faces()
    model = NMF(4, random_state=0, max_iter=300).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert np.sqrt(np.mean((X - back) ** 2)) < 0.01
    assert model.reconstruction_err_ == pytest.approx(
        0.5 * np.mean(((X - back) ** 2).sum(axis=1)), rel=1e-9
    )
    assert list(model.get_feature_names_out()) == ["nmf0", "nmf1", "nmf2", "nmf3"]


@pytest.mark.parametrize("scale", [1e-100, 1e-15, 1e-9, 7.3, 1e15, 1e99])
def test_nmf_does_not_depend_on_the_scale_of_x(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((60, 5)) @ rng.random((5, 30))
    X[X < 0.8] = 0
    one, scaled = NMF(5).fit(X), NMF(5).fit(scale * X)
    again = [model.inverse_transform(model.transform(c * X)) / c
             for model, c in ((one, 1.0), (scaled, scale))]  # fmt: skip
    assert np.linalg.norm(again[0] - X) < 0.3 * np.linalg.norm(X)
    np.testing.assert_allclose(again[1], again[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "huber"])
@pytest.mark.parametrize("method", METHODS)
def test_private_nmf_spends_what_it_says(method: str, mechanism: str) -> None:
    made = PrivateNMF(4, epsilon=2.0, mechanism=mechanism, method=method, random_state=0)
    model = made.fit(faces())
    assert tightest(model.ledger_, 1e-5) == pytest.approx(2.0, rel=1e-4)
    said = model.statement_
    assert not said.nominal
    assert (said.unit, said.neighbours) == ("record", "add/remove-one")
    assert (model.components_ >= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_private_nmf_is_near_what_noise_allows(method: str) -> None:
    """With next to no noise it explains the rows as NMF does; with much it does not."""
    X = faces()
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    left = {}
    for epsilon in (0.01, 1e4):
        model = PrivateNMF(4, epsilon=epsilon, random_state=1, max_iter=30, method=method).fit(X)
        left[epsilon] = np.mean((rows - model.inverse_transform(model.transform(rows))) ** 2)
    assert left[1e4] < 0.3 * left[0.01]


def test_noise_without_a_seed_is_secret_and_new_each_time() -> None:
    X = faces(rows=200)
    one, other = (PrivateNMF(3, max_iter=2).fit(X) for _ in range(2))
    assert not np.array_equal(one.components_, other.components_)
    assert one.statement_.secret
    again = [PrivateNMF(3, max_iter=2, random_state=5).fit(X).components_ for _ in range(2)]
    np.testing.assert_array_equal(*again)


@pytest.mark.parametrize("kind", [NMF, PrivateNMF])
@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        (-np.ones((5, 3)), ValueError, "Negative values"),
        (np.zeros((0, 3)), ValueError, "0 sample"),
        (np.full((5, 3), np.nan), ValueError, "NaN"),
        (sparse.csr_array(np.eye(5)), TypeError, "[Ss]parse"),
        (np.array([["a", "b"]]), ValueError, "could not convert"),
    ],
    ids=["negative", "empty", "nan", "sparse", "text"],
)
def test_bad_input(kind: Any, X: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        kind(random_state=0).fit(X)


@pytest.mark.parametrize(
    "X",
    [faces(rows=60).astype(np.float32), np.asfortranarray(faces(rows=60)), faces(rows=60).tolist()],
    ids=["float32", "Fortran", "lists"],
)
def test_input_of_any_kind_gives_one_answer_and_stays_as_it_was(X: Any) -> None:
    usual = PrivateNMF(3, max_iter=2, random_state=0).fit(faces(rows=60))
    found = PrivateNMF(3, max_iter=2, random_state=0).fit(X)
    np.testing.assert_allclose(found.components_, usual.components_, atol=1e-5)
    fixed = faces(rows=60)
    fixed.setflags(write=False)
    PrivateNMF(3, max_iter=2, random_state=0).fit_transform(fixed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": 0}, "epsilon = 0 is not allowed"),
        ({"delta": 2}, "delta = 2"),
        ({"mechanism": "cauchy"}, "one of"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"method": "rounds"}, "method = 'rounds' is not allowed.*one of moments, corrected"),
    ],
)
def test_settings_out_of_range(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PrivateNMF(**changed).fit(faces(rows=50))


def test_in_a_pipeline() -> None:
    steps = make_pipeline(MinMaxScaler(), NMF(3, random_state=0))
    assert clone(steps).fit_transform(faces(rows=50)).shape == (50, 3)


@pytest.mark.parametrize(("name", "ours"), [("digits", 0.05), ("breast_cancer", 5e-4)])
def test_private_nmf_is_better_than_the_average_by_default(name: str, ours: float) -> None:
    """Half the mean squared error at ε = 1; by corrected rounds .093 and .0044, and the average
    row's are .155 and .0027.
    """
    X = getattr(datasets, f"load_{name}")().data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PrivateNMF(random_state=0).fit(X)
    told = model.compare(X)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    left = rows - model.inverse_transform(model.transform(rows))
    assert told.error == pytest.approx(np.mean((left**2).sum(axis=1)), rel=1e-4)
    assert told.error / 2 < ours
    assert told.better
    assert told.baselines["the average row"] > 5 * ours


def test_private_nmf_says_where_it_loses() -> None:
    X = datasets.load_breast_cancer().data
    with pytest.warns(
        UserWarning, match=r"no better .* the average row 0\.00548: this run is worse"
    ):
        model = PrivateNMF(method="corrected", random_state=0).fit(X)
    told = model.compare(X)
    mean = X / np.linalg.norm(X, axis=1, keepdims=True)
    mean = mean @ (mean.sum(axis=0) / np.linalg.norm(mean.sum(axis=0)))
    assert told.baselines == {"the average row": pytest.approx(np.mean(1 - mean**2), rel=1e-9)}
    assert told.difference.mean == pytest.approx(told.error - told.baselines[told.best], rel=1e-9)
    assert not told.better


def test_more_columns_than_moments_can_hold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"4,001 columns.*at most 4,000; 'corrected' takes more"):
        PrivateNMF().fit(np.ones((3, 4001)))


# ---- completion ----------------------------------------------------------------------------------

# X names users and items: checks that make up tables of any numbers, with other columns, are met by
# that sentence, and by no other error
PAIRS = "X must have two columns of whole numbers, a user and an item in each row."


def test_scikit_learns_checks_of_completion_fail_for_one_reason_alone() -> None:
    found = check_estimator(RatingCompletion(random_state=0), on_skip=None, on_fail=None)
    failed = {
        one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"
    }
    assert sum(one["status"] == "passed" for one in found) >= 20
    # these look for a sentence of scikit-learn's own where ours says that X is no pairs
    ours = {"check_fit2d_1sample", "check_fit2d_1feature", "check_positive_only_tag_during_fit"}
    assert {name for name, said in failed.items() if PAIRS not in said} <= ours


def some_ratings(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((300, 40)) < 0.4)
    tastes, kinds = rng.normal(size=(300, 1)), rng.normal(size=(40, 1))
    said = 3 + rng.normal(size=40)[items] * 0.7 + (tastes @ kinds.T)[users, items] * 0.5
    return np.column_stack([users + 1000, items + 7]), np.clip(np.rint(said), 1, 5)


def test_completion_is_better_than_the_mean_and_says_what_it_spends() -> None:
    X, y = some_ratings()
    model = RatingCompletion(epsilon=5.0, random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(model, X, y, cv=folds).min() > 0.1
    model.fit(X, y)
    assert tightest(model.ledger_, 1e-5) == pytest.approx(5.0, rel=1e-4)
    assert model.statement_.unit == "user"
    assert model.predict([[1000, 7], [1, 1]])[1] == 3.0
    assert clone(model).get_params() == model.get_params()


def test_completion_says_how_it_does_beside_baselines() -> None:
    X, y = some_ratings()
    told = {
        epsilon: RatingCompletion(epsilon=epsilon, random_state=0).compare(X, y)
        for epsilon in (0.01, None)
    }
    assert told[None].better
    assert not told[0.01].better
    assert set(told[None].baselines) == set(BASELINES)
    assert told[None].baselines == told[0.01].baselines
    assert "this run is better" in str(told[None])


def test_completion_with_public_features() -> None:
    X, y = some_ratings()
    table = np.random.default_rng(3).random((40, 2))
    model = RatingCompletion(item_features=(("a", "b"), table), random_state=0).fit(X, y)
    assert any("item features a, b" in said for said in model.statement_.caveats)
    with pytest.raises(ValueError, match="39 items where the ratings have 40"):
        RatingCompletion(item_features=(("a", "b"), table[:39]), random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[0, 1, 2]], [3], "two columns of whole numbers"),
        ([[0, 1.5]], [3], "two columns of whole numbers"),
        ([[0, 1], [0, 1]], [3, 4], "more than once"),
        ([[2.0**53, 1]], [3], "beyond 2"),
        ([[0, 1]], [np.nan], "NaN"),
    ],
)
def test_bad_pairs(X: Any, y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RatingCompletion(random_state=0).fit(X, y)


def test_users_with_large_numbers_stay_themselves() -> None:
    """As floats these two would be one, and the second be shown what the first said."""
    first, second = 2**53, 2**53 + 1
    X = [[first, item] for item in range(10)] + [[7, item] for item in range(12)]
    model = RatingCompletion(random_state=0).fit(X, [5.0] * 10 + [2.0] * 12)
    assert model.users_.tolist() == [7, first]
    assert model.predict([[second, 3]]).tolist() == [3.0]
    assert model.predict([[first, 3]])[0] > 3.5


def test_items_can_be_given_so_that_the_rated_ones_tell_nothing() -> None:
    X, y = some_ratings()
    items = np.arange(100)
    part = X[:, 1] < 30
    model = RatingCompletion(items=items, random_state=0).fit(X[part], y[part])
    assert model.items_.tolist() == items.tolist()
    assert {r.coordinates for r in model.ledger_.releases} >= {100}
    with pytest.warns(UserWarning, match="items that are not among items are left out"):
        fewer = RatingCompletion(items=items[:20], random_state=0).fit(X, y)
    assert fewer.items_.tolist() == items[:20].tolist()


@pytest.mark.parametrize(
    ("given", "uncovered"),
    [
        ({"items": range(7, 47), "n_users": 400}, ()),
        ({"n_users": 400}, ("item list",)),
        ({"items": range(7, 47)}, ("number of users",)),
        ({}, ("item list", "number of users")),
    ],
)
def test_what_is_not_given_is_no_guarantee(given: dict[str, Any], uncovered: tuple[str]) -> None:
    X, y = some_ratings()
    model = RatingCompletion(**given, random_state=0).fit(X, y)
    said = model.statement_
    assert (said.nominal, said.uncovered) == (bool(uncovered), uncovered)
    assert said.label.startswith("nominal" if uncovered else "guaranteed")


def test_with_what_is_public_given_no_user_changes_releases_or_statement() -> None:
    X, y = some_ratings()
    odd = np.array([[5, 7], [5, 999], [5, 46]])  # of another item, and off the scale
    seen = []
    for pairs, said in (
        (X, y),
        (X[X[:, 0] != 1003], y[X[:, 0] != 1003]),
        (np.vstack([X, odd]), np.append(y, [2.0, 3.0, 1e300])),
    ):
        model = RatingCompletion(items=range(7, 48), n_users=400, random_state=0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(pairs, said)
        assert bool(told) == (len(pairs) > len(X))
        seen.append((model.items_.tolist(), model.ledger_, model.statement_))
        assert model.predict([[1000, 47]]).shape == (1,)
    assert seen[0] == seen[1] == seen[2]
    with pytest.raises(ValueError, match="X has more users than n_users = 299"):
        RatingCompletion(n_users=299, random_state=0).fit(X, y)


@pytest.mark.parametrize("rows", [1, 5, 6])
def test_the_shape_of_private_parts_does_not_tell_how_many_rows_there_are(rows: int) -> None:
    table = np.random.default_rng(0).random((rows, 40))
    model = PrivateNMF(random_state=0, max_iter=2).fit(table)
    assert model.components_.shape == (16, 40)
    with pytest.raises(ValueError, match="n_components = 0"):
        PrivateNMF(0).fit(table)


def test_a_statement_is_of_the_fit_and_says_what_is_not_covered() -> None:
    model = PrivateNMF(4, random_state=0, max_iter=2).fit(faces(rows=100))
    before = model.statement_
    model.set_params(random_state=None, delta=1e-3)
    assert model.statement_ == before
    assert before.secret is False
    assert any("its place is" in said for said in before.caveats)
    assert any("floating point" in said for said in before.caveats)


def test_rows_of_any_size_move_the_parts_alike() -> None:
    rows = faces(rows=80)
    usual = PrivateNMF(3, max_iter=2, random_state=0).fit(rows).components_
    for size in (1e-200, 1e99):
        found = PrivateNMF(3, max_iter=2, random_state=0).fit(rows * size).components_
        np.testing.assert_allclose(found, usual, rtol=1e-9)
    with pytest.raises(ValueError, match="at most 1e"):
        NMF().fit(rows * 1e200)
