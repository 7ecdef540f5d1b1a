"""From mechanisms to figures.

The charts of the *Mechanisms* and *Home* pages, each a pure function of its inputs that returns a
figure and the numbers in it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpmc_core.mechanisms import (
    FAMILIES,
    Gaussian,
    Huber,
    Mechanism,
    alpha_with_variance,
    textbook_gaussian_epsilon,
)
from dpmc_core.mechanisms.huber_distribution import variance as unit_variance
from dpmc_core.wording import three
from pages.parts.ui import figures as drawn_once
from pages.parts.ui.figures import Drawn, figure, level
from pages.parts.ui.labels import Label, label_end, label_ends, log_ticks
from pages.parts.ui.looks import BASELINE, IDENTITY, Identity, curve, intervals
from pages.parts.ui.series import Line, named_lines


@drawn_once.of_values
def variance_curve(current: Huber) -> Drawn:
    """Variance of Huber noise against α at the scale of ``current``, which is the point (thesis
    figure 4.4), with its two limits.
    """
    low = min(0.05, current.alpha)
    alpha, square = np.geomspace(low, 20, 300), current.scale**2
    value = square * np.asarray(unit_variance(alpha))
    look, laplace, gaussian = (IDENTITY[name] for name in ("huber", "laplace", "gaussian"))
    scale = three(current.scale)
    y_title = f"variance at scale s = {scale} (log scale)"
    fig = figure("Huber's α (log scale)", y_title, log_x=True, log_y=True)
    tail = alpha[alpha < 1.2]
    limits = ((tail, 2 * square / tail**2, laplace), (alpha[[0, -1]], [square] * 2, gaussian))
    for x, y, one in limits:
        curve(fig, replace(one, marker="", width=1.5), x, y)
    curve(fig, replace(look, marker=""), alpha, value)
    here = current.variance
    marker = look.mark(size=13, line={"width": 2, "color": "white"})
    fig.add_scatter(x=[current.alpha], y=[here], mode="markers", name="shown", marker=marker)
    label_end(fig, current.alpha, here, f"α = {current.alpha:g}: {three(here)}", shift=14)
    label_end(fig, 2 * low, square / (2 * low**2), "limit: Laplace 2s²/α²", shift=4)
    label_end(fig, 1.2 * low, square, "limit: Gaussian s²", shift=-12)
    high = 3 * float(value[0])
    fig.update_xaxes(**log_ticks(low, 20), range=[math.log10(0.9 * low), math.log10(22)])
    fig.update_yaxes(**log_ticks(square / 2, high), range=np.log10([square / 2, high]).tolist())
    fig.update_layout(margin={"r": 16})
    return fig, pd.DataFrame({"alpha": alpha, "variance": value})


@drawn_once.of_values
def sampled(mechanism: Mechanism, count: int, seed: int) -> tuple[go.Figure, pd.DataFrame, float]:
    """Histogram of ``count`` samples under their density (thesis figure 4.3), with ±1.96 standard
    errors of each bar; its numbers; and the samples' variance.
    """
    samples = np.asarray(mechanism.sample(count, np.random.default_rng(seed)))
    reach = 5 * mechanism.std
    edges = np.linspace(-reach, reach, 81)
    counts, _ = np.histogram(samples, edges)
    width = edges[1] - edges[0]
    height = counts / samples.size / width
    half = 1.96 * np.sqrt(counts * (1 - counts / samples.size)) / samples.size / width
    middle = (edges[:-1] + edges[1:]) / 2
    look = IDENTITY[mechanism.name]
    fig = figure("noise x (units of the released number)", "density (1 / unit)", height=360)
    fig.add_bar(
        x=middle,
        y=height,
        width=width,
        name="samples",
        marker={"color": look.colour, "opacity": 0.35},
        error_y=intervals(half, thickness=1, width=0, color=BASELINE),
    )
    x = np.linspace(-reach, reach, 401)
    curve(fig, Identity("density", look.colour, "solid"), x, mechanism.pdf(x))
    label_end(fig, float(x[225]), float(mechanism.pdf(x[225])), f"{look.title} density", shift=8)
    numbers = pd.DataFrame(
        {"x": middle, "sampled": height, "half_width_95": half, "density": mechanism.pdf(middle)}
    )
    return fig, numbers, float(samples.var())


@drawn_once.of_values
def privacy_loss(mechanisms: Sequence[Mechanism], sensitivity: float) -> Drawn:
    """Privacy loss log p(x)/p(x + Δ) of each mechanism, with Huber's bound ±αΔ/s (huber-paper,
    appendix A).
    """
    reach = sensitivity + 3.5 * max(m.std for m in mechanisms)
    x = np.linspace(-reach, reach, 401)
    fig = figure(
        "noise drawn, x (units of the released number)",
        "privacy loss log p(x)/p(x+Δ) (nats)",
        height=380,
    )
    numbers: dict[str, Any] = {"x": x}
    lines = []
    for m in mechanisms:
        numbers[m.name] = y = np.asarray(m.privacy_loss(x, sensitivity))
        lines.append(Line(IDENTITY[m.name], x, y, trace={"mode": "lines"}))
        if m.name == "huber":
            bound = m.epsilon(sensitivity)
            for height in (-bound, bound):
                level(fig, height, color=IDENTITY[m.name].colour)
            label_end(fig, float(x[0]), bound, f"αΔ/s = {bound:.3g}", shift=11)
    return named_lines(fig, lines), pd.DataFrame(numbers)


@drawn_once.of_values
def privacy_profile(mechanisms: Sequence[Mechanism], sensitivity: float) -> Drawn:
    """Exact δ(ε) of one scalar release for each mechanism, δ on a log scale down to 1e-9."""
    pure = [m.epsilon(sensitivity) for m in mechanisms]
    ends = [
        1.1 * e if np.isfinite(e) else m.epsilon_at_delta(1e-7, sensitivity)
        for m, e in zip(mechanisms, pure, strict=True)
    ]
    # near its pure ε a profile drops to 0 faster than any even grid shows
    close = [e * (1 - np.geomspace(1e-6, 0.2, 40)) for e in pure if np.isfinite(e)]
    epsilon = np.unique(np.concatenate([np.linspace(0, max(*ends, 0.1), 241), *close]))
    fig = figure("ε (nats)", "least δ at that ε (probability, log scale)", log_y=True, height=380)
    numbers: dict[str, Any] = {"epsilon": epsilon}
    labels: list[Label] = []
    for m in mechanisms:
        numbers[m.name] = delta = np.asarray(m.delta(epsilon, sensitivity))
        look = IDENTITY[m.name]
        seen = delta > 1e-9
        curve(fig, look, epsilon[seen], delta[seen], mode="lines")
        if seen.any():
            last = int(np.flatnonzero(seen)[-1])
            labels.append(Label(float(epsilon[last]), float(delta[last]), look.title))
    fig.update_yaxes(range=[-9, 0.1], dtick=2, exponentformat="power")
    label_ends(fig, labels)
    return fig, pd.DataFrame(numbers)


@drawn_once.of_values
def table_1() -> pd.DataFrame:
    """Table 1 of the Huber paper (Δ = 5, δ = 1e-5).

    As printed, by the textbook formula, and exact.
    """
    printed = {
        1: (15.964, 7.071, 15.000),
        2: (11.288, 5.000, 5.382),
        3: (9.217, 4.082, 4.235),
        4: (7.982, 3.536, 3.602),
    }
    rows = []
    for variance, (gaussian, laplace, huber) in printed.items():
        paper_huber = (
            Huber(alpha=3.0) if variance == 1 else Huber(alpha=alpha_with_variance(float(variance)))
        )
        rows.append(
            {
                "noise variance": variance,
                "Gaussian printed": gaussian,
                "Gaussian textbook": textbook_gaussian_epsilon(variance, 5, 1e-5),
                "Gaussian exact": Gaussian.with_variance(variance).epsilon_at_delta(1e-5, 5),
                "Laplace printed": laplace,
                "Laplace exact": FAMILIES["laplace"].with_variance(variance).epsilon(5),
                "Huber printed": huber,
                "Huber exact": paper_huber.epsilon(5),
            }
        )
    return pd.DataFrame(rows)
