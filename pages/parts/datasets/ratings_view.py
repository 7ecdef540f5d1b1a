"""What is in a set of ratings: shape, popularity, sparsity and what to notice."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.config import parameters
from dpmc_core.datasets import Entry, Ratings, user_datasets
from dpmc_core.datasets.configs import RatingsData, config_of
from dpmc_core.datasets.data import ratings_of
from dpmc_core.errors import DPMCError
from dpmc_core.wording import three
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.ui import controls
from pages.parts.ui.figures import Drawn, figure, show
from pages.parts.ui.labels import log_ticks
from pages.parts.ui.links import plain
from pages.parts.ui.looks import Identity, curve, name_above


@st.cache_resource(max_entries=8, show_spinner=False)
def pictures(data: RatingsData) -> tuple[Drawn, Drawn]:
    """Both, for a set of the catalogue."""
    return drawn(ratings_of(data))


def drawn(ratings: Ratings) -> tuple[Drawn, Drawn]:
    """Both, for any ratings; nothing is kept."""
    return popularity(ratings), sparsity(ratings)


def ratings_of_entry(chosen: Entry, zeros: str) -> None:
    """Draw the ratings of a set that is here; ``zeros`` says what a 0 in it means."""
    try:
        kind = config_of(chosen.name, "ratings")
        given = {"zeros": zeros} if "zeros" in parameters(kind) else {}
        data: Any = kind(dataset=chosen.name, **given)
        with st.spinner("Reading…"):
            ratings = ratings_of(data)
    except DPMCError as error:
        controls.show_error(error)
        return
    top = most_rated(ratings)
    own = user_datasets.is_own(chosen.name)
    title, name = plain(chosen.title), chosen.name
    if own:
        title, name = "Your ratings", f"{chosen.kind}-{chosen.holds}"
    users, items = (np.unique(numbers).size for numbers in (ratings.users, ratings.items))
    verdict(
        f"{title}: {users:,} users rated {items:,} items; "
        f"{100 * ratings.density:.3g} % of the matrix is known."
    )
    python_lines.of_dataset(chosen.name, "ratings")
    curves, (picture, cells) = drawn(ratings) if own else pictures(data)
    show(curves, f"popularity-{name}", top)
    tab(
        "Known entries",
        "sparsity",
        lambda: show(
            picture,
            f"sparsity-{name}",
            f"{100 * ratings.density:.2f} % of the matrix is known, most of it for popular items "
            "and active users.",
            cells,
        ),
    )
    rows = 0 if own else chosen.ratings or 0
    observations(_observed(ratings, top, rows))


def most_rated(ratings: Ratings) -> str:
    """Say which percentage of ratings the most rated tenth of the items holds."""
    count = max(1, ratings.n_items // 10)
    share = 100 * np.sort(ratings.per_item)[::-1][:count].sum() / len(ratings)
    items = f"{count:,} most rated of {ratings.n_items:,} items receive"
    return f"The {items if count > 1 else 'most rated item receives'} {share:.0f} % of all ratings."


def _observed(ratings: Ratings, top: str, rows: int) -> list[str]:
    per_item = ratings.per_item
    per_user = ratings.per_user
    out = [
        f"{len(ratings):,} ratings from {ratings.low:.3g} to {ratings.high:.3g}, mean "
        f"{ratings.values.mean():.3g}. The median user has {np.median(per_user):.0f}, the median "
        f"item {np.median(per_item):.0f}.",
        top,
        "The simplest baseline, the global mean, has an RMSE of "
        f"{three(float(ratings.values.std()))} (the standard deviation).",
    ]
    if ratings.truth is not None and ratings.truth.noise_floor:
        out.append(f"No model can do better than the noise: {three(ratings.truth.noise_floor)}.")
    if rows not in (0, len(ratings)):
        out.append(
            f"The file has {rows:,} rows; {len(ratings):,} are ratings here "
            "(a pair that occurs twice counts once)."
        )
    return out


def popularity(ratings: Ratings) -> Drawn:
    """Ratings per item and per user, most first.

    How unevenly they are spread (both axes logarithmic).
    """
    fig = figure(
        "rank, most rated first (log scale)",
        "number of ratings (log scale)",
        log_x=True,
        log_y=True,
        height=360,
    )
    rows: list[dict[str, object]] = []
    reach, few, most = 1, 10**9, 1
    for what, numbers, count, dash, colour in (
        ("items", ratings.items, ratings.n_items, "solid", "#0072B2"),
        ("users", ratings.users, ratings.n_users, "dash", "#D55E00"),
    ):
        totals = np.sort(np.bincount(numbers, minlength=count))[::-1]
        totals = totals[totals > 0]
        keep = np.unique(np.geomspace(1, totals.size, 200).astype(int)) - 1
        look = Identity(what, colour, dash)
        curve(fig, look, keep + 1, totals[keep], hovertemplate="%{y:,}")
        reach = max(reach, totals.size)
        few, most = min(few, int(totals[-1])), max(most, int(totals[0]))
        rows += [{"side": what, "rank": int(k) + 1, "ratings": int(totals[k])} for k in keep]
    name_above(fig)
    fig.update_xaxes(**log_ticks(1, reach))
    fig.update_yaxes(**log_ticks(few, most))
    return fig, pd.DataFrame(rows)


def sparsity(ratings: Ratings) -> Drawn:
    """Share of observed cells, users and items sorted by their number of ratings and pooled into at
    most 120 bins.
    """
    places = []
    for numbers, count in ((ratings.users, ratings.n_users), (ratings.items, ratings.n_items)):
        order = np.argsort(np.argsort(-np.bincount(numbers, minlength=count), kind="stable"))
        cells = min(120, count)
        places.append(
            (order[numbers] * cells // count, cells, np.bincount(np.arange(count) * cells // count))
        )
    (rows, n_rows, row_sizes), (columns, n_columns, column_sizes) = places
    filled = np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns).reshape(
        n_rows, n_columns
    )
    share = 100 * filled / np.outer(row_sizes, column_sizes)
    fig = figure("items, most rated first", "users, most active first", height=360)
    fig.add_heatmap(
        z=np.round(share, 2),
        zmin=0,
        zmax=float(share.max()),
        colorbar={"title": {"text": "% seen"}},
        hovertemplate="user bin %{y}, item bin %{x}: %{z:.1f} % observed<extra></extra>",
    )
    fig.update_layout(margin={"r": 10}, hovermode="closest")
    fig.update_xaxes(showticklabels=False)
    fig.update_yaxes(showticklabels=False, autorange="reversed")
    row, column = np.indices(share.shape)
    table = {
        "user bin": row.ravel() + 1,
        "item bin": column.ravel() + 1,
        "percent observed": share.ravel(),
    }
    return fig, pd.DataFrame(table)
