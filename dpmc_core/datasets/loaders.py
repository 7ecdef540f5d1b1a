"""Reading the ratings files of the catalogue.

One reader per file format, from a folder to checked ``Ratings``, and the published u1 split.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.io import loadmat

from dpmc_core.datasets.catalogue import Entry, entry
from dpmc_core.datasets.ratings import FACTS, PUBLISHED, ItemFeatures, Ratings, Split
from dpmc_core.errors import DataError, DatasetMissingError, ParameterError
from dpmc_core.paths import reason, text_lines


def refuse_pickle(path: Path) -> None:
    """Raise ``DataError`` if the file looks like a Python pickle.

    Reading one runs whatever it says, so none is ever read.
    """
    with path.open("rb") as file:
        start = file.read(2)
    if start[:1] == b"\x80" or path.suffix.lower() in (".pkl", ".pickle", ".joblib"):
        raise DataError(
            f"{path.name} is a Python pickle, which can run any program when it is opened; it "
            "was not read. Save the data as .mat, .npy or text."
        )


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

    Raises ``DataError`` for a pickle, a file that is no MATLAB file (or version 7.3, which is
    HDF5), or one without the variables.
    """
    refuse_pickle(path)
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


if TYPE_CHECKING:
    import pandas as pd

ZEROS = ("missing", "rating")
_GENRES_100K = (  # of u.item, in the order of u.genre
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance"),
    *("Sci-Fi", "Thriller", "War", "Western"),
)


def load(name: str, zeros: str = "missing") -> Ratings:
    """The ratings of a file-based dataset.

    ``zeros`` matters for SweetRS only: "missing" drops the 0s (default, as its authors do),
    "rating" keeps them as the lowest rating of a 0–5 scale. Raises ``DatasetMissingError`` when its
    files are not here, ``DataError`` when they are damaged or of another size than the catalogue
    says, ``ParameterError`` for an unknown name.
    """
    if zeros not in ZEROS:
        raise ParameterError("zeros", zeros, "one of " + ", ".join(ZEROS))
    record = entry(name, "ratings")
    if record.synthetic:
        raise ParameterError("dataset", name, "a dataset with files; synthetic sets are generated")
    require(record)
    with reading(record):
        if "zeros" in record.options:
            ratings = _sweetrs(record, zeros)
        else:
            ratings = _READERS[record.format](record)
    expected = record.ratings
    if "zeros" not in record.options and len(ratings) != expected:
        raise DataError(
            f"{record.title}: {len(ratings):,} ratings were read where {expected:,} are "
            f"expected; the file in {record.place} is cut short or of another version. Fetch the "
            "dataset again."
        )
    return replace(ratings, public=dict.fromkeys(FACTS, PUBLISHED))


def published_split(name: str) -> Split:
    """The u1 split that MovieLens 100K ships: 80,000 training and 20,000 held-out ratings."""
    if "split" not in entry(name).options:
        raise ParameterError(
            "split", "u1", "random for every dataset but ml-100k, which alone ships a u1 split"
        )
    record = entry(name)
    whole = load(name)
    parts = []
    for file in ("u1.base", "u1.test"):
        path = record.path() / file
        if not path.is_file():
            raise DatasetMissingError(
                f"{record.title}: {file} is not in {record.place}; fetch the dataset again."
            )
        with reading(record):
            rows = _table(path, sep="\t").to_numpy(dtype=np.int64)
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
def reading(record: Entry) -> Iterator[None]:
    """Turn whatever a damaged file is met with into ``DataError``."""
    try:
        yield
    except (DataError, DatasetMissingError):
        raise
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{record.title}: a file in {record.place} cannot be read ({reason(error)}); it is "
            "damaged or of another version. Fetch the dataset again."
        ) from error


def _table(path: Path, sep: str, columns: tuple[int, int, int] = (0, 1, 2)) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_csv(path, sep=sep, header=None, usecols=list(columns), engine="c")
    frame.columns = ["user", "item", "value"]
    if frame.isna().to_numpy().any():
        line = int(frame.isna().any(axis=1).to_numpy().argmax()) + 1
        raise DataError(
            f"{path.name}: line {line} is incomplete; the file is cut short. Fetch the dataset "
            "again."
        )
    return frame


def _ratings(
    record: Entry, frame: pd.DataFrame, titles: dict[int, str], genres: dict[int, str]
) -> Ratings:
    """Renumber users and items from 0 without gaps, in order of their ids.

    ``genres`` of a film are in one text with | between; each is a feature of 0 or 1.
    """
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
    rows = _table(record.file, sep="\t")
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
    """ML-1M and ML-10M: user::item::rating::time.

    Read with ':' as separator, which leaves empty columns between.
    """
    frame = _table(record.file, sep=":", columns=(0, 2, 4))
    titles, genres = {}, {}
    films = record.path() / "movies.dat"
    if films.is_file():
        for line in text_lines(old_text(films)):  # ML-1M is in Latin-1
            number, title, *rest = line.split("::")
            titles[int(number)] = title
            genres[int(number)] = rest[0].strip() if rest else ""
    return _ratings(record, frame, titles, genres)


def old_text(path: Path) -> str:
    """The text of a file: UTF-8, or Latin-1 where it is not valid."""
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _ml_20m(record: Entry) -> Ratings:
    import pandas as pd

    frame = pd.read_csv(record.file, usecols=["userId", "movieId", "rating"])
    frame.columns = ["user", "item", "value"]
    titles, genres = {}, {}
    films = record.path() / "movies.csv"
    if films.is_file():
        movies = pd.read_csv(films, keep_default_na=False)  # a film may be called "NA"
        titles = dict(zip(movies["movieId"], movies["title"], strict=True))
        if "genres" in movies:
            genres = dict(zip(movies["movieId"], movies["genres"], strict=True))
    return _ratings(record, frame, titles, genres)


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
    keep = ~pd.DataFrame({"u": users, "i": items}).duplicated(keep="last").to_numpy()
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
        item_labels=tuple(str(p) for p in products),
    )


_READERS = {
    "movielens-tab": _ml_100k,
    "movielens-colons": _ml_double_colon,
    "movielens-csv": _ml_20m,
}
