"""Completion: ratings filled in and items recommended, with and without noise, run live."""

import streamlit as st

from pages.parts.completion import panels
from pages.parts.completion.asked import form
from pages.parts.completion.controls import LINK_TITLES
from pages.parts.completion.introduction import chosen_by_rule, introduction
from pages.parts.completion.user_controls import USER_TITLES
from pages.parts.ui import controls, glossary

controls.on_page("completion.py", LINK_TITLES | USER_TITLES)
with st.sidebar:
    asked = form()

glossary.title("What does noise cost a recommender?", "completion")
with controls.place():
    introduction(asked.protect, asked.question)
problems = st.container()  # filled last, when every control has been drawn
built = asked.build()
with controls.place():
    if not asked.known.present():
        st.page_link("datasets.py", label="Go to the Datasets page", icon=":material/database:")
    if asked.question != "skew" and not asked.is_study:
        chosen_by_rule(asked.protect, built.specs)

if asked.question == "compare":
    panels.compare(asked.protect, built)
elif asked.question == "recommend":
    panels.recommend(built)
elif asked.question == "lists":
    panels.lists(built)
elif asked.question == "skew":
    panels.skewed(asked, built)
else:
    panels.studied(asked.question, built)

with problems:
    controls.link_problems()
