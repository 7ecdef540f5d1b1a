"""Which runs each study consists of: points of lines, each a spec from the study's settings.

Settings stay as they are along a line: nothing is re-tuned on the data from point to point.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpmc_core import limits
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.spec import RunSpec

Settings = Mapping[str, Any]
Lines = Callable[[Settings], list["Cell"]]

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
RIVALS = ("moments", "private-means", "dpals")
SHARES_OF_USERS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
SHARES_OF_ITEMS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
RANKS = (2, 4, 8, 16, 32)
ROUND_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.999)
PEOPLE = (300, 1000, 3000, 10_000, 30_000)
CORRUPTED = (0.0, 0.05, 0.1, 0.2, 0.3)
PARTS = {"images": (2, 4, 8, 16, 32), "documents": (2, 4, 6, 8, 10, 12, 16)}


@dataclass(frozen=True)
class Cell:
    """One point of one line: runs of ``spec`` with seeds of their own, of a share of all users.

    ``fresh`` says that every seed has data of its own.
    """

    series: str
    x: float
    spec: RunSpec
    users: float = 1.0
    fresh: bool = False


def _noisy(s: Settings, algorithm: str, epsilon: float, **changes: Any) -> RunSpec:
    mechanism = s.get("mechanism", "none")
    noise = {
        "mechanism": "gaussian" if mechanism == "none" else mechanism,
        "epsilon": epsilon,
        "variance": None,
    }
    return RunSpec.fitting(s, algorithm=algorithm, **noise, **changes)


def _published(s: Settings, epsilon: float, **changes: Any) -> RunSpec:
    gaussian = {**s, "mechanism": "gaussian"}  # the only noise it has
    return _noisy(gaussian, "private-nmf-published", epsilon, **changes)


def _quiet(s: Settings, algorithm: str, **changes: Any) -> RunSpec:
    return RunSpec.fitting(s, algorithm=algorithm, mechanism="none", **changes)


def _total(s: Settings) -> float:
    return limits.check("epsilon", s.get("epsilon") or 1.0)


def _title(algorithm: str) -> str:
    return ALGORITHMS[algorithm].title


def _by_epsilon(s: Settings) -> list[Cell]:
    ends = (EPSILONS[0], EPSILONS[-1])
    return [Cell(_title(a), e, _noisy(s, a, e)) for a in RIVALS for e in EPSILONS] + [
        Cell(f"{_title(a)}, no noise", e, _quiet(s, a)) for a in ("moments", "dpals") for e in ends
    ]


def _by_users(s: Settings) -> list[Cell]:
    epsilon = _total(s)
    return [
        Cell(_title(a), share, _noisy(s, a, epsilon), share)
        for a in RIVALS
        for share in SHARES_OF_USERS
    ] + [
        Cell("One-shot moments, no noise", share, _quiet(s, "moments"), share)
        for share in SHARES_OF_USERS
    ]


def _by_share(s: Settings) -> list[Cell]:
    return [
        Cell(f"ε = {e:g}", b, _noisy(s, "dpals", e, item_share=b))
        for e in (1.0, 5.0, 20.0)
        for b in SHARES_OF_ITEMS
    ] + [Cell("no noise", b, _quiet(s, "dpals", item_share=b)) for b in SHARES_OF_ITEMS]


def _by_rank(s: Settings) -> list[Cell]:
    return (
        [
            Cell(f"DPALS, ε = {e:g}", r, _noisy(s, "dpals", e, rank=r))
            for e in (1.0, 10.0)
            for r in RANKS
        ]
        + [Cell("DPALS, no noise", r, _quiet(s, "dpals", rank=r)) for r in RANKS]
        + [Cell("One-shot moments, ε = 10", r, _noisy(s, "moments", 10.0, rank=r)) for r in RANKS]
    )


def _by_projection(s: Settings) -> list[Cell]:
    names = {"inner": "before λ is added", "printed": "as printed", "off": "off"}
    return [
        Cell(title, e, _noisy(s, "dpals", e, projection=name))
        for name, title in names.items()
        for e in (2.0, 5.0, 10.0, 20.0, 50.0)
    ]


def _by_exponents(s: Settings) -> list[Cell]:
    return [
        Cell(
            f"μ = {mu:g}, ν = {nu:g}",
            b,
            _noisy(s, "dpals", _total(s), item_exponent=mu, user_exponent=nu, item_share=b),
        )
        for mu, nu in ((0.0, 0.0), (0.5, 1.0), (1.0, 1.0))
        for b in SHARES_OF_ITEMS
    ]


def _parts_by_epsilon(s: Settings) -> list[Cell]:
    lines = (("NMF, no noise", "nmf"), ("Private NMF, corrected, no noise", "private-nmf"))
    return [
        Cell(_title(a), e, _noisy(s, a, e)) for a in ("moment-nmf", "private-nmf") for e in EPSILONS
    ] + [
        Cell(name, e, _quiet(s, algorithm))
        for name, algorithm in lines
        for e in (EPSILONS[0], EPSILONS[-1])
    ]


def _by_round(s: Settings) -> list[Cell]:
    # for one replaced by another, as the paper counts: one number ε must mean one promise
    alike = {n: v for n, v in s.items() if n not in ("rounds", "inner")}
    alike |= {"mechanism": "gaussian", "neighbours": "replace-one"}
    quiet = _quiet(s, "private-nmf-published")
    delta = limits.check("account_delta", s.get("delta", 1e-5))
    total = {e: overall_epsilon(e, quiet.length, delta) for e in ROUND_EPSILONS}
    return (
        [Cell("as published (not private)", e, _published(s, e)) for e in ROUND_EPSILONS]
        + [
            Cell("as published, no noise", e, quiet)
            for e in (ROUND_EPSILONS[0], ROUND_EPSILONS[-1])
        ]
        + [
            Cell(f"{title}, same overall ε", e, _noisy(alike, algorithm, total[e]))
            for title, algorithm in (
                ("corrected", "private-nmf"),
                ("One-shot moment NMF", "moment-nmf"),
            )
            for e in ROUND_EPSILONS
        ]
    )


def overall_epsilon(epsilon: float, rounds: int, delta: float) -> float:
    """Return ε of T rounds of A and B, each with Δ/τ = ε/√(2 ln(1.25/δ)).

    By Rényi divergence at the best order: the paper's own formula (nmf-paper section 3.3).
    """
    ratio = epsilon**2 / (2 * math.log(1.25 / delta))
    spent = 2 * rounds * ratio
    order = 1 + math.sqrt(2 * math.log(1 / delta) / spent)
    return order * spent / 2 + math.log(1 / delta) / (order - 1)


def _by_parts(s: Settings) -> list[Cell]:
    smallest = _quiet(s, "nmf", rank=2)
    epsilon, out = _total(s), []
    for k in PARTS[smallest.data.entry.holds]:
        if k <= smallest.data.largest_rank:
            moments = _noisy(s, "moment-nmf", epsilon, rank=k)
            out.append(Cell("NMF, no noise", k, _quiet(s, "nmf", rank=k)))
            out.append(Cell(f"One-shot moment NMF, ε = {epsilon:g}", k, moments))
    return out


def _by_people(s: Settings) -> list[Cell]:
    epsilon, out = _total(s), []
    for n in PEOPLE:
        for name, spec in (
            (
                f"One-shot moment NMF, ε = {epsilon:g}",
                _noisy(s, "moment-nmf", epsilon, n_samples=n),
            ),
            (
                f"Private NMF, corrected, ε = {epsilon:g}",
                _noisy(s, "private-nmf", epsilon, n_samples=n),
            ),
            ("as published (not private)", _published(s, 0.5, rounds=100, n_samples=n)),
        ):
            out.append(Cell(name, n, spec, fresh=True))
    return out


def _by_corruption(s: Settings) -> list[Cell]:
    epsilon = _total(s)
    robust = RunSpec.of(algorithm="robust-nmf").algorithm
    steps, penalty = robust.inner, robust.outlier_penalty  # as many steps for both
    return [
        Cell(name, share, spec, fresh=share > 0)
        for share in CORRUPTED
        for name, spec in (
            ("NMF, no noise", _quiet(s, "nmf", inner=steps, contaminated=share)),
            ("Robust NMF, no noise", _quiet(s, "robust-nmf", contaminated=share)),
            (
                f"One-shot moment NMF, ε = {epsilon:g}",
                _noisy(s, "moment-nmf", epsilon, contaminated=share),
            ),
            (
                "as published (not private)",
                _published(s, 0.5, rounds=40, outlier_penalty=penalty, contaminated=share),
            ),
        )
    ]


COMPLETION: dict[str, Lines] = {
    "epsilon": _by_epsilon,
    "people": _by_users,
    "items": _by_share,
    "rank": _by_rank,
    "projection": _by_projection,
    "exponents": _by_exponents,
}
FACTORIZATION: dict[str, Lines] = {
    "epsilon": _parts_by_epsilon,
    "rounds": _by_round,
    "parts": _by_parts,
    "people": _by_people,
    "outliers": _by_corruption,
}
