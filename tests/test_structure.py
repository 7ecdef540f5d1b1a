"""The plan of the house: which room may import which, and how Streamlit must find the pages."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# room -> rooms of the core that it may import (besides itself, errors and limits)
ALLOWED = {
    "mechanisms": set(),
    "datasets": set(),
    "metrics": {"datasets"},
    "privacy": {"mechanisms"},
    "completion": {"privacy", "mechanisms", "datasets"},
    "factorization": {"privacy", "mechanisms", "datasets"},
    "experiments": {"factorization", "completion", "privacy", "mechanisms", "datasets", "metrics"},
    "bench": {
        "experiments",
        "factorization",
        "completion",
        "privacy",
        "mechanisms",
        "datasets",
        "metrics",
    },
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


CORE = sorted((ROOT / "dpmc_core").rglob("*.py"))


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_draws_nothing_and_looks_down_only(path: Path) -> None:
    room = path.relative_to(ROOT / "dpmc_core").parts[0]
    for name in imports(path):
        assert not name.startswith(("streamlit", "plotly", "pages")), name
        parts = name.split(".")
        if parts[0] == "dpmc_core" and len(parts) > 1 and room in ALLOWED:
            assert parts[1] in ALLOWED[room] | {
                room,
                "errors",
                "limits",
                "wording",
                "__version__",
            }, f"{path.name} imports {name}"


def test_parts_do_not_import_pages() -> None:
    for path in (ROOT / "pages" / "parts").glob("*.py"):
        assert all(
            not n.startswith("pages.") or n.startswith("pages.parts") for n in imports(path)
        ), path


def test_every_module_says_what_lives_in_it() -> None:
    for path in [*CORE, *(ROOT / "pages" / "parts").glob("*.py")]:
        assert ast.get_docstring(ast.parse(path.read_text())), path
    for room in ALLOWED:
        text = (
            ast.get_docstring(ast.parse((ROOT / "dpmc_core" / room / "__init__.py").read_text()))
            or ""
        )
        assert "Lives here" in text, room


def test_no_room_outgrows_itself() -> None:
    for path in [*CORE, *(ROOT / "pages").rglob("*.py")]:
        assert len(path.read_text().splitlines()) <= 420, f"{path} is two rooms"


def test_streamlit_caches_are_not_keyed_by_mechanisms() -> None:
    """st.cache_data hashes a dataclass by its fields alone: it would take Laplace(scale=10) for Gaussian(scale=10)."""
    for path in (ROOT / "pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                "cache_" in ast.unparse(d) for d in node.decorator_list
            ):
                taken = {
                    ast.unparse(a.annotation) for a in node.args.args if a.annotation is not None
                }
                assert not any(
                    word in hint for hint in taken for word in ("Mechanism", "Release", "Ledger")
                ), (
                    path,
                    node.name,
                )


def test_there_is_no_folder_called_pages() -> None:
    """Beside such a folder Streamlit ignores app.py for the first visitor of a server who follows a link to a page."""
    assert not (ROOT / "pages").exists()


def test_bound_widgets_are_made_in_one_place() -> None:
    """Elsewhere a bad value in a link would be dropped without a word."""
    for path in (ROOT / "pages").rglob("*.py"):
        if path.name != "controls.py":
            assert "bind=" not in path.read_text(), path


@pytest.mark.parametrize(
    "path", sorted(p for p in ROOT.rglob("*.md") if ".venv" not in p.parts), ids=lambda p: p.name
)
def test_links_of_the_documents_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
