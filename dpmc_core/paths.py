"""Where the project's own files are."""

from pathlib import Path

__all__ = ["DATA", "RESULTS"]

DATA = Path(__file__).resolve().parents[1] / "data"
RESULTS = DATA / "results"  # computed once and kept, with their provenance
