"""Which private model to take, by a rule that reads no private data.

The rule, and the sentence that explains it.
"""

from dataclasses import dataclass

import numpy as np

from dpmc_core.completion import moments, recommending
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.experiments.spec import RunSpec


@dataclass(frozen=True)
class Choice:
    """The ``algorithm``'s name and ``why`` it is taken, in one sentence."""

    algorithm: str
    why: str


def recommended_algorithm(spec: RunSpec) -> Choice:
    """The model for the numbers of rows and columns of the spec's matrix, its total ε and its task;
    no rating is read.

    *One-shot moments* is worse than no rival on MovieLens, nor significantly on skewed synthetic
    sets. DPALS is better at small ε on its paper's synthetic data, whose entries are seen uniformly
    and without noise. What changes with size and ε is whether second moments are worth their noise,
    by the same estimate that the model's own plan follows.
    """
    budget = spec.noise.budget
    if budget is None:
        return Choice("moments", "without noise nothing has to be saved for anything else")
    n_users, n_items = spec.data.sizes
    rank = getattr(spec.algorithm, "rank", 16)
    none = np.empty(0, dtype=np.int32)
    empty = Ratings(
        none, none, np.empty(0), n_users, n_items, 0.0, 1.0
    )  # the estimate is the same for any scale
    if spec.task == "recommend":
        config = recommending.LikesConfig(rank=rank, budget=budget)
        items, least = (recommending.likes_items_worth_it(empty, config), recommending.WORTH_IT)
        tuned = "MovieLens"
    else:
        items = moments.items_worth_it(empty, moments.MomentsConfig(rank=rank, budget=budget))
        least, tuned = moments.WORTH_IT, "MovieLens, SweetRS and synthetic sets"
    told = (
        f"with {n_users:,} rows at ε = {budget.epsilon:g}, second moments over about "
        f"{min(items, n_items):,.0f} of {n_items:,} items should be worth their noise, by an "
        f"estimate tuned on {tuned}"
    )
    if items >= least:
        return Choice("moments", f"{told}: enough to spend on them")
    if spec.task == "recommend":
        return Choice("popular", f"{told}: too few, so everybody gets what most people like")
    return Choice(
        "moments",
        f"{told}: too few, so it releases offsets and popularity alone and spends everything on "
        "them",
    )
