"""A run in partitions: from a folder of Parquet files to what was learned, in a folder.

Provides ``FolderSet`` (the files as a dataset of a ``RunSpec``) and ``partitioned_steps``, for
ratings, documents and images alike. What was learned is measured as in memory: a model of ratings
on held-out ones beside the usual baselines, with the numbers that ``experiments.tasks.rate`` gives;
a dictionary by the objective at the non-negative coefficients that suit it best, against the
average column. Errors are exact, and covered by no ε: they describe data that one holds.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.baselines import BASELINES, ItemParts, fit_items
from dpmc_core.completion.common.population import Learned
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.catalogue import Entry
from dpmc_core.datasets.samples import Matrix, direction_of, unit_columns
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.algorithms import ON_PARTITIONS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import (
    Accounted,
    noise_source,
    resolved,
    solvable,
    with_ledgers,
)
from dpmc_core.factorization import fit_coefficients
from dpmc_core.factorization.contributions import UnitGroup
from dpmc_core.metrics.factors import column_errors
from dpmc_core.metrics.ratings import clipped
from dpmc_core.partitioned.generate import write_table
from dpmc_core.partitioned.journal import RunFolder
from dpmc_core.partitioned.partition import Layout, PartitionGroup, ids_of
from dpmc_core.partitioned.population import Partitions, UnitPartitions

_SWEEPS = 40  # of the coefficients that a dictionary is judged by


class FolderSet:
    """Ratings, documents or images in partitions (``holds``) as a dataset that a spec can name
    (``user_datasets.UserDataset``).
    """

    name = f"{user_datasets.OWN}in-partitions"
    ratings = None

    def __init__(self, layout: Layout, holds: str = "ratings", dimension: int = 0) -> None:
        catalogue = layout.catalogue
        self.digest = catalogue.digest
        self._folder = catalogue.source.folder
        self.entry = Entry(
            name=self.name,
            title=layout.name,
            summary=f"In {len(catalogue.source.files)} Parquet files.",
            kind="own",
            holds=holds,
            samples=0 if holds == "ratings" else catalogue.n_users,
            dimension=dimension,
            terms="Yours.",
            citation="",
            users=catalogue.n_users,
            items=catalogue.n_items,
            ratings=catalogue.n_ratings,
            scale=(catalogue.low, catalogue.high),
        )

    def samples(self, chosen: Any) -> Any:
        """None: what is in partitions is not brought into memory."""
        raise DataError(f"{self.entry.title} is in partitions: only 'large' works on it.")

    def cached(self, key: Any, make: Any) -> Any:
        """Nothing is kept."""
        return make()

    def words(self) -> str:
        """The folder, for a command line."""
        return self._folder

    def lines(self) -> str:
        """No lines of Python read it into memory."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """RMSE in rating units on ``held_out`` ratings, and on the training ratings; half widths of 95
    % intervals are over the choice of held-out ratings. ``baselines`` by name, their predictions
    clipped to the scale; ``against`` is the best one's name, ``apart`` this model's clipped RMSE
    minus its, paired.
    """

    held_out: int
    train_rmse: float
    test_rmse: float
    test_half_width: float
    test_rmse_clipped: float
    test_half_width_clipped: float
    baselines: dict[str, float]
    against: str
    apart: float
    apart_half_width: float


@dataclass(frozen=True, kw_only=True, eq=False)
class PartitionedResult(Accounted):
    """State after ``step`` (a ``Learning`` or a factorisation's) on ``people``, who are documents
    or images where they are units. At the end ``errors``: of ratings ``Errors``; of units the
    ``objective`` ½N⁻¹‖V − WH‖², half of its 95 % interval over the choice of units, that of the
    average column (``baseline``), and by how much this one is less (``apart`` ±
    ``apart_half_width_95``).
    """

    people: Partitions | UnitPartitions
    step: Any
    errors: Any

    @property
    def finished(self) -> bool:
        """Whether the last iteration was made and measured."""
        return self.errors is not None

    @property
    def rating_width(self) -> float | None:
        """The width of the rating scale, of ratings."""
        people = self.people
        return people.width if isinstance(people, Partitions) else None

    @property
    def public(self) -> Mapping[str, str]:
        """What is taken as public of the data; a list of words that comes from the documents is
        not covered.
        """
        return self.people.public

    def summary(self) -> dict[str, Any]:
        """A JSON-able account of the run."""
        errors = asdict(self.errors) if isinstance(self.errors, Errors) else self.errors or {}
        return {
            "algorithm": self.spec.card.name,
            **self.people.sizes,
            "iterations": self.step.iteration,
            **({} if self.rating_width is None else {"objective": self.step.objective}),
            "finished": self.finished,
            **errors,
            **self.accounts(),
        }


def partitioned_steps(
    spec: RunSpec, people: Partitions | UnitPartitions, place: Path
) -> Iterator[PartitionedResult]:
    """Yield the result so far after each iteration; the last one is measured, and what was learned
    is in ``place``: ``result.json`` and, of ratings, ``items.parquet`` and a file of users' factors
    for each partition in ``users``; of documents and images ``parts.parquet``, a row of K weights
    for each word or pixel.

    ``spec`` names a ``FolderSet`` of the same layout. The same call goes on where a run was
    stopped, and draws nothing twice. Raises ``ParameterError`` for an algorithm that does not run
    on partitions, ``FolderError`` for a folder that cannot be used, ``DataError``, ``SweepError``.
    """
    of_ratings, solver, config = isinstance(people, Partitions), spec.card.learn, spec.algorithm
    task = "rate" if of_ratings else "factorize"
    if solver is None or spec.task != task:
        what = "ratings" if of_ratings else "documents or images"
        allowed = f"one of {', '.join(ON_PARTITIONS[task])} on {what} in partitions"
        raise ParameterError("algorithm", spec.card.name, allowed)
    if getattr(config, "outlier_penalty", None) is not None:
        raise ParameterError("outlier_penalty", config.outlier_penalty, "left out for partitions")
    if spec.card.noise:
        config = spec.card.prepare(config, resolved(spec).noise, people)
    about = {"spec": spec.changes(), **people.about}
    given = (people.noise_depends_on(about),)
    result = None
    with RunFolder(place, about) as folder, solvable():
        people.begin(1)
        steps = solver(people, config, noise_source(spec, given), folder)
        for step, ledger, whole in with_ledgers(steps):
            people.begin(step.iteration + 1)
            result = PartitionedResult(
                spec=spec, people=people, step=step, ledger=whole,
                draws_so_far=ledger.draws, errors=None,
            )  # fmt: skip
            if step.iteration < spec.length:
                yield result
        assert result is not None
        finish: Any = _finish_ratings if of_ratings else _finish_units
        result = replace(result, errors=finish(people, result.step, place))
        folder.finish(result.statement.as_dict(), result.summary())
        yield result


def _finish_ratings(people: Any, step: Any, place: Path) -> Errors:
    """Measure the model that was learned, and write it. Raises ``DataError``."""
    layout, learned = people.layout, step.learned
    people.doing = "baselines"
    parts = fit_items(people)
    people.doing = "errors"
    errors = _measured(people, learned, parts)
    if not np.isfinite(errors.test_rmse):
        raise DataError("the run overflowed; a larger reg (λ) or less noise keeps it finite.")
    people.doing = "writing users' factors"
    (place / "users").mkdir(mode=0o700, exist_ok=True)
    items = people.each(_write_users, layout, learned, str(place.resolve() / "users"))[0]
    catalogue = layout.catalogue
    columns = {catalogue.source.item: pa.array(catalogue.items), "factors": _lists(items)}
    write_table(columns, place / "items.parquet")
    return errors


def _finish_units(units: UnitPartitions, step: Any, place: Path) -> dict[str, float]:
    """Measure the dictionary that was learned, and write it."""
    units.doing = "errors"
    catalogue, dictionary = units.layout.catalogue, step.dictionary
    idf, n = None, sum(catalogue.sizes)  # of who is there, for who holds the data
    if units.shape is None:  # as scikit-learn's TF-IDF has it; exact
        idf = np.log((1 + n) / (1 + units.counts)) + 1
    direction = direction_of(units.total(_sum, idf))
    sums = units.total(_unit_errors, idf, direction, dictionary)
    objective, baseline, apart = (float(x) for x in sums[:3] / n)
    half, apart_half = (half_width(*pair, n) for pair in ((sums[0], sums[3]), (sums[2], sums[4])))
    columns = {catalogue.source.item: pa.array(units.rows), "weights": _lists(dictionary)}
    write_table(columns, place / "parts.parquet")
    return {
        "objective": objective,
        "half_width_95": half,
        "baseline": baseline,
        "apart": apart,
        "apart_half_width_95": apart_half,
        "explained": 1 - objective / baseline if baseline > 0 else math.nan,
    }


def _write_users(
    group: PartitionGroup, layout: Layout, learned: Learned, folder: str
) -> FloatArray | None:
    """Write the partition's users with their factors, where they are; the first partition returns
    the items' factors, which are the same for all.
    """
    source, model = layout.catalogue.source, learned.model(group)
    ids = pa.array(ids_of(layout, group.k))
    columns = {source.user: ids, "factors": _lists(model.user_factors)}
    write_table(columns, Path(folder) / source.files[group.k])
    return model.item_factors if group.k == 0 else None


def _lists(factors: FloatArray) -> Any:
    """A column of lists for Parquet, one for each row."""
    flat = pa.array(np.ascontiguousarray(factors).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, factors.shape[1])


def _measured(people: Partitions, learned: Learned, parts: ItemParts) -> Errors:
    """One pass with the model that every user completes alone."""
    sums = people.total(_errors, learned, parts)
    squares, fourths, products = sums[:-3].reshape(-1, 3).T
    train_squares, n, trained = float(sums[-3]), int(sums[-2]), float(sums[-1])
    values = np.sqrt(squares / max(n, 1))
    best = 2 + int(np.argmin(values[2:]))
    # each rating moves an RMSE by e²/(2·RMSE)
    of_mine, of_best = 1 / np.maximum(2 * values[[1, best]], 1e-300)
    moved = float(
        fourths[1] * of_mine**2
        + fourths[best] * of_best**2
        - 2 * products[best] * of_mine * of_best
    )
    pulled = float(squares[1] * of_mine - squares[best] * of_best)
    return Errors(
        held_out=n,
        train_rmse=math.sqrt(max(train_squares, 0.0) / max(trained, 1.0)),
        test_rmse=float(values[0]),
        test_half_width=half_width(squares[0], fourths[0], n) / max(2 * values[0], 1e-300),
        test_rmse_clipped=float(values[1]),
        test_half_width_clipped=half_width(squares[1], fourths[1], n) / max(2 * values[1], 1e-300),
        baselines=dict(zip(BASELINES, map(float, values[2:]), strict=True)),
        against=BASELINES[best - 2],
        apart=float(values[1] - values[best]),
        apart_half_width=half_width(pulled, moved, n),
    )


def half_width(total: float, squares: float, n: int) -> float:
    """1.96 standard errors of a mean of n numbers, from Σ x and Σ x²."""
    if n < 2:
        return math.inf
    return 1.96 * math.sqrt(max(squares - total**2 / n, 0.0) / (n - 1) / n)


def _errors(group: PartitionGroup, learned: Learned, parts: ItemParts) -> FloatArray:
    """For each of the model, the model clipped and the baselines clipped: Σ e², Σ e⁴ and Σ
    e²·(clipped model's e²) on held-out ratings; then the training Σ e², and both numbers of
    ratings.
    """
    train, test = group.ratings, group.held_out
    model = learned.model(group)
    predictions = [test.predicted_by(each) for each in parts.predictors(train)]
    raw = test.predicted_by(model)
    squares = [(raw - test.values) ** 2]
    squares += [(clipped(each, test) - test.values) ** 2 for each in (raw, *predictions)]
    sums = [(e.sum(), np.vdot(e, e), np.vdot(e, squares[1])) for e in squares]
    trained = train.values - train.predicted_by(model)
    return np.array([*np.ravel(sums), np.vdot(trained, trained), len(test), len(train)])


def _columns(group: UnitGroup, idf: FloatArray | None) -> Matrix:
    counts = group.samples.counts
    if idf is None or counts is None:
        return group.samples.values
    return unit_columns(sparse.csc_array(sparse.diags_array(idf) @ unit_columns(counts)))


def _sum(group: UnitGroup, idf: FloatArray | None) -> FloatArray:
    return np.asarray(_columns(group, idf).sum(axis=1))


def _unit_errors(
    group: UnitGroup, idf: FloatArray | None, direction: FloatArray, dictionary: FloatArray
) -> FloatArray:
    """Σ e, Σ b and Σ (e − b) of half squared errors e of the dictionary and b of the average
    column, then Σ e² and Σ (e − b)².
    """
    values = _columns(group, idf)
    fits = fit_coefficients(values, dictionary, _SWEEPS)
    mine = column_errors(values, dictionary, fits) ** 2 / 2
    average = (1 - (values.T @ direction) ** 2) / 2
    apart = mine - average
    return np.array(
        [mine.sum(), average.sum(), apart.sum(), np.vdot(mine, mine), np.vdot(apart, apart)]
    )
