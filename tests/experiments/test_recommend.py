"""The task of recommending, from a spec to its result."""

import json
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.recommending import LikesConfig, most_popular
from dpmc_core.datasets.data import user_split_of
from dpmc_core.datasets.ratings import Ratings, user_split
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.presets import recommended_algorithm
from dpmc_core.experiments.tasks.solve import noise_source
from dpmc_core.metrics import recall_by_user
from tests.terminal import Terminal

SMALL = RunSpec.of(
    task="recommend", algorithm="moments", dataset="skewed", n_users=4000, n_items=80,
    n_ratings=120_000, noise_floor=0.3, rank=8,
)  # fmt: skip


def test_a_result_says_what_was_recalled_at_any_k_and_what_it_protects() -> None:
    """Of the same users with the most liked beside."""
    quiet, noisy = run(SMALL), run(SMALL.replace(mechanism="gaussian", epsilon=20.0))
    split = user_split_of(SMALL.data, SMALL.seed)
    (plain,) = most_popular(split.train, LikesConfig(), np.random.default_rng(0))
    for result in (quiet, noisy):
        recalls = result.recalls(7)
        assert [one.k for one in recalls] == [5, 7, 10, 20, 50, 100]
        for one in recalls:
            mine, popular = (
                recall_by_user(model.block, split.query, split.target, one.k)
                for model in (result.model, plain.model)
            )
            gap, half = mine - popular, 1.96 / np.sqrt(mine.size)
            against = one.against_most_liked
            assert (one.recall, one.most_liked) == pytest.approx((mine.mean(), popular.mean()))
            assert (against.mean, against.less_is_better) == (pytest.approx(gap.mean()), False)
            halves = half * mine.std(ddof=1), half * gap.std(ddof=1)
            assert (one.half_width, against.half_width) == pytest.approx(halves)
        assert recalls[-1].recall == 1  # there are 80 items
        at_20, final, against = recalls[3], result.final, result.against_most_liked
        assert at_20.recall == result.value == pytest.approx(result.by_user.mean())
        assert (at_20.half_width, at_20.against_most_liked) == (final.half_width, against)
        assert against.mean == pytest.approx(result.value - result.baselines["most liked"])
        summary = json.loads(json.dumps(result.summary()))
        stated = [one["recall"] for one in summary["recalls"]]
        assert [summary["recall"], *stated] == [
            result.value,
            *(one.recall for one in recalls if one.k != 7),
        ]
    against = quiet.against_most_liked
    assert against.mean > 2 * against.half_width  # there is something to learn
    assert quiet.final.recall > noisy.final.recall - noisy.final.half_width
    assert not quiet.statement.private
    assert (noisy.statement.unit, noisy.statement.nominal) == ("user", False)
    assert noisy.statement.epsilon <= 20.0
    assert noisy.statement.label.startswith("guaranteed ε = 20 in total, over 3 releases")
    with pytest.raises(ParameterError, match="recall_at = 0 is not allowed"):
        quiet.recalls(0)
    assert RunSpec.of(algorithm="popular").task == "recommend"  # the only thing it can do


def test_command_line(terminal: Terminal) -> None:
    line = "complete popular --task recommend --dataset skewed --n-users 200 --n-items 50"
    line += " --n-ratings 3000 --recall-at 7"
    out = terminal.json(f"{line} --mechanism gaussian --epsilon 3")
    assert out["recall_at"] == 20
    assert 7 in [one["k"] for one in out["recalls"]]
    assert out["statement"]["epsilon"] <= 3
    shown = terminal.output(line)
    assert [text for text in ("Recall@20", "\n  at k = 7: 0.") if text not in shown] == []


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        ({"epsilon": 0.05}, "popular", ""),
        ({"epsilon": 20.0}, "moments", ""),
        ({"mechanism": "none", "epsilon": None}, "moments", ""),
        ({"task": "rate", "epsilon": 50.0}, "moments", "80 of 80 items"),
        # the rule says what the model does: the threshold of one is the threshold of the other
        *(({"task": "rate", "epsilon": e}, "moments", "") for e in (0.05, 0.2, 0.3, 0.5, 0.7, 1.0)),
    ],
)
def test_the_house_chooses_by_sizes_and_epsilon_alone(
    changes: dict[str, Any], name: str, why: str
) -> None:
    spec = SMALL.replace(**{"mechanism": "gaussian", **changes})
    choice = recommended_algorithm(spec)
    assert choice.algorithm == name
    assert why in choice.why
    if spec.task == "rate":
        both = any("together" in release.what for release in run(spec).ledger.releases)
        assert both == ("alone" not in choice.why)


def test_runs_of_one_seed_do_not_share_their_noise() -> None:
    """Noise that is only scaled by each run's σ would give the exact sums away.

    (σ₂a − σ₁b)/(σ₂ − σ₁).
    """
    noisy = SMALL.replace(mechanism="gaussian", epsilon=1.0)
    parts = RunSpec.of(dataset="cartoon", algorithm="moment-nmf", mechanism="gaussian", epsilon=2)
    specs = [
        *(noisy, noisy.replace(epsilon=10.0), noisy.replace(algorithm="popular")),
        *(noisy.replace(rank=9), noisy.replace(delta=1e-6), noisy.replace(seed=1)),
        *(noisy.replace(n_users=3999), noisy.replace(task="rate")),
        noisy.replace(task="rate", user_share=0.5),
        *(parts, parts.replace(epsilon=4), parts.replace(rank=5), parts.replace(seed=1)),
    ]
    draws = [noise_source(spec).standard_normal(1000) for spec in specs]
    apart = np.corrcoef(draws)[np.triu_indices(len(specs), 1)]
    assert abs(apart).max() < 5 / np.sqrt(1000)
    assert np.array_equal(noise_source(noisy).standard_normal(1000), draws[0])


def test_one_held_out_user_has_no_interval() -> None:
    users, items = np.divmod(np.arange(18), 6)
    ratings = Ratings.checked(users, items, np.full(18, 5.0), n_items=30, low=1, high=5)
    result = run(SMALL.replace(rank=2), split=user_split(ratings, 0.34, 0))
    assert np.isnan(result.final.half_width)
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["recall_half_width_95"] is summary["recalls"][0]["half_width"] is None
    with pytest.raises(ParameterError, match="random for the task recommend"):
        SMALL.replace(dataset="ml-100k", split="u1")
