"""The best of several DPALS runs: how many there are, what a choice costs, and that one happens."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.common.population import Group, Learning, MemoryGroup
from dpmc_core.completion.common.step import FactorModel, Step
from dpmc_core.completion.dpals import best
from dpmc_core.completion.dpals.best import BestConfig, score_of
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.account import choice_epsilon, tightest
from dpmc_core.privacy.budget import Budget
from tests.completion.references import ratings_in
from tests.steps import last_of, spending


def table() -> Ratings:
    """All ratings are 5, the end of the scale."""
    return ratings_in(5 * (np.random.default_rng(0).random((60, 30)) < 0.9))


@dataclass(frozen=True)
class Constant:
    """Predicts one number for everything."""

    value: float

    def model(self, group: Group) -> FactorModel:
        rows, columns = group.ratings.n_users, group.ratings.n_items
        return FactorModel(np.full((rows, 1), self.value), np.ones((columns, 1)))

    def penalty(self, model: FactorModel) -> float:
        return 0.0


@pytest.fixture
def lambdas(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The λ of all runs made: each learns at once to predict 5 − |log λ|, best at λ = 1."""
    drawn: list[float] = []

    def learn(_: Any, config: BestConfig, *others: Any) -> Iterator[Learning]:
        drawn.append(config.reg)
        yield Learning(1, Constant(5.0 - abs(np.log(config.reg))), ())

    monkeypatch.setattr(best, "learn_dpals", learn)
    return drawn


def best_of(seed: int, **settings: Any) -> Step:
    """The step of a run without noise, or with another budget."""
    config = BestConfig(**{"reg": 1.0, "private": "budget" in settings, **settings})
    return last_of(config, table(), seed, 1)


def test_the_number_of_runs_is_geometric_and_their_settings_uniform(lambdas: list[float]) -> None:
    counts = []
    for seed in range(600):
        before = len(lambdas)
        best_of(seed, mean_runs=4.0)
        counts.append(len(lambdas) - before)
    for k in (1, 2, 3):
        expected = 0.25 * 0.75 ** (k - 1)
        assert abs(counts.count(k) / 600 - expected) < 4 * np.sqrt(expected / 600), k
    assert np.mean(counts) == pytest.approx(4.0, abs=4 * np.sqrt(12 / 600))
    shares = np.array([count / len(lambdas) for count in Counter(lambdas).values()])
    assert sorted(set(lambdas)) == [0.2, 1.0, 5.0]
    assert np.abs(shares - 1 / 3).max() < 4 * np.sqrt(2 / 9 / len(lambdas))
    for reg, allowed in ((1e4, {2e3, 1e4}), (1e-3, {1e-3, 5e-3})):  # λ stays in its range
        lambdas.clear()
        for seed in range(8):
            best_of(seed, reg=reg)
        assert set(lambdas) == allowed


@pytest.mark.parametrize(("epsilon", "share"), [(1000.0, 2 / 3), (0.01, 1 / 3)])
def test_a_choice_happens_as_far_as_noise_lets_it(
    lambdas: list[float], epsilon: float, share: float
) -> None:
    """Without noise the best λ is published where any run drew it, with probability
    1 − E(2/3)^K = 2/3 at a mean of 4; where noise hides the score, as often as the others.
    """
    settings = {"mean_runs": 4.0, "budget": Budget(epsilon=epsilon)}
    hits = [best_of(seed, **settings).chosen_reg == 1.0 for seed in range(300)]
    assert abs(np.mean(hits) - share) < 4 * np.sqrt(share * (1 - share) / 300)


def test_one_user_moves_the_score_by_a_half_at_most() -> None:
    """Whatever they rated, and whatever is predicted; that bound is reached."""
    ratings, moved = table(), []
    for predicted in (5.0, 1.0, 3.7, -1e300, np.nan, np.inf):
        for values in ([5.0], [1.0], [2.0, 1e300], [-np.inf, 5.0, 3.0], []):
            row = np.zeros(len(values), dtype=np.int32), np.arange(len(values), dtype=np.int32)
            others = ratings.take(ratings.users > 0)
            lists = zip(
                ("users", "items", "values"), (*row, np.array(values, dtype=float)), strict=True
            )
            both = {name: np.append(getattr(others, name), own) for name, own in lists}
            with np.errstate(invalid="ignore"):
                scores = [
                    score_of(MemoryGroup(ratings), target, Constant(predicted))[0]
                    for target in (replace(others, **both), others)
                ]
            moved.append(abs(scores[0] - scores[1]))
            assert np.isfinite(scores).all()
            assert moved[-1] <= 0.5 * (1 + 1e-12), (predicted, values)
    assert max(moved) == pytest.approx(0.5)


ONE_RUN = {
    "item counts of k ratings per user": 1,
    "item counts of the ratings that take part": 1,
    "Gram matrices of all items": 2,
    "right-hand sides of all items": 2,
    "score of ratings held out": 1,
}


@pytest.mark.parametrize(
    ("family", "preparation"),
    [("gaussian", None), ("gaussian", 200.0), ("huber", None), ("laplace", None)],
)
def test_the_choice_spends_the_total_and_one_run_less(
    family: str, preparation: float | None
) -> None:
    """The ledger is that of one run of DPALS and of its score, however many were made."""
    noise, budget = [], Budget(epsilon=2.0, family=family)
    settings: dict[str, Any] = {"sigma_preparation": preparation, "budget": budget}
    for mean_runs in (1.0, 2.0, 12.0):
        last = best_of(0, rank=2, items_per_user=9, mean_runs=mean_runs, **settings)
        assert Counter(release.what for release in last.releases) == ONE_RUN
        assert last.rest == ()
        _, ledger = spending([last])
        assert {release.mean_runs for release in ledger.releases} == {mean_runs}
        spent = tightest(ledger, 1e-5)
        assert 2.0 * 0.9999 < spent <= 2.0
        one = Ledger(tuple(replace(release, mean_runs=1.0) for release in ledger.releases))
        assert choice_epsilon(one, mean_runs, 1e-5) >= spent - 1e-12
        assert tightest(one, 1e-5) < (2.0 if mean_runs > 1 else 2.1)
        noise.append(ledger.releases[0].mechanism.std)
    assert noise == sorted(noise)


def test_a_run_states_the_choice() -> None:
    shape = {"n_users": 200, "n_items": 40}
    spec = RunSpec.of(algorithm="best-dpals", **shape, rank=2, mechanism="gaussian", epsilon=2.0)
    result = run(spec)
    assert result.finished
    assert result.summary()["steps"][0]["chosen_reg"] in (5.0, 25.0, 125.0)
    assert result.statement.epsilon == pytest.approx(2.0, rel=1e-4)
    assert not result.statement.nominal
    assert any("of a random number of runs, 3 on average" in c for c in result.statement.caveats)
    with pytest.raises(ParameterError, match=r"sigma = 3.0 is not allowed: it must be left out"):
        RunSpec.of(algorithm="best-dpals", mechanism="gaussian", sigma=3.0)
