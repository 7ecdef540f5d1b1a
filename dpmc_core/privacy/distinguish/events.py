"""Events that tell two datasets apart: chosen on some outputs, counted on others, and what the
counts prove.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpmc_core.arrays import FloatArray

Pair = tuple[FloatArray, ...]  # with the person, and without
Count = tuple[int, int]  # hits, of how many
Counts = tuple[FloatArray, FloatArray]  # of each candidate, where it is likely and where it is not
# tails of this probability at most, seen at least so often, are compared in pairs
_RARE, _FEW = 0.05, 100
_SPENT = 0.01  # of the error, on each of three bounds that matter less
_DOUBT = 0.02  # probability that a candidate is worse than it is taken to be
_CANDIDATES = 400  # thresholds that the choosing outputs compare


def clopper_pearson(
    hits: NDArray[np.integer] | FloatArray | int, runs: NDArray[np.integer] | int, error: float
) -> tuple[FloatArray, FloatArray]:
    """Exact one-sided bounds on a probability (Clopper & Pearson 1934).

    Below the first, and above the second, each with probability at most ``error``. Expected
    ``hits`` need not be whole.
    """
    k = np.asarray(hits, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, special.betaincinv(np.maximum(k, 1e-9), runs - k + 1, error), 0.0)
        high = np.where(
            k < runs, special.betaincinv(k + 1, np.maximum(runs - k, 1e-9), 1 - error), 1.0
        )
    return low, high


@dataclass(frozen=True)
class Event:
    """ "Score above (or at most) a threshold", likelier with the person or without.

    With an ``other`` threshold scores at or below it speak for the other dataset.
    """

    threshold: float
    above: bool
    likely_in: bool
    other: float | None = None

    def counts(self, inside: FloatArray, outside: FloatArray) -> tuple[Count, Count]:
        """How often it occurred, and in how many: where it is likely, and where it is not."""
        hits = [
            (int(np.count_nonzero((s > self.threshold) == self.above)), len(s))
            for s in (inside, outside)
        ]
        return (hits[0], hits[1]) if self.likely_in else (hits[1], hits[0])

    def pairs(self, inside: FloatArray, outside: FloatArray) -> tuple[int, int, tuple[int, int]]:
        """Of pairs of outputs, one of each dataset, those of which exactly one lies in a tail: how
        many speak for the truth, and how many against it; and the outputs in a tail, of each.

        Pairs are independent, so the right ones among them are binomial with share π/(π + π′). With
        p, p′ the probabilities of the tails where they are likely, and q, q′ where they are not,
        π ≤ p + p′ and π′ ≥ (q + q′)·(1 − ρ), ρ being the probability of a tail in either dataset.
        As p ≤ e^ε·q + δ and p′ ≤ e^ε·q′ + δ, e^ε ≥ (π/π′)·(1 − 2δ/π)·(1 − ρ).
        """
        assert self.other is not None
        top = [s > self.threshold for s in (inside, outside)]
        low = [s <= self.other for s in (inside, outside)]
        k = 0 if self.likely_in else 1
        right = (top[k] & ~(top[1 - k] | low[1 - k])) | (low[1 - k] & ~(top[k] | low[k]))
        wrong = (top[1 - k] & ~(top[k] | low[k])) | (low[k] & ~(top[1 - k] | low[1 - k]))
        rare = tuple(int(np.count_nonzero(a | b)) for a, b in zip(top, low, strict=True))
        return int(np.count_nonzero(right)), int(np.count_nonzero(wrong)), (rare[0], rare[1])


def choose(
    chosen: Pair, counted: Pair, worth: Callable[[Counts, tuple[int, int]], FloatArray]
) -> tuple[float, Event]:
    """The event that is ``worth`` most as far as the choosing outputs tell, after that worth.

    ``worth`` is told how often each candidate is to be expected among the outputs to be counted.
    """
    pooled = np.sort(np.concatenate(chosen))
    # dense in both tails, where rare events prove large ε
    tails = np.geomspace(1, len(pooled) / 2, _CANDIDATES // 2).astype(int)
    ranks = np.unique(np.concatenate([tails - 1, len(pooled) - 1 - tails]))
    thresholds = np.unique(pooled[ranks])
    over = [len(s) - np.searchsorted(np.sort(s), thresholds, side="right") for s in chosen]
    best = (-math.inf, Event(float(thresholds[0]), True, True))
    for above in (True, False):
        for likely_in in (True, False):
            order = (0, 1) if likely_in else (1, 0)
            hits = [over[k] if above else len(chosen[k]) - over[k] for k in order]
            runs = (len(counted[order[0]]), len(counted[order[1]]))
            # with doubt: the luckiest of many candidates is not the best
            low, _ = clopper_pearson(hits[0], len(chosen[order[0]]), _DOUBT)
            _, high = clopper_pearson(hits[1], len(chosen[order[1]]), _DOUBT)
            gain = worth((low * runs[0], high * runs[1]), runs)
            k = int(np.argmax(gain))
            if gain[k] > best[0]:
                best = (float(gain[k]), Event(float(thresholds[k]), above, likely_in))
    return best


def promise(hits: Counts, runs: tuple[int, int], delta: float, error: float) -> FloatArray:
    """What each candidate would prove about ε, with probability of error at most ``error``."""
    low, _ = clopper_pearson(hits[0], runs[0], error / 2)
    _, high = clopper_pearson(hits[1], runs[1], error / 2)
    return np.asarray(np.log(np.maximum(low - delta, 1e-300)) - np.log(high))


def both_tails(chosen: Pair, counted: Pair, delta: float, error: float) -> tuple[float, Event]:
    """The event in both tails that promises most, and what it promises (nothing: −∞)."""
    pairs, runs = min(len(s) for s in chosen), min(len(s) for s in counted)
    inside, outside = (s[:pairs] for s in chosen)
    pooled = np.sort(np.concatenate([inside, outside]))
    found = (-math.inf, Event(0.0, True, True))
    for rank in np.unique(np.geomspace(_FEW, max(_RARE * pairs, _FEW), 60).astype(int)):
        if 2 * rank >= len(pooled):
            break
        for likely_in in (True, False):
            event = Event(float(pooled[-1 - rank]), True, likely_in, float(pooled[rank]))
            right, wrong, rare = event.pairs(inside, outside)
            low, _ = clopper_pearson(right, right + wrong, _DOUBT)
            share = np.array([min(float(low), 1 - 1e-9)])
            expected = (right + wrong) * runs / pairs
            sure, _ = clopper_pearson(share * expected, round(expected), error)
            least = float(sure[0] / (1 - sure[0])) * max(1 - 2 * delta * pairs / max(right, 1), 0)
            least *= 1 - max(rare) / pairs
            if math.log(max(least, 1e-300)) > found[0]:
                found = (math.log(max(least, 1e-300)), event)
    return found


def proved(event: Event, counted: Pair, delta: float, error: float) -> tuple[float, Count, Count]:
    """The ε that one event proves, with probability of error at most ``error``, and its counts."""
    if event.other is None:
        likely, unlikely = event.counts(*counted)
        low, _ = clopper_pearson(*likely, error / 2)
        _, high = clopper_pearson(*unlikely, error / 2)
        least = max(float(low) - delta, 0.0) / float(high)
        return max(math.log(max(least, 1e-300)), 0.0), likely, unlikely
    runs = min(len(s) for s in counted)
    right, wrong, rare = event.pairs(*(s[:runs] for s in counted))
    spent = error * _SPENT
    share, _ = clopper_pearson(right, right + wrong, error - 3 * spent)
    often, _ = clopper_pearson(right, runs, spent)
    most = max(float(clopper_pearson(hits, runs, spent)[1]) for hits in rare)
    least = float(share / (1 - share)) * max(1 - 2 * delta / max(float(often), 1e-300), 0)
    epsilon = max(math.log(max(least * (1 - most), 1e-300)), 0.0)
    return epsilon, (right, runs), (wrong, runs)
