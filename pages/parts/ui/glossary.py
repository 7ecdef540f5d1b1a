"""The pages of the menu and the glossary (``pages.toml``, ``glossary.toml`` of the core's data)."""

from dataclasses import dataclass

import streamlit as st

from dpmc_core.facts import facts, typed


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page; the fields are described at the top of ``data/pages.toml``."""

    title: str
    group: str
    question: str
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


def meaning(name: str) -> str:
    """The word called ``name`` with what it means, for the help of one control."""
    word, says = WORDS[name]
    return f"{word}: {says}"


def all_words() -> None:
    """Draw the whole glossary."""
    st.markdown(listed(tuple(WORDS)))


def listed(names: tuple[str, ...]) -> str:
    """Write the words called ``names`` with their meanings as a Markdown list."""
    return "\n".join(f"- **{WORDS[name][0]}**: {WORDS[name][1]}" for name in names)
