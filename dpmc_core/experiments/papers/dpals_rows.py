"""Rows of the DPALS paper's tables and figures.

Exact counts of its noise, and the runs that show its figures' shapes on data at hand, with the
paper's rivals and ours.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.dpals.plan import dpals_plan
from dpmc_core.completion.dpals.solver import begin
from dpmc_core.config import Settings
from dpmc_core.datasets.data import ratings_of
from dpmc_core.experiments.papers.row import Row, again, seeded
from dpmc_core.experiments.presets import PLAIN_DPALS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import noise_source
from dpmc_core.facts import facts
from dpmc_core.metrics import RECALL_AT
from dpmc_core.privacy.budget import Curator
from dpmc_core.privacy.compare import dpals_counts
from dpmc_core.wording import Printed, printed_in

_EPSILONS = (1.0, 5.0, 10.0, 20.0)


def dpals_budgets() -> list[Row]:
    """Return the rows of Table 4: the printed noise, accounted for in three ways."""
    ways = {
        "as Theorem 1, with its conversion": "theorem",
        "both releases of a step, the paper's conversion": "both",
        "both, and the private mean as it moves, exactly composed": "derived_exact",
    }
    out = []
    for count in dpals_counts():
        setting = {"dataset": count.dataset, "printed ε": f"{count.printed:g}"}
        # a target, not a rounded result
        text = Printed("dpals", "4", setting, "epsilon", f"{count.printed:.3f}", "")
        out += [
            Row(
                setting={**setting, "accounting": how},
                metric="total ε",
                printed=None if way == "derived_exact" else text,  # the last is ours
                exact=partial(getattr, count, way),
                trials=1,
                within=0.01,
            )
            for how, way in ways.items()
        ]
    return out


_SETTINGS = facts("settings")
LIKES_WITHOUT_NOISE: Settings = _SETTINGS["likes-without-noise"]


def synthetic_settings(users: int, epsilon: float) -> Settings:
    """Return DPALS's settings on the paper's synthetic data."""
    wide = epsilon * users >= 100_000  # little noise: larger values pay
    little = {"reg": 30.0, "iterations": 2, "start": "power"} if epsilon == 1 else {}
    return {**PLAIN_DPALS, **({} if wide else {"value_clip": 2.0}), **little}


def movielens_settings(epsilon: float) -> Settings:
    """Return DPALS's settings on MovieLens 1M."""
    return {**_SETTINGS["movielens"], **_SETTINGS["movielens-by-epsilon"][f"{epsilon:g}"]}


def likes_settings(epsilon: float) -> Settings:
    """Return DPALS's settings for the likes of MovieLens 1M."""
    return {**_SETTINGS["likes"], **_SETTINGS["likes-by-epsilon"][f"{epsilon:g}"]}


def tuned_run(dataset: str, epsilon: str) -> RunSpec:
    """Return the run that a private column of Table 4 describes, at its σ."""
    column = {"dataset": dataset, "epsilon": epsilon}
    printed = {p.metric: p.value for p in printed_in("dpals", "4") if p.setting == column}
    ratio = printed.pop("sigma_G") / printed["sigma_g"]
    table = _SETTINGS["table-4"]
    own = {table["names"][name]: value for name, value in printed.items()}
    given = {**table["all"], **table["columns"][dataset], **own}
    return RunSpec.of(given, algorithm="dpals", gram_ratio=ratio)


def dpals_results() -> list[Row]:
    """Return the rows of Table 5 at Table 4's settings, for those who have the data."""
    out = []
    for p in printed_in("dpals", "5"):
        dataset, epsilon = p.setting["dataset"], p.setting["epsilon"]
        spec = tuned_run(dataset, epsilon)
        out.append(
            Row(
                setting={"dataset": dataset, "printed ε": epsilon},
                metric="Recall@20" if spec.task == "recommend" else "held-out RMSE, clipped",
                printed=p,
                trials=3,
                spec=seeded(spec),
                needs=spec.dataset,
            )
        )
    return out


def dpals_shapes() -> list[Row]:
    """Return the rows of Figure 3 on MovieLens 1M, whose file is at hand."""
    return _against_epsilon(
        {"dataset": "ml-1m"},
        {"algorithm": "als", "rank": 8, "reg": 5.0, "iterations": 15},
        "global mean",
        {
            "dpals": movielens_settings,
            "private-fw": lambda _: {"iterations": 1, "nuclear": 0.25, "items_per_user": 100},
            "private-svd": lambda _: {"rank": 10},
            "moments": lambda _: {"rank": 16},
            "private-means": lambda _: {},
        },
        {},
        seeded,
        metric="held-out RMSE, clipped",
        trials=3,
        needs="ml-1m",
    )


def dpals_recalls() -> list[Row]:
    """Return the rows of Figure 3c on MovieLens 1M, whose file is at hand."""
    return _against_epsilon(
        {"dataset": "ml-1m", "task": "recommend"},
        {"algorithm": "dpals", **LIKES_WITHOUT_NOISE},
        "most liked",
        {"dpals": likes_settings, "moments": lambda _: {"rank": 64}, "popular": lambda _: {}},
        {},
        seeded,
        metric=f"Recall@{RECALL_AT}",
        trials=3,
        needs="ml-1m",
    )


_TRIALS = {5000: 10, 10_000: 5, 20_000: 3, 50_000: 2}  # by the number of users


def dpals_synthetic() -> list[Row]:
    """Return the rows of Figure 4: the paper's data with its four numbers of users."""
    out: list[Row] = []
    for users, trials in _TRIALS.items():
        out += _against_epsilon(
            {
                "dataset": "orthogonal",
                "n_users": users,
                "n_items": 1000,
                "observed": 20 * math.log(users) / 1000,
                "test_fraction": 0.1,
                "true_rank": 5,
            },
            {"algorithm": "als", "rank": 5, "reg": 0.1, "iterations": 10},
            "global mean",
            {
                "dpals": partial(synthetic_settings, users),
                "private-fw": lambda _: {"iterations": 5, "nuclear": 1.0, "items_per_user": 200},
                "private-svd": lambda _: {"rank": 5},
                "moments": lambda _: {"rank": 5},
                "private-means": lambda _: {},
            },
            {"users": f"{users:,}"},
            again,
            metric="held-out RMSE",
            trials=trials,
            take="rmse",
        )
    return out


def _against_epsilon(
    data: Mapping[str, Any],
    plain: Mapping[str, Any],
    baseline: str,
    private: Mapping[str, Callable[[float], Settings]],
    where: Mapping[str, str],
    trial: Callable[[RunSpec], Callable[[int, int], RunSpec]],
    **same: Any,
) -> list[Row]:
    """Return a run with the settings ``plain`` and its ``baseline``, neither private, then every
    ``private`` algorithm with its settings at each ε; ``where`` and ``same`` are of all rows.
    """
    without = RunSpec.of(data, **plain)
    cells = [
        ("none", without.card.name, without, {}),
        ("none", baseline, without, {"take": baseline}),
    ]
    for total in _EPSILONS:
        noise = {"mechanism": "gaussian", "epsilon": total}
        cells += [
            (f"{total:g}", name, RunSpec.of(data, algorithm=name, **noise, **of(total)), {})
            for name, of in private.items()
        ]
    out = []
    for epsilon, name, shared, own in cells:
        setting = {**where, "ε": epsilon, "algorithm": name}
        out.append(Row(setting=setting, spec=trial(shared), **{**same, **own}))
    return out


_START_USERS = (1000, 2000, 4000, 8000, 16_000, 32_000)


def starts() -> list[Row]:
    """Return the rows of Theorems 5 and 10: how near the truth noisy power iteration starts."""
    out = []
    for rank, epsilon, users in product((1, 5), ("none", "10", "1"), _START_USERS):
        setting = {"rank": str(rank), "ε": epsilon, "users": f"{users:,}"}
        spec = RunSpec.fitting(
            {**PLAIN_DPALS, "rank": rank, "items_per_user": 100},
            algorithm="dpals",
            dataset="orthogonal",
            n_users=users,
            n_items=100,
            observed=0.8,
            true_rank=rank,
            start="power",
            start_rounds=3,
            **({} if epsilon == "none" else {"mechanism": "gaussian", "epsilon": float(epsilon)}),
        )
        metric = "‖(I − V*V*ᵀ)V⁰‖"
        out.append(Row(setting=setting, metric=metric, trials=5, measured=partial(_away, spec)))
    return out


def _away(spec: RunSpec, seed: int) -> float:
    """Return the sine of the largest angle between the start of a run and the true directions."""
    spec = spec.replace(seed=seed, data_seed=seed)
    ratings = ratings_of(spec.data)
    people, rng = Whole(ratings), noise_source(spec)
    config = spec.card.prepare(spec.algorithm, spec.noise, ratings)
    _, items = begin(people, config, Curator(dpals_plan(people, config), rng), rng)
    assert ratings.truth is not None
    start, truth = np.linalg.qr(items)[0], ratings.truth.right
    return float(np.linalg.norm(start - truth @ (truth.T @ start), 2))
