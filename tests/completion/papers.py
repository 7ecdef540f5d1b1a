"""DPALS as its paper has it.

What these tests vary, they vary from here, whatever the usual settings are.
"""

from typing import Any

from dpmc_core.completion.dpals.plan import DPALSConfig

__all__ = ["papers_dpals"]

_PAPER: dict[str, Any] = {
    "rank": 32,
    "reg": 70.0,
    "iterations": 2,
    "items_per_user": 50,
    "sampling": "adaptive",
    "gram_ratio": 2.0,
    "item_share": 1.0,
    "clip_norm": 1.0,
    "centring": "mean",
    "projection": "printed",
}


def papers_dpals(**knobs: Any) -> DPALSConfig:
    """Its configuration, with some settings changed."""
    return DPALSConfig(**(_PAPER | knobs))
