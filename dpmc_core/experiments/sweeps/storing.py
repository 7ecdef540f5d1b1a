"""What a sweep asks of the place that keeps its runs, and one that only passes them on."""

from collections.abc import Iterable
from typing import Protocol

from dpmc_core.experiments.store.records import Record


class Runs(Protocol):
    """Where finished runs are kept: what a sweep asks of it."""

    def check_writable(self) -> None: ...

    def add(self, record: Record) -> bool: ...

    def have(self, keys: Iterable[str]) -> set[str]: ...

    def find(self, keys: Iterable[str], *, whole: bool = False) -> dict[str, Record]: ...


class PassingRuns:
    """Runs in memory only: those on somebody's own data, which go when their visit ends."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def __enter__(self) -> "PassingRuns":
        return self

    def __exit__(self, *_: object) -> None:
        """Let the runs go with whoever held them."""

    def check_writable(self) -> None:
        """See ``RunStore.check_writable``."""

    def add(self, record: Record) -> bool:
        """See ``RunStore.add``."""
        return self._records.setdefault(record.key, record) is record

    def have(self, keys: Iterable[str]) -> set[str]:
        """See ``RunStore.have``."""
        return {key for key in keys if key in self._records}

    def find(self, keys: Iterable[str], *, whole: bool = False) -> dict[str, Record]:
        """See ``RunStore.find``."""
        del whole
        return {key: self._records[key] for key in keys if key in self._records}
