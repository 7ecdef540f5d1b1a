"""What to take away from factorisations: results, ledgers and parts as files, and commands."""

import json
from functools import partial

import pandas as pd
import streamlit as st

from dpmc_core.experiments import FactorResult
from dpmc_core.wording import csv_text, finite
from pages.parts.factorization.charts import Learned

__all__ = ["export"]


def _ledger(result: FactorResult) -> str:
    return json.dumps(result.ledger.as_dict(), indent=1)


def _parts_csv(result: FactorResult) -> str:
    words = list(result.clean.words) or None
    return csv_text(pd.DataFrame(result.dictionary, index=words), index=True)


def export(items: list[Learned]) -> None:
    """Offer downloads, and the same runs elsewhere."""
    st.download_button(
        "Results with ledgers (JSON)",
        data=lambda: json.dumps([finite(i.result.summary()) for i in items], indent=1),
        file_name="dpmc-factors.json",
        mime="application/json",
        on_click="ignore",
    )
    for item in items:
        algorithm = item.result.spec.card.name
        if item.result.ledger.private:
            st.download_button(
                f"Ledger of {item.name} (JSON)",
                data=partial(_ledger, item.result),
                file_name=f"dpmc-ledger-{algorithm}.json",
                mime="application/json",
                key=f"ledger-{algorithm}",
                on_click="ignore",
            )
        st.download_button(
            f"Parts of {item.name} (CSV)",
            data=partial(_parts_csv, item.result),
            file_name=f"dpmc-parts-{algorithm}.csv",
            mime="text/csv",
            key=f"parts-csv-{algorithm}",
            on_click="ignore",
        )
    for item in items:
        st.markdown(f"**{item.name}** on the command line, and in Python:")
        st.code(item.result.spec.command(), language="bash", wrap_lines=True)
        st.code(item.result.spec.python(), language="python", wrap_lines=True)
