"""How a statement was counted, account by account."""

import math

import streamlit as st

from dpmc_core.privacy import Account, Statement
from dpmc_core.wording import three
from pages.parts.ui.bullet_list import points


def counted(statement: Statement) -> None:
    """The other ways of counting, and what the count covers or leaves out, each in a popover."""
    with st.popover("Other accounting methods", icon=":material/calculate:"):
        points(map(_counted_by, statement.accounts))
        st.page_link(
            "budget.py", label="More on the Budget page", icon=":material/account_balance_wallet:"
        )
    with st.popover(
        "What this leaves out" if statement.nominal else "What this covers",
        icon=":material/warning:",
    ):
        points(statement.caveats)


def _counted_by(answer: Account) -> str:
    value = "does not apply" if math.isinf(answer.epsilon) else f"ε = {three(answer.epsilon)}"
    proof = "" if answer.published else " (rests on this project's own proof, not peer-reviewed)"
    return f"**{answer.title}**: {value}{proof}. {answer.how}"
