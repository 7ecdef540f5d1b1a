"""Every table and figure of the four papers, its counterpart here, and the papers' misprints.

These are ``data/papers/entries.toml`` and ``errata.toml`` as objects.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from dpmc_core.config import Settings
from dpmc_core.errors import DataError
from dpmc_core.experiments.papers import dpals_rows, huber_rows, nmf_rows
from dpmc_core.experiments.papers.row import Row
from dpmc_core.facts import facts, typed

_TABLES: dict[str, Callable[[], list[Row]]] = {
    "huber-table-1": huber_rows.budgets,
    "huber-table-3": lambda: huber_rows.synthetic("3"),
    "huber-table-4": lambda: huber_rows.real("4"),
    "huber-table-5": lambda: huber_rows.real("5"),
    "huber-table-6": lambda: huber_rows.synthetic("6"),
    "huber-table-7": lambda: huber_rows.synthetic("7"),
    "huber-appendix-b": huber_rows.ranks,
    "dpals-table-4": dpals_rows.dpals_budgets,
    "dpals-table-5": dpals_rows.dpals_results,
    "dpals-figure-3": dpals_rows.dpals_shapes,
    "dpals-figure-3c": dpals_rows.dpals_recalls,
    "dpals-figure-4": dpals_rows.dpals_synthetic,
    "dpals-theorem-5": dpals_rows.starts,
    "nmf-table-2": nmf_rows.nmf_sizes,
    "nmf-table-3": nmf_rows.nmf_coherence,
    "nmf-table-4": nmf_rows.nmf_ratings,
    "nmf-figure-2": lambda: nmf_rows.nmf_objectives(
        ("tdt2", 30), ("uci-news", 7), ("guardian", 8), ("rcv1", 4)
    ),
    "nmf-figure-5": lambda: nmf_rows.nmf_objectives(("cbcl", 50), ("yaleb", 38)),
}


@lru_cache(maxsize=64)
def rows_of(entry: str) -> tuple[Row, ...]:
    """The rows of the table or figure called ``entry``, in order.

    Empty for those that no numbers stand for.
    """
    return tuple(_TABLES[entry]()) if entry in _TABLES else ()


_FILE = "papers/entries"
PAPERS: dict[str, str] = facts(_FILE)["papers"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Axes:
    """How one figure draws rows, by the names of parts of their settings: ``x`` is the first that a
    row has (without any, or without noise, it is a level), rows alike in ``line`` and ``panel``
    make one line of one panel. Rows without any part of ``line`` belong to another figure.
    ``own_y``: each panel has its own scale. ``y`` is the axis's title, the rows' metric if left
    out. ``beside`` is a printed table that belongs on the axes too: its number and metric, and
    what its settings must have.
    """

    x: tuple[str, ...]
    line: tuple[str, ...]
    panel: tuple[str, ...] = ()
    y: str = ""
    log_y: bool = False
    own_y: bool = False
    beside: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One table or figure.

    ``finding`` says what we found, "" where nothing is to be said; ``made`` how ours is made, with
    what the paper leaves open; ``page`` names the page that draws it live, with the settings
    ``state`` in its address; ``missing`` says why it cannot be computed here and how it could;
    ``same`` is the id of the entry that prints the same numbers and has the rows. A schematic
    drawing has none of them. ``figures`` draw its rows.
    """

    id: str
    paper: str
    place: str
    title: str
    made: str = ""
    finding: str = ""
    page: str = ""
    state: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    same: str = ""
    figures: tuple[Axes, ...] = ()

    @property
    def computed(self) -> bool:
        """Whether it has rows of its own."""
        return bool(rows_of(self.id))

    @property
    def source(self) -> str:
        """The id of the entry whose rows stand for it."""
        return self.same or self.id


def _entries(file: Settings) -> Iterator[Entry]:
    by_id: dict[str, Entry] = {}
    for paper in PAPERS:
        for k, raw in enumerate(file[paper], start=1):
            own = dict(raw)
            like, words = own.pop("like", ""), own.pop("with", {})
            where = f"data/{_FILE}.toml, entry {k} of {paper} ({own.get('place', 'no place')})"
            try:
                shared = file["shared"][like] if like else {}
                filled: Settings = {
                    name: text.format(**words) if isinstance(text, str) else text
                    for name, text in shared.items()
                }
            except KeyError as error:
                raise DataError(f"{where}: there is no {error} to fill in.") from None
            name = f"{paper}-{own.get('place')}".lower().replace(" ", "-")
            filled |= own
            filled["figures"] = tuple(typed(Axes, one, where) for one in filled.get("figures", ()))
            entry = typed(Entry, {"id": name, "paper": paper, **filled}, where)
            if entry.same:
                other = by_id[entry.same]
                method = f"{entry.made} {other.made}"
                entry = replace(entry, made=method, finding=other.finding, figures=other.figures)
            by_id[name] = entry
            yield entry


ENTRIES: tuple[Entry, ...] = tuple(_entries(facts(_FILE)))


def errata(paper: str) -> list[str]:
    """Return the misprints of ``paper`` in Markdown, each with the numbers that show it."""
    return [
        f"**{one['place']}.** {one['text']}"
        for one in facts("papers/errata")["erratum"]
        if paper in one["papers"]
    ]
