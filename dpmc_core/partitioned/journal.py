"""A run's folder: what was released is kept there before anybody reads it.

Provides ``RunFolder``. A run that was stopped, at whatever point, goes on from what is kept: a
release that is there is never drawn again, one that is not there was read by nobody. One process
at a time may go on with a folder. How a repeatable generator was left is kept apart from what was
released: from it the noise can be worked out.
"""

import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms.secret import is_secret
from dpmc_core.paths import whole_file
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import Ledger, Release

# what may be there before a run is: its lock, and copies of what it reads
_OURS = ("lock", "copies", "ledger.json")


class FolderError(DPMCError):
    """A run's folder cannot be used; the message says why and what to do."""


class RunFolder(Journal):
    """The folder ``place`` of the run that ``about`` describes, made where there is none; a
    ``privacy.budget.Journal``. Used as a context manager.

    Raises ``FolderError`` where another run is in it, another process goes on with it, or nothing
    can be written.
    """

    def __init__(self, place: Path, about: dict[str, Any]) -> None:
        self.place = place
        self._about = about
        self._lock: Any = None
        self._count = 0
        self._ledger = Ledger()
        self._files: list[str] = []
        self._listed: list[str] = []  # those that ``ledger.json`` tells of

    def __enter__(self) -> "RunFolder":
        try:
            self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (self.place / "run.json").exists():
                self._refuse_other_files()  # before anything in it is touched
                self.place.chmod(0o700)  # users' own rows will be in it
            self._lock = open(self.place / "lock", "ab")
            _lock(self._lock, self.place)
            for part in (*self.place.glob(".part-*"), *self.place.glob("released/.part-*")):
                part.unlink()  # of a process that ended while it wrote: nobody has read it
            self._check()
            for name in ("released", "states"):
                (self.place / name).mkdir(mode=0o700, exist_ok=True)
            self._look_for_all()
        except OSError as error:
            self.__exit__()
            raise self._failed(error) from None
        except FolderError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def once(
        self,
        name: str,
        make: Callable[[], NDArray[Any]],
        rng: np.random.Generator,
        planned: Release | None = None,
    ) -> NDArray[Any]:
        """See ``privacy.budget.Journal``."""
        self._count += 1
        number = f"{self._count:04d}"
        of = None if planned is None else planned.as_dict()
        about = json.dumps(of, sort_keys=True, default=float)
        files = sorted((self.place / "released").glob("*.npz"))
        path = next((one for one in files if one.name.startswith(f"{number}-")), None)
        if path is not None:
            values = self._read(path, name, rng, about)
        elif (files and files[-1].name > number) or (self.place / "result.json").exists():
            raise FolderError(
                f"What was released as number {self._count} ({name}) is no longer in {self.place}, "
                "and what came after it is: it would have to be drawn again. Begin another run, in "
                "another folder, which is another release."
            )
        else:
            slug = re.sub("[^a-z0-9]+", "-", name.lower())
            path = self.place / "released" / f"{number}-{slug}.npz"
            values = make()
            buffer = io.BytesIO()
            np.savez(buffer, numbers=values, name=name, planned=about)
            # secret noise rests on a key that is kept nowhere
            if not is_secret(rng):
                state = json.dumps(rng.bit_generator.state)
                self.write(self.place / "states" / f"{number}.json", state.encode())
            self.write(path, buffer.getvalue())
        self._files.append(path.name)
        if planned is not None:
            self._ledger = self._ledger.plus((planned,))
        if path.name not in self._listed:
            self._write_ledger({"finished": False})
        return values

    def finish(self, statement: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
        """Write into ``ledger.json`` what all that was released protects, then ``result.json``."""
        self._write_ledger({"finished": True, "statement": statement})
        text = json.dumps(summary, indent=1, default=float)
        self.write(self.place / "result.json", text.encode())

    def _write_ledger(self, about: Mapping[str, Any]) -> None:
        record = {**about, "files": self._files, "ledger": self._ledger.as_dict()}
        self.write(self.place / "ledger.json", json.dumps(record, indent=1).encode())
        self._listed = list(self._files)

    def _look_for_all(self) -> None:
        """Raise unless all is there that ``ledger.json`` tells of."""
        path = self.place / "ledger.json"
        if not path.exists():
            raise FolderError(
                f"{path.name} is no longer in {self.place}: what was released before cannot be "
                "known, and might be drawn again. Begin another run, in another folder, which is "
                "another release."
            )
        try:
            self._listed = list(json.loads(path.read_text(encoding="utf-8"))["files"])
        except (ValueError, KeyError, TypeError):
            raise FolderError(f"{path} cannot be read: it was changed.") from None
        for file in self._listed:
            if not (self.place / "released" / file).exists():
                raise FolderError(
                    f"{file} is no longer in {self.place / 'released'}: it would have to be drawn "
                    "again. Begin another run, in another folder, which is another release."
                )

    def write(self, path: Path, content: bytes) -> None:
        """Write a whole file or nothing, and see it onto the disk. Raises ``FolderError``."""
        try:
            with whole_file(path) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if hasattr(os, "O_DIRECTORY"):
                folder = os.open(path.parent, os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            raise self._failed(error) from None

    def _read(self, path: Path, name: str, rng: np.random.Generator, about: str) -> NDArray[Any]:
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                numbers, of, planned = file["numbers"], str(file["name"]), str(file["planned"])
            state = None
            if not is_secret(rng):
                at = self.place / "states" / f"{path.name.partition('-')[0]}.json"
                state = json.loads(at.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise FolderError(f"{path} cannot be read ({error}): it was changed.") from None
        if of != name:
            raise FolderError(f"{path} holds {of!r} where the run releases {name!r}.")
        if planned != about:
            raise FolderError(
                f"{path} was released with another noise or sensitivity than this version plans: "
                "begin another run, in another folder."
            )
        if state is not None:
            rng.bit_generator.state = state
        return numbers

    def _check(self) -> None:
        """Write what the run is, or compare."""
        path = self.place / "run.json"
        text = json.dumps(self._about, indent=1, sort_keys=True)
        begun = any(self.place.glob("released/*.npz")) or (self.place / "result.json").exists()
        if not path.exists() and not (self.place / "ledger.json").exists():
            self._write_ledger({"finished": False})  # from here on its absence tells of a loss
        if not path.exists() or not begun:
            self.write(path, text.encode())  # nothing was released yet
            return
        if path.read_text(encoding="utf-8") != text:
            raise FolderError(
                f"{self.place} holds a run with other settings, other data or another version of "
                "this software: name another folder, or repeat the command as it was to go on."
            )

    def _refuse_other_files(self) -> None:
        names = sorted(one.name for one in self.place.iterdir())
        others = [name for name in names if name not in _OURS and not name.startswith(".part-")]
        if others:
            raise FolderError(
                f"{self.place} holds other files ({others[0]}): a run's folder must be new, or "
                "that of the same run, which goes on."
            )

    def _failed(self, error: OSError) -> FolderError:
        return FolderError(
            f"{self.place} cannot be written ({error.strerror or error}): free some space or name "
            "another folder. What was released before is kept, and nothing was drawn twice."
        )


def _lock(file: Any, place: Path) -> None:
    """Hold ``file`` until this process ends, or refuse."""
    try:
        import fcntl
    except ImportError:  # no such thing on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FolderError(
            f"Another process works on the run in {place}: wait for it, or name another folder. "
            "Two at once might draw the noise of one release twice."
        ) from None
