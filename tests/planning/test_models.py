"""Plans by runs: real runs on small sets, and the search on runs whose truth is known."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.store.records import (
    PassingRuns,
    Record,
    key_of,
    record_of,
    run_single_threaded,
)
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.planning.goal import ModelPlan, Search
from dpmc_core.planning.models import kept, search
from tests.terminal import Terminal

BASE = RunSpec.of(
    dataset="skewed",
    n_users=400,
    n_items=60,
    n_ratings=8000,
    algorithm="moments",
    mechanism="gaussian",
    epsilon=1.0,
)


class KnownRuns(PassingRuns):
    """Runs whose error is known: it falls by 0.02 for each doubling of ε, from 0.9 at ε = 1, with a
    seed's own part that all ε share and noise of its own; the baseline has 0.85 and that part.
    """

    def __init__(self, salt: int, noise: float) -> None:
        super().__init__()
        template = record_of(run_single_threaded(BASE))
        self._fields = {name: getattr(template, name) for name in Record.__dataclass_fields__}
        self._salt, self._noise = salt, noise

    def know(self, spec: RunSpec) -> RunSpec:
        epsilon = float(spec.noise.epsilon)
        own = np.random.default_rng([self._salt, spec.seed]).normal() * 0.01
        digits = round(math.log(epsilon) * 1e6) + 10**9
        noise = np.random.default_rng([self._salt, spec.seed, digits]).normal() * self._noise
        value = 0.9 - 0.02 * math.log2(epsilon) + own + noise
        known = {"key": key_of(spec), "value": value, "baseline": 0.85 + own}
        self.add(Record(**{**self._fields, **known}))
        return spec


def searched(plan: ModelPlan, salt: int, noise: float) -> Search:
    """A search whose runs are all known already."""
    runs, real = KnownRuns(salt, noise), plan.spec_at
    object.__setattr__(plan, "spec_at", lambda place, seed: runs.know(real(place, seed)))
    *_, last = search(plan, runs)
    return last


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "truth"), [(0.88, 2.0), (0.84, 8.0), (None, 2.0 ** (0.05 / 0.02))]
)
def test_the_interval_holds_the_truth(target: float | None, truth: float) -> None:
    """Of 30 searches by 95 % intervals at most 5 may miss (binomial: more have probability 0.003);
    Bonferroni makes them fewer.
    """
    held, estimates, spent = 0, [], []
    for salt in range(30):
        found = searched(ModelPlan(base=BASE, target=target), salt, 0.01)
        held += found.low <= truth <= found.high
        estimates.append(math.log(found.estimate / truth))
        spent.append(found.spent)
        assert found.finished
    assert held >= 25
    assert abs(float(np.mean(estimates))) < 0.25
    assert np.mean(spent) < 120


def test_runs_are_spent_where_they_decide() -> None:
    """Far from the goal the fewest are enough; most are near it."""
    found = searched(ModelPlan(base=BASE, target=0.86), 3, 0.01)
    by_place = {probe.place: len(probe.values) for probe in found.probes}
    assert by_place[0.1] <= 6
    assert by_place[50.0] <= 6
    nearest = min(by_place, key=lambda place: abs(math.log(place / 4)))
    assert by_place[nearest] == max(by_place.values())


def test_paired_seeds_take_a_seeds_own_part_out_against_a_baseline() -> None:
    """What a seed adds to a run and to its baseline alike is no noise."""
    plan = ModelPlan(base=BASE)
    found = searched(plan, 5, 1e-6)
    assert found.high / found.low <= plan.within
    assert found.low <= 2.0**2.5 <= found.high


def test_an_end_that_nothing_decides_is_open() -> None:
    """The truth is just above the largest ε: nothing is clearly reached, and no number is made of
    the end of the range.
    """
    found = searched(ModelPlan(base=BASE, target=0.7863), 1, 0.03)  # reached at ε = 51
    assert found.ends_known == (True, False)
    assert " up to " in found.sentence
    assert found.as_dict()["interval_95"][1] is None
    assert found.low < 51


def test_an_estimate_lies_in_its_interval() -> None:
    for salt in range(8):
        found = searched(ModelPlan(base=BASE, target=0.85, runs=6), salt, 0.08)
        assert found.low <= found.estimate <= found.high


def test_a_goal_out_of_reach_or_reached_already_is_one_sentence() -> None:
    unreached = searched(ModelPlan(base=BASE, target=0.5), 0, 0.01)
    assert unreached.finished
    assert unreached.crossing == "above"
    assert re.search(
        r"does not reach held-out RMSE at most 0\.5 up to a total ε of 50: its best is 0\.7\d+",
        unreached.sentence,
    )
    (probe,) = unreached.probes
    assert unreached.as_dict()["best"] == {"place": 50.0, "mean": probe.mean}
    assert unreached.as_dict()["interval_95"] == [50.0, None]
    assert unreached.caveats[0] == "More people or another method may reach it."
    reached = searched(ModelPlan(base=BASE, target=1.5), 0, 0.01)
    assert (reached.finished, reached.crossing) == (True, "below")
    assert "reaches held-out RMSE at most 1.5 at a total ε of 0.1 already" in reached.sentence
    assert reached.as_dict()["interval_95"] == [None, 0.1]
    assert "Search from below 0.1" in reached.caveats[0]


def test_a_command_whose_goal_is_out_of_reach_ends_as_others_do(terminal: Terminal) -> None:
    runs = "--n-users 400 --n-items 60 --n-ratings 8000 --runs 4 --total-runs 8 --jobs 1"
    command = "plan model moments --dataset skewed --mechanism gaussian --target 0.05 --most 1"
    printed = terminal.json(f"{command} {runs}")
    assert (printed["crossing"], printed["estimate"]) == ("above", None)
    assert printed["best"]["place"] == 1.0


def test_real_runs_are_kept_and_not_made_again(tmp_path: Path) -> None:
    plan = ModelPlan(base=BASE, target=0.85, least=0.05, most=200.0, within=3.0, runs=6)
    with RunStore(tmp_path / "runs.sqlite") as store:
        *_, first = search(plan, store, jobs=1)
        kept = store.count()
        *_, again = search(plan, store, jobs=1)
        assert store.count() == kept
    assert again.before == again.spent == first.spent == kept
    assert (again.low, again.high, again.estimate) == (first.low, first.high, first.estimate)
    assert first.estimate is not None
    assert first.low < first.estimate < first.high


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
    plan = ModelPlan(base=BASE, target=0.95, least=0.05, most=200.0, within=3.0, runs=6)
    states = list(search(plan, PassingRuns(), jobs=1))
    last = states[-1]
    assert last.estimate is None
    assert last.as_dict()["estimate"] is None
    assert "from a total ε of at most" in last.sentence
    assert "no run narrows it down further" in last.sentence
    assert states[0].sentence.startswith("Nothing is known yet of where")
    known = kept(plan, PassingRuns())
    assert known is None


def test_what_is_kept_is_said_without_a_run() -> None:
    plan = ModelPlan(base=BASE, target=0.85, least=0.05, most=200.0, within=3.0, runs=6)
    runs = PassingRuns()
    *_, last = search(plan, runs, jobs=1)
    assert kept(plan, runs) == replace(last, before=last.spent)
    some = PassingRuns()
    for seed in range(4):
        spec = plan.spec_at(200.0, seed)
        some.add(runs.find([key_of(spec)])[key_of(spec)])
    first = kept(plan, some)
    assert first is not None
    assert len(first.probes) == 1
    assert first.estimate is None
    assert "at most 200 on; not narrowed down yet" in first.sentence
    (probe,) = first.probes
    missed = replace(first, low=200.0, probes=(replace(probe, decided=-1),))
    assert " up to a total ε of 200: its best is " in missed.sentence
    at_half = replace(probe, place=100.0, decided=-1)
    half = replace(first, low=100.0, probes=(at_half, replace(probe, decided=0)))
    assert " up to a total ε of 100; not narrowed down yet" in half.sentence
    assert " on; " not in missed.sentence


def test_people_can_be_asked() -> None:
    plan = ModelPlan(
        base=BASE.replace(epsilon=2.0), vary="n_users", least=100, most=4000, within=3.0, runs=6
    )
    *_, found = search(plan, PassingRuns(), jobs=1)
    assert 100 <= found.low < found.high <= 4000
    assert " people on (" in found.sentence


@pytest.mark.parametrize(
    ("changed", "said"),
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
def test_contradictions(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        ModelPlan(**{"base": BASE, **changed})  # type: ignore[arg-type]


def test_the_command_line_goes_on_where_it_was(tmp_path: Path, terminal: Terminal) -> None:
    line = (
        "plan model moments --dataset skewed --n-users 300 --n-items 50 --n-ratings 5000"
        " --mechanism gaussian --least 0.1 --most 200 --within 4 --target 0.97 --runs 4"
        f" --jobs 1 --store {tmp_path}/s"
    )
    first, again = (terminal.json(line) for _ in range(2))
    assert again["already_there"] == again["runs"] == first["runs"]
    assert again["interval_95"] == first["interval_95"]
    refused = terminal.refusal("plan model als --dataset low-rank")
    assert "one with a guarantee: moments" in refused
