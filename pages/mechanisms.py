"""Mechanisms: what each noise distribution protects at equal variance or equal ε."""

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms import Huber
from pages.parts.frame.page import control, head, observations, pair, tab, verdict
from pages.parts.mechanisms import sections, texts
from pages.parts.mechanisms.controls import LINK_TITLES, form
from pages.parts.ui import controls

head("mechanisms", LINK_TITLES)
row = control()
with row:
    request = form()
controls.link_problems()
try:
    mechanisms = request.build()
except DPMCError as error:
    controls.show_error(error)
    st.stop()
sensitivity, delta = request.sensitivity, request.delta
huber = next(m for m in mechanisms if isinstance(m, Huber))

with row:
    sections.follow(request)
verdict(texts.verdict(mechanisms, request))
left, right = pair()
with left:
    sections.shapes(mechanisms, request.view)
with right:
    sections.variance(huber)
observations(texts.observations(mechanisms, sensitivity, delta))
sections.lines(mechanisms, sensitivity, delta)
tab("One release", "cards", lambda: sections.cards(mechanisms, sensitivity, delta))
tab("Samples", "variance", lambda: sections.sampled(huber, request.samples, request.seed))
tab("Attacker", "tradeoff-function", lambda: sections.attackers(mechanisms, sensitivity))
tab("Privacy loss and δ", "loss", lambda: sections.losses(mechanisms, huber, sensitivity, delta))
tab("The paper's Table 1", "table-1", sections.table_1)
tab("Formulas", "formulas", sections.formulas)
