"""A sweep: many runs named by one small value, from a TOML file or a form.

Its fields, reading it, and the list of runs that it stands for.

    name = "which-noise"
    seeds = 10

    [base]
    dataset = "low-rank"
    iterations = 20

    [grid]
    algorithm = ["als", "irls"]
    mechanism = ["none", "huber", "laplace", "gaussian"]
    variance = [1, 2]

Every combination of the grid's values is a *cell*; ``[[grid]]`` may stand several times, for the
union of several products. A cell is run once for each seed. ``total_epsilon`` stands for the noise
at which the whole run has that ε (``equal``).
"""

import itertools
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from dpmc_core.config import Choice, Config
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.user_datasets import is_own, lines_of
from dpmc_core.errors import DPMCError, ParameterError, check_choice, check_names
from dpmc_core.experiments.spec import AMOUNTS, RunSpec, Spec, known_names
from dpmc_core.experiments.store.records import KINDS, kind_of, runs_on
from dpmc_core.limits import LIMITS
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.wording import JsonObject, toml, toml_of

MOST_RUNS = 100_000
_NOISE = (*AMOUNTS, "alpha")
_RESERVED = ("seed", "data_seed", "split_seed", "version")
Items = tuple[tuple[str, Any], ...]


def seeds_of(root: int, count: int) -> list[tuple[int, int]]:
    """The seed and the data's seed of ``count`` repetitions, from one ``SeedSequence`` of ``root``:
    more repetitions begin with the same ones.

    >>> seeds_of(7, 3)[:2] == seeds_of(7, 2)
    True
    """
    children = np.random.SeedSequence(root).spawn(count)
    return [
        (int(first), int(second))
        for first, second in (child.generate_state(2) for child in children)
    ]


def ends_and_middle(values: Sequence[Any]) -> tuple[Any, ...]:
    """The first, the middle and the last of ``values``: what a quick look looks at.

    >>> ends_and_middle([0.5, 1, 2, 5, 10, 20]), ends_and_middle([1, 2]), ends_and_middle([])
    ((0.5, 5, 20), (1, 2), ())
    """
    chosen = (0, len(values) // 2, len(values) - 1) if values else ()
    return tuple(values[k] for k in dict.fromkeys(chosen))


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One run of many: the number of its ``cell``, what tells that from others (``settings``: a
    grid's values, or a study's line and place on it), which repetition it is, and its ``spec``.
    """

    cell: int
    settings: Items
    replicate: int
    spec: RunSpec


class ManyRuns(Spec):
    """What names many runs: cells, each repeated with other seeds. A sweep or a study."""

    @property
    def word_vectors(self) -> bool:
        """Whether topics of running text are also judged by TC-W2V, for which every process learns
        a model of its own.
        """
        return False

    @abstractmethod
    def plan(self) -> Iterator[Planned]:
        """The runs, all cells with the first seed, then all with the next: stopped half-way, every
        cell has about as many.
        """

    @abstractmethod
    def as_dict(self) -> JsonObject:
        """A JSON-able copy."""


@dataclass(frozen=True, kw_only=True)
class SweepSpec(Config, ManyRuns):
    """A sweep named completely.

    ``kind`` is of ``records.KINDS``; ``base`` holds fields of the spec that all runs share,
    ``grids`` products of listed values.

    ``seeds`` repetitions get their seeds from one ``SeedSequence`` of ``seed``: repetition k has
    the same one in every cell (so that cells can be compared in pairs), in every sweep that is
    longer, and whatever computes it. With ``fresh_data`` made data is made again for each
    repetition, else its ``data_seed`` stays. Without noise a cell has no variance, ε or α, and an
    algorithm that has no private form is run without noise: cells that become equal are run once.
    Raises ``ParameterError`` naming the cell.
    """

    name: str = "sweep"
    kind: Annotated[str, Choice(KINDS, "what its runs do")] = "completion"
    base: Items = ()
    grids: tuple[tuple[tuple[str, tuple[Any, ...]], ...], ...] = ((),)
    seeds: Annotated[int, LIMITS["sweep_seeds"]] = 5
    seed: Annotated[int, LIMITS["seed"]] = 0
    fresh_data: bool = True

    def consistent(self) -> None:
        if (
            not isinstance(self.name, str)
            or not 0 < len(self.name) <= 80
            or not self.name.isprintable()
        ):
            raise ParameterError("name", self.name, "1 to 80 printable characters")
        if not isinstance(self.fresh_data, bool):
            raise ParameterError("fresh_data", self.fresh_data, "true or false")
        field_names = sorted(known_names() - set(_RESERVED))
        for name, values in itertools.chain(self.base, *self.grids):
            if name in _RESERVED:
                allowed = "left out: seeds come from the sweep's own seed"
                raise ParameterError("sweep field", name, allowed)
            check_choice("sweep field", name, field_names)
            if values == ():
                raise ParameterError(name, "[]", "a list with at least one value")
        if self.size > MOST_RUNS:
            raise ParameterError(
                "sweep", f"{self.size:,} runs", f"at most {MOST_RUNS:,} runs: fewer values or seeds"
            )
        self.cells()  # which checks every setting before the first run

    @property
    def size(self) -> int:
        """Runs at most: cells that become equal are counted apart."""
        return self.seeds * sum(
            int(np.prod([len(values) for _, values in grid], dtype=float)) for grid in self.grids
        )

    amount = size

    def weighted_runs(self) -> Iterable[tuple[RunSpec, float]]:
        return ((spec, float(self.seeds)) for _, spec in self.cells())

    @lru_cache(maxsize=32)  # noqa: B019 - a few specs, which hold little
    def cells(self) -> tuple[tuple[Items, RunSpec], ...]:
        """Each cell's settings and its spec, with the seed of no repetition."""
        seen: dict[RunSpec, Items] = {}
        for grid in self.grids:
            for values in itertools.product(*(values for _, values in grid)):
                settings, spec = self._cell(
                    tuple(zip((name for name, _ in grid), values, strict=True))
                )
                seen.setdefault(spec, settings)
        return tuple((settings, spec) for spec, settings in seen.items())

    def plan(self) -> Iterator[Planned]:
        cells = self.cells()
        for k, (seed, data_seed) in enumerate(seeds_of(self.seed, self.seeds)):
            for n, (settings, spec) in enumerate(cells):
                fresh = self.fresh_data and spec.data.synthetic
                data = {"data_seed": data_seed} if fresh else {}
                one = spec.repetition(seed, **data)
                yield Planned(cell=n, settings=settings, replicate=k, spec=one)

    def _cell(self, settings: Items) -> tuple[Items, RunSpec]:
        all_settings = {**dict(self.base), **dict(settings)}
        try:
            spec = RunSpec.fitting(all_settings)
            if kind_of(spec) != self.kind:
                allowed = f"one for {self.kind}, the kind of this sweep"
                raise ParameterError("algorithm", spec.card.name, allowed)
        except (DPMCError, TypeError) as error:
            where = ", ".join(f"{n} = {v}" for n, v in settings) or "the only cell"
            raise ParameterError("sweep", where, f"a run that exists ({error})") from error
        mechanism = spec.noise.mechanism
        gone = set(_NOISE)
        if mechanism != "none":
            gone = {"alpha"}.difference(FAMILIES[mechanism].shape)
        items = ((n, mechanism if n == "mechanism" else v) for n, v in settings if n not in gone)
        return tuple(items), spec

    def as_dict(self) -> JsonObject:
        """A JSON-able copy, which ``from_dict`` reads back."""
        return {
            "name": self.name,
            "kind": self.kind,
            "seeds": self.seeds,
            "seed": self.seed,
            "fresh_data": self.fresh_data,
            "base": dict(self.base),
            "grid": [{name: list(values) for name, values in grid} for grid in self.grids],
        }

    def to_json(self) -> str:
        """One line of JSON, in the order of the sweep."""
        return json.dumps(self.as_dict())

    def to_toml(self) -> str:
        """The file that stands for this sweep; ``from_toml`` reads it back to an equal one.

        >>> grids = ((("variance", (1.0, 2.0)), ("mechanism", ("huber",))),)
        >>> spec = SweepSpec(name='a "b"', grids=grids, base=(("rank", 4),))
        >>> SweepSpec.from_toml(spec.to_toml()) == spec
        True
        """
        lines = [
            f"{name} = {toml(getattr(self, name))}"
            for name in ("name", "kind", "seeds", "seed", "fresh_data")
        ]
        lines += ["", "[base]", *(f"{n} = {toml(v)}" for n, v in self.base)]
        for grid in self.grids:
            lines += ["", "[[grid]]", *(f"{name} = {toml(list(values))}" for name, values in grid)]
        return "\n".join(lines) + "\n"

    @property
    def own(self) -> Any:
        """The user's own dataset that it is about; None where it is about another.

        Raises ``ParameterError`` where that is not here.
        """
        name = str(dict(self.base).get("dataset", ""))
        return user_datasets.find(name) if is_own(name) else None

    def command(self, file: str) -> str:
        """The command that makes this sweep from ``file``, which holds ``to_toml()``."""
        words = [] if self.own is None else [self.own.words()]
        if words and "kind=" not in words[0]:  # a table may be of ratings or of documents
            words.append(f"--read kind={self.own.entry.holds}")
        return " ".join([f"python -m dpmc_core sweep {file} --jobs 2", *words])

    def python(self) -> str:
        """Python lines that make this sweep and print its means."""
        dataset = str(dict(self.base).get("dataset", ""))
        imported, place = runs_on(dataset)
        return (
            lines_of(dataset)
            + imported
            + "from dpmc_core.experiments.sweeps.sweep import finished, sweep\n"
            "from dpmc_core.experiments.sweeps.spec import SweepSpec\n"
            "from dpmc_core.experiments.sweeps.tradeoff import points_of\n\n"
            f"spec = SweepSpec.from_dict({self.as_dict()!r})\n"
            f"store = {place}()\n"
            "for so_far in sweep(spec, store, jobs=1):\n"
            "    pass\n"
            "for point in points_of(finished(spec, store)):\n"
            "    print(dict(point.settings), point.mean, point.half_width)\n"
        )

    @classmethod
    def from_dict(cls, raw: object) -> "SweepSpec":
        """From a mapping as a TOML file has it. Raises ``ParameterError``."""
        if not isinstance(raw, Mapping):
            raise ParameterError("sweep", raw, "a table with base and grid")
        check_names("sweep field", raw, {f.name for f in fields(cls)} - {"grids"} | {"grid"})
        given = dict(raw)
        base, grids = given.pop("base", {}), given.pop("grid", [{}])
        grids = [grids] if isinstance(grids, Mapping) else grids
        if not isinstance(base, Mapping):
            raise ParameterError("base", base, "a table of settings, as [base] begins one")
        if (
            not isinstance(grids, list)
            or not grids
            or not all(isinstance(grid, Mapping) for grid in grids)
        ):
            raise ParameterError("grid", grids, "a table of lists, as [grid] begins one")
        settings = list(base.items())
        for grid in grids:
            for name, values in grid.items():
                if not isinstance(values, list):
                    allowed = "a list of values in [grid]; what does not vary belongs in [base]"
                    raise ParameterError(name, values, allowed)
                settings += [(name, value) for value in values]
        for name, value in settings:
            if not isinstance(value, (str, int, float)):
                raise ParameterError(name, value, "a number or a name")
        return cls(
            base=tuple(base.items()),
            grids=tuple(
                tuple((name, tuple(values)) for name, values in grid.items()) for grid in grids
            ),
            **given,
        )

    @classmethod
    def from_toml(cls, text: str) -> "SweepSpec":
        """From the text of a TOML file.

        Raises ``ParameterError`` that names the line or the field.
        """
        try:
            raw = toml_of(text)
        except ValueError as error:
            allowed = f"TOML, as README's example ({error})"
            raise ParameterError("sweep file", text[:40], allowed) from None
        return cls.from_dict(raw)
