"""What leaves users in partitions is what leaves them in memory: the same sums, plan and noise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.common import alternating
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.ratings import Split, random_split
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.tasks.rate import rate_steps
from dpmc_core.experiments.tasks.solve import resolved
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.journal import RunFolder
from dpmc_core.partitioned.partition import ids_of
from dpmc_core.partitioned.population import Partitions
from dpmc_core.partitioned.run import FolderSet
from tests.partitioned.folders import (
    dataset_of,
    id_of_user,
    layout_of,
    quiet,
    ratings,
    result_of,
    written,
)

SETTINGS: list[dict[str, Any]] = [
    {"algorithm": "als", "rank": 5, "iterations": 3},
    {"algorithm": "als", "rank": 5, "iterations": 3, "mechanism": "huber", "variance": 2.0},
    {"algorithm": "irls", "rank": 4, "iterations": 2, "inner": 3},
    {"algorithm": "irls-2", "rank": 4, "iterations": 2, "mechanism": "laplace", "variance": 1.0},
    {"algorithm": "private-means"},
    {"algorithm": "private-means", "mechanism": "laplace", "epsilon": 2.0},
    {"algorithm": "moments", "rank": 3},
    {"algorithm": "moments", "rank": 3, "mechanism": "gaussian", "epsilon": 20.0},
    {"algorithm": "dpals", "rank": 3, "user_sample": "part", "orthonormal": "on"},
    {"algorithm": "dpals", "rank": 3, "mechanism": "gaussian", "epsilon": 5.0, "item_share": 0.6},
    {"algorithm": "dpals", "rank": 3, "mechanism": "gaussian", "epsilon": 5.0, "solve": "gradient"},
    {"algorithm": "private-sgld", "rank": 3, "rounds": 3, "mechanism": "gaussian", "epsilon": 5.0},
    {
        "algorithm": "dpals",
        "rank": 3,
        "mechanism": "laplace",
        "epsilon": 5.0,
        "item_share": 0.6,
        "sampling": "adaptive",
        "items_per_user": 8,
        "start": "power",
        "centring": "mean",
        "global_penalty": 0.1,
        "user_sample": "part",
    },
]


def named(settings: dict[str, Any]) -> str:
    return "-".join(f"{value}" for value in settings.values())


@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_every_step_is_the_one_in_memory(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alternating, "_AT_ONCE", 4)
    whole = ratings()
    train = random_split(whole, 0.2, 3, each_alone=True).train
    layout = layout_of(written(tmp_path / "data", 5, whole))
    people = Partitions(layout, Here(), quiet)
    people.doing = "trying"
    with user_datasets.using(dataset_of(people)):
        spec = RunSpec.of(dataset=FolderSet.name, **settings)
        card: Any = spec.card
        config = card.prepare(spec.algorithm, resolved(spec).noise, train)
    numbers = (np.concatenate([ids_of(layout, k) for k in range(5)]) - id_of_user(0)) // 7
    close, seen = {"rtol": 1e-10, "atol": 1e-10}, 0
    with RunFolder(tmp_path / "run", {}) as folder:
        steps = card.learn(people, config, np.random.default_rng(5), folder)
        usual_steps = card.rate(train, config, np.random.default_rng(5))
        for step, usual in zip(steps, usual_steps, strict=True):
            learned, expected = step.learned, usual.model
            models = people.each(lambda group, learned=learned: learned.model(group))
            users = np.concatenate([model.user_factors for model in models])
            np.testing.assert_allclose(models[0].item_factors, expected.item_factors, **close)
            np.testing.assert_allclose(users, expected.user_factors[numbers], **close)
            assert step.releases == usual.releases
            assert step.rest == usual.rest
            if step.squared_residuals is not None:
                assert step.squared_residuals == pytest.approx(usual.squared_residuals, rel=1e-10)
                assert step.objective == pytest.approx(usual.objective, rel=1e-10)
            seen += 1
    assert seen


@pytest.mark.parametrize("settings", [SETTINGS[1], SETTINGS[7], SETTINGS[9]], ids=named)
def test_a_run_says_what_one_in_memory_says(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Errors, their intervals, baselines and the ledger, from two numberings of one matrix."""
    whole = ratings(1)
    parted = random_split(whole, 0.2, 3, each_alone=True)
    layout = layout_of(written(tmp_path / "data", 4, whole, seed=2))
    people = Partitions(layout, Here(), quiet)
    result = result_of(people, tmp_path / "run", seed=7, **settings)
    with user_datasets.using(dataset_of(people)):
        *_, usual = rate_steps(result.spec, split=Split(parted.train, parted.test, "by hash"))
    assert result.errors is not None
    assert result.errors.held_out == len(parted.test)
    assert result.errors.baselines == pytest.approx(usual.baselines, rel=1e-10)
    assert result.ledger == usual.ledger
    if settings["algorithm"] != "als":  # the others' noise depends on how the data is given
        return
    against = usual.against_baseline
    assert result.errors.against == usual.best_baseline
    assert result.errors.apart == pytest.approx(against.mean, abs=1e-10)
    assert result.errors.apart_half_width == pytest.approx(against.half_width, rel=1e-9)
    for field in ("train_rmse", "test_rmse", "test_half_width", "test_rmse_clipped"):
        assert getattr(result.errors, field) == pytest.approx(
            getattr(usual.final, field), rel=1e-10
        ), field
