"""Numbers in words, and results as files hold them.

Three significant digits, how many of what; numbers that JSON can hold, and tables that
spreadsheets only show.
"""

import csv
import json
import math
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpmc_core.paths import DATA

JsonObject = dict[str, Any]  # what can be written as JSON, but for what ``finite`` takes out

_FILE = DATA / "papers" / "printed.csv"


@dataclass(frozen=True)
class Printed:
    """One printed number: ``text`` as it stands in the paper (its digits say how far it was
    rounded), under ``setting`` (name → value, as text).
    """

    paper: str
    table: str
    setting: dict[str, str]
    metric: str
    text: str
    note: str

    @property
    def value(self) -> float:
        """The number."""
        return float(self.text)

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit.

        >>> Printed("huber", "1", {}, "epsilon", "15.964", "").rounding
        0.0005
        """
        mantissa, _, exponent = self.text.lower().partition("e")
        digits = len(mantissa.partition(".")[2])
        return float(f"{0.5 * 10.0 ** (int(exponent or 0) - digits):.12g}")


@cache
def printed() -> tuple[Printed, ...]:
    """All of them, in the order of the file."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Printed(
                row["paper"],
                row["table"],
                dict(part.split("=", 1) for part in row["setting"].split(";") if part),
                row["metric"],
                row["printed"],
                row["note"] or "",
            )
            for row in csv.DictReader(file)
        )


def printed_in(paper: str, table: str) -> list[Printed]:
    """Return the numbers of one table."""
    return [p for p in printed() if (p.paper, p.table) == (paper, table)]


# a cell that a spreadsheet would compute, where it is no number
# in a column of its own, or after what separates columns in other countries
_FORMULA = re.compile(
    r"(?:\A|(?<=[;\t\r\n]))(?=[\t\r\n]|[\s\u200b-\u200f\u2060\ufeff]*[=+\-@|%＝＋－＠])"
)
_COMPUTED = frozenset("\t\r\n=+-@|%＝＋－＠")  # each match of _FORMULA has one of them
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)


def three(value: float, *, zeros: bool = False) -> str:
    """Three significant digits, thousands with commas, below 1e-4 with a power of ten.

    ``zeros`` at the end are written where the number stands beside others that are measured.

    >>> three(0.12345), three(999.9), three(1234.5), three(float("inf")), three(float("nan"))
    ('0.123', '1,000', '1,230', '∞', 'not known')
    >>> three(0.66), three(-0.66, zeros=True), three(123.4, zeros=True)
    ('0.66', '−0.660', '123')
    >>> three(0.0001), three(-1.624e-5)
    ('0.0001', '−1.62·10⁻⁵')
    """
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 0 < abs(value) < 1e-4:
        text = "-" * (value < 0) + power(abs(value))
    elif abs(value) < 999.5:
        text = f"{value:#.3g}".rstrip(".") if zeros else f"{value:.3g}"
    else:
        digits = max(len(str(int(abs(value)))) - 3, 0)
        text = f"{round(value, -digits):,.0f}"
    return f"−{text[1:]}" if text.startswith("-") else text


def possessive(name: str) -> str:
    """A name as the owner of something.

    >>> possessive("DPALS"), possessive("private SVD"), possessive("one-shot moments")
    ("DPALS's", "private SVD's", "one-shot moments'")
    """
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def signed(value: float, digits: int) -> str:
    """A number with its sign, so many digits after the point.

    >>> signed(-0.01234, 3), signed(0.5, 2)
    ('−0.012', '+0.50')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def measured(value: float, half_width: float) -> str:
    """A number and half of its interval, both as far as the interval's first digit.

    >>> measured(12.34, 1.23), measured(712.0, 68.9), measured(0.1234, 0.0456)
    ('12 ± 1', '710 ± 70', '0.12 ± 0.05')
    """
    if not 0 < half_width < math.inf or not math.isfinite(value):
        return f"{three(value)} ± {three(half_width)}"
    digits = -math.floor(math.log10(half_width))
    half = round(half_width, digits)
    digits = max(-math.floor(math.log10(half)), 0)  # 0.96 became 1
    size = f"{abs(round(value, -math.floor(math.log10(half)))):,.{digits}f}"
    return f"{'−' * (value < 0)}{size} ± {half:,.{digits}f}"


def power(value: float) -> str:
    """A small number as people write it: powers of ten where it is one, or nearly.

    >>> power(1e-5), power(2.5e-6), power(0.01), power(0)
    ('10⁻⁵', '2.5·10⁻⁶', '0.01', '0')
    """
    if value == 0 or value >= 1e-3:
        return f"{value:g}"
    digits, exponent = f"{value:.2e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    front = f"{float(digits):g}"
    return f"10{raised}" if front == "1" else f"{front}·10{raised}"


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


def csv_text(frame: Any, *, index: bool = False) -> str:
    """A pandas ``frame`` as CSV text; what a spreadsheet would compute stands behind an apostrophe.

    It shows the rest then, as it was. Numbers stay numbers, those in words included.

    >>> import pandas as pd
    >>> csv_text(pd.DataFrame({"user": ["=1+1", "-5", "@SUM(A1)", "ann"], "n": [1, -2, 3, 4]}))
    "user,n\\n'=1+1,1\\n-5,-2\\n'@SUM(A1),3\\nann,4\\n"
    """
    shown = not_computed(frame)
    return (shown.rename(index=_only_shown) if index else shown).to_csv(index=index)


def not_computed(frame: Any) -> Any:
    """A pandas ``frame`` whose cells and columns no spreadsheet computes, if it is saved as CSV
    from where it is shown.
    """
    return frame.map(_only_shown).rename(columns=_only_shown)


def _only_shown(cell: Any) -> Any:
    if not isinstance(cell, str) or _COMPUTED.isdisjoint(cell) or _NUMBER.fullmatch(cell):
        return cell
    return _FORMULA.sub("'", cell)


def toml(value: object) -> str:
    """A printable text, number, switch or list of them: JSON and TOML write these alike, but for
    escapes beyond 16 bits.
    """
    return json.dumps(value, ensure_ascii=False)


def toml_of(text: str) -> JsonObject:
    """What a file's ``text`` holds. Raises ``ValueError`` unless it is TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError as error:
        raise ValueError(str(error)) from None


def printable(text: str) -> str:
    """``text`` in which what steers a terminal, or turns the direction of others' words, stands as
    its code.

    >>> printable("a\\x1b[31m b\\u202e")
    'a\\\\x1b[31m b\\\\u202e'
    >>> printable("\\u06cc\\u200c") == "\\u06cc\\u200c"  # its spelling
    True
    """
    return "".join(ascii(c)[1:-1] if _steers(c) else c for c in text)


def _steers(one: str) -> bool:
    # joiners belong to the spelling of some languages
    return unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") and one not in (
        "\n\t\u00ad\u200c\u200d"
    )
