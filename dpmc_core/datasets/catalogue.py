"""The catalogue of datasets and where they are on this machine.

``data/catalogue.toml`` as objects, the data folder, whether a set is present, and one
look-up for these sets and for users' own (``user_datasets``).
"""

import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dpmc_core.datasets import user_datasets
from dpmc_core.errors import ParameterError, check_choice
from dpmc_core.facts import facts, typed
from dpmc_core.paths import LOCAL


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One dataset of the catalogue.

    The fields are described at the top of ``data/catalogue.toml``.
    """

    name: str
    title: str
    summary: str
    kind: str
    terms: str
    citation: str
    holds: str = "ratings"
    package: str = ""
    format: str = ""
    options: tuple[str, ...] = ()
    page: str = ""
    folder: str = ""
    files: tuple[str, ...] = ()
    url: str = ""
    checksum: str = ""
    megabytes: float = 0.0
    users: int = 0
    items: int = 0
    ratings: int = 0
    scale: tuple[float, float] = (1.0, 5.0)
    samples: int = 0
    dimension: int = 0

    @property
    def synthetic(self) -> bool:
        """Whether the set is made here from a seed."""
        return self.kind == "synthetic"

    def path(self) -> Path:
        """The folder that holds (or would hold) its files: of its package, if it ships with one."""
        package = find_spec(self.package) if self.package else None
        places = package.submodule_search_locations if package else None
        return Path(places[0]) if places else data_dir() / self.folder

    @property
    def file(self) -> Path:
        """The first of its files."""
        return self.path() / self.files[0]

    @property
    def place(self) -> str:
        """Where its files belong, for messages: no path, which is the server's own business."""
        return f"the folder {self.folder} of the data folder (DPMC_DATA_DIR)"

    def present(self) -> bool:
        """Whether it can be loaded now, without a network."""
        if self.kind == "own":
            return user_datasets.current().get(self.name) is not None
        return self.synthetic or all((self.path() / name).exists() for name in self.files)

    @property
    def fetchable(self) -> bool:
        """Whether `fetch` can get it: there is an address, and a checksum to hold it to."""
        return bool(self.url and self.checksum)


def data_dir() -> Path:
    """The folder of datasets: ``DPMC_DATA_DIR``, by default ``data/downloads`` in a checkout of the
    project, else ``~/.dpmc-lab/downloads``.
    """
    return Path(os.environ.get("DPMC_DATA_DIR") or LOCAL / "downloads")


@cache
def catalogue() -> dict[str, Entry]:
    """All datasets by name, in the order of the file."""
    return {
        name: typed(Entry, {"name": name, **fields}, f"data/catalogue.toml, {name}")
        for name, fields in facts("catalogue").items()
    }


def names(*holds: str) -> tuple[str, ...]:
    """The datasets of the catalogue that hold one of these ("ratings", "images", "documents"), in
    order; all without an argument. Own sets are not among them.
    """
    return tuple(name for name, record in catalogue().items() if not holds or record.holds in holds)


def entry(name: str, *holds: str) -> Entry:
    """The dataset called ``name``, of the catalogue or a user's own, which must hold one of
    ``holds`` if given; raises ``ParameterError`` that lists the names.
    """
    if user_datasets.is_own(name):
        own = user_datasets.find(name).entry
        if holds and own.holds not in holds:
            raise ParameterError(
                "dataset", own.title, f"a set of {' or '.join(holds)}; this one holds {own.holds}"
            )
        return own
    check_choice("dataset", name, names(*holds))
    return catalogue()[name]
