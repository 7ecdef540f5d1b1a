"""Text files, tables and archives to documents.

Which part of a file is a document, with an account of what was left out.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.datasets.own.archive import folder_of, is_archive, members
from dpmc_core.datasets.own.cells import check_choices
from dpmc_core.datasets.own.table_files import Table, decoded, open_table
from dpmc_core.datasets.own.tables import check_column
from dpmc_core.datasets.samples import Places
from dpmc_core.datasets.text import word_pattern
from dpmc_core.errors import DataError
from dpmc_core.paths import text_lines
from dpmc_core.wording import counted, printable

if TYPE_CHECKING:
    import pandas as pd

MOST_DOCUMENTS, MOST_CHARACTERS = 100_000, 100_000_000
PARTS = {
    "lines": "each line",
    "paragraphs": "each paragraph (an empty line between)",
    "file": "the whole file",
}
_CONTROLS = re.compile("[\\0-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f]")  # but for blanks
_LABELS = ("label", "class", "category", "topic", "group")


@dataclass(frozen=True, kw_only=True)
class DocumentsReading:
    """How text is read: ``part`` of a text file that is one document (of an archive: always each
    file), or the columns ``text`` and ``label`` ("": none) of a table.
    """

    part: str = "lines"
    text: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        check_choices(self, part=PARTS)


@dataclass(frozen=True, kw_only=True, eq=False)
class Documents:
    """Documents as they were found, with the classes that they came with, if any, and their
    places: others held nothing. A label is "" where the file has none.
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    places: Places


def guess_documents(file: str, data: bytes) -> tuple[DocumentsReading, Table | None]:
    """How ``data`` is probably meant, and its table if it is one."""
    if is_archive(file, data):
        return DocumentsReading(part="file"), None
    if not file.lower().endswith((".csv", ".tsv", ".parquet")):
        lines = text_lines(_text(file, data))
        blank = sum(not line.strip() for line in lines)
        return DocumentsReading(
            part="paragraphs" if 0.05 < blank / max(len(lines), 1) < 0.95 else "lines"
        ), None
    table = open_table(file, data)
    frame = table.frame
    # letters, not signs: a time is long and tells nothing
    lengths = {
        c: frame[c].head(500).astype(str).str.count(r"[^\W\d_]").mean() for c in frame.columns
    }
    longest = max(lengths, key=lengths.__getitem__)
    label = next((c for c in lengths if c.lower().startswith(_LABELS) and c != longest), "")
    return DocumentsReading(text=longest, label=label), table


def documents_of(
    file: str, data: bytes, reading: DocumentsReading, frame: pd.DataFrame | None
) -> Documents:
    """The documents in ``data`` (or in its table ``frame``).

    Raises ``DataError`` where fewer than five hold anything, or there are more than 100,000 of them
    or 100 million characters; ``ParameterError`` for a column that is not there.
    """
    import pandas as pd

    labels: list[str] = []
    if is_archive(file, data):
        texts = []
        for name, content in members(file, data, (".txt",)):
            texts.append(_text(name, content))
            labels.append(folder_of(name))
        labels = labels if len(set(labels)) > 1 else []
    elif frame is not None:
        for what, column in (("text", reading.text), ("label", reading.label)):
            if column or what == "text":
                check_column(frame, what, column)
        texts = ["" if pd.isna(x) else str(x) for x in frame[reading.text]]
        if reading.label:
            labels = ["" if pd.isna(x) else str(x).strip() for x in frame[reading.label]]
    else:
        texts = _parts(_text(file, data), reading.part)
    filled = [k for k, text in enumerate(texts) if text.strip()]
    places = Places(np.array(filled), len(texts))
    blank = len(texts) - len(filled)
    texts = [texts[k] for k in filled]
    phrase = counted(blank, "empty document is", "empty documents are")
    notes = [f"{phrase} left out."] if blank else []
    named = filled if any(labels) else []
    labels = [printable(unicodedata.normalize("NFC", labels[k])) for k in named]
    unlabelled = labels.count("")
    if unlabelled:
        notes.append(f"{counted(unlabelled, 'document has', 'documents have')} no class.")
    if len(filled) < 5:
        raise DataError(
            f"{file} holds {len(filled)} documents as read ({PARTS[reading.part]} is one); at "
            "least 5 are needed."
        )
    word = re.compile(word_pattern())
    if not any(map(word.search, texts)):
        hint = f"; is {reading.text!r} the column with the texts?" if frame is not None else ""
        raise DataError(f"{file}: no document holds a word of three letters{hint}")
    if len(filled) > MOST_DOCUMENTS or sum(map(len, texts)) > MOST_CHARACTERS:
        raise DataError(
            f"{file} holds {len(filled):,} documents; at most {MOST_DOCUMENTS:,}, with "
            f"{MOST_CHARACTERS // 1_000_000} million characters in all, are allowed."
        )
    return Documents(texts=tuple(texts), labels=tuple(labels), notes=tuple(notes), places=places)


def _text(file: str, data: bytes) -> str:
    """The text in ``data``; raises ``DataError`` for what is none."""
    text = decoded(file, data)
    controls = len(_CONTROLS.findall(text))
    if "\0" in text or 50 * controls > max(len(text), 100):  # a few are in archives of news
        raise DataError(f"{file} is no text; TXT, CSV or a zip archive of TXT files is allowed.")
    return text


def _parts(text: str, part: str) -> list[str]:
    if part == "file":
        return [text]
    lines = text_lines(text)
    if part == "lines":
        return lines
    return re.split(r"\n\s*\n", "\n".join(lines).strip())
