"""How popular items are and which part of a matrix is seen, as the *Datasets* page shows it.

Lives here: the two figures, drawn once for each set of the catalogue. A function that Streamlit
caches keeps the module that it stands in, so this one is not in the page: what a page knows while
it is drawn may be a visitor's own.
"""

import streamlit as st

from dpmc_core.datasets import Ratings
from dpmc_core.datasets.configs import RatingsData
from dpmc_core.datasets.data import ratings_of
from pages.parts.datasets import charts
from pages.parts.ui.figures import Drawn


@st.cache_resource(max_entries=8, show_spinner=False)
def pictures(data: RatingsData) -> tuple[Drawn, Drawn]:
    """Both, for a set of the catalogue."""
    return drawn(ratings_of(data))


def drawn(ratings: Ratings) -> tuple[Drawn, Drawn]:
    """Both, for any ratings; nothing is kept."""
    return charts.popularity(ratings), charts.sparsity(ratings)
