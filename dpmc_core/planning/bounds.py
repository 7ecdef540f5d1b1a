"""Private bounds of people's numbers, for those who know none before they plan a mean.

Each bound is a quantile, sought by halves: a noisy count of the people below the middle says on
which side it lies. Only those counts are released. Unlike the exponential mechanism of Smith (2011)
this takes whatever noise a mean takes, and one ledger holds both.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.mechanisms.secret import secret_generator
from dpmc_core.planning.answer import INSIDE, plan
from dpmc_core.planning.spec import PlanSpec
from dpmc_core.privacy import Ledger, Release, odds_sentence
from dpmc_core.privacy.ledger import sample
from dpmc_core.wording import JsonObject, counted, power, three

BEYOND = Limit(0, 0.25, "share of the people sought beyond each bound", 0.01, name="beyond")
LEAST, MOST = (
    Limit(-1e9, 1e9, f"{side} bound that is possible, chosen without the numbers", end, name=name)
    for name, side, end in (("least", "lowest", -1e9), ("most", "highest", 1e9))
)
_HALVINGS = 12  # of −1e9 to 1e9, by the logarithm: neighbouring bounds differ by about 1 %


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Noisy quantiles ``low`` and ``high`` of the numbers of ``people``, whose number is public.

    In 95 of 100 cases a share of at most ``most_beyond`` lies beyond each, and of at least
    ``beyond`` beyond the next place inwards: where many have one number, nobody may lie beyond a
    bound. ``ledger`` is what was released at ``epsilon`` and ``delta``.
    """

    low: float
    high: float
    people: int
    beyond: float
    most_beyond: float
    epsilon: float
    delta: float
    ledger: Ledger

    @property
    def sentence(self) -> str:
        """The bounds, what may lie beyond them, and what that cost."""
        (release,) = self.ledger.releases
        return (
            f"Bounds: {three(self.low)} to {three(self.high)}; in {100 * INSIDE:g} of 100 cases "
            f"at most {three(100 * self.most_beyond)} % of "
            f"{counted(self.people, 'person', 'people')} lie beyond each. Made of "
            f"{release.count} noisy counts with {release.mechanism.title} noise: "
            f"ε = {three(self.epsilon)} at δ = {power(self.delta)}."
        )

    def as_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {
            **vars(self),
            "ledger": self.ledger.as_dict(),
            "answer": self.sentence,
            "odds": odds_sentence(self.epsilon, self.delta),
        }


def private_bounds(
    values: FloatArray,
    *,
    epsilon: float,
    delta: float = 1e-5,
    beyond: float = BEYOND.default,
    least: float = LEAST.default,
    most: float = MOST.default,
    rng: np.random.Generator | None = None,
) -> Bounds:
    """Noisy quantiles of ``values`` (n,), which are cut to [``least``, ``most``] first: a share
    ``beyond`` of them, or a little more, below the one and above the other.

    One unit is one person, who has one number; n is public, and neighbours replace one person by
    another. That moves a count of the people below a place by at most 1. The places are fixed
    before or follow from noisy counts, so that the counts compose adaptively: all of them spend
    ``epsilon`` at ``delta``, with the noise that a plan of so many counts takes. Places are halves
    by asinh: near 0 evenly, far from it by the logarithm.

    In 95 of 100 cases no noise exceeds m. The low bound moves up to a place where n·``beyond`` + m
    people or fewer are below by the noisy count: then n·``beyond`` + 2m or fewer are, and wherever
    no more than n·``beyond`` are below it does move up. The high one moves down likewise. Noise is
    secret unless ``rng`` draws it, for teaching.

    Raises ``ParameterError``, or ``DataError`` for no number, one that is not finite, or so few
    that noise hides where half of them are.
    """
    BEYOND.check(beyond)
    if LEAST.check(least) >= MOST.check(most):
        raise ParameterError("least", least, f"below most, {most:g}")
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
        raise DataError("The numbers must be a list of finite numbers, at least one.")
    spec = PlanSpec(query="count", epsilon=epsilon, delta=delta, releases=2 * _HALVINGS)
    best = plan(spec).best
    release: Release = replace(
        best.ledger.releases[0],
        what="counts of people below a place",
        neighbours="replace-one",
        source="dpmc_core.planning.bounds, private_bounds",
    )
    numbers = numbers.clip(least, most)
    people = numbers.size
    reach = float(release.mechanism.isf(-math.expm1(math.log(INSIDE) / release.count) / 2))
    sought, most_beyond = (beyond + times * reach / people for times in (1, 2))
    if most_beyond >= 0.5:
        enough = counted(math.floor(2 * reach / (0.5 - beyond)) + 1, "person", "people")
        raise DataError(
            f"At ε = {three(epsilon)} noise moves a count by up to {three(reach)} people, too many "
            f"to find bounds of {people:,}; it takes {enough} or a larger ε. Nothing was released."
        )
    noise = sample(release, secret_generator() if rng is None else rng).reshape(2, _HALVINGS)
    ends = []
    for side, (share, steps) in enumerate(zip((sought, 1 - sought), noise, strict=True)):
        place = [math.asinh(least), math.asinh(most)]
        for error in steps:
            middle = sum(place) / 2
            below = np.count_nonzero(numbers < math.sinh(middle)) + error
            place[int(below > share * people)] = middle
        ends.append(min(max(math.sinh(place[side]), least), most))
    return Bounds(
        low=min(ends),  # noise beyond m may exchange them
        high=max(ends),
        people=people,
        beyond=beyond,
        most_beyond=most_beyond,
        epsilon=epsilon,
        delta=delta,
        ledger=Ledger((release,)),
    )
