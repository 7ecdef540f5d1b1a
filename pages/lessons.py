"""Lessons: guided paths over the live pages, their summaries, and a page for lecturers."""

import streamlit as st

from pages.parts.frame.page import control, head, tab, verdict
from pages.parts.lessons import overview
from pages.parts.lessons.lessons import lessons
from pages.parts.ui import controls, glossary

VIEWS = {"learn": "Take a lesson", "teach": "Teach a class"}

head("lessons", {"l_view": VIEWS})
with control():
    view = controls.segments("View", "l_view", VIEWS, "learn", label_visibility="collapsed")
done = lessons().get(st.query_params.get("done", ""))
if done is not None and view == "learn":
    overview.summary(done)
elif view == "teach":
    overview.agenda()
else:
    verdict("Three lessons of 10 to 15 minutes: each step opens a page and asks one question.")
    overview.cards()
overview.curve()
tab("Notebooks", "notebooks", overview.offer)
tab("Glossary", "glossary", glossary.all_words)
