"""Files of images to images: archives of pictures, arrays of NumPy and MATLAB.

Headers are checked before anything large is made; pictures are read as viewers show them (upright,
on white), in shades of grey.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import io

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.loaders import read_matlab
from dpmc_core.datasets.own.archive import folder_of, is_archive, members
from dpmc_core.datasets.own.cells import check_choices
from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import number_of
from dpmc_core.wording import printable

if TYPE_CHECKING:
    from PIL import Image

MOST_NUMBERS = 30_000_000
MOST_PIXELS = 16_000_000
# what brings pictures of the EXIF orientations 2 to 8 upright
_TURNS = (
    "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_270", "TRANSVERSE",
    "ROTATE_90",
)  # fmt: skip
_scipy_io: Any = io  # its stubs know paths only; it reads streams as well
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
        check_choices(self, rows=ROWS, order=ORDERS)
        try:
            side = number_of(self.side)
        except (TypeError, ValueError):
            side = -1
        if side not in (0, *range(4, LARGEST + 1)):
            raise ParameterError(
                "side", self.side, f"0 (as they are) or a whole number from 4 to {LARGEST}"
            )
        object.__setattr__(self, "side", int(side))


def guess_images(file: str, data: bytes) -> tuple[ImagesReading, str]:
    """How ``data`` is probably meant, and what a person should look at in its ``rows``."""
    if is_archive(file, data):
        sizes = {
            shown_size(open_picture(name, content))
            for name, content in members(file, data, (".png", ".jpg", ".jpeg"))
        }
        largest = max(map(max, sizes))
        return ImagesReading(side=_SIDE if len(sizes) > 1 or largest > LARGEST else 0), ""
    if data[:6] == npy.MAGIC_PREFIX:
        held = array_in(file, data)
        if held.ndim == 4:
            return ImagesReading(), ""
        rows, doubt = _rows(held.shape, "images", lambda: held)
        return ImagesReading(rows=rows), doubt
    shapes = variables_of(file, data)
    name = min(
        shapes, key=lambda n: ((*_LIKELY, n.lower()).index(n.lower()), -math.prod(shapes[n]))
    )
    shape = shapes[name]
    usual = "pixels" if len(shape) == 2 or shape[2] > max(shape[:2]) else "images"
    rows, doubt = _rows(shape, usual, lambda: variable_in(file, data, name))
    order = "columns" if len(shape) == 2 else "rows"
    return ImagesReading(variable=name, rows=rows, order=order), doubt


def _rows(shape: tuple[int, ...], usual: str, table: Callable[[], NDArray[Any]]) -> tuple[str, str]:
    """Whether the first side counts images, or the last, and what is not sure about that.

    Where both may be, neighbouring pixels tell: they are more alike than neighbouring images.
    """
    if len(shape) == 2:
        sides = {"images": math.isqrt(shape[1]), "pixels": math.isqrt(shape[0])}
        fit = [
            rows
            for rows, pixels in zip(ROWS, shape[::-1], strict=True)
            if sides[rows] ** 2 == pixels
        ]
        if len(fit) < 2:
            return (fit or [usual])[0], ""
        held = table()
        rough = {
            rows: _unlike(flat[:_COMPARED].reshape(-1, sides[rows], sides[rows]), (1, 2))
            for rows, flat in (("images", held), ("pixels", held.T))
        }
        rows = min(ROWS, key=rough.__getitem__)
        n, image = shape[rows == "pixels"], [sides[rows]] * 2
    else:
        held = table()[:_COMPARED, :, :_COMPARED]
        unlike = {"images": _unlike(held, (0,)), "pixels": _unlike(held, (2,))}
        rows = "pixels" if usual == "images" else "images"
        if unlike[rows] < _CLEARLY * unlike[usual]:
            return usual, ""
        n, *image = shape if rows == "images" else (shape[2], *shape[:2])
    return rows, (
        f"A table of {'×'.join(map(str, shape))} is read as {n:,} images of "
        f"{image[0]}×{image[1]} pixels, because neighbouring pixels are more alike that way. If "
        "the images below are noise, choose the other way."
    )


def _unlike(stack: NDArray[Any], axes: tuple[int, ...]) -> float:
    """Mean squared difference of neighbours along ``axes``, as a part of the variance; infinite
    where there are no neighbours.
    """
    numbers = np.asarray(stack, dtype=np.float64)
    if min(numbers.shape[axis] for axis in axes) < 2:
        return math.inf
    with np.errstate(all="ignore"):
        apart = np.mean([np.mean(np.diff(numbers, axis=axis) ** 2) for axis in axes])
        ratio = float(apart / numbers.var())
    return ratio if math.isfinite(ratio) else 0.0


def images_of(file: str, data: bytes, reading: ImagesReading, title: str) -> Samples:
    """The images in ``data`` as columns.

    Raises ``DataError`` for what cannot be read or is too large (30 million numbers, 128×128
    pixels), fewer than five images, and images of different sizes without a ``side``;
    ``ParameterError`` for a variable that is not there.
    """
    from PIL import Image

    side = reading.side
    if is_archive(file, data):
        stack, labels, notes = _pictures(file, data, side)
    else:
        labels = ()
        table = (
            array_in(file, data)
            if data[:6] == npy.MAGIC_PREFIX
            else variable_in(file, data, reading.variable)
        )
        stack = _stack(file, table, reading)
        notes = _ON_WHITE if table.ndim == 4 and table.shape[3] == 4 else ()
        if side and stack.shape[1:] != (side, side):
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
                        Image.fromarray((255 * x / (float(x.max()) or 1.0)).astype(np.uint8)), side
                    )
                    for x in stack
                ]
            )
            notes = (
                *notes,
                f"Images were brought to {side}×{side} pixels and 256 shades of grey, each by its "
                "own brightest pixel.",
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
) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
    pictures, folders, sizes = [], [], set()
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
        pictures.append(grey_pixels(name, opened, side))
        folders.append(printable(folder_of(name)))
    notes = (
        (f"Images were brought to {side}×{side} pixels, their proportions not kept.",)
        if side and sizes != {(side, side)}
        else ()
    )
    labels = tuple(folders) if len(set(folders)) > 1 else ()
    return np.stack(pictures), labels, notes + _ON_WHITE * transparent


def _stack(file: str, table: NDArray[Any], reading: ImagesReading) -> FloatArray:
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


def array_in(file: str, data: bytes) -> NDArray[Any]:
    """The array of a ``.npy`` file, where it is in ``data``. Raises ``DataError``."""
    stream = BytesIO(data)
    try:
        version = npy.read_magic(stream)
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if reader is None:
            raise ValueError(f"version {version}")
        shape, by_columns, kind = reader(stream)
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
    count, begin = math.prod(shape), stream.tell()
    if count > 4 * MOST_NUMBERS or count * kind.itemsize > len(data) - begin:
        raise DataError(
            f"{file} declares {count:,} numbers; that is more than it holds or than is allowed."
        )
    numbers = np.frombuffer(data, kind, count, begin)
    return numbers.reshape(shape, order="F" if by_columns else "C")


def variable_in(file: str, data: bytes, name: str) -> NDArray[Any]:
    """A variable of a MATLAB file. Raises ``DataError`` or ``ParameterError``."""
    shapes = variables_of(file, data)
    if name not in shapes:
        raise ParameterError("variable", name, "one of the file's: " + ", ".join(shapes))
    if math.prod(shapes[name]) > 4 * MOST_NUMBERS:
        raise DataError(
            f"{file}: {name} holds {math.prod(shapes[name]):,} numbers; at most "
            f"{4 * MOST_NUMBERS:,} are allowed."
        )
    held = read_matlab(
        file, lambda: _scipy_io.loadmat(BytesIO(data), variable_names=[name], spmatrix=False)
    )
    table = held.get(name)
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "buif":
        raise DataError(f"{file}: {name} is no full array of real numbers.")
    return table


def variables_of(file: str, data: bytes) -> dict[str, tuple[int, ...]]:
    """The variables of a MATLAB file that could hold images, with their shapes.

    Raises ``DataError``.
    """
    if not file.lower().endswith(".mat"):
        raise DataError(
            f"{file} is no file of images that is known here: a zip archive of PNG or JPEG, NPY "
            "or MAT is allowed."
        )
    variables = read_matlab(file, lambda: _scipy_io.whosmat(BytesIO(data)))
    numeric = re.compile("double|single|u?int(8|16|32|64)|logical")
    if len({name for name, _, _ in variables}) < len(variables):
        raise DataError(f"{file} holds two variables of one name; each name may occur once.")
    shapes = {
        str(name): tuple(map(int, shape))
        for name, shape, kind in variables
        if len(shape) in (2, 3) and numeric.fullmatch(kind) and min(shape) > 1
    }
    if not shapes:
        there = ", ".join(f"{name} ({kind})" for name, _, kind in variables[:8]) or "none"
        raise DataError(f"{file} holds no table or stack of numbers; its variables are: {there}.")
    return shapes


def open_picture(name: str, content: bytes) -> Image.Image:
    """The picture in ``content``, whose pixels are not unpacked yet.

    Raises ``DataError`` for what is none, and for more than 16 million pixels.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged notes of a camera, which no viewer minds
        try:
            opened = Image.open(BytesIO(content), formats=("PNG", "JPEG"))
        except Exception:  # noqa: BLE001
            # Pillow meets a damaged one with whatever comes
            raise DataError(f"{name[-80:]} is no PNG or JPEG picture that can be read.") from None
    if math.prod(opened.size) > MOST_PIXELS:
        raise DataError(
            f"{name[-80:]} has {opened.size[0]:,}×{opened.size[1]:,} pixels; at most "
            f"{MOST_PIXELS // 1_000_000} million are allowed."
        )
    return opened


def _turn(opened: Image.Image) -> int:
    """The EXIF orientation that stands before the pixels, 1 (upright) where there is none."""
    from PIL import ExifTags, Image

    with warnings.catch_warnings(), suppress(Exception):  # as above: of no picture that is refused
        warnings.simplefilter("ignore")
        # not the PNG reader's, which unpacks all pixels to look behind them
        turn = int(Image.Image.getexif(opened).get(ExifTags.Base.Orientation) or 1)
        return turn if turn in range(2, 9) else 1
    return 1


def shown_size(opened: Image.Image) -> tuple[int, int]:
    """Width and height as viewers show it."""
    width, height = opened.size
    return (height, width) if _turn(opened) >= 5 else (width, height)


def grey_pixels(name: str, opened: Image.Image, side: int) -> FloatArray:
    """The shades of grey (0 to 1) that a viewer shows on white, brought to ``side`` × ``side``
    unless that is 0. Raises ``DataError`` for a damaged picture.
    """
    from PIL import Image

    turn = _turn(opened)
    try:
        if opened.mode.startswith("I"):  # sixteen bits: Pillow itself would cut them off at 255
            deep = np.asarray(opened, dtype=np.float64)
            clear = deep == opened.info.get("transparency", -1)
            opened = Image.fromarray((np.where(clear, 65535, deep) / 257).round().astype(np.uint8))
        elif opened.has_transparency_data:
            layer = opened.convert("RGBA")
            opened = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
        grey = opened.convert("L")
        if turn > 1:
            grey = grey.transpose(Image.Transpose[_TURNS[turn - 2]])
        return resized(grey, side) if side else np.asarray(grey, dtype=np.float64) / 255
    except Exception as error:  # noqa: BLE001
        # as above
        raise DataError(
            f"{name[-80:]} is damaged ({type(error).__name__}); nothing was read."
        ) from None


def resized(grey: Image.Image, side: int) -> FloatArray:
    """The shades (0 to 1) of a ``grey`` picture brought to ``side`` × ``side``."""
    from PIL import Image

    return np.asarray(grey.resize((side, side), Image.Resampling.BILINEAR), dtype=np.float64) / 255
