"""A folder of data for tests of what is read from there."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data."""
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    return tmp_path
