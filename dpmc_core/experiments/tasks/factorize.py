"""The one path from a RunSpec to a FactorResult, used by pages, links and the command line.

The data of a spec (cached), ``factorize_steps`` (yields the result so far; stop asking and it
stops) and ``factorize`` (the last of them). Data flows one way: spec → samples → solver steps →
measures → result; ledger → statement.

Every dictionary is judged alike: by the objective (nmf-paper eq. 15) at the non-negative
coefficients that suit it best on the clean data, which are fitted here without noise. They are
measures for the holder of the data, not releases.
"""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.datasets.configs import SampleData
from dpmc_core.datasets.data import cached, samples_of, uncorrupted
from dpmc_core.datasets.samples import Samples, subset
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import Result, noise_source, solve, with_ledgers
from dpmc_core.factorization import FactorStep, fit_coefficients, objective, sklearn_nmf
from dpmc_core.factorization.blocks import cross
from dpmc_core.factorization.public_images import parts_without_data
from dpmc_core.factorization.word_choice import choose_words
from dpmc_core.metrics import Comparison, half_width
from dpmc_core.metrics.factors import (
    column_errors,
    mean_columns,
    mean_score,
    npmi,
    share_found,
    topic_terms,
)
from dpmc_core.privacy import Release
from dpmc_core.wording import JsonObject

# rounds at most that are measured, spread evenly: fitting coefficients costs as much as a round
_MEASURED = 40
_REFERENCE_SAMPLES, _REFERENCE_ROUNDS = 10_000, 50
# those in between start from the round before
_FIRST_SWEEPS, _LIVE_SWEEPS, _LAST_SWEEPS = 10, 4, 40
_LEAST_GAP = 1e-3  # between baseline and reference, of the former
_TERMS = 20  # words of a topic in a picture: pages show some of them
_SHOWN = 24  # columns whose outliers are kept for showing


@dataclass(frozen=True, kw_only=True)
class FactorMetrics:
    """After one round: ``objective`` ½N⁻¹‖V° − WH‖² with the best H for W on the clean data V°,
    half of a 95 % interval for it over the choice of images or documents (not over noise draws),
    ``own_objective`` with the algorithm's own H (images only; None where it keeps none), the share
    of true parts ``found`` (made data, else None) and how far W has ``moved`` from its start (as
    published, else None).
    """

    iteration: int
    objective: float
    half_width: float
    own_objective: float | None
    found: float | None
    moved: float | None
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorResult(Result[FactorMetrics]):
    """A run so far: ``metrics`` per measured round, the ``dictionary`` W (D×K) and the
    ``coefficients`` H (K×N) that suit it best on the clean data, the ``ledger`` of all that its
    plan holds (``draws_so_far`` releases were made), the halved squared ``baseline_errors`` of each
    column by each baseline, and the ``reference`` (scikit-learn's NMF, not private; NaN until
    finished). ``outliers`` holds the columns ``shown`` of R, None without outliers, and
    ``corrupted_values`` those columns as the algorithm saw them (spoiled ones first). ``samples``
    is the data as given, without its values where they are spoiled: those would be another D×N.
    ``finished`` is False while it runs.
    """

    samples: Samples
    clean: Samples
    dictionary: FloatArray
    coefficients: FloatArray
    outliers: FloatArray | None
    shown: IntArray
    corrupted_values: FloatArray
    baseline_errors: dict[str, FloatArray]
    reference: float

    @property
    def public(self) -> Mapping[str, str]:
        """What is taken as public of the samples, and by what."""
        return self.samples.public

    @property
    def value(self) -> float:
        """The objective."""
        return self.final.objective

    @property
    def way(self) -> float:
        """How far from the best baseline to the reference.

        0 is no better than that baseline, 1 as good as scikit-learn's NMF; NaN until finished,
        and where the two are too near to tell (K = 1).
        """
        gap = self.baseline - self.reference
        far = gap > _LEAST_GAP * self.baseline
        return (self.baseline - self.final.objective) / gap if far else math.nan

    @property
    def picture(self) -> NDArray[Any] | None:
        """The parts of images, each as bright as its brightest pixel; of each topic the heaviest
        words by their rows, −1 where there are no more (``_TERMS``×K).
        """
        if self.clean.unit != "image":
            terms = topic_terms(self.dictionary, _TERMS)
            return np.array([some + [-1] * (_TERMS - len(some)) for some in terms]).T
        brightest = np.maximum(self.dictionary.max(axis=0), 1e-300)
        return np.round(255 * np.clip(self.dictionary / brightest, 0, 1)).astype(np.uint8)

    @cached_property
    def against_baseline(self) -> Comparison:
        """This objective minus the best baseline's, over the choice of columns."""
        mine = column_errors(self.clean.values, self.dictionary, self.coefficients) ** 2 / 2
        return Comparison.of_rows(mine - self.baseline_errors[self.best_baseline])

    @cached_property
    def coherence(self) -> FloatArray | None:
        """NPMI of each topic's top words (K,); None for images.

        From the documents, without noise.
        """
        return npmi(self.clean, self.dictionary) if self.clean.counts is not None else None

    def summary(self) -> JsonObject:
        """A JSON-able account of the run: what the command line prints and the page exports."""
        score = mean_score(self.coherence)
        against = self.against_baseline
        return {
            "spec": self.spec.as_dict(),
            "objective": self.final.objective,
            "objective_half_width_95": self.final.half_width,
            "own_objective": self.final.own_objective,
            "baselines": self.baselines,
            "against_baseline": {
                "name": self.best_baseline,
                "difference": against.mean,
                "half_width_95": against.half_width,
            },
            "reference": {"scikit-learn NMF": self.reference},
            "way": self.way,
            "found": self.final.found,
            "moved": self.final.moved,
            "coherence": {"npmi": score} if math.isfinite(score) else None,
            "samples": len(self.clean),
            "dimension": self.clean.dimension,
            "notes": list(self.samples.notes),
            **self.accounts(),
            "steps": [asdict(m) for m in self.metrics],
        }


def baselines_of(clean: Samples, rank: int) -> dict[str, FloatArray]:
    """Half of the squared error of each column (N,), by each baseline.

    Every column as the multiple of the average column that suits it best; images also
    by ``rank`` parts that no image had a say in.
    """
    mean = mean_columns(clean.values)[:, None]
    along = cross(clean.values, mean)
    errors = {"average column": column_errors(clean.values, mean, along, along) ** 2 / 2}
    if clean.shape is not None:
        parts = parts_without_data(clean.shape, rank)
        fits = fit_coefficients(clean.values, parts, _LAST_SWEEPS)
        errors["parts made without data"] = column_errors(clean.values, parts, fits) ** 2 / 2
    return errors


def reference(data: SampleData, rank: int) -> float:
    """The objective of scikit-learn's NMF on the clean data with as many parts.

    50 iterations (not to convergence), fitted to at most 10,000 columns, chosen at random.
    """
    return cached(_reference, uncorrupted(data), rank, most=32)


def _reference(data: SampleData, rank: int) -> float:
    return _reference_of(samples_of(data, clean=True), rank)


def _reference_of(clean: Samples, rank: int) -> float:
    chosen = np.random.default_rng(0).permutation(len(clean))[
        :_REFERENCE_SAMPLES
    ]  # sets may be sorted by class
    some = clean if len(clean) <= _REFERENCE_SAMPLES else subset(clean, np.sort(chosen))
    # more parts than there are columns fit no better
    rank = min(rank, *some.values.shape)
    step = next(sklearn_nmf(some.values, rank, _REFERENCE_ROUNDS))
    return objective(
        clean.values, step.dictionary, fit_coefficients(clean.values, step.dictionary, _LAST_SWEEPS)
    )


def factorize_steps(
    spec: RunSpec, *, samples: Samples | None = None, compare: bool = True
) -> Iterator[FactorResult]:
    """Yield the ``FactorResult`` so far after each measured round, at most forty of them, the last
    always.

    ``samples`` replaces the spec's own data (for tests and uploads); ``compare`` False leaves the
    reference out, which takes a fit of its own. Stop iterating to cancel. Raises
    ``ParameterError``, ``DatasetMissingError`` or ``DataError`` before the first step.
    """
    started = time.perf_counter()
    own, rank, length = samples is None, spec.algorithm.rank, spec.length
    clean = samples_of(spec.data, clean=True) if samples is None else samples
    given = samples_of(spec.data) if samples is None else samples
    rng = noise_source(spec, () if samples is None else samples.numbers)
    spent: tuple[Release, ...] = ()
    chooses = own and spec.data.chosen.word_list == "private"
    if chooses:
        sides = getattr(spec.algorithm, "neighbours", "add/remove-one")
        most = spec.data.most_words
        given, spent = choose_words(given, spec.noise.budget, sides, most, rng, rank)
        clean = given
    beside = baselines_of(clean, rank)
    every = -(-length // _MEASURED)
    shown = _columns_to_show(given)
    seen = (
        np.asarray(given.values[:, shown]) if given.unit == "image" else np.empty((0, shown.size))
    )
    result_samples = replace(given, values=clean.values)
    metrics: tuple[FactorMetrics, ...] = ()
    coefficients: FloatArray | None = None
    steps = with_ledgers(solve(spec, given, rng=rng, spent=spent), spent)
    compared = math.nan
    for count, (step, ledger, whole) in enumerate(steps, start=1):
        last = count == length
        if count % every and not last:
            continue
        target = cross(clean.values, step.dictionary)
        sweeps = _LAST_SWEEPS if last else _FIRST_SWEEPS if coefficients is None else _LIVE_SWEEPS
        coefficients = fit_coefficients(
            clean.values, step.dictionary, sweeps, None if last else coefficients, target
        )
        metrics = (*metrics, _measure(step, clean, coefficients, target, started))
        yielded = time.perf_counter()
        if last and own and compare:
            compared = _reference_of(clean, rank) if chooses else reference(spec.data, rank)
        yield FactorResult(
            spec=spec,
            samples=result_samples,
            clean=clean,
            metrics=metrics,
            dictionary=step.dictionary,
            coefficients=coefficients,
            outliers=None if step.outliers is None else step.outliers[:, shown],
            shown=shown,
            corrupted_values=seen,
            ledger=whole,
            draws_so_far=ledger.draws,
            baselines={name: float(errors.mean()) for name, errors in beside.items()},
            baseline_errors=beside,
            reference=compared,
            seconds=yielded - started,
            finished=last,
        )
        started += time.perf_counter() - yielded  # others may compute meanwhile


def _measure(
    step: FactorStep, clean: Samples, coefficients: FloatArray, target: FloatArray, started: float
) -> FactorMetrics:
    halves = column_errors(clean.values, step.dictionary, coefficients, target) ** 2 / 2
    own = None
    if (
        step.coefficients is not None and clean.unit == "image"
    ):  # for text its weights may be others than the data's
        errors = column_errors(clean.values, step.dictionary, step.coefficients, target)
        own = float((errors**2).mean() / 2)
    return FactorMetrics(
        iteration=step.iteration,
        objective=float(halves.mean()),
        half_width=half_width(halves),
        own_objective=own,
        found=None if clean.truth is None else share_found(clean.truth, step.dictionary),
        moved=step.moved,
        seconds=time.perf_counter() - started,
    )


def _columns_to_show(samples: Samples) -> IntArray:
    """Spoiled columns first, half of those shown, then others."""
    half = samples.spoiled[: _SHOWN // 2]
    others = np.setdiff1d(np.arange(min(len(samples), 4 * _SHOWN)), samples.spoiled)[
        : _SHOWN - half.size
    ]
    return np.concatenate([half, others]).astype(np.intp)
