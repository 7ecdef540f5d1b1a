"""Mechanisms: each noise family's densities, samples and privacy, and Table 1 re-computed."""

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms import Huber
from pages.parts.mechanisms import sections, texts
from pages.parts.mechanisms.controls import LINK_TITLES, form, view
from pages.parts.ui import controls, glossary
from pages.parts.ui.bullet_list import notice

controls.on_page("mechanisms.py", LINK_TITLES)
with st.sidebar:
    asked = form()

glossary.title("Which noise, and how much?", "mechanisms")
st.markdown(
    "A curator adds noise to a number before publishing it. Four families compete: **Laplace** "
    "and **Huber** give a bound ε that never fails, **Gaussian** one that may fail with a small "
    "probability δ, **staircase** the least variance for one ε."
)
controls.link_problems()
try:
    mechanisms = asked.build()
except DPMCError as error:
    st.error(controls.plain(str(error)))
    st.stop()

sections.shapes(mechanisms, view())
notice(texts.notice_mechanisms(mechanisms, asked.sensitivity, asked.delta))
sections.cards(mechanisms, asked.sensitivity, asked.delta)
sections.attackers(mechanisms, asked.sensitivity)
st.page_link(
    "budget.py", label="What many releases add up to", icon=":material/account_balance_wallet:"
)

huber = next(m for m in mechanisms if isinstance(m, Huber))
sections.variances(huber, asked.samples, asked.seed)
sections.losses(mechanisms, huber, asked.sensitivity, asked.delta)
sections.table_1()
sections.formulas()
