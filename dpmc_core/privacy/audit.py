"""Audits: what an attacker who sees the output can prove about ε.

Lives here: a distinguishing attack with a held-out choice of its rule, and the lower bound on ε
that its successes prove at a stated confidence. It attacks any numbers drawn with and without a
person, so it imports no algorithm; what is attacked is put together in
``experiments.audit_targets``. An audit can show that a claim is wrong; it never shows that one is
right.

How: half of the outputs choose the rule (a linear score when an output has several numbers, then an
event "score above/at most τ" and a direction), the other half, never looked at before, is counted.
If P(event | in) ≥ p and P(event | out) ≤ q, each with Clopper–Pearson confidence 1 − β/2, then
every (ε, δ) that holds has p ≤ e^ε·q + δ, hence ε ≥ log((p − δ)/q) with confidence 1 − β
(Jagielski, Ullman & Oprea 2020, "Auditing differentially private machine learning").
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpmc_core import limits
from dpmc_core.errors import DataError, ParameterError

__all__ = [
    "Attack",
    "Bound",
    "attack",
    "clopper_pearson",
    "linear_scores",
    "lower_bound",
    "proves_at_most",
]

FloatArray = NDArray[np.float64]
_CANDIDATES = 400  # thresholds that the choosing half compares
# of the choosing half, for the weights of a linear score; the rest of it chooses the threshold
_FIT_SHARE = 0.6


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """What the held-out outputs prove.

    The true ε at ``delta`` is at least ``epsilon``, with this ``confidence``.

    The event is "score > ``threshold``" (``above``) or "score ≤ ``threshold``"; it was seen
    ``hits_likely`` times in ``runs_likely`` outputs of the dataset that makes it likely (the one
    with the person in it if ``likely_in``), and ``hits_unlikely`` times in ``runs_unlikely`` of its
    neighbour. ``accuracy`` is the share of held-out outputs that a rule chosen for that (not the
    event above) attributes correctly, both datasets weighing the same; ``accuracy_low`` and
    ``accuracy_high`` are a Clopper–Pearson interval at the same confidence.
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
    accuracy: float
    accuracy_low: float
    accuracy_high: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Attack:
    """A finished attack: what it proves, and the scores of the held-out outputs (one number each)
    for a picture.
    """

    bound: Bound
    scores_in: FloatArray
    scores_out: FloatArray


def clopper_pearson(
    hits: NDArray[np.integer] | int, runs: int, error: float
) -> tuple[FloatArray, FloatArray]:
    """Exact one-sided bounds on a probability (Clopper & Pearson 1934).

    Below the first, and above the second, each with probability at most ``error``.
    """
    k = np.asarray(hits, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), runs - k + 1, error), 0.0)
        high = np.where(
            k < runs, special.betaincinv(k + 1, np.maximum(runs - k, 1), 1 - error), 1.0
        )
    return low, high


def proves_at_most(runs: int, confidence: float, delta: float = 0.0) -> float:
    """The largest ε that ``runs`` held-out outputs per dataset can prove, when the attack never
    errs.

    >>> round(proves_at_most(1000, 0.95), 2)
    5.6
    """
    low, _ = clopper_pearson(runs, runs, (1 - confidence) / 2)
    _, high = clopper_pearson(0, runs, (1 - confidence) / 2)
    return max(math.log(max(float(low) - delta, 1e-300) / float(high)), 0.0)


def lower_bound(
    outputs_in: FloatArray,
    outputs_out: FloatArray,
    *,
    delta: float = 0.0,
    confidence: float = 0.999,
) -> Bound:
    """What ``attack`` proves.

    The true ε at ``delta`` is at least ``Bound.epsilon``, with this ``confidence``.
    """
    return attack(outputs_in, outputs_out, delta=delta, confidence=confidence).bound


def attack(
    outputs_in: FloatArray,
    outputs_out: FloatArray,
    *,
    delta: float = 0.0,
    confidence: float = 0.999,
) -> Attack:
    """Choose a rule on half of the outputs, count it on the other half, and bound ε from below.

    ``outputs_in`` (n×d or n) were released from the dataset with the person, ``outputs_out`` from
    its neighbour, all independently. Raises ``DataError`` for fewer than 8 outputs of either or
    different widths, ``ParameterError`` for δ outside [0, 1) or confidence outside (0.5, 1).
    """
    if not 0 <= delta < 1:
        raise ParameterError("delta", delta, "at least 0 and below 1")
    confidence = limits.check("confidence", confidence)
    with_person, without = (np.asarray(x, dtype=np.float64) for x in (outputs_in, outputs_out))
    if with_person.ndim == 1:
        with_person = with_person[:, None]
    if without.ndim == 1:
        without = without[:, None]
    if min(len(with_person), len(without)) < 8 or with_person.shape[1] != without.shape[1]:
        raise DataError("An audit needs at least 8 outputs of each dataset, all of one length.")
    if not (np.isfinite(with_person).all() and np.isfinite(without).all()):
        raise DataError(
            "Some released outputs are not finite numbers: nothing can be told from them."
        )
    chosen, counted = zip(
        *((x[: len(x) // 2], x[len(x) // 2 :]) for x in (with_person, without)), strict=True
    )
    if with_person.shape[1] > 1:
        fits, picks = zip(
            *((x[: int(_FIT_SHARE * len(x))], x[int(_FIT_SHARE * len(x)) :]) for x in chosen),
            strict=True,
        )
        weights = linear_scores(fits[0], fits[1])
        chosen, counted = tuple(x @ weights for x in picks), tuple(x @ weights for x in counted)
    else:
        chosen, counted = tuple(x[:, 0] for x in chosen), tuple(x[:, 0] for x in counted)
    error = (1 - confidence) / 2
    threshold, above, likely_in = _choose_rule(chosen[0], chosen[1], delta, error)
    hits_in, hits_out = (int(np.count_nonzero((s > threshold) == above)) for s in counted)
    runs_in, runs_out = (len(s) for s in counted)
    likely, unlikely = (
        ((hits_in, runs_in), (hits_out, runs_out))
        if likely_in
        else ((hits_out, runs_out), (hits_in, runs_in))
    )
    low, high = (
        float(clopper_pearson(*likely, error)[0]),
        float(clopper_pearson(*unlikely, error)[1]),
    )
    cut, in_above = _most_accurate(*chosen)
    right = [
        int(np.count_nonzero((s > cut) == (in_above == inside)))
        for s, inside in zip(counted, (True, False), strict=True)
    ]
    # each of the four bounds errs with probability error/2, so both ends together with 1 −
    # confidence
    spread = [
        clopper_pearson(hits, len(s), error / 2) for hits, s in zip(right, counted, strict=True)
    ]
    bound = Bound(
        epsilon=max(math.log(max(low - delta, 1e-300) / high), 0.0),
        delta=delta,
        confidence=confidence,
        threshold=threshold,
        above=above,
        likely_in=likely_in,
        hits_likely=likely[0],
        runs_likely=likely[1],
        hits_unlikely=unlikely[0],
        runs_unlikely=unlikely[1],
        accuracy=(right[0] / runs_in + right[1] / runs_out) / 2,
        accuracy_low=float(spread[0][0] + spread[1][0]) / 2,
        accuracy_high=float(spread[0][1] + spread[1][1]) / 2,
    )
    # copies: views would keep all outputs alive
    return Attack(bound=bound, scores_in=counted[0].copy(), scores_out=counted[1].copy())


def linear_scores(outputs_in: FloatArray, outputs_out: FloatArray) -> FloatArray:
    """Weights w (length d) of Fisher's linear discriminant, w = (S + λI)⁻¹(mean in − mean out).

    S is the pooled covariance (d×d); λ is a hundredth of its mean diagonal, so that more numbers
    than outputs do no harm.
    """
    centre_in, centre_out = outputs_in.mean(axis=0), outputs_out.mean(axis=0)
    rest = np.concatenate([outputs_in - centre_in, outputs_out - centre_out])
    scatter = rest.T @ rest / len(rest)
    ridge = 0.01 * float(np.trace(scatter)) / len(scatter)
    if ridge == 0:  # no noise at all: any direction in which the two differ
        return np.asarray(centre_in - centre_out)
    return np.asarray(
        np.linalg.solve(scatter + ridge * np.eye(len(scatter)), centre_in - centre_out)
    )


def _most_accurate(scores_in: FloatArray, scores_out: FloatArray) -> tuple[float, bool]:
    """The threshold, and whether "in" lies above it, that attribute these outputs best."""
    cuts = np.unique(np.quantile(np.concatenate([scores_in, scores_out]), np.linspace(0, 1, 201)))
    below_in, below_out = (
        np.searchsorted(np.sort(s), cuts, side="right") / len(s) for s in (scores_in, scores_out)
    )
    gain = below_out - below_in
    k = int(np.argmax(np.abs(gain)))
    return float(cuts[k]), bool(gain[k] >= 0)


def _choose_rule(
    scores_in: FloatArray, scores_out: FloatArray, delta: float, error: float
) -> tuple[float, bool, bool]:
    """Of all candidate events and directions the one that would prove most on these outputs.

    (threshold, above, likely in).
    """
    pooled = np.sort(np.concatenate([scores_in, scores_out]))
    # dense in both tails, where rare events prove large ε
    tails = np.geomspace(1, len(pooled) / 2, _CANDIDATES // 2).astype(int)
    ranks = np.unique(np.concatenate([tails - 1, len(pooled) - 1 - tails]))
    thresholds = np.unique(pooled[ranks])
    counts = [
        len(s) - np.searchsorted(np.sort(s), thresholds, side="right")
        for s in (scores_in, scores_out)
    ]
    best = (-math.inf, float(thresholds[0]), True, True)
    for above in (True, False):
        hits = [
            c if above else len(s) - c for c, s in zip(counts, (scores_in, scores_out), strict=True)
        ]
        for likely_in in (True, False):
            order = (0, 1) if likely_in else (1, 0)
            runs = (len(scores_in), len(scores_out))
            low, _ = clopper_pearson(hits[order[0]], runs[order[0]], error)
            _, high = clopper_pearson(hits[order[1]], runs[order[1]], error)
            gain = np.log(np.maximum(low - delta, 1e-300)) - np.log(high)
            k = int(np.argmax(gain))
            if gain[k] > best[0]:
                best = (float(gain[k]), float(thresholds[k]), above, likely_in)
    return best[1:]
