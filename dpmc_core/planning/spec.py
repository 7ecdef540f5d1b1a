"""What is planned: a query, what is fixed, and the one thing that is left out, which is asked."""

from dataclasses import dataclass
from typing import Annotated

from dpmc_core.config import Choice, Config, changed, parameters
from dpmc_core.datasets.user_datasets import flags, keywords
from dpmc_core.errors import ParameterError
from dpmc_core.limits import LIMITS, Limit
from dpmc_core.wording import counted, three

QUERIES = {
    "mean": "mean of a number",
    "sum": "sum of a number",
    "count": "count of people",
    "histogram": "histogram",
}
# what a margin is measured in, one and several: points are steps of each person's number
UNITS = dict.fromkeys(("mean", "sum"), ("point", "points")) | dict.fromkeys(
    ("count", "histogram"), ("person", "people")
)
MOST_DELTA = 0.01
_READ = {
    "mean": {"low", "high", "spread"},
    "sum": {"low", "high"},
    "count": set[str](),
    "histogram": {"bins"},
}
_ASKED = ("epsilon", "people", "margin")


Query = Annotated[
    str, Choice(tuple(QUERIES), "what is released", "What is released", tuple(QUERIES.values()))
]
People = Annotated[
    int, Limit(1, 10**10, "how many people a mean is of; that number is public", label="People")
]
Least = Annotated[
    float, Limit(-1e9, 1e9, "numbers of a mean or sum below are raised to this", label="Least")
]
Most = Annotated[
    float, Limit(-1e9, 1e9, "numbers of a mean or sum above are cut to this", label="Most")
]
Bins = Annotated[int, Limit(2, 10_000, "bins of a histogram", label="Bins")]
Releases = Annotated[int, Limit(1, 10_000, "how many times it is released", label="Releases")]


@dataclass(frozen=True, kw_only=True)
class Statistic(Config):
    """What is released of people: ``query`` is made of each person's number, clipped to [``low``,
    ``high``]; or of whether they belong to a group (count), or to which of ``bins`` (histogram). It
    is released ``releases`` times. ``people`` are those of a mean, whose number is public; noise of
    the others does not depend on them.
    """

    query: Query = "mean"
    people: People | None = None
    low: Least = 0.0
    high: Most = 100.0
    bins: Bins = 10
    releases: Releases = 1

    def consistent(self) -> None:
        if self.low >= self.high:
            raise ParameterError("low", self.low, f"below high, {self.high:g}")

    @property
    def moved(self) -> float:
        """How far one person moves the released number, for a mean of one person.

        A mean of n numbers in [low, high], n public: one replaced by another moves it by at most
        (high − low)/n. A sum: one added or removed moves it by at most max(|low|, |high|). A count,
        and a histogram in one of its bins: by 1. (Dwork & Roth 2014, section 3.3, for numbers that
        are clipped.)
        """
        if self.query == "mean":
            return self.high - self.low
        if self.query == "sum":
            return max(abs(self.low), abs(self.high))
        return 1.0


@dataclass(frozen=True, kw_only=True)
class PlanSpec(Statistic):
    """All releases together spend at most ``epsilon`` at ``delta``, and in 95 of 100 releases noise
    moves the answer (a histogram: all its bins) by at most ``margin``. Exactly one of ``epsilon``,
    ``people`` and ``margin`` is left out (None): it is ``unknown``.

    Raises ``ParameterError`` for what contradicts itself, and says what is allowed.
    """

    margin: (
        Annotated[
            float,
            Limit(
                1e-12,
                1e15,
                "most that noise may move the answer in 95 of 100 releases, in its own unit",
                label="Margin, 95 of 100 times",
            ),
        ]
        | None
    ) = None
    epsilon: (
        Annotated[
            float,
            Limit(
                1e-4,
                100,
                "total privacy loss ε of all releases together",
                label="Total ε",
                step=0.1,
            ),
        ]
        | None
    ) = None
    delta: Annotated[float, LIMITS["account_delta"]] = 1e-5
    spread: (
        Annotated[
            float,
            Limit(
                0,
                1e9,
                "standard deviation of people's numbers, publicly known, for the population's "
                "mean; left out: the largest possible",
                label="Standard deviation",
            ),
        ]
        | None
    ) = None

    def consistent(self) -> None:
        if self.delta > MOST_DELTA:
            allowed = f"at most {MOST_DELTA}: with that probability ε promises nothing"
            raise ParameterError("delta", self.delta, allowed)
        usual = parameters(type(self))
        for name in sorted({"low", "high", "bins", "spread"} - _READ[self.query]):
            if getattr(self, name) != usual[name].default:
                allowed = f"left out for a {self.query}, which does not read it"
                raise ParameterError(name, getattr(self, name), allowed)
        super().consistent()
        half = (self.high - self.low) / 2
        if self.query == "mean" and self.margin is not None and self.margin >= half:
            allowed = f"below {half:g}: the middle of the range is never further off than that"
            raise ParameterError("margin", self.margin, allowed)
        if self.spread is not None and self.spread > half:
            allowed = f"at most {half:g}: no numbers in that range have more"
            raise ParameterError("spread", self.spread, allowed)
        if self.query != "mean" and self.people is not None:
            raise ParameterError(
                "people",
                self.people,
                f"left out for a {self.query}: its noise does not depend on how many people there "
                "are (for a share of them take the mean of a number from 0 to 1)",
            )
        left = [name for name in self.possible if getattr(self, name) is None]
        if not left:
            raise ParameterError(
                self.possible[0],
                getattr(self, self.possible[0]),
                "left out, or another of " + ", ".join(self.possible) + ": one is asked",
            )
        if len(left) > 1:
            raise ParameterError(
                left[0],
                None,
                f"given, or {' and '.join(left[1:])}: one of {', '.join(self.possible)} is asked "
                "and the others are fixed",
            )

    @property
    def possible(self) -> tuple[str, ...]:
        """What can be asked of this query."""
        return _ASKED if self.query == "mean" else ("epsilon", "margin")

    @property
    def unknown(self) -> str:
        """What is left out: "epsilon", "people" or "margin"."""
        return next(name for name in self.possible if getattr(self, name) is None)

    @property
    def what(self) -> str:
        """What is released, in words.

        >>> PlanSpec(people=5000, epsilon=1.0, releases=10).what
        'the mean of 5,000 people, released 10 times,'
        """
        if self.query == "mean":
            of = "" if self.people is None else f" of {counted(self.people, 'person', 'people')}"
            what = f"the mean{of}"
        else:
            of = f" of {self.bins:,} bins" if self.query == "histogram" else ""
            what = f"a {self.query}{of}"
        return f"{what}, released {self.releases:,} times," if self.releases > 1 else what

    def command(self) -> str:
        """The command line that answers it.

        >>> PlanSpec(margin=1.0, people=5000).command()
        'python -m dpmc_core plan --people 5000 --margin 1'
        """
        return " ".join(["python -m dpmc_core plan", *flags(changed(self))])

    def python(self) -> str:
        """Python lines that answer it."""
        args = keywords(changed(self))
        return f"from dpmc_core.planning import PlanSpec, plan\n\nplan(PlanSpec({args})).best\n"


def with_unit(amount: float, query: str) -> str:
    """An answer to a ``query``, or how far off it may be, with its unit.

    >>> with_unit(1, "mean"), with_unit(50, "count")
    ('1 point', '50 people')
    """
    one, many = UNITS[query]
    number = three(amount)
    return f"{number} {one if number == '1' else many}"


def within(margin: float, query: str) -> str:
    """A margin of a ``query``, with its unit: "±50 people"."""
    return f"±{with_unit(margin, query)}"


def halvings(changes: dict[str, float], query: str) -> list[str]:
    """What would halve ε, in words."""
    phrases = {
        "margin": lambda x: f"a margin of {within(x, query)}",
        "people": lambda x: counted(int(x), "person", "people"),
        "releases": lambda x: counted(int(x), "release", "releases") + " with the same noise",
    }
    return [phrases[name](value) for name, value in changes.items()]
