"""The one path from a spec to a result, used by pages, links, sweeps, studies and the command line.

Data flows one way: spec → data → solver steps → metrics → result; ledger → statement.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from dpmc_core.errors import check_choice
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.factorize import FactorResult, factorize_steps
from dpmc_core.experiments.tasks.rate import RunResult, rate_steps
from dpmc_core.experiments.tasks.recommend import RecommendResult, recommend_steps

_PICTURES = 40
AnyResult = RunResult | RecommendResult | FactorResult


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task: the steps of its runs, and the ``measure`` they are judged by, with its unit."""

    steps: Callable[..., Iterator[Any]]
    measure: str
    result: type[AnyResult]

    @property
    def less_is_better(self) -> bool:
        """Whether a smaller value is better."""
        return self.result.less_is_better


TASKS: dict[str, Task] = {
    "rate": Task(
        steps=rate_steps, measure="held-out RMSE, clipped (rating units)", result=RunResult
    ),
    "recommend": Task(steps=recommend_steps, measure="Recall@20", result=RecommendResult),
    "factorize": Task(
        steps=factorize_steps, measure="objective ½N⁻¹‖V − WH‖²", result=FactorResult
    ),
}


def steps(spec: RunSpec, **options: Any) -> Iterator[Any]:
    """Yield the result so far after each step of ``spec``; stop iterating to cancel.

    ``workers`` threads (rate, recommend); ``split`` or ``samples`` in the place of the spec's own
    data; ``compare`` False leaves scikit-learn's NMF out (factorize). Raises ``ParameterError``,
    ``DatasetMissingError`` or ``DataError`` before the first step, and ``DataError`` if numbers
    overflow.
    """
    return TASKS[spec.task].steps(spec, **options)


def watched(spec: RunSpec) -> Iterator[Any]:
    """``steps`` whose results have ``pictures``, of at most about forty steps and the last."""
    pictures: dict[int, NDArray[Any]] = {}
    every = -(-spec.length // _PICTURES)
    for result in steps(spec):
        count = result.final.iteration
        if count == 1 or count % every == 0 or result.finished:
            picture = result.picture
            pictures |= {} if picture is None else {count: picture}
        yield replace(result, pictures=dict(pictures))


def run(spec: RunSpec, **options: Any) -> Any:
    """The finished result of ``spec``; see ``steps``.

    >>> result = run(RunSpec.of(n_users=40, n_items=30, observed=0.4, rank=5, iterations=3))
    >>> len(result.metrics), result.finished, result.statement.label
    (3, True, 'not private: no noise was added')
    """
    *_, result = steps(spec, **options)
    return result


def better(measure: str, value: float, than: float) -> bool:
    """Whether ``value`` is better than another by ``measure``."""
    tasks = {task.measure: task for task in TASKS.values()}
    check_choice("measure", measure, tasks)
    return value < than if tasks[measure].less_is_better else value > than
