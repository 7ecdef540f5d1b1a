"""Entrance of DPMC Lab: page configuration, navigation, and what stands around every page. Run with ``streamlit run serve.py``, or ``streamlit run app.py``."""

from pathlib import Path

import streamlit as st

from app_pages.parts import loading

loading.done()
from app_pages.parts import lessons, settings, share  # noqa: E402
from app_pages.parts.warm import warm  # noqa: E402
from dpmc_core.errors import ParameterError  # noqa: E402

st.set_page_config(
    page_title="DPMC Lab",
    page_icon=str(
        Path(__file__).parent / "app_pages" / "icon.svg"
    ),  # a file of ours: Streamlit has browsers fetch named icons from a third party
    layout="wide",
    initial_sidebar_state="collapsed" if st.context.is_embedded else "auto",  # inside another page: the figure first
    menu_items={"About": "DPMC Lab: differential privacy in matrix completion, live and honestly counted."},
)

page = st.navigation(
    [
        st.Page(
            "app_pages/home.py",
            title="Home",
            icon=":material/home:",
            default=True,
            help="What is protected, what ε means in odds, and one picture that degrades as noise grows.",
        ),
        st.Page(
            "app_pages/mechanisms.py",
            title="Mechanisms",
            icon=":material/ssid_chart:",
            help="Huber, Laplace, Gaussian and staircase noise side by side: densities, variance, privacy profiles.",
        ),
        st.Page(
            "app_pages/budget.py",
            title="Budget",
            icon=":material/account_balance_wallet:",
            help="What many releases add up to, by every accounting method that holds, and how much noise a budget asks for.",
        ),
        st.Page(
            "app_pages/completion.py",
            title="Completion",
            icon=":material/grid_on:",
            help="Complete a matrix of ratings live, with up to three configurations side by side.",
        ),
        st.Page(
            "app_pages/factorization.py",
            title="Factorization",
            icon=":material/face:",
            help="Faces into parts and documents into topics: not private, as published, made sound, and by moments, side by side.",
        ),
        st.Page(
            "app_pages/tradeoffs.py",
            title="Tradeoffs",
            icon=":material/balance:",
            help="Error against ε with intervals, noises compared in pairs, the best trade-offs, and how many people it takes.",
        ),
        st.Page(
            "app_pages/audit.py",
            title="Audit",
            icon=":material/search_insights:",
            help="Attack a release with and without one person: what can be proved about its ε, and a game against it.",
        ),
        st.Page(
            "app_pages/papers.py",
            title="Papers",
            icon=":material/menu_book:",
            help="Every table and figure of the four papers: what is printed, what we get, and what that means.",
        ),
        st.Page(
            "app_pages/runs.py",
            title="Runs",
            icon=":material/history:",
            help="Runs that were kept: filter, compare, export, delete.",
        ),
        st.Page(
            "app_pages/datasets.py",
            title="Datasets",
            icon=":material/database:",
            help="What data is here, what can be fetched, its shape, popularity and terms.",
        ),
        st.Page(
            "app_pages/lessons.py",
            title="Lessons",
            icon=":material/school:",
            help="Three guided paths over the live pages, with questions.",
        ),
    ],
    position="hidden" if st.context.is_embedded else "sidebar",
)
# whoever asked their system for less motion gets none
st.html(
    "<style>@media (prefers-reduced-motion: reduce) {*, *::before, *::after {animation: none !important; transition: none !important;}}</style>"
)
try:
    settings.check()
except ParameterError as error:
    st.error(f"The lab is not set up right: {error}", icon=":material/settings:")
    st.stop()
lessons.bar()
page.run()
share.bar()
warm()  # last: the first visitor sees a page before all others are made quick
