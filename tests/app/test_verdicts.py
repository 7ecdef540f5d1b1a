"""Verdicts: what they say against numbers that are computed here in another way."""

import math
import re
import statistics
from dataclasses import replace

import pytest
from scipy import stats

from dpmc_core.experiments.examples import example
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.metrics import Comparison
from pages.parts.tradeoffs import findings
from pages.parts.tradeoffs.charts import Lines, lines_of
from tests.app.visits import opened


def test_at_equal_epsilon_the_verdict_names_the_least_variance() -> None:
    said = opened("mechanisms?m_by=epsilon").verdict
    assert "ε = 1 of one release, Laplace noise needs the least variance: 2 (Huber 2.96" in said
    assert said.endswith("Gaussian 13.9 with δ = 10⁻⁵).")  # noise that fails with δ says so
    gaussian = FAMILIES["gaussian"].with_epsilon(1.0, 1.0, delta=1e-5)
    assert gaussian.variance == pytest.approx(13.9, abs=0.05)


def test_at_equal_variance_the_verdict_is_of_the_attacker() -> None:
    said = opened("mechanisms").verdict
    assert said.startswith("At equal variance 2 (Δ = 1), Gaussian noise protects one release best")
    assert "best: at most 63.8 % right guesses (" in said
    assert "Laplace 69.7" in said
    assert 100 * stats.norm.cdf(0.5 / math.sqrt(2)) == pytest.approx(63.8, abs=0.05)


@pytest.fixture
def lines() -> Lines:
    return lines_of(example("tradeoffs", "user").points, "total_epsilon")


def test_what_privacy_costs_has_the_interval_of_the_pairs(lines: Lines) -> None:
    said = findings.verdict(lines)
    found = re.search(r"raises .* error by (\d+) ± ([\d.]+) %", said)
    assert found, said
    x = float(re.search(r"ε = ([\d.]+)", said)[1])  # type: ignore[index]
    algorithm = next(a for a in lines.algorithms if "moment" in a)
    noisy = dict(lines.of[algorithm, "gaussian"])[x].values
    quiet = lines.of[algorithm, "none"][0][1].values
    apart = [noisy[k] - quiet[k] for k in noisy]
    mean = statistics.mean(quiet.values())
    # the best is chosen among all that are drawn at this amount: Bonferroni over them
    candidates = sum(x in dict(line) for a in lines.algorithms for line in lines.noisy(a).values())
    t = stats.t.ppf(1 - 0.025 / candidates, len(apart) - 1)
    half = t * statistics.stdev(apart) / math.sqrt(len(apart))
    assert float(found[1]) == pytest.approx(100 * statistics.mean(apart) / mean, abs=0.5)
    assert float(found[2]) == pytest.approx(100 * half / mean, rel=0.5)


def test_few_repetitions_that_decide_nothing_are_said_with_their_numbers(lines: Lines) -> None:
    few = {
        name: [(x, replace(p, values=dict([*p.values.items()][:2]))) for x, p in line]
        for name, line in lines.of.items()
    }
    sentence = findings.verdict(replace(lines, of=few))
    best = dict(few["moments", "gaussian"])[5.0]
    assert f"a mean {best.measure} of {best.mean:.3f} (" in sentence
    assert sentence.endswith(f"{best.baseline:.3f}); 2 repetitions are too few to tell more.")


def apart(mean: float, half: float, *, less: bool = True) -> findings.Apart:
    return findings.Apart("dpals", "huber", "laplace", 1.0, Comparison(mean, half, 5, 3, less))


def test_the_winner_of_a_comparison_depends_on_what_is_good() -> None:
    assert apart(-1.0, 0.1).better == "huber"
    assert apart(-1.0, 0.1, less=False).better == "laplace"  # recall: more is better
    first, second, third, *_ = findings.pair_sentences(
        [apart(-1.0, 0.1), apart(1.0, 0.1), apart(-2, 0.5)], ""
    )
    assert first == (
        "Here, Huber noise is significantly better in 2 of 3 comparisons, more than any other."
    )
    assert second == (
        "Laplace is better in 1 of its 3; none of all 3 comparisons show no significant difference."
    )
    assert third.startswith("Below 0 the first of the two is better")
    tie = findings.pair_sentences([apart(-1.0, 0.1), apart(1.0, 0.1)], "", "total ε")[0]
    assert tie == (
        "At equal total ε, Huber and Laplace noise are each significantly better in 1 of 2 "
        "comparisons."
    )
    assert "no mechanism is significantly" in findings.pair_sentences([apart(0.1, 0.2)], "")[0]
    assert "Above 0" in findings.pair_sentences([apart(0.1, 0.2, less=False)], "")[1]


def test_every_comparison_is_drawn_and_open_where_nothing_is_detected(lines: Lines) -> None:
    found = findings.differences(lines)
    figure, numbers = findings.pairs_figure(lines, found, "error")
    drawn = [(y, s) for t in figure.data for y, s in zip(t.y, t.marker.symbol, strict=True)]
    assert len(drawn) == len(found) == len(numbers)
    assert sorted(y for y, _ in drawn) == sorted(a.difference.mean for a in found)
    opened = sorted(y for y, s in drawn if s.endswith("-open"))
    assert opened == sorted(a.difference.mean for a in found if not a.difference.detected)
