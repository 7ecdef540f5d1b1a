"""The pages, and the words on them explained once.

Lives here: the pages of the menu (``data/pages.toml``), every term that a first-year student may
not know (``data/glossary.toml``), and the title that shows a page's words to whoever hovers over
(or tabs to) the question mark beside it. Does not live here: sentences about numbers (``texts``).
"""

from dataclasses import dataclass

import streamlit as st

from dpmc_core.facts import facts, typed

__all__ = ["PAGES", "WORDS", "Page", "all_words", "meaning", "title"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page; the fields are described at the top of ``data/pages.toml``."""

    title: str
    icon: str
    help: str
    words: tuple[str, ...]
    invite: str = ""


PAGES = {
    name: typed(Page, said, f"data/pages.toml, {name}") for name, said in facts("pages").items()
}
WORDS: dict[str, tuple[str, str]] = {
    name: (said["word"], said["says"]) for name, said in facts("glossary").items()
}


def title(text: str, page: str) -> None:
    """The title of ``page``, with its words one hover away."""
    st.title(text, help=_listed(PAGES[page].words))


def meaning(name: str) -> str:
    """The word called ``name`` with what it means, for the help of one control."""
    word, says = WORDS[name]
    return f"{word}: {says}"


def all_words() -> None:
    """Every word, folded away."""
    with st.expander("All words, from α to ε", icon=":material/dictionary:"):
        st.markdown(_listed(tuple(WORDS)))
        st.caption(
            "On every page the question mark beside the title explains the words of that page."
        )


def _listed(names: tuple[str, ...]) -> str:
    return "\n".join(f"- **{WORDS[name][0]}**: {WORDS[name][1]}" for name in names)
