"""Plans: what a private run will release, its noise calibrated to a total ε before any data is
read.

The budget a visitor sets, relative shares of it, and the ``Curator``, through which every noisy sum
of a user-level algorithm leaves.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import check_choice
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Mechanism
from dpmc_core.mechanisms.secret import generators_of, is_secret
from dpmc_core.privacy.account import checked_delta
from dpmc_core.privacy.calibrate import least_noise
from dpmc_core.privacy.ledger import Kind, Ledger, Neighbours, Release, Unit, sample

_OTHERWISE = "release {!r} was planned otherwise than it is made"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The total ``epsilon`` at ``delta`` that a run may spend, and the noise ``family`` it spends
    it on.

    ``alpha`` shapes Huber noise. ``norm`` is the vector norm in which a user's contribution is to
    be clipped: ℓ2 for Gaussian noise, ℓ1 for noise whose loss grows with the ℓ1 shift. ``spent``
    are releases of the same run that were planned before. ``mean_runs``: the best of so many such
    runs on average is published, and the budget is that choice's. Raises ``ParameterError``.
    """

    epsilon: float
    delta: float = 1e-5
    family: str = "gaussian"
    alpha: float = 1.5
    spent: tuple[Release, ...] = field(default=(), repr=False)
    mean_runs: float = field(default=1.0, repr=False)

    def __post_init__(self) -> None:
        limits.check("epsilon", self.epsilon)
        checked_delta(self.delta)
        limits.check("alpha", self.alpha)
        check_choice("mechanism", self.family, RUN_FAMILIES)

    @property
    def norm(self) -> int:
        """1 or 2: the norm that the noise family asks for."""
        return 1 if FAMILIES[self.family].pure else 2

    def noise(self, std: float) -> Mechanism:
        """Noise of this family with standard deviation ``std``."""
        family = FAMILIES[self.family]
        return family.with_variance(std**2, **{name: getattr(self, name) for name in family.shape})


@dataclass(frozen=True, kw_only=True)
class GivenSigma(Budget):
    """Noise of a given ``sigma``, which each part has in units of its own (``Part.sigma_unit``): ε
    is what comes of it, so that no total is spent.
    """

    sigma: float
    epsilon: float = field(default=math.inf, init=False, repr=False)

    def __post_init__(self) -> None:
        Budget(epsilon=1.0, delta=self.delta, family=self.family, alpha=self.alpha)  # checks them
        limits.check("sigma", self.sigma)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One planned release: a vector of ``coordinates`` numbers released ``count`` times, with a
    ``share`` of the budget.

    The noise's standard deviation is proportional to sensitivity/√(share/count): with Gaussian
    noise a share is the part of Σ(Δ/σ)² that it spends. The sensitivity that counts is that in the
    norm ``bounded_in`` (1 or 2; None: the noise's), in which a unit's term is bounded first-hand:
    the other one only follows from the number of coordinates, and says little about the cost.
    Sensitivities are for one unit added or removed, derived at ``source``. ``apart``: the terms of
    two units have no negative inner product, so that one replaced by another moves the sum by
    √2·``l2`` at most. ``linf``: no number moves by more (None: by ``l2``). ``sigma_unit`` is the
    standard deviation that a given σ = 1 stands for (None: ``l2``).
    """

    what: str
    l1: float
    l2: float
    coordinates: int
    share: float
    source: str
    count: int = 1
    unit: Unit = "user"
    neighbours: Neighbours = "add/remove-one"
    apart: bool = False
    bounded_in: int | None = None
    linf: float | None = None
    kind: Kind = "completion"
    sigma_unit: float | None = None
    sampling_rate: float = 1.0

    def release(self, budget: Budget) -> Release:
        """The release, its noise the sensitivity over √(share/count), or σ."""
        if isinstance(budget, GivenSigma):
            std = budget.sigma * (self.l2 if self.sigma_unit is None else self.sigma_unit)
        else:
            shift = self.l2 if (self.bounded_in or budget.norm) == 2 else self.l1
            std = shift / math.sqrt(self.share / self.count)
        return Release(
            what=self.what,
            mechanism=budget.noise(std),
            l1_sensitivity=self.l1,
            l2_sensitivity=self.l2,
            unit=self.unit,
            neighbours=self.neighbours,
            coordinates=self.coordinates,
            count=self.count,
            sound=True,
            source=self.source,
            linf_sensitivity=self.linf,
            kind=self.kind,
            mean_runs=budget.mean_runs,
            sampling_rate=self.sampling_rate,
        )

    def for_replacing(self) -> "Part":
        """The same sum for neighbours that differ in one unit replaced.

        Leaving and joining move a sum by at most twice as much; in ℓ2 by √2 times as much where no
        two units' terms have a negative inner product (``moments``).
        """
        l2 = (math.sqrt(2) if self.apart else 2) * self.l2
        times = "√2 times" if self.apart else "twice"
        return replace(
            self,
            l1=min(2 * self.l1, math.sqrt(self.coordinates) * l2),  # no vector has a larger norm
            l2=l2,
            linf=None if self.linf is None else 2 * self.linf,
            neighbours="replace-one",
            source=f"{self.source}; {times} that in ℓ2 for one replaced",
        )


def plan(
    parts: Mapping[str, Part], budget: Budget | None, fixed: Mapping[str, Release] | None = None
) -> dict[str, Release] | None:
    """The releases of a run by name, with the least noise at which all together spend at most the
    budget, or with the given σ; None without either.

    ``fixed`` releases (whose noise is given) belong to the same run. All noise is decided here,
    before any data is read: how much a later release gets never depends on what an earlier one
    showed. Raises ``ParameterError``.
    """
    if budget is None:
        return None
    given = dict(fixed or {})
    relative = {name: part.release(budget) for name, part in parts.items()}
    if isinstance(budget, GivenSigma):
        return {**given, **relative}
    before, own = Ledger((*budget.spent, *given.values())), Ledger(tuple(relative.values()))
    calibrated = least_noise(own, budget.epsilon, budget.delta, fixed=before)
    return {**given, **dict(zip(parts, calibrated.releases, strict=True))}


def shift_of(planned: Mapping[str, Release] | None, name: str) -> float:
    """Sensitivity over standard deviation of the release ``name`` of a plan, in the norm its noise
    asks for; ∞ without noise.
    """
    if planned is None:
        return math.inf
    release = planned[name]
    by_l1 = release.mechanism.pure
    sensitivity = release.l1_sensitivity if by_l1 else release.l2_sensitivity
    return sensitivity / release.mechanism.std


Term = Callable[..., FloatArray]  # a group's part of a sum


class Journal:
    """Keeps what was drawn, so that a run that goes on after a stop draws nothing twice; this one
    keeps nothing, for a run that goes on nowhere else.
    """

    def once(
        self,
        name: str,
        make: Callable[[], NDArray[Any]],
        rng: np.random.Generator,
        planned: Release | None = None,
    ) -> NDArray[Any]:
        """What ``make`` returned when ``name`` was first asked for, ``rng`` as it was left then:
        kept for good before anybody reads it. ``planned`` is the release that it is of.
        """
        del name, rng, planned
        return make()


class Groups(Protocol):
    """Users, documents or images in groups, each in one; only sums over them are asked for."""

    def total(self, term: Term, *args: Any) -> FloatArray:
        """Σ over groups of ``term(group, *args)``, which may read ``args`` as they are.

        A term that takes ``into`` may be given what others came to, adds its own to it and returns
        it: one large array for all groups, not one for each.
        """


class Curator:
    """The only door through which a sum over users leaves.

    Adds the planned noise and writes the ledger. What a ``journal`` holds already is not drawn
    again, and its sums are not asked for.

    With ``plan`` None nothing is protected: sums leave as they are and the ledger stays empty. A
    release planned ``count`` times may leave that often and no more (``RuntimeError``: the
    algorithm and its plan disagree).
    """

    def __init__(
        self,
        plan: Mapping[str, Release] | None,
        rng: np.random.Generator,
        journal: Journal | None = None,
    ) -> None:
        self._plan, self._rng, self._journal = plan or {}, rng, journal or Journal()
        self._left = {name: release.count for name, release in self._plan.items()}
        self._made: list[Release] = []
        self._drawn = Counter[str]()
        self.private = plan is not None  # whether noise is added at all

    def std(self, name: str) -> float:
        """Standard deviation of the noise on each number of release ``name``; 0 without noise."""
        return self._plan[name].mechanism.std if self.private else 0.0

    def shift(self, name: str) -> float:
        """See ``shift_of``."""
        return shift_of(self._plan if self.private else None, name)

    def total(self, name: str, groups: Groups, term: Term, *args: Any) -> FloatArray:
        """The total of ``term`` over the ``groups``, by ``release``."""
        return self.release(name, lambda: groups.total(term, *args))

    def release(
        self, name: str, exact: FloatArray | Callable[[], FloatArray], *, by_row: bool = False
    ) -> FloatArray:
        """``exact``, or what it returns, with the noise of release ``name``, with ``by_row`` that
        of each row from a generator of its own; the ledger gains one such release.
        """
        if not self.private:
            return self.once(name, exact if callable(exact) else lambda: exact)
        length = self._plan[name].coordinates
        planned = self._booked(name, fits=callable(exact) or exact.size == length)

        def noisy() -> FloatArray:
            sums = exact() if callable(exact) else exact
            if sums.size != length:
                raise RuntimeError(_OTHERWISE.format(name))
            if not by_row:
                return sums + sample(planned, self._rng).reshape(sums.shape)
            generator, out = generators_of(self._rng), sums.copy()
            for k, row in enumerate(out):
                row += planned.mechanism.sample(row.size, generator(k * row.size))
            return out

        return self.once(name, noisy, planned)

    @property
    def is_secret(self) -> bool:
        """Whether nobody can draw the noise again."""
        return is_secret(self._rng)

    def once(
        self, name: str, make: Callable[[], NDArray[Any]], planned: Release | None = None
    ) -> NDArray[Any]:
        """What ``make`` draws for ``name``, from the journal where the run did so before."""
        self._drawn[name] += 1
        return self._journal.once(f"{name} {self._drawn[name]}", make, self._rng, planned)

    def above(self, name: str, exact: FloatArray, least: float) -> FloatArray:
        """``exact`` (any length) with the noise of release ``name`` where that is above ``least``,
        0 elsewhere, as where ``exact`` is 0 itself: no unit has such a name, and none is shown.
        Without noise ``exact`` where it is above.

        For sums that belong to names which are not public, like words: the ledger's release says
        with which probability one that a single unit has is shown (``failure``). The ledger gains
        one such release.
        """
        if not self.private:
            return np.where(exact > least, exact, 0.0)
        planned = self._booked(name, fits=self._plan[name].failure > 0)
        noisy = exact + planned.mechanism.sample(exact.size, self._rng)
        return np.where((noisy > least) & (exact > 0), noisy, 0.0)

    def _booked(self, name: str, *, fits: bool) -> Release:
        """One release ``name`` in the ledger, if one is left of the plan and the call ``fits``."""
        if self._left[name] == 0 or not fits:
            raise RuntimeError(_OTHERWISE.format(name))
        self._left[name] -= 1
        planned = replace(self._plan[name], count=1)
        self._made.append(planned)
        return planned

    def made(self) -> tuple[Release, ...]:
        """The releases made since this was last asked."""
        out, self._made = tuple(self._made), []
        return out

    def rest(self) -> tuple[Release, ...]:
        """The planned releases that have not been made yet."""
        return tuple(replace(self._plan[name], count=n) for name, n in self._left.items() if n)
