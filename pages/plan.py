"""Plan: the least ε, the fewest people or the best mechanism for an accuracy."""

import streamlit as st

from dpmc_core.errors import DPMCError
from pages.parts.frame.page import control, fold, head, observations, verdict
from pages.parts.plan import sections
from pages.parts.plan.controls import LINK_TITLES, form, goal
from pages.parts.ui import controls, on_screen

controls.on_page("plan.py", LINK_TITLES)
head("plan")
with control():
    target = goal()
try:
    with st.sidebar:
        spec = form(target)
    controls.link_problems()
    made = sections.answer(spec)
except DPMCError as error:
    verdict("This cannot be planned.")
    st.error(controls.plain(str(error)))
    st.stop()

verdict(made.sentence)
sections.figure(made)
on_screen.add_lines("The same plan", made.spec.python())
observations(sections.notes(made))
fold("All mechanisms side by side", "mechanisms", lambda: sections.mechanisms(made))
fold(
    "What an attacker can find (trade-off function)",
    "tradeoff-function",
    lambda: sections.attackers(made),
)
fold("How this was computed", "method", lambda: sections.method(made))
fold("Export", "export", lambda: sections.export(made), icon=":material/download:")
