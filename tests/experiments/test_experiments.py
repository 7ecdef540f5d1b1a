"""Specs, the one path to a result, and the command line."""

import dataclasses
import json
import math

import numpy as np
import pytest

from dpmc_core import limits
from dpmc_core.datasets.ratings import Ratings, Split
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.presets import PRESETS, preset
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.metrics.ratings import rmse_half_width
from dpmc_core.privacy import Ledger, guess_bound, ledger_from_text, odds_sentence, state
from tests.programs import run_python
from tests.terminal import Terminal

SMALL = RunSpec.of(n_users=50, n_items=40, observed=0.4, iterations=3, rank=5, reg=0.5)


def noise_of(spec: RunSpec) -> Mechanism:
    """What the solver draws from, on data of no importance."""
    return spec.card.prepare(spec.algorithm, spec.noise, None).mechanism


@pytest.mark.parametrize(
    "fields",
    [
        {"rank": 0},
        {"rank": 2.5},
        {"rank": 300},
        {"rank": "8"},
        {"reg": -1},
        {"iterations": 501},
        {"alpha": 0.001},
        {"dataset": "netflix"},
        {"algorithm": "svd"},
        {"mechanism": "cauchy"},
        {"mechanism": "laplace", "variance": 2, "epsilon": 1},
        {"split": "u1"},
        {"mechanism": "huber", "variance": 1e5},
        {"seed": -1},
        {"observed": math.nan},
        {"variance": 2},
        {"mechanism": "laplace", "alpha": 2},
        {"zeros": "rating"},
        {"dataset": []},
        {"algorithm": ["als"]},
        {"seed": 10**400},
    ],
    ids=str,
)
def test_bad_specs_are_named(fields: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="must be") as error:
        RunSpec.of(fields)
    *_, (name, value) = fields.items()
    assert f"{name} = {value!r}"[:20] in str(error.value)


def test_json_refuses_strangers() -> None:
    with pytest.raises(ParameterError, match="spec field = 'version'"):
        RunSpec.of(version=2)
    for text in ("[]", "{", '"x"', "[1]"):
        with pytest.raises(ParameterError, match="JSON object"):
            RunSpec.from_json(text)
    for name, value, message in (
        ("data", [], "data = "),
        ("algorithm", {"name": "als", "inner": 3}, "inner = 3"),
        ("algorithm", {"name": "als", "colour": 3}, "spec field = 'colour'"),
        ("colour", 3, "spec field = 'colour'"),
    ):
        with pytest.raises(ParameterError, match=message):
            RunSpec.from_dict({**SMALL.as_dict(), name: value})


def test_steps_yield_partial_results_and_run_gives_the_last() -> None:
    spec = SMALL.replace(mechanism="huber", variance=2)
    partial = list(steps(spec))
    assert [(len(r.metrics), r.statement.draws, r.finished) for r in partial] == [
        (1, 1, False),
        (2, 2, False),
        (3, 3, True),
    ]
    again, different = (run(spec.replace(seed=seed)).final.test_rmse for seed in (0, 1))
    assert different != partial[-1].final.test_rmse == again


def test_metrics_are_what_they_say() -> None:
    result = run(SMALL)
    test = result.split.test
    predicted = result.model.predict(test.users, test.items)
    whole = result.model.block(slice(None))
    truth = test.truth.left @ test.truth.right.T
    errors = {
        "test_rmse": predicted - test.values,
        "test_rmse_clipped": np.clip(predicted, test.low, test.high) - test.values,
        "truth_rmse": whole - truth,
        "truth_rmse_clipped": np.clip(whole, test.low, test.high) - truth,
    }
    for name, apart in errors.items():
        expected = pytest.approx(math.sqrt(np.mean(apart**2)), rel=1e-12)
        assert getattr(result.final, name) == expected, name
    spread = test.values - result.split.train.values.mean()
    expected = pytest.approx(math.sqrt(np.mean(spread**2)), rel=1e-12)
    assert result.baselines["global mean"] == expected


def test_interval_covers_as_often_as_it_says() -> None:
    """Split the same predictions' errors at random many times.

    The half-width must match the spread of the RMSE.
    """
    squares = np.random.default_rng(0).standard_t(6, (400, 1000)) ** 2
    apart = abs(np.sqrt(squares.mean(axis=1)) - math.sqrt(squares.mean()))
    hits = np.mean(apart <= [rmse_half_width(part) for part in squares])
    # 400 trials at 95 %: sd 1.09 %, so 90–100 % is beyond four standard deviations
    assert 0.90 <= hits <= 1.0


def test_statement_counts_every_draw() -> None:
    for fields, draws in (
        ({"iterations": 4}, 4),
        ({"algorithm": "irls", "inner": 5}, 15),
        ({"algorithm": "irls-2"}, 6),
    ):
        statement = run(SMALL.replace(mechanism="laplace", variance=2, **fields)).statement
        assert (statement.draws, statement.nominal) == (draws, True)
        pure, *_ = statement.accounts
        assert (pure.method, pure.delta) == ("pure", 0.0)
        assert pure.epsilon == pytest.approx(5.0 * draws) == draws * statement.epsilon_per_draw
        assert statement.epsilon <= pure.epsilon
    with pytest.raises(ParameterError, match="inner = 9"):
        SMALL.replace(algorithm="irls-2", inner=9)
    gaussian = run(SMALL.replace(mechanism="gaussian", variance=2, iterations=4)).statement
    assert gaussian.delta == 1e-5
    exact = Gaussian(scale=math.sqrt(2)).epsilon_at_delta(1e-5, 5 * math.sqrt(4))
    assert gaussian.epsilon == pytest.approx(exact)
    quiet = run(SMALL).statement
    assert not quiet.private
    assert quiet.as_dict()["epsilon"] is None


@pytest.mark.parametrize("mechanism", ["huber", "laplace", "gaussian"])
def test_every_allowed_amount_of_noise_can_be_stated(mechanism: str) -> None:
    """The corners of the table of limits, over as many draws as a run can make."""
    release = run(SMALL.replace(mechanism=mechanism, variance=2.0, iterations=1)).ledger.releases[0]
    for amount in ({"variance": 1e-6}, {"variance": 1e4}, {"epsilon": 1e-3}, {"epsilon": 1e6}):
        noise = noise_of(RunSpec.of(mechanism=mechanism, **amount))
        for draws in (1, 50_000):
            ledger = Ledger((dataclasses.replace(release, mechanism=noise, count=draws),))
            statement = state(ledger)
            assert 0 <= statement.epsilon < math.inf
            assert statement.epsilon <= statement.accounts[0].epsilon
            amounts = {"variance": noise.variance, "epsilon": statement.epsilon_per_draw}
            assert amounts | amount == pytest.approx(amounts)
            assert "span" not in statement.caveats[1]
    assert "Ratings here span 4" in state(ledger, rating_width=4.0).caveats[1]


def test_statement_of_mixed_noise_is_composed() -> None:
    first, second = (
        run(SMALL.replace(mechanism=name, variance=1, iterations=1)).ledger
        for name in ("gaussian", "laplace")
    )
    both = state(Ledger(first.releases + second.releases))
    alone = [state(ledger).epsilon for ledger in (first, second)]
    assert max(alone) < both.epsilon < sum(alone)
    assert math.isinf(both.accounts[0].epsilon)  # Gaussian noise has no pure ε


def test_odds() -> None:
    assert guess_bound(0) == 0.5
    assert guess_bound(1e6) == 1
    # attained by randomised response, P(truth) = e^ε/(1 + e^ε), which tells everything with
    # probability δ besides
    for epsilon, delta in ((1, 0.0), (1.3, 0.0), (0.4, 0.2)):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert guess_bound(epsilon, delta) == pytest.approx(delta + (1 - delta) * keep)
    # and never exceeded by a mechanism with that ε
    for noise, delta in (
        (Laplace.with_epsilon(1.3, 1.0), 0.0),
        (Huber.with_epsilon(1.3, 1.0, alpha=0.05), 0.0),
        (Staircase.with_epsilon(1.3, 1.0), 0.0),
        (Gaussian.with_epsilon(1.3, 1.0, delta=1e-3), 1e-3),
    ):
        assert 0.5 < noise.best_guess(1.0) <= guess_bound(1.3, delta)
    assert "more than 99.99 % sure" in odds_sentence(12.0)
    assert "No bound" in odds_sentence(math.inf)


def test_own_data_and_its_trouble() -> None:
    def split(values: np.ndarray) -> Split:
        train = Ratings.checked(np.arange(6), np.array([0, 1, 2, 0, 1, 2]), values)
        test = Ratings.checked(np.array([0]), np.array([1]), np.array([3.0]), n_users=6, n_items=3)
        return Split(train, test, "by hand")

    usual, huge = split(np.linspace(1, 5, 6)), split(np.full(6, 1e200))
    result = run(RunSpec.of(rank=2, reg=0.5, iterations=2), split=usual)
    assert math.isfinite(result.final.test_rmse)
    assert result.final.test_half_width == 0
    with pytest.raises(ParameterError, match="at most 3"):
        run(RunSpec.of(rank=5, reg=0.5), split=usual)
    spec = RunSpec.of(rank=2, iterations=40, reg=1e-3, mechanism="gaussian", variance=1)
    with pytest.raises(DataError, match="overflowed"), np.errstate(all="ignore"):
        run(spec, split=huge)


def test_every_preset_is_a_valid_spec() -> None:
    for name in PRESETS:
        for dataset in ("low-rank", "skewed", "ml-100k", "ml-1m", "sweetrs"):
            RunSpec.of(preset(name, dataset), dataset=dataset, algorithm="irls")
            RunSpec.fitting(preset(name, dataset), dataset=dataset, algorithm="als")
    published = {"rank": 32, "reg": 0.5, "iterations": 20, "inner": 10, "test_fraction": 0.2}
    assert preset("as published", "ml-100k") == published
    assert preset("as published", "ml-1m") == {}
    sweets = preset("as published", "sweetrs")
    assert (1 - sweets["test_fraction"]) * 0.3919 == pytest.approx(0.15, abs=0.002)
    assert sweets["zeros"] == "rating"


def test_a_command_gives_in_a_process_of_its_own_what_a_call_gives() -> None:
    spec = SMALL.replace(mechanism="huber", variance=2.0)
    done = run_python(*spec.command().split()[1:], "--json")
    summary = json.loads(done.stdout)
    assert summary["rmse"] == run(spec).final.test_rmse
    assert summary.keys() >= {"rmse", "baselines", "seconds", "statement", "ledger"}
    assert "iteration 3/3" in done.stderr


def test_a_run_is_compared_with_the_best_simple_model(terminal: Terminal) -> None:
    # als and its set are what a command without them takes
    shown = terminal.output("complete --iterations 2 --n-users 30 --n-items 30 --rank 5 --reg 0.5")
    assert "not private" in shown
    result = run(RunSpec.of(iterations=2, n_users=30, n_items=30, rank=5, reg=0.5))
    apart, half = result.against_baseline.mean, result.against_baseline.half_width
    verdict = "this run is better" if apart < 0 else "this run is worse"
    if abs(apart) <= half:
        verdict = "not significantly different"
    against = f"against {result.best_baseline}, on the same ratings"
    assert f"{against}: {apart:+.4f} ± {half:.2g} (95 %): {verdict}" in shown


def test_command_line_mechanism_and_datasets(terminal: Terminal) -> None:
    out = terminal.json("mechanism huber --alpha 1.5 --scale 1 --sensitivity 5 --delta 1e-5")
    assert out["epsilon"] == 7.5
    assert out["epsilon_at_delta"] == pytest.approx(Huber(alpha=1.5).epsilon_at_delta(1e-5, 5))
    assert terminal.json("mechanism gaussian")["epsilon"] is None
    names = [d["name"] for d in terminal.json("datasets")["datasets"]]
    assert names[:4] == ["low-rank", "skewed", "orthogonal", "ml-100k"]


def test_limits_describe_themselves() -> None:
    for limit in limits.LIMITS.values():
        assert limit.check(limit.default) == limit.default
        assert limit.allowed.startswith(("a number", "a whole number"))
        with pytest.raises(ParameterError, match="not allowed"):
            limit.check(math.nan)
        with pytest.raises(ParameterError, match="not allowed"):
            limit.check(True)


def test_the_exported_ledger_of_a_stopped_run_counts_to_its_statement() -> None:
    noise = {"algorithm": "private-fw", "mechanism": "gaussian", "total_epsilon": 3.0}
    first = next(steps(RunSpec.of(noise, iterations=3, n_users=60, n_items=20)))
    assert not first.finished
    assert first.statement.epsilon == pytest.approx(3.0, rel=1e-5)
    assert "So far 1 of the 3 planned releases" in first.statement.caveats[1]
    exported = ledger_from_text(json.dumps(first.summary()["ledger"]))
    assert state(exported, 1e-5).epsilon == first.statement.epsilon
