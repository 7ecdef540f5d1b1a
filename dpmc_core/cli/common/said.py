"""What commands that run something say of it, in the same words.

Provides ``comparison`` and ``print_statement``.
"""

from dpmc_core.privacy import Statement

__all__ = ["comparison", "print_statement"]


def comparison(apart: float, half: float) -> str:
    """Whether a run whose error is ``apart`` (± ``half``) from another's is better.

    >>> comparison(-0.2, 0.1)
    'this run is better'
    """
    if abs(apart) <= half:
        return "not significantly different"
    return "this run is better" if apart < 0 else "this run is worse"


def print_statement(statement: Statement) -> None:
    """Print what a run protects, of whom, and how that was counted."""
    nominal = statement.private and statement.nominal
    print(statement.label + ("; not a guarantee" if nominal else ""))
    if statement.private:
        print(f"unit: one {statement.unit}, neighbours: {statement.neighbours}; {statement.how}")
    for caveat in statement.caveats:
        print(f"  - {caveat}")
