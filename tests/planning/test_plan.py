"""Plans against independent references: closed forms, and brute force over scale and α."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms import Gaussian, Huber
from dpmc_core.planning import PlanSpec, halved, plan, private_bounds
from dpmc_core.planning.answer import Plan
from dpmc_core.privacy import Ledger, read_ledger, state
from dpmc_core.privacy.account import tightest
from tests.privacy.helpers import ledger
from tests.terminal import Terminal

DELTA = 1e-5


def of(answer: Plan, name: str) -> Any:
    return next(c for c in answer.candidates if c.mechanism.name == name)


@pytest.mark.parametrize("margin", [3.0, 50.0, 400.0])
def test_a_count_by_laplace_noise_follows_from_its_quantile(margin: float) -> None:
    """P(|Z| > m) = e^(−m/b) = 0.05, and δ(ε) = 1 − e^((ε − 1/b)/2)."""
    scale = margin / math.log(20)
    answer = of(plan(PlanSpec(query="count", margin=margin)), "laplace")
    assert answer.mechanism.scale == pytest.approx(scale, rel=1e-12)
    assert answer.epsilon == pytest.approx(1 / scale + 2 * math.log1p(-DELTA), rel=1e-6)


@pytest.mark.parametrize("releases", [1, 7, 300])
@pytest.mark.parametrize("people", [200, 5000])
def test_a_mean_by_gaussian_noise_follows_from_its_mu(releases: int, people: int) -> None:
    spec = PlanSpec(margin=2.0, people=people, low=-20, high=80, releases=releases)
    one = Gaussian(scale=2.0 / stats.norm.isf(0.025))
    expected = one.epsilon_at_delta(DELTA, math.sqrt(releases) * 100 / people)
    if expected <= 100:
        assert of(plan(spec), "gaussian").epsilon == pytest.approx(expected, rel=1e-6)


# counts and means from precise to rough, with one release or many
PLANS = [
    PlanSpec(query=query, people=people, margin=margin, releases=releases, delta=delta)
    for query, people, unit in (("count", None, 1.0), ("mean", 1000, 0.1))
    for releases, delta in ((1, 1e-3), (17, 1e-8), (300, 1e-5))
    for margin in unit * math.sqrt(releases) * np.array([0.8, 4, 20])
    if people is None or margin < 25
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "spec",
    [
        PlanSpec(query="count", margin=30.0, releases=4),
        PlanSpec(query="count", margin=100.0, releases=10),
        PlanSpec(query="sum", low=-3.0, high=2.0, margin=400.0, releases=60),
        PlanSpec(margin=1.0, people=20_000, releases=1000),
        # one minimum near Laplace noise and one near α = 1.7, which is the lower one
        PlanSpec(query="count", margin=6.0, releases=9, delta=1e-6),
        PlanSpec(query="count", margin=4 * math.sqrt(6), releases=6),
        PlanSpec(margin=5.0, people=100, releases=5),
        *PLANS,
    ],
    ids=lambda spec: spec.command()[25:],
)
def test_no_alpha_of_a_fine_grid_spends_less(spec: PlanSpec) -> None:
    """Accounting with one number's release written again; α from 0.05 to 12 in steps of 10 %, and
    of 1 % about the best.
    """
    moved = {"count": 1.0, "sum": 3.0, "mean": 100.0}[spec.query] / (spec.people or 1)
    assert spec.margin is not None

    def spent(alpha: float, coarse: bool = False) -> float:
        shape = Huber(alpha=alpha, scale=1.0)
        noise = Huber(alpha=alpha, scale=spec.margin / float(shape.isf(0.025)))
        return tightest(ledger(noise, spec.releases, moved), spec.delta, coarse=coarse)

    coarse = np.geomspace(0.05, 12, 60)
    best = coarse[int(np.argmin([spent(a, coarse=True) for a in coarse]))]
    least = min(spent(a) for a in best * np.geomspace(0.9, 1.1, 21))
    assert least * (1 - 1e-4) <= of(plan(spec), "huber").epsilon <= least * (1 + 1e-6)


@pytest.mark.parametrize(
    ("margin", "releases", "delta", "least"),
    [(6.0, 9, 1e-6, 4.4518), (4 * math.sqrt(6), 6, 1e-5, 1.82375)],
)
def test_the_lower_one_of_two_minima_is_the_answer(
    margin: float, releases: int, delta: float, least: float
) -> None:
    """Laplace noise takes 4.493 and 1.834 there; Huber noise with α = 1.72 and 1.73 least."""
    spec = PlanSpec(query="count", margin=margin, releases=releases, delta=delta)
    best = plan(spec).best
    assert (best.mechanism.name, best.epsilon) == ("huber", pytest.approx(least, rel=2e-5))
    back = plan(replace(spec, margin=None, epsilon=best.epsilon)).best
    assert (back.mechanism.name, back.margin) == ("huber", pytest.approx(margin, rel=1e-5))


@pytest.mark.parametrize(
    ("query", "releases"), [("count", 1), ("mean", 3), ("histogram", 1), ("histogram", 3)]
)
def test_margin_and_epsilon_answer_each_other(query: str, releases: int) -> None:
    """All bins of a histogram are within the margin together."""
    people = 3000 if query == "mean" else None
    spec = PlanSpec(query=query, epsilon=0.7, releases=releases, people=people)
    for one in plan(spec).candidates:
        name = one.mechanism.name
        inside = one.mechanism.cdf(one.margin) - one.mechanism.cdf(-one.margin)
        assert inside ** (10 if query == "histogram" else 1) == pytest.approx(0.95, rel=1e-9)
        again = of(plan(replace(spec, epsilon=None, margin=one.margin)), name).epsilon
        # of staircase noise less than its pure ε, at δ
        assert again == pytest.approx(0.7, rel=1e-4 if name == "staircase" else 3e-6)


@pytest.mark.parametrize("releases", [1, 3])
def test_one_person_less_than_the_fewest_takes_more(releases: int) -> None:
    spec = PlanSpec(margin=0.5, epsilon=0.9, releases=releases)
    for one in plan(spec).candidates:
        fewer, enough = (
            of(plan(replace(spec, epsilon=None, people=people)), one.mechanism.name).epsilon
            for people in (one.people - 1, one.people)
        )
        assert fewer > 0.9 * (1 - 3e-5)
        assert enough <= 0.9 * (1 + 3e-6)


@pytest.mark.parametrize(
    ("epsilon", "people", "spread"), [(1.0, 5000, None), (0.1, 200, 10.0), (0.05, 500, 0.5)]
)
def test_the_populations_mean_has_both_errors(
    epsilon: float, people: int, spread: float | None
) -> None:
    answer = plan(PlanSpec(epsilon=epsilon, people=people, spread=spread))
    deviation, end = (50.0 if spread is None else spread) / math.sqrt(people), stats.norm.isf(0.025)
    gaussian, laplace = (
        replace(answer, candidates=(of(answer, name),)) for name in ("gaussian", "laplace")
    )
    both = math.hypot(deviation, gaussian.best.mechanism.std) * end
    expected = deviation * end, gaussian.best.margin, both
    assert gaussian.of_population() == pytest.approx(expected, rel=1e-7)
    sampling, noise, both = laplace.of_population()
    assert max(sampling, noise) < both < sampling + noise
    # Laplace and normal: the sum's distribution function in closed form, by completing squares
    ratio, x = deviation / laplace.best.mechanism.scale, both / deviation
    tail = stats.norm.sf(x) + 0.5 * (
        math.exp(ratio**2 / 2 - ratio * x + stats.norm.logcdf(x - ratio))
        - math.exp(ratio**2 / 2 + ratio * x + stats.norm.logsf(x + ratio))
    )
    assert tail == pytest.approx(0.025, rel=1e-6)
    alone = laplace.of_population(100 * people)[:2]
    assert alone == pytest.approx((sampling / 10, noise / 100), rel=1e-12)
    certain = plan(PlanSpec(epsilon=epsilon, people=people, spread=0.0)).of_population()
    assert certain == (0.0, answer.best.margin, answer.best.margin)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"people": 50, "epsilon": 1, "spread": 51}, r"spread = 51\.0 .* at most 50: no numbers"),
        ({"query": "count", "margin": 20, "spread": 3}, "left out for a count"),
        (
            {"margin": 1e-9, "people": 3, "releases": 2},
            r"cannot be reached.* at ε = 100 it is ±.*people at ε = 1",
        ),
        ({"query": "count", "margin": 1e9}, r"below 0\.0001 .*at 0\.0001 the margin is ±18,"),
    ],
)
def test_what_cannot_be_says_what_can(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DPMCError, match=message):
        plan(PlanSpec(**settings))


def test_what_halves_epsilon_does() -> None:
    spec = PlanSpec(margin=1.0, people=5000, releases=6)
    answer = plan(spec)
    half, changes = answer.best.epsilon / 2, halved(answer)
    wider = plan(replace(spec, margin=changes["margin"])).best.epsilon
    more = plan(replace(spec, people=int(changes["people"]))).best.epsilon
    assert wider == pytest.approx(half, rel=1e-5)
    assert more == pytest.approx(half, rel=2e-4)  # a whole number of people
    assert more <= half * (1 + 1e-5)
    (release,) = answer.best.ledger.releases
    fewer = int(changes["releases"])
    ends = [tightest(Ledger((replace(release, count=n),)), DELTA) for n in (fewer, fewer + 1)]
    assert ends[0] <= half < ends[1]


def test_a_mechanism_as_good_as_the_best_is_named_if_it_is_simpler() -> None:
    answer = plan(PlanSpec(query="count", margin=50.0))
    assert [answer.best.mechanism.name, len(answer.candidates)] == ["laplace", 4]
    assert of(answer, "huber").epsilon == pytest.approx(answer.best.epsilon, rel=1e-3)
    assert answer.of_population() is None


def test_the_command_line_and_the_python_lines_say_the_same(terminal: Terminal) -> None:
    spec = PlanSpec(query="histogram", bins=12, margin=20.0, releases=3)
    printed = terminal.json(spec.command())
    names: dict[str, Any] = {}
    exec(spec.python().replace("\nplan(", "\nanswer = plan("), names)
    assert printed["candidates"][0]["epsilon"] == names["answer"].epsilon
    shown = terminal.output("plan count --margin 20")
    assert shown.startswith("±20 people (95 %): a count takes a total ε of 0.15")
    assert "half of this ε: a margin of ±40 people" in shown


@pytest.mark.parametrize(
    ("spec", "neighbours", "moved"),
    [
        (PlanSpec(query="histogram", bins=20, margin=10.0, releases=5), "add/remove-one", 1),
        (PlanSpec(query="histogram", bins=3, epsilon=1.0), "add/remove-one", 1),
        (PlanSpec(epsilon=1.0, people=800, releases=6, high=1), "replace-one", 1 / 800),
        (PlanSpec(query="sum", margin=5000.0, releases=3), "add/remove-one", 100),
    ],
    ids=lambda value: str(value)[:50],
)
def test_an_answers_ledger_is_what_its_epsilon_is_of_by_published_results(
    spec: PlanSpec, neighbours: str, moved: float
) -> None:
    """The best mechanism is the best by published results alone."""
    for one in plan(spec).candidates:
        statement = state(one.ledger, DELTA)
        assert statement.epsilon_published <= one.epsilon * (1 + 1e-6)
        assert statement.epsilon == pytest.approx(one.epsilon, rel=1e-3)
        assert (statement.draws, statement.nominal) == (spec.releases, False)
        assert (statement.unit, statement.neighbours) == ("record", neighbours)
        assert one.ledger.releases[0].l1_sensitivity == pytest.approx(moved)


@pytest.mark.parametrize(("beyond", "least", "most"), [(0.01, -1e9, 1e9), (0.1, -50.0, 1000.0)])
def test_private_bounds_leave_as_many_beyond_as_they_say(
    beyond: float, least: float, most: float
) -> None:
    rng = np.random.default_rng(7)
    trials, failed = 400, 0
    values = np.sort(rng.lognormal(3, 2, 3000) * rng.choice([-1, 1], 3000)).clip(least, most)
    for seed in range(trials):
        bounds = private_bounds(
            values,
            epsilon=0.5,
            beyond=beyond,
            least=least,
            most=most,
            rng=np.random.default_rng(seed),
        )
        assert least <= bounds.low < bounds.high <= most
        outside = np.mean(values < bounds.low), np.mean(values > bounds.high)
        # places are 2⁻¹² of the range of asinh apart, and a bound is the outer one
        step = (np.arcsinh(most) - np.arcsinh(least)) / 2**12
        inner = np.sinh(np.arcsinh([bounds.low, bounds.high]) + np.array([step, -step]))
        fewest = np.mean(values < inner[0]), np.mean(values > inner[1])
        failed += max(outside) > bounds.most_beyond or min(fewest) < beyond
    assert failed <= stats.binom.isf(1e-6, trials, 0.05)
    assert tightest(bounds.ledger, bounds.delta) == pytest.approx(0.5, rel=1e-5)
    assert bounds.ledger.releases[0].neighbours == "replace-one"


def test_private_bounds_without_noise_are_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmc_core.planning.bounds.sample", lambda *_: np.zeros(24))
    values = np.arange(1.0, 10_001)
    bounds = private_bounds(values, epsilon=1.0, beyond=0.05)
    sought = (bounds.beyond + bounds.most_beyond) / 2
    assert bounds.low == pytest.approx(10_000 * sought, rel=0.011)
    assert bounds.high == pytest.approx(10_000 * (1 - sought), rel=0.011)
    assert private_bounds(values, epsilon=1.0, least=40.0).low >= 40.0
    alike = private_bounds(np.full(1000, -7e6), epsilon=1.0)  # nobody is beyond
    assert alike.low <= -7e6 <= alike.high < alike.low + 0.011 * 7e6


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ([], {}, "at least one"),
        ([[1.0]], {}, "a list of finite numbers"),
        ([1.0, math.nan], {}, "finite numbers"),
        ([1.0] * 50, {}, r"noise moves a count by up to 60.5 people.* takes 247 people"),
        ([1.0], {"beyond": 0.3}, "beyond = 0.3 is not allowed: .* from 0 to 0.25"),
        ([1.0], {"least": 2.0, "most": 2.0}, "least = 2.0 .* below most, 2"),
        ([1.0], {"most": math.inf}, "most = inf"),
        ([1.0], {"delta": 0.5}, "delta"),
    ],
)
def test_bounds_that_cannot_be(values: Any, settings: dict[str, float], message: str) -> None:
    with pytest.raises(DPMCError, match=message):
        private_bounds(np.array(values), **{"epsilon": 1.0, **settings})


def test_bounds_of_a_file(terminal: Terminal, tmp_path: Path) -> None:
    table, ledger = tmp_path / "people.csv", tmp_path / "ledger.json"
    table.write_text("name;income\n" + "".join(f"p{k};{k},5\n" for k in range(2000)))
    line = f"plan bounds {table} --column income --epsilon 1"
    out = terminal.output(f"{line} --keep {ledger}")
    assert re.search(
        r"Bounds: [\d.]+ to 1,\d+; in 95 of 100 cases at most \S+ % of 2,000 people", out
    )
    low, high = (float(re.search(rf"--{name}=(\S+)", out)[1]) for name in ("low", "high"))
    assert low < high < 2100
    following = out.partition("next: ")[2].replace("…", "1").strip()
    assert "the mean of 2,000 people is within" in terminal.output(following)
    assert tightest(read_ledger(ledger), 1e-5) == pytest.approx(1.0, rel=1e-5)
    assert "keep" in terminal.refusal(f"{line} --keep {ledger}")  # it would be lost
    table.write_text("name;income\np0;1\np1;\n")
    message = "people.csv: income of row 2 is 'nan'; each person needs a finite number."
    assert message in terminal.refusal(line)
    assert "columns: name, income" in terminal.refusal(f"{line} --column age")
