"""One finished run as it is kept: a narrow row to list, filter and average, and the whole summary beside it.

Lives here: the row, how a result of any task becomes one, and the key by which a spec is known. Does not live here: the database
(``store``), sweeps (``sweep``), or results themselves (``run``, ``recommend``, ``factor_run``).
"""

import hashlib
import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import dpmc_core
from dpmc_core.datasets.catalogue import entry
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.factor_spec import FactorSpec
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.factorize import FactorResult, factorize
from dpmc_core.experiments.tasks.rate import RunResult, run, versions
from dpmc_core.experiments.tasks.recommend import RecommendResult, recommend
from dpmc_core.wording import finite

__all__ = [
    "KINDS",
    "AnyResult",
    "AnySpec",
    "Record",
    "failed",
    "key_of",
    "kind_of",
    "measure_of",
    "record_of",
    "spec_of",
    "standing_of",
    "wholly",
]

AnySpec = RunSpec | FactorSpec
AnyResult = RunResult | RecommendResult | FactorResult
KINDS: dict[str, type[RunSpec] | type[FactorSpec]] = {
    "completion": RunSpec,
    "factorization": FactorSpec,
}
MEASURES = {
    "rate": "held-out RMSE, clipped (rating units)",
    "recommend": "Recall@20",
    "factor": "objective ½N⁻¹‖V − WH‖²",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A finished run. ``value`` is its ``measure``; ``trivial`` the best trivial predictor's on the same data; ``truth`` the RMSE on the whole noiseless
    matrix of made data, not clipped. ``epsilon`` and ``delta`` are what its statement says (None: no finite ε), ``epsilon_published`` the ε by published results alone where the former rests on this project's own proof, ``nominal`` whether that is
    no guarantee, ``unit`` whom it is about ("" without noise). ``error`` is the sentence of a run that could not be
    finished, whose numbers are then None. ``summary`` holds everything else: steps, ledger, statement, versions. ``created`` is UTC, ISO 8601."""

    key: str
    kind: str
    dataset: str
    algorithm: str
    mechanism: str
    seed: int
    measure: str
    value: float | None
    trivial: float | None
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
    summary: dict[str, Any]


def key_of(spec: AnySpec) -> str:
    """What a run is known by: a digest of its spec and of this software's version.

    >>> key_of(RunSpec(rank=7)) == key_of(RunSpec(rank=7)), key_of(RunSpec(rank=7)) == key_of(RunSpec(rank=8))
    (True, False)
    """
    text = f"{kind_of(spec)} {dpmc_core.__version__} {spec.to_json()}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def kind_of(spec: AnySpec) -> str:
    """ "completion" or "factorization"."""
    return "factorization" if isinstance(spec, FactorSpec) else "completion"


def spec_of(kind: str, text: str) -> AnySpec:
    """The spec that ``text`` (JSON) names. Raises ``ParameterError``."""
    if kind not in KINDS:
        raise ParameterError("kind", kind, "one of " + ", ".join(KINDS))
    return KINDS[kind].from_json(text)


def measure_of(spec: AnySpec) -> str:
    """What a run of ``spec`` is judged by, with its unit. ``better`` tells what is better."""
    return MEASURES["factor" if isinstance(spec, FactorSpec) else spec.task]


def better(measure: str, value: float, than: float) -> bool:
    """Whether ``value`` is better than another by ``measure``: more of recall, less of the others."""
    return value > than if measure == MEASURES["recommend"] else value < than


def standing_of(spec: AnySpec) -> tuple[str, bool]:
    """Whom the noise of ``spec`` is about ("" without any), and whether that is nominal: what its statement says, known before it is run."""
    if spec.mechanism == "none":
        return "", False
    if isinstance(spec, FactorSpec):
        unit = {"images": "image", "documents": "document"}[entry(spec.dataset).holds]
        return unit, FACTORIZERS[spec.algorithm].claims == "nominal"
    nominal = ALGORITHMS[spec.algorithm].protects == "rating"
    return "rating" if nominal else "user", nominal


def wholly(spec: AnySpec) -> AnyResult:
    """Run ``spec`` on one thread: the kernel's sums then have one order, whatever the machine."""
    if isinstance(spec, FactorSpec):
        return factorize(spec)
    return recommend(spec, workers=1) if spec.task == "recommend" else run(spec, workers=1)


def record_of(result: AnyResult) -> Record:
    """The record of a finished ``result``."""
    spec, statement = result.spec, result.statement
    if isinstance(result, FactorResult):
        value, trivial, truth = result.final.objective, result.trivial, None
    elif isinstance(result, RecommendResult):
        value, trivial, truth = result.final.recall, max(result.trivial.values()), None
    else:
        value, trivial, truth = (
            result.final.test_rmse_clipped,
            min(result.trivial.values()),
            result.final.truth_rmse,
        )
    if not math.isfinite(value):
        return failed(
            spec,
            DataError(
                "the result is not a finite number; a larger reg (λ) or less noise keeps it finite."
            ),
        )
    return _record(
        spec,
        value=value,
        trivial=trivial,
        truth=truth,
        epsilon=_known(statement.epsilon),
        epsilon_published=_known(statement.epsilon_published),
        seconds=result.seconds,
        summary=finite(result.summary()),
    )


def _known(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None


def failed(spec: AnySpec, error: DPMCError) -> Record:
    """The record of a run that its own numbers stopped (an overflow, a set without enough ratings): running it again would end the same way."""
    return _record(
        spec,
        error=str(error),
        summary={"spec": spec.as_dict(), "error": str(error), "versions": versions()},
    )


def _record(spec: AnySpec, **found: Any) -> Record:
    unit, nominal = standing_of(spec)
    empty = {
        "value": None,
        "trivial": None,
        "truth": None,
        "epsilon": None,
        "epsilon_published": None,
    }
    return Record(
        key=key_of(spec),
        kind=kind_of(spec),
        dataset=entry(spec.dataset).name,
        algorithm=spec.algorithm,
        mechanism=spec.mechanism,
        seed=spec.seed,
        measure=measure_of(spec),
        unit=unit,
        nominal=nominal,
        delta=spec.delta,
        version=dpmc_core.__version__,
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        spec=json.dumps(spec.as_dict(), sort_keys=True),
        **{**empty, "seconds": 0.0, "error": "", **found},
    )
