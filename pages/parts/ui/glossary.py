"""The pages of the menu and the glossary (``pages.toml``, ``glossary.toml`` of the core's data)."""

from collections.abc import Iterable
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
    name: typed(Page, table, f"data/pages.toml, {name}") for name, table in facts("pages").items()
}
WORDS: dict[str, dict[str, str]] = facts("glossary")


def groups_style() -> str:
    """A style sheet that writes the menu's groups above their first pages: Streamlit's own groups
    are no list that a screen reader knows.
    """
    groups = [page.group for page in PAGES.values()]
    first = {group: 1 + groups.index(group) for group in groups}
    rules = (
        f'[data-testid="stSidebarNavItems"] > li:nth-child({k})::before {{ content: "{group}"; }}'
        for group, k in first.items()
    )
    return f"<style>{' '.join(rules)}</style>"


def meaning(name: str) -> str:
    """The word called ``name`` with what it means, for the help of one control."""
    return "{word}: {says}".format(**WORDS[name])


def all_words() -> None:
    """Draw the whole glossary."""
    st.markdown(listed(WORDS))


def listed(names: Iterable[str]) -> str:
    """Write the words called ``names`` with their meanings as a Markdown list."""
    return "\n".join("- **{word}**: {says}".format(**WORDS[name]) for name in names)
