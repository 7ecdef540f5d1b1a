"""Mechanisms: what each noise distribution protects at equal variance or equal ε."""

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms import Huber
from pages.parts.frame.page import control, fold, head, observations, verdict
from pages.parts.mechanisms import sections, texts
from pages.parts.mechanisms.controls import LINK_TITLES, alpha_slider, form
from pages.parts.ui import controls

controls.on_page("mechanisms.py", LINK_TITLES)
head("mechanisms")
with control():
    alpha = alpha_slider()
with st.sidebar:
    asked = form(alpha)
controls.link_problems()
try:
    mechanisms = asked.build()
except DPMCError as error:
    controls.show_error(error)
    st.stop()
sensitivity, delta = asked.sensitivity, asked.delta
huber = next(m for m in mechanisms if isinstance(m, Huber))

verdict(texts.verdict(mechanisms, asked))
sections.shapes(mechanisms, asked.view, sensitivity)
observations(texts.observations(mechanisms, sensitivity, delta))
sections.lines(mechanisms, sensitivity, delta)
fold(
    "What one release costs, by mechanism",
    "cards",
    lambda: sections.cards(mechanisms, sensitivity, delta),
)
fold(
    "What an attacker can find (trade-off function)",
    "tradeoff-function",
    lambda: sections.attackers(mechanisms, sensitivity),
)
fold(
    "Variance against α, and samples",
    "variance",
    lambda: sections.variances(huber, asked.samples, asked.seed),
)
fold(
    "Privacy loss, and failure probability δ against ε",
    "loss",
    lambda: sections.losses(mechanisms, huber, sensitivity, delta),
)
fold("Table 1 of the Huber paper, recomputed", "table-1", sections.table_1)
fold("What is compared", "introduction", sections.introduction)
fold("Formulas", "formulas", sections.formulas)
