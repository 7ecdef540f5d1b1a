"""PNG and JPEG pictures as viewers show them: turned upright, on white, in shades of grey."""

from __future__ import annotations

import math
import struct
import warnings
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmc_core.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["grey_pixels", "open_picture", "resized", "shown_size"]

MOST_PIXELS = 16_000_000
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
)
# what brings a picture of each EXIF orientation upright
_TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}


def open_picture(name: str, content: bytes) -> Image.Image:
    """The picture in ``content``, whose pixels are not unpacked yet.

    Raises ``DataError`` for what is none, and for more than 16 million pixels.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged notes of a camera, which no viewer minds
        try:
            opened = Image.open(BytesIO(content), formats=("PNG", "JPEG"))
        except (*_DAMAGED, Image.DecompressionBombError):
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # not the PNG reader's, which unpacks all pixels to look behind them
            turn = Image.Image.getexif(opened).get(ExifTags.Base.Orientation)
        except (*_DAMAGED, struct.error):  # of no picture that viewers refuse
            turn = None
    return turn if turn in _TURNS else 1


def shown_size(opened: Image.Image) -> tuple[int, int]:
    """Width and height as viewers show it."""
    width, height = opened.size
    return (height, width) if _turn(opened) >= 5 else (width, height)


def grey_pixels(name: str, opened: Image.Image, side: int) -> tuple[NDArray[np.float64], bool]:
    """The shades of grey (0 to 1) that a viewer shows on white, and whether white shows through.

    Brought to ``side`` × ``side`` unless that is 0. Raises ``DataError`` for a damaged picture.
    """
    from PIL import Image

    turn, hidden = _turn(opened), False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            if opened.mode.startswith("I"):  # sixteen bits: Pillow itself would cut them off at 255
                deep = np.asarray(opened, dtype=np.float64)
                clear = deep == opened.info.get("transparency", -1)
                hidden = bool(clear.any())
                opened = Image.fromarray(
                    (np.where(clear, 65535, deep) / 257).round().astype(np.uint8)
                )
            elif opened.has_transparency_data:
                layer = opened.convert("RGBA")
                hidden = layer.getextrema()[3][0] < 255
                opened = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
            grey = opened.convert("L")
            if turn > 1:
                grey = grey.transpose(Image.Transpose[_TURNS[turn]])
            shades = resized(grey, side) if side else np.asarray(grey, dtype=np.float64) / 255
            return shades, hidden
        except (*_DAMAGED, Image.DecompressionBombError) as error:
            raise DataError(
                f"{name[-80:]} is damaged ({type(error).__name__}); nothing was read."
            ) from None


def resized(grey: Image.Image, side: int) -> NDArray[np.float64]:
    """The shades (0 to 1) of a ``grey`` picture brought to ``side`` × ``side``."""
    from PIL import Image

    return np.asarray(grey.resize((side, side), Image.Resampling.BILINEAR), dtype=np.float64) / 255
