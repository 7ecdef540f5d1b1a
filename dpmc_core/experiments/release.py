"""The released part of a finished run as files, and new users who are fitted to it.

Provides ``release_files`` (a folder or an archive of them), ``read_release``, and the
``ReleasedModel`` of a completion. The files hold item factors or parts, names of items or words,
the ledger, the statement and checksums of these. They hold no user's vector, no error on held-out
data, no dataset's name and no seed: noise that can be repeated can be subtracted by its seed.

A new user's vector follows from released numbers and that user's own ratings, without noise: it is
the joint differential privacy of Kearns et al. 2014 (dpals-paper section 2.3). It costs the users
of the run nothing, and post-processing keeps their ε.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion import FactorModel
from dpmc_core.completion.common.population import Learned, MemoryGroup
from dpmc_core.completion.dpals.solver import LearnedItems
from dpmc_core.completion.offsets import Profile
from dpmc_core.datasets.own.sets import guess
from dpmc_core.datasets.own.tables import ratings_of
from dpmc_core.datasets.ratings import Ratings, places_of
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments.algorithms import of_task
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.factorize import FactorResult
from dpmc_core.experiments.tasks.rate import RunResult
from dpmc_core.metrics import top_items
from dpmc_core.paths import read_file, reason, whole_file
from dpmc_core.wording import counted

VERSION = 1
ABOUT = "release.json"
FILES = ("numbers.npz", "names.json", "ledger.json", "statement.txt")
_LARGEST = 2_000_000_000  # bytes of a file
_USERS_AT_ONCE = 256


def prepare_folder(folder: Path, spec: RunSpec) -> None:
    """Make the ``folder`` before the run. Raises ``ParameterError``: for one that holds something
    or cannot be made, and for a run whose users are not fitted to items alone.
    """
    if spec.task != "factorize" and (spec.task != "rate" or spec.card.learn is None):
        names = ", ".join(name for name, card in of_task("rate").items() if card.learn)
        allowed = f"left out unless ratings are predicted (task rate) by one of {names}"
        raise ParameterError("out", str(folder), allowed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        problem = "it holds files" * any(folder.iterdir())
    except OSError as error:
        problem = reason(error)
    if problem:
        raise ParameterError("out", str(folder), f"a new or an empty folder ({problem})")


def release_files(result: RunResult | FactorResult) -> dict[str, bytes]:
    """Return the content of each file of a finished run by its name."""
    numbers: dict[str, Any]
    if isinstance(result, FactorResult):
        clean = result.clean
        numbers, names = {"dictionary": result.dictionary}, list(clean.words)
        if clean.shape is not None:
            numbers["shape"] = clean.shape
    else:
        train = result.split.train
        numbers = {**result.released, "low": train.low, "high": train.high}
        # whole: ``item_label`` cuts them
        names = list(train.item_labels or map(train.item_label, range(train.n_items)))
    buffer = io.BytesIO()
    np.savez(buffer, **numbers)
    texts = [json.dumps(one, indent=1) for one in (names, result.ledger.as_dict())]
    texts.append("\n".join(result.statement.lines))
    contents = (buffer.getvalue(), *(text.encode() for text in texts))
    files = dict(zip(FILES, contents, strict=True))
    spec = result.spec.as_dict()  # without its data and seed
    about = {"version": VERSION, **{name: spec[name] for name in ("task", "algorithm", "noise")}}
    about["sha256"] = {name: _digest(content) for name, content in files.items()}
    return {**files, ABOUT: json.dumps(about, indent=1).encode()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive(result: RunResult | FactorResult) -> bytes:
    """Return the files of a finished run as a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as whole:
        for name, content in release_files(result).items():
            whole.writestr(name, content)
    return buffer.getvalue()


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files, each whole or not at all, the checksums last. Raises ``DataError``."""
    try:
        for name, content in files.items():
            with whole_file(folder / name) as file:
                file.write(content)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({reason(error)}).") from None


@dataclass(frozen=True, eq=False)
class ReleasedModel:
    """What a completion released: the fit of ``learned`` numbers, on which each new user is fitted
    alone, ``items`` by their names, and the ends of the rating scale.
    """

    learned: Learned
    items: tuple[str, ...]
    low: float
    high: float

    def fit(self, ratings: Ratings) -> FactorModel:
        """Return new users' vectors with all items; users without ratings get the fit's average."""
        return self.learned.model(MemoryGroup(ratings))

    def read(self, file: str, data: bytes, **choices: Any) -> tuple[Ratings, tuple[str, ...]]:
        """Return new users' ratings of the released items, matched by name (of equal ones the
        last), and notes on what was left out. ``choices`` are fields of ``RatingsReading``. Raises
        ``DataError`` and ``ParameterError`` as ``own.read`` does, yet for no number of ratings
        above 0.
        """
        choices |= {"low": self.low, "high": self.high}  # the model's own scale
        reading, _, table = guess("ratings", file, data, choices)
        given, notes = ratings_of(file, table.frame, reading, file, fewest=1)  # type: ignore
        places = places_of(given.item_labels, self.items)
        n_unknown = int((places < 0).sum())
        if n_unknown:
            text = counted(n_unknown, "item is", "items are")
            first = given.item_label(int(np.argmin(places)))
            notes = (*notes, f"{text} not in the release and left out (the first: {first!r}).")
        return given.renumbered(places, len(self.items)), notes

    def recommend(self, ratings: Ratings, count: int) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """Yield each user with the best ``count`` items that they have not rated, best first, and
        predictions of these moved into the scale.
        """
        model, rated = self.fit(ratings), ratings.table(np.ones(len(ratings)))
        for start in range(0, ratings.n_users, _USERS_AT_ONCE):
            block = model.block(slice(start, start + _USERS_AT_ONCE))
            for user, scores in enumerate(block, start):
                own = rated.indices[rated.indptr[user] : rated.indptr[user + 1]]
                items = top_items(scores, own, count)
                yield user, items, np.clip(scores[items], self.low, self.high)


def read_release(folder: Path) -> ReleasedModel:
    """Return the model in a ``folder`` of a completion.

    Raises ``ParameterError`` for one of another version or of a factorisation, and ``DataError``
    for a file that is missing or not as it was written.
    """
    name = ABOUT
    try:
        about = json.loads(read_file(folder / ABOUT, _LARGEST))
        if about["version"] != VERSION:
            allowed = f"{VERSION}, the only version this release reads"
            raise ParameterError("version", about["version"], allowed)
        contents = {name: read_file(folder / name, _LARGEST) for name in FILES}
        for name, content in contents.items():
            if _digest(content) != about["sha256"][name]:
                raise ValueError(name)
        with np.load(io.BytesIO(contents[FILES[0]]), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "dictionary" in arrays:
            raise ParameterError("folder", str(folder), "that of a completion, which has users")
        numbers = {name: one if one.ndim else one.item() for name, one in arrays.items()}
        low, high = numbers.pop("low"), numbers.pop("high")
        dpals = "frequent" in numbers
        learned = LearnedItems.of_released(**numbers) if dpals else Profile(**numbers)
        return ReleasedModel(learned, tuple(json.loads(contents[FILES[1]])), low, high)
    except DPMCError:
        raise
    except (LookupError, TypeError, ValueError, zipfile.BadZipFile):
        message = f"{folder / name} is not as it was written: take the whole folder again."
        raise DataError(message) from None
