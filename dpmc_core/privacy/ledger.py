"""Releases and the ledger of a run.

``draw``, the one function that solvers call for noise; it returns the noise *and* the release, so
the count cannot drift from the algorithm.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Mechanism, Staircase
from dpmc_core.wording import JsonObject

Unit = Literal["rating", "user", "document", "image", "record"]
Neighbours = Literal["replace-one", "add/remove-one"]
UNITS: tuple[str, ...] = get_args(Unit)
NEIGHBOURS: tuple[str, ...] = get_args(Neighbours)
# what a release is part of, which decides what a statement says beside its ε: a completion or a
# factorisation with derived sensitivities (of which the average, the second moment of photographs
# and rows of a table have sentences of their own), or an algorithm as its paper has it (the Huber
# paper's ALS with noise on each rating, on solved factors, on users too, or only in its first
# iterations)
Kind = Literal[
    "",
    "completion",
    "factorization",
    "average",
    "photographs",
    "rows",
    "huber-paper",
    "huber-ratings",
    "huber-output",
    "huber-users",
    "huber-stopped",
    "nmf-paper",
    "nmf-random",
    "dpnmf",
]
KINDS: tuple[str, ...] = get_args(Kind)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Release:
    """One noisy vector that leaves the curator, and how often it did.

    Between neighbours (``neighbours``, in data of one ``unit``) the vector moves by at most
    ``l1_sensitivity`` in the ℓ1 norm and ``l2_sensitivity`` in the ℓ2 norm, and none of its numbers
    by more than ``linf_sensitivity`` (None: not known to be less than the ℓ2 one), all in units of
    the released number; ``sound`` says whether they are derived (a guarantee) or assumed
    (*nominal*, as a paper counts). ``coordinates`` is the length d of the vector, ``count`` how
    many times a vector of this kind was released, ``mechanism`` the noise on each coordinate,
    ``source`` where the sensitivities come from. ``failure`` is the probability with which, apart
    from all that, something is shown that only one unit has (``account`` says what it costs).
    ``kind`` says what it is part of ("": nothing here).

    Raises ``ParameterError`` when a number is out of range, or when ℓ2 ≤ ℓ1 ≤ √d·ℓ2 or ℓ1 ≤ d·ℓ∞,
    which hold for every vector, do not hold. Staircase noise is accounted for single numbers only.
    """

    what: str
    mechanism: Mechanism
    l1_sensitivity: float
    l2_sensitivity: float
    unit: Unit
    neighbours: Neighbours
    coordinates: int
    count: int
    sound: bool
    source: str
    linf_sensitivity: float | None = None
    failure: float = 0.0
    kind: Kind = ""

    def __post_init__(self) -> None:
        l1, l2 = (
            limits.check("sensitivity", x) for x in (self.l1_sensitivity, self.l2_sensitivity)
        )
        coordinates = limits.check_int("coordinates", self.coordinates)
        limits.check_int("count", self.count)
        limits.check("failure", self.failure)
        for name, allowed in (("unit", UNITS), ("neighbours", NEIGHBOURS), ("kind", KINDS)):
            if getattr(self, name) not in allowed:
                among = ", ".join(filter(None, allowed))
                raise ParameterError(name, getattr(self, name), f"one of {among}")
        if not self.what.isprintable():  # a ledger that is written can be read again
            raise ParameterError("what", ascii(self.what), "a text of printable characters")
        if l2 > l1 * (1 + 1e-9):
            raise ParameterError(
                "l2_sensitivity",
                l2,
                f"at most the l1_sensitivity, {l1:g}: no vector has ℓ2 above ℓ1",
            )
        if l1 > math.sqrt(coordinates) * l2 * (1 + 1e-9):
            raise ParameterError(
                "l1_sensitivity",
                l1,
                "at most √coordinates times the l2_sensitivity, "
                f"{math.sqrt(coordinates) * l2:g}: no vector exceeds it",
            )
        if self.linf_sensitivity is not None:
            most = coordinates * limits.check("sensitivity", self.linf_sensitivity)
            if l1 > most * (1 + 1e-9):
                raise ParameterError(
                    "l1_sensitivity",
                    l1,
                    f"at most coordinates times the linf_sensitivity, {most:g}: no vector "
                    "exceeds it",
                )
        ratio = l1 / self.mechanism.std
        if not 1e-12 <= ratio <= 1e12:
            raise ParameterError(
                "l1_sensitivity",
                l1,
                f"between 1e-12 and 1e12 standard deviations ({self.mechanism.std:g}) of the noise",
            )
        if isinstance(self.mechanism, Staircase) and l1 > 1e4 * self.mechanism.sensitivity:
            raise ParameterError(
                "l1_sensitivity",
                l1,
                f"at most 10,000 times the staircase's own, {self.mechanism.sensitivity:g}",
            )
        if isinstance(self.mechanism, Staircase) and coordinates > 1:
            raise ParameterError(
                "coordinates",
                coordinates,
                "1 for staircase noise, whose ε is derived for one number",
            )

    @property
    def most_uneven(self) -> tuple[tuple[float, int], ...]:
        """The worst way to move within ℓ1 and ℓ∞, as (shift, how many numbers): as few numbers as
        possible, each by as much as possible (docs/huber-composition.md, 3).
        """
        l1 = self.l1_sensitivity
        most = min(self.l2_sensitivity, self.linf_sensitivity or math.inf)
        whole = math.floor(l1 / most * (1 + 1e-9))
        rest = l1 - whole * most
        if rest > 1e-9 * l1:
            return ((most, whole), (rest, 1))
        return ((max(most, l1 / whole), whole),)  # nothing is left out

    def as_dict(self) -> JsonObject:
        """A JSON-able copy; the mechanism becomes its name and parameters."""
        # built field by field: asdict would turn the mechanism into a nameless dict
        out = {name: value for name, value in vars(self).items() if name != "mechanism"}
        for name, usual in (("linf_sensitivity", None), ("failure", 0.0), ("kind", "")):
            if out[name] == usual:
                del out[name]
        parameters = asdict(self.mechanism)
        out["mechanism"] = {"name": self.mechanism.name, **parameters}
        return out


@dataclass(frozen=True)
class Ledger:
    """All releases of a run so far, like ones merged with their counts added."""

    releases: tuple[Release, ...] = ()

    def plus(self, new: tuple[Release, ...]) -> "Ledger":
        """A ledger with ``new`` added."""
        return Ledger(merge((*self.releases, *new)))

    @property
    def private(self) -> bool:
        """Whether noise was drawn at all."""
        return bool(self.releases)

    @property
    def draws(self) -> int:
        """How many vectors were released in all."""
        return sum(release.count for release in self.releases)

    @property
    def failure(self) -> float:
        """The probability that any release shows what only one unit has: they fail apart."""
        logs = sum(release.count * math.log1p(-release.failure) for release in self.releases)
        return -math.expm1(logs)

    def without_failure(self) -> "Ledger":
        """The same releases, as if none of them ever failed."""
        return Ledger(tuple(replace(release, failure=0.0) for release in self.releases))

    @property
    def sound(self) -> bool:
        """Whether every sensitivity is derived, so that what is counted from it is a guarantee."""
        return all(release.sound for release in self.releases)

    def as_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {"version": 1, "releases": [release.as_dict() for release in self.releases]}


def merge(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Releases that differ only in ``count`` become one."""
    merged: dict[Release, int] = {}
    for release in releases:
        key = replace(release, count=1)
        merged[key] = merged.get(key, 0) + release.count
    return tuple(replace(key, count=count) for key, count in merged.items())


def draw(
    mechanism: Mechanism,
    shape: tuple[int, ...],
    rng: np.random.Generator,
    *,
    count: int = 1,
    **about: Any,
) -> tuple[FloatArray, Release]:
    """Noise of ``shape`` and the release that it makes, together.

    With ``count`` > 1 the first axis of ``shape`` runs over ``count`` separate releases. All else
    that is said ``about`` it is a field of ``Release``. Returns (noise, release).
    """
    coordinates = int(np.prod(shape)) // count
    release = Release(mechanism=mechanism, coordinates=coordinates, count=count, **about)
    return sample(release, rng).reshape(shape), release


def sample(release: Release, rng: np.random.Generator) -> FloatArray:
    """The noise that a planned ``release`` says.

    Count×coordinates numbers, or coordinates numbers for a count of 1.
    """
    shape = (release.coordinates,) if release.count == 1 else (release.count, release.coordinates)
    return np.asarray(release.mechanism.sample(shape, rng), dtype=np.float64)
