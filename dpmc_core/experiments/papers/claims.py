"""What a paper concludes from a table, judged by paired trials.

Lives here: sentences computed from stored trials for the conclusions that can be judged. Does not live here: verdicts on single rows (``verdict``) or findings that no number here decides (``entries``).
"""

import itertools

import numpy as np
from scipy import stats

from dpmc_core.experiments.papers.compute import PaperResult
from dpmc_core.experiments.papers.rows import rows_of

__all__ = ["claims"]


def claims(entry: str, result: PaperResult | None) -> list[str]:
    """For tables with several mechanisms in one setting: how often Huber noise beats, loses to or cannot be told from each other one, all together at 95 % (Bonferroni)."""
    if result is None:
        return []
    groups: dict[tuple[tuple[str, str], ...], dict[str, tuple[float, ...]]] = {}
    for row in rows_of(entry):
        mechanism = row.setting.get("mechanism")
        if mechanism in (None, "none") or row.spec is None:
            continue
        rest = tuple((name, value) for name, value in row.setting.items() if name != "mechanism")
        groups.setdefault(rest, {})[str(mechanism)] = result.row(row.id).values
    pairs = [
        (other, g["huber"], g[other])
        for g, other in itertools.product(groups.values(), ("laplace", "gaussian"))
        if "huber" in g and other in g and len(g["huber"]) == len(g[other]) > 1
    ]
    out = []
    for other in ("laplace", "gaussian"):
        some = [(a, b) for name, a, b in pairs if name == other]
        if not some:
            continue
        better = worse = 0
        for a, b in some:
            apart = np.asarray(a) - np.asarray(b)
            half = (
                float(stats.t.ppf(1 - 0.025 / len(pairs), apart.size - 1)) * float(apart.std(ddof=1)) / apart.size**0.5
            )
            better += float(apart.mean()) < -half
            worse += float(apart.mean()) > half
        left = len(some) - better - worse
        out.append(
            f"Huber against {other.capitalize()} noise at equal variance, paired over trials: lower error in {better} of {len(some)} settings, higher in {worse}, not told apart in {left} (95 % for all {len(pairs)} comparisons together)."
        )
    return out
