"""The one entry: ``streamlit run app.py`` starts the server around ``pages/main.py``.

An ASGI entry, so that code is loaded before the first visitor asks, visits and uploads have
limits, browsers are told what the app may load and who may frame it, scripts go out compressed, and
Streamlit does not take the folder ``pages/`` for its legacy multipage mode.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import streamlit as st
from starlette.middleware import Middleware
from streamlit import runtime

from dpmc_core.errors import ParameterError
from pages.parts.server import loading, queue, warm
from pages.parts.server.layers import compressed, early, edge, gate, icons, messages, on_request

# what the frame and Home import, and with it nearly all of the core
FIRST = ("pages.parts.lessons.lessons", "pages.parts.frame.share", "pages.parts.home")

_START = 60.0  # seconds in which a server loads and makes what most will ask for


@asynccontextmanager
async def start(_: object) -> AsyncIterator[None]:
    """Load the code of the first page, and of the processes that compute, while the first browser
    loads Streamlit's.
    """
    warm.few_arenas()
    on_request.hold_made_files(runtime.get_instance().media_file_mgr)
    with suppress(ParameterError):  # of a setting: the page says so
        queue.job_pool().start_workers()
    compressed.hold_back(_START)
    loading.begin(FIRST, warm.warm)
    yield


LAYERS = [
    Middleware(layer)
    for layer in (
        gate.Ready,
        edge.Edge,
        gate.Gate,
        messages.Messages,
        early.Early,
        icons.Icons,
        compressed.Compressed,
        on_request.Ahead,
    )
]
app = st.App("pages/main.py", lifespan=start, middleware=LAYERS)
