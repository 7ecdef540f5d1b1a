"""Factorization: parts and topics with and without privacy, run live; and what privacy costs."""

import streamlit as st

from pages.parts.factorization import panels
from pages.parts.factorization.asked import form
from pages.parts.factorization.controls import FACTOR_TITLES
from pages.parts.ui import controls, glossary

controls.on_page("factorization.py", FACTOR_TITLES)
with st.sidebar:
    asked = form()

glossary.title("Can faces and topics be learned in private?", "factorization")
with controls.place():
    panels.introduction(asked)
problems = st.container()  # filled last, when every control has been drawn
built = asked.build()
with controls.place():
    if not asked.known.present():
        st.page_link("datasets.py", label="Go to the Datasets page", icon=":material/database:")
if asked.question == "compare":
    panels.compare(asked, built)
else:
    panels.studied(asked.question, built)

with problems:
    controls.link_problems()
