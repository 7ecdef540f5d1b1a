"""Page configuration, navigation, and the frame around every page."""

from pathlib import Path

import streamlit as st

from pages.parts.server import loading

loading.done()
from dpmc_core.errors import ParameterError  # noqa: E402
from pages.parts.lessons import lessons  # noqa: E402
from pages.parts.server import settings  # noqa: E402
from pages.parts.server.warm import warm  # noqa: E402
from pages.parts.ui import share  # noqa: E402

# file -> icon and what the navigation says of the page
PAGES = {
    "home": (
        "home",
        "What is protected, what ε means in odds, and one picture that degrades as noise grows.",
    ),
    "mechanisms": (
        "ssid_chart",
        "Huber, Laplace, Gaussian and staircase noise side by side: densities, variance, "
        "privacy profiles.",
    ),
    "budget": (
        "account_balance_wallet",
        "What many releases add up to, by every accounting method that holds, and how much noise "
        "a budget asks for.",
    ),
    "completion": (
        "grid_on",
        "Complete a matrix of ratings live, with up to three configurations side by side.",
    ),
    "factorization": (
        "face",
        "Faces into parts and documents into topics: not private, as published, made sound, and "
        "by moments, side by side.",
    ),
    "tradeoffs": (
        "balance",
        "Error against ε with intervals, noises compared in pairs, the best trade-offs, and how "
        "many people it takes.",
    ),
    "audit": (
        "search_insights",
        "Attack a release with and without one person: what can be proved about its ε, and a game "
        "against it.",
    ),
    "papers": (
        "menu_book",
        "Every table and figure of the four papers: what is printed, what we get, and what that "
        "means.",
    ),
    "runs": ("history", "Runs that were kept: filter, compare, export, delete."),
    "datasets": (
        "database",
        "What data is here, what can be fetched, its shape, popularity and terms.",
    ),
    "lessons": ("school", "Three guided paths over the live pages, with questions."),
}

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
            title=name.capitalize(),
            icon=f":material/{icon}:",
            default=name == "home",
            help=meaning,
        )
        for name, (icon, meaning) in PAGES.items()
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
share.bar()
warm(
    "pages.parts.budget.counts", "pages.parts.home.picture"
)  # last: the first visitor sees a page before all others are made quick
