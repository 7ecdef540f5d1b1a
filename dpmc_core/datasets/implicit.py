"""From ratings to likes, and held-out users.

What counts as liked, and the split by users of item recommendation (dpals-paper D.1, after Liang et
al. 2018).
"""

from dataclasses import dataclass, replace

import numpy as np

from dpmc_core import limits
from dpmc_core.datasets.ratings import Ratings, chances, one_sided
from dpmc_core.errors import DataError

LIKED = (
    0.75  # a rating from here on, as a share of the scale, says that something was liked: 4 of 1–5
)
FEWEST = 5  # likes that a user must have to be held out
QUERY = 0.8  # share of a held-out user's likes that the model may see


@dataclass(frozen=True, eq=False)
class UserSplit:
    """Likes in three parts of one matrix.

    ``train`` of all other users; of the held-out users ``query``, which the model may see when it
    serves them, and ``target``, which it is to find. ``how`` says so in words.
    """

    train: Ratings
    query: Ratings
    target: Ratings
    how: str


def likes(ratings: Ratings) -> Ratings:
    """Only the liked items, each with value 1, on a scale whose middle, 0, is "nothing known".

    Raises ``DataError`` when nothing was liked.
    """
    bar = ratings.low + LIKED * (ratings.high - ratings.low)
    liked = ratings.take(ratings.values >= bar)
    if not len(liked):
        raise DataError(f"{ratings.name}: no rating is {bar:g} or more, so nothing is liked.")
    return replace(liked, values=np.ones(len(liked)), low=-1.0, high=1.0, truth=None)


def user_split(
    ratings: Ratings, fraction: float, seed: int, *, each_alone: bool = False
) -> UserSplit:
    """Hold out a ``fraction`` of the users who liked at least five items, and part each one's likes
    80/20 into query and target.

    With ``each_alone`` each user is held out with that probability, by their own ``chances`` (see
    ``random_split``).

    Raises ``DataError`` when nobody can be held out, or nobody is left; with ``each_alone`` also
    when nobody happens to be, or all are.
    """
    fraction = limits.check("test_fraction", fraction)
    liked = likes(ratings)
    counts = np.bincount(liked.users, minlength=liked.n_users)
    able = np.flatnonzero(counts >= FEWEST)
    if not able.size or able.size == np.count_nonzero(counts) == 1:
        raise DataError(
            f"{ratings.name}: {able.size} users liked {FEWEST} items or more; at least one to "
            "hold out and one to learn from are needed."
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x05E2]))
    held = np.zeros(liked.n_users, dtype=bool)
    most = able.size - (able.size == np.count_nonzero(counts))
    if each_alone:
        mine = chances(liked, seed, of_users=True)[able] < fraction
        if not mine.any() or np.count_nonzero(mine) > most:
            who = f"{ratings.name}: of {able.size:,} users with {FEWEST} likes or more"
            raise DataError(one_sided(who, mine, fraction, seed))
        held[able[mine]] = True
        order = np.argsort(chances(liked, seed))
    else:
        held[rng.permutation(able)[: min(max(1, int(able.size * fraction)), most)]] = True
        order = rng.permutation(len(liked))
    order = order[np.argsort(liked.users[order], kind="stable")]
    place = np.arange(len(liked)) - np.repeat(np.r_[0, np.cumsum(counts)[:-1]], counts)
    seen = np.zeros(len(liked), dtype=bool)
    seen[order] = place < np.floor(QUERY * counts)[liked.users[order]]
    theirs = held[liked.users]
    how = (
        f"{np.count_nonzero(held):,} of {able.size:,} users with {FEWEST} likes or more held "
        f"out (of {np.count_nonzero(counts):,} with any), seed {seed}; {QUERY:.0%} of their "
        f"likes (ratings from {ratings.low + LIKED * (ratings.high - ratings.low):g}) are known "
        "when they are served"
    )
    return UserSplit(
        liked.take(~theirs), liked.take(theirs & seen), liked.take(theirs & ~seen), how
    )
