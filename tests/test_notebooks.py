"""The notebooks that teach: each runs from top to bottom with a clean kernel, and draws."""

import re
from pathlib import Path

import nbformat
import pytest

from pages.parts.lessons.overview import files, title_of
from tests.app.test_wording import OLD
from tests.executed import executed, pictures, printed

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_there_are_five_and_the_readme_names_them() -> None:
    assert [file.name[0] for file in files()] == list("12345")
    for file in files():
        assert f"notebooks/{file.name}" in README
        assert title_of(file)


@pytest.mark.nightly
@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_a_notebook_runs_and_draws(file: Path, tmp_path: Path) -> None:
    notebook = executed(file.read_text(encoding="utf-8"), tmp_path)
    assert pictures(notebook) >= 1
    assert re.search(r"\d\.\d", printed(notebook))


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_outputs_and_speaks_as_the_pages_do(file: Path) -> None:
    cells = nbformat.read(file, as_version=4).cells
    for cell in cells:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for old, instead in OLD.items():
        assert not re.search(old, prose, re.IGNORECASE), f"{old}: write {instead}"
    assert all(len(line) <= 100 for cell in cells for line in cell.source.splitlines())
