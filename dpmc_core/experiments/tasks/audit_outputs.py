"""An audit of somebody's own mechanism, from a file of its outputs with and without a record."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DataError
from dpmc_core.paths import text_of
from dpmc_core.privacy.attack import Attack, attack
from dpmc_core.privacy.tradeoff import of_profile
from dpmc_core.wording import JsonObject, power, three

INSIDE = "inside"
MOST_BYTES = 20_000_000  # that a page takes: half a million outputs of one number
_ROWS = 16  # from which on as many neighbouring whole numbers are no chance


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputsAudit:
    """The ``attack`` on outputs from a file, and the claim (``epsilon``, ``delta``) it tests."""

    attack: Attack
    epsilon: float
    delta: float

    @property
    def claimed_curve(self) -> FloatArray:
        """Shares of false alarms, and the misses that the claim demands there (2×k)."""
        return of_profile([self.epsilon], [self.delta], how="the claim").points

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
        claim = f"ε = {three(self.epsilon)}" + (f", δ = {power(self.delta)}" if self.delta else "")
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
            f"The attack proves ε ≥ {three(bound.epsilon)} {sure}. The claim {claim} may be true."
        )

    def summary(self) -> JsonObject:
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
    inside, outputs = _read(content, file)
    result = attack(
        outputs[inside],
        outputs[~inside],
        delta=delta,
        confidence=confidence,
        claim=of_profile([epsilon], [delta], how="the claim"),
    )
    return OutputsAudit(attack=result, epsilon=epsilon, delta=delta)


def _read(content: bytes, file: str) -> tuple[NDArray[np.bool_], FloatArray]:
    """Which outputs (n,) were made with the record, and the released numbers (n×d)."""
    import pandas as pd

    text = text_of(file, content)
    try:
        rows = pd.read_csv(
            io.StringIO(text),
            header=None,
            index_col=False,
            dtype=str,
            skip_blank_lines=False,
            keep_default_na=False,
        ).fillna("")
    except (ValueError, pd.errors.ParserError) as error:
        message = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise DataError(f"{file} cannot be read as CSV ({message}).") from None
    rows = rows[(rows != "").any(axis=1)]
    names = [str(name).strip() for name in rows.iloc[0]] if len(rows) else []
    if INSIDE not in names or len(names) < 2:
        shown = ", ".join(name[:40] for name in names[:12]) or "none"
        raise DataError(
            f"{file} needs a column '{INSIDE}' (1: with the record, 0: without) and at least one "
            f"column of released numbers; it has {shown}."
        )
    if "" in names:
        raise DataError(
            f"{file}: column {names.index('') + 1} has no name. If it numbers the rows (as "
            "DataFrame.to_csv without index=False does), it was not released: leave it out."
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"{file}: there are two columns called '{repeated[:40]}'; one is allowed.")
    which = names.index(INSIDE)
    cells = rows.iloc[1:].copy()
    cells[which] = cells[which].str.strip().str.lower().replace({"true": "1", "false": "0"})
    numbers = cells.apply(pd.to_numeric, errors="coerce").astype(np.float64).to_numpy()
    allowed = np.isfinite(numbers)
    allowed[:, which] = np.isin(numbers[:, which], (0.0, 1.0))
    if not allowed.all():
        row, column = (int(k) for k in np.argwhere(~allowed)[0])
        must = "1 or 0" if column == which else "a finite number"
        raise DataError(
            f"{file}, line {int(cells.index[row]) + 1}: '{names[column][:40]}' must be {must}."
        )
    for k, name in enumerate(names):
        steps = np.diff(np.sort(numbers[:, k]))
        if k != which and len(numbers) >= _ROWS and (steps == 1).all():
            raise DataError(
                f"{file}: '{name[:40]}' holds every whole number of a range once, as numbers of "
                "rows do. They were not released: leave the column out."
            )
    return numbers[:, which] == 1, np.delete(numbers, which, axis=1)
