"""A visit goes on when its tab is loaded again: its jobs, its own data and its answers.

A tab knows its visit by a token that nobody can guess (``browser.js``), and shows it as it connects
again, as a cookie of that connection alone (``layers.early``).
"""

import secrets

import streamlit as st

from pages.parts.server import jobs, user_data
from pages.parts.server.layers.early import COOKIE

_KEPT = (*user_data.KEYS, "lesson-answers", "audit-game")


def begin() -> str:
    """Go on with the visit whose token the tab shows, which stays its token: a tab may be loaded
    again before it has learned another. Return the token.
    """
    state = st.session_state
    if COOKIE not in state:
        shown = st.context.cookies.get(COOKIE, "")
        belongings = jobs.take_over(shown)
        state.update(belongings or {})
        state[COOKIE] = secrets.token_urlsafe(16) if belongings is None else shown
    return jobs.token_of_visit(state[COOKIE])  # each time: the jobs may have been let go meanwhile


def end_of_script() -> None:
    """Note what the visit has besides jobs: it would end with Streamlit's session."""
    state = st.session_state
    jobs.note_belongings({name: state[name] for name in _KEPT if name in state})
