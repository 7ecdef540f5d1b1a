"""Every table and figure of the four papers, and what stands for it here.

Lives here: ``dpmc_core/data/papers/entries.toml`` as objects. Does not live here: rows, numbers or
verdicts on single rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpmc_core.errors import DataError
from dpmc_core.experiments.papers.rows import rows_of
from dpmc_core.facts import facts, typed

__all__ = ["ENTRIES", "PAPERS", "Entry"]

_FILE = "papers/entries"
PAPERS: dict[str, str] = facts(_FILE)["papers"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One table or figure.

    ``finding`` says what we found, "" where nothing is to be said; ``made`` how ours is made, with
    what the paper leaves open; ``page`` names the page that draws it live; ``missing`` says why it
    cannot be computed here and how it could. A schematic drawing has none of them.
    """

    id: str
    paper: str
    place: str
    title: str
    made: str = ""
    finding: str = ""
    page: str = ""
    missing: str = ""

    @property
    def computed(self) -> bool:
        """Whether it has rows."""
        return bool(rows_of(self.id))


def _entries(file: dict[str, Any]) -> Iterator[Entry]:
    for paper in PAPERS:
        for k, said in enumerate(file[paper], start=1):
            own = {name: value for name, value in said.items() if name not in ("like", "with")}
            where = f"data/{_FILE}.toml, entry {k} of {paper} ({own.get('place', 'no place')})"
            try:
                shared = file["shared"][said["like"]] if "like" in said else {}
                filled = {
                    name: text.format(**said.get("with", {})) for name, text in shared.items()
                }
            except KeyError as error:
                raise DataError(f"{where}: there is no {error} to fill in.") from None
            name = f"{paper}-{own.get('place')}".lower().replace(" ", "-")
            yield typed(Entry, {"id": name, "paper": paper, **filled, **own}, where)


ENTRIES: tuple[Entry, ...] = tuple(_entries(facts(_FILE)))
