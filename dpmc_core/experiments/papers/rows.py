"""The rows of every table that has any.

From a table's name to its rows.
"""

from collections.abc import Callable
from functools import lru_cache

from dpmc_core.experiments.papers import dpals_rows, huber_rows, nmf_rows
from dpmc_core.experiments.papers.row import Row

_TABLES: dict[str, Callable[[], list[Row]]] = {
    "huber-table-1": huber_rows.budgets,
    "huber-table-3": lambda: huber_rows.synthetic("3"),
    "huber-table-4": lambda: huber_rows.real("4"),
    "huber-table-5": lambda: huber_rows.real("5"),
    "huber-table-6": lambda: huber_rows.synthetic("6"),
    "huber-table-7": lambda: huber_rows.synthetic("7"),
    "dpals-table-4": dpals_rows.dpals_budgets,
    "dpals-figure-3": dpals_rows.dpals_shapes,
    "dpals-figure-4": dpals_rows.dpals_synthetic,
    "nmf-table-2": nmf_rows.nmf_sizes,
    "nmf-table-3": nmf_rows.nmf_coherence,
    "nmf-table-4": nmf_rows.nmf_ratings,
    "nmf-figure-2": nmf_rows.nmf_objectives(("tdt2", 30), ("uci-news", 7)),
    "nmf-figure-5": nmf_rows.nmf_objectives(("cbcl", 50), ("yaleb", 38)),
}


@lru_cache(maxsize=64)
def rows_of(entry: str) -> tuple[Row, ...]:
    """The rows of the table or figure called ``entry``, in order.

    Empty for those that no numbers stand for.
    """
    return tuple(_TABLES[entry]()) if entry in _TABLES else ()
