"""Private NMF, corrected.

The paper's scheme with a start that tells nothing, and everything counted.

Rounds of noisy statistics A and B from clipped coefficients, and the dictionary fitted to them.

Unit: one image or document, added or removed; how many places N there are is taken as public, so
formally it is there or its place is empty. Its column v has length at most 1. Given the dictionary
that was released last, its coefficients h are worked out from v alone and cut to ‖h‖ ≤ 1 and, with
outliers, v − r is cut to length 1 as well. So one unit moves A = Σ h hᵀ (its triangle, packed) by
‖h‖² ≤ 1 and B = Σ (v − r) hᵀ by at most 1 in ℓ2 (nmf-paper eqs. 13–14 for add/remove; the paper's 2
and 4 are for replacing one, before its 1/N). Every round is released with both, all rounds are
planned together, and the start is a random dictionary (or the released mean image). What is done
with the released statistics afterwards, averaging over rounds included, costs nothing.

With ``sampling_rate`` q below 1 each round is of a new sample, in which every unit is with
probability q, drawn for each unit alone (Poisson sampling). A unit added or removed then moves A
and B of a round as above with probability q, together, and else not at all: Gaussian noise is
accounted for so (``privacy.losses.sampled_epsilons``), other noise as if all units took part, which
bounds it. For one unit replaced that derivation does not hold, and such a plan is refused. The
dictionary is fitted to A and B of one sample, so that dividing both by q would change nothing.
Which units were drawn is neither released nor kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.config import Choice
from dpmc_core.datasets.samples import Matrix, Samples
from dpmc_core.errors import ParameterError
from dpmc_core.factorization.blocks import (
    coordinate_sweeps,
    cross,
    fit_coefficients,
    gram_and_target,
    unit_ball,
)
from dpmc_core.factorization.contributions import (
    AllUnits,
    Selection,
    UnitGroup,
    Units,
    clipped_columns,
    frequency_part,
    keep_rows,
    mean_part,
    planned_for,
    rows_worth_it,
    sum_of_columns,
)
from dpmc_core.factorization.robust import soft_threshold
from dpmc_core.factorization.step import (
    FactorStep,
    InnerSteps,
    NeighbourChoice,
    OutlierBound,
    OutlierPenalty,
    Rounds,
    RoundsConfig,
    check_outliers,
    check_parts,
    random_dictionary,
)
from dpmc_core.limits import LIMITS, Limit
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Budget, Curator, Journal, Part, plan
from dpmc_core.privacy.ledger import Unit
from dpmc_core.privacy.moments import packed, product_part, unpacked, whole_moment_part

STARTS = ("mean", "random")
MEAN_SHARE = 0.05  # of the budget, for a start from the mean
GRAM_SHARE = 0.25  # of a round's budget, for A; the rest for B, which has more numbers
MOST_WORDS = 2000
START_SPREAD = 0.5  # how far a start from the mean spreads around it


@dataclass(frozen=True, kw_only=True)
class CorrectedNMFConfig(RoundsConfig):
    """K parts, T rounds, ``inner`` passes over W per round.

    ``start`` "mean" spends a little on the mean image and spreads random parts around it.
    ``averaging`` keeps statistics of earlier rounds: the t-th round counts as much as all before it
    together do times (1 − averaging)/averaging; 0 for none. Outliers as in ``RobustConfig``.
    ``budget`` None for no noise; ``neighbours`` "replace-one" plans for one unit replaced by
    another (eqs. 13–14 have twice the sensitivities; ``moments`` derives √2 where that holds).
    """

    rounds: Rounds = 20
    inner: InnerSteps = 10
    start: Annotated[
        str,
        Choice(
            STARTS, "what the dictionary starts from", "Start", ("the released average", "random")
        ),
    ] = "mean"
    averaging: Annotated[
        float,
        Limit(
            0,
            1,
            "how much the statistics of earlier rounds still count",
            open_high=True,
            label="Averaging",
            step=0.1,
        ),
    ] = 0.9
    outlier_penalty: OutlierPenalty | None = None
    outlier_bound: OutlierBound = 10.0
    neighbours: NeighbourChoice = "add/remove-one"
    sampling_rate: Annotated[float, LIMITS["sampling_rate"]] = 1.0
    budget: Budget | None = None

    def consistent(self) -> None:
        if self.sampling_rate < 1 and self.neighbours == "replace-one":
            raise ParameterError("sampling_rate", self.sampling_rate, "1 for one unit replaced")


def learn_corrected(
    units: Units,
    config: CorrectedNMFConfig,
    rng: np.random.Generator,
    journal: Journal | None = None,
) -> Iterator[FactorStep]:
    """T rounds; see the module for what is released and why it is bounded so.

    Units in memory have their coefficients and outliers in each step; others have no outliers.
    """
    check_parts((units.dimension, units.given), config.rank)
    rate = config.sampling_rate
    if rate < 1 and units.whole is None:
        raise ParameterError("sampling_rate", rate, "1 for units in partitions")
    curator, selection, start = _begin(units, config, rng, journal)
    values = None if units.whole is None else selection.columns(units.whole)
    seen: dict[str, Any] = {}

    def statistics(dictionary: FloatArray) -> FloatArray:
        if values is None:
            return units.total(statistics_of_group, selection, config, dictionary)
        fitted = _coefficients_of_each(values, dictionary, config)
        seen["coefficients"], clean, seen["outliers"] = fitted
        taking = seen["coefficients"]
        if rate < 1:
            taking = taking * (rng.random(taking.shape[1]) < rate)
        return np.vstack(gram_and_target(clean, taking))

    for k, dictionary in enumerate(rounds_from(statistics, start, config, curator), start=1):
        whole = selection.spread(dictionary, units.dimension)
        yield FactorStep(k, whole, **seen, releases=curator.made(), rest=curator.rest())


def corrected_nmf(
    samples: Samples, config: CorrectedNMFConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    """``learn_corrected`` of images or documents in memory.

    Raises ``DataError`` for outliers in text.
    """
    check_outliers(config.outlier_penalty, dense=samples.unit != "document")
    return learn_corrected(AllUnits(samples), config, rng)


def _begin(
    units: Units, config: CorrectedNMFConfig, rng: np.random.Generator, journal: Journal | None
) -> tuple[Curator, Selection, FloatArray]:
    """The plan's curator, what is summed over (all pixels, or so many words as a first plan says
    are worth their noise), and the dictionary (M×K) of the first round.
    """
    rows = units.dimension
    if units.unit == "document":
        rows = min(rows, MOST_WORDS)
        first = plan(_parts(units, config, rows), config.budget)
        if first is not None:
            sample = round(units.given * config.sampling_rate)
            rows = rows_worth_it(sample, 1 / first["B"].mechanism.std, rows)
    curator = Curator(plan(_parts(units, config, rows), config.budget), rng, journal)
    selection = keep_rows(units, curator, rows)
    size = len(selection.rows)
    start = curator.once("dictionary", lambda: random_dictionary(size, config.rank, rng))
    if config.start == "mean":
        mean = curator.total("mean", units, sum_of_columns, selection)
        start = around(np.maximum(mean, 0.0), start)
    return curator, selection, start


def rounds_from(
    statistics: Callable[[FloatArray], FloatArray],
    dictionary: FloatArray,
    config: CorrectedNMFConfig,
    curator: Curator,
) -> Iterator[FloatArray]:
    """The dictionary (M×K) after each round from ``dictionary``; ``statistics`` of one are H Hᵀ
    over (V − R) Hᵀ (K + M × K).
    """
    rank = config.rank
    gram, product, weight = np.zeros((rank, rank)), np.zeros(dictionary.shape), 0.0
    for _ in range(config.rounds):
        noisy = _released(cache(partial(statistics, dictionary)), rank, curator)
        gram = config.averaging * gram + noisy[0]
        product = config.averaging * product + noisy[1]
        weight = config.averaging * weight + 1
        dictionary = _fit(gram / weight, product / weight, dictionary, config.inner)
        yield dictionary


def _released(
    both: Callable[[], FloatArray], rank: int, curator: Curator
) -> tuple[FloatArray, FloatArray]:
    """The statistics of a round as they leave; computed if none is kept."""
    gram = curator.release("A", lambda: packed(both()[:rank]))
    return unpacked(gram, rank), curator.release("B", lambda: both()[rank:])


def statistics_of_group(
    group: UnitGroup, selection: Selection, config: CorrectedNMFConfig, dictionary: FloatArray
) -> FloatArray:
    """H Hᵀ over (V − R) Hᵀ of the group (K + M × K), H and R from ``dictionary``."""
    coefficients, clean, _ = _coefficients_of_each(selection.columns(group), dictionary, config)
    return np.vstack(gram_and_target(clean, coefficients))


def _parts(units: Units, config: CorrectedNMFConfig, rows: int) -> dict[str, Part]:
    unit = units.unit
    parts = frequency_part(units)
    if config.start == "mean":
        parts["mean"] = mean_part(units, rows, MEAN_SHARE)
    left = 1.0 - sum(part.share for part in parts.values())
    rounds = parts_of_rounds(unit, config, rows, left)
    rate = config.sampling_rate
    parts |= {name: replace(part, sampling_rate=rate) for name, part in rounds.items()}
    return planned_for(config.neighbours, parts)


def parts_of_rounds(
    unit: Unit, config: CorrectedNMFConfig, rows: int, share: float
) -> dict[str, Part]:
    """The plan of A and B over so many ``rows`` in all rounds, with this ``share`` together."""
    return {
        "A": whole_moment_part(
            "which parts go together (A)",
            clip=1.0,
            size=config.rank,
            share=share * GRAM_SHARE,
            unit=unit,
            count=config.rounds,
        ),
        "B": product_part(
            "what goes with each part (B)",
            clip=1.0,
            rows=rows,
            columns=config.rank,
            share=share * (1 - GRAM_SHARE),
            unit=unit,
            count=config.rounds,
            non_negative=config.outlier_penalty is None,  # outliers are taken off, down to below 0
        ),
    }


def around(mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Random columns times the mean, smoothly: mean · (1 + spread·(random − ½)), of length 1."""
    size = float(np.linalg.norm(mean))
    if size == 0:
        return spread
    relative = spread / spread.max(axis=0)
    table = mean[:, None] * (1 - START_SPREAD + START_SPREAD * 2 * relative)
    return table / np.linalg.norm(table, axis=0)


def _coefficients_of_each(
    values: Matrix, dictionary: FloatArray, config: CorrectedNMFConfig
) -> tuple[FloatArray, Matrix, FloatArray | None]:
    """H with columns of length at most 1, and V − R likewise.

    Column n depends on the n-th unit and the released dictionary only.
    """
    coefficients = fit_coefficients(values, dictionary, sweeps=8)
    if config.outlier_penalty is None:
        return clipped_columns(coefficients, 1.0), values, None
    gram = dictionary.T @ dictionary
    for _ in range(4):
        left = values - dictionary @ coefficients
        outliers = soft_threshold(left, config.outlier_penalty, config.outlier_bound)
        clean = clipped_columns(values - outliers, 1.0)
        coefficients = coordinate_sweeps(gram, cross(clean, dictionary), coefficients, 3)
    return clipped_columns(coefficients, 1.0), clean, outliers


def _fit(gram: FloatArray, product: FloatArray, dictionary: FloatArray, passes: int) -> FloatArray:
    """min over W ≥ 0 of ½·tr(WᵀWA) − tr(WᵀB), from the last dictionary.

    Noise may leave A with negative eigenvalues, which are lifted to a hundredth of the largest.
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.01 * max(float(values[-1]), 1e-12))
    whole = (vectors * values) @ vectors.T
    fitted = coordinate_sweeps(
        whole, np.ascontiguousarray(product.T), np.ascontiguousarray(dictionary.T), passes
    ).T
    empty = ~fitted.any(axis=0)
    fitted[:, empty] = dictionary[:, empty]  # a part that the noise wiped out stays what it was
    return unit_ball(np.ascontiguousarray(fitted))


ALGORITHMS = (
    guaranteed(
        name="private-nmf",
        title="Private NMF, corrected",
        summary="The same algorithm from a start that reveals nothing, everything clipped and "
        "accounted for.",
        source="private-NMF paper, eqs. 13–14 and section 3.3; this project",
        config=CorrectedNMFConfig,
        order=24,
        unit="sample",
        factorize=corrected_nmf,
        learn=learn_corrected,
    ),
)
