"""Sentences one below the other.

Lives here: lists as one element of the page, as Streamlit's work grows with the number of elements.
Does not live here: the sentences (``texts``, ``stories``, the charts).
"""

from collections.abc import Iterable

import streamlit as st


def points(sentences: Iterable[str]) -> None:
    """Draw ``sentences`` (Markdown, one line each) as a list; nothing where there are none."""
    lines = [f"- {sentence}" for sentence in sentences]
    if lines:
        st.markdown("\n".join(lines))
