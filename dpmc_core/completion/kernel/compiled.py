"""The kernel's inner loops compiled by numba, where it is installed (the extra ``fast``).

Provides ``loops``. They do what numpy and ctypes do without it, to the last bit: no call and no
short inner loop for each small system or row of factors.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["Loops", "loops"]

_NAME = "dpmc_dposv"  # by which compiled code finds LAPACK's dposv
_dposv: Any = None  # what stands for it while it is compiled


@dataclass(frozen=True)
class Loops:
    """Compiled ``_solve`` and ``_scale``, which run without the interpreter's lock."""

    solve: Callable[..., int]
    scale: Callable[..., None]


@functools.cache
def loops(dposv: int) -> Loops | None:
    """The compiled loops, with LAPACK's ``dposv`` at that address; None without numba."""
    global _dposv
    if find_spec("numba") is None:
        return None
    import llvmlite.binding

    numba = _numba()
    if numba.config.DISABLE_JIT:
        return None
    types = numba.types
    llvmlite.binding.add_symbol(_NAME, dposv)
    numbers, integers = types.CPointer(types.float64), types.CPointer(types.int32)
    arguments = (types.CPointer(types.uint8), integers, integers, numbers, integers, numbers)
    _dposv = types.ExternalFunction(_NAME, types.void(*arguments, integers, integers))
    three = types.float64[:, :, ::1]
    return Loops(
        _compiled(_solve, types.intp(three, three, types.int32[::1], types.uint8[::1])),
        _compiled(_scale, types.void(three, types.float64[:, ::1], three)),
    )


def _numba() -> Any:
    return import_module("numba")  # its annotations do not cover what is used


def _compiled(function: Callable[..., Any], signature: Any) -> Any:
    """Kept on disk where there is a place to write to."""
    for cache in (True, False):
        try:
            return _numba().njit(signature, nogil=True, boundscheck=False, cache=cache)(function)
        except (RuntimeError, OSError):  # no such place
            if not cache:
                raise
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
