"""Parameters that several factorisations share: one range and meaning each."""

from typing import Annotated

from dpmc_core.config import Choice
from dpmc_core.limits import Limit
from dpmc_core.privacy.ledger import NEIGHBOURS

Parts = Annotated[
    int,
    Limit("rank", 1, 256, "number of parts or topics K", integer=True, label="Parts or topics K"),
]
Rounds = Annotated[
    int,
    Limit(
        "rounds",
        1,
        2000,
        "rounds T (one pass over coefficients and one over the dictionary each)",
        integer=True,
        label="Rounds",
    ),
]
Refinements = Annotated[
    int,
    Limit(
        "refinements",
        0,
        20,
        "rounds of private NMF, corrected, that begin at the parts of the moments, for half of the "
        "budget; 0 for none",
        integer=True,
        label="Rounds after the moments",
    ),
]
InnerSteps = Annotated[
    int,
    Limit("inner", 1, 200, "steps on each factor per round", integer=True, label="Steps per round"),
]
OutlierPenalty = Annotated[
    float,
    Limit(
        "outlier_penalty", 0, 10, "penalty λ: a deviation below it is not an outlier", open_low=True
    ),
]
OutlierBound = Annotated[
    float, Limit("outlier_bound", 0, 10, "largest outlier M, per entry", open_low=True)
]
NeighbourChoice = Annotated[
    str,
    Choice(
        NEIGHBOURS,
        "what an attacker may not tell: whether one is there at all, or, for noise twice as "
        "large, which of two it is",
        "Neighbours",
        ("one added or removed", "one replaced by another"),
    ),
]
