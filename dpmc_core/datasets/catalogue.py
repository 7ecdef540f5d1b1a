"""The catalogue of datasets and where they are on this machine.

Lives here: ``data/catalogue.toml`` as objects, the data folder, and whether a set is present. Does not live here:
reading ratings (``loaders``) or fetching (``download``).
"""

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpmc_core.errors import ParameterError

__all__ = ["Entry", "catalogue", "data_dir", "entry"]

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One dataset of the catalogue; the fields are described at the top of ``data/catalogue.toml``."""

    name: str
    title: str
    summary: str
    kind: str
    terms: str
    citation: str
    folder: str = ""
    files: tuple[str, ...] = ()
    url: str = ""
    checksum: str = ""
    megabytes: float = 0.0
    users: int = 0
    items: int = 0
    ratings: int = 0
    scale: tuple[float, float] = (1.0, 5.0)

    @property
    def synthetic(self) -> bool:
        """Whether the set is made here from a seed."""
        return self.kind == "synthetic"

    def path(self) -> Path:
        """The folder that holds (or would hold) its files."""
        return data_dir() / self.folder

    def present(self) -> bool:
        """Whether it can be loaded now, without a network."""
        return self.synthetic or all((self.path() / name).is_file() for name in self.files)


def data_dir() -> Path:
    """The folder of datasets: ``DPMC_DATA_DIR``, by default ``data/downloads`` in the project."""
    return Path(os.environ.get("DPMC_DATA_DIR") or _ROOT / "data" / "downloads")


@cache
def catalogue() -> dict[str, Entry]:
    """All datasets by name, in the order of the file."""
    with (_ROOT / "data" / "catalogue.toml").open("rb") as file:
        raw: dict[str, dict[str, Any]] = tomllib.load(file)
    entries = {}
    for name, fields in raw.items():
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        entries[name] = Entry(name=name, **values)
    return entries


def entry(name: str) -> Entry:
    """The dataset called ``name``; raises ``ParameterError`` that lists the names."""
    if not isinstance(name, str) or name not in catalogue():
        raise ParameterError("dataset", name, "one of " + ", ".join(catalogue()))
    return catalogue()[name]
