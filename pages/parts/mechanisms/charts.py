"""From mechanisms to figures.

The charts of the *Mechanisms* and *Home* pages, each a pure function of its inputs that returns a
figure and the numbers in it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpmc_core.experiments.papers import rows_of
from dpmc_core.mechanisms import Mechanism, textbook_gaussian_epsilon
from pages.parts.ui.figures import Drawn, figure, level, of_values
from pages.parts.ui.labels import Label, label_end, label_ends
from pages.parts.ui.looks import IDENTITY, curve
from pages.parts.ui.series import Line, named_lines


@of_values
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


@of_values
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


@of_values
def table_1() -> pd.DataFrame:
    """Table 1 of the Huber paper (Δ = 5, δ = 1e-5).

    As printed, by the textbook formula, and exact.
    """
    lines: dict[int, dict[str, float]] = {}
    for row in rows_of("huber-table-1"):
        variance, title = int(row.setting["variance"]), IDENTITY[row.setting["mechanism"]].title
        line = lines.setdefault(variance, {"noise variance": variance})
        assert row.printed is not None
        assert row.exact is not None
        line[f"{title} printed"] = row.printed.value
        if title == "Gaussian":
            line["Gaussian textbook"] = textbook_gaussian_epsilon(variance, 5, 1e-5)
        line[f"{title} exact"] = row.exact()
    return pd.DataFrame([*lines.values()])
