"""Audits: what an attacker who sees the output can prove about ε.

A distinguishing attack with a held-out choice of its rule, and the lower bound on ε that its
successes prove at a stated confidence. It attacks any numbers drawn with and without a person, so
it imports no algorithm; what is attacked is put together in ``experiments.tasks.audit_targets``. An
audit can show that a claim is wrong; it never shows that one is right.

How: some of the outputs choose the rule (a linear score when an output has several numbers, then an
event "score above/at most τ" and a direction); the others, never looked at before, are counted.
If P(event | in) ≥ p and P(event | out) ≤ q, each with Clopper–Pearson confidence 1 − β/2, then
every (ε, δ) that holds has p ≤ e^ε·q + δ, hence ε ≥ log((p − δ)/q) with confidence 1 − β
(Jagielski, Ullman & Oprea 2020, "Auditing differentially private machine learning"). Rare
events in both tails are compared in pairs of outputs, one of each dataset, which needs one bound
instead of two (``Event.pairs``). A claimed trade-off function f is
wrong where p > 1 − f(q); if the release is Gaussian, p and q bound its μ (Nasr et al. 2023,
"Tight auditing of differentially private machine learning").

First the events that tell two datasets apart: chosen on some outputs, counted on others, and what
the counts prove; then the attack.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpmc_core import limits
from dpmc_core.arrays import FloatArray, IntArray, as_array
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.privacy.tradeoff import TradeOff

Pair = tuple[FloatArray, ...]  # with the person, and without
Count = tuple[int, int]  # where an event is likely, and where it is not
Counts = tuple[FloatArray, FloatArray]  # of each candidate, where it is likely and where it is not
# tails of this probability at most, seen at least so often, are compared in pairs
_RARE, _FEW = 0.05, 100
_SPENT = 0.01  # of the error, on each of three bounds that matter less
_DOUBT = 0.02  # probability that a candidate is worse than it is taken to be
_CANDIDATES = 400  # thresholds that the choosing outputs compare


def clopper_pearson(
    hits: IntArray | FloatArray | float, runs: IntArray | int, error: float
) -> tuple[FloatArray, FloatArray]:
    """Exact one-sided bounds on a probability (Clopper & Pearson 1934).

    Below the first, and above the second, each with probability at most ``error``. Expected
    ``hits`` need not be whole.
    """
    k = as_array(hits)
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
        """How often it occurred, and in how many outputs."""
        scores = self._likely_first(inside, outside)
        likely, unlikely = (
            int(np.count_nonzero((s > self.threshold) == self.above)) for s in scores
        )
        return (likely, unlikely), (len(scores[0]), len(scores[1]))

    def _likely_first(self, inside: FloatArray, outside: FloatArray) -> Pair:
        return (inside, outside) if self.likely_in else (outside, inside)

    def pairs(self, inside: FloatArray, outside: FloatArray) -> tuple[int, int, int]:
        """Of pairs of outputs, one of each dataset, those of which exactly one lies in a tail: how
        many speak for the truth, and how many against it; and the outputs in a tail, of the dataset
        that has more.

        Pairs are independent, so the right ones among them are binomial with share π/(π + π′). With
        p, p′ the probabilities of the tails where they are likely, and q, q′ where they are not,
        π ≤ p + p′ and π′ ≥ (q + q′)·(1 − ρ), ρ being the probability of a tail in either dataset.
        As p ≤ e^ε·q + δ and p′ ≤ e^ε·q′ + δ, e^ε ≥ (π/π′)·(1 − 2δ/π)·(1 − ρ).
        """
        assert self.other is not None
        scores = self._likely_first(inside, outside)
        top, low = [s > self.threshold for s in scores], [s <= self.other for s in scores]
        tails = [a | b for a, b in zip(top, low, strict=True)]
        right = (top[0] & ~tails[1]) | (low[1] & ~tails[0])
        wrong = (top[1] & ~tails[0]) | (low[0] & ~tails[1])
        in_favour, against, *rare = (int(np.count_nonzero(x)) for x in (right, wrong, *tails))
        return in_favour, against, max(rare)


def choose(
    chosen: Pair, counted: Pair, worth: Callable[[Counts, Sequence[int]], FloatArray]
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
            seen, runs = ([len(scores[k]) for k in order] for scores in (chosen, counted))
            # with doubt: the luckiest of many candidates is not the best
            low, high = shares(hits, seen, 2 * _DOUBT)
            gain = worth((low * runs[0], high * runs[1]), runs)
            k = int(np.argmax(gain))
            if gain[k] > best[0]:
                best = (float(gain[k]), Event(float(thresholds[k]), above, likely_in))
    return best


def shares(hits: Sequence[Any], runs: Sequence[int], error: float) -> tuple[FloatArray, FloatArray]:
    """How often an event occurs at least where it is likely, and at most where it is not, from its
    hits and runs in each: wrong with probability at most ``error``, both together.
    """
    low, _ = clopper_pearson(hits[0], runs[0], error / 2)
    _, high = clopper_pearson(hits[1], runs[1], error / 2)
    return low, high


def promise(hits: Counts, runs: Sequence[int], delta: float, error: float) -> FloatArray:
    """What each candidate would prove about ε, with probability of error at most ``error``."""
    low, high = shares(hits, runs, error)
    return np.log(np.maximum(low - delta, 1e-300)) - np.log(high)


def both_tails(chosen: Pair, counted: Pair, delta: float, error: float) -> tuple[float, Event]:
    """The event in both tails that promises most, and what it promises (nothing: −∞)."""
    pairs, runs = min(len(s) for s in chosen), min(len(s) for s in counted)
    inside, outside = (s[:pairs] for s in chosen)
    pooled = np.sort(np.concatenate([inside, outside]))
    best = (-math.inf, Event(0.0, True, True))
    for rank in np.unique(np.geomspace(_FEW, max(_RARE * pairs, _FEW), 60).astype(int)):
        if 2 * rank >= len(pooled):
            break
        for likely_in in (True, False):
            event = Event(float(pooled[-1 - rank]), True, likely_in, float(pooled[rank]))
            right, wrong, rare = event.pairs(inside, outside)
            low, _ = clopper_pearson(right, right + wrong, _DOUBT)
            expected = (right + wrong) * runs / pairs
            likely = min(float(low), 1 - 1e-9) * expected
            share, _ = clopper_pearson(likely, round(expected), error)
            promised = _of_pairs(share, max(right, 1) / pairs, rare / pairs, delta)
            if promised > best[0]:
                best = (promised, event)
    return best


def _of_counts(hits: Count, of: Count, delta: float, error: float) -> float:
    """The ε that ``hits`` of so many outputs prove, with probability of error at most ``error``."""
    low, high = map(float, shares(hits, of, error))
    return max(math.log(max(low - delta, 1e-300) / high), 0.0)


def _of_pairs(share: FloatArray, often: float, rare: float, delta: float) -> float:
    """The ε that follows from bounds on the ``share`` of right pairs, on how ``often`` pairs are
    right, and how often an output is in a tail (``rare``): see ``Event.pairs``.
    """
    least = float(share / (1 - share)) * max(1 - 2 * delta / max(often, 1e-300), 0)
    return math.log(max(least * (1 - rare), 1e-300))


def proved(event: Event, counted: Pair, delta: float, error: float) -> tuple[float, Count, Count]:
    """The ε that one event proves, with probability of error at most ``error``, and its counts:
    hits, and of how many.
    """
    if event.other is None:
        hits, of = event.counts(*counted)
        return _of_counts(hits, of, delta, error), hits, of
    runs = min(len(s) for s in counted)
    right, wrong, rare = event.pairs(*(s[:runs] for s in counted))
    spent = error * _SPENT
    share, _ = clopper_pearson(right, right + wrong, error - 3 * spent)
    often, _ = clopper_pearson(right, runs, spent)
    _, most = clopper_pearson(rare, runs, spent)
    epsilon = _of_pairs(share, float(often), float(most), delta)
    return max(epsilon, 0.0), (right, wrong), (runs, runs)


# of many single numbers, the share that chooses a threshold; half of everything else
_CHOOSING, _PLENTY = 0.2, 5000
# of the choosing half, for the weights of a linear score; the rest of it chooses the threshold
_FIT_SHARE = 0.6


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What the held-out outputs prove.

    The true ε at ``delta`` is at least ``epsilon``, with this ``confidence``.

    The event is "score > ``threshold``" (``above``) or "score ≤ ``threshold``"; it was seen
    ``hits_likely`` times in ``runs_likely`` outputs of the dataset that makes it likely (the one
    with the person in it if ``likely_in``), and ``hits_unlikely`` times in ``runs_unlikely`` of its
    neighbour. With an ``other`` threshold the event is one output of a pair above the first (for
    ``likely_in``) or at most the other (against it): right ``hits_likely`` times, wrong
    ``hits_unlikely`` times, in so many pairs. ``accuracy`` is the share of held-out outputs that a
    rule chosen for that (not the event above) attributes correctly, both datasets weighing the
    same; ``accuracy_low`` and ``accuracy_high`` are a Clopper–Pearson interval at the same
    confidence.
    """

    epsilon: float
    delta: float
    confidence: float
    threshold: float
    above: bool
    likely_in: bool
    hits_likely: int
    runs_likely: int
    hits_unlikely: int
    runs_unlikely: int
    other: float | None
    accuracy: float
    accuracy_low: float
    accuracy_high: float


@dataclass(frozen=True, kw_only=True)
class CurveTest:
    """One event held against a claimed trade-off function.

    It was seen ``hits_likely`` times in ``runs_likely`` outputs where it is likely (with the person
    if ``likely_in``), and ``hits_unlikely`` times in ``runs_unlikely`` where it is a false alarm.
    With the confidence of the ``Bound`` beside it, the attacker finds at least ``found`` at
    ``false_alarms`` at most, where the claim allows ``allowed``. ``mu`` is the least μ of a
    Gaussian release for which that is possible.
    """

    hits_likely: int
    runs_likely: int
    hits_unlikely: int
    runs_unlikely: int
    found: float
    false_alarms: float
    allowed: float
    mu: float
    likely_in: bool

    @property
    def exceeded(self) -> bool:
        """Whether the claim is wrong."""
        return self.found > self.allowed


@dataclass(frozen=True, kw_only=True, eq=False)
class Attack:
    """A finished attack: what it proves about ε, its test of the claimed trade-off function (if one
    was given), and the scores of the held-out outputs (one number each) for a picture.
    """

    bound: Bound
    test: CurveTest | None
    scores_in: FloatArray
    scores_out: FloatArray


def proves_at_most(runs: int, confidence: float, delta: float = 0.0) -> float:
    """The largest ε that ``runs`` held-out outputs per dataset can prove, when the attack never
    errs.

    >>> round(proves_at_most(1000, 0.95), 2)
    5.6
    """
    return _of_counts((runs, 0), (runs, runs), delta, 1 - confidence)


def attack(
    outputs_in: FloatArray,
    outputs_out: FloatArray,
    *,
    delta: float = 0.0,
    confidence: float = 0.999,
    claim: TradeOff | None = None,
) -> Attack:
    """Choose a rule on some of the outputs, count it on the others, and bound ε from below.

    ``outputs_in`` (n×d or n) were released from the dataset with the person, ``outputs_out`` from
    its neighbour, all independently. With a ``claim`` another rule is held against its trade-off
    function, and each of the two has half of the error that ``confidence`` leaves: both are right
    together with that confidence. Raises ``DataError`` for fewer than 8 outputs of either or
    different widths, ``ParameterError`` for δ outside [0, 1) or confidence outside (0.5, 1).
    """
    if not 0 <= delta < 1:
        raise ParameterError("delta", delta, "at least 0 and below 1")
    if not 0.5 < confidence < 1:
        raise ParameterError("confidence", confidence, limits.LIMITS["confidence"].allowed)
    chosen, counted = _halves(as_array(outputs_in), as_array(outputs_out))
    error = (1 - confidence) / (1 if claim is None else 2)
    promised, event = choose(chosen, counted, lambda e, n: promise(e, n, delta, error))
    both_promise, both = both_tails(chosen, counted, delta, error)
    event = both if both_promise > promised else event
    epsilon, hits, of = proved(event, counted, delta, error)
    cut, in_above = _most_accurate(*chosen)
    right = np.array(
        [
            np.count_nonzero((s > cut) == (in_above == inside))
            for s, inside in zip(counted, (True, False), strict=True)
        ]
    )
    runs = np.array([len(s) for s in counted])
    # each of the four bounds errs with probability error/2, so both ends together with 1 −
    # confidence
    low, high = clopper_pearson(right, runs, (1 - confidence) / 4)
    bound = Bound(
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        hits_likely=hits[0],
        runs_likely=of[0],
        hits_unlikely=hits[1],
        runs_unlikely=of[1],
        **vars(event),
        accuracy=float((right / runs).sum()) / 2,
        accuracy_low=float(low.sum()) / 2,
        accuracy_high=float(high.sum()) / 2,
    )
    return Attack(
        bound=bound,
        test=None if claim is None else _tested(chosen, counted, claim, error),
        # copies: views would keep all outputs alive
        scores_in=counted[0].copy(),
        scores_out=counted[1].copy(),
    )


def _halves(with_person: FloatArray, without: FloatArray) -> tuple[Pair, Pair]:
    """Scores to choose a rule on, and scores to count it on, with the person and without."""
    both: list[FloatArray] = [x[:, None] if x.ndim == 1 else x for x in (with_person, without)]
    fewest = min(map(len, both))
    if fewest < 8 or both[0].shape[1] != both[1].shape[1]:
        raise DataError("An audit needs at least 8 outputs of each dataset, all of one length.")
    if not all(np.isfinite(x).all() for x in both):
        raise DataError(
            "Some released outputs are not finite numbers: nothing can be told from them."
        )
    one = both[0].shape[1] == 1
    share = _CHOOSING if one and fewest >= _PLENTY else 0.5
    chosen, counted = zip(*(np.split(x, [int(share * len(x))]) for x in both), strict=True)
    if one:
        return tuple(x[:, 0] for x in chosen), tuple(x[:, 0] for x in counted)
    fits, picks = zip(*(np.split(x, [int(_FIT_SHARE * len(x))]) for x in chosen), strict=True)
    # from the middle, in units of the largest: no digit is lost, and squares are finite
    middle = np.median(np.concatenate(fits), axis=0) / 2
    unit = np.maximum(*(np.abs(x / 2 - middle).max(axis=0) for x in fits))
    fits, picks, counted = (
        tuple((x / 2 - middle) / np.where(unit > 0, unit, 1.0) for x in part)
        for part in (fits, picks, counted)
    )
    weights = linear_scores(*fits)
    picks, counted = (tuple(x @ weights for x in part) for part in (picks, counted))
    if not all(np.isfinite(x).all() for x in (*picks, *counted)):
        raise DataError("Released outputs differ by more orders of magnitude than numbers hold.")
    return picks, counted


def _tested(chosen: Pair, counted: Pair, claim: TradeOff, error: float) -> CurveTest:
    """The claim's trade-off function held against one event."""

    def worth(hits: Counts, runs: Sequence[int]) -> FloatArray:
        low, high = shares(hits, runs, error)
        if claim.mu is not None:
            return special.ndtri(low) - special.ndtri(high)
        return low - claim.found(high)

    _, event = choose(chosen, counted, worth)
    hits, of = event.counts(*counted)
    hit_rate, alarms = map(float, shares(hits, of, error))
    return CurveTest(
        hits_likely=hits[0],
        runs_likely=of[0],
        hits_unlikely=hits[1],
        runs_unlikely=of[1],
        found=hit_rate,
        false_alarms=alarms,
        allowed=float(claim.found(alarms)),
        mu=max(float(special.ndtri(hit_rate) - special.ndtri(alarms)), 0.0),
        likely_in=event.likely_in,
    )


def linear_scores(outputs_in: FloatArray, outputs_out: FloatArray) -> FloatArray:
    """Weights w (length d, the largest ±1) of Fisher's linear discriminant, in the direction of
    (S + λI)⁻¹(mean in − mean out).

    S is the pooled covariance (d×d) of numbers in units of their own spread, so that weights do not
    depend on the units they come in; λ = 0.01, so that more numbers than outputs do no harm. What
    is beyond ten times the inner 80 % is moved there: one outlier hides nothing.
    """
    middles = [np.median(x, axis=0) for x in (outputs_in, outputs_out)]
    rest = np.concatenate([outputs_in - middles[0], outputs_out - middles[1]])
    inner = np.subtract(*np.quantile(rest, (0.9, 0.1), axis=0)) / 2
    most = np.where(inner > 0, 10 * inner, np.inf)
    moved_in, moved_out = (
        np.clip(x, middle - most, middle + most)
        for x, middle in zip((outputs_in, outputs_out), middles, strict=True)
    )
    centre_in, centre_out = moved_in.mean(axis=0), moved_out.mean(axis=0)
    rest = np.concatenate([moved_in - centre_in, moved_out - centre_out])
    # without noise of its own a number still differs: by any spread below the smallest difference
    least = np.maximum(1e-6 * np.abs(centre_in - centre_out), np.finfo(np.float64).tiny)
    spread = np.maximum(rest.std(axis=0), least)
    rest /= spread
    scatter = rest.T @ rest / len(rest)
    apart = (centre_in - centre_out) / spread
    weights = np.linalg.solve(scatter + 0.01 * np.eye(len(scatter)), apart) / spread
    return weights / (np.abs(weights).max() or 1.0)


def _most_accurate(scores_in: FloatArray, scores_out: FloatArray) -> tuple[float, bool]:
    """The threshold, and whether "in" lies above it, that attribute these outputs best."""
    cuts = np.unique(np.quantile(np.concatenate([scores_in, scores_out]), np.linspace(0, 1, 201)))
    below_in, below_out = (
        np.searchsorted(np.sort(s), cuts, side="right") / len(s) for s in (scores_in, scores_out)
    )
    gain = below_out - below_in
    k = int(np.argmax(np.abs(gain)))
    return float(cuts[k]), bool(gain[k] >= 0)
