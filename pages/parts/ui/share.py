"""A page as a link: copied, embedded, taken elsewhere.

Lives here: the bar below every page. The address already holds every setting (``controls``); here
it can be copied, and put into a course site. Does not live here: downloads of figures (``style``)
or runs (the pages).
"""

import html

import streamlit as st

from dpmc_core.datasets import user_datasets

__all__ = ["address", "bar", "embedding", "own_tab"]

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
    """Draw it, except where the page is embedded already.

    ``framed_elsewhere``: whether other sites may show this page in a frame.
    """
    if st.context.is_embedded:
        return
    settings, link = st.query_params, _here()
    with st.popover("Share this page", icon=":material/share:"):
        st.markdown(
            "**Link**: opens this page with all its settings, seeds included, and the step of a "
            "lesson. Copy it by the button at its right."
            + (
                " It has *run=1*: whoever opens it starts the same run."
                if "run" in settings
                else ""
            )
            + (
                " Your own data does not travel with it: who opens it sees another set."
                if any(user_datasets.current())
                else ""
            )
        )
        st.code(link, language=None, wrap_lines=True)
        if framed_elsewhere:
            st.markdown("**Embed** it in a course site, without the frame around it:")
            st.code(embedding(link), language="html", wrap_lines=True)
        st.caption(
            "Figures: the camera above each saves a PNG from your browser; *Show the numbers* "
            "below it has the figure as HTML and its numbers as CSV."
        )


def _here() -> str:
    settings = {key: st.query_params.get_all(key) for key in st.query_params}
    return address(st.context.url or "", settings)
