"""Factorization: parts and topics with and without privacy, run live; and what privacy costs."""

import streamlit as st

from pages.parts.factorization import study_view, view
from pages.parts.factorization.controls import FACTOR_TITLES, form
from pages.parts.frame.page import control, head, tab
from pages.parts.ui import controls

head("factorization", FACTOR_TITLES)
row = control()
request = form(row)
built = request.build()
with controls.place():
    if not request.dataset_entry.present():
        st.page_link("datasets.py", label="Go to the Datasets page", icon=":material/database:")
if request.question == "compare":
    view.compare(request, built, row)
else:
    study_view.STUDY.panel(request.question, built, row)
tab("What is compared", "introduction", lambda: view.introduction(request))
