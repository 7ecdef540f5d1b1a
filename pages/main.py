"""Page configuration, navigation, and the frame around every page."""

from pathlib import Path

import streamlit as st

from pages.parts.server import loading

loading.done()
from dpmc_core.errors import ParameterError  # noqa: E402
from pages.parts.frame import presenter, share  # noqa: E402
from pages.parts.frame.page import tabs  # noqa: E402
from pages.parts.lessons import lessons  # noqa: E402
from pages.parts.server import settings, visits  # noqa: E402
from pages.parts.server.layers import edge  # noqa: E402
from pages.parts.server.warm import warm  # noqa: E402
from pages.parts.ui import glossary, links, on_screen  # noqa: E402
from pages.parts.ui.glossary import PAGES  # noqa: E402

_HERE = Path(__file__).parent
_STYLES = _HERE / "parts" / "frame"
embedded = st.context.is_embedded
bad_modes = on_screen.follow_address()
presenting = on_screen.presenting()
# files of ours: Streamlit has browsers fetch named icons from a third party
st.set_page_config(
    page_icon=str(_HERE / "icon.svg"),
    layout="wide",
    initial_sidebar_state="collapsed" if embedded else 240,  # embedded: the figure first
    menu_items={
        "About": "DPMC Lab: differential privacy in matrix completion, live, with exact accounting."
    },
)
page = st.navigation(
    [
        st.Page(
            f"{name}.py",
            title=entry.title,
            icon=f":material/{entry.icon}:",
            default=name == "home",
            help=entry.help,
        )
        for name, entry in PAGES.items()
    ],
    position="hidden" if embedded or presenting else "sidebar",
    expanded=True,
)
st.set_page_config(page_title=f"{page.title} · DPMC Lab")
if not embedded:
    dark = st.context.theme.type == "dark"
    st.logo(str(_HERE / ("logo-dark.svg" if dark else "logo.svg")), size="large")
st.html(_STYLES / "style.css")
st.html(glossary.groups_style())
st.html(
    f'<span class="dpmc-visit" data-token="{visits.begin()}"></span><script>{edge.SCRIPT}</script>',
    unsafe_allow_javascript=True,
)
if presenting:
    st.html(_STYLES / "presenter.css")
for value in bad_modes:
    st.warning(
        f"From the address: '{links.plain(value[:40])}' is not allowed here: it must be true or "
        "false.",
        icon=":material/link_off:",
    )
try:
    settings.check()
except ParameterError as error:
    st.error(f"The lab is not set up right: {error}", icon=":material/settings:")
    st.stop()
presenter.begin_page()
on_screen.hold_verdict(False)
lesson = lessons.from_address()
if lesson is None:
    page.run()
    tabs()
else:
    st.html(_STYLES / "lesson.css")
    beside, shown = st.columns([2, 5])
    with beside:
        lessons.box(*lesson)
    with shown:
        page.run()
        tabs()
if presenting:
    presenter.bar()
if not embedded:
    share.bar(framed_elsewhere=page.url_path not in edge.NEVER_FRAMED and bool(settings.framers()))
visits.end_of_script()
warm()  # last: the first visitor sees a page before all others are made quick
