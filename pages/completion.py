"""Completion: ratings filled in and items recommended, with and without noise, run live."""

import streamlit as st

from pages.parts.completion import compare_view, recommend_view, study_view
from pages.parts.completion.controls import LINK_TITLES, USER_TITLES, form
from pages.parts.completion.texts import introduction
from pages.parts.frame.page import control, head, tab
from pages.parts.ui import controls

head("completion", {**LINK_TITLES, **USER_TITLES})
row = control()
request = form(row)
built = request.build()
with controls.place():
    if not request.dataset_entry.present():
        st.page_link("datasets.py", label="Go to the Datasets page", icon=":material/database:")

if request.question == "compare":
    compare_view.compare(request, built, row)
elif request.question == "recommend":
    recommend_view.recommend(built, row)
elif request.question == "lists":
    recommend_view.lists_at_each_epsilon(built, row)
elif request.question == "skew":
    study_view.skewed(request, built)
else:
    study_view.STUDY.panel(request.question, built, row)
tab("What is compared", "introduction", lambda: introduction(request.question, built.specs))
