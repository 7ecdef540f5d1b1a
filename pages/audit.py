"""Audit: attack a release with and without Alice, and play against it."""

import streamlit as st

from pages.parts.audit import game, own_outputs
from pages.parts.audit.attack import attack
from pages.parts.audit.attacked import two_datasets
from pages.parts.audit.controls import LINK_TITLES, form
from pages.parts.server import jobs
from pages.parts.ui import controls, glossary

controls.on_page("audit.py", LINK_TITLES)
with st.sidebar:
    asked = form()

glossary.title("Can an attacker tell whether Alice is in?", "audit")
st.markdown(
    "Two datasets differ only in Alice. The attacker sees what is published from one of them, "
    "many times over, and learns to tell them apart. How well that works on fresh outputs "
    "*proves* a lower bound on ε: if a claim is below it, the claim is wrong."
)
problems = st.container()  # filled last, when every control has been drawn
built = asked.build()
with controls.place():
    if built.problem:
        st.error(controls.plain(built.problem), icon=":material/error:")
    two_datasets(asked.fields, unfolded=jobs.current("audit") is None)
attack(built)
if built.spec is not None and not built.spec.searches and not built.spec.dataset:
    game.play(built.spec)
own_outputs.audit_yours()

with problems:
    controls.link_problems()
