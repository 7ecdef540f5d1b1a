"""One row of a table: what is printed, what it is computed from, and the names that people read.

The row, helpers that all tables share, and names of the parts of a row's setting, of their values
and of whole rows. Titles come from the catalogue, the algorithms and the mechanisms; what else is
called how stands in ``data/papers/names.toml``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dpmc_core.datasets.catalogue import catalogue
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.facts import facts, typed
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.wording import Printed, power


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """One row: what it is (``setting``), what its name is made of where that is not its setting
    (``key``), the printed number if there is one, and how to compute it: ``spec`` (from the two
    seeds of a trial) with ``take`` naming the number in its record ("value", "truth", a key of its
    summary or a baseline; ``after`` so many rounds, one of that step), or ``exact`` (no trials), or
    ``measured`` (a number from a trial's seed, for measures that no record holds). None of the
    three: it cannot be computed here. An exact row is *reproduced* ``within`` this share of what is
    printed, or its rounding. ``reference`` is the id of the row that trends are taken against.
    ``needs`` names the dataset that must be here. ``fitted`` rows are among those that an unprinted
    setting was chosen by.
    """

    setting: dict[str, str]
    key: dict[str, str] | None = None
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
    fitted: bool = False

    @property
    def id(self) -> str:
        """Its name, unique in its table."""
        return name_of(self.setting if self.key is None else self.key)

    @property
    def computable(self) -> bool:
        """Whether there is a way, given its data."""
        return bool(self.spec or self.exact or self.measured)


def seeded(shared: RunSpec) -> Callable[[int, int], RunSpec]:
    """Trials that differ in their seed: split, start and noise."""
    return lambda seed, _: shared.replace(seed=seed)


def again(shared: RunSpec) -> Callable[[int, int], RunSpec]:
    """Trials that have data of their own too."""
    return lambda seed, data: shared.replace(seed=seed, data_seed=data)


def name_of(setting: dict[str, str]) -> str:
    """A row's name."""
    return ";".join(f"{name}={value}" for name, value in setting.items())


_FILE = "papers/names"
_WRITTEN: dict[str, Callable[[str], str]] = {
    "": str,
    "percent": lambda text: f"{100 * float(text):g} %",
    "count": lambda text: f"{int(text):,}",
    "power": lambda text: power(float(text)),
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a setting: ``title`` heads its values, ``phrase`` says one of them in a sentence,
    ``written`` is how numbers are written ("percent", "count", "power", or as they stand).
    """

    title: str
    phrase: str = "{}"
    written: str = ""


@cache
def part(name: str) -> Part:
    """The part called ``name``; one that the file does not have is called as it is."""
    parts = facts(_FILE)["parts"]
    where = f"data/{_FILE}.toml, {name}"
    return typed(Part, parts[name], where) if name in parts else Part(title=name)


@cache
def _titles() -> dict[str, str]:
    cards = (catalogue(), ALGORITHMS, FAMILIES)
    titles = {name: one.title for several in cards for name, one in several.items()}
    return titles | facts(_FILE)["values"]


def value_name(name: str, value: str) -> str:
    """The ``value`` of the part ``name``, as under its title.

    >>> value_name("observed", "0.051"), value_name("delta", "1e-05"), value_name("rank", "5")
    ('5.1 %', '10⁻⁵', '5')
    """
    title = _titles().get(value)
    return _WRITTEN[part(name).written](value) if title is None else title


def phrase(name: str, value: str) -> str:
    """The same within a sentence.

    >>> phrase("observed", "0.10"), phrase("mechanism", "huber"), phrase("mechanism", "none")
    ('10 % observed', 'Huber noise', 'no noise')
    """
    text = value_name(name, value)
    return text if value == "none" else part(name).phrase.format(text)


def phrases(setting: Mapping[str, str], names: Sequence[str]) -> str:
    """Those parts of ``setting`` called ``names``, in one phrase."""
    return ", ".join(phrase(name, setting[name]) for name in names if name in setting)


def row_names(rows: Sequence[Row]) -> dict[str, str]:
    """Each row's name by its id: what tells it from the other rows of its table."""
    parts = dict.fromkeys(name for row in rows for name in row.setting)
    settings = [row.setting for row in rows]
    telling = [name for name in parts if len({s[name] for s in settings if name in s}) > 1]
    return {row.id: phrases(row.setting, telling) for row in rows}
