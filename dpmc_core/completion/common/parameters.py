"""Parameters that several completion algorithms share: one range and meaning each."""

from dataclasses import dataclass
from typing import Annotated

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.step import Table
from dpmc_core.config import Choice, Config
from dpmc_core.errors import ParameterError
from dpmc_core.limits import Limit
from dpmc_core.privacy.budget import Budget

Rank = Annotated[int, Limit(1, 256, "number of latent factors r", label="Rank r")]
PENALTY = Limit(
    1e-3,
    1e4,
    "ridge penalty λ on both factor matrices",
    label="Regularisation λ",
    step=0.1,
    name="reg",
)
Penalty = Annotated[float, PENALTY]
Iterations = Annotated[
    int,
    Limit(
        1, 500, "outer iterations T (one user pass and one item pass each)", label="Iterations T"
    ),
]
ITEMS_PER_USER = Limit(
    1,
    10_000,
    "how many items k of a user take part in what is released",
    integer=True,
    label="Items per user k",
    name="items_per_user",
)
ItemsPerUser = Annotated[int, ITEMS_PER_USER]
Sensitivity = Annotated[
    float,
    Limit(
        0,
        1e6,
        "sensitivity Δ that is assumed, not derived; the papers take 5 for all their data",
        open_low=True,
        label="Nominal sensitivity Δ",
        step=0.5,
    ),
]

UseOfFeatures = Annotated[
    str,
    Choice(
        ("none", "shrink"),
        "public features of items, such as genres: not used, or what items are shrunk towards "
        "(after Curmei et al. 2023)",
        "Public item features",
        ("not used", "items shrunk towards them"),
    ),
]


@dataclass(frozen=True, kw_only=True)
class BudgetConfig(Config):
    """Settings of an algorithm that spends a total ε: its ``budget``, None for no noise."""

    budget: Budget | None = None

    @property
    def norm(self) -> int:
        """The norm that contributions are bounded in: the noise's, 2 without noise."""
        return 2 if self.budget is None else self.budget.norm


def public_features(data: Table, use: str) -> FloatArray | None:
    """The scaled features (n_items×q) that a solver may read as they are; None for "none".

    Raises ``ParameterError`` where they are asked for and the ratings have none.
    """
    if use == "none":
        return None
    if data.item_features is None:
        raise ParameterError(
            "item_features", use, f"none: no item features are known of {data.name}"
        )
    return data.item_features.scaled
