"""Solving many small symmetric positive definite systems without holding the interpreter's lock.

Provides ``solve_spd``, LAPACK's Cholesky solver ``dposv`` called once per system through the
function pointer that ``scipy.linalg.cython_lapack`` exports for this purpose (the route that numba
takes), and ``scale_rows``. ``dposv`` needs half the arithmetic of ``numpy.linalg.solve``, which is
the fallback wherever the pointer is not to be had. Both loops are compiled where numba is
installed.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.kernel.compiled import Loops, loops

_ARGUMENTS = 8  # uplo, n, nrhs, a, lda, b, ldb, info


def _find_dposv() -> int | None:
    """The address of ``dposv(char*, int*, int*, double*, int*, double*, int*, int*)``, or None if
    it looks different.
    """
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = (
        ctypes.c_char_p,
        [ctypes.py_object],
    )
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get("dposv")
    if capsule is None:
        return None
    signature = api.PyCapsule_GetName(capsule)
    kinds = [
        part.strip().split()[0]
        for part in signature.decode().partition("(")[2].rstrip(")").split(",")
    ]
    if (
        len(kinds) != _ARGUMENTS
        or any(kinds[k] != "int" for k in (1, 2, 4, 6, 7))
        or kinds[0] != "char"
    ):
        return None
    found: int | None = api.PyCapsule_GetPointer(capsule, signature)
    return found


_ADDRESS = _find_dposv()
# releases the lock during the call
_DPOSV: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * _ARGUMENTS)(_ADDRESS or 0)


def _loops() -> Loops | None:
    return None if _ADDRESS is None else loops(_ADDRESS)


def solve_spd(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solve A_k x_k = b_k for symmetric positive definite A_k, of which only the upper triangles
    are read.

    ``matrices`` (B×r×r, C-contiguous) is overwritten; ``right`` (B×r, or B×m×r for m right-hand
    sides each, one per row) is not. Returns an array of the shape of ``right``. Raises
    ``numpy.linalg.LinAlgError`` for a singular A_k.
    """
    x = np.array(right, dtype=np.float64, order="C")
    if _ADDRESS is None:  # pragma: no cover - depends on the SciPy build
        return _solve_lu(matrices, x)
    count, size = matrices.shape[0], matrices.shape[-1]
    many = x.shape[1] if x.ndim == 3 else 1
    integers = np.array([size, many, 0], dtype=np.int32)
    lower = np.array([ord("L")], dtype=np.uint8)  # in Fortran's order: the upper triangle in ours
    compiled = _loops()
    if compiled is not None:
        bad = compiled.solve(matrices, x.reshape(count, many, size), integers, lower)
    else:
        bad = _solve_each(matrices, x, integers, lower)
    if bad >= 0:
        raise np.linalg.LinAlgError(
            f"system {bad} of {count} (size {size}) is not positive definite to rounding"
        )
    return x


def _solve_each(
    matrices: FloatArray, x: FloatArray, integers: NDArray[np.int32], lower: NDArray[np.uint8]
) -> int:
    """As ``compiled._solve``."""
    n, nrhs, info = (integers[k:].ctypes.data for k in range(3))
    a, b, uplo = matrices.ctypes.data, x.ctypes.data, lower.ctypes.data
    a_step, b_step = matrices.strides[0], x.strides[0]
    for k in range(len(matrices)):
        _DPOSV(uplo, n, nrhs, a + k * a_step, n, b + k * b_step, n, info)
        if integers[2]:
            return k
    return -1


def scale_rows(rows: FloatArray, weights: FloatArray, out: FloatArray) -> FloatArray:
    """``rows`` (B×n×r, C-contiguous like ``out``), each times its own of the ``weights`` (B×n)."""
    compiled = _loops()
    if compiled is None:
        return np.multiply(rows, weights[..., None], out=out)
    compiled.scale(rows, weights, out)
    return out


def _solve_lu(matrices: FloatArray, right: FloatArray) -> FloatArray:
    upper = np.triu(matrices)
    matrices = upper + np.triu(upper, 1).transpose(0, 2, 1)
    if right.ndim == 2:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0], dtype=np.float64)
    return np.asarray(
        np.linalg.solve(matrices, right.transpose(0, 2, 1)).transpose(0, 2, 1), dtype=np.float64
    )
