"""Numbers in words: the one way figures are rounded for people.

Lives here: three significant digits, how many of what, and numbers that JSON can hold. Does not
live here: sentences (``pages.parts.ui.texts``, ``privacy.statement``).
"""

import math
from typing import Any

__all__ = ["counted", "finite", "three"]


def three(value: float) -> str:
    """Three significant digits, thousands with commas and never an exponent above 1e-4.

    >>> three(0.12345), three(999.9), three(1234.5), three(float("inf")), three(float("nan"))
    ('0.123', '1,000', '1,230', '∞', 'not known')
    """
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < 999.5:
        return f"{value:.3g}"
    digits = max(len(str(int(abs(value)))) - 3, 0)
    return f"{round(value, -digits):,.0f}"


def counted(number: int, one: str, several: str) -> str:
    """So many of what.

    >>> counted(1, "row names", "rows name"), counted(1200, "row", "rows")
    ('1 row names', '1,200 rows')
    """
    return f"{number:,} {one if number == 1 else several}"


def finite(value: Any) -> Any:
    """``value`` (dicts, lists and tuples of numbers) with NaN and infinity as None.

    JSON has neither.

    >>> finite({"a": [1.0, float("inf")]})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
