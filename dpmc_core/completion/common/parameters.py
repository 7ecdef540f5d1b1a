"""Parameters that several completion algorithms share: one range and meaning each."""

from typing import Annotated

from dpmc_core.limits import Limit

__all__ = ["ItemsPerUser", "Iterations", "Penalty", "Rank", "Sensitivity"]

Rank = Annotated[
    int, Limit("rank", 1, 256, "number of latent factors r", integer=True, label="Rank r")
]
Penalty = Annotated[
    float,
    Limit(
        "reg",
        1e-3,
        1e4,
        "ridge penalty λ on both factor matrices",
        label="Regularisation λ",
        step=0.1,
    ),
]
Iterations = Annotated[
    int,
    Limit(
        "iterations",
        1,
        500,
        "outer iterations T (one user pass and one item pass each)",
        integer=True,
        label="Iterations T",
    ),
]
ItemsPerUser = Annotated[
    int,
    Limit(
        "items_per_user",
        1,
        10_000,
        "how many items k of a user take part in what is released",
        integer=True,
        label="Items per user k",
    ),
]
Sensitivity = Annotated[
    float,
    Limit(
        "sensitivity",
        0,
        1e6,
        "sensitivity Δ that is assumed, not derived; the papers take 5 for all their data",
        open_low=True,
        label="Nominal sensitivity Δ",
        step=0.5,
    ),
]
