"""The one path from a RunSpec to a RunResult, used by pages, links and the command line.

``steps`` (yields the result so far after every iteration; stop asking and it stops) and ``run``
(the last of them). Data flows one way: spec → data → solver steps → metrics → result; ledger →
statement.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.completion import fit_baselines
from dpmc_core.completion.common.step import Step
from dpmc_core.datasets.data import split_of
from dpmc_core.datasets.ratings import Ratings, Split
from dpmc_core.errors import DataError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import (
    RatingsResult,
    noise_source,
    solvable,
    solve,
    with_ledgers,
)
from dpmc_core.metrics import Comparison
from dpmc_core.metrics.ratings import (
    clipped,
    compared_rmse,
    rmse,
    rmse_half_width,
    truth_rmse,
    truth_rmse_clipped,
)
from dpmc_core.privacy.account import tightest
from dpmc_core.wording import JsonObject

CORNER = 40
"""How many users and items ``RunResult.picture`` has."""


@dataclass(frozen=True, kw_only=True)
class StepMetrics:
    """Errors after one iteration, in rating units.

    ``test_half_width`` is half of a 95 % interval for ``test_rmse`` over the choice of held-out
    ratings (not over noise draws: for those, repeat with other seeds). ``clipped`` means that
    predictions were moved into the rating scale. ``truth_*`` compare with the whole noiseless
    matrix of synthetic data, else None. ``epsilon`` is what all releases so far spend, where noise
    is given by σ, else None: the total of a run planned with so many iterations, not of one that
    was stopped for its errors. ``chosen_reg`` is the λ that was chosen among several, if any.
    """

    iteration: int
    train_rmse: float
    test_rmse: float
    test_half_width: float
    test_rmse_clipped: float
    test_half_width_clipped: float
    truth_rmse: float | None
    truth_rmse_clipped: float | None
    objective: float
    seconds: float
    epsilon: float | None = None
    chosen_reg: float | None

    def error(self, *, clip: bool) -> tuple[float, float]:
        """RMSE on held-out ratings and its half width, of predictions in the scale to ``clip``."""
        if clip:
            return self.test_rmse_clipped, self.test_half_width_clipped
        return self.test_rmse, self.test_half_width


@dataclass(frozen=True, kw_only=True, eq=False)
class RunResult(RatingsResult[StepMetrics]):
    """A run so far: ``metrics`` per iteration, the ``model``, the ``ledger`` of all that its plan
    holds (of which ``draws_so_far`` releases were made), what that means, and how the baselines do
    on the same held-out ratings (``baselines``: name → RMSE, their predictions clipped to the
    scale; ``baseline_squares``: the best one's squared error on each held-out rating). ``finished``
    is False while it runs, and ``released`` (see ``Step``) empty.
    """

    split: Split
    baseline_squares: FloatArray
    released: Mapping[str, Any]

    @property
    def rating_width(self) -> float:
        """The width of the rating scale."""
        return self.split.train.width

    @property
    def value(self) -> float:
        """The RMSE of predictions clipped to the scale."""
        return self.final.test_rmse_clipped

    @property
    def truth(self) -> float | None:
        """The RMSE on the whole noiseless matrix of synthetic data."""
        return self.final.truth_rmse

    @property
    def picture(self) -> NDArray[Any] | None:
        """A corner of the completed matrix, of synthetic ratings."""
        if self.split.test.truth is None:
            return None
        users, items = self.model.user_factors, self.model.item_factors
        return (users[:CORNER] @ items[:CORNER].T).astype(np.float32)

    @cached_property
    def against_baseline(self) -> Comparison:
        """This run's clipped RMSE minus the best baseline's, over the choice of held-out
        ratings.
        """
        test = self.split.test
        squares = (clipped(test.predicted_by(self.model), test) - test.values) ** 2
        return compared_rmse(squares, self.baseline_squares)

    @property
    def measures(self) -> JsonObject:
        final = self.final
        return {
            "rmse": final.test_rmse,
            "rmse_half_width_95": final.test_half_width,
            "rmse_clipped": final.test_rmse_clipped,
            "rmse_train": final.train_rmse,
            "objective": final.objective,
            "rmse_truth": final.truth_rmse,
            "rmse_truth_clipped": final.truth_rmse_clipped,
        }


def rate_steps(
    spec: RunSpec, *, workers: int | None = None, split: Split | None = None
) -> Iterator[RunResult]:
    """Yield the ``RunResult`` so far after each outer iteration.

    ``split`` replaces the spec's own data (for tests and uploads). Stop iterating to cancel. Raises
    ``ParameterError``, ``DatasetMissingError`` or ``DataError`` before the first step, and
    ``DataError`` if the numbers overflow.
    """
    started = time.perf_counter()
    rng = noise_source(spec, () if split is None else split.train.numbers)
    split = split_of(spec.data, spec.seed) if split is None else split
    train, test = split.train, split.test
    baselines: dict[str, float] = {}
    baseline_squares = np.empty(0)
    for predictor in fit_baselines(train):
        predicted = clipped(test.predicted_by(predictor), test)
        baselines[predictor.name] = rmse(predicted, test.values)
        if baselines[predictor.name] == min(baselines.values()):
            baseline_squares = (predicted - test.values) ** 2
    metrics: tuple[StepMetrics, ...] = ()
    with solvable():
        steps = with_ledgers(solve(spec, train, workers=workers, rng=rng))
        for step, ledger, whole in steps:
            errors, last = _measure(step, train, test, started), step.iteration == spec.length
            if spec.noise.kind == "sigma":
                # at the end as the statement says it
                spent = tightest(ledger, spec.noise.delta, coarse=not last)
                errors = replace(errors, epsilon=spent)
            metrics = (*metrics, errors)
            if not np.isfinite(errors.test_rmse):
                raise DataError(
                    f"iteration {step.iteration} overflowed; a larger reg (λ) or less noise "
                    "keeps it finite."
                )
            yielded = time.perf_counter()
            yield RunResult(
                spec=spec,
                metrics=metrics,
                model=step.model,
                ledger=whole,
                draws_so_far=ledger.draws,
                baselines=baselines,
                baseline_squares=baseline_squares,
                split=split,
                seconds=(yielded - started) / step.runs,
                finished=last,
                released=step.released if last else {},
            )
            started += time.perf_counter() - yielded  # others may compute meanwhile


def _measure(step: Step, train: Ratings, test: Ratings, started: float) -> StepMetrics:
    model = step.model
    predicted = test.predicted_by(model)
    inside = clipped(predicted, test)
    value, value_clipped = rmse(predicted, test.values), rmse(inside, test.values)
    whole = clipped_whole = None
    if test.truth is not None:
        left, right = model.user_factors, model.item_factors
        whole = truth_rmse(left, right, test.truth)
        clipped_whole = truth_rmse_clipped(left, right, test.truth, test.low, test.high)
    return StepMetrics(
        iteration=step.iteration,
        train_rmse=float(np.sqrt(max(step.squared_residuals, 0.0) / len(train))),
        test_rmse=value,
        test_half_width=rmse_half_width((predicted - test.values) ** 2),
        test_rmse_clipped=value_clipped,
        test_half_width_clipped=rmse_half_width((inside - test.values) ** 2),
        truth_rmse=whole,
        truth_rmse_clipped=clipped_whole,
        objective=step.objective,
        seconds=(time.perf_counter() - started) / step.runs,
        chosen_reg=step.chosen_reg,
    )
