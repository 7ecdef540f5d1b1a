"""Arrays in uploaded NumPy and MATLAB files: their headers first, then their numbers."""

import math
from io import BytesIO
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import io

from dpmc_core.errors import DataError, ParameterError

__all__ = ["array_in", "header", "read_matlab", "variable_in", "variables_of"]

MOST_NUMBERS = 30_000_000
_scipy_io: Any = io  # its stubs know paths only; it reads streams as well


def header(file: str, data: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of a ``.npy`` file, checked before anything of that size is made."""
    stream = BytesIO(data)
    try:
        version = npy.read_magic(stream)
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if reader is None:
            raise ValueError(f"version {version}")
        shape, _, kind = reader(stream)
    except Exception as error:  # noqa: BLE001
        # NumPy parses the header as Python, and meets a damaged one with whatever comes
        raise DataError(
            f"{file} cannot be read as a NumPy file ({type(error).__name__})."
        ) from None
    if kind.hasobject or kind.kind not in "buif":
        raise DataError(
            f"{file} holds {kind}; an array of numbers is allowed (objects would be a pickle, "
            "which is never read)."
        )
    if len(shape) not in (2, 3, 4) or min(shape) < 1:
        raise DataError(f"{file} has shape {shape}; N × height × width, or N × pixels, is allowed.")
    if (
        math.prod(shape) > 4 * MOST_NUMBERS
        or math.prod(shape) * kind.itemsize > len(data) - stream.tell()
    ):
        raise DataError(
            f"{file} declares {math.prod(shape):,} numbers; that is more than it holds or than "
            "is allowed."
        )
    return shape, kind


def array_in(file: str, data: bytes) -> NDArray[Any]:
    """The array of a ``.npy`` file. Raises ``DataError``."""
    header(file, data)
    try:
        return np.asarray(np.load(BytesIO(data), allow_pickle=False))
    except (ValueError, TypeError, EOFError, OSError) as error:
        raise DataError(
            f"{file} cannot be read as a NumPy file ({type(error).__name__})."
        ) from None


def variable_in(file: str, data: bytes, name: str) -> NDArray[Any]:
    """A variable of a MATLAB file. Raises ``DataError`` or ``ParameterError``."""
    known = variables_of(file, data)
    if name not in known:
        raise ParameterError("variable", name, "one of the file's: " + ", ".join(known))
    if math.prod(known[name]) > 4 * MOST_NUMBERS:
        raise DataError(
            f"{file}: {name} holds {math.prod(known[name]):,} numbers; at most "
            f"{4 * MOST_NUMBERS:,} are allowed."
        )
    held = read_matlab(
        file, lambda: _scipy_io.loadmat(BytesIO(data), variable_names=[name], spmatrix=False)
    )
    table = held.get(name)
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "buif":
        raise DataError(f"{file}: {name} is no full array of real numbers.")
    return table


def read_matlab(file: str, read: Any) -> Any:
    """What ``read`` finds in a MATLAB file. Raises ``DataError``."""
    if file.lower().endswith(".mat") is False:
        raise DataError(
            f"{file} is no file of images that is known here: a zip archive of PNG or JPEG, NPY "
            "or MAT is allowed."
        )
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


def variables_of(file: str, data: bytes) -> dict[str, tuple[int, ...]]:
    """The variables of a MATLAB file that could hold images, with their shapes.

    Raises ``DataError``.
    """
    found = read_matlab(file, lambda: _scipy_io.whosmat(BytesIO(data)))
    numeric = (
        "double",
        "single",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "uint32",
        "int32",
        "uint64",
        "int64",
        "logical",
    )
    names = [name for name, _, _ in found]
    if len(set(names)) < len(names):
        raise DataError(f"{file} holds two variables of one name; each name may occur once.")
    known = {
        str(name): tuple(int(n) for n in shape)
        for name, shape, kind in found
        if len(shape) in (2, 3) and kind in numeric and min(shape) > 1
    }
    if not known:
        there = ", ".join(f"{name} ({kind})" for name, _, kind in found[:8]) or "none"
        raise DataError(f"{file} holds no table or stack of numbers; its variables are: {there}.")
    return known
