"""What to take away from factorisations: results, ledgers and parts as files, and commands."""

from functools import partial

import pandas as pd
import streamlit as st

from dpmc_core.experiments import FactorResult
from dpmc_core.wording import csv_text, finite
from pages.parts.factorization.charts import Learned
from pages.parts.ui.on_screen import code, download


def _parts_csv(result: FactorResult) -> str:
    words = list(result.clean.words) or None
    return csv_text(pd.DataFrame(result.dictionary, index=words), index=True)


def export(items: list[Learned]) -> None:
    """Offer downloads, and the same runs elsewhere."""
    download(
        "Results with ledgers (JSON)",
        "dpmc-factors.json",
        lambda: [finite(i.result.summary()) for i in items],
    )
    for item in items:
        algorithm = item.result.spec.card.name
        if item.result.ledger.private:
            download(
                f"Ledger of {item.name} (JSON)",
                f"dpmc-ledger-{algorithm}.json",
                item.result.ledger.as_dict,
                key=f"ledger-{algorithm}",
            )
        download(
            f"Parts of {item.name} (CSV)",
            f"dpmc-parts-{algorithm}.csv",
            partial(_parts_csv, item.result),
            key=f"parts-csv-{algorithm}",
        )
    for item in items:
        st.markdown(f"**{item.name}** on the command line, and in Python:")
        code(item.result.spec.command(), "bash")
        code(item.result.spec.python(), "python")
