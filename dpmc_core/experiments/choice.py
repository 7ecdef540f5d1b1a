"""Which private model to take, by a rule that reads no private data.

Lives here: the rule, and the sentence that explains it. Does not live here: the models and how they plan (``completion``), or the tables that the
rule was read from (docs/moments-once.md, ``benchmarks/skewed_sets.py``).
"""

from dataclasses import dataclass

from dpmc_core.completion import moments, recommending
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.experiments.private import budget_of
from dpmc_core.experiments.spec import RunSpec

__all__ = ["Choice", "house_choice"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The ``algorithm``'s name and ``why`` it is taken, in one sentence."""

    algorithm: str
    why: str


def house_choice(ratings: Ratings, spec: RunSpec) -> Choice:
    """The model for a matrix of the sizes of ``ratings`` (no rating is read), and the budget and task of ``spec``.

    *Moments once* was at least as good as its rivals in every table on real data; what changes with size and ε is whether second moments are worth
    their noise, by the same estimate that the model's own plan follows.
    """
    budget = budget_of(spec)
    if spec.task == "recommend":
        items = recommending.likes_items_worth_it(ratings, recommending.LikesConfig(rank=spec.rank, budget=budget))
        least, without = recommending.WORTH_IT, Choice("popular", "")
    else:
        items = moments.items_worth_it(ratings, moments.MomentsConfig(rank=spec.rank, budget=budget))
        least, without = moments.WORTH_IT, Choice("moments", "")
    if budget is None:
        return Choice("moments", "without noise nothing has to be saved for anything else")
    told = f"with {ratings.n_users:,} users at ε = {budget.epsilon:g}, second moments over about {items:,.0f} items would stand above their noise"
    if items >= least:
        return Choice("moments", f"{told}: enough to tell tastes apart")
    left = (
        "too few, so everybody gets what most people like"
        if spec.task == "recommend"
        else "too few, so it releases offsets and popularity alone and spends everything on them"
    )
    return Choice(without.algorithm, f"{told}: {left}")
