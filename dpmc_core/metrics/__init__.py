"""Metrics: how good a result is.

Lives here: error of predicted ratings. Does not live here: models, or what a result protects.
"""

from dpmc_core.metrics.ratings import clipped, rmse, top_items, truth_rmse

__all__ = ["clipped", "rmse", "top_items", "truth_rmse"]
