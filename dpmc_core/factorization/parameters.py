"""Parameters that several factorisations share: one range and meaning each."""

from typing import Annotated

from dpmc_core.config import Choice
from dpmc_core.limits import Limit
from dpmc_core.privacy.ledger import NEIGHBOURS

__all__ = ["InnerSteps", "NeighbourChoice", "OutlierBound", "OutlierPenalty", "Parts", "Rounds"]

Parts = Annotated[int, Limit("rank", 1, 256, "number of parts or topics K", integer=True)]
Rounds = Annotated[
    int,
    Limit(
        "rounds",
        1,
        2000,
        "rounds T (one pass over coefficients and one over the dictionary each)",
        integer=True,
    ),
]
InnerSteps = Annotated[int, Limit("inner", 1, 200, "steps on each factor per round", integer=True)]
OutlierPenalty = Annotated[
    float,
    Limit(
        "outlier_penalty",
        0,
        10,
        "penalty λ: a deviation below it is not an outlier",
        open_low=True,
    ),
]
OutlierBound = Annotated[
    float, Limit("outlier_bound", 0, 10, "largest outlier M, per entry", open_low=True)
]
NeighbourChoice = Annotated[str, Choice(NEIGHBOURS, "in what neighbouring datasets differ")]
