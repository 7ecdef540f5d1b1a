"""The filters and the table of the *Runs* page, and which runs are picked in it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpmc_core.experiments.store.records import Record
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.wording import three
from pages.parts.runs.names import titled
from pages.parts.ui import controls

MOST_COMPARED = 8


def filters(store: RunStore) -> dict[str, tuple[str, ...]]:
    """Draw the sidebar; returns what it leaves of each column."""
    found = store.values()
    out = {}
    with st.sidebar:
        st.subheader("Show")
        for column, label in (
            ("dataset", "Datasets"),
            ("algorithm", "Algorithms"),
            ("mechanism", "Mechanisms"),
            ("unit", "Who is protected"),
        ):
            out[column] = controls.any_of(
                label, f"r_{column}", {v: titled(column, v) for v in found[column]}
            )
    return {column: chosen for column, chosen in out.items() if chosen}


def picked(rows: Sequence[dict[str, Any]], total: int) -> list[str]:
    """Draw the table; returns the keys of up to ``MOST_COMPARED`` ticked runs."""
    st.caption(
        f"{total:,} run{'s' * (total != 1)}"
        + (f", the latest {len(rows)} of them below" if total > len(rows) else "")
        + f", of everybody who uses this server. Tick up to {MOST_COMPARED} to compare."
    )
    shown = pd.DataFrame([_cells(row) for row in rows])
    event = st.dataframe(
        shown,
        hide_index=True,
        height=min(38 + 35 * len(shown), 420),
        on_select="rerun",
        # row numbers are picked: with other rows, begin again
        key=f"runs-table-{hash(tuple(row['key'] for row in rows))}",
        alt=f"The latest {len(rows)} of {total:,} kept runs.",
        column_config={
            "result": st.column_config.NumberColumn(format="%.4f"),
            "best baseline": st.column_config.NumberColumn(format="%.4f"),
        },
    )
    keys = [rows[k]["key"] for k in event["selection"]["rows"] if k < len(rows)]
    if len(keys) > MOST_COMPARED:
        st.warning(
            f"{len(keys)} runs are ticked; the first {MOST_COMPARED} are compared, and only "
            "those can be deleted here. To delete many use the command line: python -m "
            "dpmc_core runs delete.",
            icon=":material/checklist:",
        )
    return keys[:MOST_COMPARED]


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    """Write one row as a visitor reads it."""
    published = row["epsilon_published"]
    return {
        "when (UTC)": row["created"][:16].replace("T", " "),
        "dataset": titled("dataset", row["dataset"]),
        "algorithm": titled("algorithm", row["algorithm"]),
        "noise": titled("mechanism", row["mechanism"]),
        "ε stated": _stated(row),
        "result": row["value"],
        "best baseline": row["baseline"],
        "measure": row["error"] or row["measure"],
        "ε by published results": None if published is None else three(published),
        "accounting": (
            f"{'nominal' if row['nominal'] else 'guarantee'}, one {row['unit']}"
            if row["unit"]
            else ""
        ),
        "seed": row["seed"],
        "seconds": round(row["seconds"], 2),
    }


def _stated(row: dict[str, Any]) -> str:
    if row["mechanism"] == "none":
        return "no noise"
    return "none finite" if row["epsilon"] is None else three(row["epsilon"])


def to_compare(store: RunStore, ticked: Sequence[str], linked: Sequence[str]) -> list[Record]:
    """Find the runs to compare: those ``ticked``, or else those ``linked``.

    The address names the latter, and follows the ticks. A sentence says so where runs are not
    in the store.
    """
    keys = _keys(ticked, linked)
    found = store.find(keys)
    missing = [key for key in keys if key not in found]
    if missing:
        st.warning(
            controls.plain(
                f"{len(missing)} run{'s' * (len(missing) != 1)} of this link "
                f"{'are' if len(missing) != 1 else 'is'} not in the store: deleted, or of "
                "another store."
            ),
            icon=":material/link_off:",
        )
    return [found[key] for key in keys if key in found]


def _keys(ticked: Sequence[str], linked: Sequence[str]) -> list[str]:
    # with the last tick taken away nothing is compared
    if not ticked and not st.session_state.get("runs-ticked"):
        return list(linked)
    st.session_state["runs-ticked"] = bool(ticked)
    if ticked:
        st.query_params["runs"] = ",".join(ticked)
    else:
        st.query_params.pop("runs", None)
    return list(ticked)
