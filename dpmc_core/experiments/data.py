"""From a spec to its training and held-out ratings.

Lives here: loading or generating, splitting, and a small cache, so that three configurations on one dataset load it
once. What comes of somebody's own set is kept with that set and never in a cache of the process. Does not live here: file formats or generators (``dpmc_core.datasets``).
"""

from functools import lru_cache

from dpmc_core.datasets import loaders, synthetic
from dpmc_core.datasets import user_datasets as shelf
from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.implicit import UserSplit, user_split
from dpmc_core.datasets.ratings import Ratings, Split, random_split
from dpmc_core.errors import DataError
from dpmc_core.experiments.spec import RunSpec

__all__ = ["dataset_of", "forget", "sizes_of", "split_of", "user_split_of"]

Key = tuple[str | int | float, ...]


def dataset_of(spec: RunSpec) -> Ratings:
    """All ratings of the spec's dataset. Raises ``DatasetMissingError`` or ``DataError``."""
    return _own(spec.dataset) if shelf.is_own(spec.dataset) else _load(_data_key(spec))


def split_of(spec: RunSpec) -> Split:
    """Training and held-out ratings: the published u1 split, or a random one by ``test_fraction`` and ``seed``."""
    if spec.split == "u1":
        return _published(spec.dataset)
    if shelf.is_own(spec.dataset):
        key = ("split", spec.test_fraction, spec.seed)
        return shelf.find(spec.dataset).kept(
            key, lambda: random_split(_own(spec.dataset), spec.test_fraction, spec.seed)
        )
    return _split(_data_key(spec), spec.test_fraction, spec.seed)


def user_split_of(spec: RunSpec) -> UserSplit:
    """Likes of training users and of held-out users: by ``seed`` a share ``test_fraction`` of those who like five items or more."""
    if shelf.is_own(spec.dataset):
        key = ("users", spec.test_fraction, spec.seed)
        return shelf.find(spec.dataset).kept(
            key, lambda: user_split(_own(spec.dataset), spec.test_fraction, spec.seed)
        )
    return _user_split(_data_key(spec), spec.test_fraction, spec.seed)


def sizes_of(spec: RunSpec) -> tuple[int, int]:
    """Rows and columns of the spec's matrix, from the spec or the catalogue: no rating is read."""
    known = entry(spec.dataset)
    return (spec.n_users, spec.n_items) if known.synthetic else (known.users, known.items)


def forget() -> None:
    """Drop cached data, after a dataset was fetched or replaced."""
    _load.cache_clear()
    _split.cache_clear()
    _user_split.cache_clear()
    _published.cache_clear()


def _own(name: str) -> Ratings:
    ratings = shelf.find(name).ratings
    if ratings is None:
        raise DataError(f"{shelf.find(name).entry.title} hold no ratings, which are needed here.")
    return ratings


def _data_key(spec: RunSpec) -> Key:
    if spec.dataset == "low-rank":
        return (
            spec.dataset,
            spec.n_users,
            spec.n_items,
            spec.true_rank,
            spec.observed,
            spec.value_scale,
            spec.data_seed,
        )
    if spec.dataset == "orthogonal":
        return (
            spec.dataset,
            spec.n_users,
            spec.n_items,
            spec.true_rank,
            spec.observed,
            spec.data_seed,
        )
    if spec.dataset == "skewed":
        shape = (spec.n_users, spec.n_items, spec.n_ratings, spec.true_rank)
        return (spec.dataset, *shape, spec.popularity, spec.noise_floor, spec.data_seed)
    return (spec.dataset, spec.zeros if spec.dataset == "sweetrs" else "")


@lru_cache(maxsize=2)
def _load(key: Key) -> Ratings:
    name, *rest = key
    if name == "low-rank":
        n_users, n_items, rank, observed, scale, seed = rest
        return synthetic.low_rank(
            int(n_users),
            int(n_items),
            rank=int(rank),
            observed=float(observed),
            value_scale=float(scale),
            seed=int(seed),
        )
    if name == "orthogonal":
        n_users, n_items, rank, observed, seed = rest
        return synthetic.orthogonal(
            int(n_users), int(n_items), rank=int(rank), observed=float(observed), seed=int(seed)
        )
    if name == "skewed":
        n_users, n_items, n_ratings, rank, popularity, floor, seed = rest
        return synthetic.skewed(
            int(n_users),
            int(n_items),
            int(n_ratings),
            rank=int(rank),
            popularity=float(popularity),
            noise_floor=float(floor),
            seed=int(seed),
        )
    return loaders.load(str(name), zeros=str(rest[0]) or "missing")


@lru_cache(maxsize=1)
def _published(name: str) -> Split:
    return loaders.published_split(name)


@lru_cache(maxsize=2)
def _split(key: Key, test_fraction: float, seed: int) -> Split:
    return random_split(_load(key), test_fraction, seed)


@lru_cache(maxsize=2)
def _user_split(key: Key, test_fraction: float, seed: int) -> UserSplit:
    return user_split(_load(key), test_fraction, seed)
