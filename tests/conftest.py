"""Shared by all tests: where the real data is, and markers of the SciPy checks that we borrow."""

import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

from tests.terminal import Terminal

# the same examples every time, and no per-example clock: a busy machine is not a wrong result
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


# seconds since 1970 after which no test begins: a slow machine's CI still ends in time, and says
# what it left out
UNTIL = float(os.environ.get("DPMC_TESTS_UNTIL") or "inf")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes longest last."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by what they are for: they may hold the time, and processes must name alike."""
    return argname if isinstance(val, bytes) else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > UNTIL:
        pytest.skip(f"no time was left (DPMC_TESTS_UNTIL) for {item.nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    # runs that tests make are kept apart from a developer's own
    folder = tempfile.TemporaryDirectory(prefix="dpmc-test-store-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)  # a failure ends there too
    os.environ["DPMC_STORE"] = str(Path(folder.name) / "runs.sqlite")
    os.environ["DPMC_JOB_NICE"] = (
        "0"  # two test processes fill two cores for good: whoever gives way gets no turn
    )
    # scipy.stats.tests, whose generic distribution checks we run, uses SciPy's own markers
    for marker in (
        "thread_unsafe",
        "slow",
        "xslow",
        "xfail_on_32bit",
        "parallel_threads_limit",
        "fail_slow",
    ):
        config.addinivalue_line("markers", f"{marker}: used by the borrowed SciPy checks only")


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A command line whose output is read."""
    return Terminal(capsys)


def _folder_with(file: str, sets: str) -> Path:
    """The folder with the real data, or a skip that says what is missing."""
    folder = Path(os.environ.get("DPMC_DATA_DIR") or "")
    if not (folder / file).exists():
        pytest.skip(f"needs DPMC_DATA_DIR with {sets} (data/README.md)")
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real ratings."""
    return _folder_with("ml-100k/u.data", "ml-100k, ml-1m and sweetrs")


@pytest.fixture(scope="session")
def samples_dir() -> Path:
    """The folder with the real faces and texts."""
    return _folder_with("cbcl/CBCL_Face.mat", "cbcl, yaleb, bbc and tdt2")
