"""Notebooks run from top to bottom by a kernel of their own."""

import os
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests.programs import ROOT, run_python

PLOTLY = "application/vnd.plotly.v1+json"
# in a process of its own: what a kernel's packages warn of is not for this one to judge
_EXECUTE = """\
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[1])
"""


def executed(text: str, folder: Path) -> NotebookNode:
    """The notebook ``text`` with its outputs, run in the empty ``folder``."""
    file = folder / "notebook.ipynb"
    file.write_text(text, encoding="utf-8")
    nbformat.validate(nbformat.reads(text, as_version=4))
    # the kernel draws into the notebook unless it is told of another place
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    environment |= {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder), "MPLCONFIGDIR": str(folder)}
    environment.setdefault("DPMC_DATA_DIR", str(folder / "data"))
    done = run_python("-c", _EXECUTE, file, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return nbformat.read(file, as_version=4)


def _outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def printed(notebook: NotebookNode) -> str:
    """All that its cells printed or came to, as text."""
    return "\n".join(
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in _outputs(notebook)
        if PLOTLY not in output.get("data", {})
    )


def pictures(notebook: NotebookNode, kind: str = "image/png") -> int:
    """How many outputs of this kind it has."""
    return sum(kind in output.get("data", {}) for output in _outputs(notebook))
