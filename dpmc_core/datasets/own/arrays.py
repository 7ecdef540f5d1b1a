"""What uploaded files of images hold: arrays of NumPy and MATLAB, their headers first, and PNG and
JPEG pictures as viewers show them (upright, on white), in shades of grey.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import io

from dpmc_core.datasets.loaders import read_matlab
from dpmc_core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from PIL import Image

MOST_NUMBERS = 30_000_000
MOST_PIXELS = 16_000_000
# what brings pictures of the EXIF orientations 2 to 8 upright
_TURNS = (
    *("FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM"),
    *("TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90"),
)
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


def variables_of(file: str, data: bytes) -> dict[str, tuple[int, ...]]:
    """The variables of a MATLAB file that could hold images, with their shapes.

    Raises ``DataError``.
    """
    if not file.lower().endswith(".mat"):
        raise DataError(
            f"{file} is no file of images that is known here: a zip archive of PNG or JPEG, NPY "
            "or MAT is allowed."
        )
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


def grey_pixels(name: str, opened: Image.Image, side: int) -> NDArray[np.float64]:
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


def resized(grey: Image.Image, side: int) -> NDArray[np.float64]:
    """The shades (0 to 1) of a ``grey`` picture brought to ``side`` × ``side``."""
    from PIL import Image

    return np.asarray(grey.resize((side, side), Image.Resampling.BILINEAR), dtype=np.float64) / 255
