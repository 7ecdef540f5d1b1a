"""Estimators by scikit-learn's own checks, and against the functions behind them."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import datasets
from sklearn.model_selection import KFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from dpmc_core.completion import BASELINES
from dpmc_core.datasets.synthetic.ratings import skewed
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


def private(X: Any, parts: int | None = 3, **settings: Any) -> Any:
    """A fit that says the same each time, of few rounds if not otherwise set."""
    return PrivateNMF(parts, **{"max_iter": 2, "random_state": 0, **settings}).fit(X)


def rebuilt(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.inverse_transform(model.transform(X)))


def unit_rows(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("scale", [1e-100, 1e-15, 1e-9, 7.3, 1e15, 1e99])
def test_nmf_finds_parts_and_rebuilds_whatever_the_scale(scale: float) -> None:
    X = faces(rows=100)
    models = [NMF(4, random_state=0, max_iter=300).fit(c * X) for c in (1.0, scale)]
    usual, scaled = (
        rebuilt(model, c * X) / c for model, c in zip(models, (1.0, scale), strict=True)
    )
    assert np.sqrt(np.mean((X - usual) ** 2)) < 0.01
    np.testing.assert_allclose(scaled, usual, rtol=1e-9, atol=1e-9)
    half = 0.5 * np.mean(((X - usual) ** 2).sum(axis=1))
    assert models[0].reconstruction_err_ == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "huber"])
@pytest.mark.parametrize("method", METHODS)
def test_private_nmf_spends_what_it_says(method: str, mechanism: str) -> None:
    model = private(faces(), 4, epsilon=2.0, mechanism=mechanism, method=method)
    assert tightest(model.ledger_, 1e-5) == pytest.approx(2.0, rel=1e-4)
    statement = model.statement_
    assert not statement.nominal
    assert (statement.unit, statement.neighbours) == ("record", "add/remove-one")
    assert (model.components_ >= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_private_nmf_is_near_what_noise_allows(method: str) -> None:
    """With next to no noise it explains the rows as NMF does; with much it does not."""
    rows = unit_rows(faces())
    noisy, exact = (
        private(faces(), 4, epsilon=epsilon, random_state=1, max_iter=30, method=method)
        for epsilon in (0.01, 1e4)
    )
    much, little = (np.mean((rows - rebuilt(model, rows)) ** 2) for model in (noisy, exact))
    assert little < 0.3 * much


def test_noise_without_a_seed_is_secret_and_new_each_time() -> None:
    X = faces(rows=200)
    first, other = (private(X, random_state=None) for _ in range(2))
    assert not np.array_equal(first.components_, other.components_)
    assert first.statement_.secret
    np.testing.assert_array_equal(*(private(X, random_state=5).components_ for _ in range(2)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parts": 0}, "n_components = 0"),
        ({"epsilon": 0}, "epsilon = 0 is not allowed"),
        ({"delta": 2}, "delta = 2"),
        ({"mechanism": "cauchy"}, "one of"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"method": "rounds"}, "method = 'rounds' is not allowed.*one of moments, corrected"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        private(faces(rows=50), **settings)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "ours"), [("digits", 0.05), ("breast_cancer", 5e-4)])
def test_private_nmf_is_better_than_the_average_by_default(name: str, ours: float) -> None:
    """Half the mean squared error at ε = 1; by corrected rounds .093 and .0044, and the average
    row's are .155 and .0027.
    """
    X = getattr(datasets, f"load_{name}")().data
    model = PrivateNMF(random_state=0).fit(X)
    comparison, rows = model.compare(X), unit_rows(X)
    left = rows - rebuilt(model, rows)
    assert comparison.error == pytest.approx(np.mean((left**2).sum(axis=1)), rel=1e-4)
    assert comparison.error / 2 < ours
    assert comparison.better
    assert comparison.baselines["the average row"] > 5 * ours


def test_private_nmf_says_where_it_loses() -> None:
    X = datasets.load_breast_cancer().data
    with pytest.warns(
        UserWarning, match=r"no better .* the average row 0\.00548: this run is worse"
    ):
        model = PrivateNMF(method="corrected", random_state=0).fit(X)
    comparison, rows = model.compare(X), unit_rows(X)
    mean = rows @ unit_rows(rows.sum(axis=0, keepdims=True)).T
    average = pytest.approx(np.mean(1 - mean**2), rel=1e-9)
    assert comparison.baselines == {"the average row": average}
    assert comparison.error - comparison.difference.mean == average
    assert not comparison.better


def test_more_columns_than_moments_can_hold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"4,001 columns.*at most 4,000; 'corrected' takes more"):
        PrivateNMF().fit(np.ones((3, 4001)))


# ---- completion ----------------------------------------------------------------------------------

# X names users and items: checks that make up tables of any numbers, with other columns, are met by
# that sentence, and by no other error
PAIRS = "X must have two columns of whole numbers, a user and an item in each row."


def test_scikit_learns_checks_of_completion_fail_for_one_reason_alone() -> None:
    checks = check_estimator(RatingCompletion(random_state=0), on_skip=None, on_fail=None)
    assert sum(check["status"] == "passed" for check in checks) >= 20
    others = {
        check["check_name"]
        for check in checks
        if check["status"] == "failed" and PAIRS not in str(check["exception"])
    }
    # these look for a sentence of scikit-learn's own where ours says that X is no pairs
    assert others <= {
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_positive_only_tag_during_fit",
    }


def some_ratings() -> tuple[np.ndarray, np.ndarray]:
    data = skewed(300, 40, 4_800, rank=1, popularity=0.0)
    pairs = np.column_stack([data.users + 1000, data.items + 7])
    return pairs, np.clip(np.rint(data.values), 1, 5)


def completion(X: Any = None, y: Any = None, **settings: Any) -> RatingCompletion:
    """A fit, of some ratings if no others are given."""
    X, y = some_ratings() if X is None else (X, y)
    return RatingCompletion(random_state=0, **settings).fit(X, y)


def test_completion_is_better_than_the_mean_and_says_what_it_spends() -> None:
    X, y = some_ratings()
    model = RatingCompletion(epsilon=5.0, random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(model, X, y, cv=folds).min() > 0.1
    model.fit(X, y)
    assert tightest(model.ledger_, 1e-5) == pytest.approx(5.0, rel=1e-4)
    assert model.statement_.unit == "user"
    assert model.predict([[1000, 7], [1, 1]])[1] == 3.0
    assert model.predict([[-5, 7]]) != 3.0  # an item's average, not the middle of the scale
    of_first = X[:, 0] == X[0, 0]
    as_new = model.predict_new_users(X[of_first], X[of_first], y[of_first])
    np.testing.assert_allclose(as_new, model.predict(X[of_first]), atol=1e-12)


def test_completion_says_how_it_does_beside_baselines() -> None:
    noisy, exact = (
        RatingCompletion(epsilon=epsilon, random_state=0).compare(*some_ratings())
        for epsilon in (0.01, None)
    )
    assert exact.better
    assert not noisy.better
    assert set(exact.baselines) == set(BASELINES)
    assert exact.baselines == noisy.baselines
    assert "this run is better" in str(exact)


def test_completion_with_public_features() -> None:
    table = np.random.default_rng(3).random((40, 2))
    model = completion(item_features=(("a", "b"), table))
    assert any("item features a, b" in caveat for caveat in model.statement_.caveats)
    with pytest.raises(ValueError, match="39 items where the ratings have 40"):
        completion(item_features=(("a", "b"), table[:39]))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0, 1, 2]], [3], "two columns of whole numbers"),
        ([[0, 1.5]], [3], "two columns of whole numbers"),
        ([[0, 1], [0, 1]], [3, 4], "more than once"),
        ([[2.0**53, 1]], [3], "beyond 2"),
        ([[0, 1]], [np.nan], "NaN"),
    ],
)
def test_bad_pairs(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        completion(X, y)


def test_users_with_large_numbers_stay_themselves() -> None:
    """As floats these two would be one, and the second be shown what the first said."""
    first, second = 2**53, 2**53 + 1
    X = [[first, item] for item in range(10)] + [[7, item] for item in range(12)]
    model = completion(X, [5.0] * 10 + [2.0] * 12)
    assert model.users_.tolist() == [7, first]
    assert model.predict([[second, 3]]) < model.predict([[first, 3]])
    assert model.predict([[first, 3]])[0] > 3.5


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
    statement = completion(**given).statement_
    assert (statement.nominal, statement.uncovered) == (bool(uncovered), uncovered)
    assert statement.label.startswith("nominal" if uncovered else "guaranteed")


def test_with_what_is_public_given_no_user_changes_releases_or_statement() -> None:
    X, y = some_ratings()
    odd = np.array([[5, 7], [5, 999], [5, 46]])  # of another item, and off the scale
    fits = []
    for pairs, ratings in (
        (X, y),
        (X[X[:, 0] != 1003], y[X[:, 0] != 1003]),
        (np.vstack([X, odd]), np.append(y, [2.0, 3.0, 1e300])),
    ):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            model = completion(pairs, ratings, items=range(7, 48), n_users=400)
        left_out = ["items that are not among items are left out" in str(w) for w in warned]
        assert left_out == [True] * (len(pairs) > len(X))
        assert model.items_.tolist() == [*range(7, 48)]
        fits.append((model.ledger_, model.statement_))
        assert model.predict([[1000, 47]]).shape == (1,)
    assert fits[0] == fits[1] == fits[2]
    few = len({*X[:, 0]}) - 1
    with pytest.raises(ValueError, match=f"X has more users than n_users = {few}"):
        completion(n_users=few)


@pytest.mark.parametrize("rows", [1, 5, 6])
def test_the_shape_of_private_parts_does_not_tell_how_many_rows_there_are(rows: int) -> None:
    table = np.random.default_rng(0).random((rows, 40))
    assert private(table, None).components_.shape == (16, 40)


def test_a_statement_is_of_the_fit_and_says_what_is_not_covered() -> None:
    model = private(faces(rows=100), 4)
    before = model.statement_
    model.set_params(random_state=None, delta=1e-3)
    assert model.statement_ == before
    assert before.secret is False
    for words in ("its place is", "floating point"):
        assert any(words in caveat for caveat in before.caveats)


def test_rows_of_any_size_move_the_parts_alike() -> None:
    rows = faces(rows=80)
    for size in (1e-200, 1e99):
        np.testing.assert_allclose(
            private(rows * size).components_, private(rows).components_, rtol=1e-9
        )
    with pytest.raises(ValueError, match="at most 1e"):
        NMF().fit(rows * 1e200)
