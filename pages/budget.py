"""Budget: what many releases add up to by every accounting method, and what a budget asks for."""

import streamlit as st

from dpmc_core.errors import DPMCError
from pages.parts.budget import ledger_files, sections
from pages.parts.budget.controls import LINK_TITLES, form
from pages.parts.ui import controls, glossary

controls.on_page("budget.py", LINK_TITLES)
with st.sidebar:
    asked = form()

glossary.title("What does a whole run spend?", "budget")
st.markdown(
    "One noisy answer costs some privacy, **ε**. An algorithm gives many answers, and the costs "
    "add up: less than one by one, if one counts well. Here every counting method that holds is "
    "applied to the same releases."
)
controls.link_problems()
try:
    counts = sections.count(asked)
except DPMCError as error:
    st.error(controls.plain(str(error)))
    st.stop()
shapes = asked.shapes()

sections.composition(counts)
sections.statements(counts)
sections.attackers(counts)
sections.methods(counts)
sections.price_and_need(counts, shapes)
sections.least_noise(counts, shapes)
sections.findings(counts)
ledger_files.upload(asked.delta)
ledger_files.export(counts)
