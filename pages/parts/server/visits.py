"""A visit goes on when its tab is loaded again: its jobs, its own data and its answers.

A tab knows its visit by a token that nobody can guess (``browser.js``), and shows it as it connects
again, as a cookie of that connection alone (``layers.early``).
"""

import secrets
from collections.abc import Callable

import streamlit as st
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, get_script_run_ctx

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
    token: str = state[COOKIE]
    jobs.visit_box().token = token  # each time: the jobs may have been let go meanwhile
    return token


def end_of_script() -> None:
    """Note what the visit has besides jobs: it would end with Streamlit's session."""
    state = st.session_state
    jobs.visit_box().belongings = {name: state[name] for name in _KEPT if name in state}


def waker() -> Callable[[float], None]:
    """Return what has the fragment that calls it drawn again, after some seconds, from whatever
    thread; for news from others, which no visit need ask for over and over.

    By the message that a browser would send (Streamlit has no call for it).
    """
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda _: None
    serving, session, message = runtime.get_instance(), context.session_id, BackMsg()
    message.rerun_script.query_string = context.query_string
    message.rerun_script.page_script_hash = context.page_script_hash
    message.rerun_script.fragment_id = ThreadState.get().fragment_id or ""
    message.rerun_script.is_auto_rerun = True
    loop = serving._get_async_objs().eventloop

    def wake(after: float) -> None:
        loop.call_soon_threadsafe(
            lambda: loop.call_later(after, serving.handle_backmsg, session, message)
        )

    return wake
