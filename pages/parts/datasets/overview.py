"""The table of all known sets: what they hold, whether they are here, size and terms."""

from collections.abc import Iterable

import pandas as pd
import streamlit as st

from dpmc_core.datasets import Entry

__all__ = ["table"]


def table(known: Iterable[Entry]) -> None:
    """Draw one row for each set."""
    rows = [
        {
            "dataset": entry.title,
            "holds": entry.holds,
            "here": _here(entry),
            "size": _size(entry),
            "MB to fetch": f"{entry.megabytes:g}" if entry.megabytes else "none",
            "terms": entry.terms,
        }
        for entry in known
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        width="stretch",
        alt="The datasets, whether they are on this machine, their sizes and terms.",
    )


def _here(entry: Entry) -> str:
    if entry.present():
        return "yes"
    return "to fetch" if entry.fetchable else "to place by hand"


def _size(entry: Entry) -> str:
    """Say how large a set is, in its own units."""
    if entry.synthetic:
        return "you choose"
    if entry.holds == "ratings":
        return f"{entry.ratings:,} by {entry.users:,} users of {entry.items:,} items"
    unit = "pixels" if entry.holds == "images" else "terms"
    return f"{entry.samples:,}" + (f" of {entry.dimension:,} {unit}" if entry.dimension else "")
