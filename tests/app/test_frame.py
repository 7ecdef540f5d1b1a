"""The frame around every page: order, observations, folds, old links, estimates and progress."""

import time
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.papers.compute import Trial
from dpmc_core.experiments.worker.cluster import WAITING
from pages.parts.frame.share import handout
from pages.parts.server import progress
from pages.parts.server.job import Job
from pages.parts.server.jobs import place_of
from pages.parts.server.progress import standing
from pages.parts.ui.figures import bars
from pages.parts.ui.labels import _apart
from pages.parts.ui.on_screen import Shown

HEIGHTS = st.lists(st.floats(0, 320), min_size=1, max_size=8)


@given(HEIGHTS, st.lists(st.integers(1, 3), min_size=8, max_size=8))
def test_names_never_meet_stay_within_the_figure_and_move_only_if_they_must(
    heights: list[float], lines: list[int]
) -> None:
    placed_at = np.sort(heights)
    tall = 17.0 * np.array(lines[: len(heights)])
    room = max(320.0, tall.sum())
    closest = (tall[1:] + tall[:-1]) / 2
    moved = np.array(_apart(placed_at, tall, room))
    assert (np.diff(moved) >= closest - 1e-6).all()
    assert moved[0] >= tall[0] / 2 - 1e-6
    assert moved[-1] <= room - tall[-1] / 2 + 1e-6
    apart = (np.diff(placed_at) >= closest).all()
    if apart and placed_at[0] >= tall[0] / 2 and placed_at[-1] <= room - tall[-1] / 2:
        np.testing.assert_allclose(moved, placed_at)


def test_bars_have_their_numbers_and_baselines() -> None:
    drawn = bars(["one", "two"], [0.5, 0.25], [0.01, np.nan], ["#000000"] * 2, "y", {"base": 0.4})
    assert list(drawn.data[0].y) == [0.5, 0.25]
    assert list(drawn.data[0].error_y.array) == [0.01, 0.0]


def test_a_handout_says_what_the_screen_says_and_escapes_it() -> None:
    shown = Shown("Which <noise>?")
    shown.sentences += ["At ε = 1, **fine**.", "A name \\*as it is\\* <b>."]
    shown.figures["bars"] = (bars(["one"], [1.0], [0.0], ["#000000"], "y", {}), "One bar & more.")
    page = handout(shown, "http://x/?a=1&b=<2>", date(2026, 1, 2))
    assert '<p class="verdict">At ε = 1, <strong>fine</strong>.</p>' in page
    assert "<li>A name *as it is* &lt;b&gt;.</li>" in page
    assert "<figcaption>One bar &amp; more.</figcaption>" in page
    assert "Which &lt;noise&gt;?" in page
    assert 'href="http://x/?a=1&amp;b=&lt;2&gt;"' in page
    assert "2026-01-02" in page


def test_the_estimate_grows_with_the_work_and_learns_from_runs() -> None:
    small = RunSpec.of(algorithm="svt", dataset="low-rank")
    large = RunSpec.of(algorithm="svt", dataset="ml-1m")
    assert progress.seconds((large,)) > 3 * progress.seconds((small,))
    before = progress.seconds((small,))
    progress.learn(small, 8 * before)
    assert progress.seconds((small,)) == pytest.approx(8 * before)
    assert progress.seconds((small,) * 3, at_once=3) == pytest.approx(8 * before)
    assert np.isnan(progress.seconds((Trial("row", "of", 1),)))


def _running(done: int, elapsed: float, expected: tuple[float, ...]) -> Job:
    job = Job(expected=expected, amounts=(10,) * len(expected), state="running")
    job.progress = (done, 10 * len(expected))
    job.started = time.monotonic() - elapsed
    return job


def test_what_is_left_follows_the_work_not_the_number_of_steps() -> None:
    """Two specs of ten steps, the second nine times as long: half of the steps are a tenth."""
    left = _running(10, 1.0, (1.0, 9.0)).remaining()
    assert 4.5 < left < 18  # by the number of steps it would be one second


@pytest.mark.parametrize("slower", [0.5, 1.0, 3.0, 8.0])
def test_what_is_left_is_right_within_a_factor_of_two_after_a_tenth(slower: float) -> None:
    """However much slower this machine is than expected."""
    whole = 20.0
    for share in (0.1, 0.3, 0.6, 0.9):
        left = _running(round(10 * share), share * whole * slower, (whole,)).remaining()
        truth = (1 - share) * whole * slower
        assert truth / 2 <= left <= 2 * truth


def test_progress_says_starting_waiting_and_finishing_only_when_true() -> None:
    job = Job(state="waiting", progress=(0, 10))
    assert standing(job, "step") == "starting…"
    job._ticket = SimpleNamespace(place=2)  # type: ignore[assignment]
    assert standing(job, "step") == "starting…"  # nobody waits within half a second
    job.started -= 5
    assert standing(job, "step") == "waiting for others' runs (2nd in line)"
    job._ticket = None
    assert standing(job, "step") == "starting, 5 s so far…"
    job.where = WAITING
    assert standing(job, "step") == WAITING
    assert not place_of(job)  # and it is not said once more
    job.where = "A worker was lost."
    assert place_of(job) == job.where
    job.where = ""
    job.state, job.progress = "running", (10, 10)
    assert standing(job, "step") == "step 10 of 10, finishing…"
