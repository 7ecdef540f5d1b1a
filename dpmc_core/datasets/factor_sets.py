"""Images and documents by name, read from the catalogue's files.

Face sets become images N × height × width, and labels; folders and tables of words become
documents.

"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dpmc_core.datasets.catalogue import Entry, entry
from dpmc_core.datasets.loaders import old_text, read_variables, reading, require
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_counts, samples_of_texts
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.paths import text_lines

Faces = tuple[np.ndarray, tuple[str, ...]]


def _lfw(record: Entry) -> Faces:
    """The first 100 of scikit-image's 200 patches are faces, 25×25, values 0 to 1."""
    return np.load(record.file, allow_pickle=False)[:100], ()


def _olivetti(record: Entry) -> Faces:
    """400 faces of 40 people, stored 4096×400 in MATLAB's column order.

    Ten of each person, one after the other.
    """
    (faces,) = read_variables(record.file, ("faces",))
    stack = _columns(faces.T, 64, record)
    return stack, tuple(f"person {k // 10 + 1}" for k in range(len(stack)))


def _cbcl(record: Entry) -> Faces:
    """The file holds a negative.

    Pixel (0..255) = 256 − 256·M, images 19×19 in column order.
    """
    (table,) = read_variables(record.file, ("M",))
    return _columns(1.0 - np.asarray(table, dtype=np.float64).T, 19, record), ()


def _yaleb(record: Entry) -> Faces:
    """2,414 faces of 38 people under different light, 32×32 in column order, values 0 to 255."""
    table, people = read_variables(record.file, ("fea", "gnd"))
    return _columns(table, 32, record), tuple(f"person {int(k)}" for k in np.ravel(people))


def _columns(table: object, side: int, record: Entry) -> np.ndarray:
    """Images from a ``table`` with one a row, its pixels column by column."""
    rows = np.asarray(table)
    if rows.ndim != 2 or rows.shape[1] != side * side or rows.dtype.kind not in "uif":
        raise DataError(
            f"{record.title}: {record.files[0]} must hold one image of {side}×{side} numbers a "
            f"row; it has shape {rows.shape}."
        )
    return rows.reshape(-1, side, side).transpose(0, 2, 1)


IMAGE_READERS = {"lfw": _lfw, "olivetti": _olivetti, "cbcl": _cbcl, "yaleb": _yaleb}


def load_samples(
    name: str, *, chosen: TextFilter | None = None, term_share: float = 1.0, seed: int = 0
) -> Samples:
    """The images or documents called ``name``.

    ``chosen`` filters the words of text; ``term_share`` (and ``seed``) draws terms of the sets
    without words, ``seed`` the titles of UCI News. Raises ``ParameterError`` for an unknown name,
    ``DatasetMissingError`` when its files are not here, ``DataError`` when they are damaged or the
    filter leaves nothing.
    """
    record = entry(name, "images", "documents")
    if record.synthetic:
        raise ParameterError("dataset", name, "a dataset with files; synthetic sets are generated")
    require(record)
    filtered = chosen or TextFilter()
    with reading(record):
        if record.holds == "images":
            stack, people = IMAGE_READERS[record.format](record)
            samples = Samples.of_images(stack, name=record.title, labels=people)
        elif record.format == "cai-counts":
            samples = _cai(record, filtered, term_share, seed)
        else:
            texts, labels = _TEXT_READERS[record.format](record, seed)
            samples = samples_of_texts(texts, name=record.title, chosen=filtered, labels=labels)
    if record.holds == "images" and record.samples and len(samples) != record.samples:
        raise DataError(
            f"{record.title}: {len(samples):,} images were read where {record.samples:,} are "
            "expected; the file is of another version."
        )
    return samples


Texts = tuple[list[str], tuple[str, ...]]  # and their labels, if any


def _one_a_line(record: Entry, _: int) -> Texts:
    lines = text_lines(record.file.read_text(encoding="utf-8"))
    return [line for line in lines if line.strip()], ()


def _bbc(record: Entry, _: int) -> Texts:
    """A folder per class, a file per article; some are not valid UTF-8, read as Latin-1."""
    return _folders(record.path(), "*.txt")


def _newsgroups(record: Entry, _: int) -> Texts:
    """Headers, which name the group, are cut; quoted replies and signatures stay."""
    texts, labels = _folders(record.path() / "20news-bydate-train", "*")
    return [text.partition("\n\n")[2] for text in texts], labels


def _folders(root: Path, pattern: str) -> Texts:
    texts, labels = [], []
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        for file in sorted(folder.glob(pattern)):
            texts.append(old_text(file))
            labels.append(folder.name)
    return texts, tuple(labels)


UCI_CLASSES = {"b": "business", "e": "entertainment", "t": "science and technology", "m": "health"}
_PER_CLASS = 750


def _uci(record: Entry, seed: int) -> Texts:
    """750 titles of each of the four classes, drawn by ``seed`` (nmf-paper section 4.2)."""
    import pandas as pd

    frame = pd.read_csv(record.file, sep="\t", header=None, usecols=[1, 4], quoting=3)
    frame.columns = ["title", "category"]
    rng = np.random.default_rng([seed, 0x0C1])
    rows = []
    for letter in UCI_CLASSES:
        members = np.flatnonzero((frame["category"] == letter).to_numpy())
        if members.size < _PER_CLASS:
            raise DataError(
                f"{record.title}: class {letter!r} has {members.size:,} titles where at least "
                f"{_PER_CLASS} are needed."
            )
        rows.append(np.sort(rng.choice(members, _PER_CLASS, replace=False)))
    picked = frame.iloc[np.concatenate(rows)]
    labels = tuple(UCI_CLASSES[str(c)] for c in picked["category"])
    return [str(title) for title in picked["title"]], labels


def _cai(record: Entry, chosen: TextFilter, share: float, seed: int) -> Samples:
    """Counts without words, N×D as ``fea``, classes as ``gnd``.

    A ``share`` of the terms drawn by ``seed``, as the paper draws a tenth.
    """
    fea, classes = read_variables(record.file, ("fea", "gnd"))
    table: Any = fea
    if not sparse.issparse(fea):
        raise DataError(
            f"{record.title}: fea must be a sparse matrix of counts, documents as rows."
        )
    counts = sparse.csc_array(table.T.astype(np.float64))
    terms = np.arange(counts.shape[0])
    if share < 1:
        rng = np.random.default_rng([seed, 0xCA1])
        terms = np.sort(rng.choice(terms, max(1, round(share * terms.size)), replace=False))
        counts = sparse.csc_array(counts[terms])
    return samples_of_counts(
        counts,
        tuple(f"term {k + 1}" for k in terms),
        name=record.title,
        chosen=chosen,
        labels=tuple(f"topic {int(k)}" for k in np.ravel(classes)),
        public_words=chosen.word_list == "published",
        notes=("This file names no words: terms are shown by number.",),
    )


_TEXT_READERS = {
    "lee": _one_a_line,
    "bbc": _bbc,
    "uci-news": _uci,
    "guardian": _one_a_line,
    "20newsgroups": _newsgroups,
}
