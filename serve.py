"""The server: the app, what is loaded before anybody asks, and how much is taken on. Run with ``streamlit run serve.py``.

Lives here: the start of the process. ``streamlit run app.py`` serves the same pages (Streamlit Community Cloud needs no more), but its first visitor waits for the code to be loaded, and nobody counts visits and uploads. Does not live here: pages and what stands around
them (``app.py``), or what is prepared once there are visitors (``app_pages.parts.warm``).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware

from app_pages.parts import gate, loading


@asynccontextmanager
async def beginning(_: object) -> AsyncIterator[None]:
    """Load the code of the first page while the first browser loads Streamlit's."""
    loading.begin()
    yield


app = st.App("app.py", lifespan=beginning, middleware=[Middleware(gate.Gate)])
