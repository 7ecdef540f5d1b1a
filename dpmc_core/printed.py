"""The numbers that the papers print, as we transcribed them (``data/papers/printed.csv``)."""

import csv
from dataclasses import dataclass
from functools import lru_cache

from dpmc_core.paths import DATA

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


@lru_cache(maxsize=1)
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
