"""The documents: built without a warning, with every public name; their code and their commands
run, in a folder with the files that they speak of.
"""

import importlib
import inspect
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sphinx.util.inventory import InventoryFile

from tests.own.files import pictures_zip, table_of
from tests.programs import ROOT, run_python

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
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.M | re.S)


def blocks(page: Path, *languages: str) -> list[str]:
    fences = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for kind, text in fences if kind in languages]


def lines(page: Path) -> list[str]:
    """The commands of a page, without comments, continued lines made one."""
    joined = "\n".join(blocks(page, "bash", "sh")).replace("\\\n", " ")
    return [re.sub(r"\s+# .*| {2,}#.*", "", line).strip() for line in joined.splitlines()]


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
    "page",
    # what stands in CONTRIBUTING is to be filled in
    [page for page in PAGES if blocks(page, "python") and page.name != "CONTRIBUTING.md"],
    ids=lambda page: page.name,
)
def test_python_blocks_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for text in blocks(page, "python"):
        exec(compile(text, str(page), "exec"), names)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the documents name."""
    rng = np.random.default_rng(0)
    rated = table_of(
        *(
            f"reader {user},item {item},{rng.integers(1, 6)}"
            for user in range(200)
            for item in rng.choice(40, 12, replace=False)
        ),
        header="reader,item,rating",
    )
    outputs = (f"{k % 2},{rng.laplace() + k % 2}" for k in range(2000))
    listed = (f"item {item},{item % 2}" for item in range(40))
    files = {
        **dict.fromkeys(("my-ratings.csv", "ratings.csv", "new-users.csv"), rated),
        "items.csv": table_of(*listed, header="item,comedy"),
        "mine.csv": table_of(*outputs, header="inside,count"),
        "faces.zip": pictures_zip(40),
        "people.csv": table_of(*["20000", "35000"] * 1500, header="income"),
        "scores.csv": table_of(*["0.4,0.1", "0.3,0.6"] * 50, header="moments,dpals"),
        "later.toml": b'epsilon = 2.0\n[[release]]\nname = "new"\n',
    }
    for page, name in (
        ("README.md", "my-sweep.toml"),
        ("docs/sweeps.md", "huber.toml"),
        ("docs/planning.md", "project.toml"),
    ):
        first = blocks(ROOT / page, "toml")[0]
        files[name] = re.sub(r"(?m)^seeds = \d+", "seeds = 1", first).encode()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
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


def test_every_line_of_a_shell_block_is_run_here_or_known_and_settings_can_be_read() -> None:
    for page in PAGES:
        for kind, text in FENCE.findall(page.read_text("utf-8")):
            assert kind in ("bash", "sh") or not re.search(r"^(dpmc|python -m) ", text, re.M), text
            assert kind != "toml" or tomllib.loads(text), text
        for line in filter(None, lines(page)):
            assert OURS.match(line) or ELSEWHERE.match(line), line
