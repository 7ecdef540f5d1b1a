"""The server: the app, and what is loaded before anybody asks. Run with ``streamlit run serve.py``.

Lives here: the start of the process. ``streamlit run app.py`` serves the same pages (Streamlit Community Cloud needs no more), but its first visitor waits for the code to be loaded. Does not live here: pages and what stands around
them (``app.py``), or what is prepared once there are visitors (``app_pages.parts.warm``).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st

from app_pages.parts import loading


@asynccontextmanager
async def beginning(_: object) -> AsyncIterator[None]:
    """Load the code of the first page while the first browser loads Streamlit's."""
    loading.begin()
    yield


app = st.App("app.py", lifespan=beginning)
