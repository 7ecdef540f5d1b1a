"""Archives of pictures, arrays and MATLAB files to images.

Grey images of one size from whatever holds them, checked before anything large is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dpmc_core.datasets.own.archive import folder_of, is_archive, members
from dpmc_core.datasets.own.arrays import (
    MOST_NUMBERS,
    array_in,
    grey_pixels,
    header,
    open_picture,
    resized,
    shown_size,
    variable_in,
    variables_of,
)
from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import number_of
from dpmc_core.wording import printable

LARGEST = 128
ROWS = {"images": "one image a row", "pixels": "one image a column"}
ORDERS = {"rows": "row by row", "columns": "column by column (as MATLAB does)"}
_LIKELY = ("images", "faces", "fea", "x", "data", "m", "v")
_BRIGHTEST = 1e12
_COMPARED = 400  # images of which neighbouring pixels are compared
_CLEARLY = 2.0  # times as unlike are neighbours that show which side counts images
_ON_WHITE = ("What is transparent in an image is shown on white.",)
_SIDE = 32  # what pictures of different sizes are brought to, unless another is chosen


@dataclass(frozen=True, kw_only=True)
class ImagesReading:
    """How images are read.

    ``side`` brings every image to side × side pixels (0: left as they are, which needs them to be
    of one size). For MATLAB files ``variable`` is the one that holds them; where they lie flat
    ``rows`` says whether a row is an image or a pixel, and ``order`` in which order an image's
    pixels are.
    """

    side: int = 0
    variable: str = ""
    rows: str = "images"
    order: str = "rows"

    def __post_init__(self) -> None:
        for name, allowed in (("rows", ROWS), ("order", ORDERS)):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(allowed))
        try:
            side = number_of(self.side)
        except (TypeError, ValueError):
            side = -1
        if side not in (0, *range(4, LARGEST + 1)):
            raise ParameterError(
                "side", self.side, f"0 (as they are) or a whole number from 4 to {LARGEST}"
            )
        object.__setattr__(self, "side", int(side))


def guess_images(file: str, data: bytes) -> tuple[ImagesReading, dict[str, str]]:
    """How ``data`` is probably meant, and by field what a person should look at."""
    if is_archive(file, data):
        sizes = {
            shown_size(open_picture(name, content))
            for name, content in members(file, data, (".png", ".jpg", ".jpeg"))
        }
        largest = max(max(size) for size in sizes)
        return ImagesReading(side=_SIDE if len(sizes) > 1 or largest > LARGEST else 0), {}
    if data[:6] == npy.MAGIC_PREFIX:
        shape, _ = header(file, data)
        if len(shape) == 4:
            return ImagesReading(), {}
        rows, doubts = _rows(shape, "images", lambda: array_in(file, data))
        return ImagesReading(rows=rows), doubts
    known = variables_of(file, data)
    name = min(
        known,
        key=lambda n: (
            _LIKELY.index(n.lower()) if n.lower() in _LIKELY else len(_LIKELY),
            -math.prod(known[n]),
        ),
    )
    shape = known[name]
    usual = "pixels" if len(shape) == 2 or shape[2] > max(shape[:2]) else "images"
    rows, doubts = _rows(shape, usual, lambda: variable_in(file, data, name))
    order = "columns" if len(shape) == 2 else "rows"
    return ImagesReading(variable=name, rows=rows, order=order), doubts


def _rows(
    shape: tuple[int, ...], usual: str, table: Callable[[], NDArray[Any]]
) -> tuple[str, dict[str, str]]:
    """Whether the first side counts images, or the last.

    Where both may be, neighbouring pixels tell: they are more alike than neighbouring images.
    """
    if len(shape) == 2:
        fit = [
            rows for rows, pixels in (("images", shape[1]), ("pixels", shape[0])) if _square(pixels)
        ]
        if len(fit) < 2:
            return (fit or [usual])[0], {}
        sides = {rows: math.isqrt(shape[1] if rows == "images" else shape[0]) for rows in fit}
        held = table()
        rough = {
            rows: _unlike(flat[:_COMPARED].reshape(-1, sides[rows], sides[rows]), (1, 2))
            for rows, flat in (("images", held), ("pixels", held.T))
        }
        rows = min(("images", "pixels"), key=rough.__getitem__)
        count = shape[0] if rows == "images" else shape[1]
        said = f"{count:,} images of {sides[rows]}×{sides[rows]} pixels"
    else:
        held = table()[:_COMPARED, :, :_COMPARED]
        unlike = {"images": _unlike(held, (0,)), "pixels": _unlike(held, (2,))}
        rows = "pixels" if usual == "images" else "images"
        if unlike[rows] < _CLEARLY * unlike[usual]:
            return usual, {}
        n, *image = shape if rows == "images" else (shape[2], *shape[:2])
        said = f"{n:,} images of {image[0]}×{image[1]} pixels"
    return rows, {
        "rows": f"A table of {'×'.join(str(n) for n in shape)} is read as {said}, because "
        "neighbouring pixels are more alike that way. If the images below are noise, choose the "
        "other way."
    }


def _unlike(stack: NDArray[Any], axes: tuple[int, ...]) -> float:
    """Mean squared difference of neighbours along ``axes``, as a part of the variance; infinite
    where there are no neighbours.
    """
    numbers = np.asarray(stack, dtype=np.float64)
    if min(numbers.shape[axis] for axis in axes) < 2:
        return math.inf
    with np.errstate(all="ignore"):
        apart = np.mean([np.mean(np.diff(numbers, axis=axis) ** 2) for axis in axes])
        found = float(apart / numbers.var())
    return found if math.isfinite(found) else 0.0


def images_of(file: str, data: bytes, reading: ImagesReading, title: str) -> Samples:
    """The images in ``data`` as columns.

    Raises ``DataError`` for what cannot be read or is too large (30 million numbers, 128×128
    pixels), fewer than five images, and images of different sizes without a ``side``;
    ``ParameterError`` for a variable that is not there.
    """
    from PIL import Image

    notes: tuple[str, ...] = ()
    if is_archive(file, data):
        stack, labels, notes = _pictures(file, data, reading.side)
    else:
        labels = ()
        table = (
            array_in(file, data)
            if data[:6] == npy.MAGIC_PREFIX
            else variable_in(file, data, reading.variable)
        )
        stack = _stack(file, table, reading)
        notes = _ON_WHITE if table.ndim == 4 and table.shape[3] == 4 else ()
        if reading.side and stack.shape[1:] != (reading.side, reading.side):
            if not np.isfinite(stack).all() or stack.min() < 0:
                raise DataError(
                    f"{file} holds pixels below 0 or without a value; only numbers from 0 on "
                    "are allowed."
                )
            # each by its own brightest pixel: no image may say anything about the shades of another
            # one
            stack = np.stack(
                [
                    resized(
                        Image.fromarray((255 * x / (float(x.max()) or 1.0)).astype(np.uint8)),
                        reading.side,
                    )
                    for x in stack
                ]
            )
            notes = (
                *notes,
                f"Images were brought to {reading.side}×{reading.side} pixels and 256 shades of "
                "grey, each by its own brightest pixel.",
            )
    if len(stack) < 5:
        raise DataError(f"{file} holds {len(stack)} images as read; at least 5 are needed.")
    if max(stack.shape[1:]) > LARGEST or stack.size > MOST_NUMBERS:
        raise DataError(
            f"{file} holds {len(stack):,} images of {stack.shape[1]}×{stack.shape[2]} pixels; "
            f"at most {LARGEST}×{LARGEST} and {MOST_NUMBERS // 1_000_000} million pixels in all "
            "are allowed: choose a smaller side."
        )
    if np.isfinite(stack).all() and stack.max() > _BRIGHTEST:
        raise DataError(
            f"{file}: the largest pixel is {stack.max():.3g}; at most {_BRIGHTEST:g} is allowed."
        )
    return Samples.of_images(stack, name=title, labels=labels, notes=notes)


def _pictures(
    file: str, data: bytes, side: int
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
    found, folders, sizes = [], [], set()
    total, transparent = 0, False
    for name, content in members(file, data, (".png", ".jpg", ".jpeg")):
        opened = open_picture(name, content)
        sizes.add(shown_size(opened))
        total += side * side if side else math.prod(opened.size)
        if total > MOST_NUMBERS:
            raise DataError(
                f"{file} holds more than {MOST_NUMBERS // 1_000_000} million pixels; choose a "
                "smaller side, or fewer images."
            )
        if len(sizes) > 1 and not side:
            (w, h), (x, y) = sorted(sizes)[:2]
            raise DataError(
                f"{file} holds images of different sizes ({w}×{h} and {x}×{y} pixels): choose a "
                "side to bring all of them to."
            )
        transparent |= opened.has_transparency_data
        found.append(grey_pixels(name, opened, side))
        folders.append(printable(folder_of(name)))
    notes = (
        (f"Images were brought to {side}×{side} pixels, their proportions not kept.",)
        if side and sizes != {(side, side)}
        else ()
    )
    labels = tuple(folders) if len(set(folders)) > 1 else ()
    return np.stack(found), labels, notes + _ON_WHITE * transparent


def _stack(file: str, table: NDArray[Any], reading: ImagesReading) -> NDArray[np.float64]:
    """N × height × width, whatever lay flat or in colour."""
    if table.ndim == 4:
        if table.shape[3] not in (1, 3, 4):
            raise DataError(
                f"{file} has shape {table.shape}; the last of four sides must be 1, 3 or 4 colours."
            )
        grey = table[..., :3].mean(axis=3)
        if table.shape[3] == 4:
            # what white is in each image: 1, 255 or 65,535, as its own largest number needs
            needed = np.searchsorted([1.0, 255.0], table.max(axis=(1, 2, 3)))
            white = np.array([1.0, 255.0, 65535.0])[needed].reshape(-1, 1, 1)
            grey = white + np.minimum(table[..., 3] / white, 1) * (grey - white)
        table = grey
    if table.ndim == 3:
        return np.asarray(
            table if reading.rows == "images" else np.moveaxis(table, 2, 0), dtype=np.float64
        )
    flat = table if reading.rows == "images" else table.T
    side = math.isqrt(flat.shape[1])
    if side * side != flat.shape[1]:
        raise DataError(
            f"{file}: images of {flat.shape[1]:,} pixels are not square, and it does not say "
            "how they lie; give them as N × height × width, or choose "
            f"{ROWS['pixels' if reading.rows == 'images' else 'images']!r}."
        )
    stack = np.asarray(flat, dtype=np.float64).reshape(-1, side, side)
    return stack.transpose(0, 2, 1) if reading.order == "columns" else stack


def _square(number: int) -> bool:
    return math.isqrt(number) ** 2 == number
