"""Reading MATLAB files.

Lives here: ``read_variables``, which gives the named variables or says in one sentence what is
wrong, and refuses pickles. Does not live here: what the variables mean (``images``, ``text``).
"""

from pathlib import Path
from typing import Any

from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from dpmc_core.errors import DataError
from dpmc_core.paths import reason

__all__ = ["read_variables", "refuse_pickle"]


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


def read_variables(path: Path, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The variables called ``names`` of a ``.mat`` file (version 5 to 7.2), in that order.

    Raises ``DataError`` for a pickle, a file that is no MATLAB file (or version 7.3, which is
    HDF5), or one without the variables.
    """
    refuse_pickle(path)
    try:
        held = loadmat(
            path, spmatrix=False
        )  # sparse arrays; SciPy 1.18 warns where this is left out
    except NotImplementedError:
        raise DataError(
            f"{path.name} is a MATLAB 7.3 file; save it with version 7 (save -v7)."
        ) from None
    except (
        ValueError,
        TypeError,
        OSError,
        KeyError,
        IndexError,
        EOFError,
        MemoryError,
        MatReadError,
    ) as error:
        raise DataError(
            f"{path.name} cannot be read as a MATLAB file ({reason(error)}); it is damaged or of "
            "another kind."
        ) from None
    missing = [name for name in names if name not in held]
    if missing:
        there = ", ".join(sorted(name for name in held if not name.startswith("__"))) or "none"
        raise DataError(
            f"{path.name} holds no variable {missing[0]!r}; it must hold {', '.join(names)}, "
            f"and its variables are: {there}."
        )
    return tuple(held[name] for name in names)
