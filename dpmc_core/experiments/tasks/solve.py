"""What every task does alike: a spec's noise, its solver's steps, and what a result depends on."""

import hashlib
import json
import platform
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

import dpmc_core
from dpmc_core.completion import FactorModel
from dpmc_core.config import Config
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.ratings import Split, UserSplit
from dpmc_core.datasets.synthetic.ratings import low_rank
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.mechanisms.secret import secret_generator
from dpmc_core.privacy import Ledger, Release, Statement, least_noise, state
from dpmc_core.privacy.noise import NominalEpsilon, TotalEpsilon
from dpmc_core.wording import JsonObject


def noise_source(spec: RunSpec, given: tuple[NDArray[Any], ...] = ()) -> np.random.Generator:
    """The generator of a run's start and noise.

    Secret noise is drawn with a key from the operating system that nothing keeps. Noise that can
    be repeated is public. Where a guarantee is shown it depends on the whole spec: two runs of one
    seed that shared their noise, scaled by each run's σ, would give the exact sums away together,
    even to those who do not know the seed. The nominal algorithms
    keep one start for one seed, so that comparing them with and without noise is about the noise.
    On somebody's own data it depends on the data too: outputs for two versions of a file that
    shared their noise would give the difference away. ``given`` is what a run is given in the place
    of its spec's own data: for the same reason noise depends on every number of it.
    """
    if not spec.card.guarantee or spec.noise.kind == "none":
        salt = 0xFAC if spec.task == "factorize" else 0xA15
        return np.random.default_rng([spec.seed, salt])
    if spec.secret:
        return secret_generator()
    text = json.dumps(spec.changes(), sort_keys=True)
    own = user_datasets.current().get(spec.dataset)
    hasher = hashlib.blake2b(text.encode() + (b"" if own is None else own.digest))
    for numbers in given:
        hasher.update(numbers.tobytes())
    return np.random.default_rng(list(hasher.digest()))


def resolved(spec: RunSpec) -> RunSpec:
    """``spec`` with a total ε of nominal releases turned into the variance of each.

    The least noise at which all releases together have that ε: nominal, for ALS and IRLS. It
    compares noise distributions on equal terms: the papers do at equal variance, or at equal ε of
    one release; a run makes T releases (T·K for IRLS), which compose differently for different
    distributions. Other specs stay as they are. Huber noise keeps its α (1.5 if none is given).

    >>> spec = RunSpec.of(mechanism="laplace", iterations=4, total_epsilon=8.0)
    >>> round(resolved(spec).noise.variance, 3)  # four draws of ε = 2 each, or a little less noise
    12.5
    """
    noise = spec.noise
    if not isinstance(noise, TotalEpsilon) or spec.card.guarantee:
        return spec
    shaped = "alpha" in noise.family.shape
    alpha = (1.5 if noise.alpha is None else noise.alpha) if shaped else None
    config = spec.algorithm
    if getattr(config, "stops", False):
        allowed = "left out where noise ends before the last iteration (noisy_iterations)"
        raise ParameterError("total_epsilon", noise.epsilon, allowed)
    variance, draws = _variance(
        spec.card,
        replace(config, rank=2, iterations=1),
        spec.card.length(config),
        replace(noise, alpha=alpha),
    )
    try:
        return spec.replace(total_epsilon=None, variance=variance, alpha=alpha)
    except ParameterError as error:  # nobody gave a variance
        allowed = f"another for {draws:,} releases, whose variance would be {variance:.3g} each"
        raise ParameterError("total_epsilon", noise.epsilon, allowed) from error


@lru_cache(maxsize=512)
def _variance(card: Any, one: Config, length: int, noise: TotalEpsilon) -> tuple[float, int]:
    """The variance of each release of a run of so many iterations, and how many it makes."""
    # the releases as the solver itself writes them, of ``one`` iteration on a matrix of no
    # importance
    data = low_rank(8, 8, rank=2, observed=1.0, value_scale=1.0, seed=0)
    amount = NominalEpsilon(
        mechanism=noise.mechanism, epsilon=1.0, alpha=noise.alpha, delta=noise.delta
    )
    (step,) = card.rate(data, card.prepare(one, amount, data), np.random.default_rng(0))
    ledger = Ledger(tuple(replace(r, count=length * r.count) for r in step.releases))
    least = least_noise(ledger, noise.epsilon, noise.delta)
    return least.releases[0].mechanism.variance, ledger.draws


def solve(
    spec: RunSpec,
    data: Any,
    *,
    workers: int | None = None,
    visitors: Any = None,
    rng: np.random.Generator | None = None,
    spent: tuple[Release, ...] = (),
) -> Iterator[Any]:
    """The steps of the spec's algorithm on ``data``, with the spec's noise and seed.

    ``visitors`` are served without taking part (task recommend). ``rng`` is the generator that goes
    on where releases of the same run have been made already, which the budget has ``spent``.
    """
    card, rng = spec.card, noise_source(spec) if rng is None else rng
    config = (
        card.prepare(spec.algorithm, resolved(spec).noise, data) if card.noise else spec.algorithm
    )
    if spent:
        config = replace(config, budget=replace(config.budget, spent=spent))
    served = {"rate": (workers,), "recommend": (workers, visitors)}.get(spec.task, ())
    return iter(getattr(card, spec.task)(data, config, rng, *served))


def with_ledgers(
    steps: Iterator[Any], spent: tuple[Release, ...] = ()
) -> Iterator[tuple[Any, Ledger, Ledger]]:
    """Yield each step with the ledger of all releases so far, which begins with those ``spent``,
    and that of all that the plan holds.
    """
    ledger = Ledger(spent)
    for step in steps:
        ledger = ledger.plus(step.releases)
        yield step, ledger, ledger.plus(step.rest)


@contextmanager
def solvable() -> Iterator[None]:
    """Turn a least-squares system that cannot be solved into a ``DataError``."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"a least-squares system could not be solved ({error}); a larger reg (λ) makes it "
            "solvable."
        ) from error


def versions() -> dict[str, str]:
    """What a result depends on beside its spec."""
    return {
        "dpmc_lab": dpmc_core.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


Metrics = TypeVar("Metrics")


@dataclass(frozen=True, kw_only=True, eq=False)
class Accounted(ABC):
    """A run so far: the ``ledger`` of all that its plan holds, of which ``draws_so_far`` releases
    were made so far.
    """

    spec: RunSpec
    ledger: Ledger
    draws_so_far: int
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def rating_width(self) -> float | None:
        """The width of the rating scale, of ratings."""
        return None

    @property
    @abstractmethod
    def public(self) -> Mapping[str, str]:
        """What is taken as public of the data, and by what."""

    @cached_property
    def statement(self) -> Statement:
        """What the run protects.

        Composed when first asked for, since a privacy loss distribution takes a moment.
        """
        return state(
            self.ledger,
            self.spec.noise.delta,
            self.rating_width,
            draws_so_far=self.draws_so_far,
            secret=self.spec.secret,
            public=self.public,
        )

    def accounts(self) -> JsonObject:
        """The part of a summary that says what was spent, JSON-able."""
        return {
            "statement": self.statement.as_dict(),
            "ledger": self.ledger.as_dict(),
            "versions": dict(self.versions),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Result(Accounted, Generic[Metrics]):
    """A run so far, with its ``metrics`` per step, and the values of ``baselines`` on the same
    data; ``finished`` is False while it runs. ``pictures`` are what the model looked like after
    some of the steps, by their number, where somebody watches.
    """

    metrics: tuple[Metrics, ...]
    seconds: float
    finished: bool
    pictures: Mapping[int, NDArray[Any]] = field(default_factory=dict)

    baselines: dict[str, float]
    less_is_better: ClassVar[bool] = True

    @property
    @abstractmethod
    def value(self) -> float:
        """What the task is judged by."""

    @property
    def best_baseline(self) -> str:
        """The name of the best baseline."""
        best = min if self.less_is_better else max
        return best(self.baselines, key=self.baselines.__getitem__)

    @property
    def baseline(self) -> float:
        """The best baseline's value."""
        return self.baselines[self.best_baseline]

    @property
    def truth(self) -> float | None:
        """The error on the whole noiseless matrix, of synthetic ratings."""
        return None

    @property
    def final(self) -> Metrics:
        """The metrics of the last step made."""
        return self.metrics[-1]

    def accounts(self) -> JsonObject:
        return {"finished": self.finished, "seconds": round(self.seconds, 3), **super().accounts()}


@dataclass(frozen=True, kw_only=True, eq=False)
class RatingsResult(Result[Metrics]):
    """A run on ratings, with the ``model`` it has learned and the ``split`` it was measured on."""

    model: FactorModel
    split: Split | UserSplit

    @property
    def public(self) -> Mapping[str, str]:
        train = self.split.train
        features = train.item_features
        used = getattr(self.spec.algorithm, "item_features", "none") != "none"
        return {**train.public, **(features.fact if used and features is not None else {})}

    @property
    def beats_baselines(self) -> dict[str, bool]:
        """For each baseline, whether the value is better than its."""
        sign = 1 if self.less_is_better else -1
        return {name: sign * self.value < sign * value for name, value in self.baselines.items()}

    @property
    @abstractmethod
    def measures(self) -> JsonObject:
        """The part of a summary that says how good it is, JSON-able."""

    def steps(self) -> list[JsonObject]:
        """The metrics of each step, JSON-able."""
        return [asdict(metrics) for metrics in self.metrics]  # type: ignore[call-overload]

    def summary(self) -> JsonObject:
        """A JSON-able account of the run: what the command line prints and the page exports."""
        return {
            "spec": self.spec.as_dict(),
            **self.measures,
            "baselines": dict(self.baselines),
            "beats_baseline": self.beats_baselines,
            "split": self.split.how,
            "iterations": len(self.metrics),
            **self.accounts(),
            "steps": self.steps(),
        }
