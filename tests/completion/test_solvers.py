"""ALS and IRLS against references that share no code with them, and what holds at every step."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dpmc_core.completion import ALSConfig, IRLSConfig, fit_baselines
from dpmc_core.completion.common import baselines
from dpmc_core.completion.common.step import FactorModel, start_item_factors
from dpmc_core.datasets.ratings import Ratings, random_split
from dpmc_core.datasets.synthetic.ratings import low_rank, skewed
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Gaussian, Huber, Laplace
from dpmc_core.mechanisms.huber import rho
from dpmc_core.metrics.ratings import rmse
from dpmc_core.privacy import Ledger, state
from tests.completion.references import ratings_in, solved_rows
from tests.steps import last_of, steps_of

R = np.random.default_rng
KINDS = (ALSConfig, IRLSConfig)
RATINGS = skewed(70, 50, 1200, rank=3, seed=3)
ONE_RATING = replace(ratings_in(np.diag([4, 0, 0])), low=4.0, high=4.0)
NOISE = (None, Huber(alpha=1.0), Laplace(scale=1.0), Gaussian(scale=1.4))


def dense_reference(ratings: Ratings, config, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Algorithms 1 to 3 by the normal equations of one row at a time, drawing noise in the same
    order.
    """
    rng, robust = R(seed), isinstance(config, IRLSConfig)
    inner, place, rank = getattr(config, "inner", 1), config.noise_on, config.rank
    by_user, by_item = (ratings.users, ratings.items), (ratings.items, ratings.users)

    def drawn(count: int, n: int) -> np.ndarray:
        size = (count, n, rank)
        return np.zeros(size) if config.mechanism is None else config.mechanism.sample(size, rng)

    def start(n: int) -> np.ndarray | None:
        return rng.standard_normal((n, rank)) if robust else None

    def solved(side, factors: np.ndarray, noise: np.ndarray, rows=None) -> np.ndarray:
        for added in noise:
            weights = 1.0
            if rows is not None:
                away = np.abs(ratings.values - FactorModel(rows, factors).predict(*side))
                weights = np.minimum(1, config.loss_alpha / np.maximum(away, 1e-300))
            rows = solved_rows(
                *side, ratings.values, factors, config.reg, len(added), added, weights
            )
        return rows

    items = start_item_factors(ratings.n_items, rank, rng)
    for _ in range(config.iterations):
        plain = np.zeros((1, ratings.n_users, rank)), None
        if place == "both" and config.mechanism is not None:
            plain = drawn(inner, ratings.n_users), start(ratings.n_users)
        users = solved(by_user, items, *plain)
        noise, output = np.zeros((inner, *items.shape)), 0.0
        if place == "ratings":
            for column in (column for one in noise for column in one.T):
                np.add.at(column, ratings.items, config.mechanism.sample(len(ratings), rng))
        elif place == "output":
            output = drawn(1, ratings.n_items)[0]
        else:
            noise = drawn(inner, ratings.n_items)
        items = output + solved(by_item, users, noise, start(ratings.n_items))
    return users, items


@pytest.mark.parametrize(
    ("config", "ratings"),
    [
        *(
            (ALSConfig(rank=rank, reg=0.5, iterations=4, mechanism=noise), RATINGS)
            for rank in (4, 40)
            for noise in NOISE
        ),
        *(
            (kind(rank=4, reg=0.5, iterations=2, mechanism=NOISE[2], noise_on=place), RATINGS)
            for kind in KINDS
            for place in ("ratings", "both", "output")
        ),
        *(
            (
                IRLSConfig(
                    rank=rank, reg=0.5, iterations=3, inner=inner, loss_alpha=0.4, mechanism=noise
                ),
                RATINGS,
            )
            for rank, inner in ((4, 2), (4, 7), (45, 3))
            for noise in (None, Huber(alpha=1.076))
        ),
        # users without ratings get no taste; items without, what noise gives them
        *(
            (kind(rank=2, reg=0.5, iterations=rounds, mechanism=noise, noise_on=place), ONE_RATING)
            for kind in KINDS
            for place in ("right", "both")
            for rounds, noise in ((5, None), (1, Gaussian(scale=1.0)))
        ),
    ],
    ids=str,
)
def test_a_run_equals_dense_normal_equations(config, ratings: Ratings) -> None:
    last, again = (last_of(config, ratings, 11, workers) for workers in (1, 3))
    np.testing.assert_array_equal(again.model.item_factors, last.model.item_factors)
    users, items = dense_reference(ratings, config, 11)
    precision = 1e-8 if isinstance(config, ALSConfig) else 1e-7
    np.testing.assert_allclose(last.model.user_factors, users, atol=precision)
    np.testing.assert_allclose(last.model.item_factors, items, atol=precision)
    residuals = ratings.values - last.model.predict(ratings.users, ratings.items)
    assert last.squared_residuals == pytest.approx(float(residuals @ residuals), rel=1e-8)
    losses = 2 * rho(residuals, getattr(config, "loss_alpha", np.inf))
    penalty = config.reg * (np.vdot(users, users) + np.vdot(items, items))
    assert last.objective == pytest.approx(losses.sum() + penalty, rel=1e-8)
    numbers = {"ratings": [len(ratings) * config.rank], "both": [items.size, users.size]}.get(
        config.noise_on, [items.size]
    )
    assert [r.coordinates for r in last.releases] == (numbers if config.mechanism else [])
    for release in last.releases:
        assert release.count == (config.noise_on == "output" or getattr(config, "inner", 1))
        assert release.mechanism == config.mechanism
        assert not release.sound


def test_one_irls_column_minimises_the_regularised_huber_loss() -> None:
    """Item 0's factors θ given U: where the convex Σ ρ_α(y − Aθ) + (λ/2)‖θ‖² has no slope."""
    rng = R(0)
    y = rng.standard_t(2, 60) + 3
    # a second item fixes nothing: the matrix has two columns only so that rank 2 is allowed
    values = np.r_[y, rng.normal(3, 1, 60)]
    ratings = Ratings.checked(np.tile(np.arange(60), 2), np.repeat([0, 1], 60), values)
    config = IRLSConfig(rank=2, reg=0.7, iterations=1, inner=100, loss_alpha=0.8)
    (step,) = steps_of(config, ratings)
    a, theta = step.model.user_factors, step.model.item_factors[0]
    slope = 0.7 * theta - a.T @ np.clip(y - a @ theta, -0.8, 0.8)
    np.testing.assert_allclose(slope, 0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_on_the_output_does_not_settle(kind) -> None:
    """The Huber paper's sentence (section 3.1), by how the error moves in the last iterations."""
    data = low_rank(120, 100, rank=3, observed=0.4, seed=1)
    moves = {}
    for place in ("right", "output"):
        noise = Huber(alpha=1.076)
        config = kind(rank=3, reg=0.5, iterations=30, mechanism=noise, noise_on=place)
        last = [*steps_of(config, data)][-15:]
        moves[place] = np.std([step.squared_residuals**0.5 for step in last])
    assert moves["output"] > 5 * moves["right"]


def test_noise_ends_after_the_noisy_iterations_and_then_protects_nothing() -> None:
    config = ALSConfig(rank=4, reg=0.5, iterations=5, mechanism=NOISE[3], noise_on="both")
    ended_early = replace(config, noisy_iterations=2)
    whole, part = ([*steps_of(one, RATINGS)] for one in (config, ended_early))
    assert [len(step.releases) for step in part] == [2, 2, 0, 0, 0]
    assert np.array_equal(whole[1].model.item_factors, part[1].model.item_factors)
    quiet = solved_rows(
        RATINGS.users, RATINGS.items, RATINGS.values, part[1].model.item_factors, 0.5, 70
    )
    np.testing.assert_allclose(part[2].model.user_factors, quiet, atol=1e-8)
    releases = ([r for step in steps for r in step.releases] for steps in (whole, part))
    ledgers = [Ledger().plus(tuple(some)) for some in releases]
    assert [ledger.draws for ledger in ledgers] == [10, 4]
    both, ended = map(state, ledgers)
    assert both.nominal
    assert (ended.private, ended.epsilon) == (False, np.inf)
    assert ended.label == "not private: noise ends before the last iteration"


@pytest.mark.parametrize("kind", KINDS)
def test_a_rank_above_the_matrix_is_refused(kind) -> None:
    with pytest.raises(ParameterError, match=r"rank = 7 .* at most 6"):
        next(steps_of(kind(rank=7), low_rank(30, 6, rank=2, observed=0.5)))


def test_baselines_by_hand() -> None:
    data = ratings_in([[1, 3, 0], [5, 0, 0], [0, 0, 0]])
    predictors = {baseline.name: baseline for baseline in fit_baselines(data)}
    for name, values in (
        ("global mean", [3, 3, 3]),
        ("user mean", [2, 5, 3]),
        ("item mean", [3, 3, 3]),
        ("user + item", [2 - 0.5, 5 + 1, 3]),
    ):
        predicted = predictors[name].predict(np.arange(3), np.arange(3))
        np.testing.assert_allclose(predicted, values)


def indicators(data: Ratings) -> list[sparse.csr_array]:
    """A column for each user, and one for each item."""
    sides = ((data.users, data.n_users), (data.items, data.n_items))
    return [sparse.eye_array(count, format="csr")[of] for of, count in sides]


def ridge(data: Ratings, shrinkage: tuple[float, float], *, level: bool) -> np.ndarray:
    """Effects of users, then of items, by one ridge regression, and the level: fitted with
    them, or else the mean.
    """
    design = sparse.hstack([*indicators(data), np.ones((len(data), 1))], format="csr")
    penalty = np.repeat([*shrinkage, 0.0 if level else 1e12], [data.n_users, data.n_items, 1])
    mean = data.values.mean()
    gram = sparse.csc_array(design.T @ design + sparse.diags_array(penalty))
    effects = sparse.linalg.spsolve(gram, design.T @ (data.values - mean))
    effects[-1] += mean
    return effects


@pytest.mark.parametrize("shrinkage", [(15.0, 10.0), (0.3, 4.0)])
def test_the_fitted_baseline_is_the_least_squares_solution(
    monkeypatch: pytest.MonkeyPatch, shrinkage: tuple[float, float]
) -> None:
    monkeypatch.setattr(baselines, "_shrinkages", lambda *_: shrinkage)
    data = low_rank(30, 12, observed=0.4, seed=2)
    effects = ridge(data, shrinkage, level=True)
    fitted = fit_baselines(data)[-1]
    np.testing.assert_allclose(fitted.user_part, effects[:30], atol=1e-4)
    np.testing.assert_allclose(fitted.item_part, effects[30:-1] + effects[-1], atol=1e-4)


def test_shrinkages_are_the_ratios_of_variances_where_the_squares_are_as_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against E y'Qy = tr(QV), with dense projections Q and the covariance V of all ratings."""
    monkeypatch.setattr(baselines, "USUAL_WEIGHT", 0.0)
    data = skewed(40, 25, 300, seed=1)
    n, sides = len(data), [side.toarray() for side in indicators(data)]
    covariance = 0.3 * sides[0] @ sides[0].T + 0.5 * sides[1] @ sides[1].T + 1.2 * np.eye(n)
    centring = np.eye(n) - 1 / n
    centred = centring @ covariance @ centring
    spreads = []
    for side in sides:
        onto = side @ np.linalg.pinv(side)
        sizes = side.sum(axis=0)
        spreads.append(np.array([(sizes > 0).sum(), np.trace(onto @ centred), sizes @ sizes]))
    shrinkages = baselines._shrinkages(n, float(np.trace(centred)), *spreads)
    assert shrinkages == pytest.approx((1.2 / 0.3, 1.2 / 0.5), rel=1e-9)


@pytest.mark.parametrize(
    "data",
    [
        skewed(300, 100, 7500, seed=1),
        skewed(1000, 60, 4000, seed=2),
        skewed(300, 50, 7500, popularity=0.0, seed=3),
        low_rank(120, 120, observed=0.15, seed=4),
    ],
    ids=["skewed", "four ratings a user", "dense", "without noise"],
)
def test_no_fixed_shrinkage_predicts_better_than_the_chosen_one(data: Ratings) -> None:
    errors: dict[object, list[float]] = {}
    for seed in range(3):
        split = random_split(data, 0.2, seed)
        train, test = split.train, split.test
        fitted = fit_baselines(train)[-1].predict(test.users, test.items)
        errors.setdefault("chosen", []).append(rmse(fitted, test.values))
        for fixed in itertools.product((0.3, 1.0, 4.0, 10.0, 30.0), repeat=2):
            effects = ridge(train, fixed, level=False)
            predicted = effects[test.users] + effects[data.n_users + test.items] + effects[-1]
            errors.setdefault(fixed, []).append(rmse(predicted, test.values))
    mean = {name: np.mean(values) for name, values in errors.items()}
    assert mean.pop("chosen") <= min(mean.values()) + 0.0005


@pytest.mark.parametrize(
    "table",
    [
        [[3]],
        [[4], [4], [4]],
        np.diag([1, 2, 3, 5]),
        [[1, 0], [0, 4], [1, 0], [0, 5], [1, 0], [0, 4]],
        [[1, 2], [3, 4]],
    ],
    ids=["one", "constant", "each once", "one of each user", "exact"],
)
def test_the_fitted_baseline_of_few_ratings_stays_within_them(table) -> None:
    """And beside users and items without any, of a scale that is no wider than they are."""
    few = ratings_in(table)
    low, high = few.values.min(), few.values.max()
    data = replace(few, n_users=7, n_items=5, low=low, high=high)
    predicted = fit_baselines(data)[-1].predict(*map(np.ravel, np.indices((7, 5))))
    assert predicted.min() >= low - 1e-9
    assert predicted.max() <= high + 1e-9


def test_split_is_exact_and_disjoint() -> None:
    data = low_rank(40, 30, observed=0.5)
    split = random_split(data, 0.2, 0)
    assert len(split.test) == int(0.2 * len(data))
    pairs = [set(zip(part.users, part.items, strict=True)) for part in (split.train, split.test)]
    assert not pairs[0] & pairs[1]
    assert len(pairs[0] | pairs[1]) == len(data)
