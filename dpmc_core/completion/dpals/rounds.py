"""DPALS's half-rounds on a group of users: their own vectors, and what they add to item statistics.

Provides ``Rounds``, a group's ratings prepared by a ``Basis`` and grouped once.
"""

from dataclasses import replace

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.population import Group
from dpmc_core.completion.common.profiles import (
    centre,
    clipped_values,
    fit_likes,
    own_means,
    own_tastes,
    residuals,
    together,
)
from dpmc_core.completion.common.step import FactorModel, grouped_by_item, grouped_by_user
from dpmc_core.completion.dpals.preprocessing import Basis, lottery
from dpmc_core.completion.kernel.solve import BlockSolver, Side, half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets.ratings import Ratings

_LEAST_RIDGE = 1e-10  # of what a user's system is at most without it


class Rounds:
    """The half-rounds of ``group``, whose ratings are centred and grouped once."""

    def __init__(self, group: Group, basis: Basis) -> None:
        self.basis, ratings = basis, group.ratings
        config = basis.config
        self._middle = centre(ratings)
        self._own_mean = own_means(ratings) - self._middle
        centred, self._base, self._tastes = _centred(group, basis)
        guests = group.visitors
        if guests is not None:
            guests = clipped_values(guests, basis.value_clip)
        served, rank = together(centred, guests), config.rank
        seen = served.take(basis.frequent[served.items])
        self._by_user = grouped_by_user(seen, rank)
        self._parts: list[Side] = []
        if config.user_sample == "part":
            # disjoint, so that no user pass sees another's ratings; item passes have the same
            number = (lottery(seen, basis.salt + 1) * config.iterations).astype(np.intp)
            self._parts = [
                grouped_by_user(seen.take(number == step), rank)
                for step in range(config.iterations)
            ]
        self._counts = seen.per_user
        shares = np.maximum(self._counts / config.items_per_user, 1e-3)
        self._user_reg = config.reg * shares**config.user_exponent
        self._guests = np.zeros(0, dtype=np.intp) if guests is None else np.unique(guests.users)
        inside, of_user, self._item_weight = basis.taking_part(centred)
        taken = centred.take(inside)
        # ω_ij = f_i·g_j: √f goes with the user's vector and with the value, g with the sums
        self._root = np.sqrt(of_user)
        weighted = taken.values * self._root[taken.users]
        self.by_item = grouped_by_item(replace(taken, values=weighted), rank)

    def users(self, items: FloatArray, pool: Workers, part: int | None = None) -> FloatArray:
        """Every user's vector on the items' factors, unclipped: from all of their ratings, or from
        one ``part`` of as many as there are steps (Algorithm 1, line 13).

        λ is at least what makes any user's system solvable to rounding, however long noise made
        the factors: one user must not decide whether there is a result.
        """
        penalty, everywhere = self.basis.config.global_penalty, items[self.basis.frequent]
        longest = np.sum(everywhere**2, axis=1).max()
        most = longest * (self._counts + penalty * len(everywhere))
        reg = np.maximum(self._user_reg, _LEAST_RIDGE * most)
        rows = self._by_user if part is None else self._parts[part]
        if penalty:
            return fit_likes(rows, items, reg, penalty, everywhere, pool)
        return half_sweep(rows, items, reg, pool)[0]

    def clipped(self, users: FloatArray) -> FloatArray:
        """The users' vectors, cut to length Γ_u."""
        size = np.linalg.norm(users, axis=1, keepdims=True)
        most = self.basis.config.clip_norm
        return users * np.minimum(1.0, most / np.maximum(size, 1e-300))

    def statistics(self, clipped: FloatArray, pool: Workers) -> FloatArray:
        """Each frequent item's Gram triangle and right-hand side, and in the last row the triangle
        of Σ u uᵀ over all users but visitors (frequent + 1 × r(r+1)/2 + r).
        """
        basis, rank = self.basis, clipped.shape[1]
        upper = np.triu_indices(rank)
        triangle = len(upper[0])
        out = np.zeros((basis.learned.size + 1, triangle + rank))

        def update(a: FloatArray, y: FloatArray, rows: IntArray, solver: BlockSolver) -> FloatArray:
            weight = self._item_weight[rows, None]
            gram, right = np.matmul(a.transpose(0, 2, 1), a)[:, *upper], np.vecmat(y, a)
            out[basis.place[rows]] = np.hstack([gram, right]) * weight
            return right

        half_sweep(self.by_item, clipped * self._root[:, None], 1.0, pool, update=update)
        counted = clipped.copy()
        counted[self._guests] = 0.0
        out[-1, :triangle] = (counted.T @ counted)[upper]
        return out

    def gradients(self, clipped: FloatArray, items: FloatArray, pool: Workers) -> FloatArray:
        """Σ ω e u of every item (n_items×r), e = x − u·v clipped to ±Γ_M."""
        most = self.basis.value_clip

        def update(a: FloatArray, y: FloatArray, rows: IntArray, solver: BlockSolver) -> FloatArray:
            root = a[:, :, -1]  # √f: what the user's vector and the value are multiplied by
            left = y - np.matvec(a[:, :, :-1], items[rows])
            left = np.clip(left, -most * root, most * root) * self._item_weight[rows, None]
            return np.vecmat(left, a)

        with_root = np.column_stack([clipped, np.ones(len(clipped))]) * self._root[:, None]
        out, _ = half_sweep(self.by_item, with_root, 1.0, pool, update=update)
        return out[:, :-1]

    def model(self, users: FloatArray, items: FloatArray) -> FactorModel:
        """Factors whose products are the predictions, offsets and infrequent items included."""
        frequent, implicit = self.basis.frequent, self.basis.config.implicit
        elsewhere = np.full(len(users), -self._middle) if implicit else self._own_mean
        left = [users, self._middle + self._base, self._middle + elsewhere]
        right = [items, frequent.astype(np.float64), (~frequent).astype(np.float64)]
        if self._tastes is not None and self.basis.public is not None:
            left.append(self._tastes)
            right.append(self.basis.public)
        return FactorModel(np.column_stack(left), np.column_stack(right))


def rounds_of(group: Group, basis: Basis) -> Rounds:
    """The ``Rounds`` of a group, made once."""
    released = basis.frequent.tobytes(), basis.first_counts.tobytes(), basis.mean
    version = basis.config, basis.value_clip, basis.salt, *released
    return group.cached("rounds", version, lambda: Rounds(group, basis))


def projected(group: Group, basis: Basis, directions: FloatArray, most: float) -> FloatArray:
    """Σ x (xᵀW) of a start by power iteration (n_items×r), x a user's centred values, at most k of
    them, and xᵀW clipped to norm ``most``.
    """
    centred, *_ = _centred(group, basis)
    limited = centred.take(basis.limited(centred))
    rows = limited.table(limited.values)
    along = rows @ directions
    size = np.linalg.norm(along, axis=1, keepdims=True)
    along *= most / np.maximum(size, most)
    return rows.T @ along


def _centred(group: Group, basis: Basis) -> tuple[Ratings, FloatArray, FloatArray | None]:
    """Clipped values without what they are centred by (n_users,) and users' tastes, clipped again,
    and both.
    """
    values = clipped_values(group.ratings, basis.value_clip)
    base = np.full(values.n_users, basis.mean)
    if basis.config.centring == "user":
        base = own_means(group.ratings) - centre(values)
    left, tastes = replace(values, values=values.values - base[values.users]), None
    if basis.public is not None:
        tastes = own_tastes(left, basis.public, group.pool)
        left = replace(left, values=residuals(left, basis.public, tastes))
    inside = np.clip(left.values, -basis.value_clip, basis.value_clip)
    return replace(left, values=inside), base, tastes
