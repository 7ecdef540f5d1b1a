"""Privacy of the user-level algorithms.

What one user can move, that nobody else's part moves with them, and what is planned.
"""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion import moments as moments_module
from dpmc_core.completion import offsets as offsets_module
from dpmc_core.completion import recommending as recommending_module
from dpmc_core.completion.common.population import MemoryGroup
from dpmc_core.completion.common.step import FactorModel, Step
from dpmc_core.completion.dpals.best import BestConfig
from dpmc_core.completion.dpals.plan import SAMPLING, DPALSConfig, n_frequent
from dpmc_core.completion.dpals.preprocessing import first_k, lottery, weights_of
from dpmc_core.completion.frank_wolfe import FrankWolfeConfig
from dpmc_core.completion.moments import MomentsConfig
from dpmc_core.completion.offsets import PrivateMeansConfig
from dpmc_core.completion.private_svd import PrivateSVDConfig
from dpmc_core.completion.recommending import PopularConfig
from dpmc_core.completion.sgld import SGLDConfig
from dpmc_core.datasets.ratings import ItemFeatures, Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.tasks.solve import with_ledgers
from dpmc_core.privacy import state
from dpmc_core.privacy.budget import Budget, GivenSigma
from tests.completion.references import papers_dpals, ratings_in
from tests.steps import Tape, last_of, parts_used, spending, steps_of

R = np.random.default_rng
USERS, ITEMS = 14, 9


def table(seed: int = 0) -> Ratings:
    rng = R(seed)
    rated = rng.random((USERS, ITEMS)) < 0.6
    rated[:, 0] = True
    features = ItemFeatures.checked(("a", "b", "c"), R(77).random((ITEMS, 3)), ITEMS)
    return ratings_in(rated * rng.integers(1, 6, rated.shape), item_features=features)


def liked(ratings: Ratings) -> Ratings:
    """What ``datasets.implicit.likes`` makes of a table, but an empty table where nothing was
    liked: here somebody may be alone.
    """
    part = ratings.take(ratings.values >= 4)
    return replace(part, values=np.ones(len(part)), low=-1.0, high=1.0)


MOMENTS = MomentsConfig(rank=3)
FEATURES = MomentsConfig(rank=3, item_features="shrink")
SMALL = {"rank": 2, "reg": 1.0, "items_per_user": 3, "item_share": 0.7}
# every algorithm that claims to protect users, in variants that release different things
VARIANTS: dict[str, Any] = {
    "moments": MOMENTS,
    "moments, hardly any noise": MOMENTS,
    "moments, public features": FEATURES,
    "moments, public features, hardly any noise": FEATURES,
    "moments, first stage alone": MOMENTS,
    "most liked": PopularConfig(),
    "moments of likes": MomentsConfig(rank=2),
    "moments of likes, public features": MomentsConfig(rank=2, item_features="shrink"),
    "means": PrivateMeansConfig(),
    "svd": PrivateSVDConfig(rank=2),
    "sgld": SGLDConfig(rank=2, reg=1.0, items_per_user=3, rounds=3),
    "best of dpals": BestConfig(**SMALL, mean_runs=4.0, centring="mean"),
    "fw": FrankWolfeConfig(iterations=3, items_per_user=3),
    **{
        name: papers_dpals(**SMALL | knobs)
        for name, knobs in {
            "dpals": {},
            "dpals, public features": {"item_features": "shrink"},
            "dpals uniform, power start, user means": {
                "sampling": "uniform",
                "start": "power",
                "centring": "user",
            },
            "dpals weights, implicit": {
                "sampling": "weights",
                "global_penalty": 0.5,
                "user_exponent": 0.5,
            },
            "dpals weights, fewer items than k": {
                "sampling": "weights",
                "items_per_user": 9,
                "item_share": 0.3,
            },
            "dpals weights, power start": {
                "sampling": "weights",
                "start": "power",
                "centring": "none",
            },
            "dpals without counts": {
                "item_share": 1.0,
                "sampling": "uniform",
                "item_exponent": 0.0,
                "centring": "none",
            },
            "dpals on likes, with visitors": {"item_share": 1.0, "global_penalty": 0.3},
            "dpals by gradient steps": {
                "solve": "gradient",
                "gradient_steps": 3,
                "clip_norm": 0.25,
                "user_sample": "part",
            },
            "dpals weights, by gradient steps": {
                "sampling": "weights",
                "solve": "gradient",
                "value_clip": 0.5,
            },
            "dpals, all of everybody": {
                "items_per_user": 50,
                "item_share": 1.0,
                "orthonormal": "on",
            },
            "dpals weights, another exponent, lines 12 and 13": {
                "sampling": "weights",
                "weight_exponent": -1.5,
                "orthonormal": "on",
                "user_sample": "part",
            },
        }.items()
    },
}
OF_RATINGS = [name for name in VARIANTS if "like" not in name]
every_variant = pytest.mark.parametrize("name", VARIANTS)


def run(name: str, ratings: Ratings, family: str = "gaussian") -> list[Step]:
    """All steps of a variant. On likes the last user takes no part: a visitor has their row."""
    # noise that suits a total ε of 3 leaves no factors of so few
    budget = Budget(epsilon=20_000.0 if "hardly any" in name else 3.0, family=family)
    config, task, visitors = replace(VARIANTS[name], budget=budget), "rate", ()
    if name not in OF_RATINGS:
        task = "recommend"
        strangers = liked(table(9))
        visitors = (replace(strangers.take(strangers.users == USERS - 1), name="visitors"),)
        ratings = liked(ratings.take(ratings.users < USERS - 1))
    with pytest.MonkeyPatch.context() as patch:
        if "first stage" not in name:  # fourteen users are too few to plan the second one
            patch.setattr(moments_module, "WORTH_IT", 0.0)
            patch.setattr(recommending_module, "WORTH_IT", 0.0)
        return [*steps_of(config, ratings, 1, 1, *visitors, task=task)]


def record(
    name: str, family: str, ratings: Ratings, replayed: Tape | None = None
) -> tuple[Tape, FactorModel]:
    """Run a variant, with the outputs of ``replayed`` in place of its own releases if given."""
    tape = Tape(replayed)
    with pytest.MonkeyPatch.context() as patch:
        tape.record(patch)
        *_, last = run(name, ratings, family)
    return tape, last.model


LISTS = ("users", "items", "values")
STRANGE = (1.7e308, -1.7e308, 5e-324, -0.0, 41.0, 1e9)


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@every_variant
def test_one_user_moves_a_release_by_their_own_part_and_no_more_than_planned(
    name: str, family: str
) -> None:
    """With the outputs of releases held fixed, and whatever one user says: a release of everybody
    is that of all others plus that of the one alone, the one's part is within the recorded
    sensitivities, and nobody else's part of the model moves at all. Anything that one user does to
    another's part (a mean over users, a shared draw) breaks it.
    """
    tightest = 0.0
    for seed in range(5):
        everybody, user, rng = table(seed), (5 * seed) % (USERS - 1), R(seed)
        one = everybody.users == user
        own, others = everybody.take(one), everybody.take(~one)
        without, before = record(name, family, others)
        # what the leak checks look at has factors, besides offsets and profile
        assert "hardly any" not in name or before.item_factors[:, 4:].any()
        for strange in (False, True, True):
            row = own
            if strange:
                items = rng.choice(ITEMS, rng.integers(ITEMS + 1), replace=False).astype(np.int32)
                strange_row = {"items": items, "values": rng.choice(STRANGE, items.size)}
                row = replace(own, users=np.full(items.size, user, np.int32), **strange_row)
            both = (np.append(getattr(others, k), getattr(row, k)) for k in LISTS)
            with_row = replace(others, **dict(zip(LISTS, both, strict=True)))
            (whole, now), (alone, _) = (
                record(name, family, ratings, without) for ratings in (with_row, row)
            )
            for (release, rest), (planned, total), (_, part) in zip(
                without.sums, whole.sums, alone.sums, strict=True
            ):
                assert planned == release
                assert np.allclose(total, rest + part, rtol=0, atol=1e-9), (release.what, user)
                parts = parts_used(release, part)
                assert parts.max() <= 1 + 1e-9, (release.what, user)
                tightest = max(tightest, *parts[:2])
            np.testing.assert_array_equal(before.item_factors, now.item_factors)
            vectors = (np.delete(m.user_factors, user, axis=0) for m in (before, now))
            np.testing.assert_allclose(*vectors, rtol=0, atol=1e-12)
    # the bounds are near: an upper triangle's ℓ2 norm is between 1/√2 and 1 of ‖a‖₂², its ℓ1 norm
    # between ½ and 1 of ‖a‖₁²
    assert tightest > (0.7 if family == "gaussian" else 0.5)


SPENT = ["moments", "dpals weights, implicit", "fw", "most liked", "dpals without counts"]
SPENT += ["dpals by gradient steps", "sgld", "best of dpals"]
STOPPED = ["dpals", "dpals weights, power start", "dpals on likes, with visitors"]


@pytest.mark.parametrize(
    ("name", "family"),
    [*((name, "gaussian") for name in SPENT + STOPPED), *((name, "huber") for name in SPENT)],
)
def test_a_run_spends_its_budget_and_states_all_of_it_wherever_it_stops(
    name: str, family: str
) -> None:
    """Whoever stops has seen errors that are computed without noise."""
    ledgers = [ledgers for _, *ledgers in with_ledgers(iter(run(name, table(), family)))]
    *stopped, statement = (
        state(planned, 1e-5, draws_so_far=ledger.draws) for ledger, planned in ledgers
    )
    assert state(ledgers[-1][0], 1e-5) == statement
    assert 3.0 * 0.99999 < statement.epsilon <= 3.0  # the plan counts as the statement does
    assert not statement.nominal
    assert (statement.unit, statement.neighbours) == ("user", "add/remove-one")
    assert any("Joint differential privacy" in caveat for caveat in statement.caveats)
    for early in stopped:
        assert early.epsilon == pytest.approx(statement.epsilon, rel=1e-12)
        assert "planned releases were made" in early.caveats[0]


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
    for other in ([], [1.0, 2.0]):
        both = ratings_in([values + [0.0] * (ITEMS - len(values)) for values in (other, row)])
        with_row, without = (
            float(offsets_module._variances(MemoryGroup(ratings))[0])
            for ratings in (both, both.take(both.users == 0))
        )
        assert with_row - without == pytest.approx(adds, abs=1e-12)


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
    wide = table()
    narrow = replace(wide, values=3 + 0.3 * (wide.values - 3))

    def deviations(ratings: Ratings, spread: float) -> np.ndarray:
        weights, offsets = np.ones(ITEMS), spread * np.linspace(-1, 1, ITEMS)
        return offsets_module._deviations(MemoryGroup(ratings), weights, offsets, 2, spread)

    assert np.allclose(deviations(wide, 1.0), deviations(narrow, 0.3), rtol=0, atol=1e-12)
    own = deviations(narrow.take(narrow.users == 0), 0.3)
    assert np.linalg.norm(own) == pytest.approx(0.8)


@every_variant
def test_no_plan_reads_a_rating_and_nobody_needs_one(name: str) -> None:
    """Tables of one shape and scale, nothing else in common: every algorithm makes the same
    releases, in the same order. Users without ratings get a defined prediction, and items without
    ratings noisy factors, as their silence would tell.
    """
    ratings = table()
    empty = ratings.take((ratings.users != 2) & (ratings.items != 4))
    first, second, last = (run(name, given) for given in (ratings, table(1), empty))
    planned = [step.releases for step in first]
    assert any(planned)
    for steps in (second, last):
        assert [step.releases for step in steps] == planned
    for step in last:
        assert np.isfinite(step.model.block(np.arange(USERS))).all()
        if name == "dpals without counts":
            assert step.model.item_factors[4, :2].any()


def test_other_peoples_ratings_are_drawn_alike_whoever_is_there() -> None:
    ratings = table()
    some = ratings.users != 3
    assert np.array_equal(lottery(ratings, 7)[some], lottery(ratings.take(some), 7))
    draws = np.stack([lottery(ratings, salt) for salt in range(400)])
    assert abs(draws.mean() - 0.5) < 5 / math.sqrt(12 * draws.size)
    assert not np.array_equal(draws[1], draws[2])


def test_first_k_takes_the_lowest_of_each_user() -> None:
    ratings = replace(table().take(range(6)), users=np.array([1, 0, 1, 1, 0, 4]))
    chosen = first_k(ratings, np.array([3.0, 1.0, 1.0, 2.0, 0.0, 9.0]), 2)
    assert chosen.tolist() == [False, True, True, True, True, True]
    assert first_k(table().take([]), np.empty(0), 2).size == 0


@pytest.mark.parametrize("power", [-0.5, -1.5, 0.7])
@pytest.mark.parametrize("norm", [1, 2])
def test_weights_in_place_of_sampling(norm: int, power: float) -> None:
    """Σ ω² = k for every user, and Σ ω ≤ k where the noise asks for it, for any exponent."""
    ratings = table()
    counts = np.bincount(ratings.items, minlength=ITEMS).astype(float)
    inside = np.ones(len(ratings), dtype=bool)
    by_user, by_item = weights_of(ratings, inside, counts, 3, norm, power)
    weights = by_user[ratings.users] * by_item[ratings.items]
    squares = np.bincount(ratings.users, weights**2, minlength=USERS)
    assert np.all(squares <= 3 * (1 + 1e-12))
    if norm == 1:
        assert np.all(np.bincount(ratings.users, weights) <= 3 * (1 + 1e-12))
    else:
        assert np.allclose(squares, 3)
    assert by_item == pytest.approx(counts**power)


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
        ({"budget": None}, "private=False adds no noise"),
        ({"private": False}, "private = False is not allowed"),
        ({"solve": "gradient", "global_penalty": 1.0}, "must be 0 with gradient steps"),
        ({"sigma_preparation": 1.0}, "alone cost(s) with the noise chosen for it"),
        ({"rank": 10}, "rank = 10 is not allowed"),
        ({"implicit": True, "item_features": "shrink"}, "must be none for likes with DPALS"),
    ],
)
def test_bad_settings_of_dpals_are_told(knobs: dict[str, Any], words: str) -> None:
    knobs = {"rank": 2, "budget": Budget(epsilon=1.0), **knobs}
    with pytest.raises(ParameterError, match=re.escape(words)):
        last_of(papers_dpals(**knobs), table())


@pytest.mark.parametrize("name", ["dpals", "dpals weights, power start", "fw"])
def test_a_given_sigma_is_in_units_of_what_is_clipped(name: str) -> None:
    """A user moves the statistics of a step by √k, and by k what is one number for all ratings."""
    config = VARIANTS[name]
    _, ledger = spending(steps_of(replace(config, budget=GivenSigma(sigma=9.0)), table()))
    k, ratio = config.items_per_user, getattr(config, "gram_ratio", 1.0)
    for release in ledger.releases:
        shift = math.sqrt(k) / (ratio if release.what.startswith("Gram") else 1.0)
        assert release.l2_sensitivity / release.mechanism.std == pytest.approx(shift / 9)
    statistics = [r.count for r in ledger.releases if r.what.endswith(("all items", "rows"))]
    assert statistics == [config.iterations] * (1 if name == "fw" else 2)
    with pytest.raises(ParameterError, match="sigma = 0"):
        GivenSigma(sigma=0)


@pytest.mark.parametrize("sampling", SAMPLING)
def test_more_items_per_user_than_anybody_rated(sampling: str) -> None:
    """Nobody is sampled then: every rating takes part, and the noise is still that of k."""
    config = papers_dpals(
        rank=2, items_per_user=10_000, sampling=sampling, budget=Budget(epsilon=1.0)
    )
    step = next(steps_of(config, table()))
    assert np.isfinite(step.model.block(np.arange(USERS))).all()
    sensitivities = {release.what: release.l2_sensitivity for release in step.releases}
    assert sensitivities["Gram matrices of all items"] == pytest.approx(math.sqrt(ITEMS))


@pytest.mark.parametrize("penalty", [0.0, 1e-9])
def test_no_user_decides_whether_there_is_a_result(penalty: float) -> None:
    """Much noise and a small λ make long factors, with which one user's system is singular to
    rounding; all others have fewer ratings than factors.
    """
    rng = R(0)
    there = np.zeros((201, 40), dtype=bool)
    there[np.arange(200)[:, None], rng.integers([0, 13, 26], [13, 26, 39], (200, 3))] = True
    there[200] = True
    ratings = ratings_in(there * rng.uniform(1, 5, there.shape))
    knobs = {"rank": 8, "reg": 1e-3, "item_share": 0.7, "global_penalty": penalty}
    config = DPALSConfig(budget=Budget(epsilon=0.1), **knobs)
    for seed in range(8):
        last = last_of(config, ratings, seed)
        assert np.isfinite(last.model.predict(ratings.users, ratings.items)).all()


@pytest.mark.parametrize("name", OF_RATINGS)
def test_nobody_overflows_a_sum(name: str) -> None:
    """Whatever a user says counts as at most ten widths off the scale, which is public; with DPALS,
    unless it is centred by the user's own mean, as at most the scale's edge.
    """
    ratings, off = table(), 0.0 if "dpals" in name and "user means" not in name else 40.0
    extremes = {3: 1.7e308, 4: -1.7e308, 5: 5e-324, 6: 400.0}
    values = [extremes.get(u, v) for u, v in zip(ratings.users, ratings.values, strict=True)]
    *_, loud = run(name, replace(ratings, values=np.array(values)))
    *_, quiet = run(name, replace(ratings, values=np.clip(values, 1.0 - off, 5.0 + off)))
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
    for name in OF_RATINGS:
        with pytest.raises(ParameterError, match="rating scale = "):
            run(name, replace(table(), low=low, high=high))


@pytest.mark.parametrize("factor", [1e39, 1e-9])
def test_scales_near_the_ends_of_what_is_allowed_give_the_same_model(factor: float) -> None:
    ratings = table()
    scaled = replace(ratings, values=ratings.values * factor, low=1.0 * factor, high=5.0 * factor)
    for name in OF_RATINGS:
        if "fewer items" not in name and "implicit" not in name:  # λ there is in absolute terms
            *_, last = run(name, scaled)
            predicted = last.model.predict(ratings.users, ratings.items) / factor
            assert np.isfinite(predicted).all(), name
