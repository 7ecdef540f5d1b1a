"""From a config to data: which config describes which kind of dataset, and loading it.

A dataset of the catalogue needs nothing here: its config follows from what it holds and from the
``options`` of its entry. What comes of a user's own set is kept with that set, never in a cache.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, TypeVar

from dpmc_core.datasets import loaders, user_datasets
from dpmc_core.datasets.configs import Data, ImageData, RatingsData, SampleData
from dpmc_core.datasets.ratings import (
    MOST_RATED,
    Ratings,
    Split,
    UserSplit,
    leave_out,
    most_rated,
    random_split,
    some_users,
    user_split,
)
from dpmc_core.datasets.samples import Samples, contaminate, unit_maximum
from dpmc_core.errors import DataError

Made = TypeVar("Made")


def cached(make: Callable[..., Made], data: Data, *given: object, most: int = 2) -> Made:
    """``make(data, *given)``, or what it gave before: of a user's own set kept with that set, of
    others by this process, the latest ``most`` of them (the largest sets take a gigabyte each).
    """
    if user_datasets.is_own(data.dataset):
        mine = user_datasets.find(data.dataset)
        return mine.cached((make.__name__, data, *given), lambda: make(data, *given))
    return _shared(make, most)(data, *given)


@cache
def _shared(make: Callable[..., Any], most: int) -> Callable[..., Any]:
    """``make`` with a memory of its own."""
    return lru_cache(maxsize=most)(make)


def _make(data: Any) -> Any:
    return data.make()


def ratings_of(data: RatingsData) -> Ratings:
    """All ratings, or those of the most rated items.

    Raises ``DatasetMissingError`` or ``DataError``.
    """
    if data.top_items is not None:
        return cached(_most_rated, _whole(data))
    if not user_datasets.is_own(data.dataset):
        return cached(_make, _whole(data))
    mine = user_datasets.find(data.dataset)
    if mine.ratings is None:
        raise DataError(f"{mine.entry.title} hold no ratings, which are needed here.")
    return mine.ratings


def split_of(data: RatingsData, seed: int) -> Split:
    """Training and held-out ratings: a random split or some ratings of each user, by ``seed``, the
    latest or the published split; then only those of the share of users who take part.

    Own ratings are held out each alone: which they are is not public, as it is of sets whose split
    anybody can make.
    """
    whole = _whole(data)
    if data.split == "random":
        split = cached(_split, whole, data.test_fraction, seed)
    elif data.split == "leave-k-out":
        split = cached(_left_out, whole, data.left_out, seed)
    else:
        split = cached(_published, whole, data.split, data.test_fraction)
    return some_users(split, data.user_share, seed)


def user_split_of(data: RatingsData, seed: int) -> UserSplit:
    """Likes of training users and of held-out users.

    A share ``test_fraction`` of those who like five items or more is held out, by ``seed``.
    """
    return cached(_user_split, _whole(data), data.test_fraction, seed)


def samples_of(data: SampleData, *, clean: bool = False) -> Samples:
    """The images or documents that an algorithm is given; ``clean``: before any corruption.

    Raises ``DatasetMissingError`` or ``DataError``.
    """
    if not clean and data.contaminated:
        return cached(_corrupted, data)
    if data.normalisation == "maximum":
        return cached(_of_unit_maximum, uncorrupted(data))
    if user_datasets.is_own(data.dataset):
        return user_datasets.find(data.dataset).samples(data.chosen)
    return cached(_make, uncorrupted(data))


def uncovered_by(data: Data) -> tuple[str, ...]:
    """What a guarantee takes as public and was read off ``data`` itself, which no ε covers."""
    own = user_datasets.current().get(data.dataset)
    cut = getattr(data, "top_items", None) is not None
    if own is not None and own.ratings is not None:
        return (*own.ratings.uncovered, *(MOST_RATED,) * cut)
    return ("list of words",) * data.open_words + (MOST_RATED,) * (cut and data.synthetic)


def forget() -> None:
    """Drop cached data, after a dataset was fetched or replaced."""
    _shared.cache_clear()


def _whole(data: RatingsData) -> RatingsData:
    """What the ratings themselves depend on."""
    return replace(data, split="random", test_fraction=0.2, left_out=1, user_share=1.0)


def uncorrupted(data: SampleData) -> SampleData:
    """The same data without corruption."""
    if not isinstance(data, ImageData):
        return data
    return replace(data, contaminated=0.0, spoiled_pixels=0.7, corruption="uniform")


def _most_rated(data: RatingsData, part: Ratings | None = None) -> Ratings:
    """The most rated items of a ``part`` of the ratings (None: of all)."""
    whole = ratings_of(replace(data, top_items=None))
    return most_rated(whole if part is None else part, whole, data.top_items or whole.n_items)


def _published(data: RatingsData, split_name: str, fraction: float) -> Split:
    if split_name == "u1":
        split = loaders.published_split(data.dataset)
    else:
        split = loaders.latest_split(data.dataset, fraction)
    if data.top_items is None:
        return split
    train, test = (_most_rated(data, part) for part in (split.train, split.test))
    return replace(split, train=train, test=test)


def _split(data: RatingsData, test_fraction: float, seed: int) -> Split:
    own = user_datasets.is_own(data.dataset)
    return random_split(ratings_of(data), test_fraction, seed, each_alone=own)


def _left_out(data: RatingsData, count: int, seed: int) -> Split:
    return leave_out(ratings_of(data), count, seed)


def _user_split(data: RatingsData, test_fraction: float, seed: int) -> UserSplit:
    own = user_datasets.is_own(data.dataset)
    return user_split(ratings_of(data), test_fraction, seed, each_alone=own)


def _of_unit_maximum(data: SampleData) -> Samples:
    return unit_maximum(samples_of(replace(data, normalisation="length")))


def _corrupted(data: ImageData) -> Samples:
    clean = samples_of(data, clean=True)
    given = data.contaminated, data.spoiled_pixels, data.data_seed, data.corruption
    return contaminate(clean, *given)
