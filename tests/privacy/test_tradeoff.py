"""Trade-off functions, against a reference that knows nothing but densities; and the audits that
hold claims against them.
"""

import math
from typing import Any

import numpy as np
import pytest

from dpmc_core.errors import ParameterError
from dpmc_core.experiments.tasks import audit as audit_module
from dpmc_core.experiments.tasks.audit import audit, audit_steps
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.attack import Attack, attack
from dpmc_core.privacy.tradeoff import of_ledger, of_mechanism, of_profile
from tests.privacy.helpers import ledger, mixed

ALARMS = np.array([0.0, 1e-6, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99, 1.0])
NOISES = (
    Gaussian(scale=1.3),
    Laplace(scale=0.7),
    Huber(alpha=1.5, scale=0.8),
    Huber(alpha=0.2, scale=1.0),
    Staircase.with_epsilon(1.2, 1.0),
)


def of_densities(noise: Mechanism, shift: float, reach: float, points: int) -> list[np.ndarray]:
    """The masses of noise that moved by ``shift``, and that did not, on a fine grid of outputs."""
    x = np.linspace(-reach, reach, points)
    return [np.asarray(noise.pdf(x - moved)) * (x[1] - x[0]) for moved in (shift, 0.0)]


def of_best_test(p: np.ndarray, q: np.ndarray, alarms: np.ndarray) -> np.ndarray:
    """Its misses: Neyman & Pearson, randomised at ties."""
    order = np.argsort(-(np.log(p + 1e-300) - np.log(q + 1e-300)), kind="stable")
    alarm, hit = (np.concatenate([[0.0], np.cumsum(masses[order])]) for masses in (q, p))
    return 1 - np.interp(alarms, alarm, hit)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_a_mechanisms_curve_is_that_of_the_best_test(noise: Mechanism, shift: float) -> None:
    curve = of_mechanism(noise, shift)
    inner = ALARMS[2:-1]
    # the grid of outputs is exact to about its step times the density
    expected = of_best_test(*of_densities(noise, shift, 60.0, 2_400_001), inner)
    assert curve.misses(inner) == pytest.approx(expected, abs=3e-4)
    assert curve.misses(0.0) <= 1
    assert curve.misses(1.0) == 0


def test_a_ledgers_curve_is_never_above_the_truth() -> None:
    """Two Laplace numbers: their losses' distribution against a grid of pairs of outputs."""
    noise, inner = Laplace(scale=2.0), np.array([0.01, 0.05, 0.2, 0.5, 0.8])
    pairs = [np.outer(masses, masses).ravel() for masses in of_densities(noise, 1.0, 35.0, 2801)]
    truth = of_best_test(*pairs, inner)
    curve = of_ledger(ledger(noise, 2))
    assert (curve.misses(inner) <= truth + 2e-4).all()
    assert curve.misses(inner) == pytest.approx(truth, abs=2e-3)


@pytest.mark.parametrize(
    ("book", "off"),
    [
        (mixed((Laplace(scale=2.0), 2), (Huber(alpha=1.0), 3)), 2e-3),
        (mixed((Huber(alpha=1.5, scale=0.25),), (Laplace(scale=500.0), 5_000)), 1e-4),
        (ledger(Staircase.with_epsilon(0.5, 1.0), 4), 1e-12),  # which has no distribution
    ],
    ids=["alike", "unlike", "staircase"],
)
def test_a_ledgers_curve_is_no_worse_than_what_the_accountants_tell(
    book: Ledger, off: float
) -> None:
    curve = of_ledger(book)
    pure = sum(one.count * one.mechanism.epsilon(one.l1_sensitivity) for one in book.releases)
    for epsilon, delta in ((pure, 0.0), *((tightest(book, d), d) for d in (1e-5, 1e-3, 0.05))):
        few = of_profile([epsilon], [delta])
        assert (curve.misses(ALARMS) >= few.misses(ALARMS) - off).all()


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (of_profile, ([], []), "deltas = 0"),
        (of_profile, ([-1.0], [0.1]), "epsilon = -1.0"),
        (of_profile, ([1.0], [1.1]), "delta = 1.1"),
        (of_ledger, (Ledger(),), "ledger = 'without noise'"),
        (of_mechanism, (NOISES[1], -1.0), "sensitivity"),
        (of_mechanism(NOISES[1], 1.0).misses, (1.5,), "false alarms = 1.5"),
        (of_mechanism(NOISES[1], 1.0).misses, (math.nan,), "false alarms = nan"),
    ],
)
def test_what_is_no_curve_is_refused(call: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call(*arguments)


def test_less_noise_than_claimed_is_found_by_the_curve() -> None:
    """Gaussian noise of .8 of the claimed scale: invisible to ε alone, clear to the curve."""
    noise, rng = Gaussian.with_epsilon(1.0, 1.0, delta=1e-5), np.random.default_rng(4)
    claim, by_epsilon = of_mechanism(noise, 1.0), 0
    for _ in range(10):
        drawn = [moved + 0.8 * noise.sample(100_000, rng) for moved in (1.0, 0.0)]
        result = attack(*drawn, delta=1e-5, claim=claim)
        assert result.test.exceeded
        by_epsilon += result.bound.epsilon > 1.0
    assert by_epsilon <= 2


def test_a_million_outputs_prove_most_of_a_gaussians_epsilon() -> None:
    result = audit(AuditSpec(mechanism="gaussian", runs=1_000_000, seed=3))
    assert result.epsilon_if_gaussian is not None
    assert 0.94 <= result.epsilon_if_gaussian <= 1.0  # if it is Gaussian
    assert 0.65 <= result.attack.bound.epsilon <= 1.0  # whatever it is
    assert not result.beaten["claimed"]


@pytest.mark.parametrize("seed", range(3))
def test_half_the_noise_is_found_whatever_the_seed(seed: int) -> None:
    result = audit(AuditSpec(mechanism="gaussian", case="half-noise", runs=20_000, seed=seed))
    assert "is wrong" in result.verdict


@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_looks_are_planned_and_together_spend_the_error_once(
    confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Bonferroni: what each look may err by adds up to what the audit may err by at most.
    Between looks nothing is attacked, and the last look is the same whoever watched.
    """
    spent = []

    def recorded(*outputs: Any, **named: Any) -> Attack:
        spent.append(1 - named["confidence"])
        return attack(*outputs, **named)

    monkeypatch.setattr(audit_module, "attack", recorded)
    spec = AuditSpec(target="als", runs=120, confidence=confidence)
    results = list(audit_steps(spec))
    assert len(spent) == 11
    assert sum(spent) <= (1 - confidence) * (1 + 1e-9)
    for result in results:
        assert result.looked_at == 8 or result.looked_at % 12 == 0
        assert result.looked_at <= result.runs
        assert result.attack.bound.confidence == confidence
    assert result.looked_at == 120
    assert audit(spec).attack.bound == result.attack.bound
