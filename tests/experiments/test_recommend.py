"""The task of recommending, from a spec to its result."""

import json

import numpy as np
import pytest

from dpmc_core.cli import main
from dpmc_core.completion.recommending import LikesConfig, most_popular
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec, recommend, recommend_steps
from dpmc_core.experiments.choice import house_choice
from dpmc_core.experiments.data import split_of, user_split_of
from dpmc_core.metrics import recall, recall_by_user

SMALL = RunSpec(
    task="recommend", algorithm="moments", dataset="skewed", n_users=4000, n_items=80, n_ratings=120_000, noise_floor=0.3,
    rank=8,
)  # fmt: skip


def test_a_result_says_what_was_found_and_what_it_protects() -> None:
    quiet, noisy = recommend(SMALL), recommend(SMALL.but(mechanism="gaussian", epsilon=20.0))
    split = user_split_of(SMALL)
    for result in (quiet, noisy):
        assert result.finished
        assert result.final.recall == pytest.approx(recall(result.model.block, split.query, split.target)[0])
        assert result.final.recall == pytest.approx(result.by_user.mean())
        apart, half = result.against_most_liked
        assert apart == pytest.approx(result.final.recall - result.trivial["most liked"])
        (plain,) = most_popular(split.train, LikesConfig(), np.random.default_rng(0))
        differences = result.by_user - recall_by_user(plain.model.block, split.query, split.target)
        assert half == pytest.approx(1.96 * differences.std(ddof=1) / np.sqrt(differences.size))
        assert json.loads(json.dumps(result.summary()))["recall"] == result.final.recall
    assert quiet.against_most_liked[0] > 2 * quiet.against_most_liked[1]  # there is something to find
    assert quiet.final.recall > noisy.final.recall - noisy.final.half_width
    assert not quiet.statement.private
    assert noisy.statement.unit == "user"
    assert not noisy.statement.nominal
    assert noisy.statement.epsilon <= 20.0
    assert noisy.statement.label.startswith("sound ε = 20 in all, over 3 draws")


@pytest.mark.parametrize("algorithm", ["moments", "dpals", "popular"])
def test_every_algorithm_that_recommends_does_so_again_alike(algorithm: str) -> None:
    spec = SMALL.but(algorithm=algorithm, mechanism="laplace", epsilon=5.0, iterations=2, rank=4)
    first, again = recommend(spec), recommend(spec)
    assert np.array_equal(first.by_user, again.by_user)
    assert [r.metrics[-1].iteration for r in recommend_steps(spec)] == list(range(1, len(first.metrics) + 1))


def test_what_cannot_recommend_is_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match="one of moments, dpals, popular for the task recommend"):
        RunSpec(task="recommend", algorithm="als")
    with pytest.raises(ParameterError, match="algorithm = 'popular' is not allowed"):
        RunSpec(algorithm="popular")
    with pytest.raises(ParameterError, match="task"):
        RunSpec(task="guess")


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = "complete --task recommend --algorithm popular --dataset skewed --n-users 200 --n-items 50 --n-ratings 3000"
    assert main([*words.split(), "--mechanism", "gaussian", "--epsilon", "3", "--json"]) == 0
    out = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert out["recall_at"] == 20
    assert 0 <= out["recall"] <= 1
    assert out["statement"]["epsilon"] <= 3
    assert main(words.split()) == 0
    assert "Recall@20" in capsys.readouterr().out


def test_the_house_chooses_by_sizes_and_epsilon_alone() -> None:
    spec = SMALL.but(mechanism="gaussian", epsilon=1.0)
    for data_seed in (0, 1, 2):
        ratings = split_of(spec.but(task="rate", data_seed=data_seed)).train
        assert house_choice(ratings, spec.but(epsilon=0.05)).algorithm == "popular"
        assert house_choice(ratings, spec.but(epsilon=20.0)).algorithm == "moments"
        rate = spec.but(task="rate")
        assert "alone" in house_choice(ratings, rate.but(epsilon=0.05)).why
        assert "enough to tell tastes apart" in house_choice(ratings, rate.but(epsilon=50.0)).why
    assert house_choice(ratings, SMALL).algorithm == "moments"
