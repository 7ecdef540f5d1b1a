"""The FactorSpec: one frozen, JSON-able value that names a factorisation run completely.

Lives here: its fields, their validation, and its text forms (JSON, command line, Python). Does not live here: what the names stand for
(``factor_registry``) or running (``factor_run``). Ratings have a spec of their own (``spec``): hardly a field is common to both.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dpmc_core import limits
from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import factor_registry as registry
from dpmc_core.experiments.spec_text import (
    fields_of_json,
    known_fields,
    others_than_own,
    own_argument,
    own_lines,
    own_words,
)

__all__ = ["FACTOR_NUMERIC", "FactorSpec"]

SPEC_VERSION = 1
# field -> the entry of dpmc_core.limits that bounds it
FACTOR_NUMERIC: dict[str, str] = {
    "epsilon": "noise_epsilon",
    "alpha": "alpha",
    "delta": "account_delta",
    "rank": "parts",
    "rounds": "rounds",
    "inner": "inner_steps",
    "averaging": "averaging",
    "dictionary_step": "dictionary_step",
    "outlier_penalty": "outlier_penalty",
    "outlier_bound": "outlier_bound",
    "contaminated": "contaminated",
    "spoiled_pixels": "spoiled_pixels",
    "min_documents": "min_documents",
    "max_share": "max_share",
    "most_words": "most_words",
    "term_share": "term_share",
    "n_samples": "n_samples",
    "data_seed": "data_seed",
    "seed": "seed",
}
OPTIONAL = ("epsilon", "alpha", "outlier_penalty")


@dataclass(frozen=True, kw_only=True, slots=True)
class FactorSpec:
    """Everything that determines a factorisation. Ranges are in ``dpmc_core.limits``; names in ``factor_registry`` and the catalogue.

    ``epsilon`` is the total of the run at ``delta`` for algorithms that are sound (1 if left out), and the nominal ε of one round for the one that is as
    published (0.5 if left out). ``rounds`` and ``inner`` 0 in the call mean the algorithm's usual number. ``outlier_penalty`` None leaves outliers out, except for
    robust NMF. ``neighbours`` is for the sound ones. ``contaminated`` spoils that share of the images first; errors are then taken on the clean ones. Fields from ``min_documents`` to
    ``term_share`` are for text, ``n_samples`` for made data. Raises ``ParameterError`` naming field, value and range.
    """

    dataset: str = "lfw"
    algorithm: str = "nmf"
    mechanism: str = "none"
    epsilon: float | None = None
    alpha: float | None = None
    delta: float = 1e-5
    rank: int = 16
    rounds: int = 0
    inner: int = 0
    solver: str = "coordinates"
    start: str = "mean"
    averaging: float = 0.9
    neighbours: str = "add/remove-one"
    dictionary_step: float = 1e-4
    outlier_penalty: float | None = None
    outlier_bound: float = 10.0
    contaminated: float = 0.0
    spoiled_pixels: float = 0.7
    min_documents: int = 3
    max_share: float = 0.5
    most_words: int = 5000
    stop_words: str = "left-out"
    term_share: float = 1.0
    n_samples: int = 2000
    data_seed: int = 0
    seed: int = 0
    version: int = SPEC_VERSION

    def __post_init__(self) -> None:
        if self.version != SPEC_VERSION:
            raise ParameterError(
                "version", self.version, f"{SPEC_VERSION}, the only version this release reads"
            )
        known = entry(self.dataset, "images", "documents")
        for name, choices in registry.CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in choices:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(choices))
        usual = registry.FACTORIZERS[self.algorithm]
        for name in ("rounds", "inner"):
            if isinstance(getattr(self, name), int) and getattr(self, name) == 0:
                object.__setattr__(self, name, getattr(usual, name))
        for name, limit in FACTOR_NUMERIC.items():
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            try:
                number = limits.check(limit, value)
            except ParameterError as error:
                raise ParameterError(name, value, error.allowed) from None
            object.__setattr__(self, name, int(number) if limits.LIMITS[limit].integer else number)
        for name in ("epsilon", "alpha"):
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
        if known.holds == "documents":
            if self.contaminated > 0:
                raise ParameterError(
                    "contaminated", self.contaminated, "0 for text; only images can be spoiled"
                )
            if self.outlier_penalty is not None or self.algorithm == "robust-nmf":
                name, value = (
                    ("outlier_penalty", self.outlier_penalty)
                    if self.algorithm != "robust-nmf"
                    else ("algorithm", "robust-nmf")
                )
                raise ParameterError(
                    name,
                    value,
                    "another for text: its outlier matrix would be as large as documents × words"
                    if name == "algorithm"
                    else "left out for text",
                )
        if self.outlier_penalty is not None and self.algorithm in (
            "nmf",
            "sklearn-nmf",
            "moment-nmf",
        ):
            raise ParameterError(
                "outlier_penalty",
                self.outlier_penalty,
                f"left out for {usual.title}, which has no outliers",
            )
        most = min(
            n for n in (known.samples or self.n_samples, known.dimension or self.most_words) if n
        )
        if self.rank > most:
            raise ParameterError(
                "rank", self.rank, f"at most {most:,}, the smaller side of this data"
            )
        registry.check_noise(self)

    @property
    def text_filter(self) -> TextFilter:
        """Which words of text count."""
        return TextFilter(
            min_documents=self.min_documents,
            max_share=self.max_share,
            most_words=self.most_words,
            stop_words=self.stop_words == "left-out",
        )

    def but(self, **changes: Any) -> "FactorSpec":
        """A copy with some fields changed; with another algorithm, rounds and inner steps become its usual ones unless given."""
        if changes.get("algorithm", self.algorithm) != self.algorithm:
            changes = {"rounds": 0, "inner": 0, **changes}
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All fields, JSON-able."""
        return asdict(self)

    def changes(self) -> dict[str, Any]:
        """The fields that differ from the usual: what a link or a command line needs to say."""
        usual = registry.FACTORIZERS[self.algorithm]
        plain = {"rounds": usual.rounds, "inner": usual.inner}
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if getattr(self, f.name) != plain.get(f.name, f.default)
        }

    def to_json(self) -> str:
        """One line of JSON; ``from_json`` reads it back to an equal spec.

        >>> FactorSpec.from_json(FactorSpec(rank=7).to_json()) == FactorSpec(rank=7)
        True
        """
        return json.dumps(self.as_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "FactorSpec":
        """Read ``to_json``'s form; raises ``ParameterError`` for anything else, unknown fields included."""
        return cls(**fields_of_json(cls, text))

    @classmethod
    def from_dict(cls, raw: object) -> "FactorSpec":
        """A spec from a mapping of field names to values; unknown names are refused."""
        return cls(**known_fields(cls, raw))

    def command(self) -> str:
        """The command line that makes this run.

        >>> FactorSpec(algorithm="moment-nmf", mechanism="gaussian", epsilon=2).command()
        'python -m dpmc_core factorize --algorithm moment-nmf --mechanism gaussian --epsilon 2.0'
        """
        words = [
            f"--{name.replace('_', '-')} {value}"
            for name, value in others_than_own(self.changes()).items()
        ]
        return " ".join(["python -m dpmc_core factorize", *own_words(self.dataset), *words])

    def python(self) -> str:
        """Python lines that make this run."""
        arguments = ", ".join(
            own_argument(self.dataset)
            + [f"{name}={value!r}" for name, value in others_than_own(self.changes()).items()]
        )
        return (
            f"{own_lines(self.dataset)}from dpmc_core.experiments import FactorSpec, factorize\n\n"
            f"result = factorize(FactorSpec({arguments}))\n"
            "print(result.final.objective, result.statement.label)\n"
        )
