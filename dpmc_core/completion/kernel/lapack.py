"""Solving many small symmetric positive definite systems without holding the interpreter's lock.

Lives here: ``solve_spd``, LAPACK's Cholesky solver ``dposv`` called once per system through the
function pointer that ``scipy.linalg.cython_lapack`` exports for this purpose (the route that numba
takes). It needs half the arithmetic of ``numpy.linalg.solve``, which is the fallback wherever the
pointer or a factorisation is not to be had.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

__all__ = ["solve_spd"]

_ARGUMENTS = 8  # uplo, n, nrhs, a, lda, b, ldb, info


def _find_dposv() -> Callable[..., None] | None:
    """The C function ``dposv(char*, int*, int*, double*, int*, double*, int*, int*)``, or None if
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
    pointer = api.PyCapsule_GetPointer(capsule, signature)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * _ARGUMENTS)(
        pointer
    )  # releases the lock during the call


_DPOSV = _find_dposv()


def solve_spd(matrices: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve A_k x_k = b_k for symmetric positive definite A_k, of which only the upper triangles
    are read.

    ``matrices`` (B×r×r, C-contiguous) is overwritten; ``right`` (B×r, or B×m×r for m right-hand
    sides each, one per row) is not. Returns an array of the shape of ``right``. Raises
    ``numpy.linalg.LinAlgError`` for a singular A_k.
    """
    x = np.array(right, dtype=np.float64, order="C")
    if _DPOSV is None:  # pragma: no cover - depends on the SciPy build
        return _solve_lu(matrices, x)
    count, size = matrices.shape[0], matrices.shape[-1]
    many = x.shape[1] if x.ndim == 3 else 1
    integers = (ctypes.c_int * 3)(size, many, 0)
    lower = ctypes.c_char(b"L")  # in Fortran's order, which is the upper triangle in ours
    n, nrhs = ctypes.addressof(integers), ctypes.addressof(integers) + ctypes.sizeof(ctypes.c_int)
    info, uplo = nrhs + ctypes.sizeof(ctypes.c_int), ctypes.addressof(lower)
    a, b = matrices.ctypes.data, x.ctypes.data
    a_step, b_step = 8 * size * size, 8 * size * many
    dposv: Any = _DPOSV
    for k in range(count):
        dposv(uplo, n, nrhs, a + k * a_step, n, b + k * b_step, n, info)
        if integers[2]:
            raise np.linalg.LinAlgError(
                f"system {k} of {count} (size {size}) is not positive definite to rounding"
            )
    return x


def _solve_lu(matrices: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    upper = np.triu(matrices)
    matrices = upper + np.triu(upper, 1).transpose(0, 2, 1)
    if right.ndim == 2:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0], dtype=np.float64)
    return np.asarray(
        np.linalg.solve(matrices, right.transpose(0, 2, 1)).transpose(0, 2, 1), dtype=np.float64
    )
