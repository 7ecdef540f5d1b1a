"""A private choice among candidates by the scores that people give them."""

import csv
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpmc_core import limits
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limit import number_of
from dpmc_core.mechanisms import Staircase
from dpmc_core.mechanisms.secret import secret_generator
from dpmc_core.paths import text_of
from dpmc_core.privacy.ledger import Release, Unit

WAYS = {
    "exponential": "exponential mechanism (McSherry & Talwar 2007), monotone scores",
    "noisy-max": "report noisy max with Laplace noise (Dwork & Roth 2014, Claim 3.9)",
}


def choose(
    scores: ArrayLike,
    epsilon: float,
    *,
    names: Sequence[str] = (),
    way: str = "exponential",
    unit: Unit = "record",
    rng: np.random.Generator | None = None,
) -> tuple[int, Release]:
    """Choose a candidate whose total score is nearly the highest; returns its number, and the
    release for the ledger. ``scores``: one row for each ``unit``, one column for each candidate,
    cut to [0, 1]. ``rng``: by default secret noise from the operating system.

    Neighbours add or remove one row. One row more raises every total, by at most 1: scores are
    monotone, which halves the noise. The exponential mechanism draws candidate c with probability
    exp(ε·total_c)/Σ exp(ε·total): a row more multiplies the numerator by 1 to e^ε, and the sum too.
    Report noisy max adds Laplace noise of scale 1/ε to each total and says which is the highest:
    given the noise of the others, c wins where its own noise is above a threshold, which moves by
    at most 1. Both are ε-DP, and nothing else of the scores is released.

    That is of real numbers: the chances and the noise here are floating-point ones, whose rounding
    no ε covers (Mironov 2012).

    The ledger has one number with staircase noise of step ½ and this ε: that moves between
    neighbours as randomised response does, whose privacy loss (±ε) dominates every ε-DP mechanism
    (Kairouz, Oh & Viswanath 2015, Theorem 3.1). So whatever method accounts for that holds for the
    choice: pure ε, optimal composition of pure ε, Rényi; staircase noise has no privacy loss
    distribution here, so that beside other noise ε is up to some percent above what is exact.

    Where candidates are ε, the total must be fixed first and the largest of them accounted for:
    composition is of plans that do not follow from what was released. The candidates must not
    depend on these rows, or have an ε of their own in the ledger. Raises ``DataError`` for scores
    that are not finite or not a table; ``ParameterError``.
    """
    totals = _totals(scores)
    epsilon = limits.check("epsilon", epsilon)
    if way not in WAYS:
        raise ParameterError("way", way, "one of " + ", ".join(WAYS))
    if names and len(names) != len(totals):
        raise ParameterError("names", len(names), f"one for each of {len(totals)} candidates")
    rng = secret_generator() if rng is None else rng
    if way == "exponential":
        chosen = int(rng.choice(len(totals), p=chances(totals, epsilon)))
    else:
        chosen = int(np.argmax(totals + rng.laplace(scale=1 / epsilon, size=len(totals))))
    among = ", ".join(names) if names else f"{len(totals)} candidates"
    release = Release(
        what=f"a choice among {among}",
        mechanism=Staircase(epsilon=epsilon, sensitivity=1.0, gamma=0.5),
        l1_sensitivity=1.0,
        l2_sensitivity=1.0,
        unit=unit,
        neighbours="add/remove-one",
        coordinates=1,
        count=1,
        sound=True,
        source=f"dpmc_core.privacy.choice: {WAYS[way]}",
    )
    return chosen, release


def chances(totals: ArrayLike, epsilon: float) -> np.ndarray:
    """With which probability the exponential mechanism chooses each."""
    exponents = np.asarray(totals, dtype=np.float64) * epsilon
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def scores_from_csv(content: bytes) -> tuple[tuple[str, ...], np.ndarray]:
    """The candidates and their scores: names in the first row, then a row for each person.

    Raises ``DataError``.
    """
    text = io.StringIO(text_of("The file of scores", content), newline="")
    try:
        names, *rows = csv.reader(text)
        table = np.array(
            [[number_of(cell) for cell in row] for row in rows if row], dtype=np.float64
        )
    except (ValueError, csv.Error) as error:
        raise DataError(
            "Scores must be a CSV: names of candidates, then a row of numbers for each "
            f"person ({error})."
        ) from None
    if len(set(names)) < len(names) or not all(n.strip() and n.isprintable() for n in names):
        raise DataError("Each candidate must have a (printable) name of its own in the first row.")
    if table.ndim != 2 or table.shape[1] != len(names):
        raise DataError(f"Each row must have {len(names)} scores, one for each candidate.")
    beyond = (table < 0) | (table > 1)
    if beyond.any():
        row = int(np.argmax(beyond.any(axis=1)))
        raise DataError(
            f"Scores must be from 0 to 1; person {row + 1} has {table[row][beyond[row]][0]:g}. "
            "Divide them by the largest that is possible, not by the largest that was seen."
        )
    return tuple(names), table


def _totals(scores: ArrayLike) -> np.ndarray:
    try:
        table = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("Scores must be numbers: a row for each person.") from None
    if table.ndim != 2 or table.shape[1] < 2:
        raise DataError("Scores must be a table: a row for each person, two candidates or more.")
    if not np.isfinite(table).all():
        raise DataError("Scores must be finite: a person without a score of their own has 0.")
    return np.asarray(np.clip(table, 0.0, 1.0).sum(axis=0))
