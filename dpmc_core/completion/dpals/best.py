"""The best of several DPALS runs: λ chosen within the run's own ε (dpals-paper, Remark 1).

K runs are made, K geometric with mean ``mean_runs`` and drawn without looking at any data. Each
draws a λ among ``RATIOS`` times ``reg``, learns by it, and releases a noisy score. What the run of
the highest score released is published, with its λ; nothing of the others is kept.

Guarantee. The λ is drawn without looking at data, changes no release of the plan and no
sensitivity, and is published: so a run, whichever λ it draws, has the ledger of one DPALS run and
of its score, and the best of K such runs has the ε of ``privacy.account.choice_rdp``. The plan's
noise is the least at which *that* is at most the total ε (``Budget.mean_runs``).

The score. A tenth of each user's ratings is held out of all K runs, by a lottery over user, item
and a salt alone, so that nobody's lot depends on who else is there. Let e be the errors of a user's
predictions of them, on released item factors and the vector that follows from the user's other
ratings, both sides clipped to the scale of width R. The score is Σ_i (½ − min(mean e², C)/C),
C = (R/2)², over users who have any held out. A user's term depends on released numbers and own
ratings only and lies within ±½: one user added or removed moves the score by at most ½ (by up to 1
if terms were not measured from ½). At the end all users are solved on all of their own ratings,
which is theirs alone to see.

The guarantee holds against an attacker who does not know K: given K = k, ε grows with k. No result
contains K, and its seconds are those of one run. The total time depends on K and is not to be
published; the seed of a repeatable run determines K too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Annotated

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import PENALTY
from dpmc_core.completion.common.population import Group, Learned, Whole
from dpmc_core.completion.common.profiles import squared_residuals
from dpmc_core.completion.common.step import Step
from dpmc_core.completion.dpals.plan import DPALSConfig
from dpmc_core.completion.dpals.preprocessing import lottery
from dpmc_core.completion.dpals.solver import learn_dpals, with_budget
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.limits import Limit
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Journal, Part, plan
from dpmc_core.privacy.ledger import Release

RATIOS = (0.2, 1.0, 5.0)  # the λ of which a run draws one, in units of ``reg``
HELD_OUT = 0.1  # share of each user's ratings that scores are of
SCORE_SHARE = 0.3  # of the total ε: what a choice by the score alone would have


@dataclass(frozen=True, kw_only=True)
class BestConfig(DPALSConfig):
    """``reg`` is the λ in the middle of those that runs draw from."""

    mean_runs: Annotated[
        float,
        Limit(
            1,
            20,
            "mean of the random (geometric) number of runs, each with a λ drawn among a fifth, one "
            "and five times reg (λ), of which the best by a noisy score is published",
            label="Runs on average (best of several)",
            step=1,
        ),
    ] = 3.0


def best_dpals(
    ratings: Ratings, config: BestConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield one step: the best of several runs of DPALS, with its own ledger.

    Raises ``ParameterError`` as ``learn_dpals`` does.
    """
    everybody = Whole(ratings, workers).whole
    held_out = lottery(ratings, int(rng.integers(2**63))) < HELD_OUT
    people = Whole(everybody.ratings.take(~held_out), workers)
    target = everybody.ratings.take(held_out)
    part = Part(
        what="score of ratings held out",
        l1=0.5,
        l2=0.5,
        coordinates=1,
        share=1.0,
        source="dpmc_core.completion.dpals.best: a user's term lies within ±½",
        kind="score",
    )
    one_run, scores = config, None
    if config.budget is not None:
        budget = replace(config.budget, mean_runs=config.mean_runs)
        scores = plan({"score": part}, replace(budget, epsilon=SCORE_SHARE * budget.epsilon))
        one_run = replace(config, budget=replace(budget, spent=tuple((scores or {}).values())))

    def run() -> tuple[float, float, Learned, tuple[Release, ...]]:
        """One run's score, its λ, what it has learned, and its releases."""
        reg = float(np.clip(config.reg * rng.choice(RATIOS), PENALTY.low, PENALTY.high))
        steps = list(learn_dpals(people, replace(one_run, reg=reg), rng, Journal()))
        learned, curator = steps[-1].learned, Curator(scores, rng)
        (score,) = curator.release("score", score_of(people.whole, target, learned))
        releases = [release for step in steps for release in step.releases]
        return float(score), reg, learned, (*releases, *curator.made())

    count = int(rng.geometric(1 / config.mean_runs))
    _, reg, learned, releases = max((run() for _ in range(count)), key=itemgetter(0))
    model = learned.model(everybody)
    squares = squared_residuals(everybody.ratings, model)
    yield Step(1, model, squares, squares, releases, chosen_reg=reg, runs=count)


def score_of(group: Group, target: Ratings, learned: Learned) -> FloatArray:
    """Σ_i (½ − min(mean e², C)/C) over the users of the ratings held out (``target``) (1,)."""
    model = learned.model(group)
    both = [target.predicted_by(model), target.values]
    predicted, rated = np.clip(both, target.low, target.high)
    squares = (2 * (predicted - rated) / target.width) ** 2
    held = target.per_user > 0
    means = target.by_user(squares)[held] / target.per_user[held]
    return np.array([np.sum(0.5 - np.fmin(means, 1.0))])  # 1 for what is no number


ALGORITHMS = (
    guaranteed(
        name="best-dpals",
        title="Best of several DPALS runs",
        summary="Each run draws its λ and releases a noisy score on ratings held out; the best run "
        "is published, at the ε of the choice.",
        source="DPALS paper, Remark 1, by Liu & Talwar 2019 and Papernot & Steinke 2022",
        config=BestConfig,
        order=7,
        prepare=with_budget,
        rate=best_dpals,
        steps=1,
    ),
)
