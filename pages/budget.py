"""Budget: what many releases cost together, and how much noise a budget needs."""

import streamlit as st

from dpmc_core.errors import DPMCError
from pages.parts.budget import ledger_files, sections, stories
from pages.parts.budget.controls import LINK_TITLES, form, releases
from pages.parts.frame.page import control, fold, head, observations, verdict
from pages.parts.ui import controls

controls.on_page("budget.py", LINK_TITLES)
head("budget")
with control():
    run, count = releases()
with st.sidebar:
    asked = form(run, count)
controls.link_problems()
try:
    counts = sections.count(asked)
except DPMCError as error:
    controls.show_error(error)
    st.stop()
shapes = asked.shapes()

verdict(sections.verdict(counts))
sections.composition(counts)
said = stories.observations(counts.statements, counts.mechanisms, asked.sensitivity)
observations([*said, *filter(None, [sections.unreviewed(counts)])])
sections.lines(counts)
fold("How this was computed", "method", lambda: sections.method(counts))
fold("What each mechanism protects", "statements", lambda: sections.statements(counts))
fold(
    "What an attacker can find (trade-off function)",
    "tradeoff-function",
    lambda: sections.attackers(counts),
)
fold("Every accounting method, same releases", "methods", lambda: sections.methods(counts))
fold("Least noise for a budget", "least-noise", lambda: sections.least_noise(counts, shapes))
fold("Price of a mechanism's shape", "price", lambda: sections.price_and_need(counts, shapes))
fold("Where the papers account differently", "findings", lambda: sections.findings(counts))
fold("A ledger file of yours", "own-ledger", lambda: ledger_files.upload(asked.delta))
fold("Export", "export", lambda: ledger_files.export(counts), icon=":material/download:")
