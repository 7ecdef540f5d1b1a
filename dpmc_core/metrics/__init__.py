"""Metrics: how good a result is.

Error of predicted ratings, recall of recommended items.
"""

from dpmc_core.metrics.intervals import Comparison, half_width
from dpmc_core.metrics.ratings import (
    RECALL_AT,
    RECALLS_AT,
    ListQuality,
    clipped,
    list_quality,
    recall_by_chance,
    recall_by_user,
    recalls_by_user,
    rmse,
    top_items,
    truth_rmse,
)

__all__ = [
    "RECALLS_AT",
    "RECALL_AT",
    "Comparison",
    "ListQuality",
    "clipped",
    "half_width",
    "list_quality",
    "recall_by_chance",
    "recall_by_user",
    "recalls_by_user",
    "rmse",
    "top_items",
    "truth_rmse",
]
