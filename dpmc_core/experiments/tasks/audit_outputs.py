"""An audit of somebody's own mechanism, from a file of its outputs with and without a record."""

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.errors import DataError
from dpmc_core.privacy.distinguish.attack import Attack, attack
from dpmc_core.privacy.distinguish.tradeoff import of_profile
from dpmc_core.wording import three

__all__ = ["INSIDE", "MOST_BYTES", "OutputsAudit", "audit_outputs", "audit_text"]

INSIDE = "inside"
MOST_BYTES = 20_000_000  # that a page takes: half a million outputs of one number
_CURVE = np.linspace(0.0, 1.0, 201)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OutputsAudit:
    """The ``attack`` on outputs from a file, and the claim (``epsilon``, ``delta``) it tests."""

    attack: Attack
    epsilon: float
    delta: float

    @property
    def claimed_curve(self) -> NDArray[np.float64]:
        """Shares of false alarms, and the misses that the claim demands there (2×k)."""
        claim = of_profile([self.epsilon], [self.delta], how="the claim")
        return np.array([_CURVE, claim.misses(_CURVE)])

    @property
    def beaten(self) -> bool:
        """Whether the claim is wrong, with the confidence of the bound."""
        assert self.attack.test is not None
        return self.attack.bound.epsilon > self.epsilon or self.attack.test.exceeded

    @property
    def verdict(self) -> str:
        """What the audit shows, in plain words."""
        bound, test = self.attack.bound, self.attack.test
        assert test is not None
        claim = f"ε = {three(self.epsilon)}" + (f", δ = {self.delta:g}" if self.delta else "")
        sure = f"with {100 * bound.confidence:g} % confidence"
        if bound.epsilon > self.epsilon:
            return (
                f"The attack proves ε ≥ {three(bound.epsilon)} {sure}; the claim {claim} is wrong."
            )
        if test.exceeded:
            return (
                f"The attack finds {three(100 * test.found)} % or more at "
                f"{three(100 * test.false_alarms)} % false alarms or fewer {sure}, where "
                f"{three(100 * test.allowed)} % is allowed; the claim {claim} is wrong."
            )
        if not bound.epsilon:
            return f"The attack proves nothing: no evidence against {claim}, and none for it."
        return (
            f"The attack proves ε ≥ {three(bound.epsilon)} {sure}. That does not contradict the "
            f"claim {claim}; it does not prove it either."
        )

    def summary(self) -> dict[str, Any]:
        """A JSON-able account."""
        assert self.attack.test is not None
        return {
            "bound": asdict(self.attack.bound),
            "test": asdict(self.attack.test),
            "claimed": {"epsilon": self.epsilon, "delta": self.delta},
            "beaten": self.beaten,
            "verdict": self.verdict,
        }


def audit_outputs(
    file: str | Path, *, epsilon: float, delta: float = 0.0, confidence: float = 0.999
) -> OutputsAudit:
    """Audit the claim (``epsilon``, ``delta``) on the outputs in a CSV ``file``.

    Each row is one independent output: the column ``inside`` is 1 where the record was in the data
    and 0 where it was not, every other column a number that was released. Rows are used in their
    order: the first choose the rule, the others count. Raises ``DataError`` or ``ParameterError``.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise DataError(f"{file} cannot be read ({error}).") from None
    return audit_text(content, str(file), epsilon=epsilon, delta=delta, confidence=confidence)


def audit_text(
    content: bytes, file: str, *, epsilon: float, delta: float = 0.0, confidence: float = 0.999
) -> OutputsAudit:
    """``audit_outputs`` of the ``content`` of a CSV called ``file``."""
    limits.check("epsilon", epsilon)
    limits.check("confidence", confidence)
    try:
        table = pd.read_csv(io.BytesIO(content))
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{file} cannot be read as CSV ({error}).") from None
    if INSIDE not in table.columns or len(table.columns) < 2:
        raise DataError(
            f"{file} needs a column '{INSIDE}' (1: with the record, 0: without) and at least one "
            f"column of released numbers; it has {', '.join(map(str, table.columns)) or 'none'}."
        )
    inside = pd.to_numeric(table[INSIDE], errors="coerce").to_numpy(np.float64)
    if not np.isin(inside, (0.0, 1.0)).all():
        row = int(np.argmax(~np.isin(inside, (0.0, 1.0)))) + 2
        raise DataError(f"{file}, line {row}: '{INSIDE}' must be 1 or 0.")
    numbers = table.drop(columns=INSIDE).apply(pd.to_numeric, errors="coerce")
    outputs = numbers.to_numpy(np.float64)
    if not np.isfinite(outputs).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(outputs))[0])
        raise DataError(
            f"{file}, line {row + 2}: '{numbers.columns[column]}' must be a finite number."
        )
    found = attack(
        outputs[inside == 1],
        outputs[inside == 0],
        delta=delta,
        confidence=confidence,
        claim=of_profile([epsilon], [delta], how="the claim"),
    )
    return OutputsAudit(attack=found, epsilon=epsilon, delta=delta)
