"""Privacy of the user-level algorithms.

What one user can move, that nobody else's part moves with them, and what is planned.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmc_core.completion import moments as moments_module
from dpmc_core.completion import offsets as offsets_module
from dpmc_core.completion import recommending as recommending_module
from dpmc_core.completion.common.population import MemoryGroup
from dpmc_core.completion.common.step import FactorModel, Step
from dpmc_core.completion.dpals import solver as dpals_module
from dpmc_core.completion.dpals.plan import DPALSConfig, n_frequent
from dpmc_core.completion.dpals.preprocessing import first_k, lottery, weights_of
from dpmc_core.completion.dpals.solver import dpals
from dpmc_core.completion.frank_wolfe import FrankWolfeConfig, frank_wolfe
from dpmc_core.completion.moments import MomentsConfig, one_shot_moments
from dpmc_core.completion.offsets import PrivateMeansConfig, private_means
from dpmc_core.completion.private_svd import PrivateSVDConfig, private_svd
from dpmc_core.completion.recommending import LikesConfig, moments_of_likes, most_popular
from dpmc_core.datasets.ratings import ItemFeatures, Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy import Ledger, state
from dpmc_core.privacy.budget import Budget, Curator
from dpmc_core.privacy.ledger import Release
from tests.completion.papers import papers_dpals
from tests.steps import spending

USERS, ITEMS = 14, 9


def table(seed: int) -> Ratings:
    rng = np.random.default_rng(seed)
    seen = rng.random((USERS, ITEMS)) < 0.6
    seen[:, 0] = True
    users, items = np.nonzero(seen)
    values = rng.integers(1, 6, users.size).astype(float)
    known = np.random.default_rng(77).random((ITEMS, 3))
    return Ratings.checked(
        users,
        items,
        values,
        n_users=USERS,
        n_items=ITEMS,
        low=1,
        high=5,
        item_features=ItemFeatures.checked(("a", "b", "c"), known, ITEMS),
    )


def liked(ratings: Ratings) -> Ratings:
    """What ``datasets.implicit.likes`` makes of a table, but an empty table where nothing was
    liked: here somebody may be alone.
    """
    part = ratings.take(ratings.values >= 4)
    return replace(part, values=np.ones(len(part)), low=-1.0, high=1.0)


def visiting(ratings: Ratings) -> Ratings:
    """Likes of the last user's row, who takes no part.

    The tables leave that row to visitors here.
    """
    return replace(liked(table(9)).take(liked(table(9)).users == USERS - 1), name="visitors")


Solver = Callable[[Ratings, np.random.Generator], Iterator[Step]]


def solvers(family: str) -> dict[str, Solver]:
    """Every algorithm that claims to protect users, in variants that release different things."""
    budget = Budget(epsilon=3.0, family=family)

    clear = replace(budget, epsilon=20_000.0)  # with factors, which noise leaves none of in so few

    def of(solver: Any, config: Any) -> Solver:
        return lambda ratings, rng: solver(ratings, config, rng, 1)

    def of_likes(solver: Any, config: Any) -> Solver:
        return lambda ratings, rng: solver(liked(ratings), config, rng, 1, visiting(ratings))

    def of_dpals(**knobs: Any) -> Solver:
        usual = {"rank": 2, "reg": 1.0, "items_per_user": 3, "item_share": 0.7}
        return of(dpals, papers_dpals(budget=budget, **{**usual, **knobs}))

    return {
        "moments": of(one_shot_moments, MomentsConfig(rank=3, budget=budget)),
        "moments, hardly any noise": of(one_shot_moments, MomentsConfig(rank=3, budget=clear)),
        "moments, public features": of(
            one_shot_moments, MomentsConfig(rank=3, item_features="shrink", budget=budget)
        ),
        "moments, public features, hardly any noise": of(
            one_shot_moments, MomentsConfig(rank=3, item_features="shrink", budget=clear)
        ),
        "moments, first stage alone": of(one_shot_moments, MomentsConfig(rank=3, budget=budget)),
        "most liked": lambda r, rng: most_popular(liked(r), LikesConfig(budget=budget), rng, 1),
        "moments of likes": of_likes(moments_of_likes, LikesConfig(rank=2, budget=budget)),
        "moments of likes, public features": of_likes(
            moments_of_likes, LikesConfig(rank=2, item_features="shrink", budget=budget)
        ),
        "means": of(private_means, PrivateMeansConfig(budget=budget)),
        "svd": of(private_svd, PrivateSVDConfig(rank=2, budget=budget)),
        "fw": of(frank_wolfe, FrankWolfeConfig(iterations=3, items_per_user=3, budget=budget)),
        "dpals": of_dpals(),
        "dpals, public features": of_dpals(item_features="shrink"),
        "dpals uniform, power start, user means": of_dpals(
            sampling="uniform", start="power", centring="user"
        ),
        "dpals weights, implicit": of_dpals(
            sampling="weights", global_penalty=0.5, user_exponent=0.5
        ),
        "dpals weights, fewer items than k": of_dpals(
            sampling="weights", items_per_user=9, item_share=0.3
        ),
        "dpals weights, power start": of_dpals(sampling="weights", start="power", centring="none"),
        "dpals without counts": of_dpals(
            item_share=1.0, sampling="uniform", item_exponent=0.0, centring="none"
        ),
        "dpals on likes, with visitors": of_likes(
            dpals,
            papers_dpals(
                rank=2, reg=1.0, items_per_user=3, centring="none", implicit=True,
                global_penalty=0.3, budget=budget,
            ),
        ),
        "dpals, all of everybody": of_dpals(items_per_user=50, item_share=1.0, orthonormal=True),
    }  # fmt: skip


@dataclass
class Tape:
    """What went into each release, and what came out of it.

    A replay gets the recorded outputs whatever goes in.
    """

    exact: list[tuple[str, np.ndarray]] = field(default_factory=list)
    noisy: list[np.ndarray] = field(default_factory=list)
    made: list[Release] = field(default_factory=list)
    last: FactorModel | None = None


def run(
    monkeypatch: pytest.MonkeyPatch, solver: Any, ratings: Ratings, recorded: Tape | None
) -> Tape:
    """Run ``solver``, with the outputs of ``recorded`` in place of its own releases if given."""
    tape = Tape()
    outputs = iter(recorded.noisy) if recorded else iter(())
    with monkeypatch.context() as patch:
        original_release, original_items = Curator.release, dpals_module._solved_in_blocks
        original_released = dpals_module._released
        statistics: dict[str, np.ndarray] = {}

        def release(self: Curator, name: str, exact: Any) -> np.ndarray:
            exact = exact() if callable(exact) else exact
            tape.exact.append((name, exact.copy()))
            own = original_release(self, name, exact)
            tape.noisy.append(next(outputs) if recorded else own)
            return tape.noisy[-1]

        def released(gram: np.ndarray, right: np.ndarray, places: np.ndarray, streams: Any) -> Any:
            for at, place in enumerate(places):
                statistics["gram"][place] = gram[at][np.triu_indices(gram.shape[1])]
                statistics["right"][place] = right[at]
            return original_released(gram, right, places, streams)

        def items(group: Any, basis: Any, before: np.ndarray, curator: Curator) -> np.ndarray:
            rank = before.shape[1]
            statistics["gram"] = np.zeros((ITEMS, rank * (rank + 1) // 2))
            statistics["right"] = np.zeros((ITEMS, rank))
            mark = len(tape.exact)
            own = original_items(group, basis, before, curator)
            assert len(tape.exact) - mark <= 1
            tape.exact += [(name, statistics[name].copy()) for name in ("gram", "right")]
            tape.noisy.append(next(outputs) if recorded else own)
            return tape.noisy[-1]

        patch.setattr(Curator, "release", release)
        patch.setattr(dpals_module, "_solved_in_blocks", items)
        patch.setattr(dpals_module, "_released", released)
        for step in solver(ratings, np.random.default_rng(1)):
            tape.made += step.releases
            tape.last = step.model
    return tape


NAMES = {
    "users": "how many users there are",
    "spread": "how far ratings lie from their user's mean",
    "popularity": "how often items are rated|how often items are liked",
    "weights": "weight on each item",
    "deviations": "weighted deviations of ratings from their user's mean",
    "remainders": "weighted deviations from the offsets released before",
    "profile": "whether users' slopes predict what they left out",
    "together": "which items are rated together|which items are liked together",
    "tastes": "which items' residuals go together",
    "covariance": "covariance of residuals",
    "squares": "second moment of the users' residual rows",
    "counts": "item counts of k ratings per user",
    "counts again": "item counts of the ratings that take part",
    "sum of ratings": "sum of the ratings that take part",
    "number of ratings": "number of ratings that take part",
    "start": "power iteration: the values' second moment times the directions so far",
    "all users": "Gram matrix over all users",
    "gram": "Gram matrices of all items",
    "right": "right-hand sides of all items",
}


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("name", solvers("gaussian"))
def test_one_user_moves_a_release_by_their_own_part_and_no_more_than_planned(
    monkeypatch: pytest.MonkeyPatch, name: str, family: str
) -> None:
    """With earlier outputs held fixed, a release of everybody is that of all but one plus that of
    the one alone, and the one's part is within the recorded sensitivities. Anything that one user
    does to another's part (a mean over users, a shared draw) breaks it.
    """
    if (
        name != "moments, first stage alone"
    ):  # fourteen users are too few for it: make the models plan their second stage
        monkeypatch.setattr(moments_module, "WORTH_IT", 0.0)
        monkeypatch.setattr(recommending_module, "WORTH_IT", 0.0)
    solver = solvers(family)[name]
    tightest = 0.0
    for seed in range(3):
        everybody = table(seed)
        if "visitors" in name or "likes" in name:
            everybody = everybody.take(everybody.users < USERS - 1)
        whole = run(monkeypatch, solver, everybody, None)
        planned = {release.what: release for release in whole.made}
        for user in range(0, USERS, 3):
            there = everybody.users == user
            without = run(monkeypatch, solver, everybody.take(~there), whole)
            alone = run(monkeypatch, solver, everybody.take(there), whole)
            assert len(whole.exact) == len(without.exact) == len(alone.exact)
            for (what, all_), (_, rest), (_, own) in zip(
                whole.exact, without.exact, alone.exact, strict=True
            ):
                assert np.allclose(all_, rest + own, rtol=0, atol=1e-9), (what, user)
                (release,) = (planned[n] for n in NAMES[what].split("|") if n in planned)
                norms = np.abs(own).sum(), float(np.linalg.norm(own))
                assert norms[0] <= release.l1_sensitivity * (1 + 1e-9), (what, user)
                assert norms[1] <= release.l2_sensitivity * (1 + 1e-9), (what, user)
                tightest = max(
                    tightest, norms[1] / release.l2_sensitivity, norms[0] / release.l1_sensitivity
                )
    # the bounds are near: an upper triangle's ℓ2 norm is between 1/√2 and 1 of ‖a‖₂², its ℓ1 norm
    # between ½ and 1 of ‖a‖₁²
    assert tightest > (0.7 if family == "gaussian" else 0.5)


@pytest.mark.parametrize("family", ["gaussian", "huber"])
@pytest.mark.parametrize(
    "name", ["moments", "dpals weights, implicit", "fw", "most liked", "dpals without counts"]
)
def test_a_run_spends_its_budget_and_no_more(name: str, family: str) -> None:
    _, ledger = spending(solvers(family)[name](table(0), np.random.default_rng(0)))
    statement = state(ledger, 1e-5)
    assert 3.0 * 0.99999 < statement.epsilon <= 3.0  # the plan counts as the statement does
    assert not statement.nominal
    assert (statement.unit, statement.neighbours) == ("user", "add/remove-one")
    assert any("Joint differential privacy" in caveat for caveat in statement.caveats)


def of_users(*rows: list[float]) -> Ratings:
    """Ratings of 1 to 5, a user's for each of ``rows``."""
    users = np.array([user for user, row in enumerate(rows) for _ in row], dtype=np.int32)
    items = np.array([item for row in rows for item in range(len(row))], dtype=np.int32)
    values = np.array([value for row in rows for value in row])
    return Ratings(users, items, values, len(rows), ITEMS, 1.0, 5.0)


@pytest.mark.parametrize(
    ("row", "adds"),
    [
        ([], 0.0),
        ([5.0], 0.0),
        ([3.0] * 4, 1 / 4 - 1),  # as if one squared deviation were the usual one
        ([1.0, 5.0] * 3, 1.0),  # the most that a scale allows, cut at twice the usual
        ([2.0, 4.0], (2 / (4 * offsets_module.USER_SD) ** 2 + 1) / 2 - 1),
    ],
)
def test_what_a_user_adds_to_the_spread(row: list[float], adds: float) -> None:
    alone, others, all_ = (
        float(offsets_module._variances(MemoryGroup(of_users(*rows)))[0])
        for rows in ([row, []], [[1.0, 2.0], []], [[1.0, 2.0], row])
    )
    assert alone == pytest.approx(adds, abs=1e-12)
    assert all_ == pytest.approx(others + alone, abs=1e-12)


@pytest.mark.parametrize(
    ("mean", "std", "spread"),
    [
        (0.0, 0.0, 1.0),
        (-0.75, 0.0, 0.5),
        (-1.0, 0.0, 0.1),
        (1.0, 0.0, math.sqrt(2)),
        (-1.0, 0.5, 0.707),
    ],
)
def test_the_spread_is_pulled_to_the_usual_one_as_noise_asks(
    mean: float, std: float, spread: float
) -> None:
    assert offsets_module._spread(mean, std) == pytest.approx(spread, abs=0.01)


def test_narrow_ratings_are_clipped_as_wide_ones_are() -> None:
    """What leaves is in units of the spread, so that the planned sensitivity holds for any."""
    wide = table(0)
    narrow = replace(wide, values=3 + 0.3 * (wide.values - 3))
    weights, offsets = np.ones(ITEMS), np.linspace(-1, 1, ITEMS)
    released = [
        offsets_module._deviations(MemoryGroup(one), weights, factor * offsets, 2, factor)
        for one, factor in ((wide, 1.0), (narrow, 0.3))
    ]
    assert np.allclose(released[0], released[1], rtol=0, atol=1e-12)
    alone = narrow.take(narrow.users == 0)
    own = offsets_module._deviations(MemoryGroup(alone), weights, 0.3 * offsets, 2, 0.3)
    assert np.linalg.norm(own) == pytest.approx(0.8)


@pytest.mark.parametrize("name", solvers("gaussian"))
def test_no_plan_reads_a_rating(name: str) -> None:
    """Two tables of one shape and scale, nothing else in common.

    Every algorithm makes the same releases, in the same order.
    """
    first, second = (
        [step.releases for step in solvers("gaussian")[name](table(seed), np.random.default_rng(0))]
        for seed in (0, 1)
    )
    assert first == second
    assert any(first)


def test_other_peoples_ratings_are_drawn_alike_whoever_is_there() -> None:
    ratings = table(0)
    some = ratings.users != 3
    assert np.array_equal(lottery(ratings, 7)[some], lottery(ratings.take(some), 7))
    draws = np.concatenate([lottery(ratings, salt) for salt in range(400)])
    assert abs(draws.mean() - 0.5) < 5 / math.sqrt(12 * draws.size)
    assert not np.array_equal(lottery(ratings, 1), lottery(ratings, 2))


def test_first_k_takes_the_lowest_of_each_user() -> None:
    users = np.array([1, 0, 1, 1, 0, 4])
    chosen = first_k(users, np.array([3.0, 1.0, 1.0, 2.0, 0.0, 9.0]), 2)
    assert chosen.tolist() == [False, True, True, True, True, True]
    assert first_k(np.empty(0, dtype=int), np.empty(0), 2).size == 0


@pytest.mark.parametrize("norm", [1, 2])
def test_weights_in_place_of_sampling(norm: int) -> None:
    """Σ ω² = k for every user, and Σ ω ≤ k where the noise asks for it.

    Rarer items weigh more.
    """
    ratings = table(0)
    counts = np.bincount(ratings.items, minlength=ITEMS).astype(float)
    by_user, by_item = weights_of(ratings, np.ones(len(ratings), dtype=bool), counts, 3, norm)
    weights = by_user[ratings.users] * by_item[ratings.items]
    squares = np.bincount(ratings.users, weights**2, minlength=USERS)
    assert np.all(squares <= 3 * (1 + 1e-12))
    if norm == 1:
        assert np.all(np.bincount(ratings.users, weights) <= 3 * (1 + 1e-12))
    else:
        assert np.allclose(squares, 3)
    assert by_item[np.argmin(counts)] == by_item.max()


# --- moments: sensitivities and reading through noise


@pytest.mark.parametrize(
    ("n_items", "settings", "learned"),
    [
        (77, {}, 77),
        (250, {}, 250),
        (1000, {}, 250),
        (1682, {}, 253),
        (3706, {}, 556),
        (3706, {"item_share": 0.03}, 112),
        (1000, {"rank": 256}, 256),
    ],
)
def test_few_items_are_all_learned(n_items: int, settings: dict[str, Any], learned: int) -> None:
    assert n_frequent(n_items, DPALSConfig(**settings)) == learned


# --- bad input


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"item_share": 0.1}, "item_share = 0.1 is not allowed: it must be at least 0.222 here"),
        (
            {"budget": None, "sigma_right": 0.0, "sigma_preparation": 1.0},
            "sigma_right = 0.0 is not allowed",
        ),
        (
            {"budget": None, "sigma_right": 1.0, "sigma_preparation": 0.0},
            "private=False is how to run without noise",
        ),
        ({"budget": None}, "budget is missing"),
        ({"private": False}, "private = False is not allowed"),
        ({"sigma_right": 2.0}, "sigma_right = 2.0 is not allowed: it must be left out"),
        ({"sigma_preparation": 1.0}, "alone cost(s) with the noise chosen for it"),
        ({"projection": "none"}, "projection = 'none'"),
        ({"rank": 10}, "rank = 10 is not allowed"),
        ({"items_per_user": 0}, "items_per_user = 0"),
    ],
)
def test_bad_settings_of_dpals_are_told(knobs: dict[str, Any], words: str) -> None:
    knobs = {"rank": 2, "budget": Budget(epsilon=1.0), **knobs}
    with pytest.raises(ParameterError, match=re.escape(words)):
        list(dpals(table(0), papers_dpals(**knobs), np.random.default_rng(0), 1))


def test_bad_budgets_and_scales_are_told() -> None:
    ratings = table(0)
    with pytest.raises(ParameterError, match="epsilon = 0"):
        Budget(epsilon=0)
    with pytest.raises(ParameterError, match="mechanism = 'staircase'"):
        Budget(epsilon=1, family="staircase")
    flat = replace(ratings, low=3.0, high=3.0, values=np.full(len(ratings), 3.0))
    with pytest.raises(ParameterError, match="rating scale = '3 to 3'"):
        list(one_shot_moments(flat, MomentsConfig(rank=1), np.random.default_rng(0), 1))


def test_more_items_per_user_than_anybody_rated() -> None:
    """Nobody is sampled then: every rating takes part, and the noise is still that of k."""
    ratings = table(0)
    for sampling in ("adaptive", "uniform"):
        config = papers_dpals(
            rank=2, items_per_user=10_000, sampling=sampling, budget=Budget(epsilon=1.0)
        )
        step = next(dpals(ratings, config, np.random.default_rng(0), 1))
        assert np.isfinite(step.model.predict(ratings.users, ratings.items)).all()
        (gram,) = (r for r in step.releases if r.what.startswith("Gram"))
        assert gram.l2_sensitivity == pytest.approx(math.sqrt(ITEMS))


def test_a_rating_outside_the_clip_counts_as_one_at_its_edge() -> None:
    ratings = table(0)
    for start in ("random", "power"):
        config = papers_dpals(rank=2, start=start, budget=Budget(epsilon=1.0))
        factors = []
        for rating in (400.0, 5.0):
            values = ratings.values.copy()
            values[5] = rating
            *_, last = dpals(replace(ratings, values=values), config, np.random.default_rng(0), 1)
            factors.append(last.model.item_factors)
        assert np.array_equal(*factors)


RATINGS = st.one_of(
    st.floats(1, 5), st.sampled_from([1.7e308, -1.7e308, 5e-324, -0.0, 1.0, 5.0, 41.0, 1e9])
)


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("name", solvers("gaussian"))
@settings(max_examples=15)
@given(
    user=st.integers(0, USERS - 2),
    rows=st.tuples(*[st.dictionaries(st.integers(0, ITEMS - 1), RATINGS)] * 2),
    seed=st.integers(0, 3),
)
def test_whatever_one_user_says_nothing_else_moves(
    name: str, family: str, user: int, rows: tuple[dict[int, float], ...], seed: int
) -> None:
    """A user with any row of ratings, no row, and another row: with the released numbers held
    fixed, what goes into each release moves by at most its sensitivity from no row to any (so by
    twice that from row to row), and nobody else's part of the model moves at all.
    """
    others = table(seed).take(table(seed).users != user)
    solver = solvers(family)[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments_module, "WORTH_IT", 0.0)
        patch.setattr(recommending_module, "WORTH_IT", 0.0)
        first = run(patch, solver, others, None)
        planned = {release.what: release for release in first.made}
        for row in rows:
            with_row = replace(
                others,
                users=np.append(others.users, np.full(len(row), user, np.int32)).astype(np.int32),
                items=np.append(others.items, np.array(list(row), np.int32)).astype(np.int32),
                values=np.append(others.values, np.array(list(row.values()), float)),
            )
            again = run(patch, solver, with_row, first)
            assert [what for what, _ in again.exact] == [what for what, _ in first.exact]
            for (what, a), (_, b) in zip(first.exact, again.exact, strict=True):
                (release,) = (planned[n] for n in NAMES[what].split("|") if n in planned)
                assert np.abs(b - a).sum() <= release.l1_sensitivity * (1 + 1e-9) + 1e-12, what
                assert np.linalg.norm(b - a) <= release.l2_sensitivity * (1 + 1e-9) + 1e-12, what
                most = release.linf_sensitivity or release.l2_sensitivity
                assert np.abs(b - a).max(initial=0) <= most * (1 + 1e-9) + 1e-12, what
            np.testing.assert_array_equal(first.last.item_factors, again.last.item_factors)
            before, now = (np.delete(one.last.user_factors, user, axis=0) for one in (first, again))
            np.testing.assert_allclose(before, now, rtol=0, atol=1e-12)


def test_the_leak_checks_look_at_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments_module, "WORTH_IT", 0.0)
    for family in ("gaussian", "laplace"):
        solver = solvers(family)["moments, hardly any noise"]
        for seed in range(3):
            last = run(monkeypatch, solver, table(seed), None).last
            offsets_and_profile = 4
            assert last.item_factors.shape[1] > offsets_and_profile
            assert last.item_factors[:, offsets_and_profile:].any()


def test_nobody_and_nothing_rated() -> None:
    """Users without ratings get a defined prediction.

    Items without ratings still get noisy factors, as their silence would tell.
    """
    ratings = table(0)
    few = ratings.take((ratings.users != 2) & (ratings.items != 4))
    for name, solver in solvers("gaussian").items():
        for step in solver(few, np.random.default_rng(0)):
            assert np.isfinite(step.model.block(np.arange(USERS))).all(), name
    config = papers_dpals(rank=2, item_share=1.0, budget=Budget(epsilon=1.0))
    for step in dpals(few, config, np.random.default_rng(0), 1):
        assert np.any(step.model.item_factors[4, :2] != 0)


@pytest.mark.parametrize("penalty", [0.0, 1e-9])
def test_no_user_decides_whether_there_is_a_result(penalty: float) -> None:
    """Much noise and a small λ make long factors, with which one user's system is singular to
    rounding; all others have fewer ratings than factors.
    """
    rng = np.random.default_rng(0)
    users, items = (
        np.repeat(np.arange(200), 3),
        rng.integers(0, 13, 600) + np.tile([0, 13, 26], 200),
    )
    users, items = np.append(users, np.full(40, 200)), np.append(items, np.arange(40))
    values = rng.uniform(1, 5, len(users))
    ratings = Ratings.checked(users, items, values, n_users=201, n_items=40, low=1, high=5)
    knobs = {"rank": 8, "reg": 1e-3, "item_share": 0.7, "global_penalty": penalty}
    config = DPALSConfig(budget=Budget(epsilon=0.1), **knobs)
    for seed in range(8):
        *_, last = dpals(ratings, config, np.random.default_rng(seed), 1)
        assert np.isfinite(last.model.predict(users, items)).all()


@pytest.mark.parametrize("name", [n for n in solvers("gaussian") if "like" not in n])
def test_nobody_overflows_a_sum(name: str) -> None:
    """Whatever a user says counts as at most ten widths off the scale, which is public."""
    ratings, solver = table(0), solvers("gaussian")[name]
    said = ratings.values.copy()
    said[ratings.users == 3] = 1.7e308
    said[ratings.users == 4] = -1.7e308
    said[ratings.users == 5] = 5e-324
    *_, loud = solver(replace(ratings, values=said), np.random.default_rng(0))
    inside = replace(ratings, values=np.clip(said, 1.0 - 40.0, 5.0 + 40.0))
    *_, quiet = solver(inside, np.random.default_rng(0))
    assert np.isfinite(loud.model.predict(ratings.users, ratings.items)).all()
    assert np.array_equal(loud.model.item_factors, quiet.model.item_factors)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-1.7e308, 1.7e308),
        (1e200, 2e200),
        (1e60, 5e60),
        (0.0, 5e-324),
        (1e-60, 5e-60),
        (1e15, 1e15 + 1),
        (3.0, 3.0),
    ],
)
def test_scales_in_which_nothing_can_be_clipped_are_refused(low: float, high: float) -> None:
    odd = replace(table(0), low=low, high=high)
    for name, solver in solvers("gaussian").items():
        if "like" not in name:
            with pytest.raises(ParameterError, match="rating scale = "):
                list(solver(odd, np.random.default_rng(0)))


@pytest.mark.parametrize("factor", [1e39, 1e-9])
def test_scales_near_the_ends_of_what_is_allowed_give_the_same_model(factor: float) -> None:
    ratings = table(0)
    for name, solver in solvers("gaussian").items():
        if "like" in name or "fewer items" in name or "implicit" in name:
            continue  # λ and penalties there are in absolute terms
        scaled = replace(
            ratings, values=ratings.values * factor, low=1.0 * factor, high=5.0 * factor
        )
        *_, last = solver(scaled, np.random.default_rng(0))
        predicted = last.model.predict(ratings.users, ratings.items) / factor
        assert np.isfinite(predicted).all(), name


def test_a_stopped_run_states_its_whole_plan() -> None:
    """Whoever stops has seen errors that are computed without noise."""
    for name in ("dpals", "fw", "dpals weights, power start", "dpals on likes, with visitors"):
        ledger, said = Ledger(), []
        for step in solvers("gaussian")[name](table(0), np.random.default_rng(0)):
            ledger = ledger.plus(step.releases)
            said.append(state(ledger.plus(step.rest), 1e-5, made=ledger.draws))
        assert state(ledger, 1e-5) == said[-1], name
        for early in said[:-1]:
            assert early.epsilon == pytest.approx(said[-1].epsilon, rel=1e-12), name
            assert "planned releases were made" in early.caveats[0]
