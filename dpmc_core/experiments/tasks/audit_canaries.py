"""Canaries: synthetic records, each in the data or not at random, and their scores after one run.

A canary among ratings is a user who rates one rarely rated item, which no other canary rates, and
six of the most rated ones, of which two canaries share at most one: so their parts of sums over
items and over pairs of items do not overlap. A canary among images or documents has pixels or words
of its own. Which canaries are in is drawn apart from the noise of the run.

The attacker knows the data, the canaries, and all that is released. A canary's score is the log
odds that it is in, as Gaussian noise would give them.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core.arrays import BoolArray, FloatArray
from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.dpals.plan import n_frequent
from dpmc_core.datasets.data import ratings_of, samples_of
from dpmc_core.datasets.samples import Places, subset, unit_columns
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.solve import noise_source
from dpmc_core.factorization.contributions import AllUnits
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import Release

# the population of the real records (or none of them) with some of the canaries
Planted = Callable[[bool, BoolArray], Any]
# of the most rated items that a canary rates: on MovieLens 1M more are not among those whose second
# moments are of use, and with fewer a canary moves these less
_SHARED = 6
_MOST_NUMBERS = 20_000_000  # of a release, times canaries, where each canary's part is drawn alone


class OneRun(Journal):
    """A run with canaries: the population that its solver sums over, and the journal of what it
    releases. ``scores`` are the canaries', by what was released so far, and ``inside`` (m,) says
    which are in.

    To find the canaries' parts of a release, the same sum with the same noise is drawn again over
    other records: over none of them, and over each canary alone. Of a long release it is drawn over
    all canaries, and over those whose number has a 1 at each place in binary, which spell the only
    canary that moves a number; one that all of them move spells no canary.
    """

    whole = None  # sums are asked for, never a group

    def __init__(self, spec: AuditSpec) -> None:
        m, rng = spec.canaries, np.random.default_rng([spec.seed, 0xCA9A])
        self._run, self._halved = spec.run_spec(spec.seed), spec.case == "half-noise"
        plant = _plant_samples if self._run.task == "factorize" else _plant_users
        self.inside, self._planted = rng.random(m) < 0.5, plant(self._run, m, rng)
        self._data = self._planted(True, self.inside)
        self._gram, self._seen = np.zeros((m, m)), np.zeros(m)
        self._again: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_data"], name)  # what is public of the data

    @property
    def scores(self) -> FloatArray:
        """Log odds (m,) that each canary is in, all others being unknown and as if normal.

        Released numbers over σ are Σ s_i d_i + z. With ±1/2 for s, its mean and covariance V given
        the release are those of a ridge with λ = 4; without what the prior says of s_i itself, the
        odds are its mean over V_ii.
        """
        covariance = np.linalg.inv(self._gram + 4 * np.eye(len(self._gram)))
        mean = covariance @ (self._seen - self._gram.sum(axis=1) / 2)
        return np.asarray(mean / np.diag(covariance))

    def steps(self) -> Iterator[Any]:
        """The steps of the solver."""
        card = self._run.card
        config = card.prepare(self._run.algorithm, self._run.noise, self._data)
        assert card.learn is not None
        return card.learn(self, config, noise_source(self._run), self)

    def total(self, term: Callable[..., FloatArray], *args: Any) -> FloatArray:
        """``term`` over the records that are asked about; a solver that keeps the sum has that of
        others in its place when it is drawn ``_again``.
        """
        result = np.array(term(self._group, *args))

        def again() -> None:
            result[...] = term(self._group, *args)

        self._again, self._fresh = again, True
        return result

    def once(
        self,
        name: str,
        make: Callable[[], NDArray[Any]],
        rng: np.random.Generator,
        planned: Release | None = None,
    ) -> NDArray[Any]:
        """See ``Journal.once``; what is ``planned`` is released, and moves the scores.

        A release of fewer numbers than there are canaries tells next to nothing of one, and is not
        looked at.
        """
        if planned is None:
            return make()
        start = rng.bit_generator.state

        def drawn(real: bool, canaries: BoolArray) -> FloatArray:
            self._group, self._fresh = self._planted(real, canaries).whole, False
            rng.bit_generator.state = start
            result = make()
            if not self._fresh:
                self._again()
                rng.bit_generator.state = start
                result = make()
            return result

        nobody = np.zeros(len(self.inside), dtype=np.bool_)
        noise = drawn(False, nobody)
        released = drawn(True, self.inside) - self._halved * noise / 2
        if noise.size >= len(nobody):
            std = planned.mechanism.std
            left = (released - drawn(True, nobody) + noise).ravel() / std
            parts = self._parts(lambda some: (drawn(False, some) - noise).ravel() / std, left.size)
            self._gram += (parts @ parts.T).toarray()
            self._seen += parts @ left
        return released

    def _parts(self, part: Callable[[BoolArray], FloatArray], size: int) -> sparse.csr_array:
        """What each canary adds to a release (m×``size``); ``part`` is what some of them add."""
        numbers = np.arange(len(self.inside))
        if len(numbers) * size <= _MOST_NUMBERS:
            rows = [sparse.csr_array(part(numbers == k)[None]) for k in numbers]
            return sparse.vstack(rows, format="csr")
        whole = part(numbers >= 0)
        digits = range(len(numbers).bit_length())
        owner = sum((part(numbers >> k & 1 == 1) != 0).astype(np.intp) << k for k in digits)
        (places,) = np.nonzero((whole != 0) & (owner < len(numbers)))
        indices = (np.asarray(owner)[places], places)
        return sparse.csr_array((whole[places], indices), shape=(len(numbers), size))


def _plant_users(run: RunSpec, m: int, rng: np.random.Generator) -> Planted:
    ratings, config = ratings_of(run.data), run.algorithm
    learned = n_frequent(ratings.n_items, config) if hasattr(config, "item_share") else None
    items = np.argsort(-ratings.per_item, kind="stable")[:learned]
    # lines y = ax + b over a prime: two of them meet at most once
    prime = next(
        p
        for p in itertools.count(max(_SHARED, math.isqrt(m)) + 1)
        if all(p % k for k in range(2, math.isqrt(p) + 1))
    )
    _check(m, len(items) - _SHARED * prime, "an item")
    slope, start = np.divmod(np.arange(m)[:, None], prime)
    place = np.arange(_SHARED)
    shared = items[place * prime + (slope * place + start) % prime]
    rated = np.hstack([items[-m:, None], shared])
    high = np.hstack([rng.random((m, 1)) < 0.5, np.broadcast_to(place % 2 == 0, shared.shape)])
    users = np.repeat(np.arange(m), 1 + _SHARED)
    planted = replace(
        ratings,
        users=np.concatenate([ratings.users, ratings.n_users + users]).astype(np.int32),
        items=np.concatenate([ratings.items, rated.ravel()]).astype(np.int32),
        values=np.concatenate([ratings.values, np.where(high, ratings.high, ratings.low).ravel()]),
        n_users=ratings.n_users + m,
    )
    alone = planted.take(np.arange(len(ratings), len(planted)))

    def population(real: bool, canaries: BoolArray) -> Whole:
        some = canaries[users]
        everyone = np.append(np.ones(len(ratings), dtype=np.bool_), some)
        return Whole(planted.take(everyone) if real else alone.take(some))

    return population


def _plant_samples(run: RunSpec, m: int, rng: np.random.Generator) -> Planted:
    samples = samples_of(run.data)
    _check(m, samples.dimension, "a pixel or word")
    rows = rng.permutation(samples.dimension)
    own = sparse.csc_array((np.ones(len(rows)), (rows, np.arange(len(rows)) % m)))
    tables: Any = (samples.values, unit_columns(own))
    values = sparse.hstack(tables, format="csc")
    counts = None if samples.counts is None else sparse.hstack([samples.counts, own], format="csc")
    planted = replace(
        samples,
        values=values if sparse.issparse(samples.values) else values.toarray(),
        counts=counts,
        texts=(),
        labels=(),
    )

    def population(real: bool, canaries: BoolArray) -> AllUnits:
        columns = np.flatnonzero(np.append(np.full(len(samples), real), canaries))
        return AllUnits(replace(subset(planted, columns), of=Places(columns, len(planted))))

    return population


def _check(m: int, room: int, what: str) -> None:
    if m > room:
        allowed = (
            f"fewer, since each needs {what} of its own: {max(room, 0):,} are left for so many"
        )
        raise ParameterError("canaries", m, allowed)
