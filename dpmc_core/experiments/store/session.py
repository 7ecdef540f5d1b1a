"""A session as a file: numbers of finished runs and links to pages, to go on with another day.

A file may be anybody's: of a run it brings the settings, which are read as everywhere, and bounded
numbers; all else follows from the settings. It is never added to a store.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import dpmc_core
from dpmc_core.errors import DataError, DPMCError
from dpmc_core.experiments.store.records import (
    NUMBERS,
    PassingRuns,
    Record,
    Runs,
    record_for,
    spec_of,
)
from dpmc_core.wording import JsonObject

MOST_BYTES = 5_000_000
MOST_RUNS = 4000
_MOST_LINKS, _LONGEST = 50, 4000  # characters of a link
_NUMBERS = (*NUMBERS, "seconds")

_LEAST_EPSILON, _LARGEST = 1e-9, 1e9


@dataclass(frozen=True, eq=False)
class Session:
    """``records`` of runs without summaries, and ``links``: pages with their settings."""

    links: tuple[str, ...]
    records: tuple[Record, ...]

    @cached_property
    def runs(self) -> PassingRuns:
        """The records, to be found by their keys."""
        runs = PassingRuns()
        for record in self.records:
            runs.add(record)
        return runs

    def as_dict(self) -> JsonObject:
        """A JSON-able copy, which ``read_session`` reads back."""
        names = ("kind", "spec", "created", "error", *_NUMBERS)
        return {
            "release": dpmc_core.__version__,
            "links": list(self.links),
            "runs": [{name: getattr(one, name) for name in names} for one in self.records],
        }


def read_session(name: str, content: bytes) -> Session:
    """The session in the file called ``name``. Raises ``DataError`` for anything else."""
    try:
        if len(content) > MOST_BYTES:
            raise ValueError("too large")
        raw = json.loads(content)
        links, runs = tuple(raw["links"]), raw["runs"]
        short = all(isinstance(link, str) and len(link) <= _LONGEST for link in links)
        few = len(links) <= _MOST_LINKS and len(runs) <= MOST_RUNS
        if raw["release"] != dpmc_core.__version__ or not short or not few:
            raise ValueError("another release, or too much")
        return Session(links, tuple(map(_record, runs)))
    # whatever is wrong in the file
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, DPMCError):
        raise DataError(
            f"{name!r} is no session that can be opened here: it must be a file of at most "
            f"{MOST_BYTES // 1_000_000} MB and {MOST_RUNS:,} runs that the Runs page of release "
            f"{dpmc_core.__version__} saved."
        ) from None


def _record(raw: Any) -> Record:
    spec = spec_of(raw["kind"], raw["spec"])
    numbers = {name: _number(raw[name]) for name in _NUMBERS}
    numbers["seconds"] = numbers["seconds"] or 0.0
    created, error = raw["created"], raw["error"]
    datetime.fromisoformat(created)
    if not isinstance(error, str) or (numbers["value"] is None) != bool(error):
        raise ValueError("neither a result nor an error")
    least = math.inf if spec.noise.kind == "none" else _LEAST_EPSILON
    stated = (numbers["epsilon"], numbers["epsilon_published"])
    if any(epsilon is not None and epsilon < least for epsilon in stated):
        raise ValueError("an ε that no run has")
    # noise that was secret is another release each time: nothing finds it by its settings
    digest = hashlib.blake2b(repr(raw).encode(), digest_size=16).hexdigest()
    key = {"key": digest} if spec.secret else {}
    return record_for(spec, **numbers, created=created, error=error, **key)


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, str)) or not (value is None or abs(value) <= _LARGEST):
        raise ValueError("no number of a run")
    return None if value is None else float(value)


class Beside:
    """Runs of a ``store`` and, where it has them not, those of a file: ``used`` has the keys of
    these that were found.
    """

    def __init__(self, store: Runs, others: PassingRuns) -> None:
        self._store, self._others, self.used = store, others, set[str]()
        self.add, self.check_writable = store.add, store.check_writable

    def have(self, keys: Iterable[str]) -> set[str]:
        """See ``RunStore.have``."""
        wanted = list(keys)
        return self._store.have(wanted) | self._others.have(wanted)

    def find(self, keys: Iterable[str], *, whole: bool = False) -> dict[str, Record]:
        """See ``RunStore.find``."""
        wanted = list(keys)
        records = self._store.find(wanted, whole=whole)
        more = self._others.find(key for key in wanted if key not in records)
        self.used |= more.keys()
        return records | more
