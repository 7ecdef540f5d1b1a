"""How an estimator does beside baselines that anybody can have without it."""

import math
from dataclasses import dataclass
from typing import Self

from dpmc_core.arrays import FloatArray
from dpmc_core.wording import comparison, three


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Mean squared ``error`` of an estimator and of ``baselines``, and how far it is from the
    ``best`` of them: ``difference`` ± ``half_width`` (95 %, paired, over the choice of rows).

    Computed without noise: for who holds the data, and not covered by any ε.
    """

    error: float
    baselines: dict[str, float]
    best: str
    difference: float
    half_width: float

    @classmethod
    def of(cls, errors: FloatArray, beside: dict[str, FloatArray]) -> Self:
        """From the squared error of each row (n,), by the estimator and by each baseline."""
        baselines = {name: float(others.mean()) for name, others in beside.items()}
        best = min(baselines, key=baselines.__getitem__)
        apart = errors - beside[best]
        return cls(
            error=float(errors.mean()),
            baselines=baselines,
            best=best,
            difference=float(apart.mean()),
            half_width=float(1.96 * apart.std(ddof=1) / apart.size**0.5)
            if apart.size > 1
            else math.inf,
        )

    @property
    def better(self) -> bool:
        """Whether it is better than the best baseline, beyond what the choice of rows explains."""
        return self.difference < -self.half_width

    def __str__(self) -> str:
        return (
            f"mean squared error {three(self.error)}, {self.best} "
            f"{three(self.baselines[self.best])}: "
            f"{comparison(self.difference, self.half_width)} "
            f"(difference {three(self.difference)} ± {three(self.half_width)}, 95 %)"
        )
