"""From a file's bytes to an own set, whatever it holds.

Provides ``inspect`` (how a file is probably meant, for a person to correct), ``read`` (the set),
and the words that read it again elsewhere.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpmc_core.config import Settings
from dpmc_core.datasets.catalogue import Entry
from dpmc_core.datasets.own.archive import members
from dpmc_core.datasets.own.cells import option_text
from dpmc_core.datasets.own.images import ImagesReading, guess_images, images_of, variables_of
from dpmc_core.datasets.own.table_files import Table, open_table
from dpmc_core.datasets.own.table_guesses import Question, columns_of, guess_ratings
from dpmc_core.datasets.own.tables import RatingsReading, ratings_of
from dpmc_core.datasets.own.texts import Documents, DocumentsReading, documents_of, guess_documents
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_texts
from dpmc_core.datasets.user_datasets import OWN
from dpmc_core.errors import DataError, check_choice
from dpmc_core.wording import JsonObject

KINDS = {
    "ratings": ("csv", "tsv", "txt", "parquet", "dat"),
    "documents": ("txt", "csv", "tsv", "zip"),
    "images": ("zip", "npy", "mat"),
}
MOST_MEGABYTES = 25
TERMS = (
    "Yours. It stays in the memory of this visit: not on a disk, in a log, among past runs or "
    "in anybody else's visit."
)
_KEPT = 4  # things worked out of a set that are kept with it
_SHOWN = 200  # characters of a cell in the preview

Reading = RatingsReading | DocumentsReading | ImagesReading
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Preview:
    """A file as it is probably meant.

    The ``reading`` to correct, the ``questions`` about it, and what there is to choose from
    (columns of a table, variables of a MATLAB file), with a table's first rows.
    """

    file: str
    reading: Reading
    questions: tuple[Question, ...] = ()
    columns: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    head: pd.DataFrame | None = None
    rows: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnSet:
    """A set that somebody brought.

    ``entry`` as the catalogue would have it, one of ``ratings``, ``images`` and ``documents``, what
    was left out (``notes``), what of the guess a person should look at and has not said
    (``questions``), the ``file``, the table of ``items`` ("": none) and the ``reading`` that it
    came from, and which fields of that were ``given``. ``digest`` is of its name, content and
    reading: who cannot name the set cannot compute it, and another content has another.
    Nothing that is worked out of it is kept anywhere else: it goes when the set goes.
    """

    entry: Entry
    file: str
    reading: Reading
    given: tuple[str, ...]
    notes: tuple[str, ...]
    digest: bytes
    questions: tuple[Question, ...] = ()
    ratings: Ratings | None = None
    images: Samples | None = None
    documents: Documents | None = None
    items: str = ""
    _worked_out: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets.

        Of what was worked out only how documents count, which takes long.
        """
        words = {
            key: value
            for key, value in self._worked_out.items()
            if isinstance(key, tuple) and key[0] == "words"
        }
        return {**self.__dict__, "_worked_out": words}

    @property
    def name(self) -> str:
        """What specs call it."""
        return self.entry.name

    @property
    def megabytes(self) -> float:
        """What it holds, roughly, without what is worked out of it."""
        size, numbers = 0, self.images.numbers if self.images is not None else ()
        if self.ratings is not None:
            held, numbers = self.ratings, self.ratings.numbers
            size += sum(60 + len(name) for name in (*held.user_labels, *held.item_labels))
            size += 0 if held.item_features is None else held.item_features.values.nbytes
        if self.documents is not None:
            size += sum(60 + 2 * len(text) for text in self.documents.texts)
        return (size + sum(array.nbytes for array in numbers)) / 1e6

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """``make()``, or what it gave before for this ``key``: a cache that belongs to the set."""
        if key not in self._worked_out:
            value = make()
            while len(self._worked_out) >= _KEPT:
                self._worked_out.pop(next(iter(self._worked_out)), None)
            self._worked_out[key] = value
        return self._worked_out[key]

    def samples(self, chosen: TextFilter) -> Samples:
        """Its images, or its documents through the filter ``chosen``.

        Raises ``DataError`` for ratings, or when no word is left.
        """
        if self.images is not None:
            return self.images
        documents = self.documents
        if documents is None:
            raise DataError(f"{self.entry.title} are ratings; images or documents are needed here.")
        return self.cached(
            ("words", chosen),
            lambda: samples_of_texts(
                documents.texts,
                name=self.entry.title,
                chosen=chosen,
                labels=documents.labels,
                notes=documents.notes,
                of=documents.places,
            ),
        )

    def options(self) -> dict[str, str]:
        """The fields of the reading that were given: the others follow from these and the file."""
        return {name: option_text(getattr(self.reading, name)) for name in self.given}

    def words(self) -> str:
        """Its options on the command line.

        The visit is among them: noise is drawn by a set's whole name, so that nobody without it
        draws the same.
        """
        # an archive may hold other files besides
        holds = {"kind": self.entry.holds} if self.file.lower().endswith(".zip") else {}
        visit = self.name.removeprefix(f"{OWN}{self.entry.holds}").removeprefix("-")
        options = holds | self.options() | ({"visit": visit} if visit else {})
        chosen = [f"--read {shlex.quote(f'{name}={value}')}" for name, value in options.items()]
        files = (("data", self.file), ("items", self.items))
        given = [f"--{n}{' ='[f[0] == '-']}{shlex.quote(f)}" for n, f in files if f]
        return " ".join([*given, *chosen])

    def lines(self) -> str:
        """Its lines of Python, which name it ``mine``."""
        keywords = self.options() | {"name": self.name}
        arguments = "".join(f", {name}={value!r}" for name, value in keywords.items())
        lines = [
            "from pathlib import Path",
            "",
            "from dpmc_core.datasets import own, user_datasets",
            "",
            f"mine = own.read({self.entry.holds!r}, {self.file!r}, "
            f"Path({self.file!r}).read_bytes(){arguments})",
            "user_datasets.put({mine.name: mine})",
        ]
        if self.items:
            table = f"own.read_item_table({self.items!r}, Path({self.items!r}).read_bytes())"
            lines.insert(-1, f"mine = own.with_items(mine, {table})")
        return "\n".join([*lines, ""])


CHOICES = {
    kind: tuple(f.name for f in fields(reading))
    for kind, reading in zip(KINDS, (RatingsReading, DocumentsReading, ImagesReading), strict=True)
}


def readable(kind: str, file: str, data: bytes) -> None:
    """Raise unless ``kind`` is known, the file's ending is one of its, and the file is neither
    empty nor larger than 25 MB.
    """
    check_choice("kind", kind, KINDS)
    ending = file.lower().rpartition(".")[2]
    if ending not in KINDS[kind]:
        raise DataError(
            f"{file[-80:]} is not allowed for {kind}: choose a file that ends in "
            f"{', '.join(KINDS[kind])}."
        )
    if not data:
        raise DataError(f"{file[-80:]} is empty.")
    if len(data) > MOST_MEGABYTES * 1_000_000:
        raise DataError(
            f"{file[-80:]} has {len(data) / 1e6:.1f} MB; at most {MOST_MEGABYTES} are allowed. "
            "Larger data is for the command 'large' (docs/cluster.md)."
        )


def inspect(kind: str, file: str, data: bytes, **choices: Any) -> Preview:
    """How ``data`` is probably meant, with what is given in ``choices``.

    Raises ``DataError`` for what cannot be read at all, ``ParameterError`` for a wrong choice.
    """
    reading, questions, table = guess(kind, file, data, choices)
    about: JsonObject = {"file": file, "questions": questions}
    if kind == "images" and file.lower().endswith(".mat"):
        about["variables"] = tuple(variables_of(file, data))
    if table is not None:
        frame = table.frame
        head = frame.iloc[:8, :12].astype(str).apply(lambda column: column.str[:_SHOWN])
        about |= {"columns": tuple(frame.columns), "head": head, "rows": len(frame)}
    return Preview(reading=reading, **about)


def guess(
    kind: str, file: str, data: bytes, choices: Mapping[str, Any]
) -> tuple[Reading, tuple[Question, ...], Table | None]:
    """The reading with what was chosen, what is asked about the rest, and the table if it is one.

    Raises as ``readable``, and ``ParameterError`` for the name of a choice that the kind has not.
    """
    readable(kind, file, data)
    for name in choices:
        check_choice("read", name, CHOICES[kind])
    reading: Reading
    table, questions = None, tuple[Question, ...]()
    if kind == "ratings":
        given = RatingsReading(**choices)
        table = open_table(file, data, given.separator, given.header)
        reading, questions = guess_ratings(table, {name: getattr(given, name) for name in choices})
    elif kind == "documents":
        reading, table = guess_documents(file, data)
    else:
        reading, doubt = guess_images(file, data)
        if doubt and "rows" not in choices:
            questions = (Question("rows", doubt),)
    return replace(reading, **choices), questions, table


def read(
    kind: str, file: str, data: bytes, *, name: str = "", title: str = "", **choices: Any
) -> OwnSet:
    """The set in ``data``, a file called ``file`` that holds ``kind`` ("ratings", "documents" or
    "images"), read as guessed but for ``choices``: fields of ``RatingsReading``,
    ``DocumentsReading`` or ``ImagesReading``. Raises ``DataError`` and ``ParameterError`` in one
    sentence.

    >>> rows = [f"{u},{i},{(u + i) % 5 + 1}" for u in range(4) for i in range(3)]
    >>> table = "\\n".join(["who,what,stars", *rows])
    >>> mine = read("ratings", "mine.csv", table.encode(), user="who", item="what")
    >>> len(mine.ratings), mine.entry.users, mine.entry.items, mine.entry.scale
    (12, 4, 3, (1.0, 5.0))
    """
    title, name = title or f"Your {kind}", name or f"{OWN}{kind}"
    reading, questions, table = guess(kind, file, data, choices)
    content, facts, notes = _content(file, data, reading, table, title)
    ratings = content.get("ratings")
    if ratings is not None and ratings.low == ratings.high:
        raise DataError(
            f"{file}: every rating is {ratings.low:g}; there is nothing to learn. Name the "
            "column of ratings (value); who liked what, without ratings, is taken by no run."
        )
    entry = Entry(
        name=name, title=title, summary=f"From your file {file[-80:]}.", kind="own", holds=kind,
        terms=TERMS, citation="none", files=(file,), **facts,
    )  # fmt: skip
    hasher = hashlib.blake2b(data, key=hashlib.blake2b(name.encode()).digest())
    hasher.update(repr(reading).encode("utf-8", "surrogatepass"))
    return OwnSet(
        entry=entry, file=file, reading=reading, given=tuple(choices), notes=notes,
        questions=questions, digest=hasher.digest(), **content,
    )  # fmt: skip


def _content(
    file: str, data: bytes, reading: Reading, table: Table | None, title: str
) -> tuple[Settings, Settings, tuple[str, ...]]:
    """What is read, as a field of ``OwnSet``; its size, as fields of ``Entry``; and notes."""
    if isinstance(reading, RatingsReading):
        assert table is not None  # ratings come as tables
        ratings, notes = ratings_of(file, table.frame, reading, title)
        size = {"users": ratings.n_users, "items": ratings.n_items, "ratings": len(ratings)}
        facts = {**size, "scale": (ratings.low, ratings.high)}
        return {"ratings": ratings}, facts, (*table.notes, *notes)
    if isinstance(reading, DocumentsReading):
        documents = documents_of(file, data, reading, table and table.frame)
        return {"documents": documents}, {"samples": documents.places.given}, documents.notes
    images = images_of(file, data, reading, title)
    facts = {"samples": images.places.given, "dimension": images.dimension}
    return {"images": images}, facts, images.notes


def kind_of(file: str, data: bytes, kinds: Sequence[str]) -> str:
    """Which of ``kinds`` the file holds: by its ending, and where several fit by its content."""
    fit = [kind for kind in kinds if file.lower().rpartition(".")[2] in KINDS[kind]]
    if "images" in fit and len(fit) > 1:
        try:
            next(members(file, data, (".txt",)))
        except DataError:
            return "images"
        return "documents"
    if len(fit) > 1:  # a table of words is one of documents
        try:
            describe("ratings", file, data)
        except DataError:
            try:
                read("documents", file, data)
            except DataError:
                return "ratings"
            return "documents"
    return fit[0] if fit else kinds[0]


def describe(kind: str, file: str, data: bytes, **choices: Any) -> JsonObject:
    """How a file is read: of ratings how many of what, their ends, the ``layout``, which of the
    ``columns`` is what, and what is ``asked``. Raises as ``read``.
    """
    reading, questions, table = guess(kind, file, data, choices)
    title = file if kind == "ratings" else f"Your {kind}"
    _, facts, notes = _content(file, data, reading, table, title)
    summary: JsonObject = {"file": file, "kind": kind}
    if isinstance(reading, RatingsReading) and table is not None:
        low, high = facts.pop("scale")
        columns = columns_of(table.frame, reading)
        summary |= {**facts, "low": low, "high": high, "layout": reading.layout, "columns": columns}
    else:
        summary[kind] = facts["samples"]
    how = {name: option_text(value) for name, value in asdict(reading).items()}
    return {
        **summary,
        "read": {name: value for name, value in how.items() if value},
        "notes": list(notes),
        "asked": [asdict(question) for question in questions],
    }


if TYPE_CHECKING:
    import pandas as pd
