"""Ratings off a scale that was given, whoever brings them."""

from dpmc_core.errors import DataError
from dpmc_core.wording import counted

__all__ = ["off_scale"]


def off_scale(
    file: str,
    off: int,
    people: int,
    users: int,
    span: tuple[float, float],
    scale: tuple[float, float],
) -> list[str]:
    """What to say of ``off`` ratings, of ``people`` among ``users``, that are off the ``scale`` as
    given and are moved onto it.

    One user's ratings must not decide whether there is a result. Raises ``DataError`` where most
    users have such ratings: then the scale is wrong, or the column.
    """
    (least, most), (low, high) = span, scale
    if 2 * people > users:
        raise DataError(
            f"{file}: ratings run from {least:g} to {most:g}, which is outside the scale of "
            f"{low:g} to {high:g} as chosen; widen the scale, or correct the column."
        )
    said = counted(off, "rating is", "ratings are")
    return [f"{said} off the scale of {low:g} to {high:g} as chosen, and moved onto it."] * bool(
        off
    )
