"""What DPALS runs of the tables have in common where a table says nothing else.

Every setting is named here, so that what is measured does not change with the app's defaults.
"""

from typing import Any

DPALS: dict[str, Any] = {
    "rank": 5,
    "reg": 0.5,
    "iterations": 20,
    "items_per_user": 50,
    "item_share": 1.0,
    "clip_norm": 1.0,
    "gram_ratio": 2.0,
    "item_exponent": 0.5,
    "user_exponent": 1.0,
    "global_penalty": 0.0,
    "sampling": "adaptive",
    "projection": "inner",
    "start": "random",
    "centring": "mean",
}
