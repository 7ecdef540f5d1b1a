"""Budget: what many releases cost together, and how much noise a budget needs."""

import streamlit as st

from dpmc_core.errors import DPMCError
from pages.parts.budget import sections, stories
from pages.parts.budget.controls import LINK_TITLES, form
from pages.parts.frame.page import control, head, observations, tab, verdict
from pages.parts.ui import controls, deployments

head("budget", LINK_TITLES)
row = control()
with row:
    question = form()
controls.link_problems()
try:
    with row:
        sections.follow(question)
    with st.spinner("Composing the privacy losses…"):
        counts = sections.count(question)
except DPMCError as error:
    controls.show_error(error)
    st.stop()
shapes = question.shapes()

verdict(sections.verdict(counts))
sections.composition(counts)
sentences = stories.observations(counts.statements, counts.mechanisms, question.sensitivity)
observations([*sentences, *filter(None, [sections.unreviewed(counts)])])
sections.lines(counts)
tab("Protection", "statements", lambda: sections.statements(counts))
tab("Attacker", "tradeoff-function", lambda: sections.attackers(counts))
tab("Groups, post-processing", "carried-over", lambda: sections.carried_over(counts))
if question.run == "own":
    tab("Sub-sampling", "sub-sampling", lambda: sections.sampling(counts))
tab("Best of several runs", "choice", lambda: sections.choice(counts))
tab("Accounting methods", "methods", lambda: sections.methods(counts))
tab("Method", "method", lambda: sections.method(counts))
tab("Least noise", "least-noise", lambda: sections.least_noise(counts, shapes))
tab("Price of a shape", "price", lambda: sections.price_and_need(counts, shapes))
tab("Papers' accounting", "findings", lambda: sections.findings(counts))
tab("ε in use", "in-use", lambda: deployments.draw(counts.statements[0].epsilon))
tab("Your ledger file", "own-ledger", lambda: sections.upload(question.delta))
tab("Export", "export", lambda: sections.export(counts))
