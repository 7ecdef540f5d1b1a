"""Page configuration, navigation, and the frame around every page."""

from pathlib import Path

import streamlit as st

from pages.parts.server import loading

loading.done()
from dpmc_core.errors import ParameterError  # noqa: E402
from pages.parts.lessons import lessons  # noqa: E402
from pages.parts.server import settings  # noqa: E402
from pages.parts.server.layers import edge  # noqa: E402
from pages.parts.server.warm import warm  # noqa: E402
from pages.parts.ui import share  # noqa: E402
from pages.parts.ui.glossary import PAGES  # noqa: E402

embedded = st.context.is_embedded
st.set_page_config(
    page_title="DPMC Lab",
    # a file of ours: Streamlit has browsers fetch named icons from a third party
    page_icon=str(Path(__file__).parent / "icon.svg"),
    layout="wide",
    initial_sidebar_state="collapsed" if embedded else "auto",  # embedded: the figure first
    menu_items={
        "About": "DPMC Lab: differential privacy in matrix completion, live and honestly counted."
    },
)
page = st.navigation(
    [
        st.Page(
            f"{name}.py",
            title=known.title,
            icon=f":material/{known.icon}:",
            default=name == "home",
            help=known.help,
        )
        for name, known in PAGES.items()
    ],
    position="hidden" if embedded else "sidebar",
)
# whoever asked their system for less motion gets none
st.html(
    "<style>@media (prefers-reduced-motion: reduce) "
    "{*, *::before, *::after {animation: none !important; transition: none !important;}}</style>"
)
try:
    settings.check()
except ParameterError as error:
    st.error(f"The lab is not set up right: {error}", icon=":material/settings:")
    st.stop()
lessons.bar()
page.run()
share.bar(framed_elsewhere=page.url_path not in edge.NEVER_FRAMED and bool(settings.framers()))
warm()  # last: the first visitor sees a page before all others are made quick
