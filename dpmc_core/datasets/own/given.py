"""What is known of ratings before any of them is read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.ratings import FACTS
from dpmc_core.errors import DataError
from dpmc_core.wording import counted


@dataclass(frozen=True, kw_only=True)
class Given:
    """The ``items`` by their names (and ``by`` what), the ends ``low`` and ``high`` of the rating
    scale, and how many ``users`` there are at most; None: read off the ratings.
    """

    items: tuple[str, ...] | None = None
    by: str = "given"
    low: float | None = None
    high: float | None = None
    users: int | None = None

    @property
    def public(self) -> dict[str, str]:
        """By what each of them is public."""
        items, users = self.items is not None, self.users is not None
        scale = None not in (self.low, self.high)
        return dict(zip(FACTS, (self.by * items, "given" * scale, "given" * users), strict=True))

    def scale(self, least: float, most: float) -> tuple[float, float]:
        """The ends of the scale, of ratings from ``least`` to ``most``."""
        return (least if self.low is None else self.low, most if self.high is None else self.high)

    def off(self, users: NDArray[Any], values: FloatArray) -> tuple[int, int]:
        """How many of the ``values``, of how many of the ``users``, are off the scale."""
        low, high = self.scale(-np.inf, np.inf)
        off = (values < low) | (values > high)
        return int(off.sum()), len(np.unique(users[off]))

    def check(
        self, where: str, users: int, off: tuple[int, int], least: float, most: float
    ) -> list[str]:
        """What to say of the ratings that are ``off`` the scale, of so many of the ``users``, and
        are moved onto it: one user must not decide whether there is a result.

        Raises ``DataError`` for more users than there are at most.
        """
        low, high = self.scale(least, most)
        if self.users is not None and users > self.users:
            raise DataError(
                f"{where} has {users:,} users, and users = {self.users:,} says that there are no "
                "more than that: state the largest number that is possible."
            )
        sentence = counted(off[0], "rating is", "ratings are")
        sentence += f" off the scale of {low:g} to {high:g} as chosen, and moved onto it."
        if 2 * off[1] > users:
            sentence += (
                f" Most users have such ratings, which run from {least:g} to {most:g}: widen the "
                "scale, or correct the column, if one of them is wrong."
            )
        return [sentence] * bool(off[0])


NOTHING = Given()
