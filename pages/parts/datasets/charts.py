"""How popular items are, and which part of a matrix is seen."""

import numpy as np
import pandas as pd

from dpmc_core.datasets import Ratings
from pages.parts.ui.figures import Drawn, figure
from pages.parts.ui.labels import log_ticks
from pages.parts.ui.looks import Identity, curve, name_above


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


def sparsity(ratings: Ratings, bins: int = 120) -> Drawn:
    """Share of observed cells, users and items sorted by their number of ratings and pooled into at
    most 120 bins.
    """
    places = []
    for numbers, count in ((ratings.users, ratings.n_users), (ratings.items, ratings.n_items)):
        order = np.argsort(np.argsort(-np.bincount(numbers, minlength=count), kind="stable"))
        cells = min(bins, count)
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
