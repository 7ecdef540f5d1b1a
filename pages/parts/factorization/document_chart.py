"""What topics one document is made of, as bars."""

import numpy as np
import pandas as pd

from pages.parts.factorization.charts import Learned
from pages.parts.factorization.words import shown_words
from pages.parts.ui import figure_cache as drawn_once
from pages.parts.ui.figures import Drawn, figure


@drawn_once.of_results
def document_bars(item: Learned, column: int, most: int = 6) -> Drawn:
    """The topics of one document: how much of what is rebuilt of it each makes up."""
    result = item.result
    weights = result.coefficients[item.order, column] * np.linalg.norm(item.dictionary, axis=0)
    share = weights / max(float(weights.sum()), 1e-300)
    heads = shown_words(item.dictionary, result.clean.words, 3)
    order = [int(k) for k in np.argsort(-share, kind="stable")[:most] if share[k] > 0.005]
    rows = pd.DataFrame(
        [
            {
                "topic": f"{k + 1}: " + ", ".join(word for word, _ in heads[k]),
                "share": float(share[k]),
            }
            for k in order
        ],
        columns=["topic", "share"],
    )
    fig = figure("share of the topic", "", height=110 + 34 * max(len(rows), 1))
    fig.add_bar(
        x=rows["share"].tolist(),
        y=rows["topic"].tolist(),
        orientation="h",
        marker={"color": item.look.colour, "opacity": 0.35},
        text=rows["topic"].tolist(),
        textposition="inside",
        insidetextanchor="start",
        textangle=0,
        constraintext="none",
        hovertemplate="%{y}: %{x:.2f}<extra></extra>",
    )
    fig.update_xaxes(range=[0, 1.2], tickvals=[0, 0.5, 1])
    fig.update_yaxes(
        type="category", visible=False, autorange="reversed"
    )  # names begin with a number: plotly would take them for numbers
    fig.update_layout(margin={"r": 10})
    return fig, rows
