"""One row of a table: what is printed, and what it is computed from.

The row, and helpers that all tables share.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dpmc_core.experiments.spec import RunSpec
from dpmc_core.wording import Printed


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """One row: ``id`` (unique in its table), what it is (``setting``), the printed number if there
    is one, and how to compute it: ``spec`` (from the two seeds of a trial) with ``take`` naming the
    number in its record ("value", "truth", a key of its summary or a baseline; ``after`` so many
    rounds, one of that step), or ``exact`` (no
    trials), or ``measured`` (a number from a trial's seed, for measures that no record holds). None
    of the three: it cannot be computed here. An exact row is *reproduced* ``within`` this share of
    what is printed, or its rounding. ``reference`` is the id of the row that trends are taken
    against. ``needs`` names the dataset that must be here; ``missing`` says why there is no way to
    compute it. ``fitted`` rows are among those that an unprinted setting was chosen by.
    """

    id: str
    setting: dict[str, str]
    metric: str
    printed: Printed | None = None
    trials: int = 10
    spec: Callable[[int, int], RunSpec] | None = None
    take: str = "value"
    after: int = 0
    exact: Callable[[], float] | None = None
    measured: Callable[[int], float] | None = None
    within: float = 0.001
    reference: str | None = None
    needs: str = ""
    missing: str = ""
    fitted: bool = False

    @property
    def computable(self) -> bool:
        """Whether there is a way, given its data."""
        return not (self.spec is None and self.exact is None and self.measured is None)


def seeded(shared: RunSpec) -> Callable[[int, int], RunSpec]:
    """Trials that differ in their seed: split, start and noise."""
    return lambda seed, _: shared.replace(seed=seed)


def again(shared: RunSpec) -> Callable[[int, int], RunSpec]:
    """Trials that have data of their own too."""
    return lambda seed, data: shared.replace(seed=seed, data_seed=data)


def name_of(setting: dict[str, str]) -> str:
    """A row's name."""
    return ";".join(f"{name}={value}" for name, value in setting.items())
