"""What is asked of models, and what a search over runs has found so far."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dpmc_core.config import Config, Settings, changed
from dpmc_core.datasets.data import uncovered_by
from dpmc_core.datasets.user_datasets import flags, is_own, keywords, lines_of
from dpmc_core.errors import ParameterError, check_choice
from dpmc_core.experiments.algorithms import of_task
from dpmc_core.experiments.run import TASKS
from dpmc_core.experiments.spec import RunSpec, Spec
from dpmc_core.experiments.store.records import runs_on
from dpmc_core.limits import Limit
from dpmc_core.mechanisms import RUN_FAMILIES
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import JsonObject, measured, three

QUICK_RUNS = 4  # at each place of a quick look: fewer decide nothing
_FAR = 10  # a line through means that are further apart says nothing
VARIED = {"epsilon": "ε", "n_users": "people"}


@dataclass(frozen=True, kw_only=True)
class ModelPlan(Config, Spec):
    """The runs of ``base`` with another total ε, or another number of users, reach ``target``: an
    error or objective at most that, a recall at least; None for better than the best baseline.

    The answer is looked for between ``least`` and ``most`` of ``vary``, until its interval's ends
    are within the factor ``within`` of one another, no number of runs up to ``runs`` at one place
    tells more, or another place could take more than ``total_runs`` in all. Raises
    ``ParameterError``: for a ``base`` without a guarantee's total ε, or with secret noise, whose
    runs nothing can repeat.
    """

    base: RunSpec
    vary: str = "epsilon"
    target: (
        Annotated[
            float,
            Limit(-1e9, 1e9, "what an error may be at most, or a recall at least", label="Target"),
        ]
        | None
    ) = None
    least: Annotated[
        float, Limit(0, 1e9, "least value that is looked at", open_low=True, label="Look from")
    ] = 0.1
    most: Annotated[
        float, Limit(0, 1e9, "largest value that is looked at", open_low=True, label="Look to")
    ] = 50.0
    within: Annotated[
        float,
        Limit(
            1.02,
            10,
            "factor between the answer's ends at which it stops",
            label="Stop within a factor of",
        ),
    ] = 1.5
    runs: Annotated[int, Limit(4, 100, "most runs at one place")] = 20
    total_runs: Annotated[int, Limit(8, 10_000, "runs in all after which it stops")] = 120

    @property
    def amount(self) -> int:
        return self.total_runs

    @property
    def quick(self) -> "ModelPlan":
        """The first runs of its search, for a quick look: both ends and the middle."""
        return replace(self, runs=QUICK_RUNS, total_runs=3 * QUICK_RUNS)

    def weighted_runs(self) -> Iterable[tuple[RunSpec, float]]:
        return ((self.spec_at(self.most, 0), float(self.total_runs)),)

    def consistent(self) -> None:
        check_choice("vary", self.vary, VARIED)
        if self.least >= self.most:
            raise ParameterError("least", self.least, f"below most, {self.most:g}")
        base = self.base
        card, less = base.card, TASKS[base.task].less_is_better
        if not card.guarantee:
            able = [n for n, c in of_task(base.task).items() if c.guarantee]
            allowed = f"one with a guarantee: {', '.join(able)}"
            raise ParameterError("algorithm", card.name, allowed)
        if base.noise.kind != "total":
            raise ParameterError(
                "mechanism",
                base.noise.mechanism,
                f"one of {', '.join(RUN_FAMILIES)}, with a total ε for {card.name}",
            )
        if self.target is not None and not 0 < self.target <= (1e9 if less else 1):
            allowed = "above 0" + ("" if less else " and at most 1: a share of what is liked")
            raise ParameterError("target", self.target, allowed)
        if base.data.open_words:
            allowed = "one that is public or chosen with noise: from the documents, ε is nominal"
            raise ParameterError("word_list", base.data.word_list, allowed)
        if base.secret:
            raise ParameterError("secret", True, "left out: a plan repeats runs on paired seeds")
        if self.total_runs < 2 * self.runs:
            raise ParameterError(
                "total_runs", self.total_runs, f"at least {2 * self.runs}: both ends may take runs"
            )
        if self.vary == "n_users" and (self.least < 1 or self.most != round(self.most)):
            raise ParameterError("least", self.least, "whole numbers of people, as most is")
        for place in (self.least, self.most):
            self.spec_at(place, self.runs - 1)

    def spec_at(self, place: float, seed: int) -> RunSpec:
        """The run at ``place`` with the ``seed``-th of the paired seeds."""
        base, number = self.base, self.base.seed + seed
        if self.vary == "epsilon":
            return base.replace(epsilon=float(f"{place:.4g}"), seed=number)
        people = {"n_users": round(place)}
        ratings = getattr(base.data, "n_ratings", None)
        if ratings is not None:  # each person rates as many items as before
            people["n_ratings"] = round(ratings * round(place) / base.data.n_users)
        return base.replace(**people, seed=number)

    def asks_the_same(self, other: "ModelPlan") -> bool:
        """Whether ``other`` makes the same runs for the same goal: what varies is no setting."""
        mine, theirs = (replace(plan, base=plan.spec_at(plan.most, 0)) for plan in (self, other))
        return mine == theirs

    def command(self) -> str:
        """The command line that makes this search.

        >>> base = RunSpec.of(algorithm="moments", mechanism="gaussian", epsilon=1)
        >>> ModelPlan(base=base, target=0.9).command()
        'python -m dpmc_core plan model moments --dataset low-rank --mechanism gaussian
         --target 0.9'
        """
        run = re.sub(" (complete|factorize) ", " plan model ", self.base.command(), count=1)
        if self.vary == "epsilon":  # each run has its own
            run = re.sub(r" --epsilon \S+", "", run)
        return " ".join([run, *flags(self._options)])

    @property
    def _options(self) -> Settings:
        vary = {"vary": self.vary} if self.vary != "epsilon" else {}
        return vary | changed(self)

    def python(self) -> str:
        """Python lines that make this search."""
        dataset = self.base.dataset
        imported, place = runs_on(dataset)
        sets = ", sets=(mine,)" if is_own(dataset) else ""
        more = f", {keywords(self._options)}" if self._options else ""
        return (
            lines_of(dataset)
            + "from dpmc_core.experiments import RunSpec\n"
            + imported
            + "from dpmc_core.planning.goal import ModelPlan\n"
            + "from dpmc_core.planning.models import search\n\n"
            + f"planned = ModelPlan(base=RunSpec.of({keywords(self.base.changes())}){more})\n"
            + f"for found in search(planned, {place}(), jobs=1{sets}):\n    pass\n"
            + "print(found.sentence)\n"
        )

    @property
    def goal(self) -> str:
        """What is to be reached, in words."""
        if self.target is None:
            return "better than the best baseline"
        task = TASKS[self.base.task]
        measure = task.measure.partition(" (")[0].partition(",")[0]
        how = "at most" if task.less_is_better else "at least"
        return f"{measure} {how} {three(self.target)}"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What the runs at one ``place`` say: by how much each reached the goal (below 0: by how much
    it missed), and whether that is ``decided``: 1 reached, −1 missed, 0 neither.
    """

    place: float
    margins: tuple[float, ...]
    values: tuple[float, ...]
    decided: int

    @property
    def mean(self) -> float:
        """The mean of what the runs measured."""
        return float(np.mean(self.values))

    @property
    def margin(self) -> float:
        """By how much they reached the goal on average."""
        return float(np.mean(self.margins))


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search so far: between ``low`` (clearly missed) and ``high`` (clearly reached) the goal is
    first reached, with 95 % confidence if reaching it is monotone in what varies; an end that no
    runs decided (``ends_known``) is open. ``estimate`` is where the means cross. ``before`` of its
    runs were in the store; ``under_way`` are those of a place that has no probe yet and all others;
    ``used_up``: another place could take more than the runs in all.
    """

    plan: ModelPlan
    probes: tuple[Probe, ...]
    before: int
    finished: bool
    under_way: int = 0
    used_up: bool = False

    @property
    def spent(self) -> int:
        """How many runs were looked at, those at the place under way included."""
        return max(sum(len(probe.values) for probe in self.probes), self.under_way)

    @property
    def low(self) -> float:
        """The largest place that clearly missed."""
        return max((p.place for p in self.probes if p.decided < 0), default=self.plan.least)

    @property
    def high(self) -> float:
        """The least place above ``low`` that clearly reached."""
        above = (p.place for p in self.probes if p.decided > 0 and p.place >= self.low)
        return min(above, default=self.plan.most)

    @property
    def ends_known(self) -> tuple[bool, bool]:
        """Whether some runs clearly missed the goal, and some clearly reached it: an end that is
        not known is open.
        """
        decided = {probe.decided for probe in self.probes}
        return -1 in decided, 1 in decided

    @property
    def crossing(self) -> str:
        """Return where the goal is first reached: "above" the range when runs clearly missed it at
        the largest place, "below" when they clearly reached it at the least, else "inside".
        """
        by_place = sorted(self.probes, key=lambda probe: probe.place)
        if by_place and by_place[-1].decided < 0:
            return "above"
        # the largest place comes first: alone it says nothing of what is below
        return "below" if len(by_place) > 1 and by_place[0].decided > 0 else "inside"

    @property
    def best(self) -> Probe | None:
        """Return the probe nearest to the goal, or furthest beyond it; None before the first."""
        return max(self.probes, key=lambda probe: probe.margin, default=None)

    @property
    def estimate(self) -> float | None:
        """Where a line through the two nearest means within the interval crosses 0, on a
        logarithmic scale; None where no means on both sides of the goal are within a factor of 10.
        """
        inside = sorted(
            (p for p in self.probes if self.low <= p.place <= self.high), key=lambda p: p.place
        )
        missed = [p for p in inside if p.margin < 0]
        reached = [p for p in inside if p.margin >= 0]
        if not missed or not reached:
            return None
        a, b = missed[-1], reached[0]
        if b.place > _FAR * a.place:
            return None
        place = math.sqrt(a.place * b.place)
        if a.place < b.place:  # else not monotone within noise: the middle of where it turns
            place = a.place * (b.place / a.place) ** (-a.margin / (b.margin - a.margin))
        return min(max(place, self.low), self.high)

    @property
    def sentence(self) -> str:
        """The answer, with its interval."""
        plan, base = self.plan, self.plan.base
        is_, is_not = ("is", "is not") if plan.target is None else ("reaches", "does not reach")
        title = base.card.title
        low, high = self.ends_known
        between = f"{three(self.low)} to {three(self.high)}"
        if not (low and high):
            between = f"at most {three(self.high)}" if high else f"at least {three(self.low)}"
        if not (low or high):
            return (
                f"Nothing is known yet of where {title} {is_} {plan.goal}: no place that was "
                f"looked at is decided ({self.spent} runs)."
            )

        kind = "nominal total" if uncovered_by(base.data) else "total"

        def amount(text: str) -> str:
            return f"a {kind} ε of {text}" if plan.vary == "epsilon" else f"{text} people"

        if self.crossing == "above":
            largest = max(self.probes, key=lambda probe: probe.place)
            missed = measured(-largest.margin, t_half_width(largest.margins))
            _, _, unit = TASKS[base.task].measure.removesuffix(")").partition(" (")
            return (
                f"{title} {is_not} {plan.goal} up to {amount(three(plan.most))}, where "
                f"it misses that by {missed}{f' {unit}' * bool(unit)} ({self.spent} runs)."
            )
        if self.crossing == "below":
            least = amount(three(plan.least))
            return f"{title} {is_} {plan.goal} at {least} already ({self.spent} runs)."
        start = f"{title} {is_} {plan.goal} from"
        if self.estimate is None:
            more = "no run narrows it down further" if self.finished else "not narrowed down yet"
            if not high:  # nowhere reached
                upto = amount(three(self.low))
                if self.low < plan.most:
                    upto += f"; {more}"
                return f"{title} {is_not} {plan.goal} up to {upto} ({self.spent} runs)."
            return f"{start} {amount(between)} on; {more} ({self.spent} runs)."
        return f"{start} {amount('about ' + three(self.estimate))} on ({between}, 95 %)."

    @property
    def caveats(self) -> tuple[str, ...]:
        """What an answer from runs leaves out."""
        sentences = [
            "The answer is for this data, these settings and these seeds; it takes for granted "
            f"that results with more {VARIED[self.plan.vary]} are never worse.",
            "Errors of runs are computed without noise: choosing by them is for the holder of the "
            "data, and no ε of a later run covers that choice."
            if is_own(self.plan.base.dataset)
            else "Errors of runs are computed without noise. On data that is public already this "
            "costs nobody anything; on your own, no ε of a later run covers the choice.",
        ]
        reached = [p.place for p in self.probes if p.decided > 0]
        first = min(reached, default=math.inf)
        again = [p.place for p in self.probes if p.decided < 0 and p.place > first]
        within = [p for p in self.probes if p.margin >= 0 and p.place < self.low]
        if within and not again:
            sentences.append(
                f"More may not always be better: at {three(within[0].place)} the goal was reached "
                f"on average, and clearly missed at {three(self.low)}."
            )
        if again:
            sentences.append(
                f"More was not always better: reached at {three(first)}, the goal was "
                f"missed at {three(max(again))}. The interval is of the last time it is reached."
            )
        if self.crossing == "above":
            more = "More people" if self.plan.vary == "epsilon" else "A larger ε"
            sentences.insert(0, f"{more} or another method may reach it.")
        if self.crossing == "below":
            sentences.insert(0, f"Search from below {three(self.plan.least)} to see where.")
        uncovered = uncovered_by(self.plan.base.data)
        if uncovered:
            sentences.insert(0, f"ε is nominal: {', '.join(uncovered)} read off the data.")
        if self.used_up:
            sentences.insert(
                0,
                f"The search ended after {self.spent} of at most {self.plan.total_runs} runs: "
                "another place could take more than are left, and more in all may narrow it.",
            )
        return tuple(sentences)

    def as_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {
            "spec": self.plan.base.as_dict(),
            "vary": self.plan.vary,
            "goal": self.plan.goal,
            "crossing": self.crossing,
            "best": self.best and {"place": self.best.place, "mean": self.best.mean},
            "estimate": self.estimate,
            "interval_95": [
                end if is_known else None
                for end, is_known in zip((self.low, self.high), self.ends_known, strict=True)
            ],
            "runs": self.spent,
            "already_there": self.before,
            "finished": self.finished,
            "answer": self.sentence,
            "caveats": list(self.caveats),
            "probes": [
                {"place": p.place, "mean": p.mean, "runs": len(p.values), "decided": p.decided}
                for p in self.probes
            ],
        }
