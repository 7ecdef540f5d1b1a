"""How an estimator does beside baselines that anybody can have without it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms.secret import secret_generator
from dpmc_core.metrics import Comparison
from dpmc_core.privacy import Ledger, Statement, state
from dpmc_core.wording import three


def generator_of(random_state: Any, *, private: bool) -> np.random.Generator:
    """A generator from scikit-learn's ``random_state``; None with noise that a guarantee rests on
    takes the operating system's entropy, so that nobody can draw it again.
    """
    if private and random_state is None:
        return secret_generator()
    seed = check_random_state(random_state).randint(2**31 - 1)
    return np.random.default_rng(int(seed))


def run_to_end(steps: Iterable[Any]) -> tuple[Any, Ledger]:
    """The last of the ``steps`` and what all released; what the core refuses is a ``ValueError``,
    as users of scikit-learn expect.
    """
    ledger, last = Ledger(), None
    try:
        for last in steps:
            ledger = ledger.plus(last.releases)
    except DPMCError as error:
        raise ValueError(str(error)) from None
    return last, ledger


class Stated:
    """An estimator that ``fit`` left its ``ledger_``, and what else its statement says: the δ,
    whether the noise is secret, and what is taken as public (``privacy.state``).
    """

    ledger_: Ledger
    _stated: tuple[float, bool, dict[str, str]]

    @property
    def statement_(self) -> Statement:
        """What was released protects, at the ``delta`` that it was fitted with."""
        check_is_fitted(self)
        delta, secret, facts = self._stated
        return state(self.ledger_, delta, secret=secret, public=facts)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Mean squared ``error`` of an estimator and of ``baselines``, and its ``difference`` from the
    ``best`` of them, over the choice of rows.

    Computed without noise: for who holds the data, and not covered by any ε.
    """

    error: float
    baselines: dict[str, float]
    best: str
    difference: Comparison

    @classmethod
    def of(cls, errors: FloatArray, beside: dict[str, FloatArray]) -> Self:
        """From the squared error of each row (n,), by the estimator and by each baseline."""
        baselines = {name: float(others.mean()) for name, others in beside.items()}
        best = min(baselines, key=baselines.__getitem__)
        return cls(
            error=float(errors.mean()),
            baselines=baselines,
            best=best,
            difference=Comparison.of_rows(errors - beside[best]),
        )

    @property
    def better(self) -> bool:
        """Whether it is better than the best baseline, beyond what the choice of rows explains."""
        return self.difference.better

    def __str__(self) -> str:
        apart = self.difference
        return (
            f"mean squared error {three(self.error)}, {self.best} "
            f"{three(self.baselines[self.best])}: {apart.of_this_run} "
            f"(difference {three(apart.mean)} ± {three(apart.half_width)}, 95 %)"
        )
