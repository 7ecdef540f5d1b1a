"""One finished run as it is kept.

A narrow row to list, filter and average, and the whole summary beside it.

The row, how a result of any task becomes one, the key by which a spec is known, what a sweep asks
of wherever runs are kept (``Runs``), and those that are in memory only (``PassingRuns``).
"""

import hashlib
import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import dpmc_core
from dpmc_core.datasets.data import uncovered_by
from dpmc_core.datasets.user_datasets import is_own
from dpmc_core.errors import DataError, DPMCError, ParameterError, check_choice
from dpmc_core.experiments.run import TASKS, AnyResult, run
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.wording import JsonObject, finite

KINDS = ("completion", "factorization")
NUMBERS = ("value", "baseline", "truth", "epsilon", "epsilon_published")


@dataclass(frozen=True, kw_only=True)
class Record:
    """A finished run.

    ``value`` is its ``measure``; ``baseline`` the best baseline's on the same data;
    ``truth`` the RMSE on the whole noiseless matrix of made data, not clipped. ``epsilon`` and
    ``delta`` are what its statement says (None: no finite ε), ``epsilon_published`` the ε by
    published results alone where the former rests on this project's own proof, ``nominal`` whether
    that is no guarantee, ``unit`` whom it is about ("" without noise). ``error`` is the sentence of
    a run that could not be finished, whose numbers are then None. ``summary`` holds everything
    else: steps, ledger, statement, versions. ``created`` is UTC, ISO 8601.
    """

    key: str
    kind: str
    dataset: str
    algorithm: str
    mechanism: str
    seed: int
    measure: str
    value: float | None
    baseline: float | None
    truth: float | None
    epsilon: float | None
    epsilon_published: float | None
    delta: float
    nominal: bool
    unit: str
    seconds: float
    version: str
    created: str
    error: str
    spec: str
    summary: JsonObject


def key_of(spec: RunSpec) -> str:
    """What a run is known by: a digest of its spec and of this software's version.

    >>> key_of(RunSpec.of(rank=7)) == key_of(RunSpec.of(rank=7))
    True
    >>> key_of(RunSpec.of(rank=7)) == key_of(RunSpec.of(rank=8))
    False
    """
    text = f"{kind_of(spec)} {dpmc_core.__version__} {spec.to_json()}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def kind_of(spec: RunSpec) -> str:
    """ "completion" or "factorization"."""
    return "factorization" if spec.task == "factorize" else "completion"


def spec_of(kind: str, text: str) -> RunSpec:
    """The spec that ``text`` (JSON) names.

    Raises ``ParameterError``.
    """
    check_choice("kind", kind, KINDS)
    spec = RunSpec.from_json(text)
    if kind_of(spec) != kind:
        raise ParameterError("kind", kind, f"{kind_of(spec)} for this spec")
    return spec


def standing_of(spec: RunSpec) -> tuple[str, bool]:
    """Whom the noise of ``spec`` is about ("" without any), and whether that is nominal.

    What its statement says, known before it is run.
    """
    if spec.noise.kind == "none" or getattr(spec.algorithm, "stops", False):
        return "", False
    unit = spec.card.unit
    if unit == "sample":
        unit = {"images": "image", "documents": "document"}[spec.data.entry.holds]
    return unit, not spec.card.guarantee or bool(uncovered_by(spec.data))


def run_single_threaded(spec: RunSpec) -> AnyResult:
    """Run ``spec`` on one thread: the kernel's sums then have one order, whatever the machine."""
    return run(spec) if spec.task == "factorize" else run(spec, workers=1)


def record_of(result: AnyResult, *, once: bool = False) -> Record:
    """The record of a finished ``result``.

    ``once``: its noise was secret, so that a run of the same spec is another release, to be kept
    beside it.
    """
    spec, statement = result.spec, result.statement
    if not math.isfinite(result.value):
        text = "the result is not a finite number; a larger reg (λ) or less noise keeps it finite."
        return failed(spec, DataError(text))
    return record_for(
        spec,
        value=result.value,
        baseline=result.baseline,
        truth=result.truth,
        epsilon=finite(statement.epsilon),
        epsilon_published=finite(statement.epsilon_published),
        seconds=result.seconds,
        summary=finite(result.summary()),
        **({"key": secrets.token_hex(16)} if once and spec.secret else {}),
    )


def failed(spec: RunSpec, error: DPMCError) -> Record:
    """The record of a run that its own numbers stopped (an overflow, a set without enough ratings):
    running it again would end the same way.
    """
    return record_for(
        spec,
        error=str(error),
        summary={"spec": spec.as_dict(), "error": str(error), "versions": versions()},
    )


def record_for(spec: RunSpec, **numbers: Any) -> Record:
    """The record of a run of ``spec`` with these fields; what is left out is None, 0 or today's."""
    unit, nominal = standing_of(spec)
    return Record(
        kind=kind_of(spec),
        dataset=spec.data.entry.name,
        algorithm=spec.card.name,
        mechanism=spec.noise.mechanism,
        seed=spec.seed,
        measure=TASKS[spec.task].measure,
        unit=unit,
        nominal=nominal,
        delta=spec.noise.delta,
        spec=spec.to_json(),
        **{
            **dict.fromkeys(NUMBERS),
            "key": key_of(spec),
            "seconds": 0.0,
            "summary": {},
            "error": "",
            "version": dpmc_core.__version__,
            "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **numbers,
        },
    )


class Runs(Protocol):
    """Where finished runs are kept: what a sweep asks of it."""

    def check_writable(self) -> None: ...

    def add(self, record: Record) -> bool: ...

    def have(self, keys: Iterable[str]) -> set[str]: ...

    def find(self, keys: Iterable[str], *, whole: bool = False) -> dict[str, Record]: ...


def runs_on(dataset: str) -> tuple[str, str]:
    """The Python line that imports what keeps runs on ``dataset``, and its name."""
    room, place = ("records", "PassingRuns") if is_own(dataset) else ("store", "RunStore")
    return f"from dpmc_core.experiments.store.{room} import {place}\n", place


class PassingRuns:
    """Runs in memory only: those on somebody's own data, which go when their visit ends."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def __enter__(self) -> "PassingRuns":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close: the runs go with this object."""

    def check_writable(self) -> None:
        """See ``RunStore.check_writable``."""

    def add(self, record: Record) -> bool:
        """See ``RunStore.add``."""
        return self._records.setdefault(record.key, record) is record

    def have(self, keys: Iterable[str]) -> set[str]:
        """See ``RunStore.have``."""
        return self._records.keys() & keys

    def find(self, keys: Iterable[str], *, whole: bool = False) -> dict[str, Record]:
        """See ``RunStore.find``."""
        del whole
        return {key: self._records[key] for key in keys if key in self._records}
