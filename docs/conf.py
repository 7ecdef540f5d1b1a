"""Sphinx: the guides of this folder, and the public interface from its docstrings."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import dpmc_core
from dpmc_core.experiments.algorithms import ALGORITHMS

project = "DPMC Lab"
author = "DPMC Lab"
release = dpmc_core.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"DPMC Lab {release}"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}
# pages link to files of the repository, which are not part of these pages
# and several classes have an attribute of one name
suppress_warnings = ["myst.xref_missing", "ref.python"]

_HERE = Path(__file__).parent
_ROOMS = {
    "mechanisms": "Noise mechanisms",
    "privacy": "Ledgers, accounts, statements, audits",
    "planning": "Planning",
    "completion": "Matrix completion",
    "factorization": "Factorisation",
    "datasets": "Datasets",
    "metrics": "Metrics",
    "experiments": "Runs, studies, sweeps",
    "partitioned": "Ratings in partitions",
    "estimators": "scikit-learn estimators",
}


def modules_of(room: str) -> list[str]:
    """The modules of a room that define public classes or functions, and the room itself."""
    package = importlib.import_module(f"dpmc_core.{room}")
    found = [package.__name__]
    found += [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [importlib.import_module(name) for name in found]
    return [m.__name__ for m in modules if m is package or public_names(m)]


def public_names(module: Any) -> list[str]:
    """The classes and functions that a module defines for others."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def _write_reference() -> None:
    """A page for each room, and one for the algorithms, from what the code declares."""
    folder = _HERE / "reference"
    folder.mkdir(exist_ok=True)
    for room, title in _ROOMS.items():
        parts = [title, "=" * len(title), ""]
        for name in modules_of(room):
            package = hasattr(importlib.import_module(name), "__path__")
            parts += [name, "-" * len(name), "", f".. automodule:: {name}", ""]
            if package:  # its names are told where they are defined
                parts[-1:] = ["   :no-members:", ""]
        (folder / f"{room}.rst").write_text("\n".join(parts), encoding="utf-8")
    text = ["Algorithms", "==========", ""]
    for card in ALGORITHMS.values():
        kind = "a guarantee" if card.guarantee else "none, or a nominal ε"
        text += [card.title, "-" * len(card.title), "", card.summary, ""]
        text += [f":Name: ``{card.name}``", f":Protects: one {card.unit or 'none'}; {kind}"]
        text += [
            f":Source: {card.source}",
            f":Settings: :class:`{card.config.__module__}."
            f"{card.config.__name__}`; :doc:`../parameters`",
            "",
        ]
    (folder / "algorithms.rst").write_text("\n".join(text), encoding="utf-8")


def _as_it_stands(_: Sphinx, __: str, ___: str, ____: Any, _____: Any, lines: list[str]) -> None:
    """|x| is a size in our docstrings, and no substitution."""
    lines[:] = [re.sub(r"(?<!`)\\|(?!`)", r"\\\\|", line) for line in lines]


def _skipped(_: Sphinx, __: str, name: str, ___: Any, skip: bool, ____: Any) -> bool:
    """What scikit-learn gives every estimator is in its own documents."""
    return skip or name.endswith("_request")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    _write_reference()
    app.connect("autodoc-process-docstring", _as_it_stands)
    app.connect("autodoc-skip-member", _skipped)
