"""Home: what is protected, ε in odds, three densities, and one picture that degrades."""

import streamlit as st

from pages.parts.home import sections
from pages.parts.home.controls import LINK_TITLES, form
from pages.parts.ui import controls, glossary

controls.on_page("home.py", LINK_TITLES)
with st.sidebar:
    asked = form()

glossary.title("How much noise hides one person?", "home")
st.markdown(
    "People rate films; a service learns from the ratings and publishes what it learned. "
    "**Differential privacy** adds noise, so that what is published says little about whether "
    "*you* were in the data: how little, the odds below bound. The noise has a price: the "
    "picture below degrades. Move **ε** in the sidebar and watch both."
)
controls.link_problems()

sections.odds(asked.epsilon)
sections.picture_that_degrades(asked)
sections.noises(asked.epsilon)
st.page_link(
    "lessons.py", label="New here? Take a guided path of ten minutes", icon=":material/school:"
)
st.subheader("Try this", anchor=False)
st.markdown(
    "- Pull ε from 10 down to 0.1: at which ε does the completed matrix stop looking like the "
    "truth, and does it still beat the baseline?\n"
    "- Press *Draw again*: how much of what you see is luck?\n"
    "- Copy the address of this page: it holds every setting, the seed included."
)
sections.invitations()
st.caption(
    "The noise here comes from a teaching sampler: exact in theory, but floating-point numbers "
    "can leak through their last digits (Mironov 2012). Do not publish numbers about real "
    "people with it."
)
