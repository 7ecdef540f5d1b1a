"""Archives of pictures, arrays and MATLAB files to images.

Lives here: grey images of one size from whatever holds them, checked before anything large is made. Does not live here: their columns
(``datasets.samples``) or built-in sets (``datasets.images``).
"""

import math
import warnings
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from PIL import Image
from scipy import io

from dpmc_core.datasets.own.archive import is_archive, members
from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DataError, ParameterError

__all__ = ["ImagesReading", "guess_images", "images_of", "variables_of"]

MOST_NUMBERS, MOST_PIXELS, LARGEST = 30_000_000, 16_000_000, 128
ROWS = {"images": "one image a row", "pixels": "one image a column"}
ORDERS = {"rows": "row by row", "columns": "column by column (as MATLAB does)"}
_scipy_io: Any = io  # its stubs know paths only; it reads streams as well
_LIKELY = ("images", "faces", "fea", "x", "data", "m", "v")
_BRIGHTEST = 1e12
# what Pillow meets a damaged picture with
_DAMAGED = (
    OSError,
    ValueError,
    TypeError,
    SyntaxError,
    IndexError,
    KeyError,
    OverflowError,
    EOFError,
    Warning,
    Image.DecompressionBombError,
)
_SIDE = 32  # what pictures of different sizes are brought to, unless another is chosen


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagesReading:
    """How images are read. ``side`` brings every image to side × side pixels (0: left as they are, which needs them to be of one size). For MATLAB files ``variable`` is the
    one that holds them; where they lie flat ``rows`` says whether a row is an image or a pixel, and ``order`` in which order an image's pixels are."""

    side: int = 0
    variable: str = ""
    rows: str = "images"
    order: str = "rows"

    def __post_init__(self) -> None:
        for name, allowed in (("rows", ROWS), ("order", ORDERS)):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(allowed))
        try:
            side = int(self.side)
        except (TypeError, ValueError):
            side = -1
        if side != 0 and not 4 <= side <= LARGEST:
            raise ParameterError(
                "side", self.side, f"0 (as they are) or a whole number from 4 to {LARGEST}"
            )
        object.__setattr__(self, "side", side)


def guess_images(file: str, data: bytes) -> ImagesReading:
    """How ``data`` is probably meant."""
    if is_archive(file, data):
        sizes = {
            _opened(name, content).size
            for name, content in members(file, data, (".png", ".jpg", ".jpeg"))
        }
        largest = max(max(size) for size in sizes)
        return ImagesReading(side=_SIDE if len(sizes) > 1 or largest > LARGEST else 0)
    if data[:6] == npy.MAGIC_PREFIX:
        shape, _ = _header(file, data)
        flat = len(shape) == 2 and not _square(shape[1]) and _square(shape[0])
        return ImagesReading(rows="pixels" if flat else "images")
    known = variables_of(file, data)
    name = min(
        known,
        key=lambda n: (
            _LIKELY.index(n.lower()) if n.lower() in _LIKELY else len(_LIKELY),
            -math.prod(known[n]),
        ),
    )
    shape = known[name]
    if len(shape) == 2:
        return ImagesReading(
            variable=name, rows="images" if _square(shape[1]) else "pixels", order="columns"
        )
    return ImagesReading(variable=name, rows="pixels" if shape[2] > max(shape[:2]) else "images")


def variables_of(file: str, data: bytes) -> dict[str, tuple[int, ...]]:
    """The variables of a MATLAB file that could hold images, with their shapes. Raises ``DataError``."""
    found = _matlab(file, lambda: _scipy_io.whosmat(BytesIO(data)))
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


def images_of(file: str, data: bytes, reading: ImagesReading, title: str) -> Samples:
    """The images in ``data`` as columns. Raises ``DataError`` for what cannot be read or is too large (30 million numbers, 128×128 pixels), fewer than five
    images, and images of different sizes without a ``side``; ``ParameterError`` for a variable that is not there."""
    notes: tuple[str, ...] = ()
    if is_archive(file, data):
        stack, labels, notes = _pictures(file, data, reading.side)
    else:
        labels = ()
        table = (
            _array(file, data)
            if data[:6] == npy.MAGIC_PREFIX
            else _variable(file, data, reading.variable)
        )
        stack = _stack(file, table, reading)
        if reading.side and stack.shape[1:] != (reading.side, reading.side):
            if not np.isfinite(stack).all() or stack.min() < 0:
                raise DataError(
                    f"{file} holds pixels below 0 or without a value; only numbers from 0 on are allowed."
                )
            # each by its own brightest pixel: no image may say anything about the shades of another one
            stack = np.stack(
                [
                    _brought(
                        Image.fromarray((255 * x / (float(x.max()) or 1.0)).astype(np.uint8)),
                        reading.side,
                    )
                    for x in stack
                ]
            )
            notes = (
                f"Images were brought to {reading.side}×{reading.side} pixels and 256 shades of grey, each by its own brightest pixel.",
            )
    if len(stack) < 5:
        raise DataError(f"{file} holds {len(stack)} images as read; at least 5 are needed.")
    if max(stack.shape[1:]) > LARGEST or stack.size > MOST_NUMBERS:
        raise DataError(
            f"{file} holds {len(stack):,} images of {stack.shape[1]}×{stack.shape[2]} pixels; at most {LARGEST}×{LARGEST} and {MOST_NUMBERS // 1_000_000} million pixels in all "
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
    total = 0
    for name, content in members(file, data, (".png", ".jpg", ".jpeg")):
        opened = _opened(name, content)
        sizes.add(opened.size)
        total += side * side if side else math.prod(opened.size)
        if total > MOST_NUMBERS:
            raise DataError(
                f"{file} holds more than {MOST_NUMBERS // 1_000_000} million pixels; choose a smaller side, or fewer images."
            )
        if len(sizes) > 1 and not side:
            (w, h), (x, y) = sorted(sizes)[:2]
            raise DataError(
                f"{file} holds images of different sizes ({w}×{h} and {x}×{y} pixels): choose a side to bring all of them to."
            )
        found.append(_pixels(name, opened, side))
        folders.append(name.replace("\\", "/").rpartition("/")[0].rpartition("/")[2])
    notes = (
        (f"Images were brought to {side}×{side} pixels, their proportions not kept.",)
        if side and sizes != {(side, side)}
        else ()
    )
    labels = tuple(folder[:80] for folder in folders) if len(set(folders)) > 1 else ()
    return np.stack(found), labels, notes


def _opened(name: str, content: bytes) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Pillow warns of images that unpack to too much
        try:
            opened = Image.open(BytesIO(content), formats=("PNG", "JPEG"))
        except _DAMAGED:
            raise DataError(f"{name[-80:]} is no PNG or JPEG picture that can be read.") from None
    if math.prod(opened.size) > MOST_PIXELS:
        raise DataError(
            f"{name[-80:]} has {opened.size[0]:,}×{opened.size[1]:,} pixels; at most {MOST_PIXELS // 1_000_000} million are allowed."
        )
    return opened


def _pixels(name: str, opened: Image.Image, side: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            if opened.mode.startswith("I"):  # sixteen bits: Pillow itself would cut them off at 255
                opened = Image.fromarray(
                    (np.asarray(opened, dtype=np.float64) / 257).round().astype(np.uint8)
                )
            grey = opened.convert("L")
            return _brought(grey, side) if side else np.asarray(grey, dtype=np.float64) / 255
        except _DAMAGED as error:
            raise DataError(
                f"{name[-80:]} is damaged ({type(error).__name__}); nothing was read."
            ) from None


def _brought(grey: Image.Image, side: int) -> NDArray[np.float64]:
    return np.asarray(grey.resize((side, side), Image.Resampling.BILINEAR), dtype=np.float64) / 255


def _header(file: str, data: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of a ``.npy`` file, checked before anything of that size is made."""
    stream = BytesIO(data)
    try:
        version = npy.read_magic(stream)
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if reader is None:
            raise ValueError(f"version {version}")
        shape, _, kind = reader(stream)
    except Exception as error:  # noqa: BLE001 - NumPy parses the header as Python, and meets a damaged one with whatever comes
        raise DataError(
            f"{file} cannot be read as a NumPy file ({type(error).__name__})."
        ) from None
    if kind.hasobject or kind.kind not in "buif":
        raise DataError(
            f"{file} holds {kind}; an array of numbers is allowed (objects would be a pickle, which is never read)."
        )
    if len(shape) not in (2, 3, 4) or 0 in shape:
        raise DataError(f"{file} has shape {shape}; N × height × width, or N × pixels, is allowed.")
    if (
        math.prod(shape) > 4 * MOST_NUMBERS
        or math.prod(shape) * kind.itemsize > len(data) - stream.tell()
    ):
        raise DataError(
            f"{file} declares {math.prod(shape):,} numbers; that is more than it holds or than is allowed."
        )
    return shape, kind


def _array(file: str, data: bytes) -> NDArray[Any]:
    _header(file, data)
    try:
        return np.asarray(np.load(BytesIO(data), allow_pickle=False))
    except (ValueError, TypeError, EOFError, OSError) as error:
        raise DataError(
            f"{file} cannot be read as a NumPy file ({type(error).__name__})."
        ) from None


def _variable(file: str, data: bytes, name: str) -> NDArray[Any]:
    known = variables_of(file, data)
    if name not in known:
        raise ParameterError("variable", name, "one of the file's: " + ", ".join(known))
    if math.prod(known[name]) > 4 * MOST_NUMBERS:
        raise DataError(
            f"{file}: {name} holds {math.prod(known[name]):,} numbers; at most {4 * MOST_NUMBERS:,} are allowed."
        )
    held = _matlab(file, lambda: _scipy_io.loadmat(BytesIO(data), variable_names=[name]))
    table = held.get(name)
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "buif":
        raise DataError(f"{file}: {name} is no full array of real numbers.")
    return table


def _matlab(file: str, read: Any) -> Any:
    if file.lower().endswith(".mat") is False:
        raise DataError(
            f"{file} is no file of images that is known here: a zip archive of PNG or JPEG, NPY or MAT is allowed."
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
    except Exception as error:  # noqa: BLE001 - SciPy's reader meets a damaged file with whatever comes
        raise DataError(
            f"{file} cannot be read as a MATLAB file ({type(error).__name__})."
        ) from None


def _stack(file: str, table: NDArray[Any], reading: ImagesReading) -> NDArray[np.float64]:
    """N × height × width, whatever lay flat or in colour."""
    if table.ndim == 4:
        if table.shape[3] not in (1, 3, 4):
            raise DataError(
                f"{file} has shape {table.shape}; the last of four sides must be 1, 3 or 4 colours."
            )
        table = table[..., :3].mean(axis=3)
    if table.ndim == 3:
        return np.asarray(
            table if reading.rows == "images" else np.moveaxis(table, 2, 0), dtype=np.float64
        )
    flat = table if reading.rows == "images" else table.T
    side = math.isqrt(flat.shape[1])
    if side * side != flat.shape[1]:
        raise DataError(
            f"{file}: images of {flat.shape[1]:,} pixels are not square, and it does not say how they lie; give them as N × height × width, or choose {ROWS['pixels' if reading.rows == 'images' else 'images']!r}."
        )
    stack = np.asarray(flat, dtype=np.float64).reshape(-1, side, side)
    return stack.transpose(0, 2, 1) if reading.order == "columns" else stack


def _square(number: int) -> bool:
    return math.isqrt(number) ** 2 == number
