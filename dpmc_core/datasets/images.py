"""Reading the face sets of the catalogue: from a file to images N × height × width, and labels."""

import numpy as np

from dpmc_core.datasets.catalogue import Entry
from dpmc_core.datasets.loaders import read_variables
from dpmc_core.errors import DataError

Faces = tuple[np.ndarray, tuple[str, ...]]


def _lfw(known: Entry) -> Faces:
    """The first 100 of scikit-image's 200 patches are faces, 25×25, values 0 to 1."""
    return np.load(known.file, allow_pickle=False)[:100], ()


def _olivetti(known: Entry) -> Faces:
    """400 faces of 40 people, stored 4096×400 in MATLAB's column order.

    Ten of each person, one after the other.
    """
    (faces,) = read_variables(known.file, ("faces",))
    stack = _columns(faces.T, 64, known)
    return stack, tuple(f"person {k // 10 + 1}" for k in range(len(stack)))


def _cbcl(known: Entry) -> Faces:
    """The file holds a negative.

    Pixel (0..255) = 256 − 256·M, images 19×19 in column order.
    """
    (table,) = read_variables(known.file, ("M",))
    return _columns(1.0 - np.asarray(table, dtype=np.float64).T, 19, known), ()


def _yaleb(known: Entry) -> Faces:
    """2,414 faces of 38 people under different light, 32×32 in column order, values 0 to 255."""
    table, people = read_variables(known.file, ("fea", "gnd"))
    return _columns(table, 32, known), tuple(f"person {int(k)}" for k in np.ravel(people))


def _columns(table: object, side: int, known: Entry) -> np.ndarray:
    """Images from a ``table`` with one a row, its pixels column by column."""
    rows = np.asarray(table)
    if rows.ndim != 2 or rows.shape[1] != side * side or rows.dtype.kind not in "uif":
        raise DataError(
            f"{known.title}: {known.files[0]} must hold one image of {side}×{side} numbers a "
            f"row; it has shape {rows.shape}."
        )
    return rows.reshape(-1, side, side).transpose(0, 2, 1)


IMAGE_READERS = {"lfw": _lfw, "olivetti": _olivetti, "cbcl": _cbcl, "yaleb": _yaleb}
