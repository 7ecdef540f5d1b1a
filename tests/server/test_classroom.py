"""A class in one room, by real sessions: every guess counts once, whoever loads the page again."""

from pathlib import Path

import pytest

from benchmarks.server.classroom import play
from benchmarks.server.visitor import running_app
from tests.apart import run_apart


@pytest.mark.nightly
def test_every_guess_of_a_class_counts_once_and_a_lost_phone_has_its_seat(tmp_path: Path) -> None:
    with running_app(tmp_path, DPMC_STORE=str(tmp_path / "runs"), DPMC_GRACE_SECONDS="1") as app:
        run_apart(play(app.url, 20))
