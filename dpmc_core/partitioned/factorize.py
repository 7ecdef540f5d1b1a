"""NMF of documents or images in partitions: what left, and how good the parts are.

Provides ``factorize_partitions``. Every dictionary is judged as in memory: by the
objective at the non-negative coefficients that suit it best, against the average column.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Matrix, unit_columns
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ON_PARTITIONS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import Accounted, noise_source
from dpmc_core.factorization import fit_coefficients
from dpmc_core.factorization.contributions import UnitGroup
from dpmc_core.metrics.factors import column_errors
from dpmc_core.partitioned.errors import half_width
from dpmc_core.partitioned.generate import write_table
from dpmc_core.partitioned.journal import RunFolder
from dpmc_core.partitioned.population import UnitPartitions
from dpmc_core.partitioned.run import lists
from dpmc_core.privacy import Ledger

_SWEEPS = 40  # of the coefficients that a dictionary is judged by


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorisedPartitions(Accounted):
    """The ``dictionary`` W (D×K) after ``iteration``, the ``ledger`` of all that the plan holds, of
    which ``draws_so_far`` releases were made, and at the end the ``objective`` ½N⁻¹‖V − WH‖², half
    of its 95 % interval over the choice of units, that of the average column (``baseline``), and by
    how much this one is less (``apart`` ± ``apart_half_width``).
    """

    units: UnitPartitions
    iteration: int
    dictionary: FloatArray
    errors: dict[str, float] | None

    @property
    def finished(self) -> bool:
        """Whether the last round was made and measured."""
        return self.errors is not None

    @property
    def public(self) -> Mapping[str, str]:
        """What is taken as public; a list of words that comes from the documents is not covered."""
        return self.units.public

    def summary(self) -> dict[str, Any]:
        """A JSON-able account of the run."""
        catalogue = self.units.layout.catalogue
        return {
            "algorithm": self.spec.card.name,
            "units": catalogue.n_users,
            "rows": self.units.dimension,
            "entries": catalogue.n_ratings,
            "partitions": len(catalogue.source.files),
            "iterations": self.iteration,
            "finished": self.finished,
            **(self.errors or {}),
            **self.accounts(),
        }


def factorize_partitions(
    spec: RunSpec, units: UnitPartitions, place: Path
) -> Iterator[FactorisedPartitions]:
    """Yield the result so far after each round; the last one is measured, and in ``place`` is
    ``parts.parquet``: a row of K weights for each word or pixel.

    The same call goes on where a run was stopped, and draws nothing twice. Raises
    ``ParameterError``, ``DataError``, ``FolderError``, ``SweepError``.
    """
    solver = spec.card.learn
    if solver is None or spec.task != "factorize":
        names = ", ".join(ON_PARTITIONS["factorize"])
        allowed = f"one of {names} on documents or images in partitions"
        raise ParameterError("algorithm", spec.card.name, allowed)
    config = spec.algorithm
    if getattr(config, "outlier_penalty", None) is not None:
        raise ParameterError("outlier_penalty", config.outlier_penalty, "left out for partitions")
    config = spec.card.prepare(config, spec.noise, units)
    about = {
        "spec": spec.changes(),
        **units.layout.about,
        "shape": units.shape,
        "drawn": units.drawn,
        "words": [str(word) for word in units.rows] if units.listed else None,
    }
    # runs of other lists or shapes must not share their noise
    given = (np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8),)
    ledger, last = Ledger(), None
    with RunFolder(place, about) as folder:
        units.doing = "summing"
        for step in solver(units, config, noise_source(spec, given), folder):
            ledger = ledger.plus(step.releases)
            last = FactorisedPartitions(
                spec=spec,
                units=units,
                iteration=step.iteration,
                dictionary=step.dictionary,
                ledger=ledger.plus(step.rest),
                draws_so_far=ledger.draws,
                errors=None,
            )
            if step.iteration < spec.length:
                yield last
        assert last is not None
        units.doing = "errors"
        result = replace(last, errors=_measured(units, last.dictionary))
        item = units.layout.catalogue.source.item
        columns = {item: pa.array(units.rows), "weights": lists(last.dictionary)}
        write_table(columns, place / "parts.parquet")
        folder.finish(result.statement.as_dict(), result.summary())
        yield result


def _measured(units: UnitPartitions, dictionary: FloatArray) -> dict[str, float]:
    idf, n = None, sum(units.layout.catalogue.sizes)  # of who is there, for who holds the data
    if units.shape is None:  # as scikit-learn's TF-IDF has it; exact
        idf = np.log((1 + n) / (1 + units.counts)) + 1
    mean = units.total(_sum, idf)
    direction = mean / max(float(np.linalg.norm(mean)), 1e-300)
    sums = units.total(_errors, idf, direction, dictionary)
    objective, baseline, apart = (float(x) for x in sums[:3] / n)
    half, apart_half = (half_width(*pair, n) for pair in ((sums[0], sums[3]), (sums[2], sums[4])))
    return {
        "objective": objective,
        "half_width_95": half,
        "baseline": baseline,
        "apart": apart,
        "apart_half_width_95": apart_half,
        "explained": 1 - objective / baseline if baseline > 0 else math.nan,
    }


def _columns(group: UnitGroup, idf: FloatArray | None) -> Matrix:
    counts = group.samples.counts
    if idf is None or counts is None:
        return group.samples.values
    return unit_columns(sparse.csc_array(sparse.diags_array(idf) @ unit_columns(counts)))


def _sum(group: UnitGroup, idf: FloatArray | None) -> FloatArray:
    return np.asarray(_columns(group, idf).sum(axis=1)).ravel()


def _errors(
    group: UnitGroup, idf: FloatArray | None, direction: FloatArray, dictionary: FloatArray
) -> FloatArray:
    """Σ e, Σ b and Σ (e − b) of half squared errors e of the dictionary and b of the average
    column, then Σ e² and Σ (e − b)².
    """
    values = _columns(group, idf)
    fits = fit_coefficients(values, dictionary, _SWEEPS)
    mine = column_errors(values, dictionary, fits) ** 2 / 2
    average = (1 - np.asarray(values.T @ direction) ** 2) / 2
    apart = mine - average
    return np.array(
        [mine.sum(), average.sum(), apart.sum(), np.vdot(mine, mine), np.vdot(apart, apart)]
    )
