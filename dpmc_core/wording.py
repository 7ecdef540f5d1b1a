"""Numbers in words: the one way figures are rounded for people.

Lives here: three significant digits. Does not live here: sentences (``app_pages.parts.texts``, ``privacy.odds``).
"""

import math

__all__ = ["three"]


def three(value: float) -> str:
    """Three significant digits, thousands with commas and never an exponent above 1e-4.

    >>> three(0.12345), three(999.9), three(1234.5), three(float("inf"))
    ('0.123', '1,000', '1,230', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < 999.5:
        return f"{value:.3g}"
    digits = max(len(str(int(abs(value)))) - 3, 0)
    return f"{round(value, -digits):,.0f}"
