"""ALS and IRLS against references that share no code with them, and what holds at every step."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.linear_model import HuberRegressor

from dpmc_core.completion import ALSConfig, IRLSConfig, als, fit_baselines, irls
from dpmc_core.completion.common import baselines
from dpmc_core.completion.common.alternating import reweighted
from dpmc_core.completion.common.step import start_item_factors
from dpmc_core.completion.kernel.solve import BlockSolver
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets.ratings import Ratings, random_split
from dpmc_core.datasets.synthetic.ratings import low_rank, skewed
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Gaussian, Huber, Laplace
from dpmc_core.mechanisms.huber_distribution import rho
from dpmc_core.metrics.ratings import rmse


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return skewed(70, 50, 1200, rank=3, seed=3)


SOLVERS = {ALSConfig: als, IRLSConfig: irls}


def steps_of(config: ALSConfig | IRLSConfig, ratings: Ratings, seed: int = 0, *workers: int):
    """Steps of the algorithm that ``config`` is of."""
    return SOLVERS[type(config)](ratings, config, np.random.default_rng(seed), *workers)


def dense_als(ratings: Ratings, rank, reg, iterations, mechanism, seed):
    """Algorithm 1 with dense masks and normal equations, drawing noise in the same order."""
    rng = np.random.default_rng(seed)
    mask = np.zeros((ratings.n_users, ratings.n_items))
    x = np.zeros_like(mask)
    mask[ratings.users, ratings.items] = 1
    x[ratings.users, ratings.items] = ratings.values
    v = start_item_factors(ratings.n_items, rank, rng)
    u = np.zeros((ratings.n_users, rank))
    for _ in range(iterations):
        noise = np.zeros((ratings.n_items, rank))
        if mechanism is not None:
            noise = mechanism.sample((1, ratings.n_items, rank), rng)[0]
        for i in range(ratings.n_users):
            u[i] = np.linalg.solve((v * mask[i][:, None]).T @ v + reg * np.eye(rank), v.T @ x[i])
        for j in range(ratings.n_items):
            w = mask[:, j][:, None]
            v[j] = np.linalg.solve((u * w).T @ u + reg * np.eye(rank), u.T @ x[:, j] + noise[j])
    return u, v


@pytest.mark.parametrize(
    "mechanism", [None, Huber(alpha=1.0), Laplace(scale=1.0), Gaussian(scale=1.4)]
)
@pytest.mark.parametrize("rank", [4, 40])
def test_als_equals_dense_normal_equations(ratings: Ratings, mechanism, rank: int) -> None:
    config = ALSConfig(rank=rank, reg=0.5, iterations=4, mechanism=mechanism)
    *_, last = steps_of(config, ratings, 11)
    u, v = dense_als(ratings, rank, 0.5, 4, mechanism, 11)
    np.testing.assert_allclose(last.model.user_factors, u, atol=1e-8)
    np.testing.assert_allclose(last.model.item_factors, v, atol=1e-8)
    residuals = ratings.values - last.model.predict(ratings.users, ratings.items)
    assert last.squared_residuals == pytest.approx(float(residuals @ residuals), rel=1e-8)


def dense_irls(ratings: Ratings, rank, reg, iterations, inner, alpha, mechanism, seed):
    """Algorithms 2 and 3 column by column."""
    rng = np.random.default_rng(seed)
    v = start_item_factors(ratings.n_items, rank, rng)
    u = np.zeros((ratings.n_users, rank))
    for _ in range(iterations):
        noise = np.zeros((inner, ratings.n_items, rank))
        if mechanism is not None:
            noise = mechanism.sample((inner, ratings.n_items, rank), rng)
        start = rng.standard_normal((ratings.n_items, rank))
        for i in range(ratings.n_users):
            k = ratings.users == i
            a, y = v[ratings.items[k]], ratings.values[k]
            u[i] = np.linalg.solve(a.T @ a + reg * np.eye(rank), a.T @ y)
        v = v.copy()
        for j in range(ratings.n_items):
            k = ratings.items == j
            a, y = u[ratings.users[k]], ratings.values[k]
            theta = start[j]
            for step in range(inner):
                residual = y - a @ theta
                psi = np.sign(residual) * np.minimum(np.abs(residual), alpha)
                weight = np.where(residual == 0, 1.0, psi / np.where(residual == 0, 1.0, residual))
                theta = np.linalg.solve(
                    (a * weight[:, None]).T @ a + reg * np.eye(rank),
                    a.T @ (weight * y) + noise[step, j],
                )
            v[j] = theta
    return u, v


@pytest.mark.parametrize("mechanism", [None, Huber(alpha=1.076)])
@pytest.mark.parametrize(("rank", "inner"), [(4, 2), (4, 7), (45, 3)])
def test_irls_equals_its_definition(ratings: Ratings, mechanism, rank: int, inner: int) -> None:
    config = IRLSConfig(
        rank=rank, reg=0.5, iterations=3, inner=inner, loss_alpha=0.4, mechanism=mechanism
    )
    *_, last = steps_of(config, ratings, 2)
    u, v = dense_irls(ratings, rank, 0.5, 3, inner, 0.4, mechanism, 2)
    np.testing.assert_allclose(last.model.user_factors, u, atol=1e-7)
    np.testing.assert_allclose(last.model.item_factors, v, atol=1e-7)


def one_item(seed: int = 0) -> tuple[Ratings, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = 60
    y = rng.standard_t(2, n) + 3
    users = np.arange(n)
    # a second item fixes nothing: the matrix has two columns only so that rank 2 is allowed
    return Ratings.checked(
        np.r_[users, users], np.r_[np.zeros(n, int), np.ones(n, int)], np.r_[y, rng.normal(3, 1, n)]
    ), y


def test_one_irls_column_minimises_the_regularised_huber_loss() -> None:
    """Item 0's factors given U.

    A direct convex solve of Σ ρ_α(y − Aθ) + (λ/2)‖θ‖² must find the same point.
    """
    ratings, y = one_item()
    config = IRLSConfig(rank=2, reg=0.7, iterations=1, inner=100, loss_alpha=0.8)
    step = next(steps_of(config, ratings))
    a = step.model.user_factors

    def objective(theta):
        r = y - a @ theta
        return float(np.sum(rho(r, 0.8)) + 0.35 * theta @ theta)

    def gradient(theta):
        r = y - a @ theta
        return -a.T @ np.clip(r, -0.8, 0.8) + 0.7 * theta

    best = optimize.minimize(
        objective, np.zeros(2), jac=gradient, method="BFGS", options={"gtol": 1e-10}
    )
    np.testing.assert_allclose(step.model.item_factors[0], best.x, atol=1e-5)


def test_one_irls_column_agrees_with_scikit_learn() -> None:
    """HuberRegressor minimises Σ(1 + H_ε(r/σ))σ + α‖θ‖².

    At its own σ, ours is loss_alpha = εσ/1, λ = 2ασ/2.
    """
    rng = np.random.default_rng(4)
    a = rng.normal(0, 1, (80, 2))
    y = a @ np.array([1.5, -0.7]) + rng.standard_t(2, 80)
    fitted = HuberRegressor(
        epsilon=1.35, alpha=0.05, fit_intercept=False, max_iter=10_000, tol=1e-10
    ).fit(a, y)
    # in units of r: σ·H_ε(r/σ) = (1/σ)·2ρ_{εσ}(r), so the penalty α‖θ‖² is (λ/2)‖θ‖² with λ = ασ
    # after dividing by 2/σ
    config = IRLSConfig(
        rank=2, reg=0.05 * fitted.scale_, iterations=1, inner=100, loss_alpha=1.35 * fitted.scale_
    )
    with Workers(1) as workers:
        solver = BlockSolver(a[None], config.reg, workers)
        theta = reweighted(np.zeros((1, 2)), None, config.inner, config.loss_alpha)(
            a[None], y[None], np.array([0]), solver
        )
    np.testing.assert_allclose(theta[0], fitted.coef_, rtol=2e-4)


def test_objective_never_rises_without_noise(ratings: Ratings) -> None:
    for config in (
        ALSConfig(rank=5, reg=1, iterations=15),
        IRLSConfig(rank=5, reg=1, iterations=15, inner=60, loss_alpha=20),
    ):
        values = [step.objective for step in steps_of(config, ratings)]
        for before, after in itertools.pairwise(values):
            assert after <= before * (1 + 1e-9)


def test_irls_with_a_wide_loss_is_als(ratings: Ratings) -> None:
    wide = IRLSConfig(rank=4, reg=0.5, iterations=3, inner=1, loss_alpha=20)
    *_, robust = steps_of(wide, ratings, 1)
    (plain,) = steps_of(ALSConfig(rank=4, reg=0.5, iterations=1), ratings, 1)
    assert np.isfinite(robust.objective)
    (first,) = steps_of(replace(wide, iterations=1, inner=3), ratings, 1)
    np.testing.assert_allclose(first.model.item_factors, plain.model.item_factors, atol=1e-9)
    assert first.objective == pytest.approx(plain.objective, rel=1e-9)


def test_recovers_a_low_rank_matrix() -> None:
    data = low_rank(120, 100, rank=3, observed=0.4, seed=1)
    *_, last = steps_of(ALSConfig(rank=3, reg=1e-3, iterations=60), data)
    truth = data.truth.left @ data.truth.right.T
    assert np.sqrt(np.mean((last.model.block(slice(None)) - truth) ** 2)) < 2e-3


@pytest.mark.parametrize("kind", SOLVERS)
def test_same_seed_same_result_whatever_the_workers(ratings: Ratings, kind) -> None:
    config = kind(rank=4, reg=1, iterations=3, mechanism=Huber(alpha=1.0))
    one, two, three, different = (
        [*steps_of(config, ratings, *of)][-1].model.item_factors
        for of in ((5, 1), (5, 2), (5, 3), (6,))
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, three)
    assert not np.array_equal(one, different)


def test_every_step_records_what_it_released(ratings: Ratings) -> None:
    noise = Laplace(scale=1.0)
    for config, count in (
        (ALSConfig(rank=4, iterations=3, mechanism=noise), 1),
        (IRLSConfig(rank=4, iterations=2, inner=6, mechanism=noise), 6),
    ):
        for step in steps_of(config, ratings):
            (release,) = step.releases
            assert (release.count, release.coordinates) == (count, ratings.n_items * 4)
            assert release.mechanism == noise
            assert not release.sound
    assert not any(step.releases for step in steps_of(ALSConfig(rank=4, iterations=2), ratings))


def test_defined_result_for_odd_shapes() -> None:
    one = Ratings.checked(np.array([0]), np.array([0]), np.array([4.0]), n_users=3, n_items=3)
    for kind in SOLVERS:
        *_, last = steps_of(kind(rank=2, reg=1, iterations=5), one)
        assert np.isfinite(last.model.block(slice(None))).all()
        assert not last.model.user_factors[1:].any()  # users without ratings get no taste
        assert not last.model.item_factors[1:].any()
    noisy = ALSConfig(rank=2, reg=0.5, iterations=1, mechanism=Gaussian(scale=1.0))
    (step,) = steps_of(noisy, one, 3)
    rng = np.random.default_rng(3)
    start_item_factors(3, 2, rng)
    noise = Gaussian(scale=1.0).sample((1, 3, 2), rng)[0]
    np.testing.assert_allclose(
        step.model.item_factors[1:], noise[1:] / 0.5
    )  # Alg. 1 with an empty sum
    (robust,) = steps_of(
        IRLSConfig(rank=2, reg=0.5, iterations=1, inner=2, mechanism=Gaussian(scale=1.0)), one, 3
    )
    assert np.isfinite(robust.model.item_factors).all()
    assert robust.model.item_factors[1:].any()


def test_rank_above_the_matrix_is_refused() -> None:
    data = low_rank(30, 6, rank=2, observed=0.5)
    with pytest.raises(ParameterError, match="rank = 7"):
        next(steps_of(ALSConfig(rank=7), data))
    with pytest.raises(ParameterError, match="at most 6"):
        next(steps_of(IRLSConfig(rank=7), data))
    for bad in ({"rank": 0}, {"reg": 0}, {"iterations": 0}, {"rank": 2.5}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            ALSConfig(**bad)


def test_baselines_by_hand() -> None:
    data = Ratings.checked(
        np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, 3.0, 5.0]), n_users=3, n_items=3
    )
    predictors = {p.name: p for p in fit_baselines(data)}
    users, items = np.array([0, 1, 2]), np.array([0, 1, 2])
    np.testing.assert_allclose(predictors["global mean"].predict(users, items), [3, 3, 3])
    np.testing.assert_allclose(predictors["user mean"].predict(users, items), [2, 5, 3])
    np.testing.assert_allclose(predictors["item mean"].predict(users, items), [3, 3, 3])
    np.testing.assert_allclose(predictors["user + item"].predict(users, items), [2 - 0.5, 5 + 1, 3])


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
    found = baselines._shrinkages(n, float(np.trace(centred)), *spreads)
    assert found == pytest.approx((1.2 / 0.3, 1.2 / 0.5), rel=1e-9)


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
    ("users", "items", "values"),
    [
        ([0], [0], [3.0]),
        ([0, 1, 2], [0, 0, 0], [4.0, 4.0, 4.0]),
        ([0, 1, 2, 3], [0, 1, 2, 3], [1.0, 2.0, 3.0, 5.0]),
        ([0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1], [1.0, 4.0, 1.0, 5.0, 1.0, 4.0]),
        ([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]),
    ],
    ids=["one", "constant", "each once", "one of each user", "exact"],
)
def test_the_fitted_baseline_of_few_ratings_stays_within_them(
    users: list[int], items: list[int], values: list[float]
) -> None:
    data = Ratings.checked(np.array(users), np.array(items), np.array(values), n_users=7, n_items=5)
    every = [grid.ravel() for grid in np.indices((7, 5))]
    predicted = fit_baselines(data)[-1].predict(*every)
    assert predicted.min() >= min(values) - 1e-9
    assert predicted.max() <= max(values) + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_split_is_exact_and_disjoint(seed: int) -> None:
    data = low_rank(40, 30, observed=0.5)
    split = random_split(data, 0.2, seed)
    assert len(split.test) == int(0.2 * len(data))
    pairs = [set(zip(part.users, part.items, strict=True)) for part in (split.train, split.test)]
    assert not pairs[0] & pairs[1]
    assert len(pairs[0] | pairs[1]) == len(data)
