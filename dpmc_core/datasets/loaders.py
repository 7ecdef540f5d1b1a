"""Reading the files of the catalogue.

One reader per file format: from a folder to checked ``Ratings``, and the published u1 split; face
sets to images N × height × width, and labels; folders and tables of words to documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from dpmc_core.datasets.catalogue import Entry, entry
from dpmc_core.datasets.ratings import FACTS, PUBLISHED, ItemFeatures, Ratings, Split
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_counts, samples_of_texts
from dpmc_core.errors import DataError, DatasetMissingError, ParameterError, check_choice
from dpmc_core.paths import reason, text_lines

if TYPE_CHECKING:
    import pandas as pd


def read_matlab(file: str, read: Any) -> Any:
    """What ``read`` finds in a MATLAB file. Raises ``DataError``."""
    try:
        return read()
    except NotImplementedError:
        raise DataError(
            f"{file} is a MATLAB 7.3 file; save it with version 7 (save -v7)."
        ) from None
    except MemoryError:
        raise DataError(
            f"{file} would unpack to more than fits; a smaller file is allowed."
        ) from None
    except Exception as error:  # noqa: BLE001
        # SciPy's reader meets a damaged file with whatever comes
        raise DataError(
            f"{file} cannot be read as a MATLAB file ({type(error).__name__})."
        ) from None


def read_variables(path: Path, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The variables called ``names`` of a ``.mat`` file (version 5 to 7.2), in that order.

    Raises ``DataError`` for a pickle (reading one runs whatever it says, so none is ever read), a
    file that is no MATLAB file (or version 7.3, which is HDF5), or one without the variables.
    """
    with path.open("rb") as file:
        pickled = file.read(1) == b"\x80"
    if pickled or path.suffix.lower() in (".pkl", ".pickle", ".joblib"):
        raise DataError(
            f"{path.name} is a Python pickle, which can run any program when it is opened; it "
            "was not read. Save the data as .mat, .npy or text."
        )
    # sparse arrays; SciPy 1.18 warns where this is left out
    held = read_matlab(path.name, lambda: loadmat(path, spmatrix=False))
    missing = [name for name in names if name not in held]
    if missing:
        there = ", ".join(sorted(name for name in held if not name.startswith("__"))) or "none"
        raise DataError(
            f"{path.name} holds no variable {missing[0]!r}; it must hold {', '.join(names)}, "
            f"and its variables are: {there}."
        )
    return tuple(held[name] for name in names)


ZEROS = ("missing", "rating")
# of u.item, in the order of u.genre
_GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)  # fmt: skip


def load(name: str, zeros: str = "missing") -> Ratings:
    """The ratings of a file-based dataset.

    ``zeros`` matters for SweetRS only: "missing" drops the 0s (default, as its authors do),
    "rating" keeps them as the lowest rating of a 0–5 scale. Raises ``DatasetMissingError`` when its
    files are not here, ``DataError`` when they are damaged or of another size than the catalogue
    says, ``ParameterError`` for an unknown name.
    """
    check_choice("zeros", zeros, ZEROS)
    with opened(name, "ratings") as record:
        if "zeros" in record.options:
            ratings = _sweetrs(record, zeros)
        else:
            ratings = _READERS[record.format](record)
            if len(ratings) != record.ratings:
                raise DataError(
                    f"{record.title}: {len(ratings):,} ratings were read where {record.ratings:,} "
                    f"are expected; the file in {record.place} is cut short or of another version. "
                    "Fetch the dataset again."
                )
    return replace(ratings, public=dict.fromkeys(FACTS, PUBLISHED))


def published_split(name: str) -> Split:
    """The u1 split that MovieLens 100K ships: 80,000 training and 20,000 held-out ratings."""
    record = entry(name)
    if "split" not in record.options:
        raise ParameterError(
            "split", "u1", "random for every dataset but ml-100k, which alone ships a u1 split"
        )
    whole, parts = load(name), []
    for file in ("u1.base", "u1.test"):
        with opened(name):
            rows = _table(record.path() / file, record.format).to_numpy(dtype=np.int64)
        users, items = (rows[:, k].astype(np.int32) - 1 for k in (0, 1))
        parts.append(replace(whole, users=users, items=items, values=rows[:, 2].astype(np.float64)))
    cells = [part.users.astype(np.int64) * part.n_items + part.items for part in (*parts, whole)]
    if not np.array_equal(np.sort(np.concatenate(cells[:2])), np.sort(cells[2])):
        raise DataError(
            f"{record.title}: u1.base and u1.test hold {len(parts[0]):,} and {len(parts[1]):,} "
            "ratings, which are not those of u.data; the files are cut short or of another "
            "version. Fetch the dataset again."
        )
    return Split(parts[0], parts[1], "published u1 split of MovieLens 100K")


def latest_split(name: str, fraction: float) -> Split:
    """Hold out the latest ``fraction`` of the ratings, and those given in the same second as the
    first of them.

    Raises ``ParameterError`` for a set without times, ``DataError`` where all are of one second.
    """
    import pandas as pd

    record, whole = entry(name), load(name)
    if not {"split", "times"} & {*record.options}:
        raise ParameterError("split", "latest", "random or leave-k-out: this set has no times")
    with opened(name):
        options, columns = _COLUMNS[record.format]
        frame = pd.read_csv(record.file, usecols=columns[3:], **options)
        times = frame.iloc[:, 0].to_numpy(np.int64)
        first = np.sort(times)[-max(1, int(len(times) * fraction))]
        late = times >= first
        train, test = whole.take(~late), whole.take(late)
    if not len(train):
        raise DataError(f"{record.title}: all ratings have one time in its file; none is later.")
    unseen = np.count_nonzero(train.per_user[test.users] == 0)
    day = np.datetime64(int(first), "s").astype("datetime64[D]")
    share, new = len(test) / len(whole), unseen / len(test)
    how = f"latest {share:.0%}, from {day} on; {new:.0%} of them of users with no earlier one"
    return Split(train, test, how)


def require(record: Entry) -> None:
    """Raise ``DatasetMissingError``, saying how to get it, unless the set is on this machine."""
    if record.present():
        return
    if record.kind == "bundled":
        raise DatasetMissingError(
            f"{record.title} ships with the package {record.package}, which is not installed; run "
            "'make run' again."
        )
    if not record.fetchable:
        raise DatasetMissingError(
            f"{record.title} is not on this machine. Get it from {record.page} and put "
            f"{record.files[0]} into {record.place}, or use a set that ships with the app."
        )
    raise DatasetMissingError(
        f"{record.title} is not on this machine (looked in {record.place}). Fetch it on the "
        f"Datasets page or with 'python -m dpmc_core datasets fetch {record.name}', or use a "
        "synthetic set, which needs no network."
    )


@contextmanager
def opened(name: str, *holds: str) -> Iterator[Entry]:
    """The dataset ``name``, which must hold one of ``holds``, to be read.

    Turns whatever a damaged file is met with into ``DataError``. Raises ``DatasetMissingError``
    where its files are not here, ``ParameterError`` for an unknown or a synthetic set.
    """
    record = entry(name, *holds)
    if record.synthetic:
        raise ParameterError("dataset", name, "a dataset with files; synthetic sets are generated")
    require(record)
    try:
        yield record
    except (DataError, DatasetMissingError):
        raise
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{record.title}: a file in {record.place} cannot be read ({reason(error)}); it is "
            "damaged or of another version. Fetch the dataset again."
        ) from error


# how a format is read, and its columns: user, item, rating, time in seconds since 1970
_COLUMNS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "movielens-tab": ({"sep": "\t", "header": None}, [0, 1, 2, 3]),
    # "::" between cells leaves empty columns between
    "movielens-colons": ({"sep": ":", "header": None}, [0, 2, 4, 6]),
    "movielens-csv": ({}, ["userId", "movieId", "rating", "timestamp"]),
}


def _table(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    options, columns = _COLUMNS[kind]
    frame = pd.read_csv(path, usecols=columns[:3], **options)
    frame.columns = ["user", "item", "value"]
    for row in np.flatnonzero(frame.isna().any(axis=1)):
        raise DataError(
            f"{path.name}: line {row + 1} is incomplete; the file is cut short. Fetch the dataset "
            "again."
        )
    return frame


def _ratings(record: Entry, titles: dict[int, str], genres: dict[int, str]) -> Ratings:
    """The ratings, with users and items renumbered from 0 without gaps, in order of their ids.

    ``genres`` of a film are in one text with | between; each is a feature of 0 or 1.
    """
    frame = _table(record.file, record.format)
    _, users = np.unique(frame["user"].to_numpy(), return_inverse=True)
    item_ids, items = np.unique(frame["item"].to_numpy(), return_inverse=True)
    low, high = record.scale
    return Ratings.checked(
        users,
        items,
        frame["value"].to_numpy(dtype=np.float64),
        low=low,
        high=high,
        name=record.title,
        item_labels=tuple(titles.get(int(k), f"item {k}") for k in item_ids) if titles else (),
        item_features=_flags([genres.get(int(k), "") for k in item_ids], record),
    )


def _flags(listed: list[str], record: Entry) -> ItemFeatures | None:
    """A feature of 0 or 1 for each genre of texts with | between; None where there is none."""
    each = [set(text.split("|")) - {"", "(no genres listed)"} for text in listed]
    names = sorted(set().union(*each))
    if not names:
        return None
    flags = [[float(name in has) for name in names] for has in each]
    return ItemFeatures.checked(names, flags, len(listed), f"{record.title}, genres")


def _ml_100k(record: Entry) -> Ratings:
    rows = _table(record.file, record.format)
    titles: tuple[str, ...] = ()
    features = None
    films = record.path() / "u.item"
    if films.is_file():
        lines = text_lines(films.read_text(encoding="latin-1"))
        cells = [line.split("|") for line in lines if line]
        titles = tuple(row[1] for row in cells)
        flags = [row[-len(_GENRES_100K) :] for row in cells]
        features = ItemFeatures.checked(
            _GENRES_100K, flags, record.items, f"{record.title}, u.item"
        )
    return Ratings.checked(
        rows["user"].to_numpy() - 1,
        rows["item"].to_numpy() - 1,
        rows["value"].to_numpy(),
        n_users=record.users,
        n_items=record.items,
        low=record.scale[0],
        high=record.scale[1],
        name=record.title,
        item_labels=titles,
        item_features=features,
    )


def _ml_double_colon(record: Entry) -> Ratings:
    """ML-1M and ML-10M: user::item::rating::time."""
    titles, genres = {}, {}
    films = record.path() / "movies.dat"
    if films.is_file():
        for line in text_lines(old_text(films)):  # ML-1M is in Latin-1
            number, title, *rest = line.split("::")
            titles[int(number)] = title
            genres[int(number)] = rest[0].strip() if rest else ""
    return _ratings(record, titles, genres)


def old_text(path: Path) -> str:
    """The text of a file: UTF-8, or Latin-1 where it is not valid."""
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _ml_20m(record: Entry) -> Ratings:
    import pandas as pd

    titles, genres = {}, {}
    films = record.path() / "movies.csv"
    if films.is_file():
        movies = pd.read_csv(films, keep_default_na=False)  # a film may be called "NA"
        titles = dict(zip(movies["movieId"], movies["title"], strict=True))
        if "genres" in movies:
            genres = dict(zip(movies["movieId"], movies["genres"], strict=True))
    return _ratings(record, titles, genres)


def _sweetrs(record: Entry, zeros: str) -> Ratings:
    """Users and products are numbered from the whole file, so both readings of 0 give one matrix
    shape. A pair that occurs twice (50 do) counts once, with its later row.
    """
    import pandas as pd

    frame = pd.read_csv(record.file)
    if len(frame) != record.ratings:
        raise DataError(
            f"{record.title}: {len(frame):,} rows were read where {record.ratings:,} are "
            "expected; fetch the dataset again."
        )
    _, users = np.unique(frame["user"].to_numpy(), return_inverse=True)
    products, items = np.unique(frame["product"].to_numpy(dtype=str), return_inverse=True)
    values = frame["value"].to_numpy(dtype=np.float64)
    keep = ~frame.duplicated(["user", "product"], keep="last").to_numpy()
    if zeros == "missing":
        keep &= values > 0
    return Ratings.checked(
        users[keep],
        items[keep],
        values[keep],
        n_users=record.users,
        n_items=record.items,
        low=1.0 if zeros == "missing" else 0.0,
        high=5.0,
        name=f"{record.title} (0 as {'missing' if zeros == 'missing' else 'a rating'})",
        item_labels=tuple(map(str, products)),
    )


_READERS = {
    "movielens-tab": _ml_100k,
    "movielens-colons": _ml_double_colon,
    "movielens-csv": _ml_20m,
}


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
    chosen = chosen or TextFilter()
    with opened(name, "images", "documents") as record:
        if record.holds == "images":
            stack, people = IMAGE_READERS[record.format](record)
            samples = Samples.of_images(stack, name=record.title, labels=people)
            if record.samples and len(samples) != record.samples:
                raise DataError(
                    f"{record.title}: {len(samples):,} images were read where {record.samples:,} "
                    "are expected; the file is of another version."
                )
        elif record.format == "cai-counts":
            samples = _cai(record, chosen, term_share, seed)
        else:
            texts, labels = _TEXT_READERS[record.format](record, seed)
            samples = samples_of_texts(texts, name=record.title, chosen=chosen, labels=labels)
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
