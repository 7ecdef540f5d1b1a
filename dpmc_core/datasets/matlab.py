"""Reading MATLAB files.

Lives here: ``read_variables``, which gives the named variables or says in one sentence what is
wrong, and refuses pickles. Does not live here: what the variables mean (``images``, ``text``).
"""

from pathlib import Path
from typing import Any

from scipy.io import loadmat

from dpmc_core.errors import DataError


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
