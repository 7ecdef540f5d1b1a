"""Runs: what was run and kept, to filter, compare side by side, export and delete."""

import json
from io import BytesIO
from typing import Any

import pandas as pd
import streamlit as st

from dpmc_core.experiments.store.store import RunStore, StoreError
from dpmc_core.wording import three
from pages.parts.runs import view as runs_view
from pages.parts.server import run_store as keeping
from pages.parts.server import settings
from pages.parts.ui import controls, glossary

AT_ONCE = 200
MOST_COMPARED = 8

controls.on_page("runs.py", {f"r_{column}": names for column, names in runs_view.titles().items()})
glossary.title("What has been run, and what came out?", "runs")
st.markdown(
    "Every run that finishes is kept here with its settings, seed, errors, ledger and statement: runs of the *Completion*, *Factorization* and *Tradeoffs* pages and of the command line. Pick some to "
    "compare them."
)


def filters(store: RunStore) -> dict[str, tuple[str, ...]]:
    """What the sidebar leaves."""
    found = store.values()
    out = {}
    with st.sidebar:
        st.subheader("Show")
        for column, label in (
            ("dataset", "Datasets"),
            ("algorithm", "Algorithms"),
            ("mechanism", "Noises"),
            ("unit", "Who is protected"),
        ):
            out[column] = controls.any_of(
                label, f"r_{column}", {v: runs_view.titled(column, v) for v in found[column]}
            )
    return {column: picked for column, picked in out.items() if picked}


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a visitor reads them."""
    return pd.DataFrame(
        [
            {
                "when (UTC)": row["created"][:16].replace("T", " "),
                "dataset": runs_view.titled("dataset", row["dataset"]),
                "algorithm": runs_view.titled("algorithm", row["algorithm"]),
                "noise": runs_view.titled("mechanism", row["mechanism"]),
                "result": row["value"],
                "best trivial": row["trivial"],
                "measure": row["measure"] if not row["error"] else row["error"],
                "ε by published results": None
                if row["epsilon_published"] is None
                else three(row["epsilon_published"]),
                "ε stated": "no noise"
                if row["mechanism"] == "none"
                else "none finite"
                if row["epsilon"] is None
                else three(row["epsilon"]),
                "counted": ""
                if not row["unit"]
                else f"{'nominal' if row['nominal'] else 'sound'}, one {row['unit']}",
                "seed": row["seed"],
                "seconds": round(row["seconds"], 2),
            }
            for row in rows
        ]
    )


def export(store: RunStore, where: dict[str, tuple[str, ...]], total: int) -> None:
    """All filtered runs as files."""
    with st.expander(
        f"Take {'them' if total != 1 else 'it'} with you ({total:,} run{'s' * (total != 1)})",
        icon=":material/download:",
        on_change="rerun",
        key="runs-take",
    ) as fold:
        if not fold.open:
            return

        def parquet() -> bytes:
            buffer = BytesIO()
            pd.DataFrame(store.rows(where)).to_parquet(buffer, index=False)
            return buffer.getvalue()

        st.download_button(
            "Rows (CSV)",
            data=lambda: pd.DataFrame(store.rows(where)).to_csv(index=False),
            file_name="dpmc-runs.csv",
            mime="text/csv",
            on_click="ignore",
        )
        st.download_button(
            "Rows (Parquet)",
            data=parquet,
            file_name="dpmc-runs.parquet",
            mime="application/vnd.apache.parquet",
            on_click="ignore",
        )
        st.caption(
            "Every row holds its whole spec as JSON, so that it can be run again. Steps, ledger and statement of single runs: pick them above."
        )


def forget(keys: tuple[str, ...]) -> None:
    """Delete the runs that the visitor saw when pressing, whatever was added since."""
    gone = keeping.store().delete(keys)
    st.query_params.pop("runs", None)
    st.session_state["runs-note"] = f"{gone} run{'s were' if gone != 1 else ' was'} deleted."


def deleting(keys: tuple[str, ...]) -> None:
    """Delete the picked runs, after a second press."""
    with st.popover(f"Delete {len(keys)} run{'s' * (len(keys) != 1)}…", icon=":material/delete:"):
        st.markdown(
            "They are gone for everybody who uses this store, and cannot be brought back. Running their specs again gives the same numbers."
        )
        st.button("Yes, delete", key="delete-runs", on_click=forget, args=(keys,))


def main() -> None:
    """The page, given a store."""
    try:
        store = keeping.store()
        where = filters(store)
        total = store.count(where)
        rows = store.rows(where, limit=AT_ONCE)
    except StoreError as error:
        st.error(controls.plain(keeping.told(error)), icon=":material/database_off:")
        st.caption(
            "The other pages work all the same; what they run is shown but not kept until this is mended."
        )
        runs_view.picture([])
        return
    note = st.session_state.pop("runs-note", "")
    if note:
        st.success(note, icon=":material/check:")
    if not total:
        st.info(
            "No run is kept yet"
            + (
                " that fits what you chose on the left."
                if where
                else ": run something on the *Completion* page, or a sweep on *Tradeoffs*, and come back."
            ),
            icon=":material/history:",
        )
        st.page_link("tradeoffs.py", label="Go to Tradeoffs", icon=":material/balance:")
    shown = table(rows)
    linked = [key for key in st.query_params.get("runs", "").split(",") if key][:MOST_COMPARED]
    picked: list[str] = []
    if rows:
        st.caption(
            f"{total:,} run{'s' * (total != 1)}"
            + (f", the latest {len(rows)} of them below" if total > len(rows) else "")
            + f". Tick up to {MOST_COMPARED} to compare."
        )
        event = st.dataframe(
            shown,
            hide_index=True,
            width="stretch",
            height=min(38 + 35 * len(shown), 420),
            on_select="rerun",
            selection_mode="multi-row",
            key=f"runs-table-{hash(tuple(row['key'] for row in rows))}",  # row numbers are picked: with other rows, begin anew
            alt=f"The latest {len(rows)} of {total:,} kept runs.",
            column_config={
                "result": st.column_config.NumberColumn(format="%.4f"),
                "best trivial": st.column_config.NumberColumn(format="%.4f"),
            },
        )
        picked = [rows[k]["key"] for k in event["selection"]["rows"] if k < len(rows)]
        if len(picked) > MOST_COMPARED:
            st.warning(
                f"{len(picked)} runs are ticked; the first {MOST_COMPARED} are compared, and only those can be deleted here. "
                "To delete many use the command line: python -m dpmc_core runs delete.",
                icon=":material/checklist:",
            )
            picked = picked[:MOST_COMPARED]
    ticked = bool(st.session_state.get("runs-ticked"))
    if picked or ticked:  # with the last tick taken away nothing is compared
        st.session_state["runs-ticked"] = bool(picked)
        st.query_params["runs"] = ",".join(picked)
        linked = []
        if not picked:
            st.query_params.pop("runs", None)
    keys = picked or linked
    found = store.find(keys)
    missing = [key for key in keys if key not in found]
    if missing:
        st.warning(
            controls.plain(
                f"{len(missing)} run{'s' * (len(missing) != 1)} of this link {'are' if len(missing) != 1 else 'is'} not in the store: deleted, or of another store."
            ),
            icon=":material/link_off:",
        )
    records = [found[key] for key in keys if key in found]
    runs_view.picture(rows)
    if records:
        runs_view.compare(records)
        st.download_button(
            "These runs whole: steps, ledgers, statements (JSON)",
            data=lambda: json.dumps([r.summary for r in records], indent=1),
            file_name="dpmc-runs.json",
            mime="application/json",
            on_click="ignore",
            icon=":material/download:",
        )
        if settings.of("DPMC_DELETE_RUNS"):
            deleting(tuple(r.key for r in records))
    if total:
        export(store, where, total)


main()
controls.link_problems()
