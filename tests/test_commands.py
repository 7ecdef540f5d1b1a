"""Every command that the documents show is run, in a folder with the files that they speak of."""

import os
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.own.files import pictures_zip
from tests.programs import ROOT, run_python
from tests.test_docs import blocks

PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
OURS = re.compile(r"^(python -m dpmc_core|dpmc) ")
# the same, with fewer runs
SHORTER = {"plan model": "--runs 4 --total-runs 12 --n-users 1000", "audit --target": "--runs 100"}
# what needs a container, a network, or is what runs this
ELSEWHERE = re.compile(
    r"^(make (run|test)|python3 -m venv|\.venv/bin/|docker|openssl|mkdir|chmod|dask |DPMC_)"
)
REAL = "--dataset ml-100k", "datasets fetch ml-100k"


def lines(page: Path) -> list[str]:
    """The commands of a page, without comments, continued lines made one."""
    text = "\n".join(text for kind in ("bash", "sh") for text in blocks(page, kind))
    joined = text.replace("\\\n", " ")
    return [re.sub(r"\s+# .*| {2,}#.*", "", line).strip() for line in joined.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the documents name."""
    rng = np.random.default_rng(0)
    rated = [
        f"reader {user},item {item},{rng.integers(1, 6)}"
        for user in range(200)
        for item in rng.choice(40, 12, replace=False)
    ]
    for name in ("my-ratings.csv", "ratings.csv", "new-users.csv"):
        (tmp_path / name).write_text("\n".join(["reader,item,rating", *rated]), "utf-8")
    listed = [f"item {item},{item % 2}" for item in range(40)]
    (tmp_path / "items.csv").write_text("\n".join(["item,comedy", *listed]), "utf-8")
    outputs = [f"{k % 2},{rng.laplace() + k % 2}" for k in range(2000)]
    (tmp_path / "mine.csv").write_text("\n".join(["inside,count", *outputs]), "utf-8")
    (tmp_path / "faces.zip").write_bytes(pictures_zip(40))
    (tmp_path / "people.csv").write_text("income\n" + "20000\n35000\n" * 1500, "utf-8")
    (tmp_path / "scores.csv").write_text("moments,dpals\n" + "0.4,0.1\n0.3,0.6\n" * 50, "utf-8")
    for page, name, less in (
        ("README.md", "my-sweep.toml", ("seeds = 10", "seeds = 1")),
        ("docs/sweeps.md", "huber.toml", ("seeds = 3", "seeds = 1")),
        ("docs/planning.md", "project.toml", ("", "")),
    ):
        (tmp_path / name).write_text(blocks(ROOT / page, "toml")[0].replace(*less), "utf-8")
    (tmp_path / "later.toml").write_text('epsilon = 2.0\n[[release]]\nname = "new"\n', "utf-8")
    return tmp_path


@pytest.mark.nightly
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(map(OURS.match, lines(page)))], ids=lambda p: p.name
)
def test_commands_run_one_after_the_other(page: Path, folder: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "DPMC_STORE": str(folder / "runs.sqlite"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    for line in filter(OURS.match, lines(page)):
        if any(name in line for name in REAL) and "DPMC_DATA_DIR" not in os.environ:
            continue
        more = next((more for words, more in SHORTER.items() if words in line), "")
        words = shlex.split(OURS.sub("", line) + " " + more)
        done = run_python("-m", "dpmc_core", *words, cwd=folder, env=environment)
        assert done.returncode == 0, f"{line}: {done.stderr[-1000:]}"
        assert (done.stdout + done.stderr).strip(), line


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_line_of_a_shell_block_is_run_here_or_known(page: Path) -> None:
    fences = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text("utf-8"), re.M | re.S)
    for kind, text in fences:
        assert kind in ("bash", "sh") or not re.search(r"^(dpmc|python -m) ", text, re.M), text
    for line in filter(None, lines(page)):
        assert OURS.match(line) or ELSEWHERE.match(line), line


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_settings_in_the_documents_can_be_read(page: Path) -> None:
    for text in blocks(page, "toml"):
        assert tomllib.loads(text)
