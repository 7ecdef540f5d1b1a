"""Which user datasets the code that runs now may see.

They belong to a context (a visitor's page, a job of theirs, one command), never to the process:
code that runs for somebody else finds nothing. A server of many visitors says by ``ask`` whose page
runs. What a set holds, and how a file becomes one, is in ``own``.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from dpmc_core.errors import ParameterError

OWN = "own-"  # what the names of such sets begin with


class UserDataset(Protocol):
    """What the rest of the core asks of a user's dataset (``own.OwnSet``)."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> bytes: ...

    @property
    def entry(self) -> Any: ...

    @property
    def ratings(self) -> Any: ...

    def samples(self, chosen: Any) -> Any: ...

    def cached(self, key: Any, make: Callable[[], Any]) -> Any: ...

    def words(self) -> str: ...

    def lines(self) -> str: ...


UserDatasets = Mapping[str, Any]
_visible: ContextVar[UserDatasets] = ContextVar("own_sets")
_visitors: list[Callable[[], UserDatasets]] = []  # one at most


def ask(visitors: Callable[[], UserDatasets]) -> None:
    """From here on, where no set was ``put``, those that ``visitors`` gives.

    It knows for whom the code that asks runs, and gives nothing where that is nobody.
    """
    _visitors[:] = [visitors]


def current() -> UserDatasets:
    """The sets that can be used here, by name."""
    return _visible.get(None) or (_visitors[0]() if _visitors else {})


def put(datasets: UserDatasets) -> None:
    """From here on, in this context, these sets and no others."""
    _visible.set(datasets)


@contextmanager
def using(*sets: UserDataset) -> Iterator[None]:
    """For the length of a ``with`` block, these sets beside what was there."""
    token = _visible.set({**current(), **{one.name: one for one in sets}})
    try:
        yield
    finally:
        _visible.reset(token)


def is_own(name: str) -> bool:
    """Whether ``name`` is that of somebody's own set, here or elsewhere."""
    return isinstance(name, str) and name.startswith(OWN)


def find(name: str) -> UserDataset:
    """The own set called ``name``.

    Raises ``ParameterError`` where there is none in this context.
    """
    dataset = current().get(name)
    if dataset is None:
        raise ParameterError(
            "dataset",
            name,
            "a set of this visit; your own data is known only where it was read: choose the "
            "file again on the Datasets page, or give it with --data",
        )
    return dataset


def flags(values: Mapping[str, Any]) -> list[str]:
    """The options of a command that say ``values``; an own ``dataset`` is read from its file."""
    out = []
    for name, value in values.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "dataset" and is_own(value):
            out.append(find(value).words())
        elif value is True:
            out.append(flag)
        elif isinstance(value, float) and float(short := f"{value:g}") == value:
            out.append(f"{flag} {short}")
        else:
            out.append(f"{flag} {shlex.quote(str(value))}")
    return out


def keywords(values: Mapping[str, Any]) -> str:
    """Arguments of a call in Python; an own ``dataset`` is ``mine``, which ``lines_of`` reads."""
    arguments = {name: repr(value) for name, value in values.items()}
    if is_own(values.get("dataset", "")):
        arguments["dataset"] = "mine.name"
    return ", ".join(f"{name}={value}" for name, value in arguments.items())


def lines_of(name: str) -> str:
    """The Python lines that read the own set called ``name``; none for another set."""
    return find(name).lines() if is_own(name) else ""
