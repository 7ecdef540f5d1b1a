"""Releases and the ledger of a run.

Lives here: ``draw``, the one function that solvers call for noise; it returns the noise *and* the release, so the count
cannot drift from the algorithm. Does not live here: what the releases add up to (``statement``).
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpmc_core.mechanisms import Mechanism

__all__ = ["Ledger", "Release", "draw", "merge"]

Unit = Literal["rating", "user", "document", "image"]
Neighbours = Literal["replace-one", "add/remove-one"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """One noisy vector that leaves the curator, and how often it did.

    ``l1_sensitivity`` and ``l2_sensitivity`` are in units of the released number; ``sound`` says whether they are
    derived (a guarantee) or assumed (*nominal*, as a paper counts). ``coordinates`` is the length of the vector,
    ``count`` how many times a vector of this kind was released.
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

    def as_dict(self) -> dict[str, Any]:
        """A JSON-able copy; the mechanism becomes its name and parameters."""
        # built field by field: asdict would turn the mechanism into a nameless dict
        out = {name: getattr(self, name) for name in self.__slots__ if name != "mechanism"}
        parameters = asdict(self.mechanism)  # type: ignore[call-overload]
        out["mechanism"] = {"name": self.mechanism.name, **parameters}
        return out


@dataclass(frozen=True, slots=True)
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

    def as_dict(self) -> dict[str, Any]:
        """A JSON-able copy."""
        return {"version": 1, "releases": [release.as_dict() for release in self.releases]}


def merge(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Releases that differ only in ``count`` become one."""
    merged: dict[Release, int] = {}
    for release in releases:
        key = replace(release, count=0)
        merged[key] = merged.get(key, 0) + release.count
    return tuple(replace(key, count=count) for key, count in merged.items())


def draw(
    mechanism: Mechanism,
    shape: tuple[int, ...],
    rng: np.random.Generator,
    *,
    what: str,
    l1_sensitivity: float,
    l2_sensitivity: float,
    unit: Unit,
    neighbours: Neighbours,
    sound: bool,
    source: str,
    count: int = 1,
) -> tuple[NDArray[np.float64], Release]:
    """Noise of ``shape`` and the release that it makes, together.

    With ``count`` > 1 the first axis of ``shape`` runs over ``count`` separate releases. The keyword arguments are
    those of ``Release``. Returns (noise, release).
    """
    noise = np.asarray(mechanism.sample(shape, rng), dtype=np.float64)
    release = Release(
        what=what,
        mechanism=mechanism,
        l1_sensitivity=l1_sensitivity,
        l2_sensitivity=l2_sensitivity,
        unit=unit,
        neighbours=neighbours,
        coordinates=int(np.prod(shape)) // count,
        count=count,
        sound=sound,
        source=source,
    )
    return noise, release
