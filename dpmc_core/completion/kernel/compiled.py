"""The kernel's inner loops compiled by numba, where it is installed (the extra ``fast``).

Provides ``loops``. They do what numpy and ctypes do without it, to the last bit: no call and no
short inner loop for each small system or row of factors.
"""

import functools
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_NAME = "dpmc_dposv"  # by which compiled code finds LAPACK's dposv
_dposv: Any = None  # what stands for it while it is compiled
_making = threading.Lock()


@dataclass(frozen=True)
class Loops:
    """Compiled ``_solve`` and ``_scale``, which run without the interpreter's lock."""

    solve: Callable[..., int]
    scale: Callable[..., None]


def loops(dposv: int) -> Loops | None:
    """The compiled loops, with LAPACK's ``dposv`` at that address; None where there is no numba
    that works.
    """
    with _making:  # the first thread compiles, the others wait
        return _made(dposv)


@functools.cache
def _made(dposv: int) -> Loops | None:
    # it may refuse a newer numpy, or lack a library of the system
    with suppress(Exception):
        return _loops(dposv)
    return None


def _loops(dposv: int) -> Loops | None:
    global _dposv
    if find_spec("numba") is None:
        return None
    numba = import_module("numba")  # its annotations do not cover what is used
    if numba.config.DISABLE_JIT:
        return None
    types = numba.types
    import_module("llvmlite.binding").add_symbol(_NAME, dposv)
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
