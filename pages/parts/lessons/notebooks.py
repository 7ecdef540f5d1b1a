"""The notebooks that teach, to take away."""

import json
from functools import lru_cache
from pathlib import Path

import streamlit as st

from pages.parts.ui.on_screen import download

_FOLDER = Path(__file__).parents[3] / "notebooks"


def files() -> list[Path]:
    """The notebooks in their order."""
    return sorted(_FOLDER.glob("*.ipynb"))


@lru_cache
def title_of(file: Path) -> str:
    """What a notebook is called: its first heading."""
    first = json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ")


def offer() -> None:
    """Draw a button for each."""
    st.markdown(
        "For Jupyter, each 20 to 30 minutes with exercises. They need DPMC Lab where Jupyter runs: "
        "`pip install '.[all]'` in the project's folder, or its wheel."
    )
    for file in files():
        download(
            title_of(file),
            file.name,
            file.read_bytes,
            icon=":material/download:",
            key=f"take-{file.stem}",
        )
