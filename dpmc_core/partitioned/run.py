"""A run on users in partitions: from a folder of Parquet files to what was learned, in a folder.

Provides ``FolderSet`` (the files as a dataset of a ``RunSpec``) and ``partitioned_steps``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.baselines import fit_items
from dpmc_core.completion.common.population import Learned, Learning
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.catalogue import Entry
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.algorithms import ON_PARTITIONS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import Accounted, noise_source, solvable
from dpmc_core.experiments.total import resolved
from dpmc_core.partitioned.engine import Engine
from dpmc_core.partitioned.errors import Errors, measured
from dpmc_core.partitioned.generate import write_table
from dpmc_core.partitioned.journal import RunFolder
from dpmc_core.partitioned.partition import Layout, PartitionGroup, ids_of
from dpmc_core.partitioned.population import Partitions, Progress
from dpmc_core.privacy import Ledger


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
        del chosen
        raise DataError(f"{self.entry.title} is in partitions: only 'large' works on it.")

    def cached(self, key: Any, make: Any) -> Any:
        """Nothing is kept."""
        del key
        return make()

    def words(self) -> str:
        """The folder, for a command line."""
        return self._folder

    def lines(self) -> str:
        """No lines of Python read it into memory."""
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class PartitionedResult(Accounted):
    """A run so far, after ``step``: the ``ledger`` of all that its plan holds, of which
    ``draws_so_far`` releases were made. ``errors`` are measured once the run has ``finished``.
    """

    layout: Layout
    step: Learning
    errors: Errors | None

    @property
    def finished(self) -> bool:
        """Whether the last iteration was made and measured."""
        return self.errors is not None

    @property
    def rating_width(self) -> float:
        """The width of the rating scale."""
        return self.layout.catalogue.high - self.layout.catalogue.low

    @property
    def public(self) -> Mapping[str, str]:
        """What is taken as public of the ratings, and by what."""
        return self.layout.catalogue.given.public

    def summary(self) -> dict[str, Any]:
        """A JSON-able account of the run."""
        catalogue = self.layout.catalogue
        source = catalogue.source
        return {
            "algorithm": self.spec.card.name,
            "users": catalogue.n_users,
            "items": catalogue.n_items,
            "ratings": catalogue.n_ratings,
            "partitions": len(catalogue.source.files),
            "columns": {"user": source.user, "item": source.item, "rating": source.value},
            "scale": [catalogue.low, catalogue.high],
            "held_out_fraction": self.layout.test_fraction,
            "iterations": self.step.iteration,
            "objective": self.step.objective,
            "finished": self.finished,
            **({} if self.errors is None else asdict(self.errors)),
            **self.accounts(),
        }


def partitioned_steps(
    spec: RunSpec, layout: Layout, engine: Engine, place: Path, progress: Progress
) -> Iterator[PartitionedResult]:
    """Yield the result so far after each iteration; the last one is measured, and what was learned
    is in ``place``: ``items.parquet``, a file of users' factors for each partition in ``users``,
    and ``result.json``.

    ``spec`` names a ``FolderSet`` of the same ``layout``. The same call goes on where a run was
    stopped, and draws nothing twice. Raises ``ParameterError`` for an algorithm that does not run
    on partitions, ``FolderError`` for a folder that cannot be used, ``DataError``, ``SweepError``.
    """
    solver = spec.card.learn
    if solver is None or spec.task != "rate":
        allowed = "one of " + ", ".join(ON_PARTITIONS["rate"]) + " on ratings in partitions"
        raise ParameterError("algorithm", spec.card.name, allowed)
    config = spec.algorithm
    if spec.card.noise:
        config = spec.card.prepare(spec.algorithm, resolved(spec).noise, layout.catalogue)
    split = {"test_fraction": layout.test_fraction, "split_seed": layout.seed}
    # runs of other splits must not share their noise
    given = (np.array([*split.values()]),)
    ledger, result = Ledger(), None
    with RunFolder(place, {"spec": spec.changes(), **layout.about, **split}) as folder, solvable():
        people = Partitions(layout, engine, progress)
        people.doing = "iteration 1"
        for step in solver(people, config, noise_source(spec, given), folder):
            ledger = ledger.plus(step.releases)
            people.doing = f"iteration {step.iteration + 1}"
            result = PartitionedResult(
                spec=spec, layout=layout, step=step, ledger=ledger.plus(step.rest),
                draws_so_far=ledger.draws, errors=None,
            )  # fmt: skip
            if step.iteration < spec.length:
                yield result
        assert result is not None
        learned = result.step.learned
        people.doing = "baselines"
        parts = fit_items(people.total, people.n_items, people.high - people.low)
        people.doing = "errors"
        errors = measured(people, learned, parts)
        if not np.isfinite(errors.test_rmse):
            raise DataError("the run overflowed; a larger reg (λ) or less noise keeps it finite.")
        people.doing = "writing users' factors"
        (place / "users").mkdir(mode=0o700, exist_ok=True)
        items = people.each(_write_users, layout, learned, str(place.resolve() / "users"))[0]
        catalogue = layout.catalogue
        columns = {catalogue.source.item: pa.array(catalogue.items), "factors": lists(items)}
        write_table(columns, place / "items.parquet")
        result = replace(result, errors=errors)
        folder.finish(result.statement.as_dict(), result.summary())
        yield result


def _write_users(
    group: PartitionGroup, layout: Layout, learned: Learned, folder: str
) -> FloatArray | None:
    """Write the partition's users with their factors, where they are; the first partition returns
    the items' factors, which are the same for all.
    """
    source, model = layout.catalogue.source, learned.model(group)
    ids = pa.array(ids_of(layout, group.k))
    columns = {source.user: ids, "factors": lists(model.user_factors)}
    write_table(columns, Path(folder) / source.files[group.k])
    return model.item_factors if group.k == 0 else None


def lists(factors: FloatArray) -> Any:
    """A column of lists for Parquet, one for each row."""
    flat = pa.array(np.ascontiguousarray(factors).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, factors.shape[1])
