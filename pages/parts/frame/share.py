"""The bar below every page: link, embedding, handout, presenter mode."""

import html
from datetime import UTC, datetime

import streamlit as st

from dpmc_core.datasets import user_datasets
from pages.parts.frame.handout import handout
from pages.parts.frame.notebook import notebook
from pages.parts.ui import controls, on_screen
from pages.parts.ui.on_screen import code, download

_NOT_SHARED = ("embed",)


def address(base: str, settings: dict[str, list[str]]) -> str:
    """The address that shows the same again.

    ``base`` without its query, and ``settings`` in full.

    >>> settings = {"rank": ["5"], "embed": ["true"], "b": ["1", "ü &"]}
    >>> address("http://x/completion?rank=3#a", settings)
    'http://x/completion?rank=5&b=1&b=%C3%BC+%26'
    """
    from urllib.parse import urlencode

    plain = base.split("#")[0].split("?")[0]
    query = urlencode(
        [(k, v) for k, values in settings.items() if k not in _NOT_SHARED for v in values]
    )
    return f"{plain}?{query}" if query else plain


def embedding(link: str) -> str:
    """HTML that shows the page inside another one, without its frame.

    >>> embedding("http://x/a?b=1")
    '<iframe src="http://x/a?b=1&amp;embed=true" width="100%" height="900"
    loading="lazy" title="DPMC Lab"></iframe>'
    """
    source = html.escape(f"{link}{'&' if '?' in link else '?'}embed=true")
    return (
        f'<iframe src="{source}" width="100%" height="900" loading="lazy" title="DPMC '
        'Lab"></iframe>'
    )


def own_tab(label: str) -> None:
    """A button that opens the page, as it is, outside the frame that it is in."""
    st.link_button(label, _here(), icon=":material/open_in_new:")


def bar(*, framed_elsewhere: bool) -> None:
    """Draw it: share, handout, presenter mode.

    ``framed_elsewhere``: whether other sites may show this page in a frame.
    """
    with st.container(key="page-bar", horizontal=True, vertical_alignment="center"):
        _popover(framed_elsewhere=framed_elsewhere)
        shown, link = on_screen.now(), _here()
        download(
            "Handout (HTML)",
            f"dpmc-handout-{controls.current_page().removesuffix('.py')}.html",
            lambda: handout(shown, link, datetime.now(UTC).date()),
            icon=":material/description:",
            key="handout",
            help="One file with the verdict and the figures on screen; it needs no network.",
        )
        download(
            "Open as notebook",
            f"dpmc-{controls.current_page().removesuffix('.py')}.ipynb",
            lambda: notebook(shown, link, datetime.now(UTC).date()),
            icon=":material/code_blocks:",
            key="notebook",
            help="For Jupyter: what the page says, its figures, and Python that computes it again.",
        )
        _switch(
            "Presenter mode",
            "present",
            on_screen.presenting(),
            "Large type, no sidebar: verdict, figure and one control. ← and → move the control.",
        )
        _switch(
            "Open all sections",
            "open_all",
            on_screen.all_open(),
            "For a print-out or a handout of everything.",
        )


def _switch(label: str, name: str, on: bool, meaning: str) -> None:
    st.toggle(
        label, value=on, key=f"{name}-{on}", on_change=on_screen.turn, args=(name,), help=meaning
    )


def _popover(*, framed_elsewhere: bool) -> None:
    settings, link = st.query_params, _here()
    with st.popover("Share", icon=":material/share:"):
        st.markdown(
            "**Link**: opens this page with all its settings, seeds included, and the step of a "
            "lesson."
            + (" It has *run=1*: opening it starts the same run." if "run" in settings else "")
            + (
                " Your own data does not travel with it: others see another dataset."
                if any(user_datasets.current())
                else ""
            )
        )
        st.code(link, language=None, wrap_lines=True)
        if framed_elsewhere:
            st.markdown("**Embed** it in a course site, without the frame around it:")
            code(embedding(link), "html")
        st.caption(
            "The camera above a figure saves a PNG; *Show the numbers* below it has the figure "
            "as HTML and its numbers as CSV."
        )


def _here() -> str:
    settings = {key: st.query_params.get_all(key) for key in st.query_params}
    return address(st.context.url or "", settings)
