"""Ratings of the same people, of one less, and of one more who is odd."""

import numpy as np

Row = tuple[int, int, float]
SOLE: list[Row] = [(99, 10, 1), (99, 3, 4), (99, 4, 4)]
ODD: list[Row] = [(99, 77, 5), (99, 3, 1e9), (99, 4, 4)]


def neighbours() -> dict[str, list[Row]]:
    """User, film and rating: of the films 0 to 11 nobody of sixty users rates the last, and one
    user alone the one before.
    """
    rng = np.random.default_rng(5)
    usual = [
        (user, int(film), float(rng.integers(2, 5)))
        for user in range(60)
        for film in rng.choice(10, 7, replace=False)
    ]
    without = [row for row in usual if row[0] != 7]
    return {"usual": usual, "without": without, "sole": usual + SOLE, "odd": usual + ODD}
