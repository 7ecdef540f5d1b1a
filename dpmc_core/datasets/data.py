"""What data a run is given: one config for each kind of dataset, and loading it.

A dataset of the catalogue needs nothing here: its config follows from what it holds and from the
``options`` of its entry. What comes of a user's own set is kept with that set, never in a cache.
"""

from dataclasses import replace
from functools import lru_cache

from dpmc_core.datasets import loaders, user_datasets
from dpmc_core.datasets.configs import Data, ImageData, RatingsData, SampleData
from dpmc_core.datasets.ratings import (
    Ratings,
    Split,
    UserSplit,
    random_split,
    some_users,
    user_split,
)
from dpmc_core.datasets.samples import Samples, contaminate
from dpmc_core.errors import DataError

# ratings


# images and documents


def ratings_of(data: RatingsData) -> Ratings:
    """All ratings. Raises ``DatasetMissingError`` or ``DataError``."""
    return _own(data) if user_datasets.is_own(data.dataset) else _ratings(_whole(data))


def split_of(data: RatingsData, seed: int) -> Split:
    """Training and held-out ratings: the published split, or a random one by ``seed``; then only
    those of the share of users who take part.

    Own ratings are held out each alone: which they are is not public, as it is of sets whose split
    anybody can make.
    """
    return some_users(_split_of_all(data, seed), data.user_share, seed)


def _split_of_all(data: RatingsData, seed: int) -> Split:
    if data.split != "random":
        return _published(data.dataset)
    if user_datasets.is_own(data.dataset):
        return user_datasets.find(data.dataset).kept(
            ("split", data.test_fraction, seed),
            lambda: random_split(_own(data), data.test_fraction, seed, each_alone=True),
        )
    return _split(_whole(data), data.test_fraction, seed)


def user_split_of(data: RatingsData, seed: int) -> UserSplit:
    """Likes of training users and of held-out users.

    A share ``test_fraction`` of those who like five items or more is held out, by ``seed``.
    """
    if user_datasets.is_own(data.dataset):
        return user_datasets.find(data.dataset).kept(
            ("users", data.test_fraction, seed),
            lambda: user_split(_own(data), data.test_fraction, seed, each_alone=True),
        )
    return _user_split(_whole(data), data.test_fraction, seed)


def samples_of(data: SampleData, *, clean: bool = False) -> Samples:
    """The images or documents that an algorithm is given; ``clean``: before any corruption.

    Raises ``DatasetMissingError`` or ``DataError``.
    """
    if clean or not isinstance(data, ImageData) or data.contaminated == 0:
        if user_datasets.is_own(data.dataset):
            return user_datasets.find(data.dataset).samples(data.chosen)
        return _samples(uncorrupted(data))
    share, pixels, seed = data.contaminated, data.spoiled_pixels, data.data_seed
    if user_datasets.is_own(data.dataset):
        return user_datasets.find(data.dataset).kept(
            ("spoiled", share, pixels, seed),
            lambda: contaminate(samples_of(data, clean=True), share, pixels, seed),
        )
    return _corrupted(data)


def uncovered_by(data: Data) -> tuple[str, ...]:
    """What a guarantee takes as public and was read off ``data`` itself, which no ε covers."""
    own = user_datasets.current().get(data.dataset)
    if own is not None and own.ratings is not None:
        return tuple(own.ratings.uncovered)
    return ("list of words",) * data.open_words


def forget() -> None:
    """Drop cached data, after a dataset was fetched or replaced."""
    for cached in (_ratings, _published, _split, _user_split, _samples, _corrupted):
        cached.cache_clear()


def _own(data: RatingsData) -> Ratings:
    mine = user_datasets.find(data.dataset)
    if mine.ratings is None:
        raise DataError(f"{mine.entry.title} hold no ratings, which are needed here.")
    return mine.ratings


def _whole(data: RatingsData) -> RatingsData:
    """What the ratings themselves depend on."""
    return replace(data, test_fraction=0.2, user_share=1.0)


def uncorrupted(data: SampleData) -> SampleData:
    """The same data without corruption."""
    return (
        replace(data, contaminated=0.0, spoiled_pixels=0.7) if isinstance(data, ImageData) else data
    )


@lru_cache(maxsize=2)
def _ratings(data: RatingsData) -> Ratings:
    return data.make()


@lru_cache(maxsize=1)
def _published(name: str) -> Split:
    return loaders.published_split(name)


@lru_cache(maxsize=2)
def _split(data: RatingsData, test_fraction: float, seed: int) -> Split:
    return random_split(_ratings(data), test_fraction, seed)


@lru_cache(maxsize=2)
def _user_split(data: RatingsData, test_fraction: float, seed: int) -> UserSplit:
    return user_split(_ratings(data), test_fraction, seed)


@lru_cache(maxsize=2)
def _samples(data: SampleData) -> Samples:
    return data.make()


@lru_cache(maxsize=1)
def _corrupted(data: ImageData) -> Samples:
    clean = _samples(uncorrupted(data))
    return contaminate(clean, data.contaminated, data.spoiled_pixels, data.data_seed)
