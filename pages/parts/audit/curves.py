"""The claimed trade-off function of an audit, and what was measured against it."""

import numpy as np
import pandas as pd

from dpmc_core.arrays import FloatArray
from dpmc_core.privacy.distinguish.attack import Attack, CurveTest
from dpmc_core.privacy.distinguish.events import clopper_pearson
from dpmc_core.wording import three
from pages.parts.audit.charts import IN, OUT
from pages.parts.ui.densities import attacker_axes
from pages.parts.ui.figures import Drawn
from pages.parts.ui.looks import Identity, curve, name_above

_BOXES = 9


def measured(test: CurveTest, confidence: float) -> str:
    """What was found against the claim's curve, in a sentence."""
    sure = f"with {100 * confidence:g} % confidence"
    if not test.exceeded:
        return f"No point that was measured lies beyond the claim's curve ({sure})."
    return (
        f"This attacker finds at least {three(100 * test.found)} % at no more than "
        f"{three(100 * test.false_alarms)} % false alarms ({sure}); the claim allows "
        f"{three(100 * test.allowed)} % there: it is **wrong**."
    )


def claimed_and_measured(attack: Attack, claimed_curve: FloatArray) -> Drawn:
    """The most that the claim lets an attacker find, and boxes around what this one found.

    Each box alone holds with the audit's confidence (Clopper-Pearson on both sides of each share).
    """
    fig = attacker_axes()
    alarms, misses = claimed_curve
    claimed = Identity("claimed: at most", OUT, "solid")
    curve(fig, claimed, 100 * alarms, 100 * (1 - misses))
    boxes = _boxes(attack)
    for row in boxes.to_dict("records"):
        fig.add_shape(
            type="rect",
            x0=row["false alarms from (%)"],
            x1=row["to (%)"],
            y0=row["found from (%)"],
            y1=row["up to (%)"],
            line={"color": IN, "width": 1.5},
            fillcolor="rgba(0,114,178,0.25)",
        )
    fig.add_scatter(
        x=(boxes["false alarms from (%)"] + boxes["to (%)"]) / 2,
        y=(boxes["found from (%)"] + boxes["up to (%)"]) / 2,
        mode="markers",
        name="measured",
        marker={"color": IN, "size": 6},
        hovertemplate="%{y:.1f} % at %{x:.1f} %",
    )
    name_above(fig, margin={"t": 40})
    return fig, boxes


def _boxes(attack: Attack) -> pd.DataFrame:
    pooled = np.concatenate([attack.scores_in, attack.scores_out])
    cuts = np.unique(np.quantile(pooled, np.linspace(0.03, 0.97, _BOXES)))
    error = (1 - attack.bound.confidence) / 4  # of each of the four sides of a box
    upwards = float(np.mean(attack.scores_in)) >= float(np.mean(attack.scores_out))
    rows = []
    for cut in cuts:
        shares: list[float] = []
        for scores in (attack.scores_out, attack.scores_in):
            hits = int(np.count_nonzero(scores > cut if upwards else scores <= cut))
            low, high = clopper_pearson(hits, len(scores), error)
            shares += [100 * float(low), 100 * float(high)]
        rows.append(shares)
    names = ["false alarms from (%)", "to (%)", "found from (%)", "up to (%)"]
    return pd.DataFrame(rows, columns=names)
