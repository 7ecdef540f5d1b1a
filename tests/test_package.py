"""The package as somebody installs it: outside the project, with the core's own packages alone."""

import importlib.metadata as installed
import json
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs import ROOT, run_python

# what the core asks for, and what dp-accounting brings
CORE = {
    *("numpy", "scipy", "dp-accounting", "randomgen"),
    *("absl-py", "attrs", "dm-tree", "mpmath", "wrapt"),
}
# what each extra brings, by a name that a person would look for
EXTRAS = {
    "data": "pandas",
    "text": "scikit-learn",
    "runs": "sqlalchemy",
    "cluster": "distributed",
    "postgres": "psycopg",
    "fast": "numba",
    "app": "streamlit",
    "all": "distributed",
}

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ("pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir")
    done = run_python("-m", *build, folder, ROOT)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder that holds nothing, and an environment of the wheel and the core's packages."""
    packages = tmp_path_factory.mktemp("packages")
    for name in CORE:
        package = installed.distribution(name)
        tops = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", ".")}
        for top in tops - {"__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(package.locate_file(top))))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    home = tmp_path_factory.mktemp("home")
    others = {name: value for name, value in os.environ.items() if not name.startswith("DPMC_")}
    return home, {**others, "PYTHONPATH": str(packages), "HOME": str(home)}


@pytest.fixture
def dpmc(empty: tuple[Path, dict[str, str]]) -> Command:
    folder, environment = empty

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        # -S: no other package of this machine is found
        code = "import sys; sys.argv[0] = 'dpmc'; from dpmc_core.__main__ import start; "
        code += "sys.exit(start())"
        return run_python("-S", "-c", code, *words, cwd=folder, env=environment)

    return run


def test_the_wheel_holds_the_core_its_data_its_types_and_the_app(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = (name for name in names if name.endswith("METADATA"))
        metadata = archive.read(about).decode()
        entry = archive.read(about.replace("METADATA", "entry_points.txt")).decode()
    assert "dpmc = dpmc_core.__main__:start" in entry
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra)", metadata, re.M)
    assert {*needed} == {"numpy", "scipy", "dp-accounting", "randomgen"}
    assert "dpmc_core/py.typed" in names
    for path in (ROOT / "dpmc_core").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and "local" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in names
    tracked = subprocess.run(
        ["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(tracked) > 20
    assert {name for name in names if name.startswith("dpmc_core/data/")} == {
        f"dpmc_core/{name}" for name in tracked
    }
    for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), ROOT / ".streamlit/config.toml"):
        assert f"dpmc_core/app/{path.relative_to(ROOT).as_posix()}" in names
    assert not [name for name in names if name.startswith(("tests", "data", "benchmarks"))]
    for extra, brings in EXTRAS.items():
        pattern = rf"Requires-Dist: {re.escape(brings)}\b.*extra == '{extra}'"
        assert re.search(pattern, metadata), extra


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        "mechanism huber --alpha 1.5 --scale 1 --sensitivity 5 --delta 1e-5",
        "complete als --dataset low-rank --iterations 2",
        "complete moments --dataset skewed --mechanism gaussian --epsilon 1",
        "audit --case half-noise --runs 2000",
    ],
)
def test_commands_work_outside_the_project_with_the_core_alone(words: str, dpmc: Command) -> None:
    done = dpmc(*words.split(), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("runs", "runs"),
        ("sweep nothing.toml", "runs"),
        ("app", "app"),
        ("factorize nmf --dataset cartoon", "text"),
        ("datasets fetch ml-100k", "data"),
    ],
)
def test_what_needs_more_says_which_extra_brings_it(words: str, extra: str, dpmc: Command) -> None:
    done = dpmc(*words.split())
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert re.fullmatch(
        rf"error: this needs \w+, which is not installed: pip install 'dpmc-lab\[{extra}\]'\.",
        done.stderr.splitlines()[-1],
    )


def test_importing_loads_nothing_that_takes_time(empty: tuple[Path, dict[str, str]]) -> None:
    """No third package until a room is asked for; then its names are there."""
    code = (
        "import sys, dpmc_core\n"
        "assert not {'numpy', 'scipy', 'pandas', 'sklearn'} & set(sys.modules)\n"
        "assert 'mechanisms' in dir(dpmc_core)\n"
        "print(dpmc_core.mechanisms.Laplace(scale=2.0).variance)\n"
        "assert 'pandas' not in sys.modules and 'dp_accounting' not in sys.modules\n"
    )
    folder, environment = empty
    done = run_python("-S", "-c", code, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "8.0"
