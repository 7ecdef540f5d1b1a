"""Audits from one run: what guesses about many records, each in or out at random, prove about ε.

m canaries are in the data or not, each with probability 1/2 and independently of everything. One
run later an attacker makes r guesses, r being fixed beforehand: those canaries whose scores lie
farthest from 0 are in (above 0) or out. W of the guesses are right. Two bounds follow.

*Of (ε, δ)* (asked by Steinke, Nasr & Jagielski 2023, "Privacy auditing with one (1) training run";
answered here). Write b_w for P[B = w], B ~ Bin(r, e^ε/(1 + e^ε)), and u_w for P[W = w]/b_w. Fix a
canary j, all the others, and a set A. The output decides whether j is guessed "in" and W without j
lies in A; with j in, that is by (ε, δ) at most e^ε times as likely as with j out, plus δ, and the
same of "out". On average over whether j is in, over the others and over j, i + 1 canaries being
guessed rightly where W = i + 1, and r − i wrongly where W = i,

    Σ_{i∈A} (i + 1)/m·P[W = i + 1] ≤ e^ε Σ_{i∈A} (r − i)/m·P[W = i] + δ.

Because (i + 1)·b_{i+1} = e^ε (r − i)·b_i, the A of all i at which u rises says Σ_k k b_k (u_k −
u_{k−1})₊ ≤ mδ. Now P[W ≥ v] − P[B ≥ v] = Σ_{w≥v>i} b_w b_i (u_w − u_i), and u_w − u_i is at most
all that u rises between, so that a rise at k counts P[B ≥ max(k, v)]·P[B < min(k, v)]/(k b_k) of
what it takes of mδ. That is most at k = v, b being log-concave:

    P[W ≥ v] ≤ P[B ≥ v] + mδ·P[B ≥ v]·P[B < v]/(v b_v).

Where this is at most 1 it is reached: by guesses whose u has one value below v and one from v on,
all sets of right guesses of one size being alike.

*Of a trade-off function f* (after Mahloujifar, Melis & Chaudhuri 2025, "Auditing f-differential
privacy in one run"; derived here). Let f be symmetric and hold whichever canary is added or
removed. In the place of (ε, δ) it says, 1 − f being concave,

    Σ_{i∈A} (i + 1)/m·P[W = i + 1] ≤ 1 − f(Σ_{i∈A} (r − i)/m·P[W = i]).

Write C_i and H_i for Σ_{l≥i} l/m·P[W = l] and Σ_{l≥i} (r − l)/m·P[W = l]. With A = {i − 1, i, …}
this says H_{i−1} ≥ f(1 − C_i). If P[W ≥ v] = τ, the least total is that of a W with all of τ at v,
and below v so little at each place as these inequalities ask for: more at or above i, by D, adds at
least i/r·D to C_i and so at most (r − i)/r·D to H_i, which saves less than D at i − 1, where each
unit brings (r − i + 1)/r to H; by induction the total grows with τ. Where it exceeds r/m, all that
there is, P[W ≥ v] < τ.

Either bound is a probability of v or more right guesses that falls as ε (or μ) falls; what is
reported is an ε (or μ) at which it is at most the error, and so is wrong no more often than that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpmc_core.arrays import BoolArray, FloatArray
from dpmc_core.mechanisms import Gaussian

_MOST_EPSILON, _MOST_MU, _HALVINGS = 50.0, 20.0, 40
_PARTS = tuple(2**k for k in range(8))  # of the canaries all may be guessed, 1/2, 1/4 … 1/128
_FINE = 4000  # points of a distribution of scores


@dataclass(frozen=True, kw_only=True)
class Proof:
    """``right`` of ``guesses`` prove ε ≥ ``epsilon``; ``possible`` is what the best attacker on
    Gaussian noise of the claimed ε would prove with as many right guesses as are expected of it.
    """

    guesses: int
    right: int
    epsilon: float
    possible: float


def chance_at_most(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The largest probability of so many ``right`` guesses or more that (ε, δ) allows."""
    if not right:
        return 1.0
    k = np.arange(guesses + 1)
    mass = special.log_softmax(epsilon * k - special.betaln(k + 1, guesses - k + 1))
    reached, missed = special.logsumexp(mass[right:]), special.logsumexp(mass[:right])
    failing = math.exp(reached + missed - mass[right]) / right
    return min(math.exp(reached) + canaries * delta * failing, 1.0)


def excludes(
    misses: Callable[[float], FloatArray], canaries: int, guesses: int, right: int, error: float
) -> bool:
    """Whether so many ``right`` guesses or more have at most a chance of ``error`` where the
    symmetric trade-off function ``misses`` holds.
    """
    correct, wrong = error * right / canaries, error * (guesses - right) / canaries
    for k in range(right, 0, -1):
        more = max(float(misses(1 - correct)) - wrong, 0.0)
        wrong += more
        correct += more * (k - 1) / (guesses - k + 1)
        if correct + wrong > guesses / canaries * (1 + 1e-9):
            return True
    return False


def epsilon_at_least(canaries: int, delta: float, error: float, guesses: int, right: int) -> float:
    """The ε at ``delta`` that is proved, whatever the noise is; wrong with chance ``error``."""
    return _largest(
        lambda e: chance_at_most(canaries, guesses, right, e, delta) <= error, _MOST_EPSILON
    )


def epsilon_if_gaussian(
    canaries: int, delta: float, error: float, guesses: int, right: int
) -> float:
    """The ε at ``delta`` that is proved if the trade-off function is that of Gaussian noise."""

    def excluded(mu: float) -> bool:
        def misses(false_alarms: float) -> FloatArray:
            return np.asarray(special.ndtr(-special.ndtri(false_alarms) - mu))

        return excludes(misses, canaries, guesses, right, error)

    mu = _largest(excluded, _MOST_MU)
    return Gaussian(scale=1 / mu).epsilon_at_delta(delta, 1.0) if mu else 0.0


def _largest(holds: Callable[[float], bool], most: float) -> float:
    """A number up to ``most`` that ``holds``, by bisection; 0 where 0 does not."""
    low, high = 0.0, most
    for _ in range(_HALVINGS if holds(0.0) else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def expected_right(canaries: int, mu: float) -> FloatArray:
    """How many of the r surest guesses are right on average, for each r (m,), where log odds are
    normal, ±μ²/2 on average with standard deviation μ.
    """
    odds = np.linspace(0.0, mu**2 / 2 + 9 * mu, _FINE)
    below = special.ndtr(odds / mu - mu / 2) - special.ndtr(-odds / mu - mu / 2)
    surest = np.interp(1 - (np.arange(canaries) + 0.5) / canaries, below, odds)
    return np.cumsum(special.expit(surest))


def prove(
    scores: FloatArray, inside: BoolArray, *, epsilon: float, delta: float, error: float
) -> tuple[Proof, Proof]:
    """The proofs from canaries' ``scores`` (m,), log odds of being ``inside``: of (ε, δ), and of
    Gaussian noise; each is wrong with a chance of at most ``error``.

    How many guesses count is chosen by the claim (``epsilon``, ``delta``), m and the error alone.
    """
    m = len(scores)
    expected = expected_right(m, 1 / Gaussian.with_epsilon(epsilon, 1.0, delta=delta).scale)
    surest = np.argsort(-np.abs(scores), kind="stable")
    right = np.cumsum(((scores > 0) == inside)[surest])

    def proof(bound: Callable[[int, float, float, int, int], float]) -> Proof:
        possible, guesses = max(
            (bound(m, delta, error, r, int(expected[r - 1])), r)
            for r in {-(-m // part) for part in _PARTS}
        )
        hits = int(right[guesses - 1])
        epsilon = bound(m, delta, error, guesses, hits)
        return Proof(guesses=guesses, right=hits, epsilon=epsilon, possible=possible)

    return proof(epsilon_at_least), proof(epsilon_if_gaussian)
