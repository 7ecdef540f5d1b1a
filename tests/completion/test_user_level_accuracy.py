"""The user-level algorithms compute what they should.

Against slow references written here, and on data whose truth is known.
"""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.common.baselines import BASELINES, fit_baselines
from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.dpals.plan import SAMPLING, DPALSConfig, dpals_plan
from dpmc_core.completion.dpals.power_iteration import PROJECTIONS, solve_noisy
from dpmc_core.completion.dpals.preprocessing import lottery
from dpmc_core.completion.frank_wolfe import FrankWolfeConfig
from dpmc_core.completion.moments import MomentsConfig
from dpmc_core.completion.offsets import PrivateMeansConfig
from dpmc_core.completion.sgld import SGLDConfig, posterior_epsilon, sgld_plan
from dpmc_core.completion.spectral import (
    SVTConfig,
    TrifactorConfig,
    TruncatedSVDConfig,
    UserItemConfig,
)
from dpmc_core.datasets.ratings import Ratings, likes, random_split
from dpmc_core.datasets.synthetic.ratings import low_rank, skewed
from dpmc_core.errors import ParameterError
from dpmc_core.metrics.ratings import rmse
from dpmc_core.privacy.budget import Budget, GivenSigma
from dpmc_core.privacy.compare import dpals_counts
from tests.completion.references import error, papers_dpals, solved_rows
from tests.steps import last_of, steps_of

R = np.random.default_rng


SALT = int(R(5).integers(2**63))  # of the lottery, with seed 5
SMALL = skewed(60, 25, 700, rank=2, seed=0)


def baseline_of(train: Ratings, name: str = "user + item") -> Any:
    return fit_baselines(train)[BASELINES.index(name)]


def reference_dpals(
    ratings: Ratings, config: DPALSConfig, items: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Factors of DPALS without noise, k above everybody's count and β = 1, straight from
    Algorithm 1 and eq. 35; users solved once more, unclipped.
    """
    middle = (ratings.low + ratings.high) / 2
    half = config.value_clip or (ratings.high - ratings.low) / 2
    values = np.clip(ratings.values - middle, -half, half)
    if config.centring == "mean":
        values = np.clip(values - values.mean(), -half, half)
    ridge = config.reg * np.eye(config.rank)
    counts = np.bincount(ratings.items, minlength=ratings.n_items).clip(1) ** config.item_exponent
    rated = np.bincount(ratings.users, minlength=ratings.n_users) / config.items_per_user
    shares = np.maximum(rated, 1e-3) ** config.user_exponent

    def solved_users(items: np.ndarray, step: int | None = None) -> np.ndarray:
        ridges = shares[:, None, None] * ridge + config.global_penalty * items.T @ items
        own = np.ones(len(values), dtype=bool)
        if config.user_sample == "part" and step is not None:  # of SALT alone
            draw = lottery(ratings, SALT + 1) * config.iterations
            own = (step <= draw) & (draw < step + 1)
        rows = ratings.users[own], ratings.items[own], values[own]
        return solved_rows(*rows, items, ridges, ratings.n_users)

    for step in range(config.iterations):
        users = solved_users(items, step)
        length = np.linalg.norm(users, axis=1, keepdims=True)
        users *= config.clip_norm / np.maximum(length, config.clip_norm)
        ridges = (counts / counts.mean())[:, None, None] * ridge
        ridges = ridges + config.global_penalty * users.T @ users
        items = solved_rows(ratings.items, ratings.users, values, users, ridges, ratings.n_items)
        if config.orthonormal == "on":
            strengths, vectors = np.linalg.eigh(items.T @ items)
            items = items @ (vectors / np.sqrt(strengths)) @ vectors.T
    return solved_users(items), items


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"centring": "none", "projection": "off", "orthonormal": "on"},
        {"user_sample": "part", "iterations": 3},
        {"user_sample": "part", "global_penalty": 0.3, "sampling": "uniform"},
        {"global_penalty": 0.3, "item_exponent": 1.0, "user_exponent": 0.5, "clip_norm": 0.3},
        {"projection": "inner", "sampling": "uniform", "iterations": 3},
        {  # gradient steps converge to the same least squares where no residual is clipped
            "solve": "gradient", "gradient_steps": 100, "learning_rate": 1.5, "clip_norm": 0.3,
            "centring": "none", "value_clip": 50.0,
        },
        {
            "implicit": True, "centring": "none", "global_penalty": 0.2, "clip_norm": 1e6,
            "sampling": "uniform", "item_exponent": 0.0, "user_exponent": 0.0,
        },
    ],
)  # fmt: skip
def test_dpals_without_noise_is_algorithm_1(knobs: dict) -> None:
    config = papers_dpals(rank=3, reg=0.7, items_per_user=1000, private=False, **knobs)
    rng = R(5)
    assert rng.integers(2**63) == SALT
    start = rng.standard_normal((SMALL.n_items, 3)) / math.sqrt(3)
    ratings = likes(SMALL) if config.implicit else SMALL
    last, again = (last_of(config, ratings, 5, workers) for workers in (1, 2))
    users, items = reference_dpals(ratings, config, start)
    assert last.model.user_factors[:, :3] == pytest.approx(users, rel=1e-9, abs=1e-10)
    assert last.model.item_factors[:, :3] == pytest.approx(items, rel=1e-9, abs=1e-10)
    if config.implicit:
        assert last.model.block(slice(None)) == pytest.approx(users @ items.T, abs=1e-9)
    assert last.releases == ()
    assert np.array_equal(again.model.item_factors, last.model.item_factors)


def test_noise_does_not_depend_on_the_number_of_threads() -> None:
    ratings = skewed(400, 120, 9000, seed=1)
    config = papers_dpals(rank=3, budget=Budget(epsilon=2.0))
    assert np.array_equal(
        *(last_of(config, ratings, 0, workers).model.item_factors for workers in (1, 2))
    )


def test_infrequent_items_get_the_users_own_mean() -> None:
    config = papers_dpals(rank=3, reg=1.0, item_share=0.5, private=False, items_per_user=25)
    counts = np.bincount(SMALL.items, minlength=25)
    order = np.argsort(-counts, kind="stable")
    rated = np.bincount(SMALL.users, minlength=60)
    # pulled to the middle of the scale
    own = (np.bincount(SMALL.users, SMALL.values, minlength=60) + 5 * 3.0) / (rated + 5)
    apart = last_of(config, SMALL).model.block(np.arange(60)) - own[:, None]
    assert apart[:, order[13:]] == pytest.approx(0, abs=1e-9)
    assert not np.allclose(apart[:, order[:13]], 0)


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_solving_with_noisy_matrices(projection: str) -> None:
    rng = R(0)
    gram = rng.standard_normal((20, 4, 4))
    gram = gram + gram.transpose(0, 2, 1)  # indefinite
    right, regs = rng.standard_normal((20, 4)), rng.uniform(0.1, 1, 20)
    solved = solve_noisy(gram, right, regs, projection)
    for solution, matrix, side, reg in zip(solved, gram, right, regs, strict=True):
        values, vectors = np.linalg.eigh(matrix)
        eigenvalues = {
            "off": values + reg,
            "inner": values.clip(0) + reg,
            "printed": (values + reg).clip(0),
        }[projection]
        system = (vectors * eigenvalues) @ vectors.T
        expected = np.linalg.pinv(system, rcond=1e-9) @ side
        assert solution == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_power_iteration_starts_dpals_near_the_truth() -> None:
    """On a rank-2 matrix of 4,000 users, one round from the released start is nearer the end than
    one from a random one.
    """
    ratings, budget = low_rank(4000, 40, rank=2, observed=0.5), Budget(epsilon=20.0)
    usual = papers_dpals(rank=2, reg=1.0, iterations=1, items_per_user=20, budget=budget)
    random, power = (
        last_of(replace(usual, start=start), ratings, 3).squared_residuals
        for start in ("random", "power")
    )
    assert power < 0.9 * random


@pytest.mark.parametrize(
    ("row", "k", "gram", "right", "pre", "epsilon"),
    [
        (0, 40, 126.9, 63.4, 200.0, 0.801),
        (1, 50, 29.0, 14.5, 200.0, 4.006),
        (2, 50, 11.3, 11.3, 20.0, 7.39),
        (3, 50, 5.86, 5.86, 20.0, 14.87),
        (4, 50, 125.9, 63.0, 100.0, 1.001),
        (5, 50, 27.8, 13.9, 20.0, 5.008),
        (6, 50, 15.5, 7.7, 10.0, 10.04),
        (7, 50, 7.5, 3.8, 10.0, 19.82),
    ],
)
def test_table_4_gives_the_epsilon_of_finding_9(
    row: int, k: int, gram: float, right: float, pre: float, epsilon: float
) -> None:
    """From the releases that DPALS itself plans with Table 4's σ.

    Both statistics as finding 9 counts them, and the preparation.
    """
    count, sigma, ratio = dpals_counts()[row], GivenSigma(sigma=right), gram / right
    config = papers_dpals(
        rank=4, items_per_user=k, budget=sigma, gram_ratio=ratio, sigma_preparation=pre
    )
    planned = dpals_plan(skewed(50, 60, 900, seed=0), config)
    rho = {n: r.count * (r.l2_sensitivity / r.mechanism.scale) ** 2 / 2 for n, r in planned.items()}
    assert rho["gram"] + rho["right"] == pytest.approx(k * (1 / gram**2 + 1 / right**2))
    assert rho["counts"] + rho["counts again"] == pytest.approx(k / pre**2)
    # one number each, moved by up to k, with noise for √k: k times what the paper counts
    assert rho["sum of ratings"] + rho["number of ratings"] == pytest.approx(k / pre**2)

    def converted(total: float) -> float:
        return total + 2 * math.sqrt(total * math.log(1e5))

    as_printed = converted(rho["gram"] + rho["right"] + (k + 1) / pre**2)
    assert as_printed == pytest.approx(epsilon, abs=0.006)
    assert count.both == pytest.approx(epsilon, abs=0.006)
    assert count.derived == pytest.approx(converted(sum(rho.values())), rel=1e-12)
    assert count.derived > count.both


def test_without_noise_moments_learns_what_means_cannot() -> None:
    split = random_split(skewed(3000, 200, 120_000, rank=4, noise_floor=0.5, seed=2), 0.2, 0)
    moments, private, means = (
        error(last_of(config, split.train).model, split.test)
        for config in (
            MomentsConfig(rank=6),
            MomentsConfig(rank=6, budget=Budget(epsilon=10.0)),
            PrivateMeansConfig(),
        )
    )
    assert means == pytest.approx(error(baseline_of(split.train), split.test), rel=0.03)
    assert 0.5 < moments < private < means  # 0.5 is the floor that no predictor goes below
    assert moments < 0.8 * means


@pytest.mark.nightly
@pytest.mark.parametrize("family", ["huber", "laplace", "gaussian"])
def test_the_second_stage_never_ruins_the_first(family: str) -> None:
    """Where noise leaves next to no co-rating weight of an item, its factor is a quotient by nearly
    0: with Laplace noise these errors reached three times those of the first stage.
    """
    split = random_split(skewed(5000, 500, 250_000, seed=0), 0.2, 0)
    ratios = []
    for seed in range(4):
        config = MomentsConfig(budget=Budget(epsilon=5.0, family=family))
        first, second = (
            error(step.model, split.test) for step in steps_of(config, split.train, seed)
        )
        ratios.append(second / first)
    assert max(ratios) < 1.01, ratios


def test_private_frank_wolfe_without_noise_descends() -> None:
    ratings = low_rank(200, 40, rank=2, observed=0.5)
    config = FrankWolfeConfig(iterations=15, nuclear=0.3, items_per_user=40)
    steps = [*steps_of(config, ratings)]
    assert steps[-1].squared_residuals < 0.6 * len(ratings) * ratings.values.var()
    assert all(step.releases == () for step in steps)


def test_steps_of_sgld_go_down_the_energy_that_its_posterior_bound_is_of() -> None:
    """Σ E_i + ½λ‖V‖² of the module's text, from the definition: its slope is what a step without
    noise follows, and no user's E_i is above ½kΓ², k = 5 being fewer than most users rated.
    """
    config = SGLDConfig(rank=2, reg=0.8, items_per_user=5, clip_norm=100.0, rounds=1)
    ratings = replace(SMALL, values=np.clip(SMALL.values, 1, 5))
    rated = np.bincount(SMALL.users, minlength=60)
    weight = np.minimum(np.sqrt(5 / rated), 5 / rated)
    means = (np.bincount(SMALL.users, ratings.values, minlength=60) + 5 * 3.0) / (rated + 5)
    values = np.clip(ratings.values - means[SMALL.users], -2, 2)

    def energies(items: np.ndarray) -> np.ndarray:
        ridges = (0.8 * rated / 5)[:, None, None] * np.eye(2)
        users = solved_rows(SMALL.users, SMALL.items, values, items, ridges, 60)
        left = values - np.einsum("nr,nr->n", users[SMALL.users], items[SMALL.items])
        squares = np.bincount(SMALL.users, left**2, minlength=60)
        own = weight * (squares + 0.8 * rated / 5 * np.sum(users**2, axis=1)) / 2
        assert np.all(own <= 5 * 2**2 / 2)
        return own

    start = R(0).standard_normal((25, 2)) / math.sqrt(2)
    rate = config.step_size / (0.8 + 100.0**2 * 60)
    moved = last_of(config, ratings).model.item_factors[:, :2] - start
    for place in ((0, 0), (7, 1), (24, 0)):
        step = np.zeros((25, 2))
        step[place] = 1e-5
        up, down = ((energies(v).sum() + 0.4 * np.sum(v**2)) for v in (start + step, start - step))
        assert moved[place] == pytest.approx(-rate * (up - down) / 2e-5, rel=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        SGLDConfig(rank=2, rounds=400, step_size=100.0),
        DPALSConfig(rank=2, solve="gradient", iterations=10, gradient_steps=40, learning_rate=10.0),
    ],
    ids=["sgld", "dpals by gradient steps"],
)
def test_whether_a_diverging_chain_stays_finite_depends_on_nobody(config) -> None:
    """Far beyond where products of factors overflow, in which only a rated item would be lost."""
    config = replace(config, budget=Budget(epsilon=1.0))
    for seed in range(3):
        items = last_of(config, SMALL, seed).model.item_factors
        assert np.isfinite(items).all()
    assert np.abs(items).max() > 1e40  # it does diverge


def test_given_vectors_are_asked_for_before_anything_is_released() -> None:
    config = DPALSConfig(rank=2, user_sample="given", budget=Budget(epsilon=1.0))
    rng = R(0)
    with pytest.raises(ParameterError, match="not known for these data"):
        next(steps_of(config, replace(SMALL, truth=None), rng))
    assert rng.random() == R(0).random()


def test_the_posterior_argument_has_an_epsilon_of_its_own() -> None:
    """kΓ²/(ησ²), at the temperature ησ²/2 of energies that one user moves by ½kΓ² at most."""
    config = SGLDConfig(rank=2, items_per_user=5, budget=Budget(epsilon=3.0))
    people = Whole(SMALL)
    (release,) = sgld_plan(people, config).values()
    eta = config.step_size / (config.reg + config.clip_norm**2 * 60)
    expected = (5 * 2**2 / 2) / (eta * release.mechanism.variance / 2)
    assert posterior_epsilon(people, config) == pytest.approx(expected)
    assert posterior_epsilon(people, replace(config, budget=None)) == math.inf


def test_spectral_baselines_recover_a_low_rank_matrix() -> None:
    """Noiseless rank 2, 60 % seen.

    SVT and tri-factorisation complete it; truncated SVD at zero fill is the best fit of its kind.
    """
    ratings = low_rank(120, 80, rank=2, observed=0.6, seed=3)
    truth = ratings.truth.left @ ratings.truth.right.T
    everybody = np.arange(120)
    for config in (
        SVTConfig(rank=8, iterations=300, reg=10.0),
        TrifactorConfig(rank=4, iterations=200, reg=0.05),
    ):
        whole = last_of(config, ratings).model.block(everybody)
        assert rmse(whole, truth) < 0.03 * truth.std(), config
    base = last_of(UserItemConfig(), ratings).model
    predicted = baseline_of(ratings).predict(ratings.users, ratings.items)
    assert base.predict(ratings.users, ratings.items) == pytest.approx(predicted)
    step = last_of(TruncatedSVDConfig(rank=3), ratings)
    left = np.zeros((120, 80))
    left[ratings.users, ratings.items] = ratings.values - predicted
    u, s, v = np.linalg.svd(left)
    assert step.model.block(everybody) - base.block(everybody) == pytest.approx(
        (u[:, :3] * s[:3]) @ v[:3], abs=1e-8
    )


def test_tri_factorisation_descends() -> None:
    steps = steps_of(TrifactorConfig(rank=5, iterations=30, reg=1.0), SMALL)
    for before, after in pairwise(step.objective for step in steps):
        assert after <= before * (1 + 1e-9)


@pytest.mark.parametrize("sampling", SAMPLING)
def test_dpals_learns_with_enough_people(sampling: str) -> None:
    """20,000 people, 40 items: at ε = 10 every way of sampling is clearly better than the mean."""
    ratings = skewed(20_000, 40, 300_000, rank=2, noise_floor=0.3, seed=0)
    split = random_split(ratings, 0.1, 0)
    config = papers_dpals(
        rank=4,
        reg=5.0,
        items_per_user=10,
        sampling=sampling,
        centring="user",
        projection="inner",
        budget=Budget(epsilon=10.0),
    )
    step = last_of(config, split.train)
    baseline = baseline_of(split.train, "user mean")
    assert error(step.model, split.test) < 0.9 * error(baseline, split.test)
