"""How much noise a run adds, by what kind of amount it names.

The kind is a type: the variance of a release, the nominal ε of a release, the total ε of a run, or
σ of its releases, from which its total ε follows.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from dpmc_core.config import Choice, Config, Settings
from dpmc_core.errors import ParameterError
from dpmc_core.limits import LIMITS, Limit
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Huber, Mechanism
from dpmc_core.privacy.budget import Budget, GivenSigma

MECHANISMS = ("none", *RUN_FAMILIES)
Family = Annotated[str, Choice(RUN_FAMILIES, "distribution of the noise")]
Alpha = Annotated[float, LIMITS["alpha"]]
Delta = Annotated[float, LIMITS["account_delta"]]


@dataclass(frozen=True, kw_only=True)
class Noise(Config):
    """An amount of noise; what a kind does not say is None."""

    kind: ClassVar[str] = ""
    mechanism: str = field(default="none", init=False, repr=False)
    variance: float | None = field(default=None, init=False, repr=False)
    epsilon: float | None = field(default=None, init=False, repr=False)
    sigma: float | None = field(default=None, init=False, repr=False)
    alpha: float | None = field(default=None, init=False, repr=False)
    delta: float = field(default=1e-5, init=False, repr=False)

    @classmethod
    def field(cls) -> str:
        """The field that holds the amount."""
        return cls.kind if cls.kind in ("variance", "sigma") else "epsilon"

    @classmethod
    def amount(cls) -> str:
        """What the amount is called where its kind must be told: an option, a column, a link."""
        return f"{cls.kind}_epsilon" if cls.kind in ("nominal", "total") else cls.kind

    @property
    def budget(self) -> Budget | None:
        """The budget of the whole run, where the amount is a total ε or σ."""
        return None

    def of_release(self, sensitivity: float) -> Mechanism | None:
        """The noise on each number of a release with this assumed ``sensitivity``; None without."""
        del sensitivity
        return None


@dataclass(frozen=True, kw_only=True)
class NoNoise(Noise):
    """No noise at all."""

    kind = "none"


@dataclass(frozen=True, kw_only=True)
class _Some(Noise):
    mechanism: Family = "gaussian"
    alpha: Alpha | None = None  # None: the kind's own rule
    delta: Delta = 1e-5

    @property
    def family(self) -> type[Mechanism]:
        """The family of the noise."""
        return FAMILIES[self.mechanism]

    @property
    def shape(self) -> Settings:
        """What the noise needs beside its amount, as far as it is given."""
        return {} if self.alpha is None else {"alpha": self.alpha}

    def consistent(self) -> None:
        if self.alpha is not None and "alpha" not in self.family.shape:
            allowed = f"left out for {self.mechanism} noise, which has no alpha"
            raise ParameterError("alpha", self.alpha, allowed)


@dataclass(frozen=True, kw_only=True)
class ReleaseVariance(_Some):
    """The variance of the noise on each released number.

    Huber noise without ``alpha`` follows the papers' rule (``papers_huber``).
    """

    kind = "variance"
    variance: Annotated[
        float,
        Limit(
            0,
            1e6,
            "variance of the noise added to each number released",
            open_low=True,
            label="Variance",
            step=0.5,
        ),
    ] = 2.0

    def consistent(self) -> None:
        super().consistent()
        self.of_release(1.0)  # which refuses a variance that this shape of noise cannot have

    def of_release(self, sensitivity: float) -> Mechanism:
        if self.family is Huber and self.alpha is None:
            return papers_huber(self.variance)
        return self.family.with_variance(self.variance, **self.shape)


@dataclass(frozen=True, kw_only=True)
class NominalEpsilon(_Some):
    """The nominal ε of one release (or round), as published: not a guarantee."""

    kind = "nominal"
    epsilon: Annotated[
        float,
        Limit(
            1e-3,
            1e6,
            "nominal ε of one release, at sensitivity Δ",
            label="Nominal ε of one release",
            step=0.5,
        ),
    ] = 5.0

    def of_release(self, sensitivity: float) -> Mechanism:
        slack = {} if self.family.pure else {"delta": self.delta}
        return self.family.with_epsilon(self.epsilon, sensitivity, **self.shape, **slack)


@dataclass(frozen=True, kw_only=True)
class RoundEpsilon(NominalEpsilon):
    """The nominal ε of one round, as the private NMF paper counts it: not a guarantee."""

    epsilon: Annotated[
        float,
        Limit(
            1e-3,
            1e6,
            "nominal ε of one round, as the paper counts it",
            label="Nominal ε of a round",
            step=0.1,
        ),
    ] = 0.5


@dataclass(frozen=True, kw_only=True)
class TotalEpsilon(_Some):
    """The total ε of the whole run at ``delta``."""

    kind = "total"
    epsilon: Annotated[
        float, Limit(1e-3, 1e6, "total privacy loss ε of the whole run", label="Total ε", step=0.5)
    ] = 1.0

    @property
    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta, family=self.mechanism, **self.shape)


@dataclass(frozen=True, kw_only=True)
class ReleaseSigma(_Some):
    """σ of every release, in units of what its terms are clipped to: ε is what comes of it."""

    kind = "sigma"
    sigma: Annotated[
        float,
        Limit(
            0,
            1e6,
            "standard deviation σ of the noise, for terms clipped to length 1: the total ε follows "
            "from it and grows with each step",
            open_low=True,
            label="Noise σ",
            step=1,
        ),
    ] = 10.0

    @property
    def budget(self) -> GivenSigma:
        return GivenSigma(sigma=self.sigma, delta=self.delta, family=self.mechanism, **self.shape)


KINDS: dict[str, type[Noise]] = {
    kind.kind: kind
    for kind in (NoNoise, ReleaseVariance, NominalEpsilon, TotalEpsilon, ReleaseSigma)
}


def papers_huber(variance: float) -> Huber:
    """Huber noise "of variance v" as the papers make it: unit scale, α solving σ²(α) = v.

    α = 3 for v = 1; below 1, where no unit-scale member exists and the papers say nothing, α = 3
    scaled to the variance.
    """
    if variance == 1.0:
        return Huber(alpha=3.0)
    if variance < Huber(alpha=3.0).variance:
        return Huber.with_variance(variance, alpha=3.0)
    return Huber.with_variance(variance)
