"""DPALS's settings and its plan: what will leave, and how much one user can move it.

Sensitivities, one user added or removed. The user's vector u, clipped to ‖u‖₂ ≤ Γ_u, enters the
statistics of at most k items (or of all with weights ω, Σω² ≤ k):

* the Gram matrices ω u uᵀ leave as their upper triangles with the diagonal: one item's has ℓ2 norm
  √(Σ_a u_a⁴ + Σ_{a<b} u_a²u_b²) ≤ ‖u‖² and ℓ1 norm (‖u‖₂² + ‖u‖₁²)/2 ≤ Γ_u²(1 + r)/2; over the
  items √k·Γ_u² and k·Γ_u²(1 + r)/2 (with weights of bounded Σω² alone, Σω ≤ √(k·items) takes k's
  place in ℓ1).
* the right-hand sides ω x u, |x| ≤ Γ_M: √k·Γ_u·Γ_M in ℓ2 and k·Γ_u·Γ_M·√r in ℓ1.
* with λ₀ also Σ u uᵀ over all users, once a step: Γ_u² and Γ_u²(1 + r)/2.

Both statistics leave in every step, so both are counted. With ``solve`` "gradient" (dpals-paper
Remark 6) noisy gradient steps from the items' last factors take their place, users' vectors held
fixed: Σ_i ω e u of each item, e = x − u·v clipped to ±Γ_M. That is a right-hand side with e in the
place of x, so that a user moves all items' gradients by as much, √k·Γ_u·Γ_M in ℓ2, whatever the
released v they are taken at. Every step of every round leaves and is counted: the composition of
T·S adaptive releases. All users take part in each step, so that no sub-sampling is claimed (the
paper's reference, Bassily et al. 2014, draws one).

The preparation (Algorithm 3), for a user who takes part with at most k items: counts of items
move by 1 in at most k places, ℓ1 ≤ k and ℓ2 ≤ √k. The sum of the user's values, each within ±Γ_M,
is *one* number and moves by up to k·Γ_M, and the number of ratings by up to k. The paper (section
5.2 and Appendix C) takes √k·Γ_M and √k for these two; that would need k separate numbers, so its
count of the preparation, (k + 1)/σ_p², should be 2k/σ_p². We plan with the derived values.

Three settings change none of this: users' vectors are clipped whichever of their ratings they are
computed from (Algorithm 1, line 13), or where they are given (Remark 5: then a user's vector is
part of what the user adds or takes away);
orthonormal factors (line 12) are computed from released numbers; weights follow from released
counts, and Σω² ≤ k for any exponent. What a setting does not use
is not released: item counts without β, adaptive sampling or weights; second counts without μ.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from dpmc_core.completion.common import parameters as shared
from dpmc_core.completion.common.parameters import (
    BudgetConfig,
    ItemsPerUser,
    Iterations,
    Penalty,
    Rank,
)
from dpmc_core.completion.common.step import Table
from dpmc_core.completion.dpals.power_iteration import PROJECTIONS, power_part
from dpmc_core.config import Choice
from dpmc_core.errors import ParameterError
from dpmc_core.limits import Limit
from dpmc_core.privacy.budget import GivenSigma, Part, plan
from dpmc_core.privacy.ledger import Release

SAMPLING = ("adaptive", "uniform", "weights")
USUAL_SHARE, ENOUGH_ITEMS = 0.15, 250
PREPARATION_SHARE, START_SHARE, GLOBAL_SHARE = 0.25, 0.2, 0.05


@dataclass(frozen=True, kw_only=True)
class DPALSConfig(BudgetConfig):
    """Settings of DPALS, in the paper's letters where it has one.

    ``item_share`` None takes ``USUAL_SHARE``, but at least ``ENOUGH_ITEMS`` or all: the number of
    items is public. ``value_clip`` None takes half the width of the scale, of which values are the
    distance from the middle. ``projection`` is of the noisy matrices onto the positive
    semi-definite cone: "printed" (with λ, Alg. 1), "inner" (before λ is added) or "off".
    ``centring`` is by the private mean or each user's own. ``implicit``: values say that something
    was liked, and items that no factors are learned for score 0, not the user's own mean.

    Noise: ``budget`` spread by fixed shares, or a given σ_g in units of the clipping norms as in
    Table 4, with σ_G = ``gram_ratio``·σ_g. ``sigma_preparation`` stays as given beside either.
    ``private`` False for the same algorithm without noise.
    """

    rank: Rank = 8
    reg: Penalty = 25.0
    iterations: Iterations = 2
    items_per_user: ItemsPerUser = 100
    item_features: shared.UseOfFeatures = "none"
    item_share: (
        Annotated[
            float,
            Limit(
                0,
                1,
                "share β of the items, most rated first, that factors are learned for; usually "
                f"{USUAL_SHARE:g}, and at least {ENOUGH_ITEMS} items where there are so many",
                USUAL_SHARE,
                open_low=True,
                label="Share β of items learned",
                step=0.05,
            ),
        ]
        | None
    ) = None
    sampling: Annotated[
        str,
        Choice(
            SAMPLING,
            "which of a user's ratings take part: adaptive, the k least-rated items; uniform, "
            "any k; weights, all, rarer items weighing more (Krichene et al. 2023)",
            "Which ratings take part",
            ("adaptive", "uniform", "all, by weights"),
        ),
    ] = "weights"
    projection: Annotated[
        str,
        Choice(
            PROJECTIONS,
            "where noisy matrices are made positive semi-definite; where they are not, negative "
            "eigenvalues let the solution run away",
            "Positive semi-definite projection",
            ("before λ is added", "as printed", "off"),
        ),
    ] = "inner"
    solve: Annotated[
        str,
        Choice(
            ("perturbed", "gradient"),
            "what items' factors are solved from: noisy sums (the perturbed objective), or noisy "
            "gradient steps on the same least squares (dpals-paper, Remark 6), which have no Gram "
            "matrix to release",
            "Items solved by",
            ("noisy sums", "noisy gradient steps"),
        ),
    ] = "perturbed"
    gradient_steps: Annotated[
        int,
        Limit(
            1,
            100,
            "noisy gradient steps S in each iteration, where items are solved by them",
            label="Gradient steps S",
        ),
    ] = 2
    learning_rate: Annotated[
        float,
        Limit(
            0,
            10,
            "step size, in units of 1/(λ_j + Γ_u²·released count of item j), an item's curvature "
            "at most where weights are 1",
            open_low=True,
            label="Learning rate",
            step=0.1,
        ),
    ] = 1.0
    start: Annotated[
        str,
        Choice(
            ("random", "power"),
            "what item factors start from",
            "Start",
            ("random", "noisy power iteration"),
        ),
    ] = "random"
    start_rounds: Annotated[int, Limit(1, 20, "rounds of noisy power iteration for the start")] = 2
    centring: Annotated[
        str,
        Choice(
            ("user", "mean", "none"),
            "what ratings are centred by",
            "Ratings are centred by",
            ("each user's own mean", "the private mean", "the middle of the scale"),
        ),
    ] = "user"
    clip_norm: Annotated[
        float,
        Limit(
            1e-6,
            1e6,
            "length Γ_u that user vectors are clipped to: u·min(1, Γ_u/‖u‖), where the paper has "
            "max, a misprint",
            label="Length Γᵤ of user vectors",
            step=0.1,
        ),
    ] = 0.25
    value_clip: (
        Annotated[
            float,
            Limit(
                0,
                1e6,
                "distance Γ_M from the middle of the scale that ratings are clipped to; usually "
                "half the scale",
                2,
                open_low=True,
                label="Γ of ratings (rating units)",
                step=0.5,
            ),
        ]
        | None
    ) = None
    weight_exponent: Annotated[
        float,
        Limit(
            -2,
            2,
            "exponent of an item's released count in its weight, where all ratings take part by "
            "weights; ε does not depend on it",
            label="Exponent of the weights",
            step=0.25,
        ),
    ] = -0.5
    orthonormal: Annotated[
        str,
        Choice(
            ("off", "on"),
            "whether item factors are made orthonormal after each step (Algorithm 1, line 12), as "
            "the paper's proofs ask",
            "Orthonormal item factors",
        ),
    ] = "off"
    user_sample: Annotated[
        str,
        Choice(
            ("all", "part", "given"),
            "from which of their ratings users' vectors are computed in a step: all, as in the "
            "paper's experiments; another 1/T of them in each of T steps (Algorithm 1, line 13); "
            "or none, where the vectors that made synthetic data are given: a linear regression "
            "for each item (Remark 5)",
            "Ratings for users' vectors",
            ("all", "another 1/T in each step", "none: true vectors given"),
        ),
    ] = "all"
    sigma_preparation: (
        Annotated[
            float,
            Limit(
                0,
                1e6,
                "noise σ_p on the preparation's counts and mean; left out, a share of the total ε, "
                "or the σ that is given",
                20,
                open_low=True,
                label="Noise σ of the preparation",
                step=10,
            ),
        ]
        | None
    ) = None
    gram_ratio: Annotated[
        float,
        Limit(
            0.01,
            100,
            "noise σ_G on Gram matrices over noise σ_g on right-hand sides",
            label="Noise on Gram matrices : right-hand sides",
            step=0.5,
        ),
    ] = 6.0
    item_exponent: Annotated[
        float,
        Limit(
            0,
            2,
            "exponent μ: how much more often-rated items are regularised",
            label="Item exponent μ",
            step=0.5,
        ),
    ] = 0.5
    user_exponent: Annotated[
        float,
        Limit(
            0,
            2,
            "exponent ν: how much more busy users are regularised",
            label="User exponent ν",
            step=0.5,
        ),
    ] = 1.0
    global_penalty: Annotated[
        float,
        Limit(
            0,
            1000,
            "penalty λ₀ on all predictions, for implicit feedback",
            label="Penalty λ₀ on what was not liked",
            step=0.1,
        ),
    ] = 0.0
    implicit: bool = False
    private: bool = True

    def consistent(self) -> None:
        if self.budget is not None and not self.private:
            raise ParameterError("private", False, "True when a budget is given")
        if self.global_penalty and self.solve == "gradient":
            raise ParameterError("global_penalty", self.global_penalty, "0 with gradient steps")

    def preparation(self, n_items: int) -> tuple[str, ...]:
        """The names of the preparation's sums that this setting makes use of."""
        counted = n_frequent(n_items, self) < n_items or self.sampling != "uniform"
        recounted = self.item_exponent > 0 or self.solve == "gradient"
        centred = self.centring == "mean"
        return (
            *("counts",) * counted,
            *("counts again",) * recounted,
            *("sum of ratings", "number of ratings") * centred,
        )


def dpals_plan(people: Table, config: DPALSConfig) -> dict[str, Release] | None:
    """The releases of a run by name, by sizes and scale alone; None without noise."""
    if not config.private:
        return None
    budget = config.budget
    if budget is None:
        raise ParameterError("budget", None, "given for a private run; private=False adds no noise")
    n, r, clip = people.n_items, config.rank, config.clip_norm
    k, frequent = min(config.items_per_user, n), n_frequent(n, config)
    value_clip = value_clip_of(people, config)
    before = _preparation_parts(n, config, value_clip)
    left = 1 - (PREPARATION_SHARE if before else 0.0)
    triangle = r * (r + 1) // 2
    gram = clip**2 * (1 + r) / 2  # ℓ1 norm of one upper triangle of u uᵀ
    part_of_steps = partial(
        Part,
        count=config.iterations,
        source="dpmc_core.completion.dpals.solver: a vector of norm Γ_u in the statistics of k "
        "items",
        bounded_in=2,
    )
    parts: dict[str, Part] = {}
    if config.start == "power":
        parts["start"] = power_part(n, r, k, value_clip, config.start_rounds, left * START_SHARE)
    if config.global_penalty:
        parts["all users"] = part_of_steps(
            what="Gram matrix over all users",
            l1=gram,
            l2=clip**2,
            coordinates=triangle,
            share=left * GLOBAL_SHARE,
            source="dpmc_core.completion.dpals.solver: one vector of norm Γ_u",
            linf=clip**2,
        )
    left -= sum(part.share for part in parts.values())
    for_gram = 1 / (1 + config.gram_ratio**2)
    weighted = config.sampling == "weights"  # then a number may count more than once
    root = math.sqrt(k if weighted else min(k, frequent))
    # ℓ1 over the items: Σω ≤ √(frequent·Σω²) ≤ √(frequent·k), and weights for ℓ1 noise keep Σω ≤ k
    # as well (one ω may exceed 1);
    # without weights, one for each of at most k items
    k_item = float(min(k, frequent))
    if weighted:
        k_item = math.sqrt(frequent * k) if config.norm == 2 else min(k, math.sqrt(frequent * k))
    right = part_of_steps(
        what="right-hand sides of all items",
        l1=k_item * clip * value_clip * math.sqrt(r),
        l2=root * clip * value_clip,
        coordinates=frequent * r,
        share=left * (1 - for_gram),
        linf=None if weighted else clip * value_clip,
        sigma_unit=clip * value_clip,
    )
    if config.solve == "gradient":
        steps = config.iterations * config.gradient_steps
        parts["gradients"] = replace(right, what="gradients of all items", share=left, count=steps)
    else:
        parts["gram"] = part_of_steps(
            what="Gram matrices of all items",
            l1=k_item * gram,
            l2=root * clip**2,
            coordinates=frequent * triangle,
            share=left * for_gram,
            linf=None if weighted else clip**2,
            sigma_unit=config.gram_ratio * clip**2,
        )
        parts["right"] = right
    if config.sigma_preparation is None:
        return plan({**before, **parts}, budget)
    own = GivenSigma(
        sigma=config.sigma_preparation,
        family=budget.family,
        alpha=budget.alpha,
        mean_runs=budget.mean_runs,
    )
    return plan(parts, budget, plan(before, own))


def _preparation_parts(n_items: int, config: DPALSConfig, value_clip: float) -> dict[str, Part]:
    """The releases of the preparation, two parts of five of its share for each set of counts.

    σ_p is in the units of Algorithm 3: of counts 1, √k·Γ_M for the sum and √k for the number.
    """
    k = min(config.items_per_user, n_items)
    root = math.sqrt(k)
    # by name: its part of the share, what it is, ℓ1, ℓ2, length, unit of σ_p
    table = {
        "counts": (0.4, "item counts of k ratings per user", k, root, n_items, 1.0),
        "counts again": (
            0.4, "item counts of the ratings that take part", k, root, n_items, 1.0,
        ),
        "sum of ratings": (
            0.1, "sum of the ratings that take part",
            k * value_clip, k * value_clip, 1, root * value_clip,
        ),
        "number of ratings": (0.1, "number of ratings that take part", k, k, 1, root),
    }  # fmt: skip
    used = {name: table[name] for name in config.preparation(n_items)}
    whole = sum(portion for portion, *_ in used.values())
    return {
        name: Part(
            what=what,
            l1=l1,
            l2=l2,
            coordinates=coordinates,
            share=PREPARATION_SHARE * portion / whole,
            source="dpmc_core.completion.dpals.preprocessing: at most k items of a user take part",
            bounded_in=2,
            linf=1.0 if name.startswith("counts") else None,
            sigma_unit=unit,
        )
        for name, (portion, what, l1, l2, coordinates, unit) in used.items()
    }


def value_clip_of(people: Table, config: DPALSConfig) -> float:
    """Γ_M: how far a rating may lie from the middle of the scale."""
    return config.value_clip if config.value_clip is not None else max(people.width / 2, 1e-12)


def n_frequent(n_items: int, config: DPALSConfig) -> int:
    """How many items factors are learned for."""
    least = max(ENOUGH_ITEMS, config.rank) if config.item_share is None else 0
    wanted = math.ceil((config.item_share or USUAL_SHARE) * n_items)
    return min(max(wanted, least), n_items)
