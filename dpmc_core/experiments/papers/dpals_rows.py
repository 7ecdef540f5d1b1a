"""Rows of the DPALS paper's tables and figures.

Lives here: exact counts of its noise, and the runs that show its figures' shapes on data at hand.
Does not live here: verdicts or computing.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from dpmc_core.experiments.papers.printed import Printed
from dpmc_core.experiments.papers.row import Row, anew, name_of, printed_in, seeded
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.privacy.compare import dpals_counts

__all__ = ["dpals_budgets", "dpals_real", "dpals_shapes", "dpals_synthetic"]


# what the tuned settings leave as it was when they were found
_AS_TUNED: dict[str, Any] = {"item_share": 1.0, "items_per_user": 50, "gram_ratio": 2.0}


def dpals_budgets() -> list[Row]:
    """Table 4: the printed noise, counted three ways."""
    out = []
    for count, (dataset, number) in enumerate((c.dataset, c.printed) for c in dpals_counts()):
        setting = {"dataset": dataset, "printed ε": f"{number:g}"}
        text = Printed(
            "dpals", "4", setting, "epsilon", f"{number:.3f}", ""
        )  # a target, not a rounded result
        ways: dict[str, Callable[[int], float]] = {
            "as Theorem 1 counts, with its conversion": lambda n: dpals_counts()[n].theorem,
            "both releases of a step, the paper's conversion": lambda n: dpals_counts()[n].both,
            "both, and the private mean as it moves, exactly composed": lambda n: (
                dpals_counts()[n].derived_exact
            ),
        }
        out += [
            Row(
                id=name_of({**setting, "counted": how}),
                setting={**setting, "counted": how},
                metric="total ε, δ = 1e-5",
                printed=text,
                exact=partial(way, count),
                trials=1,
                within=0.01,
            )
            for how, way in ways.items()
        ]
    return out


def dpals_real() -> list[Row]:
    """Table 5: what is printed; its data is not at hand."""
    names = {"rmse_test": "held-out RMSE", "recall_at_20": "Recall@20"}
    return [
        Row(
            id=name_of(p.setting),
            setting=p.setting,
            metric=names[p.metric],
            printed=p,
            missing=f"{p.setting['dataset']} is not at hand.",
        )
        for p in printed_in("dpals", "5")
    ]


def dpals_shapes() -> list[Row]:
    """DPALS on MovieLens 1M, whose file is at hand.

    Settings that did best at each ε on another split (benchmarks/user_level.py), which favours it.
    """
    middle = {
        "rank": 12,
        "reg": 30.0,
        "item_share": 0.15,
        "sampling": "weights",
        "items_per_user": 100,
        "iterations": 3,
        "item_exponent": 1.0,
        "gram_ratio": 3.0,
    }
    tuned: dict[float, dict[str, Any]] = {
        1.0: {
            "rank": 16,
            "reg": 50.0,
            "item_share": 0.03,
            "sampling": "uniform",
            "items_per_user": 20,
            "user_exponent": 0.0,
            "iterations": 2,
        },
        5.0: middle,
        10.0: middle,
        20.0: {
            "rank": 8,
            "reg": 10.0,
            "item_share": 0.2,
            "sampling": "weights",
            "projection": "printed",
            "user_exponent": 0.5,
            "iterations": 2,
        },
    }
    out: list[Row] = []
    for epsilon, settings in tuned.items():
        for name in ("dpals", "moments", "private-means"):
            changes = (
                {**_AS_TUNED, "clip_norm": 0.5, **settings}
                if name == "dpals"
                else {"rank": 16}
                if name == "moments"
                else {}
            )
            shared = RunSpec.of(
                dataset="ml-1m", algorithm=name, mechanism="gaussian", epsilon=epsilon, **changes
            )
            setting = {"dataset": "ml-1m", "epsilon": f"{epsilon:g}", "algorithm": name}
            out.append(
                Row(
                    id=name_of(setting),
                    setting=setting,
                    metric="held-out RMSE, clipped",
                    trials=3,
                    spec=seeded(shared),
                    needs="ml-1m",
                )
            )
    return out


def dpals_synthetic() -> list[Row]:
    """Figure 4 with the settings of benchmarks/synthetic_task.py, chosen on another draw."""
    dpals = {
        **_AS_TUNED,
        "rank": 5,
        "reg": 30.0,
        "iterations": 3,
        "items_per_user": 200,
        "clip_norm": 0.25,
        "value_clip": 2.0,
        "gram_ratio": 1.0,
        "sampling": "uniform",
        "item_exponent": 0.0,
        "user_exponent": 0.0,
        "centring": "none",
    }
    ways: dict[str, dict[str, Any]] = {
        "dpals": dpals,
        "private-fw": {"iterations": 5, "nuclear": 1.0, "items_per_user": 200},
    }
    out: list[Row] = []
    for users in (2000, 5000):
        data = {
            "dataset": "orthogonal",
            "n_users": users,
            "n_items": 1000,
            "observed": 20 * math.log(users) / 1000,
            "test_fraction": 0.1,
            "true_rank": 5,
        }
        cells: list[tuple[dict[str, str], RunSpec]] = [
            (
                {"users": f"{users}", "epsilon": "none", "algorithm": "als"},
                RunSpec.of(data, algorithm="als", rank=5, reg=0.1, iterations=10),
            )
        ]
        for epsilon in (1.0, 5.0, 10.0, 20.0):
            cells += [
                (
                    {"users": f"{users}", "epsilon": f"{epsilon:g}", "algorithm": name},
                    RunSpec.of(
                        data, algorithm=name, mechanism="gaussian", epsilon=epsilon, **changes
                    ),
                )
                for name, changes in ways.items()
            ]
        out += [
            Row(
                id=name_of(setting),
                setting=setting,
                metric="held-out RMSE",
                trials=10,
                spec=anew(shared),
                take="rmse",
            )
            for setting, shared in cells
        ]
    return out
