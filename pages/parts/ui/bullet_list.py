"""Sentences one below the other.

Lists as one element of the page, as Streamlit's work grows with the number of elements.
"""

from collections.abc import Iterable

import streamlit as st


def points(sentences: Iterable[str]) -> None:
    """Draw ``sentences`` (Markdown, one line each) as a list; nothing where there are none."""
    lines = [f"- {sentence}" for sentence in sentences]
    if lines:
        st.markdown("\n".join(lines))
