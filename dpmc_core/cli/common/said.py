"""What commands that run something say of it, in the same words.

Provides ``print_statement``.
"""

from dpmc_core.privacy import Statement

__all__ = ["print_statement"]


def print_statement(statement: Statement) -> None:
    """Print what a run protects, of whom, and how that was counted."""
    nominal = statement.private and statement.nominal
    print(statement.label + ("; not a guarantee" if nominal else ""))
    if statement.private:
        print(f"unit: one {statement.unit}, neighbours: {statement.neighbours}; {statement.how}")
    for caveat in statement.caveats:
        print(f"  - {caveat}")
