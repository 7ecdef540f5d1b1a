"""Charts and tables of the *Budget* page.

Pure functions from ledgers, accounts and curves to figures and the numbers in them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from dpmc_core.mechanisms import Huber, Mechanism
from dpmc_core.privacy.account import METHODS, Account
from dpmc_core.privacy.compare import DpalsCount, price
from dpmc_core.wording import power, three
from pages.parts.ui.figures import Drawn, figure, level
from pages.parts.ui.labels import label_end
from pages.parts.ui.looks import BASELINE, IDENTITY, Identity, curve
from pages.parts.ui.series import Line, named_lines

NEEDED_COUNTS = (1, 3, 6, 10, 15, 25, 50, 100, 300)
DELTAS = tuple(10.0**k for k in range(-9, -1))
GROUPS = (1, 2, 3, 5, 10, 20)
MEAN_RUNS = (1, 2, 5, 10, 30, 100, 300, 1000)
COUNTS = (1, 2, 5, 10, 30, 100, 300, 1000, 3000, 10_000)


def composition(
    mechanisms: Sequence[Mechanism],
    curves: Sequence[Sequence[float]],
    sensitivity: float,
    chosen: int,
    delta: float,
) -> Drawn:
    """Tightest ε against the number of releases, one line per mechanism, and thin lines where ε is
    merely added up.

    ``curves[k]`` belongs to ``mechanisms[k]`` at ``COUNTS``; one release moves by ``sensitivity``
    (without a pure ε no sum is drawn); ``chosen`` is marked.
    """
    fig = figure(
        "number of releases T (log scale)",
        f"ε of all releases together (log scale), δ = {power(delta)}",
        height=440,
        log_x=True,
        log_y=True,
    )
    numbers: dict[str, object] = {"releases": list(COUNTS)}
    lines = []
    for noise, epsilons in zip(mechanisms, curves, strict=True):
        look, single = IDENTITY[noise.name], noise.epsilon(sensitivity)
        if epsilons[-1] > 0:
            lines.append(Line(look, COUNTS, _on_a_log_axis(epsilons)))
        numbers[f"{look.title} ε at δ = {power(delta)}"] = list(epsilons)
        if math.isfinite(single):
            added = [single * count for count in COUNTS]
            summed = replace(look, title=f"{look.title}, summed", marker="", width=1.5)
            lines.append(Line(summed, COUNTS, added))
            numbers[f"{look.title} sum of ε (δ = 0)"] = added
    fig.add_vline(x=chosen, line={"color": BASELINE, "width": 1})
    fig.add_annotation(
        x=math.log10(chosen), y=1, yref="paper", text=f"T = {chosen:,}", xanchor="right", xshift=-4
    )
    return named_lines(fig, lines), pd.DataFrame(numbers)


def _on_a_log_axis(epsilons: Sequence[float]) -> list[float]:
    """``epsilons`` without those that a logarithmic axis has no place for: there is no line."""
    return [value if 0 < value < math.inf else math.nan for value in epsilons]


def by_number(
    of_each: Mapping[str, Sequence[float]],
    what: str,
    numbers: Sequence[int],
    delta: float,
    whose: str = "for all of them",
) -> Drawn:
    """ε (``whose`` it is) for ``numbers`` of ``what``, one line for each mechanism's name."""
    title = f"ε {whose} (log scale), δ = {power(delta)}"
    fig = figure(f"{what} (log scale)", title, log_x=True, log_y=True)
    lines = [
        Line(IDENTITY[name], numbers, _on_a_log_axis(epsilons))
        for name, epsilons in of_each.items()
    ]
    titles = {IDENTITY[name].title: list(epsilons) for name, epsilons in of_each.items()}
    return named_lines(fig, lines), pd.DataFrame({what: numbers, **titles})


def sampled(
    of_samples: Mapping[str, Sequence[float]],
    of_all: Mapping[str, Sequence[float]],
    deltas: Sequence[float],
    chosen: float,
) -> Drawn:
    """ε of all releases against δ, made from samples and, dotted, from all data, for each
    mechanism's name; the ``chosen`` δ is marked.
    """
    fig = figure("δ (log scale)", "ε of all releases together (log scale)", log_x=True, log_y=True)
    lines, numbers = [], {"δ": list(deltas)}
    for name, epsilons in of_samples.items():
        look = IDENTITY[name]
        all_data = replace(look, title="", marker="", dash="dot", width=1.5)
        lines.append(Line(look, deltas, _on_a_log_axis(epsilons)))
        lines.append(Line(all_data, deltas, _on_a_log_axis(of_all[name])))
        numbers[f"{look.title}, samples"] = list(epsilons)
        numbers[f"{look.title}, all data"] = list(of_all[name])
    fig.add_vline(x=chosen, line={"color": BASELINE, "width": 1})
    return named_lines(fig, lines), pd.DataFrame(numbers)


def rounded(mechanisms: Sequence[Mechanism], sensitivity: float) -> Drawn:
    """Right guesses of the best attacker on one release that is rounded, against how coarsely; as
    released, without rounding, dotted.
    """
    fig = figure("rounded to multiples of … standard deviations", "right guesses in 100")
    lines, widths = [], np.linspace(0.1, 4.0, 40)
    numbers: dict[str, object] = {"width (standard deviations)": widths}
    for noise in mechanisms:
        look, whole = IDENTITY[noise.name], 100 * noise.best_guess(sensitivity)
        guesses = [100 * guess_of_rounded(noise, sensitivity, w * noise.std) for w in widths]
        lines.append(Line(look, widths, guesses))
        released = replace(look, title="", marker="", dash="dot", width=1.5)
        lines.append(Line(released, [0.0, 4.0], [whole, whole]))
        numbers[f"{look.title}, right guesses in 100"] = guesses
    return named_lines(fig, lines), pd.DataFrame(numbers)


def guess_of_rounded(noise: Mechanism, sensitivity: float, width: float) -> float:
    """The best attacker's probability of a right guess between a value and one ``sensitivity``
    away, who sees the noisy value rounded to multiples of ``width``.

    ½(1 + ½Σ|P(cell) − Q(cell)|), by the law's masses of the cells; what is cut off beyond 40
    standard deviations is less than 1e-14, and so is what values farther apart have in common.
    """
    if sensitivity > 80 * noise.std:
        return 1.0
    reach = math.ceil((40 * noise.std + sensitivity) / width)
    ends = (np.arange(-reach, reach + 1) + 0.5) * width
    masses = [np.diff(noise.cdf(ends - moved)) for moved in (0.0, sensitivity)]
    return 0.5 + 0.25 * float(np.abs(masses[0] - masses[1]).sum())


def price_curve(alpha: float, shift_in_sd: float) -> Drawn:
    """The price of Huber noise in a long composition against α, at equal variance.

    Gaussian noise is 1, Laplace noise 2.

    The thick line is the small-shift limit I(α)·σ²(α); the thin one is exact for a shift of
    ``shift_in_sd`` standard deviations.
    """
    alphas = np.geomspace(0.05, 6, 90)
    limit, exact = [], []
    for a in alphas:
        noise = Huber(alpha=float(a))
        limit.append(noise.fisher_information * noise.variance)
        exact.append(price(noise, shift_in_sd * noise.std))
    look = IDENTITY["huber"]
    fig = figure(
        "Huber's α (log scale)",
        "price of one release (Gaussian noise of equal variance = 1)",
        log_x=True,
    )
    for name, value in (("laplace", 2.0), ("gaussian", 1.0)):
        level(fig, value, **IDENTITY[name].line(width=1.5))
        label_end(fig, 0.05, value, IDENTITY[name].title, shift=9)
    small = replace(look, title="small shifts", marker="")
    shift = Identity(f"Δ = {shift_in_sd:.2g} sd", look.colour, "dash", width=1.2)
    lines = [Line(small, alphas, limit), Line(shift, alphas, exact)]
    fig.update_yaxes(range=[min(*limit, *exact, 1.0) - 0.08, max(*limit, *exact, 2.0) + 0.08])
    named_lines(fig, lines)
    chosen = Huber(alpha=alpha)
    at_alpha = [chosen.fisher_information * chosen.variance]
    curve(fig, replace(look, title=f"α = {alpha:g}"), [alpha], at_alpha, marker=look.mark(size=11))
    return fig, pd.DataFrame(
        {"alpha": alphas, "price, small shifts": limit, f"price at {shift_in_sd:.3g} sd": exact}
    )


def needed(
    variances: Sequence[Sequence[float]], mechanisms: Sequence[Mechanism], target: float
) -> Drawn:
    """The variance each noise needs for the budget, relative to Gaussian noise's, against the
    number of releases.

    ``variances[k]`` belongs to ``mechanisms[k]`` at ``NEEDED_COUNTS``.
    """
    by_name = {m.name: np.asarray(v) for m, v in zip(mechanisms, variances, strict=True)}
    fig = figure(
        "number of releases T (log scale)",
        f"variance needed for ε = {target:g} (Gaussian = 1, log scale)",
        log_x=True,
        log_y=True,
    )
    numbers: dict[str, object] = {"releases": list(NEEDED_COUNTS)}
    lines = []
    for noise in mechanisms:
        look, ratio = IDENTITY[noise.name], by_name[noise.name] / by_name["gaussian"]
        lines.append(Line(look, NEEDED_COUNTS, ratio))
        numbers[f"{look.title} variance"] = by_name[noise.name]
        numbers[f"{look.title} relative"] = ratio
    return named_lines(fig, lines), pd.DataFrame(numbers)


def methods_table(names: Sequence[str], accounts: Sequence[Sequence[Account]]) -> pd.DataFrame:
    """One row per accounting method, one column per ledger.

    Its ε, or why there is none; the tightest is marked ◀.
    """
    rows: list[dict[str, str]] = []
    least = [min(answer.epsilon for answer in answers) for answers in accounts]
    for k, method in enumerate(METHODS):
        row = {
            "accounting": METHODS[method]["title"],
            "δ": "0 (never fails)" if method == "pure" else f"{power(accounts[0][k].delta)}",
        }
        for name, answers, best in zip(names, accounts, least, strict=True):
            epsilon = answers[k].epsilon
            mark = " ◀" if epsilon == best else ""
            proof = "" if answers[k].published or math.isinf(epsilon) else " *"
            row[name] = "–" if math.isinf(epsilon) else f"{three(epsilon)}{proof}{mark}"
        rows.append(row)
    return pd.DataFrame(rows)


def dpals_table(counts: Sequence[DpalsCount]) -> pd.DataFrame:
    """Lay out Table 4 of the DPALS paper by each way of accounting."""
    titles = {
        "dataset": "data",
        "printed": "printed ε",
        "theorem": "Theorem 1: one of two releases",
        "both": "both releases, the paper's conversion",
        "exact": "both releases, exact",
        "derived": "and the mean as derived",
        "derived_exact": "the same, exact",
    }
    return pd.DataFrame(counts).rename(columns=titles)
