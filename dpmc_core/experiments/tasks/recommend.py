"""From a RunSpec whose task is to recommend to its result.

Recall@20 for users who were held out.

The counterpart of ``run`` for that task.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.step import FactorModel
from dpmc_core.completion.recommending import LikesConfig, most_popular
from dpmc_core.datasets.data import user_split_of
from dpmc_core.datasets.ratings import UserSplit
from dpmc_core.errors import DataError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import (
    RatingsResult,
    noise_source,
    solvable,
    solve,
    with_ledgers,
)
from dpmc_core.metrics import (
    RECALL_AT,
    RECALLS_AT,
    Comparison,
    ListQuality,
    half_width,
    list_quality,
    recall_by_chance,
    recall_by_user,
    recalls_by_user,
    top_items,
)
from dpmc_core.wording import JsonObject, finite

LISTED = 100
"""How many held-out users have their lists in ``RecommendResult.picture``."""


@dataclass(frozen=True, kw_only=True)
class RecommendMetrics:
    """Mean Recall@20 after one step, between 0 and 1, and half of its 95 % interval over the choice
    of held-out users (not over noise: for that, repeat with other seeds).
    """

    iteration: int
    recall: float
    half_width: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class RecallAt:
    """Mean Recall@``k`` of the model and of what is ``most_liked``, between 0 and 1, with half of
    the 95 % interval of the former and the paired difference, both over held-out users.
    """

    k: int
    recall: float
    half_width: float
    most_liked: float
    against_most_liked: Comparison


@dataclass(frozen=True, kw_only=True, eq=False)
class RecommendResult(RatingsResult[RecommendMetrics]):
    """A run so far: ``metrics`` per step, the ``model`` (with vectors of the held-out users too),
    the ``ledger`` of all that its plan holds (``draws_so_far`` releases were made), and the recall
    of the baselines for the same users (``baselines``). ``by_user`` and ``most_liked_by_user`` are
    the last step's recalls of the model, and of what is most liked, for each held-out user.
    ``finished`` is False while it runs.
    """

    by_user: FloatArray
    most_liked_by_user: FloatArray
    split: UserSplit

    less_is_better: ClassVar[bool] = False

    @property
    def value(self) -> float:
        """Mean Recall@20."""
        return self.final.recall

    @property
    def held(self) -> IntArray:
        """The held-out users, by number."""
        return np.unique(self.split.target.users)

    def listed(self, user: int) -> IntArray:
        """The best items for a held-out ``user``, best first, without those that were shown."""
        query = self.split.query
        shown = query.items[query.users == user]
        return top_items(self.model.block(np.array([user]))[0], shown)

    @property
    def picture(self) -> NDArray[Any]:
        """The best items for each of the first held-out users (``LISTED``×10), −1 where there are
        no more.
        """
        lists = [self.listed(user) for user in self.held[:LISTED]]
        return np.array([np.pad(one, (0, 10 - one.size), constant_values=-1) for one in lists])

    @property
    def against_most_liked(self) -> Comparison:
        """How much more recall than by what is most liked, user by user."""
        return Comparison.of_rows(self.by_user - self.most_liked_by_user, less=False)

    def recalls(self, *also: int) -> list[RecallAt]:
        """Recall@k at ``RECALLS_AT`` and ``also``, by rising k. Raises ``ParameterError``."""
        ks = sorted({*RECALLS_AT, *(limits.check_int("recall_at", k) for k in also)})
        each = recalls_by_user(self.model.block, self.split.query, self.split.target, ks)
        return [
            RecallAt(
                k=k,
                recall=float(mine.mean()),
                half_width=half_width(mine),
                most_liked=float(others.mean()),
                against_most_liked=Comparison.of_rows(mine - others, less=False),
            )
            for k, mine, others in zip(ks, each, _of_most_liked(self.split, ks), strict=True)
        ]

    @property
    def lists(self) -> dict[str, ListQuality]:
        """How good and how alike the lists of 20 are: the model's, and of what is most liked."""
        models = {"model": self.model, "most liked": _most_liked(self.split)}
        train, query, target = self.split.train, self.split.query, self.split.target
        return {
            name: list_quality(model.block, query, target, train.per_item, RECALL_AT)
            for name, model in models.items()
        }

    @property
    def measures(self) -> JsonObject:
        return {
            "lists": {name: finite(asdict(one)) for name, one in self.lists.items()},
            "recall_at": RECALL_AT,
            "recall": self.final.recall,
            "recall_half_width_95": finite(self.final.half_width),
            "recalls": [finite(asdict(one)) for one in self.recalls()],
        }

    def steps(self) -> list[JsonObject]:
        return [finite(step) for step in super().steps()]  # one person gives no interval


def _most_liked(split: UserSplit) -> FactorModel:
    """A model of what is most liked, without noise."""
    (plain,) = most_popular(split.train, LikesConfig(), np.random.default_rng(0))
    return plain.model


def _of_most_liked(split: UserSplit, ks: Sequence[int]) -> FloatArray:
    """``recalls_by_user`` of what is most liked."""
    return recalls_by_user(_most_liked(split).block, split.query, split.target, ks)


def recommend_steps(
    spec: RunSpec, *, workers: int | None = None, split: UserSplit | None = None
) -> Iterator[RecommendResult]:
    """Yield the ``RecommendResult`` so far after each step; ``split`` replaces the spec's own data.

    Raises ``ParameterError``, ``DatasetMissingError`` or ``DataError`` before the first step.
    """
    started = time.perf_counter()
    noise = noise_source(spec, () if split is None else split.train.numbers)
    split = user_split_of(spec.data, spec.seed) if split is None else split
    (most_liked,) = _of_most_liked(split, (RECALL_AT,))
    baselines = {
        "most liked": float(most_liked.mean()),
        "by chance": float(recall_by_chance(split.query, split.target).mean()),
    }
    metrics: tuple[RecommendMetrics, ...] = ()
    with solvable():
        steps = solve(spec, split.train, workers=workers, visitors=split.query, rng=noise)
        for step, ledger, whole in with_ledgers(steps):
            if not all(
                np.isfinite(factors).all()
                for factors in (step.model.user_factors, step.model.item_factors)
            ):
                raise DataError(
                    f"step {step.iteration} overflowed; a larger reg (λ) or less noise keeps it "
                    "finite."
                )
            each = recall_by_user(step.model.block, split.query, split.target)
            value, half = float(each.mean()), half_width(each)
            seconds = time.perf_counter() - started
            metrics = (
                *metrics,
                RecommendMetrics(
                    iteration=step.iteration, recall=value, half_width=half, seconds=seconds
                ),
            )
            yield RecommendResult(
                spec=spec,
                metrics=metrics,
                by_user=each,
                most_liked_by_user=most_liked,
                model=step.model,
                ledger=whole,
                draws_so_far=ledger.draws,
                baselines=baselines,
                split=split,
                seconds=seconds,
                finished=step.iteration == spec.length,
            )
            started += time.perf_counter() - started - seconds  # others may compute meanwhile
