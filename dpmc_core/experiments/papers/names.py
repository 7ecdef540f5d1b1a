"""Names that people read: of the parts of a row's setting, their values, and whole rows.

Titles come from the catalogue, the algorithms and the mechanisms; what else is called how stands in
``data/papers/names.toml``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dpmc_core.datasets.catalogue import catalogue
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.papers.row import Row
from dpmc_core.facts import facts, typed
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.wording import power

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
