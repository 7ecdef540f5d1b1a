"""What is in a set of ratings: shape, popularity, sparsity and what to notice."""

from typing import Any

import numpy as np
import streamlit as st

from dpmc_core.config import parameters
from dpmc_core.datasets import Entry, Ratings, user_datasets
from dpmc_core.datasets.configs import config_of
from dpmc_core.datasets.data import ratings_of
from dpmc_core.errors import DPMCError
from dpmc_core.wording import three
from pages.parts.datasets import popularity
from pages.parts.ui import controls
from pages.parts.ui.figures import show

__all__ = ["ratings_of_entry"]


def ratings_of_entry(chosen: Entry, zeros: str) -> None:
    """Draw the ratings of a set that is here; ``zeros`` says what a 0 in it means."""
    try:
        kind = config_of(chosen.name, "ratings")
        given = {"zeros": zeros} if "zeros" in parameters(kind) else {}
        data: Any = kind(dataset=chosen.name, **given)
        with st.spinner("Reading…"):
            ratings = ratings_of(data)
    except DPMCError as error:
        st.error(controls.plain(str(error)))
        return
    _counts(chosen, ratings)
    top = _share_of_top(ratings)
    _pictures(chosen, ratings, data, top)
    _notice(ratings, top)


def _counts(chosen: Entry, ratings: Ratings) -> None:
    for cell, (title, value) in zip(
        st.columns(5),
        {
            "users": f"{ratings.n_users:,}",
            "items": f"{ratings.n_items:,}",
            "ratings": f"{len(ratings):,}",
            "of the matrix seen": f"{100 * ratings.density:.2f} %",
            f"mean rating ({ratings.low:.3g} to {ratings.high:.3g})": (
                f"{ratings.values.mean():.3g}"
            ),
        }.items(),
        strict=True,
    ):
        cell.metric(title, value)
    if not user_datasets.is_own(chosen.name) and chosen.ratings and len(ratings) != chosen.ratings:
        st.caption(
            f"The file has {chosen.ratings:,} rows; {len(ratings):,} count as ratings here "
            "(zeros as chosen in the sidebar, and a pair that occurs twice counts once)."
        )


def _share_of_top(ratings: Ratings) -> float:
    """Give the percentage of ratings that the most rated tenth of the items holds."""
    per_item = np.bincount(ratings.items, minlength=ratings.n_items)
    most = np.sort(per_item)[::-1][: max(1, ratings.n_items // 10)]
    return float(100 * most.sum() / len(ratings))


def _pictures(chosen: Entry, ratings: Ratings, data: Any, top: float) -> None:
    own = user_datasets.is_own(chosen.name)
    name = f"{chosen.kind}-{chosen.holds}" if own else chosen.name
    left, right = st.columns(2)
    with left:
        st.markdown("**How popular are items, how active are users?**")
        (figure, numbers), (picture, cells) = (
            popularity.drawn(ratings) if own else popularity.pictures(data)
        )
        show(
            figure,
            f"popularity-{name}",
            f"The most rated tenth of the items holds {top:.0f} % of the ratings.",
            numbers,
        )
    with right:
        st.markdown("**Which part of the matrix is seen?**")
        show(
            picture,
            f"sparsity-{name}",
            f"{100 * ratings.density:.2f} % of the matrix is observed, most of it for popular "
            "items and active users.",
            cells,
        )


def _notice(ratings: Ratings, top: float) -> None:
    per_item = np.bincount(ratings.items, minlength=ratings.n_items)
    per_user = np.bincount(ratings.users, minlength=ratings.n_users)
    st.markdown("**What to notice**")
    st.markdown(
        f"- The most rated tenth of the items holds {top:.0f} % of the ratings; the median item "
        f"has {np.median(per_item):.0f}, the median user {np.median(per_user):.0f}.\n"
        f"- Guessing everybody's mean errs by {three(float(ratings.values.std()))} (the standard "
        "deviation): any model must beat that."
    )
    if ratings.truth is not None and ratings.truth.noise_floor:
        st.markdown(
            "- No model can be expected to do better than the noise floor: "
            f"{three(ratings.truth.noise_floor)}."
        )
