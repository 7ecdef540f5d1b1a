"""Plans by runs: real runs on small sets, and the search on runs whose truth is known."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.store.records import PassingRuns, key_of, record_for
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.planning.goal import ModelPlan, Search
from dpmc_core.planning.models import search, stored_search
from tests.terminal import Terminal

SIZES = {"dataset": "skewed", "n_users": 400, "n_items": 60, "n_ratings": 8000}
BASE = RunSpec.of(SIZES, algorithm="moments", mechanism="gaussian", epsilon=1.0)


class KnownRuns(PassingRuns):
    """Runs whose error is known: it falls by 0.02 for each doubling of ε, from 0.9 at ε = 1, with a
    seed's own part that all ε share and noise of its own; the baseline has 0.85 and that part.
    """

    def __init__(self, salt: int, noise: float) -> None:
        super().__init__()
        self._salt, self._noise = salt, noise

    def know(self, spec: RunSpec) -> RunSpec:
        def normal(*more: int) -> float:
            return float(np.random.default_rng([self._salt, spec.seed, *more]).normal())

        epsilon, own = float(spec.noise.epsilon), normal() * 0.01
        noise = normal(round(math.log(epsilon) * 1e6) + 10**9) * self._noise
        value = 0.9 - 0.02 * math.log2(epsilon) + own + noise
        self.add(record_for(spec, value=value, baseline=0.85 + own))
        return spec


def searched(salt: int, noise: float, **plan: Any) -> Search:
    """A search whose runs are all known already."""
    runs, searching = KnownRuns(salt, noise), ModelPlan(base=BASE, **plan)
    real = searching.spec_at
    object.__setattr__(searching, "spec_at", lambda place, seed: runs.know(real(place, seed)))
    *_, last = search(searching, runs)
    return last


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "truth"), [(0.88, 2.0), (0.84, 8.0), (None, 2.0 ** (0.05 / 0.02))]
)
def test_the_interval_holds_the_truth(target: float | None, truth: float) -> None:
    """Of 30 searches by 95 % intervals at most 5 may miss (binomial: more have probability 0.003);
    Bonferroni makes them fewer.
    """
    ends = [searched(salt, 0.01, target=target) for salt in range(30)]
    assert all(end.finished for end in ends)
    assert sum(end.low <= truth <= end.high for end in ends) >= 25
    assert abs(np.mean([math.log(end.estimate / truth) for end in ends])) < 0.25
    assert np.mean([end.spent for end in ends]) < 120


def test_runs_are_spent_where_they_decide() -> None:
    """Far from the goal the fewest are enough; most are near it."""
    end = searched(3, 0.01, target=0.86)
    by_place = {probe.place: len(probe.values) for probe in end.probes}
    assert max(by_place[0.1], by_place[50.0]) <= 6
    nearest = min(by_place, key=lambda place: abs(math.log(place / 4)))
    assert by_place[nearest] == max(by_place.values())


def test_paired_seeds_take_a_seeds_own_part_out_against_a_baseline() -> None:
    """What a seed adds to a run and to its baseline alike is no noise."""
    end = searched(5, 1e-6)
    assert end.high / end.low <= ModelPlan(base=BASE).within
    assert end.low <= 2.0**2.5 <= end.high


def test_an_end_that_nothing_decides_is_open() -> None:
    """The truth is just above the largest ε: nothing is clearly reached, and no number is made of
    the end of the range.
    """
    end = searched(1, 0.03, target=0.7863)  # reached at ε = 51
    assert end.ends_known == (True, False)
    assert " up to " in end.sentence
    assert end.as_dict()["interval_95"][1] is None
    assert end.low < 51


@pytest.mark.parametrize("salt", range(8))
def test_an_estimate_lies_in_its_interval(salt: int) -> None:
    end = searched(salt, 0.08, target=0.85, runs=6)
    assert end.low <= end.estimate <= end.high


def test_a_goal_out_of_reach_or_reached_already_is_one_sentence() -> None:
    unreached, reached = (searched(0, 0.01, target=target) for target in (0.5, 1.5))
    assert re.search(
        r"does not reach held-out RMSE at most 0\.5 up to a total ε of 50, where "
        r"it misses that by 0\.\d+ ± 0\.\d+ rating units \(",
        unreached.sentence,
    )
    assert "reaches held-out RMSE at most 1.5 at a total ε of 0.1 already" in reached.sentence
    for end, crossing, interval in (
        (unreached, "above", [50.0, None]),
        (reached, "below", [None, 0.1]),
    ):
        assert (end.finished, end.crossing) == (True, crossing)
        assert end.as_dict()["interval_95"] == interval
    assert unreached.caveats[0] == "More people or another method may reach it."
    assert "Search from below 0.1" in reached.caveats[0]
    (probe,) = unreached.probes
    assert unreached.as_dict()["best"] == {"place": 50.0, "mean": probe.mean}


WIDE: dict[str, Any] = {"least": 0.05, "most": 200.0, "within": 3.0, "runs": 6}


def test_real_runs_are_kept_not_made_again_and_said_without_a_run(tmp_path: Path) -> None:
    plan = ModelPlan(base=BASE, target=0.85, **WIDE)
    some = PassingRuns()
    with RunStore(tmp_path / "runs.sqlite") as store:
        *_, first = search(plan, store, jobs=1)
        count = store.count()
        *_, again = search(plan, store, jobs=1)
        assert store.count() == count
        assert stored_search(plan, store) == again
        for record in store.find(key_of(plan.spec_at(200.0, seed)) for seed in range(4)).values():
            some.add(record)
    assert again.before == again.spent == first.spent == count
    assert replace(again, before=0) == replace(first, before=0)
    assert first.low < first.estimate < first.high
    begun = stored_search(plan, some)
    assert begun.estimate is None
    (probe,) = begun.probes
    missed, undecided = (replace(probe, decided=decided) for decided in (-1, 0))
    for probes, words in (
        ((probe,), "at most 200 on; not narrowed down yet"),
        ((missed,), " up to a total ε of 200, where it misses that by "),
        (
            (replace(missed, place=100.0), undecided),
            " up to a total ε of 100; not narrowed down yet",
        ),
    ):
        assert words in replace(begun, probes=probes).sentence


def test_a_quick_look_makes_the_first_runs_of_the_search() -> None:
    plan, store = ModelPlan(base=BASE, least=0.1, most=50.0), PassingRuns()
    *_, quick = search(plan.quick, store, jobs=1)
    looked_at = [p.place for p in quick.probes]
    assert looked_at == [50.0, 0.1, 2.236]
    assert quick.spent == 12
    whole = search(plan, store, jobs=1)
    assert next(state for state in whole if len(state.probes) == 3).before == 12


def test_no_point_is_named_where_no_runs_are_on_both_sides_of_the_goal() -> None:
    """Reached on average wherever it was looked: the middle of an interval is no estimate."""
    plan = ModelPlan(base=BASE, target=0.95, **WIDE)
    states = list(search(plan, PassingRuns(), jobs=1))
    last = states[-1]
    assert last.estimate is None
    assert last.as_dict()["estimate"] is None
    assert "from a total ε of at most" in last.sentence
    assert "no run narrows it down further" in last.sentence
    assert states[0].sentence.startswith("Nothing is known yet of where")
    assert stored_search(plan, PassingRuns()) is None


def test_people_can_be_asked() -> None:
    plan = ModelPlan(
        base=BASE.replace(epsilon=2.0), vary="n_users", least=100, most=4000, within=3.0, runs=6
    )
    *_, last = search(plan, PassingRuns(), jobs=1)
    assert 100 <= last.low < last.high <= 4000
    assert " people on (" in last.sentence


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"vary": "rank"}, "one of epsilon, n_users"),
        ({"least": 5, "most": 5}, "below most"),
        ({"base": RunSpec.of(algorithm="als")}, "one with a guarantee: moments, dpals"),
        ({"base": BASE.replace(secret=True)}, "repeats runs on paired seeds"),
        ({"runs": 2}, "a whole number from 4"),
        ({"total_runs": 20}, "at least 40"),
        ({"vary": "n_users", "least": 0.1}, "whole numbers of people"),
    ],
)
def test_contradictions(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ModelPlan(**{"base": BASE, **changed})  # type: ignore[arg-type]


def test_the_command_line_goes_on_where_it_was(tmp_path: Path, terminal: Terminal) -> None:
    line = (
        "plan model moments --dataset skewed --n-users 300 --n-items 50 --n-ratings 5000"
        " --mechanism gaussian --most 1 --target 0.05 --runs 4"
        f" --jobs 1 --store {tmp_path}/s"
    )
    first, again = (terminal.json(line) for _ in range(2))
    assert (again["already_there"], again["runs"]) == (4, first["runs"]) == (4, 4)
    # and a command whose goal is out of reach ends as others do
    assert (again["crossing"], again["estimate"]) == ("above", None)
    assert again["best"] == first["best"] == {"place": 1.0, "mean": pytest.approx(1, abs=0.5)}
