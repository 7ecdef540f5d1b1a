"""Noises side by side: densities, samples, variance, and what an attacker finds."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpmc_core.arrays import FloatArray
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Huber, Mechanism
from dpmc_core.mechanisms.huber import variance as unit_variance
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.tradeoff import of_ledger
from dpmc_core.wording import three
from pages.parts.ui.figures import Drawn, figure, of_values, show
from pages.parts.ui.labels import label_end, log_ticks
from pages.parts.ui.looks import BASELINE, BEST, IDENTITY, Identity, curve, intervals, name_above

_LOWEST_DENSITY = 1e-12


VIEWS = {
    "density": ("density (1 / unit of the number)", "pdf"),
    "log-density": ("density, log scale (1 / unit of the number)", "pdf"),
    "cdf": ("P(noise ≤ x)", "cdf"),
}


@of_values
def densities(mechanisms: Sequence[Mechanism], view: str = "density") -> Drawn:
    """Density, log-density or distribution function of each mechanism over ±5 of the widest
    standard deviation.
    """
    title, method = VIEWS[view]
    reach = (8 if view == "log-density" else 5) * max(m.std for m in mechanisms)
    x = np.linspace(-reach, reach, 301)
    fig = figure("noise x (units of the released number)", title, log_y=view == "log-density")
    numbers = {"x": x}
    for m in mechanisms:
        numbers[m.name] = y = getattr(m, method)(x)
        if view == "log-density":
            y = np.where(y < _LOWEST_DENSITY, np.nan, y)  # the numbers go on
        look, shape = IDENTITY[m.name], "hv" if m.name == "staircase" else "linear"
        marker = look.mark(maxdisplayed=6)
        curve(fig, look, x, y, line=look.line(shape=shape), marker=marker)
    # or names beside curves would widen it
    fig.update_xaxes(range=[-reach, reach])
    if view == "density":
        _label_peaks(fig, x, [(m, numbers[m.name]) for m in mechanisms])
    else:  # lines that run together
        name_above(fig)
    if view == "log-density":
        fig.update_yaxes(exponentformat="power", dtick=2)
    return fig, pd.DataFrame(numbers)


@of_values
def variance_curve(current: Huber) -> Drawn:
    """Variance of Huber noise against α at the scale of ``current``, which is the point (thesis
    figure 4.4), with its two limits.
    """
    low = min(0.05, current.alpha)
    alpha, square = np.geomspace(low, 20, 300), current.scale**2
    value = square * unit_variance(alpha)
    look, laplace, gaussian = (IDENTITY[name] for name in ("huber", "laplace", "gaussian"))
    y_title = f"variance at scale s = {three(current.scale)} (log scale)"
    fig = figure("Huber's α (log scale)", y_title, log_x=True, log_y=True)
    tail = alpha[alpha < 1.2]
    limits = ((tail, 2 * square / tail**2, laplace), (alpha[[0, -1]], [square] * 2, gaussian))
    for x, y, one in limits:
        curve(fig, replace(one, marker="", width=1.5), x, y)
    curve(fig, replace(look, marker=""), alpha, value)
    here = current.variance
    marker = look.mark(size=13, line={"width": 2, "color": "white"})
    curve(fig, look, [current.alpha], [here], mode="markers", name="shown", marker=marker)
    label_end(fig, current.alpha, here, f"α = {current.alpha:g}: {three(here)}", shift=14)
    label_end(fig, 2 * low, square / (2 * low**2), "limit: Laplace 2s²/α²", shift=4)
    label_end(fig, 1.2 * low, square, "limit: Gaussian s²", shift=-12)
    high = 3 * float(value[0])
    fig.update_xaxes(**log_ticks(low, 20), range=[math.log10(0.9 * low), math.log10(22)])
    fig.update_yaxes(**log_ticks(square / 2, high), range=np.log10([square / 2, high]).tolist())
    fig.update_layout(margin={"r": 16})
    return fig, pd.DataFrame({"alpha": alpha, "variance": value})


@of_values
def sampled(mechanism: Mechanism, count: int, seed: int) -> tuple[go.Figure, pd.DataFrame, float]:
    """Histogram of ``count`` samples under their density (thesis figure 4.3), with ±1.96 standard
    errors of each bar; its numbers; and the samples' variance.
    """
    samples = mechanism.sample(count, np.random.default_rng(seed))
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


def at_equal(
    by: str,
    value: float,
    *,
    names: Sequence[str] = RUN_FAMILIES,
    sensitivity: float = 1.0,
    delta: float = 1e-5,
    alpha: float = 1.5,
) -> list[Mechanism]:
    """Noise of the families called ``names`` of equal ``by``: "variance", or "epsilon" of one
    release at ``sensitivity``. Raises ``DPMCError``.
    """
    out = []
    for kind in (FAMILIES[name] for name in names):
        given = {"alpha": alpha} if "alpha" in kind.shape else {}
        if by == "epsilon":
            given |= {} if kind.pure else {"delta": delta}
            out.append(kind.with_epsilon(value, sensitivity, **given))
        else:
            given |= {} if kind.in_runs else {"sensitivity": sensitivity}
            out.append(kind.with_variance(value, **given))
    return out


def show_attackers(ledgers: Sequence[Ledger], caption: str) -> None:
    """Draw what an attacker finds who sees all of each ledger, and how to read it."""
    with st.spinner("Composing the privacy losses…"):
        fig, numbers, sentence = attackers(ledgers)
    st.markdown(sentence)
    show(fig, "attackers", sentence, numbers)
    st.caption(caption)


@of_values
def attackers(ledgers: Sequence[Ledger]) -> tuple[go.Figure, pd.DataFrame, str]:
    """What the best attacker on each ledger finds, against false alarms; and how to read it.

    A ledger goes by the noise of its first release.
    """
    fig, alarms = attacker_axes(), np.linspace(0, 1, 201)
    numbers: dict[str, FloatArray] = {"false alarms (%)": 100 * alarms}
    phrases: list[str] = []
    for ledger in ledgers:
        noise, tradeoff = ledger.releases[0].mechanism, of_ledger(ledger)
        look, hit_rate = IDENTITY[noise.name], 100 * tradeoff.found(alarms)
        numbers[f"{look.title}: found at most (%)"] = hit_rate
        curve(fig, look, 100 * alarms, hit_rate, marker=look.mark(maxdisplayed=8))
        mu = f" ({three(tradeoff.mu)}-GDP)" if tradeoff.mu is not None else ""
        phrases.append(f"{look.title} {three(100 * float(tradeoff.found(0.05)))} %{mu}")
    name_above(fig)
    sentence = (
        "An attacker who accepts 5 % false alarms finds, of those who are in, at most: "
        f"{', '.join(phrases)}. Chance finds 5 %."
    )
    return fig, pd.DataFrame(numbers), sentence


def attacker_axes() -> go.Figure:
    """Axes from 0 to 100 %: hits against false alarms, chance, and where 5 % are false."""
    fig = figure("false alarms (% of those who are out)", "found (% of those who are in)")
    chance = replace(BEST, title="chance")
    curve(fig, chance, [0, 100], [0, 100], hoverinfo="skip", showlegend=False)
    fig.add_vline(x=5, line={"color": BASELINE, "width": 1, "dash": "dot"})
    label_end(fig, 5.0, 3.0, "5 % false alarms")
    label_end(fig, 78.0, 78.0, "chance", shift=-12)
    fig.update_xaxes(range=[0, 100], dtick=20)
    fig.update_yaxes(range=[0, 101], dtick=20)
    return fig


_GLYPHS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "cross": "✚",
}  # a curve's marker, beside its name


def _label_peaks(
    fig: go.Figure, x: FloatArray, drawn: Sequence[tuple[Mechanism, FloatArray]]
) -> None:
    """Name each density beside its right flank, spread so that none collide."""
    highest_first = sorted(drawn, key=lambda one: -float(np.max(one[1])))
    for k, (m, y) in enumerate(highest_first):
        top = float(y.max())
        i = x.size // 2 + int(np.argmax(y[x.size // 2 :] < top * (0.85 - 0.22 * k)))
        look = IDENTITY[m.name]
        glyph = f'<span style="color:{look.colour}">{_GLYPHS[look.marker]}</span>'
        label_end(fig, float(x[i]), float(y[i]), f"{glyph} {look.title}", (len(drawn) - k) * 3)
