"""The one picture of the Home page: the small run behind it and its figure.

Both are kept for all visitors, and all of the first seed is made before anybody asks.
"""

import time
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
import plotly.graph_objects as go

from dpmc_core.arrays import FloatArray
from dpmc_core.experiments import RunSpec, run
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES
from dpmc_core.metrics import Comparison
from pages.parts.ui import figure_cache as drawn_once
from pages.parts.ui import pictures

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
NOISES = {name: FAMILIES[name].title for name in RUN_FAMILIES}
_SIZE = 40  # people and films that are shown
_PAUSE = 0.3  # seconds between two pictures made ahead: visitors come first


@dataclass(frozen=True, eq=False)
class Picture:
    """A corner of the true matrix and of the completed one, and what the run came to.

    The held-out RMSE (clipped) of it and of the best baseline, how far ``beyond`` that it is with
    half of the 95 % interval, the standard deviation of the noise, and the label of the statement.
    """

    truth: FloatArray
    completed: FloatArray
    error: float
    baseline: float
    beyond: Comparison
    noise: float
    label: str


def spec_of(mechanism: str, epsilon: float, seed: int) -> RunSpec:
    """The run behind a picture."""
    spec = RunSpec.of(
        n_users=150,
        n_items=150,
        true_rank=4,
        observed=0.3,
        rank=4,
        reg=0.5,
        iterations=15,
        seed=seed,
    )
    return spec if mechanism == "none" else spec.replace(mechanism=mechanism, epsilon=epsilon)


@lru_cache(maxsize=256)
def picture(mechanism: str, epsilon: float, seed: int) -> Picture:
    """Run ``mechanism`` ("none": no noise) at nominal ``epsilon`` for each draw."""
    result = run(spec_of(mechanism, epsilon, seed))
    truth = result.split.test.truth
    assert truth is not None  # the data are made
    return Picture(
        truth=truth.left[:_SIZE] @ truth.right[:_SIZE].T,
        completed=result.model.user_factors[:_SIZE] @ result.model.item_factors[:_SIZE].T,
        error=result.final.test_rmse_clipped,
        baseline=min(result.baselines.values()),
        beyond=result.against_baseline,
        noise=result.ledger.releases[0].mechanism.std if result.ledger.private else 0.0,
        label=result.statement.label,
    )


@drawn_once.of_values
def panels(mechanism: str, epsilon: float, seed: int) -> tuple[go.Figure, pd.DataFrame]:
    """Draw the truth and the matrix completed without and with noise; and numbers."""
    clean, noisy = picture("none", 1.0, seed), picture(mechanism, epsilon, seed)
    three = [
        ("truth", clean.truth),
        ("no noise", clean.completed),
        ("noise, with nominal ε", noisy.completed),
    ]
    return pictures.heat_map(three, float(clean.truth.min()), float(clean.truth.max()))


def make_ahead(seed: int = 0) -> None:
    """Every picture of ``seed``, one after the other and not in a hurry."""
    for mechanism in NOISES:
        for epsilon in EPSILONS:
            panels(mechanism, epsilon, seed)
            time.sleep(_PAUSE)
