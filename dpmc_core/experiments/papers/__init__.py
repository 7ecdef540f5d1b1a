"""The four papers, table by table: what they print, what we compute, and what that means.

The list of tables and figures (``entries``), the runs behind each row (``rows``), computing them
(``compute``), and verdicts (``verdict``). Results are stored in ``data/results/papers/``
by ``python -m dpmc_core paper``; verdicts are drawn from them when read, so that they cannot go
stale.
"""

from dpmc_core.experiments.papers.compute import PaperResult, RowResult, compute, stored
from dpmc_core.experiments.papers.entries import ENTRIES, PAPERS, Entry, rows_of

__all__ = ["ENTRIES", "PAPERS", "Entry", "PaperResult", "RowResult", "compute", "rows_of", "stored"]
