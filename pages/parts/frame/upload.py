"""A file that a visitor brings, and what is made of it: each remembered for the visit."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpmc_core.errors import DataError, DPMCError, ParameterError
from pages.parts.server.sandbox import TooMuchError
from pages.parts.ui.controls import plain

OF_THE_FILE = (DataError, ParameterError, TooMuchError)  # not: the lab is too busy


def ask_for_file(
    label: str, ending: str, most: int, prefix: str, result_key: str, hint: str | None = None
) -> tuple[str, bytes] | None:
    """Ask for a file of at most ``most`` bytes: its name and content, until it is forgotten.

    ``prefix`` begins the keys of the widgets. What ``result_key`` names in the session was made of
    the file, and is forgotten with it: a file that is brought again is tried again.
    """
    widget, file_key = f"{prefix}_file", f"{prefix}_brought"

    def remember(*, nothing: bool = False) -> None:
        # beside the widget, which forgets it when the page is left
        given = None if nothing else st.session_state[widget]
        st.session_state[file_key] = None if given is None else (given.name, given.getvalue())
        st.session_state.pop(result_key, None)

    st.file_uploader(
        label,
        type=[ending],
        max_upload_size=most // 1_000_000,
        key=widget,
        help=hint,
        on_change=remember,
    )
    brought: tuple[str, bytes] | None = st.session_state.get(file_key)
    if brought is not None:
        st.button(
            f"Forget {plain(brought[0])}",
            icon=":material/delete:",
            key=f"{prefix}_forget",
            on_click=remember,
            kwargs={"nothing": True},
        )
    return brought


def once(key: str, request: Any, doing: str, make: Callable[[], Any]) -> Any:
    """What ``make`` returns for ``request``, or refuses: made once, while ``doing`` is said.

    Raises ``DPMCError``.
    """
    answer = st.session_state.get(key)
    if answer is None or answer[0] != request:
        with st.spinner(doing):
            try:
                answer = (request, make())
            except OF_THE_FILE as error:
                answer = (request, error)
        st.session_state[key] = answer
    if isinstance(answer[1], DPMCError):
        raise answer[1].with_traceback(None)
    return answer[1]
