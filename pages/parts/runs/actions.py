"""What the *Runs* page does with kept runs: files to take away, and deleting."""

from collections.abc import Sequence
from io import BytesIO

import pandas as pd
import streamlit as st

from dpmc_core.experiments.store.records import Record
from dpmc_core.experiments.store.store import RunStore
from pages.parts.server import run_store, settings
from pages.parts.ui.on_screen import download


def take_all(store: RunStore, where: dict[str, tuple[str, ...]]) -> None:
    """Offer all filtered runs as files."""

    def parquet() -> bytes:
        buffer = BytesIO()
        pd.DataFrame(store.rows(where)).to_parquet(buffer, index=False)
        return buffer.getvalue()

    download("Rows (CSV)", "dpmc-runs.csv", lambda: pd.DataFrame(store.rows(where)))
    download("Rows (Parquet)", "dpmc-runs.parquet", parquet)
    st.caption(
        "Every row holds its whole spec as JSON, so that it can be run again. Steps, ledger "
        "and statement of single runs: pick them above."
    )


def of_compared(records: Sequence[Record]) -> None:
    """Offer the compared runs as a file, and to delete them where that is allowed."""
    download(
        "These runs whole: steps, ledgers, statements (JSON)",
        "dpmc-runs.json",
        lambda: [r.summary for r in records],
        icon=":material/download:",
    )
    if settings.of("DPMC_DELETE_RUNS"):
        _deleting(tuple(r.key for r in records))


def _deleting(keys: tuple[str, ...]) -> None:
    """Delete the picked runs, after a second press."""
    with st.popover(f"Delete {len(keys)} run{'s' * (len(keys) != 1)}…", icon=":material/delete:"):
        st.markdown(
            "They are gone for everybody who uses this store, and cannot be brought back. "
            "Running their specs again gives the same numbers."
        )
        st.button("Yes, delete", key="delete-runs", on_click=_forget, args=(keys,))


def _forget(keys: tuple[str, ...]) -> None:
    """Delete the runs that the visitor saw when pressing, whatever was added since."""
    gone = run_store.store().delete(keys)
    st.query_params.pop("runs", None)
    st.session_state["runs-note"] = f"{gone} run{'s were' if gone != 1 else ' was'} deleted."
