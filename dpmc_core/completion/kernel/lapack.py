"""Solving many small symmetric positive definite systems without holding the interpreter's lock.

Provides ``solve_spd``, LAPACK's Cholesky solver ``dposv`` called once per system through the
function pointer that ``scipy.linalg.cython_lapack`` exports for this purpose (the route that numba
takes), and ``scale_rows``. ``dposv`` needs half the arithmetic of ``numpy.linalg.solve``, which is
the fallback wherever the pointer is not to be had. Both loops are compiled where numba is
installed.
"""

import ctypes
import functools
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

from dpmc_core.arrays import FloatArray, IntArray

_NAME = "dpmc_dposv"  # by which compiled code finds LAPACK's dposv
_dposv: Any = None  # what stands for it while it is compiled
_making = threading.Lock()


@dataclass(frozen=True)
class Loops:
    """Compiled ``_solve`` and ``_scale``, which run without the interpreter's lock."""

    solve: Callable[..., int]
    scale: Callable[..., None]


def _loops() -> Loops | None:
    """The compiled loops; None where there is no numba that works, or no ``dposv`` to call."""
    with _making:  # the first thread compiles, the others wait
        return _compiled()


@functools.cache
def _compiled() -> Loops | None:
    global _dposv
    with suppress(Exception):  # it may refuse a newer numpy, or lack a library of the system
        if _ADDRESS is None or find_spec("numba") is None:
            return None
        numba = import_module("numba")  # its annotations do not cover what is used
        if numba.config.DISABLE_JIT:
            return None
        types = numba.types
        import_module("llvmlite.binding").add_symbol(_NAME, _ADDRESS)
        numbers, integers = types.CPointer(types.float64), types.CPointer(types.int32)
        arguments = (types.CPointer(types.uint8), integers, integers, numbers, integers, numbers)
        _dposv = types.ExternalFunction(_NAME, types.void(*arguments, integers, integers))
        three = types.float64[:, :, ::1]

        def compiled(function: Callable[..., Any], signature: Any) -> Any:
            compile_as = functools.partial(numba.njit, signature, nogil=True, boundscheck=False)
            with suppress(Exception):  # no place to keep it, or what is kept there is damaged
                return compile_as(cache=True)(function)
            return compile_as()(function)

        return Loops(
            compiled(_solve, types.intp(three, three, types.int32[::1], types.uint8[::1])),
            compiled(_scale, types.void(three, types.float64[:, ::1], three)),
        )
    return None


def _solve(matrices: Any, x: Any, integers: Any, uplo: Any) -> int:
    """Solve each system of ``matrices`` (B×r×r, overwritten) for that of ``x`` (B×m×r); the number
    of the first that is singular, or -1. ``integers`` holds r, m and a place for LAPACK's answer.
    """
    size, many, info = integers[:1], integers[1:2], integers[2:3]
    for k in range(matrices.shape[0]):
        _dposv(
            uplo.ctypes,
            size.ctypes,
            many.ctypes,
            matrices[k].ctypes,
            size.ctypes,
            x[k].ctypes,
            size.ctypes,
            info.ctypes,
        )
        if info[0] != 0:
            return k
    return -1


def _scale(rows: Any, weights: Any, out: Any) -> None:
    """``out`` = ``rows`` (B×n×r), each times its of the ``weights`` (B×n)."""
    for k in range(rows.shape[0]):
        for n in range(rows.shape[1]):
            weight = weights[k, n]
            for j in range(rows.shape[2]):
                out[k, n, j] = weight * rows[k, n, j]


# uplo, n, nrhs, a, lda, b, ldb, info; of doubles, and of integers of 32 bits
_SIGNATURE = rb"void \(char \*, int \*, int \*, \w+ \*, int \*, \w+ \*, int \*, int \*\)"


def _find_dposv() -> int | None:
    """The address of ``dposv(char*, int*, int*, double*, int*, double*, int*, int*)``, or None if
    it looks different.
    """
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get("dposv")
    if capsule is None:
        return None
    signature = api.PyCapsule_GetName(capsule)
    if re.fullmatch(_SIGNATURE, signature) is None:
        return None
    return api.PyCapsule_GetPointer(capsule, signature)


_ADDRESS = _find_dposv()
# releases the lock during the call
_DPOSV: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(_ADDRESS or 0)


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


def add_ridge(matrices: FloatArray, reg: FloatArray | float) -> None:
    """Add ``reg`` to the diagonals of ``matrices`` (B×r×r, C-contiguous), B×1 or one for all."""
    matrices.reshape(len(matrices), -1)[:, :: matrices.shape[1] + 1] += reg


def _solve_each(
    matrices: FloatArray, x: FloatArray, integers: IntArray, lower: NDArray[np.uint8]
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
    whole = upper + np.triu(upper, 1).transpose(0, 2, 1)
    columns = right.reshape(len(right), -1, right.shape[-1]).transpose(0, 2, 1)
    solved = np.linalg.solve(whole, columns).transpose(0, 2, 1)
    return np.asarray(solved.reshape(right.shape), dtype=np.float64)
