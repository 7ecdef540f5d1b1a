"""Images or documents as factorisations see them that ask for sums alone, wherever they are.

Provides ``UnitGroup``, ``Units`` (what such a factorisation is given) and ``AllUnits``, those in
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Samples

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class UnitGroup:
    """Some images or documents, all over the same rows."""

    samples: Samples
    memory: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def kept(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """As ``completion.common.population.Group.kept``."""
        if name not in self.memory or self.memory[name][0] != version:
            self.memory[name] = (version, make())
        found: Made = self.memory[name][1]
        return found


class Units(Protocol):
    """Images or documents, ``given`` of them, over ``dimension`` rows; ``shape`` and ``drawn`` as
    in ``Samples``. Only sums over them are asked for.
    """

    @property
    def unit(self) -> Any:
        """Image or document."""

    @property
    def dimension(self) -> int:
        """D: pixels, or words."""

    @property
    def given(self) -> int:
        """N, which is taken as public."""

    @property
    def shape(self) -> tuple[int, int] | None:
        """Height and width of images."""

    @property
    def drawn(self) -> bool:
        """Whether images are drawings."""

    @property
    def whole(self) -> UnitGroup | None:
        """All of them, where they are one group in memory."""

    def total(self, term: Callable[..., FloatArray], *known: Any) -> FloatArray:
        """Σ over groups of ``term(group, *known)``, each unit in one group."""


class AllUnits:
    """All units in one group, in memory."""

    def __init__(self, samples: Samples) -> None:
        self.whole = UnitGroup(samples)
        self.unit, self.dimension = samples.unit, samples.dimension
        self.given, self.shape, self.drawn = samples.places.given, samples.shape, samples.drawn

    def total(self, term: Callable[..., FloatArray], *known: Any) -> FloatArray:
        """See ``Units.total``."""
        return term(self.whole, *known)
