"""The documents: built without a warning, with every public name; their code runs."""

import importlib
import inspect
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from sphinx.util.inventory import InventoryFile

from tests.programs import ROOT, run_python

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page: Path, language: str) -> list[str]:
    fences = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for kind, text in fences if kind == language]


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What the built pages document; a warning fails the build."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(
        ROOT / "docs",
        folder / "docs",
        ignore=shutil.ignore_patterns("images", "reference", "_build"),
    )
    build = ("-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = run_python(*build, folder / "docs", folder / "html", cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    with (folder / "html" / "objects.inv").open("rb") as file:
        items = InventoryFile.load(file, "", lambda base, name: name)
    return {name for kind in items if kind.startswith("py:") for name in items[kind]}


def test_the_table_of_coverage_names_what_there_is() -> None:
    """All items of the four papers and the design, with files and names that exist."""
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\* - \d+$", text, re.M)) == 157
    states = re.findall(r"^\* - \d+\n  - .*(?:\n    .*)*\n  - (.*)$", text, re.M)
    total = [str(n) for n in (157, *map(states.count, ("works", "partly", "named")))]
    assert f"| all | {' | '.join(total)} |" in text
    for path, name in re.findall(r"`([\w/.]+\.py)(?::(\w+))?`", text):
        file = ROOT / path if path.startswith("pages/") else ROOT / "dpmc_core" / path
        assert path == "app.py" or re.search(rf"^(def|class) {name}\b", file.read_text(), re.M), (
            path
        )


@pytest.mark.nightly
def test_every_public_class_and_function_is_documented(inventory: set[str]) -> None:
    missing = []
    for path in (ROOT / "dpmc_core").glob("*/**/*.py"):  # the ground floor is no room
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name.startswith("dpmc_core.cli"):
            continue
        module = importlib.import_module(name)
        for public, value in vars(module).items():
            defined = getattr(value, "__module__", "") == name and not public.startswith("_")
            if defined and (inspect.isclass(value) or inspect.isfunction(value)):
                where = f"{name}.{value.__qualname__}"
                missing += [where] * (where not in inventory)
    assert not sorted(set(missing))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p, "python")], ids=lambda path: path.name
)
def test_python_blocks_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for text in blocks(page, "python"):
        exec(compile(text, str(page), "exec"), names)
