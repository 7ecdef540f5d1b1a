"""What is audited: releases with and without Alice, as the attacker sees them.

The neighbouring datasets that a visitor can see, what is published from them, and the release that
is claimed.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.datasets import Ratings
from dpmc_core.datasets.data import ratings_of, samples_of
from dpmc_core.datasets.own.cells import normal
from dpmc_core.datasets.samples import Samples, unit_columns
from dpmc_core.datasets.synthetic.samples import cartoon_faces
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks.audit_spec import FACTOR_TARGETS, SEEDS, AuditSpec
from dpmc_core.experiments.tasks.solve import solve
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.mechanisms.grid import grid_step, sample_on_grid
from dpmc_core.privacy import Release
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.wording import counted

# what an attacker looks at: with more numbers a rule learned from some hundred outputs gets worse
_USERS, _ITEMS, _FEATURES = 12, 8, 64


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two datasets alike but for one ``record``, which only ``inside`` has (or has otherwise).

    An attacker looks at the factors of ``rows`` (users, the record's own first; pixels or words of
    learned parts) and of ``columns`` (items; none for parts).
    """

    inside: Any
    outside: Any
    record: str
    rows: IntArray
    columns: IntArray


def _ratings(ratings: Ratings, record: str, *, whole: bool) -> Neighbours:
    counts = ratings.per_user
    who = int(np.argmax(counts))
    if record:
        who = _place(record, ratings.user_labels, ratings.n_users, "user")
    mine = ratings.users == who
    if not mine.any() or mine.all():
        raise DataError(
            f"{ratings.name}: {ratings.user_label(who)} gave {counts[who]:,} of {len(ratings):,} "
            "ratings; a user to remove must have given some, and not all."
        )
    seldom = ratings.per_item[ratings.items[mine]]
    items = ratings.items[mine][np.argsort(seldom, kind="stable")][:_ITEMS]
    shared = ratings.take(np.isin(ratings.items, items)).per_user.astype(np.int64)
    shared[who] = np.iinfo(np.int64).max
    users = np.argsort(-shared, kind="stable")[:_USERS]
    name = f"user {ratings.user_label(who).removeprefix('user ')}"
    if whole:
        label = f"{name} and their {counted(int(counts[who]), 'rating', 'ratings')}"
        return Neighbours(ratings, ratings.take(~mine), label, users, items)
    rated = mine & (ratings.items == items[0])
    high, low = (
        replace(ratings, values=np.where(rated, end, ratings.values))
        for end in (ratings.high, ratings.low)
    )
    label = (
        f"the rating of “{ratings.item_label(int(items[0]))}” by {name}: {ratings.high:g} or "
        f"{ratings.low:g}"
    )
    return Neighbours(high, low, label, users, items)


def _samples(samples: Samples, record: str) -> Neighbours:
    values, mean = samples.values, np.asarray(samples.values.mean(axis=1)).ravel()
    which = _column(record, samples) if record else int(np.argmin(mean @ values))
    mask = np.ones(len(samples))
    mask[which] = 0.0
    # of documents, guaranteed algorithms read the counts, the others the weights
    counts = None if samples.counts is None else _emptied(samples.counts, mask)
    without: Any
    if sparse.issparse(values):
        own = values[:, [which]].toarray().ravel()
        without = _emptied(sparse.csc_array(values), mask)
    else:
        own, without = values[:, which], np.asarray(values) * mask
    features = np.argsort(-np.abs(own - mean), kind="stable")[:_FEATURES]
    return Neighbours(
        samples,
        replace(samples, values=without, counts=counts),
        f"{samples.unit} {samples.places.at[which] + 1:,} of {samples.places.given:,}",
        features,
        np.empty(0, dtype=np.intp),
    )


def _column(record: str, samples: Samples) -> int:
    """The column of the image or document numbered ``record``, as numbered in the file."""
    place = _place(record, (), samples.places.given, samples.unit)
    (column,) = np.nonzero(samples.places.at == place)
    if not column.size:
        raise DataError(
            f"{samples.name}: {samples.unit} {place + 1:,} holds nothing, so that nothing changes "
            "with it; another record can be audited."
        )
    return int(column[0])


def _emptied(table: sparse.csc_array, mask: FloatArray) -> sparse.csc_array:
    """``table`` with the columns of ``mask`` 0 empty."""
    out = sparse.csc_array(table.multiply(mask))
    out.eliminate_zeros()
    return out


def _place(record: str, labels: Sequence[str], count: int, what: str) -> int:
    """Where the record called or numbered ``record`` is."""
    if normal(record) in labels:
        return list(labels).index(normal(record))
    if len(record) <= 15 and record.isdecimal() and 1 <= int(record) <= count:
        return int(record) - 1
    named = f"the name of a {what}, or " if labels else ""
    raise ParameterError("record", record, f"{named}the number of one, from 1 to {count:,}")


ALICE, FILM = 0, 2  # Alice's row, and the film whose rating the "rating" neighbours change
_PEOPLE = 41  # of whom count, without Alice: a public number, the attacker knows everybody else


def outputs(spec: AuditSpec, inside: bool, size: int, seed: np.random.SeedSequence) -> FloatArray:
    """``size`` independent outputs as the attacker sees them (size×d), with Alice ``inside`` or
    not.
    """
    if spec.target == "number":
        return _numbers(spec, inside, size, seed)[:, None]
    pair = two_datasets(spec)
    return np.array([_model(spec, pair, inside, one) for one in _seeds(spec, seed, size)])


def chunks(spec: AuditSpec, pair: Neighbours | None) -> Iterator[tuple[FloatArray, FloatArray]]:
    """All outputs of an audit, with Alice and without, in pieces.

    Tenths of the numbers, or one model of each of the ``pair`` at a time.

    The same spec gives the same outputs however fast they are asked for; but for secret
    noise, which nothing repeats.
    """
    if pair is None:
        seeds = np.random.SeedSequence([spec.seed, 0xAD17]).spawn(20)
        for k, part in enumerate(np.array_split(np.arange(spec.runs), 10)):
            yield (
                outputs(spec, True, len(part), seeds[2 * k]),
                outputs(spec, False, len(part), seeds[2 * k + 1]),
            )
        return
    apart = np.random.SeedSequence([spec.seed, 0xAD17]).spawn(2)
    for inside, outside in zip(*(_seeds(spec, one, spec.runs) for one in apart), strict=True):
        yield _model(spec, pair, True, inside)[None], _model(spec, pair, False, outside)[None]


def _seeds(spec: AuditSpec, seed: np.random.SeedSequence, size: int) -> list[int]:
    """A seed for each run: those in a row, or drawn from the few that the attacker tries."""
    if spec.searches:
        return [int(one) for one in np.random.default_rng(seed).integers(SEEDS, size=size)]
    first = int(seed.generate_state(1)[0])
    return [(first + k) % 2**32 for k in range(size)]


def two_datasets(spec: AuditSpec) -> Neighbours:
    """What an algorithm is run on: the made tables or pictures, or the spec's dataset, with and
    without its ``record``.

    A user's ratings are there or not; one rating is high or low; the place of an image or document
    is taken or empty. Unless the spec says which: the user with the most ratings, of their items
    the one that fewest others rated; the image or document farthest from the mean.

    Raises ``ParameterError`` for a record that is not there, ``DatasetMissingError`` or
    ``DataError``.
    """
    of_samples = spec.target in FACTOR_TARGETS
    if spec.dataset:
        data = spec.run_spec(0).data
        if of_samples:
            return _samples(samples_of(data), spec.record)
        return _ratings(ratings_of(data), spec.record, whole=spec.neighbours == "user")
    if of_samples:
        pixels = np.arange(pictures()[0].dimension)
        return Neighbours(*pictures(), "Alice's picture", pixels, pixels[:0])
    first, second = neighbours(spec.neighbours)
    users, items = np.arange(first.n_users), np.arange(first.n_items)
    return Neighbours(first, second, "Alice", users, items)


def _model(spec: AuditSpec, pair: Neighbours, inside: bool, seed: int) -> FloatArray:
    """What the attacker sees of one run of the algorithm."""
    seen = _released(spec, pair, inside, seed)
    return _searched(spec, seen) if spec.searches else seen


def _released(spec: AuditSpec, pair: Neighbours, inside: bool, seed: int) -> FloatArray:
    *_, step = solve(spec.run_spec(seed), pair.inside if inside else pair.outside, workers=1)
    if spec.target in FACTOR_TARGETS:
        return np.ravel(step.dictionary[pair.rows])
    model = step.model
    return _LOOKS[spec.view](model.user_factors[pair.rows], model.item_factors[pair.columns])


def _searched(spec: AuditSpec, seen: FloatArray) -> FloatArray:
    """How much nearer what was ``seen`` is to some run without Alice than to any with her.

    An attacker who knows everybody else runs the algorithm with each seed, once as if she were
    there.
    """
    apart = [
        np.linalg.norm(runs - seen, axis=1).min()
        for runs in _tried(spec.replace(case="seed-search"))
    ]
    return np.array([apart[1] - apart[0]])


@lru_cache(maxsize=1)
def _tried(spec: AuditSpec) -> tuple[FloatArray, ...]:
    """What every seed gives, with Alice and without (seeds×numbers each)."""
    pair = two_datasets(spec)
    return tuple(
        np.array([_released(spec, pair, inside, seed) for seed in range(SEEDS)])
        for inside in (True, False)
    )


def claimed_release(spec: AuditSpec) -> Release:
    """The one release of the "number" target as it is claimed.

    A count that Alice moves by at most 1.
    """
    family: Any = FAMILIES[spec.mechanism]
    return Release(
        what="how many people are in the data",
        mechanism=family.with_epsilon(spec.epsilon, 1.0, **spec.noise_options),
        l1_sensitivity=1.0,
        l2_sensitivity=1.0,
        unit="user",
        neighbours="add/remove-one",
        coordinates=1,
        count=1,
        sound=True,
        source="a count changes by at most 1 when one person joins or leaves",
    )


def true_counts() -> tuple[int, int]:
    """The count with Alice and without; the attacker knows both."""
    return _PEOPLE + 1, _PEOPLE


@lru_cache(maxsize=2)
def neighbours(kind: str) -> tuple[Ratings, Ratings]:
    """The two small tables of ratings that an algorithm target is run on (12 people × 8 films,
    ratings 1–5), as ``NEIGHBOURS`` says: first the one with Alice (or with her 5), then the other.
    They differ in nothing else.
    """
    rng = np.random.default_rng(7)
    people, films = 12, 8
    taste, trait = rng.choice([-1.0, 1.0], people), rng.choice([-1.0, 1.0], films)
    values = np.clip(
        np.rint(3 + 1.4 * np.outer(taste, trait) + rng.normal(0, 0.7, (people, films))), 1, 5
    )
    seen = rng.random((people, films)) < 0.8
    seen[ALICE, :] = True
    values[ALICE, FILM] = 5
    users, items = np.nonzero(seen)
    table = Ratings.checked(
        users, items, values[users, items], n_users=people, n_items=films, low=1, high=5
    )
    if kind == "user":
        return table, table.take(table.users != ALICE)
    changed = (table.users == ALICE) & (table.items == FILM)
    return table, replace(table, values=np.where(changed, 1.0, table.values))


@lru_cache(maxsize=1)
def pictures() -> tuple[Samples, Samples]:
    """The two small sets of pictures that a factorisation is run on (12 cartoon faces of 6×6
    pixels): first the one with Alice, then the one where her place is empty. They differ in nothing
    else.
    """
    whole = cartoon_faces(12, seed=5)
    fine = np.asarray(whole.values).reshape(6, 4, 6, 4, 12)
    first = unit_columns(fine.mean(axis=(1, 3)).reshape(36, 12))
    without = np.array(first)
    without[:, ALICE] = 0.0
    tiny = replace(whole, shape=(6, 6), truth=None)
    return replace(tiny, values=first), replace(tiny, values=without)


def _numbers(spec: AuditSpec, inside: bool, size: int, seed: np.random.SeedSequence) -> FloatArray:
    rng = np.random.default_rng(seed)
    noise = claimed_release(spec).mechanism
    value = float(_PEOPLE + inside)
    if spec.case in ("low-bits", "on-grid"):
        # nobody but Alice could be counted: the attack needs a neighbour whose value is 0
        value = float(inside)
        if spec.case == "low-bits":
            published: FloatArray = value + np.asarray(noise.sample(size, rng), dtype=np.float64)
        else:
            step = grid_step(noise)
            below = random.Random(int(rng.integers(2**63))).randrange  # whole numbers of any size
            published = value + step * sample_on_grid(noise, size, step, below).astype(np.float64)
        return _has_small_bits(published).astype(np.float64)
    if spec.case == "half-noise":
        noise = scaled(noise, 0.5)
    if spec.case == "unclipped" and inside:
        value += 2.0
    return value + np.asarray(noise.sample(size, rng))


def _has_small_bits(published: FloatArray) -> NDArray[np.bool_]:
    """Whether a published number within ±½ is no multiple of 2⁻⁵³.

    1 + x, computed in floating point with x between −3/2 and −1/2, always is one: such a number can
    only have come from 0 + x.
    """
    in_steps = published * 2.0**53
    return np.asarray((np.abs(published) < 0.5) & (in_steps != np.rint(in_steps)))


# columns of factors that an attacker is given: an algorithm may keep more in one run than in the
# next
_WIDEST = 16


def _wide(factors: FloatArray) -> FloatArray:
    out = np.zeros((len(factors), _WIDEST))
    out[:, : factors.shape[1]] = factors[:, :_WIDEST]
    return out.ravel()


def _upper(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix))]


_LOOKS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "matrix": lambda u, v: (u @ v.T).ravel(),
    "others": lambda u, v: (np.delete(u, ALICE, axis=0) @ v.T).ravel(),
    "items": lambda u, v: _upper(v @ v.T),
    "factors": lambda u, v: np.concatenate([_wide(np.delete(u, ALICE, axis=0)), _wide(v)]),
}
