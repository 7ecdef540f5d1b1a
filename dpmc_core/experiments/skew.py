"""How unevenly the ratings that take part are spread over items, under each way of limiting a user
to k of them.

The curves and histograms of dpals-paper figures 2 and 6, from exact counts: they describe data that
one holds and are no release.
"""

from dataclasses import dataclass

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.dpals.plan import DPALSConfig
from dpmc_core.completion.dpals.preprocessing import first_k, lottery, weights_of
from dpmc_core.config import parameters
from dpmc_core.datasets.ratings import Ratings

_BINS = 12


@dataclass(frozen=True, eq=False)
class Skew:
    """For one way of taking part (``name``).

    The share of all weight (n_items + 1,) that the most-taken items hold, from none to all of them;
    ``top``, what the top fifth of the items holds; and ``cells``, the share of weight by user count
    × item count, on the logarithmic ``edges`` of both in the whole data.
    """

    name: str
    shares: FloatArray
    top: float
    cells: FloatArray
    user_edges: FloatArray
    item_edges: FloatArray


def spreads(ratings: Ratings, k: int, seed: int = 0) -> tuple[Skew, ...]:
    """All ratings, then at most ``k`` of each user.

    Drawn evenly, the user's rarest, and all with weights ω² (Σω² = k).

    The exact item counts stand in for the noisy ones that a private run would sample by. Raises
    ``ParameterError`` for k out of range.
    """
    k = min(parameters(DPALSConfig)["items_per_user"].check(k), ratings.n_items)
    draw = lottery(ratings, seed)
    per_user = np.bincount(ratings.users, minlength=ratings.n_users)[ratings.users]
    per_item = np.bincount(ratings.items, minlength=ratings.n_items)
    counts = per_item[ratings.items]
    by_user, by_item = weights_of(
        ratings, np.ones(len(ratings), dtype=bool), per_item.astype(np.float64), k, 2
    )
    taking = {
        "all ratings": np.ones(len(ratings)),
        "uniform": first_k(ratings.users, draw, k).astype(np.float64),
        "adaptive": first_k(ratings.users, counts + 1e-9 * draw, k).astype(np.float64),
        "all, by weights": (by_user[ratings.users] * by_item[ratings.items]) ** 2,
    }
    edges = [
        np.geomspace(max(int(c.min()), 1) * 0.999, c.max() * 1.001, _BINS + 1)
        for c in (per_user, counts)
    ]
    out = []
    for name, weight in taking.items():
        held = np.sort(np.bincount(ratings.items, weight, minlength=ratings.n_items))[::-1]
        shares = np.concatenate([[0.0], np.cumsum(held)]) / weight.sum()
        cells, _, _ = np.histogram2d(per_user, counts, bins=edges, weights=weight / weight.sum())
        top = float(np.interp(0.2 * ratings.n_items, np.arange(ratings.n_items + 1), shares))
        out.append(Skew(name, shares, top, cells, edges[0], edges[1]))
    return tuple(out)
