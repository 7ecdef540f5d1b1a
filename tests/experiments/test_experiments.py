"""Specs, the one path to a result, and the command line."""

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from dpmc_core import limits
from dpmc_core.datasets.ratings import Ratings, Split
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.presets import PRESETS, preset
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Staircase
from dpmc_core.metrics.ratings import rmse_half_width
from dpmc_core.privacy import Ledger, guess_bound, ledger_from_text, odds_sentence, state
from tests.terminal import Terminal

SMALL = RunSpec.of(n_users=50, n_items=40, observed=0.4, iterations=3, rank=5, reg=0.5)


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
        {"algorithm": "irls-2", "inner": 9},
        {"task": "guess"},
    ],
    ids=str,
)
def test_bad_specs_are_named(fields: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="must be") as error:
        RunSpec.of(fields)
    *_, (name, value) = fields.items()
    assert f"{name} = {value!r}"[:20] in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": []}, "data = "),
        ({"algorithm": {"name": "als", "inner": 3}}, "inner = 3"),
        ({"algorithm": {"name": "als", "colour": 3}}, "spec field = 'colour'"),
        ({"colour": 3}, "spec field = 'colour'"),
        *(({"noise": {"amount": amount}}, "amount = ") for amount in ([], {"a": 1}, 3, "much")),
        ({"noise": {"amount": None}}, "amount is missing"),
        *(({"version": version}, "version = .*must be 2, the") for version in (0, 1, 3, "2")),
        ({"version": None}, "version is missing.*must be 2, the form that"),
    ],
)
def test_json_refuses_strangers(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RunSpec.from_json(json.dumps(SMALL.as_dict() | changes))


@pytest.mark.parametrize("text", ["[]", "{", '"x"', "[1]"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="JSON object"):
        RunSpec.from_json(text)


def test_metrics_are_what_they_say() -> None:
    result = run(SMALL)
    test = result.split.test
    predicted = result.model.predict(test.users, test.items)
    whole = result.model.block(slice(None))
    truth = test.truth.left @ test.truth.right.T
    for error, apart in (
        (result.final.test_rmse, predicted - test.values),
        (result.final.test_rmse_clipped, np.clip(predicted, test.low, test.high) - test.values),
        (result.final.truth_rmse, whole - truth),
        (result.final.truth_rmse_clipped, np.clip(whole, test.low, test.high) - truth),
        (result.baselines["global mean"], test.values - result.split.train.values.mean()),
    ):
        assert error == pytest.approx(math.sqrt(np.mean(apart**2)), rel=1e-12)


def test_interval_covers_as_often_as_it_says() -> None:
    """Split the same predictions' errors at random many times.

    The half-width must match the spread of the RMSE.
    """
    squares = np.random.default_rng(0).standard_t(6, (400, 1000)) ** 2
    apart = abs(np.sqrt(squares.mean(axis=1)) - math.sqrt(squares.mean()))
    hits = np.mean(apart <= [rmse_half_width(part) for part in squares])
    # 400 trials at 95 %: sd 1.09 %, so 90–100 % is beyond four standard deviations
    assert 0.90 <= hits <= 1.0


@pytest.mark.parametrize(
    ("fields", "draws"),
    [({"iterations": 4}, 4), ({"algorithm": "irls", "inner": 5}, 15), ({"algorithm": "irls-2"}, 6)],
)
def test_statement_counts_every_draw(fields: dict[str, Any], draws: int) -> None:
    statement = run(SMALL.replace(mechanism="laplace", variance=2, **fields)).statement
    assert (statement.draws, statement.nominal) == (draws, True)
    pure, *_ = statement.accounts
    assert (pure.method, pure.delta) == ("pure", 0.0)
    assert pure.epsilon == pytest.approx(5.0 * draws) == draws * statement.epsilon_per_draw
    assert statement.epsilon <= pure.epsilon
    gaussian = run(SMALL.replace(mechanism="gaussian", variance=2, **fields)).statement
    exact = Gaussian(scale=math.sqrt(2)).epsilon_at_delta(1e-5, 5 * math.sqrt(draws))
    assert (gaussian.delta, gaussian.epsilon) == (1e-5, pytest.approx(exact))
    quiet = run(SMALL.replace(**fields)).statement
    assert (quiet.private, quiet.as_dict()["epsilon"]) == (False, None)


@pytest.mark.parametrize("mechanism", ["huber", "laplace", "gaussian"])
def test_every_allowed_amount_of_noise_can_be_stated(mechanism: str) -> None:
    """The corners of the table of limits, over as many draws as a run can make."""
    release = run(SMALL.replace(mechanism=mechanism, variance=2.0, iterations=1)).ledger.releases[0]
    for amount in ({"variance": 1e-6}, {"variance": 1e4}, {"epsilon": 1e-3}, {"epsilon": 1e6}):
        spec = RunSpec.of(mechanism=mechanism, **amount)
        noise = spec.card.prepare(spec.algorithm, spec.noise, None).mechanism
        for draws in (1, 50_000):
            ledger = Ledger((dataclasses.replace(release, mechanism=noise, count=draws),))
            statement = state(ledger)
            assert 0 <= statement.epsilon < math.inf
            assert statement.epsilon <= statement.accounts[0].epsilon
            amounts = {"variance": noise.variance, "epsilon": statement.epsilon_per_draw}
            assert amounts | amount == pytest.approx(amounts)
    assert "span" not in statement.caveats[1]
    assert "Ratings here span 4" in state(ledger, rating_width=4.0).caveats[1]


def test_odds() -> None:
    # attained by randomised response, P(truth) = e^ε/(1 + e^ε), which tells everything with
    # probability δ besides
    for epsilon, delta in ((0, 0.0), (1, 0.0), (1.3, 0.0), (0.4, 0.2), (700, 0.0)):
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
        train = Ratings.checked(np.arange(6), np.arange(6) % 3, values)
        return Split(train, train.take(np.array([3])), "by hand")

    usual = split(np.linspace(1, 5, 6))
    spec = RunSpec.of(rank=2, reg=0.5, iterations=2)
    result = run(spec, split=usual)
    assert math.isfinite(result.final.test_rmse)
    assert result.final.test_half_width == 0
    with pytest.raises(ParameterError, match="at most 3"):
        run(spec.replace(rank=5), split=usual)
    noisy = spec.replace(iterations=40, reg=1e-3, mechanism="gaussian", variance=1)
    with pytest.raises(DataError, match="overflowed"), np.errstate(all="ignore"):
        run(noisy, split=split(np.full(6, 1e200)))


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


def test_a_run_is_compared_with_the_best_simple_model(terminal: Terminal) -> None:
    # als and its set are what a command without them takes, and its defaults suit that
    assert ": this run is better" in terminal.output("complete")
    shown = terminal.output("complete --iterations 2 --n-users 30 --n-items 30 --rank 5 --reg 0.5")
    assert "not private" in shown
    result = run(RunSpec.of(iterations=2, n_users=30, n_items=30, rank=5, reg=0.5))
    against, name = result.against_baseline, result.best_baseline
    assert against.worse
    numbers = f"{against.mean:+.4f} ± {against.half_width:.2g} (95 %)"
    assert f"against {name}, on the same ratings: {numbers}: this run is worse" in shown


def test_command_line_mechanism_and_datasets(terminal: Terminal) -> None:
    out = terminal.json("mechanism huber --alpha 1.5 --scale 1 --sensitivity 5 --delta 1e-5")
    exact = Huber(alpha=1.5).epsilon_at_delta(1e-5, 5)
    assert (out["epsilon"], out["epsilon_at_delta"]) == (7.5, pytest.approx(exact))
    assert terminal.json("mechanism gaussian")["epsilon"] is None
    names = [d["name"] for d in terminal.json("datasets")["datasets"]]
    assert names[:4] == ["low-rank", "skewed", "orthogonal", "ml-100k"]


@pytest.mark.parametrize("limit", limits.LIMITS.values(), ids=lambda limit: limit.name)
def test_limits_describe_themselves(limit: limits.Limit) -> None:
    assert limit.check(limit.default) == limit.default
    assert limit.allowed.startswith(("a number", "a whole number"))
    for bad in (math.nan, True):
        with pytest.raises(ParameterError, match="not allowed"):
            limit.check(bad)


def test_the_exported_ledger_of_a_stopped_run_counts_to_its_statement() -> None:
    noise = {"algorithm": "private-fw", "mechanism": "gaussian", "total_epsilon": 3.0}
    first = next(steps(RunSpec.of(noise, iterations=3, n_users=60, n_items=20)))
    assert not first.finished
    assert first.statement.epsilon == pytest.approx(3.0, rel=1e-5)
    assert "So far 1 of the 3 planned releases" in first.statement.caveats[1]
    exported = ledger_from_text(json.dumps(first.summary()["ledger"]))
    assert state(exported, 1e-5).epsilon == first.statement.epsilon
