"""The RunSpec: one frozen, JSON-able value that names a run completely.

Lives here: its fields, their validation, and its text forms (JSON, command line, Python). The URL carries it, widgets
edit it, the command line parses it. Does not live here: what the names stand for (``registry``) or running (``run``).
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dpmc_core import limits
from dpmc_core.datasets.catalogue import entry
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import registry
from dpmc_core.experiments.spec_text import (
    fields_of_json,
    known_fields,
    others_than_own,
    own_argument,
    own_lines,
    own_words,
)

__all__ = ["SPEC_VERSION", "RunSpec"]

SPEC_VERSION = 1

# field -> the entry of dpmc_core.limits that bounds it
NUMERIC: dict[str, str] = {
    "variance": "noise_variance",
    "epsilon": "noise_epsilon",
    "alpha": "alpha",
    "sensitivity": "nominal_sensitivity",
    "delta": "account_delta",
    "rank": "rank",
    "reg": "reg",
    "iterations": "iterations",
    "inner": "inner",
    "loss_alpha": "loss_alpha",
    "items_per_user": "items_per_user",
    "item_share": "item_share",
    "clip_norm": "clip_norm",
    "value_clip": "value_clip",
    "gram_ratio": "gram_ratio",
    "item_exponent": "item_exponent",
    "user_exponent": "user_exponent",
    "global_penalty": "global_penalty",
    "nuclear": "nuclear",
    "test_fraction": "test_fraction",
    "seed": "seed",
    "n_users": "n_users",
    "n_items": "n_items",
    "n_ratings": "n_ratings",
    "true_rank": "true_rank",
    "observed": "observed",
    "value_scale": "value_scale",
    "popularity": "popularity",
    "noise_floor": "noise_floor",
    "data_seed": "data_seed",
}
NOISE = ("variance", "epsilon", "alpha")  # None, and left out without noise
OPTIONAL = (*NOISE, "value_clip")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSpec:
    """Everything that determines a run. Ranges are in ``dpmc_core.limits``; names in ``registry`` and the catalogue.

    ``task`` "rate" predicts held-out ratings; "recommend" finds what held-out users like, ``test_fraction`` of those who like five items or more.
    Algorithms that protect one user (``registry``) take ``epsilon`` as the total of the whole run at ``delta`` (1 if left out) and no
    ``variance``. The others, with a ``mechanism`` other than "none": give the noise by ``variance`` or by nominal ``epsilon`` per draw at
    ``sensitivity`` (not both; neither means variance 2). ``alpha`` shapes Huber noise; None takes the papers' rule
    (unit scale, the α with that variance; α = 3 for variance 1). ``inner`` and ``loss_alpha`` matter for IRLS, the fields from ``items_per_user`` to
    ``global_penalty`` for DPALS (the first and ``nuclear`` for Frank–Wolfe), ``zeros`` for SweetRS, ``split`` "u1" for MovieLens 100K, and the fields from ``n_users`` on for synthetic data.
    Raises ``ParameterError`` naming field, value and range.
    """

    task: str = "rate"
    dataset: str = "low-rank"
    algorithm: str = "als"
    mechanism: str = "none"
    variance: float | None = None
    epsilon: float | None = None
    alpha: float | None = None
    sensitivity: float = 5.0
    delta: float = 1e-5
    rank: int = 5
    reg: float = 0.5
    iterations: int = 20
    inner: int = 10
    loss_alpha: float = 1.076
    items_per_user: int = 50
    item_share: float = 1.0
    sampling: str = "adaptive"
    projection: str = "inner"
    start: str = "random"
    centring: str = "mean"
    clip_norm: float = 1.0
    value_clip: float | None = None
    gram_ratio: float = 2.0
    item_exponent: float = 0.5
    user_exponent: float = 1.0
    global_penalty: float = 0.0
    nuclear: float = 1.0
    split: str = "random"
    test_fraction: float = 0.2
    zeros: str = "missing"
    seed: int = 0
    n_users: int = 300
    n_items: int = 300
    n_ratings: int = 20_000
    true_rank: int = 5
    observed: float = 0.1
    value_scale: float = 1.0
    popularity: float = 0.9
    noise_floor: float = 0.5
    data_seed: int = 0
    version: int = SPEC_VERSION

    def __post_init__(self) -> None:
        if self.version != SPEC_VERSION:
            raise ParameterError(
                "version", self.version, f"{SPEC_VERSION}, the only version this release reads"
            )
        entry(self.dataset, "ratings")
        for name, choices in registry.CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in choices:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(choices))
        for name, limit in NUMERIC.items():
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            try:
                number = limits.check(limit, value)
            except ParameterError as error:
                raise ParameterError(name, value, error.allowed) from None
            object.__setattr__(self, name, int(number) if limits.LIMITS[limit].integer else number)
        for name in NOISE:
            if getattr(self, name) is not None and self.mechanism == "none":
                raise ParameterError(
                    name,
                    getattr(self, name),
                    "left out without noise; choose a mechanism to use it",
                )
        if self.alpha is not None and self.mechanism != "huber":
            raise ParameterError(
                "alpha", self.alpha, f"left out for {self.mechanism} noise, which has no alpha"
            )
        if self.zeros != "missing" and self.dataset != "sweetrs":
            raise ParameterError(
                "zeros",
                self.zeros,
                "missing for every dataset but sweetrs, the only one that writes zeros",
            )
        if self.variance is not None and self.epsilon is not None:
            raise ParameterError(
                "epsilon",
                self.epsilon,
                "left out when variance is given (one of the two sets the noise)",
            )
        if self.split == "u1" and self.dataset != "ml-100k":
            raise ParameterError(
                "split",
                self.split,
                "random for every dataset but ml-100k, which alone ships a u1 split",
            )
        if self.split == "u1" and self.task == "recommend":
            raise ParameterError(
                "split", "u1", "random for the task recommend, which holds out users, not ratings"
            )
        if self.dataset == "skewed" and self.n_ratings > self.n_users * self.n_items // 2:
            raise ParameterError(
                "n_ratings",
                self.n_ratings,
                f"at most half of the {self.n_users} × {self.n_items} cells",
            )
        registry.check_task(self)
        registry.check_noise(self)

    @property
    def inner_iterations(self) -> int:
        """K as the algorithm runs it: 1 for ALS, 2 for IRLS-2."""
        return {"als": 1, "irls-2": 2}.get(self.algorithm, self.inner)

    def but(self, **changes: Any) -> "RunSpec":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All fields, JSON-able."""
        return asdict(self)

    def changes(self) -> dict[str, Any]:
        """The fields that differ from the defaults: what a link or a command line needs to say."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if getattr(self, f.name) != f.default
        }

    def to_json(self) -> str:
        """One line of JSON; ``from_json`` reads it back to an equal spec.

        >>> RunSpec.from_json(RunSpec(rank=7).to_json()) == RunSpec(rank=7)
        True
        """
        return json.dumps(self.as_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "RunSpec":
        """Read ``to_json``'s form; raises ``ParameterError`` for anything else, unknown fields included."""
        return cls(**fields_of_json(cls, text))

    @classmethod
    def from_dict(cls, raw: object) -> "RunSpec":
        """A spec from a mapping of field names to values; unknown names are refused."""
        return cls(**known_fields(cls, raw))

    def command(self) -> str:
        """The command line that makes this run.

        >>> RunSpec(mechanism="huber", variance=2, rank=8).command()
        'python -m dpmc_core complete --mechanism huber --variance 2 --rank 8'
        """
        words = [
            f"--{name.replace('_', '-')} {_word(value)}"
            for name, value in others_than_own(self.changes()).items()
        ]
        return " ".join(["python -m dpmc_core complete", *own_words(self.dataset), *words])

    def python(self) -> str:
        """Python lines that make this run."""
        arguments = ", ".join(
            own_argument(self.dataset)
            + [f"{name}={value!r}" for name, value in others_than_own(self.changes()).items()]
        )
        name, figure = ("recommend", "recall") if self.task == "recommend" else ("run", "test_rmse")
        return (
            f"{own_lines(self.dataset)}from dpmc_core.experiments import RunSpec, {name}\n\n"
            f"result = {name}(RunSpec({arguments}))\n"
            f"print(result.final.{figure}, result.statement.label)\n"
        )


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
