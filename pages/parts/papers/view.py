"""The papers' tables as a page shows them.

Lives here: the overview of verdicts, one table with its picture, claims and origin, and one new trial. Does not live here: rows, results or verdicts (``dpmc_core.experiments.papers``).
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpmc_core.experiments.papers import (
    ENTRIES,
    PAPERS,
    Entry,
    PaperResult,
    RowResult,
    rows_of,
    stored,
)
from dpmc_core.experiments.papers.claims import claims
from dpmc_core.experiments.papers.compute import prediction_interval, verdict_of
from dpmc_core.experiments.papers.row import Row
from dpmc_core.experiments.papers.verdict import (
    DIFFERS,
    KINDS,
    REPRODUCED,
    TREND,
    UNPRINTED,
    Verdict,
)
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import three
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import figure, show

__all__ = ["about", "label_of", "outcome", "overview", "table", "without_rows"]

_LOOKS = {
    REPRODUCED: ("#009E73", "circle"),
    TREND: ("#0072B2", "diamond"),
    DIFFERS: ("#D55E00", "square"),
    UNPRINTED: ("#666666", "cross"),
}
_PAGES = {
    "mechanisms": "Mechanisms",
    "completion": "Completion",
    "factorization": "Factorization",
    "budget": "Budget",
}
_RULE = (
    "*Reproduced*: equal as rounded (exact rows: or within 0.1 %, 1 % for targets), or no farther than two means of as many trials may lie apart by chance (√2 × our 95 % half-width), or than 2 %. "
    "*Same trend*: not that, but within a factor of 1.5, and against its reference row (the same without noise; without noise the one with more or less data) the row goes the printed way by a paired 95 % interval: noise, or less data, hurts here too. "
    "*Differs*: neither. Wide intervals make it easier to be reproduced: read them too. Of exact replicates one in twenty would miss by chance; rows of one table share data and are not independent."
)


def label_of(row: Row) -> str:
    """A row's setting in words."""
    return ", ".join(
        value
        if name in ("dataset", "algorithm", "mechanism", "method", "counted", "what")
        else f"{name} {value}"
        for name, value in row.setting.items()
        if name not in ("sensitivity",)
    )


def overview(paper: str) -> None:
    """All tables and figures of one paper, with how their rows came out."""
    rows = []
    for entry in (e for e in ENTRIES if e.paper == paper):
        counts = dict.fromkeys(KINDS, 0)
        for row in rows_of(entry.id):
            counts[verdict_of(row, stored(entry.id)).kind] += 1
        stands = (
            "rows below"
            if entry.computed
            else f"live on the {_PAGES[entry.page]} page"
            if entry.page
            else "not possible here"
            if entry.missing
            else entry.made or "a drawing or definition: nothing to compute"
        )
        rows.append(
            {
                "where": entry.place,
                "about": entry.title,
                **{kind: str(counts[kind] or "") for kind in KINDS},
                "what stands for it": stands,
            }
        )
    with st.expander(
        f"All {len(rows)} tables and figures of: {PAPERS[paper]}", icon=":material/list:"
    ):
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            width="stretch",
            alt=f"Tables and figures of {PAPERS[paper]} with counts of verdicts.",
        )


def about(entry: Entry) -> None:
    """What we found, and how it was made."""
    if entry.finding:
        st.info(f"**What we found.** {entry.finding}", icon=":material/search_insights:")
    if entry.made:
        st.caption(f"**How ours is made.** {entry.made}")
    if entry.missing:
        st.warning(entry.missing, icon=":material/cloud_off:")


def without_rows(entry: Entry) -> None:
    """A figure that a page draws, or nothing to compute."""
    if entry.page:
        st.page_link(
            f"{entry.page}.py",
            label=f"See it live on the {_PAGES[entry.page]} page",
            icon=":material/arrow_forward:",
        )
    elif not entry.made and not entry.missing:
        st.caption("A drawing or a definition: there is nothing to compute.")
    fig = figure("", "", height=120)
    fig.update_xaxes(visible=False)
    fig.update_yaxes(visible=False)
    fig.add_annotation(
        text="no numbers of its own", showarrow=False, x=0.5, y=0.5, xref="paper", yref="paper"
    )
    show(fig, "paper", f"{entry.place} has no numbers of its own to compare.")


def table(entry: Entry, rows: Sequence[Row], result: PaperResult | None) -> None:
    """Printed against ours: picture, sentences, table, origin."""
    found = [
        (
            row,
            RowResult(id=row.id) if result is None else result.row(row.id),
            verdict_of(row, result),
        )
        for row in rows
    ]
    counts = {kind: sum(v.kind == kind for _, _, v in found) for kind in KINDS}
    said = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
    sentences = [f"Of {len(found)} rows: {said}.", *beaten(found), *claims(entry.id, result)]
    show(*_picture(found, sentences[0]))
    notice(sentences)
    frame = pd.DataFrame([_line(row, mine, verdict) for row, mine, verdict in found])
    shown = frame.dropna(axis="columns", how="all")
    one = [
        name
        for name in shown
        if len(shown) > 1
        and shown[name].nunique(dropna=False) == 1
        and name not in ("printed", "verdict", "why")
    ]
    st.dataframe(
        shown.drop(columns=one),
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(frame), 480),
        alt=f"{entry.place}: printed values, ours with intervals, and verdicts.",
        column_config={"why": st.column_config.TextColumn(width="large")},
    )
    if one:
        said = [
            f"{name} {value}"
            for name in one
            if (value := _plain_number(shown[name].iloc[0])) not in ("", "None", "nan")
        ]
        if said:
            st.caption("In all rows: " + ", ".join(said) + ".")
    st.caption(_RULE)
    if result is None:
        return
    st.caption(
        f"Made on {result.date} with dpmc_lab {result.versions['dpmc_lab']}, numpy {result.versions['numpy']}, Python {result.versions['python']}; all trials' seeds come from {result.seed}."
    )
    st.code(result.command, language="bash")
    left, right = st.columns(2)
    left.download_button(
        "This table (CSV)",
        data=lambda: frame.to_csv(index=False),
        file_name=f"dpmc-{entry.id}.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    right.download_button(
        "Every trial (JSON)",
        data=lambda: json.dumps(asdict(result), indent=1),
        file_name=f"dpmc-{entry.id}.json",
        mime="application/json",
        on_click="ignore",
        icon=":material/download:",
    )


def _line(row: Row, mine: RowResult, verdict: Verdict) -> dict[str, object]:
    half = t_half_width(mine.values)
    return {
        **row.setting,
        "metric": row.metric,
        "verdict": verdict.kind,
        "printed": None if row.printed is None else row.printed.value,
        "ours (mean)": None if not mine.values else mine.mean,
        "± (95 %)": None if math.isnan(half) else half,
        "trials": len(mine.values) or None,
        "overflowed": len(mine.failed) or None,
        "best trivial": float(np.mean(mine.trivials)) if mine.trivials else None,
        "ε stated": _stated(mine),
        "why": verdict.why,
    }


def _plain_number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _stated(mine: RowResult) -> str:
    """ε as the ledgers say, with the one by published results where ours rests on the house's proof."""
    if mine.epsilon is None:
        return ""
    beside = (
        ""
        if mine.epsilon_published is None or mine.epsilon_published <= 1.005 * mine.epsilon
        else f"; by published results {three(mine.epsilon_published)}"
    )
    return f"{three(mine.epsilon)} ({'nominal' if mine.nominal else 'sound'}{beside})"


def beaten(found: Sequence[tuple[Row, RowResult, Verdict]]) -> list[str]:
    """How many rows beat the best trivial predictor, by paired intervals; for measures that it has too."""
    known = [
        (row, mine)
        for row, mine, _ in found
        if len(mine.trivials) == len(mine.values) > 1 and row.take in ("value", "truth", "rmse")
    ]
    if not known:
        return []
    wins = losses = 0
    for _, mine in known:
        apart = [v - t for v, t in zip(mine.values, mine.trivials, strict=True)]
        half = t_half_width(apart)
        wins += float(np.mean(apart)) < -half
        losses += float(np.mean(apart)) > half
    return [
        f"Of {len(known)} rows with a trivial predictor beside them, {wins or 'none'} beat{'s' * (wins == 1)} the best one, {losses or 'none'} lose{'s' * (losses == 1)} to it, and {len(known) - wins - losses or 'none'} cannot be told apart (each by a paired 95 % interval)."
    ]


def _picture(
    found: Sequence[tuple[Row, RowResult, Verdict]], alt: str
) -> tuple[go.Figure, str, str]:
    """Ours against printed on the diagonal; where nothing is printed, ours alone."""
    printed = [(row, mine, v) for row, mine, v in found if row.printed is not None and mine.values]
    if not printed:
        ours = [(row, mine) for row, mine, _ in found if mine.values]
        fig = figure(ours[0][0].metric if ours else "", "", height=max(240, 60 + 24 * len(ours)))
        halves = [t_half_width(mine.values) for _, mine in ours]
        names = [label_of(row) for row, _ in ours]
        fig.add_scatter(
            x=[mine.mean for _, mine in ours],
            y=names,
            error_x={"type": "data", "array": [0.0 if math.isnan(h) else h for h in halves]},
            mode="markers",
            marker={"color": "#0072B2", "size": 9},
            name="ours",
        )
        fig.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1])
        fig.update_layout(hovermode="closest", margin={"r": 20})
        return fig, "paper", alt
    metric = printed[0][0].metric
    fig = figure(f"printed {metric}", f"ours: {metric}", height=440)
    low = min(
        min(row.printed.value, mine.mean) for row, mine, _ in printed if row.printed is not None
    )
    high = max(
        max(row.printed.value, mine.mean) for row, mine, _ in printed if row.printed is not None
    )
    fig.add_scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": "rgba(128,128,128,0.7)", "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    for kind, (colour, symbol) in _LOOKS.items():
        some = [(row, mine) for row, mine, v in printed if v.kind == kind]
        if not some:
            continue
        halves = [t_half_width(mine.values) for _, mine in some]
        fig.add_scatter(
            x=[row.printed.value for row, _ in some if row.printed is not None],
            y=[mine.mean for _, mine in some],
            error_y={
                "type": "data",
                "array": [0.0 if math.isnan(h) else h for h in halves],
                "thickness": 1,
                "width": 3,
            },
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            name=kind,
            text=[label_of(row) for row, _ in some],
            hovertemplate="%{text}<br>printed %{x:.4g}, ours %{y:.4g}<extra></extra>",
        )
    fig.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        hovermode="closest",
        margin={"r": 20},
    )
    return fig, "paper", alt


def outcome(row: Row, stored_row: RowResult, value: float, seed: int) -> None:
    """One new trial beside what is stored."""
    if not stored_row.values:
        st.info(
            f"{label_of(row)}, seed {seed}: **{value:.4g}**. Nothing is stored to compare it with.",
            icon=":material/info:",
        )
        return
    low, high = prediction_interval(stored_row.values)
    inside = low <= value <= high
    if row.exact is not None:
        text = (
            f"{label_of(row)}: {value:.4g}, exactly as stored."
            if inside
            else f"{label_of(row)}: {value:.6g}, but stored is {stored_row.mean:.6g}."
        )
        (st.success if inside else st.warning)(
            text, icon=":material/check:" if inside else ":material/help:"
        )
        return
    where = f"where one more trial falls 95 times in 100, from {low:.4g} to {high:.4g}"
    text = (
        f"{label_of(row)}, seed {seed}: **{value:.4f}**. The stored {len(stored_row.values)} trials say {where}: it is {'inside' if inside else 'outside'}"
        + ("." if inside else ", which chance alone does five times in 100.")
    )
    (st.success if inside else st.warning)(
        text, icon=":material/check:" if inside else ":material/help:"
    )
