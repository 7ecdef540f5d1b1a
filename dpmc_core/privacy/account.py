"""What a ledger spends: every method that holds, and the tightest of them.

Which accounting method is valid for which ledger, what each rests on, and one table of answers.

Rényi: a bound on the Rényi divergence of one release of any kind, at many orders, with and without
the proofs of docs/huber-composition.md. Converting to (ε, δ) is dp-accounting's.

The best of several private runs, of which nobody knows how many: the best, by a score that each run
releases within its own ε, of K runs; K is geometric with mean 1/γ and drawn without looking at any
data (Liu & Talwar 2019, Theorem 3.2: ε-DP runs make a choice that is 3ε-DP). Why 3: let p(y) be the
probability that a run releases y, and F(y), F(y⁻) that its release is at most, or below, y in the
order of scores (ties broken by a fixed order). Summed over K the choice is y with probability
γ·p(y)/((1 − (1 − γ)F(y))·(1 − (1 − γ)F(y⁻))). Between neighbours p(y) changes by a factor within
exp(±ε), and so does each bracket, γ + (1 − γ)(1 − F): it is a mean of a constant and a probability.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import NotApplicable, ParameterError
from dpmc_core.facts import facts
from dpmc_core.mechanisms import Gaussian, Mechanism
from dpmc_core.privacy.ledger import Ledger, Release
from dpmc_core.wording import three

# dense enough that a finer grid changes ε by less than 0.1 % unless ε is in the thousands, where
# 1.02 is not close enough to 1; one grid for all ledgers, so that ε grows with every cost
ORDERS: FloatArray = np.concatenate([[1.0], 1 + np.logspace(np.log10(0.02), 7, 240)])


def release_rdp(release: Release, *, published: bool = False, coarse: bool = False) -> FloatArray:
    """A bound on D_a of one release between neighbours, at each a in ``ORDERS``, in nats.

    Gaussian: a·Δ₂²/2σ², exact. Otherwise the smallest of the bounds that hold, Δ₁ and Δ₂ being the
    sensitivities:

    * (Δ₁/Δ)·D_a(Δ), Δ the smaller of Δ₂ and Δ_∞, D_a the exact scalar divergence: it is convex in
      the shift (docs/huber-composition.md, 1), so this is exact where Δ₁/Δ coordinates move by Δ;
    * a·I·Δ₂²/2, I the Fisher information (docs/huber-composition.md, 2; Laplace: Bun & Steinke
      2016, Prop. 1.4);
    * the pure ε.

    With ``published``, vectors are counted by published results alone: a·ε₂²/2 with ε₂ = αΔ₂/s
    (Laplace: Δ₂/b), since coordinate i is (α|s_i|/s)-DP and ε-DP implies ε²/2-zCDP (Bun & Steinke
    2016, Prop. 1.4), and the pure ε. The exact divergence is kept for a single number, where it is
    a computation and not a theorem. Vectors of a family without ``vector_bounds`` (staircase) are
    always counted by their pure ε: it is ε²/2-zCDP. ``coarse`` replaces D_a by a·D₁, which is never
    smaller (docs/huber-composition.md, 2) and takes one divergence instead of one for each order.
    """
    noise, l1, l2 = release.mechanism, release.l1_sensitivity, release.l2_sensitivity
    if isinstance(noise, Gaussian):
        return ORDERS * (l2 / noise.scale) ** 2 / 2
    pure = np.full_like(ORDERS, noise.epsilon(l1))
    if release.coordinates == 1 and not (coarse and noise.vector_bounds):
        return np.minimum(pure, scalar_rdp(noise, l1))
    if not noise.vector_bounds:
        return np.minimum(pure, ORDERS * noise.epsilon(l1) ** 2 / 2)
    if published:
        return np.minimum(pure, ORDERS * noise.epsilon(l2) ** 2 / 2)
    fisher = ORDERS * noise.fisher_information * l2**2 / 2
    most = min(l2, release.linf_sensitivity or l2)
    one_moves = ORDERS * noise.rdp(1.0, most) if coarse else scalar_rdp(noise, most)
    return np.minimum(np.minimum(pure, fisher), l1 / most * one_moves)


@lru_cache(maxsize=512)
def scalar_rdp(noise: Mechanism, shift: float) -> FloatArray:
    """The exact scalar divergence at each order of ``ORDERS``; not to be written to."""
    return noise.rdp_curve(ORDERS, shift)


def zcdp(release: Release, *, published: bool = False) -> float:
    """The least ρ for which one release is ρ-zCDP (D_a ≤ ρ·a for all a ≥ 1) by what is proved.

    Gaussian: Δ₂²/2σ². Laplace and Huber: D₁ by the bounds of ``release_rdp``, since D_a ≤ a·D₁
    (docs/huber-composition.md, 2); with ``published``, (αΔ₂/s)²/2 and (Δ₂/b)²/2 (Bun & Steinke
    2016, Prop. 1.4). Staircase noise, which is not log-concave: ε²/2.
    """
    noise = release.mechanism
    if isinstance(noise, Gaussian) or (noise.vector_bounds and not published):
        return float(release_rdp(release, coarse=True)[0])
    by_l2 = noise.vector_bounds
    return noise.epsilon(release.l2_sensitivity if by_l2 else release.l1_sensitivity) ** 2 / 2


def choice_rdp(rdp: FloatArray, mean_runs: float, choices: int = 1) -> FloatArray:
    """Bound the Rényi divergence of the choice at each of ``ORDERS``, from that of one run there.

    ε(a) + 2·min_b((1 − 1/b)·ε(b) + log(1/γ)/b) + log(1/γ)/(a − 1) with γ = 1/``mean_runs``
    (Papernot & Steinke 2022, Theorem 2, η = 1: K geometric, whose mean is 1/γ). For one run ε(a).
    Of several ``choices``, where ε(a) is the sum over them, however they share it: each of them
    adds log(1/γ), and a sum of minima is at most the minimum of the sum.
    """
    log_runs = choices * math.log(mean_runs)
    least = np.min((1 - 1 / ORDERS) * rdp + log_runs / ORDERS)
    with np.errstate(divide="ignore", invalid="ignore"):
        chosen = np.where(log_runs > 0, log_runs / (ORDERS - 1), 0.0)
    return rdp + 2 * least + chosen


def choice_epsilon(ledger: Ledger, mean_runs: float, delta: float) -> float:
    """Return ε at ``delta`` of the best of ``mean_runs`` runs on average, each with ``ledger``.

    By published results alone. Infinite where releases may fail, or are of a choice already. Raises
    ``ParameterError``.
    """
    mean_runs, delta = limits.check("mean_runs", mean_runs), checked_delta(delta)
    if ledger.failure or ledger.mean_runs > 1:
        return math.inf
    chosen = Ledger(tuple(replace(release, mean_runs=mean_runs) for release in ledger.releases))
    return best_published(account(chosen, delta)).epsilon


OWN_PROOF = (
    "rests on a proof in this project (docs/huber-composition.md) that has not been "
    "peer-reviewed; each of its steps is also checked numerically"
)


@dataclass(frozen=True, kw_only=True)
class Account:
    """One method's answer for a whole ledger.

    It is (``epsilon``, ``delta``)-DP if the sensitivities are right.

    ``method`` is a key of ``METHODS``; ``published`` is False where the answer needs
    ``OWN_PROOF``. A method that does not apply has ε = ∞ and says why in ``note``. ``may_fail``
    where releases fail with some probability, which is added to δ: a bound, whatever the method.
    """

    method: str
    epsilon: float
    delta: float
    published: bool
    note: str
    may_fail: bool = False

    @property
    def title(self) -> str:
        """What the method is called."""
        return METHODS[self.method]["title"]

    @property
    def how(self) -> str:
        """What the method does, in one sentence."""
        text = METHODS[self.method]["how"]
        return f"{text} {_ADDED}" if self.may_fail else text


_ADDED = "That is what holds if nothing fails; the probability of failing is added to δ, a bound."
METHODS: dict[str, dict[str, str]] = facts("methods")


@lru_cache(maxsize=1024)
def account(ledger: Ledger, delta: float) -> tuple[Account, ...]:
    """The answers of all ``METHODS`` for ``ledger`` at ``delta``, in that order; cached.

    Every answer with finite ε is valid on its own (for adaptively chosen releases too). Raises
    ``ParameterError`` unless 1e-15 ≤ δ < 1. An empty ledger has no account: it released nothing
    with noise.
    """
    delta = checked_delta(delta)
    if not ledger.private:
        raise ValueError("an empty ledger has no account: nothing was released with noise")
    if ledger.failure:
        return tuple(
            replace(one, delta=delta, may_fail=True)
            for one in account(ledger.without_failure(), _left(ledger, delta))
        )
    answers = []
    for method, run in _RUN.items():
        zero = delta if method != "pure" else 0.0
        try:
            epsilon, published, note = run(ledger, delta)
        except _UNAVAILABLE as error:
            epsilon, published, note = math.inf, True, f"not available here: {error}"
        answers.append(
            Account(method=method, epsilon=epsilon, delta=zero, published=published, note=note)
        )
    return tuple(answers)


def _left(ledger: Ledger, delta: float) -> float:
    """The δ that is left at ``delta`` for a ledger whose releases fail with probability q together.

    With a unit the output is (1 − q)·P + q·Q, where P is what the ledger says if nothing fails
    (failing is independent of it) and Q anything; so is the output without it, or with another
    unit in its place, (1 − q)·P′ + q·Q′ (where nothing fails, Q′ is P′). Where P and P′ are
    (ε, δ′)-DP, (1 − q)·P + q·Q ≤ (1 − q)·(e^ε·P′ + δ′) + q, so ε holds at (1 − q)·δ′ + q.
    """
    q = ledger.failure
    if q < delta:
        with suppress(ParameterError):
            return checked_delta((delta - q) / (1 - q))
    allowed = (
        f"above {q:.3g} (by 1e-15 at least), the probability with which what only one unit has "
        "may be shown"
    )
    raise ParameterError("delta", delta, allowed)


def checked_delta(delta: float) -> float:
    """``delta`` if a composed ε can be read at it.

    Raises ``ParameterError`` unless 1e-15 ≤ δ < 1.
    """
    return replace(limits.LIMITS["account_delta"], name="delta").check(delta)


def best(accounts: tuple[Account, ...]) -> Account:
    """The tightest answer; of equal ones the first, so that δ = 0 wins."""
    return min(accounts, key=lambda answer: answer.epsilon)


def best_published(accounts: tuple[Account, ...]) -> Account:
    """The tightest answer that follows from published results alone."""
    return best(tuple(answer for answer in accounts if answer.published))


def tightest(ledger: Ledger, delta: float, *, coarse: bool = False) -> float:
    """ε of the tightest method, without the answers of methods that cannot be it.

    For curves and searches.

    ``coarse`` takes fewer points for a privacy loss distribution, and for vectors Rényi bounds that
    need one divergence only: an upper bound still, for single numbers by less than 0.1 % as a rule.
    """
    delta = checked_delta(delta)
    if ledger.failure:
        return tightest(ledger.without_failure(), _left(ledger, delta), coarse=coarse)
    if gaussian_equivalent(ledger) is not None:
        return _exact(ledger, delta)[0]
    renyi = partial(_renyi, published=False, coarse=coarse)
    answers = [_pure(ledger, delta)]
    try:
        answers.append(_pld(ledger, delta, coarse=coarse))
        others: tuple[Method, ...] = (renyi,) if _vector_by_l1(ledger) else ()
    except _UNAVAILABLE:
        others = (renyi, _exact, _advanced)
    for method in others:
        with suppress(*_UNAVAILABLE):
            answers.append(method(ledger, delta))
    return min(epsilon for epsilon, *_ in answers)


def gaussian_equivalent(ledger: Ledger) -> Gaussian | None:
    """The one Gaussian release of sensitivity 1 that a ledger of Gaussian releases equals, or None
    for other noise.

    k Gaussian releases with shifts Δᵢ/σᵢ have the likelihood ratio of one with shift √Σ(Δᵢ/σᵢ)²
    (Dong, Roth & Su 2022, Corollary 3.3, adaptive choices included).
    """
    square = 0.0
    if ledger.failure or ledger.mean_runs > 1 or ledger.sampled:
        return None
    for release in ledger.releases:
        if not isinstance(release.mechanism, Gaussian):
            return None
        square += release.count * (release.l2_sensitivity / release.mechanism.scale) ** 2
    return Gaussian(scale=1 / math.sqrt(square)) if square else None


Answer = tuple[float, bool, str]
Method = Callable[[Ledger, float], Answer]
_UNAVAILABLE = (NotApplicable, ArithmeticError, MemoryError)  # a method that has no answer
# kinds of release: beyond this, methods that take a moment for each kind are left out or simplified
_MANY = 12


def _pure(ledger: Ledger, delta: float) -> Answer:
    total = sum(
        (3 if r.mean_runs > 1 else 1) * r.count * r.mechanism.epsilon(r.l1_sensitivity)
        for r in ledger.releases
    )
    why = "not available here: Gaussian noise has no pure ε"
    return total, True, why if math.isinf(total) else ""


def _advanced(ledger: Ledger, delta: float) -> Answer:
    from dpmc_core.privacy.losses import optimal_composition_epsilon

    _check_one_run(ledger)
    if len(ledger.releases) > _MANY:
        raise NotApplicable(f"more than {_MANY} kinds of release")
    return optimal_composition_epsilon(ledger, delta), True, ""


def _renyi(ledger: Ledger, delta: float, *, published: bool, coarse: bool = False) -> Answer:
    from dp_accounting.rdp import compute_epsilon

    runs = defaultdict[float, Any](float)
    coarse = coarse or len(ledger.releases) > _MANY
    scores = Counter[float]()  # each choice has one
    for release in ledger.releases:
        one = release.count * release_rdp(release, published=published, coarse=coarse)
        runs[release.mean_runs] += one
        scores[release.mean_runs] += release.count * (release.kind == "score")
    total = sum(choice_rdp(rdp, mean, max(scores[mean], 1)) for mean, rdp in runs.items())
    epsilon, order = compute_epsilon(ORDERS, total, delta)
    rho = sum(release.count * zcdp(release, published=published) for release in ledger.releases)
    own = not published and _needs_own_proof(ledger, coarse=True)
    proof = " (that ρ by our own proof)" if own else ""
    note = f"at order {float(order):.3g}"
    if ledger.mean_runs == 1:
        note += f"; zCDP ρ = {three(rho)}{proof}"
    return float(epsilon), published or not _needs_own_proof(ledger, coarse), note


def _pld(ledger: Ledger, delta: float, *, coarse: bool = False) -> Answer:
    from dpmc_core.privacy.losses import COARSE, FINE, pld_epsilon, sampled_epsilons

    if ledger.sampled:
        epsilon = sampled_epsilons(ledger, (delta,))[0]
        return epsilon, not _vector_by_l1(ledger), "of new samples each time"
    coarse = coarse or len(ledger.releases) > _MANY
    return pld_epsilon(ledger, delta, COARSE if coarse else FINE), not _vector_by_l1(ledger), ""


def _exact(ledger: Ledger, delta: float) -> Answer:
    _check_one_run(ledger)
    equivalent = gaussian_equivalent(ledger)
    if equivalent is not None:
        return equivalent.epsilon_at_delta(delta, 1.0), True, "all noise is Gaussian"
    if ledger.draws > 1 or ledger.sampled:
        raise NotApplicable("more than one release, not all Gaussian, or samples")
    (release,) = ledger.releases
    if release.coordinates > 1:
        raise NotApplicable("a vector, not one number")
    epsilon = release.mechanism.epsilon_at_delta(delta, release.l1_sensitivity)
    return epsilon, True, "one release of one number"


def _check_one_run(ledger: Ledger) -> None:
    if ledger.mean_runs > 1:
        raise NotApplicable("for the best of several runs only bounds are proved")


def _needs_own_proof(ledger: Ledger, coarse: bool) -> bool:
    return any(r.mechanism.vector_bounds and (coarse or r.coordinates > 1) for r in ledger.releases)


def _vector_by_l1(ledger: Ledger) -> bool:
    return any(not isinstance(r.mechanism, Gaussian) and r.coordinates > 1 for r in ledger.releases)


_RUN: dict[str, Method] = {
    "pure": _pure,
    "advanced": _advanced,
    "renyi-published": partial(_renyi, published=True),
    "renyi": partial(_renyi, published=False),
    "pld": _pld,
    "exact": _exact,
}
