"""Shared by all tests: where the real data is, and markers of the SciPy checks that we borrow."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.terminal import Terminal

# the same examples every time, and no per-example clock: a busy machine is not a wrong result
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


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


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real datasets, or a skip that says what is missing."""
    folder = os.environ.get("DPMC_DATA_DIR")
    if not folder or not (Path(folder) / "ml-100k" / "u.data").exists():
        pytest.skip("needs DPMC_DATA_DIR with ml-100k, ml-1m and sweetrs (data/README.md)")
    return Path(folder)


@pytest.fixture(scope="session")
def samples_dir() -> Path:
    """The folder with the real faces and texts, or a skip that says what is missing."""
    folder = os.environ.get("DPMC_DATA_DIR")
    if not folder or not (Path(folder) / "cbcl" / "CBCL_Face.mat").exists():
        pytest.skip("needs DPMC_DATA_DIR with cbcl, yaleb, bbc and tdt2 (data/README.md)")
    return Path(folder)
