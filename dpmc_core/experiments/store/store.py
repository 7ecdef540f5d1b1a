"""Where finished runs are kept: one database, SQLite unless told otherwise, through SQLAlchemy.

A run is one transaction, so that a writer killed half-way or a full disk leaves every run that was
added, whole. Many processes may write at once. ``DPMC_STORE`` names the store: a file, or the URL
of a database; see ``default_place``.
"""

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    IntegrityError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.store.records import Record
from dpmc_core.paths import LOCAL
from dpmc_core.wording import JsonObject

METADATA = sa.MetaData()


ABOUT = sa.Table("dpmc_store", METADATA, sa.Column("version", sa.Integer, primary_key=True))


_TYPES: dict[Any, Any] = {str: sa.String(80), int: sa.BigInteger, float: sa.Float, bool: sa.Boolean}


def _column(name: str, hint: Any) -> sa.Column[Any]:
    """The column of a record's field."""
    kinds = get_args(hint) or (hint,)
    return sa.Column(
        "trivial" if name == "baseline" else name,  # stores have the short name
        sa.Text if name in ("error", "spec") else next(filter(None, map(_TYPES.get, kinds))),
        key=name,
        nullable=NoneType in kinds,
        unique=name == "key",
    )


RUNS = sa.Table(
    "dpmc_runs",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    *(_column(n, hint) for n, hint in get_type_hints(Record).items() if n != "summary"),
)


SUMMARIES = sa.Table(
    # apart from the runs, so that a list of a hundred thousand does not read them
    "dpmc_summaries",
    METADATA,
    sa.Column(
        "run", sa.Integer, sa.ForeignKey("dpmc_runs.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("summary", sa.Text, nullable=False),
)


STORE_VERSION = 1
FILTERS = ("kind", "dataset", "algorithm", "mechanism", "measure", "unit", "version")

_AT_ONCE = 500  # keys in one question
# two that open a new store at once, as two replicas do, must not both make the tables
_ALONE = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(7350481)"}
# of a record, by its names for them
_FIELDS = tuple(column.label(column.key) for column in RUNS.c if column.name != "id")

# covering indexes: a page asks which values there are, and how many runs have each
for _name in FILTERS:
    sa.Index(f"dpmc_runs_{_name}", RUNS.c[_name])


class StoreError(DPMCError):
    """The store cannot be read or written; the message says why, and what to do."""


def default_place() -> str:
    """``DPMC_STORE`` if set, else ``data/runs.sqlite`` in a checkout, ``~/.dpmc-lab`` elsewhere."""
    return os.environ.get("DPMC_STORE") or str(LOCAL / "runs.sqlite")


class RunStore:
    """Finished runs in the database ``where`` (a path, or an SQLAlchemy URL; by default
    ``default_place()``), made if there is none and ``new`` allows it. A writer waits for another
    one so many seconds (``wait``).

    Safe to share between threads, and to open in many processes at once. Raises ``StoreError``
    where the store cannot be opened: not a database, of another version, not allowed, no such
    driver.
    """

    def __init__(
        self, where: str | Path | None = None, *, wait: float = 10.0, new: bool = True
    ) -> None:
        given = str(where or default_place())
        try:
            url = sa.make_url(given) if "://" in given else sa.URL.create("sqlite", database=given)
            shown = url.set(query={}).render_as_string()  # a query may hold a password too
            self.place = shown if "://" in given else given
            local = url.get_backend_name() == "sqlite"
            file = Path(url.database) if local and url.database else None
            if file is not None and not str(file).startswith(("file:", ":memory:")):
                if not new and not file.exists():
                    why = "a sweep makes one, or name another by DPMC_STORE or --store"
                    raise StoreError(f"There is no run store at {given} yet: {why}.")
                file.parent.mkdir(parents=True, exist_ok=True)
                if file.is_file() and not (
                    os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
                ):
                    url, file = _only_read(file), None
            self._engine = sa.create_engine(
                url, connect_args={} if file is None else {"timeout": wait}
            )
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
            raise StoreError(
                f"DPMC_STORE = {_without_password(given)!r} is no place for runs ({error}): "
                "give a file's path or a database's URL, as "
                "postgresql+psycopg://user@host/name, and install its driver."
            ) from None
        except OSError as error:
            raise StoreError(
                f"The folder of the run store {given} cannot be made ({error.strerror}): choose "
                "another by DPMC_STORE."
            ) from None
        if file is not None:
            sa.event.listen(self._engine, "connect", partial(_prepare, wait=wait))
        # a store that nobody holds any more, or that is refused below, keeps no file open
        weakref.finalize(self, self._engine.dispose)
        self._check()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give connections back."""
        self._engine.dispose()

    def add(self, record: Record) -> bool:
        """Keep ``record``; False if its run is here already.

        It is on the disk when this returns. Raises ``StoreError``.
        """
        row = dict(vars(record))
        text = json.dumps(row.pop("summary"), separators=(",", ":"))
        with self._explain_errors("kept"):
            try:
                with self._engine.begin() as connection:
                    run_id = connection.execute(
                        RUNS.insert().values(row).returning(RUNS.c.id)
                    ).scalar_one()
                    connection.execute(SUMMARIES.insert().values(run=run_id, summary=text))
            except IntegrityError:
                if self.have([record.key]):
                    return False
                raise
        return True

    def check_writable(self) -> None:
        """Raise ``StoreError`` where nothing could be kept; nothing changes."""
        with self._explain_errors("written"), self._engine.connect() as connection:
            connection.execute(ABOUT.update().values(version=ABOUT.c.version))
            connection.rollback()

    def count(self, where: Mapping[str, Sequence[str]] | None = None) -> int:
        """How many runs there are.

        ``where`` keeps those whose column is one of the listed values.
        """
        with self._reading() as connection:
            query = sa.select(sa.func.count()).select_from(RUNS).where(*_conditions(where))
            return connection.scalar(query) or 0

    def values(self) -> dict[str, tuple[str, ...]]:
        """The values that each column of ``FILTERS`` takes."""
        with self._reading() as connection:
            return {
                name: tuple(
                    connection.scalars(sa.select(RUNS.c[name]).distinct().order_by(RUNS.c[name]))
                )
                for name in FILTERS
            }

    def rows(
        self, where: Mapping[str, Sequence[str]] | None = None, *, limit: int | None = None
    ) -> list[JsonObject]:
        """Runs as rows without summaries, the latest first."""
        query = sa.select(*_FIELDS).where(*_conditions(where))
        query = query.order_by(RUNS.c.id.desc()).limit(limit)
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def have(self, keys: Iterable[str]) -> set[str]:
        """Those of ``keys`` that are here."""
        with self._reading() as connection:
            return {
                key
                for some in _chunks(keys)
                for key in connection.scalars(sa.select(RUNS.c.key).where(RUNS.c.key.in_(some)))
            }

    def find(self, keys: Iterable[str], *, whole: bool = True) -> dict[str, Record]:
        """The records of those ``keys`` that are here.

        Their summaries are left empty unless ``whole``, which is much quicker.
        """
        query = sa.select(*_FIELDS, SUMMARIES.c.summary).join(SUMMARIES)
        if not whole:
            query = sa.select(*_FIELDS, sa.literal("{}").label("summary"))
        with self._reading() as connection:
            return {
                row["key"]: Record(**{**row, "summary": json.loads(row["summary"])})
                for some in _chunks(keys)
                for row in connection.execute(query.where(RUNS.c.key.in_(some))).mappings()
            }

    def delete(self, keys: Iterable[str]) -> int:
        """Forget the runs with these keys; returns how many there were."""
        gone = 0
        with self._explain_errors("deleted"), self._engine.begin() as connection:
            for some in _chunks(keys):
                chosen = sa.select(RUNS.c.id).where(RUNS.c.key.in_(some))
                connection.execute(SUMMARIES.delete().where(SUMMARIES.c.run.in_(chosen)))
                gone += connection.execute(RUNS.delete().where(RUNS.c.key.in_(some))).rowcount
        return gone

    def _check(self) -> None:
        """Make the tables of a new store; refuse what is none, or of another version."""
        with self._explain_errors("opened"):
            with self._engine.connect() as connection:
                names = sa.inspect(connection).get_table_names()
            sqlite = self._engine.dialect.name == "sqlite"
            if ABOUT.name not in names:
                if names and sqlite:
                    raise StoreError(
                        f"{self.place} is a database, but no run store (its tables: "
                        f"{', '.join(sorted(names)[:5])}): choose another file by DPMC_STORE. "
                        "Nothing in it was changed."
                    )
                self._make()
            with self._engine.connect() as connection:
                version = connection.scalar(sa.select(sa.func.max(ABOUT.c.version)))
        if version != STORE_VERSION:
            raise StoreError(
                f"The run store {self.place} is of version {version}, and this release reads "
                f"version {STORE_VERSION}: open it with the release that made it and export its "
                "runs, or choose another file by DPMC_STORE. Nothing in it was changed."
            )

    def _make(self) -> None:
        with self._engine.begin() as connection:
            if (alone := _ALONE.get(self._engine.dialect.name)) is not None:
                connection.exec_driver_sql(alone)
            METADATA.create_all(connection)
            if connection.scalar(sa.select(sa.func.count()).select_from(ABOUT)) == 0:
                connection.execute(ABOUT.insert().values(version=STORE_VERSION))

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._explain_errors("read"), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _explain_errors(self, done: str) -> Iterator[None]:
        """Turn the database's errors into sentences."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            message = str(getattr(error, "orig", None) or error).splitlines()[0]
            why = _reason(message.lower(), isinstance(error, (DatabaseError, sqlite3.Error)))
            raise StoreError(
                f"The run store {self.place} could not be {done} ({message}): {why}."
            ) from error


# by what the database says of it
_WHY = {
    ("locked", "busy"): (
        "another program is writing to it and did not finish in time: try again, or end that "
        "program"
    ),
    ("full",): "its disk is full: free some space and try again; what was kept before is whole",
    ("not a database", "malformed", "corrupt"): (
        "the file is damaged, or is no database: put it aside (do not delete it: SQLite's "
        ".recover may save runs) and choose another by DPMC_STORE"
    ),
    ("readonly", "read-only", "permission", "unable to open"): (
        "this program may not write there: change the file's and folder's permissions, or choose "
        "another by DPMC_STORE"
    ),
}


def _reason(message: str, database: bool) -> str:
    """Why the store failed with ``message``, and what to do."""
    for words, reason in _WHY.items():
        if any(word in message for word in words):
            return reason
    if database and any(word in message for word in ("connect", "refused", "resolve", "password")):
        return (
            "the database does not answer: check that it runs, its address, user and password "
            "in DPMC_STORE"
        )
    return "see the reason in brackets, or choose another place by DPMC_STORE"


def _only_read(file: Path) -> sa.URL:
    """Where SQLite reads a file that this program may not write, as on a read-only medium.

    A log that was not written back can then be read only beside its index; without one nothing
    changes, and nothing has to be made beside the file.
    """
    log = file.with_name(f"{file.name}-wal")
    whole = {} if log.exists() and log.stat().st_size else {"immutable": "1"}
    query = {"mode": "ro", "uri": "true", **whole}
    return sa.URL.create("sqlite", database=file.absolute().as_uri(), query=query)


def _prepare(connection: Any, _: object, *, wait: float) -> None:
    """Readers never wait for a writer (write-ahead log), and an added run outlives a crash."""
    cursor = connection.cursor()
    until = time.monotonic() + wait
    while cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            # SQLite itself does not wait here while another one is switching
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if "readonly" in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _conditions(where: Mapping[str, Sequence[str]] | None) -> list[sa.ColumnElement[bool]]:
    for name in where or {}:
        if name not in FILTERS:
            raise StoreError(
                f"Runs are not filtered by {name!r}: it must be one of {', '.join(FILTERS)}."
            )
    return [RUNS.c[name].in_(list(values)) for name, values in (where or {}).items() if values]


def _chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(keys)
    while some := list(islice(remaining, _AT_ONCE)):
        yield some


def _without_password(given: str) -> str:
    """As much of a place as may be said: its kind, and what stands after the user and password."""
    kind, slashes, rest = given.partition("://")
    return f"{kind}://{rest.rpartition('@')[2].partition('?')[0]}" if slashes else given
