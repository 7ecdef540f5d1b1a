"""Trade-off functions, against a reference that knows nothing but densities; and the audits that
hold claims against them.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmc_core.errors import ParameterError
from dpmc_core.experiments.tasks import audit as audit_module
from dpmc_core.experiments.tasks.audit import audit, audit_steps
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger, Release, account
from dpmc_core.privacy.attack import Attack, Event, attack, proved
from dpmc_core.privacy.tradeoff import of_ledger, of_mechanism, of_profile

ALARMS = np.array([0.0, 1e-6, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99, 1.0])
NOISES = (
    Gaussian(scale=1.3),
    Laplace(scale=0.7),
    Huber(alpha=1.5, scale=0.8),
    Huber(alpha=0.2, scale=1.0),
    Staircase.with_epsilon(1.2, 1.0),
)


def release(noise: Mechanism, count: int = 1, coordinates: int = 1) -> Release:
    return Release(
        what="x",
        mechanism=noise,
        l1_sensitivity=1.0,
        l2_sensitivity=1.0,
        unit="user",
        neighbours="add/remove-one",
        coordinates=coordinates,
        count=count,
        sound=True,
        source="a test",
    )


def by_likelihood_ratio(noise: Mechanism, shift: float, alarms: np.ndarray) -> np.ndarray:
    """Misses of the best test: Neyman & Pearson on a fine grid of outputs, randomised at ties."""
    x = np.linspace(-60.0, 60.0, 2_400_001)
    p, q = (np.asarray(noise.pdf(x - m)) * (x[1] - x[0]) for m in (shift, 0.0))
    order = np.argsort(-(np.log(p + 1e-300) - np.log(q + 1e-300)), kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(q[order])])
    found = np.concatenate([[0.0], np.cumsum(p[order])])
    return 1 - np.interp(alarms, reached, found)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: f"{n.name}")
@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_a_mechanisms_curve_is_that_of_the_best_test(noise: Mechanism, shift: float) -> None:
    curve = of_mechanism(noise, shift)
    inner = ALARMS[2:-1]
    # the grid of outputs is exact to about its step times the density
    assert curve.misses(inner) == pytest.approx(by_likelihood_ratio(noise, shift, inner), abs=3e-4)
    assert curve.misses(0.0) <= 1
    assert curve.misses(1.0) == 0


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: f"{n.name}")
def test_curves_are_what_trade_off_functions_are(noise: Mechanism) -> None:
    """Falling, convex, below 1 − α, and for symmetric noise their own inverse."""
    curve, alarms = of_mechanism(noise, 1.0), np.linspace(0, 1, 401)
    misses = curve.misses(alarms)
    assert (np.diff(misses) <= 1e-12).all()
    assert (np.diff(misses, 2) >= -1e-9).all()
    assert (misses <= 1 - alarms + 1e-15).all()
    inside = misses > 1e-9
    assert curve.misses(misses[inside]) == pytest.approx(alarms[inside], abs=1e-4)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: f"{n.name}")
def test_a_curve_and_a_profile_say_the_same(noise: Mechanism) -> None:
    """δ(ε) = max over α of 1 − f(α) − e^ε·α (Dong, Roth & Su 2022, Proposition 2.12)."""
    curve, alarms = of_mechanism(noise, 1.0), np.linspace(0, 1, 20_001)
    for epsilon in (0.0, 0.3, 0.8):
        told = float(np.max(curve.found(alarms) - math.exp(epsilon) * alarms))
        assert told == pytest.approx(float(noise.delta(epsilon, 1.0)), abs=1e-4)


def test_gaussian_releases_compose_to_one() -> None:
    ledger = Ledger((release(Gaussian(scale=2.0), 3), release(Gaussian(scale=4.0), 5, 20)))
    curve, mu = of_ledger(ledger), math.sqrt(3 / 4 + 5 / 16)
    assert curve.mu == pytest.approx(mu, rel=1e-14)
    assert curve.exact
    expected = stats.norm.cdf(stats.norm.ppf(1 - ALARMS) - mu)
    assert curve.misses(ALARMS) == pytest.approx(expected, abs=1e-14)


def test_a_ledgers_curve_is_never_above_the_truth() -> None:
    """Two Laplace numbers: their losses' distribution against a grid of pairs of outputs."""
    noise, points = Laplace(scale=2.0), 2801
    x = np.linspace(-35.0, 35.0, points)
    p, q = (np.asarray(noise.pdf(x - m)) * (x[1] - x[0]) for m in (1.0, 0.0))
    both_p, both_q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    order = np.argsort(-np.log(both_p / both_q), kind="stable")
    reached, found = (np.concatenate([[0.0], np.cumsum(m[order])]) for m in (both_q, both_p))
    curve = of_ledger(Ledger((release(noise, 2),)))
    inner = np.array([0.01, 0.05, 0.2, 0.5, 0.8])
    truth = 1 - np.interp(inner, reached, found)
    assert (curve.misses(inner) <= truth + 2e-4).all()
    assert curve.misses(inner) == pytest.approx(truth, abs=2e-3)
    # and it is no worse than any (ε, δ) that the accountants tell
    like, unlike = release(Huber(alpha=1.0), 3), release(Laplace(scale=500.0), 5_000)
    for ledger, off in (
        (Ledger((release(noise, 2), like)), 2e-3),
        (Ledger((release(Huber(alpha=1.5, scale=0.25)), unlike)), 1e-4),
    ):
        curve = of_ledger(ledger)
        for delta in (1e-5, 1e-3, 0.05):
            known = [a for a in account(ledger, delta) if math.isfinite(a.epsilon)]
            few = of_profile([a.epsilon for a in known], [a.delta for a in known])
            assert (curve.misses(ALARMS) >= few.misses(ALARMS) - off).all()


def test_where_there_is_no_distribution_a_few_pairs_stand() -> None:
    ledger = Ledger((release(Staircase.with_epsilon(0.5, 1.0), 4),))
    curve = of_ledger(ledger)
    assert curve.how == "the tightest ε at a few δ"
    pure = of_profile([2.0], [0.0])
    assert (curve.misses(ALARMS) >= pure.misses(ALARMS) - 1e-12).all()


@given(st.floats(0.0, 5.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_one_pair_is_the_region_of_kairouz(epsilon: float, delta: float, alarms: float) -> None:
    misses = float(of_profile([epsilon], [delta]).misses(alarms))
    for a, b in ((alarms, misses), (misses, alarms)):
        assert a + math.exp(epsilon) * b >= 1 - delta - 1e-9


def test_what_is_no_curve_is_refused() -> None:
    for call, said in (
        (lambda: of_profile([], []), "deltas = 0"),
        (lambda: of_profile([-1.0], [0.1]), "epsilon = -1.0"),
        (lambda: of_profile([1.0], [1.1]), "delta = 1.1"),
        (lambda: of_ledger(Ledger()), "ledger = 'without noise'"),
        (lambda: of_mechanism(Laplace(scale=1.0), -1.0), "sensitivity"),
        (lambda: of_mechanism(Laplace(scale=1.0), 1.0).misses(1.5), "false alarms = 1.5"),
        (lambda: of_mechanism(Laplace(scale=1.0), 1.0).misses(math.nan), "false alarms = nan"),
    ):
        with pytest.raises(ParameterError, match=said):
            call()


def test_pairs_of_rare_events_prove_no_more_than_is_true_as_often_as_they_say() -> None:
    """Laplace noise of scale 1: both tails are exactly e times likelier on their own side."""
    rng, noise, over = np.random.default_rng(11), Laplace(scale=1.0), 0
    event = Event(3.0, True, True, -2.0)
    for _ in range(600):
        counted = (1 + noise.sample(4000, rng), noise.sample(4000, rng))
        epsilon, _, _ = proved(event, counted, 0.0, 0.2)
        over += epsilon > 1.0
    # binomial with p ≤ 0.2: mean 120, sd 9.8; four of them
    assert 0 < over <= 120 + 4 * 9.8


def test_less_noise_than_claimed_is_found_by_the_curve() -> None:
    """Gaussian noise of .8 of the claimed scale: invisible to ε alone, clear to the curve."""
    noise, rng = Gaussian.with_epsilon(1.0, 1.0, delta=1e-5), np.random.default_rng(4)
    claim, found, by_epsilon = of_mechanism(noise, 1.0), 0, 0
    for _ in range(10):
        drawn = [m + 0.8 * noise.sample(100_000, rng) for m in (1.0, 0.0)]
        told = attack(*drawn, delta=1e-5, claim=claim)
        assert told.test is not None
        found += told.test.exceeded
        by_epsilon += told.bound.epsilon > 1.0
    assert found == 10
    assert by_epsilon <= 2


def test_a_million_outputs_prove_most_of_a_gaussians_epsilon() -> None:
    result = audit(AuditSpec(mechanism="gaussian", runs=1_000_000, seed=3))
    assert result.epsilon_if_gaussian is not None
    assert 0.94 <= result.epsilon_if_gaussian <= 1.0  # if it is Gaussian
    assert 0.65 <= result.attack.bound.epsilon <= 1.0  # whatever it is
    assert not result.beaten["claimed"]


@pytest.mark.parametrize("seed", range(3))
def test_half_the_noise_is_found_whatever_the_seed(seed: int) -> None:
    spec = AuditSpec(mechanism="gaussian", case="half-noise", runs=20_000, seed=seed)
    result = audit(spec)
    assert result.beaten == {"claimed": True}
    assert "is wrong" in result.verdict


@pytest.mark.nightly
def test_looking_again_and_again_costs_no_confidence() -> None:
    """A claim that holds exactly, audits at 95 % with ten looks each: any of them wrong in at most
    5 % (binomial with p ≤ .05: mean 3 of 60, sd 1.7; four of them). A thousand of them are in
    ``benchmarks.audits``.
    """
    wrong = 0
    for seed in range(60):
        spec = AuditSpec(runs=400, confidence=0.95, seed=seed)
        looks = list(audit_steps(spec))
        assert len(looks) == 10
        wrong += any(result.beaten["claimed"] for result in looks)
    assert wrong <= 3 + 4 * 1.7


@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_all_looks_together_spend_the_error_once(
    confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Bonferroni: what each look may err by adds up to what the audit may err by at most."""
    spent = []

    def recorded(*outputs: Any, **named: Any) -> Attack:
        spent.append(1 - named["confidence"])
        return attack(*outputs, **named)

    monkeypatch.setattr(audit_module, "attack", recorded)
    *_, last = audit_steps(AuditSpec(target="als", runs=120, confidence=confidence))
    assert len(spent) == 11
    assert sum(spent) <= (1 - confidence) * (1 + 1e-9)
    assert last.attack.bound.confidence == confidence


def test_looks_are_planned() -> None:
    """Between looks nothing is attacked, and the last look is the same whoever watched."""
    spec = AuditSpec(target="als", runs=120)
    seen = list(audit_steps(spec))
    assert all(r.looked_at == 8 or r.looked_at % 12 == 0 for r in seen)
    assert all(r.looked_at <= r.runs for r in seen)
    assert seen[-1].looked_at == 120
    assert audit(spec).attack.bound == seen[-1].attack.bound
    assert seen[0].attack.bound.confidence == spec.confidence
