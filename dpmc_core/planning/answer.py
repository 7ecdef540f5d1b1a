"""The answer to a plan: every mechanism at the asked accuracy, exactly, the best one first.

The searches for a mechanism's least ε, people or margin, and for the best α of Huber noise.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from scipy import integrate, optimize, special

from dpmc_core.errors import DataError, ParameterError
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.planning.spec import QUERIES, PlanSpec, Statistic, within
from dpmc_core.privacy import Ledger, Release, least_noise, odds_sentence
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.wording import JsonObject, counted, power, three

INSIDE = 0.95  # of releases lie within the margin
MOST_EPSILON, LEAST_EPSILON = 100.0, 1e-4  # beyond the first ε says nothing about privacy
# where the search for α begins: ε(α) is flat at both ends (Laplace and Gaussian noise) and can have
# a minimum on either side of a hump near α = 1
_ALPHAS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.35, 1.7, 2.1, 2.6, 3.3, 4.5, 7.0, 16.0)
# a search for α ends at this change of its logarithm; places whose ε differ by less (of it) are as
# good; with ε given it is made so often
_FINE, _FLAT, _TURNS = 1e-3, 1e-7, 2
_FAR = 9.0  # standard deviations beyond which a normal number lies with probability 2e-19
# mechanisms this close to the best are as good, and the simpler one is named
_AS_GOOD, _SIMPLE = 1e-3, ("laplace", "gaussian")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One mechanism that meets the plan: its noise on each released number, ``epsilon`` of all
    releases together, ``margin`` of each, and for a mean how many ``people`` it is of.
    """

    mechanism: Mechanism
    epsilon: float
    margin: float
    people: int | None
    ledger: Ledger

    def solution(self, spec: PlanSpec) -> float:
        """The number that the plan asks for."""
        return float(getattr(self, spec.unknown))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """``candidates``, the best first (least ε, fewest people, or least margin), and for mechanisms
    that cannot meet it, why (``refused``, by name).
    """

    spec: PlanSpec
    candidates: tuple[Candidate, ...]
    refused: dict[str, str]

    @property
    def best(self) -> Candidate:
        """The mechanism that needs least."""
        return self.candidates[0]

    @property
    def sentence(self) -> str:
        """The answer for somebody who has to decide.

        >>> plan(PlanSpec(query="count", margin=50)).sentence
        '±50 people (95 %): a count takes a total ε of 0.0599, with Laplace noise.'
        """
        spec, best = self.spec, self.best
        noise = f"with {best.mechanism.title} noise"
        margin = f"{within(best.margin, spec.query)} ({100 * INSIDE:g} %)"
        spent = f"a total ε of {three(best.epsilon)}"
        if spec.unknown == "epsilon":
            return f"{margin}: {spec.what} takes {spent}, {noise}."
        if spec.unknown == "people":
            people = counted(best.people or 0, "person", "people")
            return f"{margin} at {spent}: {spec.what} takes {people}, {noise}."
        return f"At {spent}, {spec.what} is within {margin}, {noise}."

    def of_population(self, people: float | None = None) -> tuple[float, float, float] | None:
        """How far the released mean of ``people`` (those of the plan) is from the mean of all from
        whom they were drawn at random, in 95 of 100 cases: by who was drawn, by the noise of the
        best mechanism (for one person less in proportion), and by both. None for other queries.

        Both means are of numbers as clipped. The mean of n numbers of standard deviation s lies
        about their expectation as N(0, s²/n) (central limit theorem), independent of the noise.
        That is about right: of even 0 or 1 it holds in 93 of 100 cases for 8 people and 94 for 100;
        of a number that few people have in as few as 84, until some ten in the sample have it.
        Drawn from few without returning, means lie closer (Hoeffding 1963). ``spec.spread`` is s;
        where it is not known, (high − low)/2, which no numbers in the range exceed (Popoviciu
        1935). Both together lie within m with probability E[F(m − Z) − F(−m − Z)], F the noise's
        distribution function and Z as above: less than the sum of both margins.
        """
        spec, best = self.spec, self.best
        if spec.query != "mean" or best.people is None:
            return None
        people = people or best.people
        noise = scaled(best.mechanism, best.people / people)
        spread = (spec.high - spec.low) / 2 if spec.spread is None else spec.spread
        deviation = spread / math.sqrt(people)
        sampling, alone = deviation * float(special.ndtri((1 + INSIDE) / 2)), reach(spec, noise)
        if deviation == 0:
            return sampling, alone, alone

        def outside(margin: float) -> float:
            def of_normal(z: float) -> float:
                inside = noise.cdf(margin - deviation * z) - noise.cdf(-margin - deviation * z)
                return float(inside) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

            edge = min(margin / deviation, _FAR)  # where narrow noise takes a step
            whole, _ = integrate.quad(of_normal, -_FAR, _FAR, points=(-edge, edge), limit=200)
            return whole - INSIDE

        least = 0.99 * max(sampling, alone)  # each alone is less, but for rounding
        both = optimize.brentq(outside, least, 1.01 * (sampling + alone), rtol=1e-8)
        return sampling, alone, float(both)

    @property
    def population_sentence(self) -> str:
        """What the margin leaves out: that other people might have taken part.

        >>> plan(PlanSpec(margin=1.0, people=5000, spread=20.0)).population_sentence
        'Mean of the population: ±1.12 points (about 95 %), ±0.554 by sampling, ±1 by noise.'
        """
        apart = self.of_population()
        if apart is None:
            return "The margin is of the noise alone: that others might take part comes on top."
        sampling, noise, both = apart
        most = " at most, as no numbers in the range vary more" if self.spec.spread is None else ""
        return (
            f"Mean of the population: {within(both, self.spec.query)} (about {100 * INSIDE:g} %)"
            f"{most}, ±{three(sampling)} by sampling, ±{three(noise)} by noise."
        )

    def as_dict(self) -> JsonObject:
        """A JSON-able copy."""
        apart = self.of_population()
        return {
            "population_margin": apart
            and dict(zip(("sampling", "noise", "both"), apart, strict=True)),
            "spec": self.spec.as_dict(),
            "asked": self.spec.unknown,
            "answer": self.sentence,
            "candidates": [
                {
                    **vars(c),
                    "mechanism": c.ledger.releases[0].as_dict()["mechanism"],
                    "ledger": c.ledger.as_dict(),
                }
                for c in self.candidates
            ],
            "refused": dict(self.refused),
            "odds": odds_sentence(self.best.epsilon, self.spec.delta),
        }


def reach(spec: Statistic, noise: Mechanism) -> float:
    """How far this ``noise`` moves the released numbers in 95 of 100 releases.

    P(|Z| ≤ m) = 0.95 for one number; for a histogram all k bins at once, which are independent:
    P(|Z| ≤ m)ᵏ = 0.95.
    """
    outside = -math.expm1(math.log(INSIDE) / (spec.bins if spec.query == "histogram" else 1))
    return float(noise.isf(outside / 2))


def release_of(spec: PlanSpec, noise: Mechanism, moved: float) -> Release:
    """All ``spec.releases`` with ``noise``, one person moving one number by ``moved``.

    Neighbours of a mean replace one person by another, since it is of a public number of people;
    of the others one is added or removed. A histogram is accounted for as the one bin that this
    person is in: the noisy others are independent of it and alike with and without the person, so
    that they cancel from every likelihood ratio, and what holds for one number holds.
    """
    bins = f" of {spec.bins:,} bins, the one that a person is in"
    return Release(
        what=QUERIES[spec.query] + (bins if spec.query == "histogram" else ""),
        mechanism=noise,
        l1_sensitivity=moved,
        l2_sensitivity=moved,
        linf_sensitivity=moved,
        unit="record",
        neighbours="replace-one" if spec.query == "mean" else "add/remove-one",
        coordinates=1,
        count=spec.releases,
        sound=True,
        source="dpmc_core.planning.spec, Statistic.moved",
    )


@lru_cache(maxsize=256)
def plan(spec: PlanSpec) -> Plan:
    """All mechanisms side by side, right to 1e-6 relative; cached.

    Each noise has one scale at which it meets the fixed values: ε of all releases depends on the
    scale in units of ``moved`` alone, and so does the margin. Huber noise has its best α besides.
    Staircase noise is planned for one release of one number, by its design ε.

    Raises ``DataError`` where no mechanism can: it says what can be reached.
    """
    candidates: list[Candidate] = []
    refused: dict[str, str] = {}
    search = _Search(spec)
    for name, one in (
        ("huber", search.huber),
        ("laplace", lambda: search.of(Laplace(scale=1.0))),
        ("gaussian", lambda: search.of(Gaussian(scale=1.0))),
        ("staircase", search.staircase),
    ):
        try:
            candidate = one()
        except (ParameterError, ArithmeticError, ValueError) as error:
            refused[name] = str(error)
            continue
        if candidate is None:
            refused[name] = "accounted for here with one release of one number only"
        elif not LEAST_EPSILON <= candidate.epsilon <= MOST_EPSILON * (1 + 1e-6):
            refused[name] = f"it would take ε = {three(candidate.epsilon)}"
        else:
            candidates.append(candidate)
    if not candidates:
        raise DataError(_unreachable(spec, refused))
    candidates.sort(key=lambda candidate: candidate.solution(spec))
    enough = candidates[0].solution(spec) * (1 + _AS_GOOD)
    candidates.sort(key=lambda c: c.solution(spec) > enough or c.mechanism.name not in _SIMPLE)
    return Plan(spec=spec, candidates=tuple(candidates), refused=refused)


def halved(answer: Plan) -> dict[str, float]:
    """What would halve the ε of a plan, each alone: another margin, for a mean more people, and for
    several releases fewer of them (with the noise as planned).
    """
    spec, best = answer.spec, answer.best
    half = best.epsilon / 2
    if half < LEAST_EPSILON:
        return {}
    wider = plan(replace(spec, margin=None, epsilon=half, people=best.people)).best
    out = {"margin": wider.margin}
    if best.people is not None:  # a mean's margin is in proportion to 1/people
        out["people"] = math.ceil(best.people * wider.margin / best.margin * (1 - 1e-9))
    (release,) = best.ledger.releases

    def spent(count: int) -> float:
        return tightest(Ledger((replace(release, count=count),)), spec.delta)

    fewer = bisect_right(range(1, spec.releases), half, key=spent)
    if fewer:
        out["releases"] = fewer
    return out


class _Search:
    """The searches of one plan, for one person moving a number by 1 in units of the noise."""

    def __init__(self, spec: PlanSpec) -> None:
        self.spec = spec
        # what a margin and noise are measured in: how far one person moves the released number
        self.unit = spec.moved / (spec.people or 1)

    def of(self, shape: Mechanism) -> Candidate:
        """This family and shape, at the scale that meets the plan."""
        spec = self.spec
        if spec.epsilon is None:
            assert spec.margin is not None
            factor = spec.margin / self.unit / reach(spec, shape)
        else:
            (noise,) = least_noise(
                Ledger((release_of(spec, shape, 1.0),)), spec.epsilon, spec.delta, quick=True
            ).releases
            factor = noise.mechanism.std / shape.std
        return self._candidate(scaled(shape, factor))

    def huber(self) -> Candidate:
        """Huber noise with its best α: the one that spends least at the margin.

        With ε given, the margin is not known before. From the lesser one of Laplace and Gaussian
        noise, the limits of small and large α, the best α and the margin at which it spends ε,
        about in proportion to 1/ε, are found in turn.
        """
        spec = self.spec
        if spec.epsilon is None:
            assert spec.margin is not None
            alpha, _ = self._best_alpha(spec.margin / self.unit)
        else:
            limits = (self.of(Laplace(scale=1.0)), self.of(Gaussian(scale=1.0)))
            margin = min(one.margin * (one.people or 1) for one in limits) / spec.moved
            for _ in range(_TURNS):
                alpha, spent = self._best_alpha(margin)
                margin *= spent / spec.epsilon
        return self.of(Huber(alpha=alpha, scale=1.0))

    def staircase(self) -> Candidate | None:
        """Staircase noise of the design ε that meets the plan; None where it is not accounted."""
        spec = self.spec
        if spec.releases > 1 or spec.query == "histogram":
            return None
        if spec.epsilon is not None:
            return self._candidate(Staircase(epsilon=spec.epsilon, sensitivity=1.0))
        assert spec.margin is not None
        wanted = math.log(spec.margin / self.unit)

        def beyond(log_epsilon: float) -> float:
            noise = Staircase(epsilon=math.exp(log_epsilon), sensitivity=1.0)
            return math.log(reach(spec, noise)) - wanted

        low, high = math.log(LEAST_EPSILON), math.log(MOST_EPSILON)
        log_epsilon = float(optimize.brentq(beyond, low, high, xtol=1e-9))
        return self._candidate(Staircase(epsilon=math.exp(log_epsilon), sensitivity=1.0))

    def _candidate(self, noise: Mechanism) -> Candidate:
        """The mechanism in the unit of what is released, from ``noise`` per unit of ``moved``."""
        spec = self.spec
        people, unit = spec.people, self.unit
        if spec.unknown == "people":
            assert spec.margin is not None
            # a little less than a whole number more is rounding, not another person
            people = max(1, math.ceil(spec.moved * reach(spec, noise) / spec.margin * (1 - 1e-9)))
            unit = spec.moved / people
        noise = scaled(noise, unit)
        ledger = Ledger((release_of(spec, noise, unit),))
        epsilon = tightest(ledger, spec.delta) if spec.epsilon is None else spec.epsilon
        return Candidate(
            mechanism=noise,
            epsilon=epsilon,
            margin=reach(spec, noise),
            people=people,
            ledger=ledger,
        )

    def _best_alpha(self, margin: float) -> tuple[float, float]:
        """The α whose noise of this ``margin``, in units of ``moved``, spends least, and its ε.

        It is sought about each of ``_ALPHAS`` where less is spent than at both next ones.
        """
        spec = self.spec

        @cache
        def spent(log_alpha: float) -> float:
            shape = Huber(alpha=math.exp(log_alpha), scale=1.0)
            noise = scaled(shape, margin / reach(spec, shape))
            ledger = Ledger((release_of(spec, noise, 1.0),))
            return math.log(max(tightest(ledger, spec.delta, coarse=True), 1e-300))

        places = [math.log(alpha) for alpha in _ALPHAS]
        tried = list(places)
        for k, place in enumerate(places):
            around = places[max(k - 1, 0) : k + 2]
            nearby = [spent(near) for near in around]
            if spent(place) == min(nearby) and max(nearby) - min(nearby) > _FLAT:
                minimum = optimize.minimize_scalar(
                    lambda log_alpha: spent(float(log_alpha)),
                    bounds=(around[0], around[-1]),
                    method="bounded",
                    options={"xatol": _FINE},
                )
                tried.append(float(minimum.x))
        best = min(tried, key=spent)
        return math.exp(best), math.exp(spent(best))


def _unreachable(spec: PlanSpec, refused: dict[str, str]) -> str:
    """What cannot be reached, and what could."""
    if spec.epsilon is None:
        assert spec.margin is not None

        def margin_at(epsilon: float) -> float:
            return plan(replace(spec, epsilon=epsilon, margin=None)).best.margin

        goal = f"A margin of {within(spec.margin, spec.query)}"
        if spec.margin < margin_at(MOST_EPSILON):
            people = ""
            if spec.query == "mean":
                needed = plan(replace(spec, epsilon=1.0, people=None)).best.people or 0
                people = f", or {counted(needed, 'person', 'people')} at ε = 1"
            return (
                f"{goal} cannot be reached with a meaningful ε: at "
                f"ε = {MOST_EPSILON:g} it is ±{three(margin_at(MOST_EPSILON))}{people}."
            )
        return (
            f"{goal} takes an ε below {LEAST_EPSILON:g} at δ = "
            f"{power(spec.delta)}, too small to be told: at {LEAST_EPSILON:g} the margin is "
            f"±{three(margin_at(LEAST_EPSILON))} already."
        )
    reasons = "; ".join(f"{name}: {why}" for name, why in refused.items())
    at = f"ε = {three(spec.epsilon)} and δ = {power(spec.delta)}"
    return f"No mechanism can be planned at {at} ({reasons})."
