"""Ratings in coordinate form, checked once: what every loader returns and every solver takes; what
is public of them, the ground truth of synthetic data, and splits.

For item recommendation: what counts as liked, and the split by users (dpals-paper D.1, after Liang
et al. 2018).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core import limits
from dpmc_core.arrays import BoolArray, FloatArray, IntArray
from dpmc_core.errors import DataError
from dpmc_core.wording import printable

_SHOWN = 80  # characters of a label


@dataclass(frozen=True, eq=False)
class Truth:
    """The matrix behind synthetic ratings, M = left·rightᵀ (left n_users×k, right n_items×k),
    without rating noise.

    ``noise_floor`` is the standard deviation of the rating noise: no predictor's expected held-out
    RMSE is below it.
    """

    left: FloatArray
    right: FloatArray
    noise_floor: float


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """What is publicly known of each item: ``values`` (n_items×p), a column for each of ``names``.

    Nothing in it may come from anybody's ratings: private solvers read it as it is.
    """

    names: tuple[str, ...]
    values: FloatArray

    @classmethod
    def checked(
        cls, names: Sequence[str], values: Any, n_items: int, where: str = "item features"
    ) -> "ItemFeatures":
        """Raises ``DataError`` that names the first offending item or column: other items than
        ``n_items``, text, NaN or infinite numbers, no column or one that is named twice.
        """
        try:
            table = np.array(values, dtype=np.float64, ndmin=2)
        except (TypeError, ValueError):
            raise DataError(f"{where}: all features must be numbers, not text.") from None
        if table.ndim != 2 or table.shape[1] != len(names) or not len(names):
            raise DataError(
                f"{where}: {table.shape} numbers where a row for each item and a column for each "
                f"of {len(names)} names are needed, at least one."
            )
        if len(table) != n_items:
            raise DataError(
                f"{where}: {len(table):,} items where the ratings have {n_items:,}; each needs a "
                "row."
            )
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise DataError(f"{where}: the column {twice!r} is there twice.")
        for item, column in np.argwhere(~np.isfinite(table)):
            raise DataError(
                f"{where}: {names[column]} of item {item + 1} is {table[item, column]}; features "
                "must be finite numbers (0 where nothing is known)."
            )
        return cls(tuple(names), table)

    @property
    def fact(self) -> dict[str, str]:
        """What a statement says of them."""
        names = f"item features {', '.join(self.names)}"
        return {names: "given; nothing in them may come from anybody's ratings"}

    @property
    def scaled(self) -> FloatArray:
        """The columns that vary, centred and within ±1 (n_items×q): a rare genre weighs no more
        for being rare.
        """
        largest = np.abs(self.values).max(axis=0)
        within = self.values / np.where(largest > 0, largest, 1.0)  # their sums are numbers
        centred = within - within.mean(axis=0)
        most = np.abs(centred).max(axis=0)
        varies = most > 1e-9
        return np.asarray(centred[:, varies] / most[varies])


FACTS = ("item list", "scale", "number of users")
MOST_RATED, PUBLISHED = "list of the most rated items", "public by publication"


@dataclass(frozen=True, eq=False)
class Ratings:
    """``values[k]`` is what user ``users[k]`` gave item ``items[k]``; every pair at most once.

    ``n_users`` and ``n_items`` are rows and columns of the matrix, of which any may be empty.
    ``low`` and ``high`` bound the rating scale (predictions may be clipped to it). Labels are
    optional and parallel to the item or user numbers. ``drawn_by`` (n_users,) are numbers by which
    chance tells users apart, independent of other users (None: as ``drawing_numbers`` says).
    ``public`` says by what each of the ``FACTS`` that solvers read without noise is public; ""
    where it was read off the ratings, so that one user may change it.
    ``Ratings.checked`` validates; the plain constructor trusts its caller.
    """

    users: IntArray
    items: IntArray
    values: FloatArray
    n_users: int
    n_items: int
    low: float
    high: float
    name: str = "ratings"
    item_labels: Sequence[str] = field(default=())
    user_labels: Sequence[str] = field(default=())
    truth: Truth | None = None
    item_features: ItemFeatures | None = None
    drawn_by: NDArray[np.uint64] | None = None
    public: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(FACTS, ""))

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The facts that were read off the ratings, which no ε covers."""
        return tuple(fact for fact, by in self.public.items() if not by)

    @property
    def numbers(self) -> tuple[NDArray[Any], ...]:
        """All that the ratings are made of: users, items, values."""
        return self.users, self.items, self.values

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def density(self) -> float:
        """Share of the matrix that is observed."""
        return len(self) / (self.n_users * self.n_items)

    @property
    def width(self) -> float:
        """How wide the rating scale is."""
        return self.high - self.low

    @property
    def per_user(self) -> IntArray:
        """How many ratings each user has (n_users,)."""
        return np.bincount(self.users, minlength=self.n_users)

    @property
    def per_item(self) -> IntArray:
        """How many ratings each item has (n_items,)."""
        return np.bincount(self.items, minlength=self.n_items)

    def by_user(self, values: FloatArray) -> FloatArray:
        """The sum over each user (n_users,) of ``values``, one for each rating."""
        return np.bincount(self.users, values, self.n_users).astype(np.float64)

    def by_item(self, values: FloatArray) -> FloatArray:
        """The sum over each item (n_items,) of ``values``, one for each rating."""
        return np.bincount(self.items, values, self.n_items).astype(np.float64)

    def predicted_by(self, model: Any) -> FloatArray:
        """What a ``model`` with ``predict(users, items)`` says of each rating."""
        return np.asarray(model.predict(self.users, self.items))

    def table(self, values: FloatArray) -> sparse.csr_array:
        """``values``, one for each rating, as a table (n_users×n_items), zero elsewhere."""
        shape = self.n_users, self.n_items
        return sparse.csr_array((values, (self.users, self.items)), shape=shape)

    def item_label(self, item: int) -> str:
        """The item's title as it is shown, or "item 7" where there is none."""
        return _label(self.item_labels, item, "item")

    def user_label(self, user: int) -> str:
        """The user's label as it is shown, or "user 7" where there is none."""
        return _label(self.user_labels, user, "user")

    @property
    def drawing_numbers(self) -> NDArray[np.uint64]:
        """A number of each user that depends on nobody else's being there: by their labels, or
        where there are none by their place in the matrix, which is then public.
        """
        if self.drawn_by is not None:
            return self.drawn_by
        if len(self.user_labels):
            return label_hashes(self.n_users, self.user_labels, "lottery")
        return np.arange(self.n_users, dtype=np.uint64)

    def take(self, index: IntArray | BoolArray) -> "Ratings":
        """The ratings at ``index``, in the same matrix."""
        return replace(
            self, users=self.users[index], items=self.items[index], values=self.values[index]
        )

    def renumbered(self, places: IntArray, n_items: int) -> "Ratings":
        """The ratings of the items that have one of the ``places`` (n_items,; -1: none), in a
        matrix of ``n_items`` in which they stand there.
        """
        items = places[self.items]
        return replace(self.take(items >= 0), items=items[items >= 0], n_items=n_items)

    @classmethod
    def checked(
        cls,
        users: IntArray,
        items: IntArray,
        values: NDArray[np.floating] | IntArray,
        *,
        n_users: int | None = None,
        n_items: int | None = None,
        low: float | None = None,
        high: float | None = None,
        name: str = "ratings",
        **about: Any,
    ) -> "Ratings":
        """Validated ratings; sizes default to the largest number + 1, the scale to the smallest and
        largest value. What is given is taken as public. ``about`` are other fields: labels, truth,
        features.

        Raises ``DataError``, naming the first offending rating, for: arrays of unequal length, no
        rating at all, NaN or infinite values, negative or too large user or item numbers, a pair
        rated twice.
        """
        users, items = np.asarray(users), np.asarray(items)
        scores = np.asarray(values, dtype=np.float64)
        if not users.shape == items.shape == scores.shape or users.ndim != 1:
            raise DataError(
                f"{name}: users, items and values must be lists of one length, not "
                f"{users.shape}, {items.shape} and {scores.shape}."
            )
        if scores.size == 0:
            raise DataError(f"{name}: there is no rating in it; at least one is needed.")
        for k in np.flatnonzero(~np.isfinite(scores)):
            raise DataError(
                f"{name}: rating number {k + 1} (user {users[k]}, item {items[k]}) is "
                f"{scores[k]}; ratings must be finite numbers."
            )
        given = n_items is not None, None not in (low, high), n_users is not None
        public = dict(zip(FACTS, ("given" * one for one in given), strict=True))
        n_users = int(users.max()) + 1 if n_users is None else n_users
        n_items = int(items.max()) + 1 if n_items is None else n_items
        for what, numbers, count in (("user", users, n_users), ("item", items, n_items)):
            for k in np.flatnonzero((numbers < 0) | (numbers >= count)):
                raise DataError(
                    f"{name}: rating number {k + 1} has {what} {numbers[k]}; allowed are 0 to "
                    f"{count - 1}."
                )
        pairs = np.sort(users.astype(np.int64) * n_items + items)
        for pair in pairs[1:][pairs[1:] == pairs[:-1]]:
            user, item = divmod(int(pair), n_items)
            raise DataError(
                f"{name}: user {user} rates item {item} more than once; each pair may occur once."
            )
        return cls(
            users.astype(np.int32),
            items.astype(np.int32),
            scores,
            n_users,
            n_items,
            float(scores.min()) if low is None else low,
            float(scores.max()) if high is None else high,
            name,
            public=public,
            **about,
        )


def most_rated(ratings: Ratings, whole: Ratings, count: int) -> Ratings:
    """The ratings of the ``count`` items that have most in ``whole`` (all where there are no more),
    of equal ones the first, in a matrix of these items alone, in their order.

    Who rated is counted without noise: the list of items is public only where the ratings are.
    """
    chosen = np.sort(np.argsort(-whole.per_item, kind="stable")[:count])
    places = places_among(np.arange(ratings.n_items), chosen).astype(np.int32)
    part = ratings.renumbered(places, chosen.size)
    truth, features, labels = part.truth, part.item_features, part.item_labels
    by = part.public[FACTS[0]]
    return replace(
        part,
        item_labels=tuple(labels[k] for k in chosen) if len(labels) else (),
        truth=truth and replace(truth, right=truth.right[chosen]),
        item_features=features and replace(features, values=features.values[chosen]),
        public={**part.public, MOST_RATED: by if by == PUBLISHED else ""},
    )


def places_of(names: Iterable[str], listed: Sequence[str]) -> IntArray:
    """Where each of ``names`` stands in the list (-1: nowhere), as ``renumbered`` takes it."""
    place = {name: k for k, name in enumerate(listed)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int32)


def places_among(ids: NDArray[Any], listed: NDArray[Any]) -> IntArray:
    """Where each of ``ids`` is among the sorted ids ``listed``; −1 where it is not."""
    place = np.minimum(np.searchsorted(listed, ids), len(listed) - 1)
    return np.where(listed[place] == ids, place, -1)


def _label(labels: Sequence[str], k: int, what: str) -> str:
    return printable(labels[k] if k < len(labels) else f"{what} {k + 1}")[:_SHOWN]


@dataclass(frozen=True, eq=False)
class Split:
    """Training and held-out ratings of one matrix, and how they were parted."""

    train: Ratings
    test: Ratings
    how: str


def chances(ratings: Ratings, seed: int, *, of_users: bool = False) -> FloatArray:
    """A number in [0, 1) for each rating (n,), or ``of_users`` for each user (n_users,), that looks
    uniform and depends on nothing but its user's and item's labels and ``seed``.
    """
    who = label_hashes(ratings.n_users, ratings.user_labels, f"user {seed}")
    if of_users:
        return who / 2.0**64
    what = label_hashes(ratings.n_items, ratings.item_labels, f"item {seed}")
    # multiplied, so that neither a user nor an item has one chance for all; then mixed (Stafford)
    return spread_bits(who[ratings.users] * (what[ratings.items] | np.uint64(1))) / 2.0**64


def spread_bits(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each number with its bits spread over all of it: the end of SplitMix64 (Stafford)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def label_hashes(count: int, labels: Sequence[str], purpose: str) -> NDArray[np.uint64]:
    """64 bits of each of ``count`` labels (or numbers, where there are none), by ``purpose``."""
    key = hashlib.blake2b(purpose.encode()).digest()
    return hashes((labels[k] if k < len(labels) else f"{k}" for k in range(count)), key)


def hashes(names: Iterable[str], key: bytes) -> NDArray[np.uint64]:
    """64 bits of each name, by ``key``."""
    digests = (
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def one_sided(of_what: str, held_out: BoolArray, fraction: float, seed: int) -> str:
    """What to say where all of those that are held out each alone fall on one side."""
    most = bool(held_out.all())
    return (
        f"{of_what} {'all' if most else 'none'} are held out with seed {seed}, each with "
        f"probability {fraction:g} and on its own; another seed or a "
        f"{'smaller' if most else 'larger'} share held out parts them."
    )


def random_split(
    ratings: Ratings, test_fraction: float, seed: int, *, each_alone: bool = False
) -> Split:
    """Hold out ⌊n·fraction⌋ ratings (at least one, and one stays) chosen uniformly without
    replacement.

    With ``each_alone`` each is held out with that probability instead, by its own ``chances``: who
    leaves takes nobody else's ratings from one side to the other. A guarantee for one user needs
    that, where which ratings are held out is not public. No rating is then moved so that neither
    side is empty: whose that would be depends on everybody.

    Raises ``DataError`` when there are fewer than two ratings, or when with ``each_alone`` all of
    them fall on one side: n ratings do with probability (1 − fraction)ⁿ + fractionⁿ.
    """
    fraction = limits.check("test_fraction", test_fraction)
    n = len(ratings)
    if n < 2:
        raise DataError(
            f"{ratings.name}: one rating cannot be split into training and test; at least two "
            "are needed."
        )
    if each_alone:
        test = chances(ratings, seed) < fraction
        if test.all() or not test.any():
            raise DataError(one_sided(f"{ratings.name}: of {n:,} ratings", test, fraction, seed))
    else:
        order = np.random.default_rng(np.random.SeedSequence([seed, 0x5917])).permutation(n)
        test = np.zeros(n, dtype=bool)
        test[order[: min(max(1, int(n * fraction)), n - 1)]] = True
    return Split(
        ratings.take(~test),
        ratings.take(test),
        f"random {1 - fraction:.0%}/{fraction:.0%}, seed {seed}",
    )


def leave_out(ratings: Ratings, count: int, seed: int) -> Split:
    """Hold out ``count`` ratings of each user who has more, those of the least ``chances``: a user
    who leaves moves nobody else's. Raises ``DataError`` where nobody has more.
    """
    per_user = ratings.per_user
    place = places_within(ratings, np.argsort(chances(ratings, seed)))
    test = (place < count) & (per_user > count)[ratings.users]
    if not test.any():
        raise DataError(
            f"{ratings.name}: no user has more than {count} ratings, to hold out so many."
        )
    held = f"{np.count_nonzero(per_user > count):,} of {np.count_nonzero(per_user):,} users"
    how = f"{count} held out of each user who has more ({held}), seed {seed}"
    return Split(ratings.take(~test), ratings.take(test), how)


def places_within(ratings: Ratings, order: IntArray) -> IntArray:
    """The place of each rating among those of its user, all put into this ``order``."""
    by_user = order[np.argsort(ratings.users[order], kind="stable")]
    counts = ratings.per_user
    places = np.empty_like(by_user)
    places[by_user] = np.arange(len(ratings)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places


def number_of_users(share: float, rows: int) -> int:
    """How many of ``rows`` users a ``share`` of them is: at least two."""
    return rows if share >= 1 else max(2, round(share * rows))


def some_users(split: Split, share: float, seed: int) -> Split:
    """The same split with a ``share`` of its rows (users) only, chosen at random; at least two
    stay.

    Which stay follows from the number of rows, not from who has ratings. The others have no row.
    Raises ``DataError`` where no rating is left on one side.
    """
    if share >= 1:
        return split
    rows = split.train.n_users
    order = np.random.default_rng(np.random.SeedSequence([seed, 0x5EA7])).permutation(rows)
    retained = np.sort(order[: number_of_users(share, rows)])
    row = places_among(np.arange(rows), retained)

    def of(ratings: Ratings) -> Ratings:
        part = ratings.take(row[ratings.users] >= 0)
        truth = part.truth and replace(part.truth, left=part.truth.left[retained])
        users = row[part.users].astype(np.int32)
        return replace(part, users=users, n_users=retained.size, user_labels=(), truth=truth)

    train, test = of(split.train), of(split.test)
    if not len(test) or not len(train):
        which = "held-out rating" if len(train) else "rating to learn from"
        raise DataError(
            f"{share:.2g} of the users of {split.train.name} leaves no {which}; more users "
            "or another held-out share are needed."
        )
    return replace(split, train=train, test=test, how=f"{split.how}; {share:.3g} of the users")


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
    bar = ratings.low + LIKED * ratings.width
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
    counts = liked.per_user
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
    seen = places_within(liked, order) < np.floor(QUERY * counts)[liked.users]
    theirs = held[liked.users]
    how = (
        f"{np.count_nonzero(held):,} of {able.size:,} users with {FEWEST} likes or more held "
        f"out (of {np.count_nonzero(counts):,} with any), seed {seed}; {QUERY:.0%} of their "
        f"likes (ratings from {ratings.low + LIKED * ratings.width:g}) are known "
        "when they are served"
    )
    return UserSplit(
        liked.take(~theirs), liked.take(theirs & seen), liked.take(theirs & ~seen), how
    )
