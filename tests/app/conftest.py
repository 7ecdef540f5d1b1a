"""Pages in this process have no server around them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner as scanner

from pages.parts.server import jobs, warm
from tests.app.visits import another_visitor


@pytest.fixture(scope="session", autouse=True)
def nothing_in_the_background() -> Iterator[None]:
    """A server loads the code of all pages in a thread.

    Here that thread would meet the filters of warnings as pytest sets them for each test: a package
    that silences a warning of its own while it is imported finds it an error now and then.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "_prepare", lambda: None)
        patch.setattr(warm, "_tidy", lambda: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def packages_searched_once() -> Iterator[None]:
    """Streamlit reads every package's metadata for components whenever an ``AppTest`` is made: half
    a second for each page that a test opens.
    """
    found = scanner.scan_component_manifests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "scan_component_manifests", lambda: found)
        yield


@pytest.fixture(autouse=True)
def this_program_stays_the_main_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that ran here is ``__main__`` ever after: a process that a later test starts would
    draw the page first.
    """
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No run of another test is kept where this one looks."""
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))
    return tmp_path / "runs.sqlite"


@pytest.fixture(autouse=True)
def fresh_visitor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test is a visitor of its own, whose jobs end with it: without this all share the
    session's box, and compute beside the tests that follow.
    """
    another_visitor(monkeypatch)
    box = jobs.visit_box()
    yield
    for job in box.active():
        job.cancel()
