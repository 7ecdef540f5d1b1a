"""The table of all known sets: what they hold, whether they are here, size and terms."""

from collections.abc import Iterable

import pandas as pd
import streamlit as st

from dpmc_core.datasets import Entry
from pages.parts.ui.links import plain


def introduction() -> None:
    """Say where datasets come from."""
    st.markdown(
        "Synthetic sets are made here, and two small ones ship with the app: neither needs a "
        "network. The others are fetched from their publishers, only when you ask, after you saw "
        "their terms. Your own data stays in this visit."
    )


def table(known: Iterable[Entry]) -> None:
    """Draw one row for each set."""
    introduction()
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


def terms(chosen: Entry) -> None:
    """Say what a set is, under which terms, and how to cite it."""
    st.markdown(plain(chosen.summary))
    st.markdown(f"**Terms.** {plain(chosen.terms)}")
    st.markdown(f"**Cite.** {plain(chosen.citation)}")
