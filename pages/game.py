"""Game: is Alice in the data? Guesses from one output at a time, and what ε allows."""

from functools import partial

import streamlit as st

from pages.parts.audit import game
from pages.parts.audit.attacked import two_datasets
from pages.parts.audit.controls import LINK_TITLES, build, form
from pages.parts.frame.page import control, head, pair, tab, verdict
from pages.parts.ui import controls

head("game", LINK_TITLES)
fields = form(control(), game=True)
controls.link_problems()
spec, problem = build(fields)
if spec is None:
    controls.show_error(problem)
    st.stop()
rounds = game.rounds_of(spec)

verdict(game.verdict(rounds))
left, right = pair()
with left:
    game.play(rounds)
with right:
    game.chart(rounds)
tab("Your score", "score", partial(game.score, rounds))
tab("What is published", "published", partial(two_datasets, spec))
