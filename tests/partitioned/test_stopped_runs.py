"""A run that was stopped, at any point, goes on: nothing is drawn twice, nothing is lost."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.common import alternating
from dpmc_core.partitioned.journal import FolderError, RunFolder
from dpmc_core.privacy import budget
from dpmc_core.privacy.budget import Budget, Curator, plan
from dpmc_core.privacy.moments import sum_part
from tests.faults import FULL_DISK, raising
from tests.partitioned.folders import dpals_of, layout_of, ratings, released, written
from tests.programs import run_python
from tests.terminal import Terminal

RUNS: list[dict[str, Any]] = [
    {},
    {"start": "power", "centring": "mean", "sampling": "adaptive"},
    {"algorithm": "moments", "item_share": None, "epsilon": 20.0},
    {"algorithm": "irls", "item_share": None, "epsilon": None, "variance": 1.0, "iterations": 3},
]


class Stopped(Exception):
    """The machine went down."""


def contents(place: Path) -> dict[str, bytes]:
    """The files of the releases that were kept."""
    return {path.name: path.read_bytes() for path in (place / "released").glob("*.npz")}


def ones() -> np.ndarray:
    """A release of no importance."""
    return np.ones(3)


def refused(place: Path, settings: dict[str, Any], message: str) -> None:
    """A run that must not begin, or go on, in this folder."""
    with pytest.raises(FolderError, match=message), RunFolder(place, settings):
        pass


def stopped_at(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any], stop: int, *, after: bool
) -> None:
    """Run until release number ``stop`` is made, and end before or ``after`` it is kept."""
    write = RunFolder.write

    def cut(self: RunFolder, path: Path, content: bytes) -> None:
        last = path.name.startswith(f"{stop:04d}-")
        if after or not last:
            write(self, path, content)
        if last:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write", cut)
        with pytest.raises(Stopped):
            run()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("secret", [False, True])
@pytest.mark.parametrize("settings", RUNS, ids=str)
def test_a_run_stopped_before_or_after_any_release_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    secret: bool,
    after: bool,
) -> None:
    """With a seed the numbers are those of a run that was not stopped; with secret noise what was
    kept stays as it was. What is kept is never drawn again.
    """
    if secret and settings.get("algorithm") == "irls":
        pytest.skip("noise without a guarantee is never secret")
    settings = settings | ({"secret": True, "seed": None} if secret else {})
    layout = layout_of(written(tmp_path / "data", 3))
    draws: Counter[str] = Counter()
    for module in (budget, alternating):
        sample = module.sample

        def noted(release: Any, rng: Any, sample: Any = sample) -> Any:
            draws[release.what] += 1
            return sample(release, rng)

        monkeypatch.setattr(module, "sample", noted)
    whole = dpals_of(layout, tmp_path / "whole", **settings)
    usual, once = released(tmp_path / "whole"), draws.copy()
    draws.clear()
    place = tmp_path / "run"
    go_on = partial(dpals_of, layout, place, **settings)
    for stop in range(1, len(usual) + 1):
        before = contents(place)
        stopped_at(monkeypatch, go_on, stop, after=after)
        assert contents(place).items() >= before.items()
        assert len(released(place)) == stop - (not after)
        files = json.loads((place / "ledger.json").read_text())["files"] if stop > 1 else []
        # it stopped before the last release could be told of
        assert files == sorted(released(place))[: stop - 1]
    last = go_on()
    releases = released(place)
    assert releases.keys() == usual.keys()
    if not secret:
        for name, numbers in releases.items():
            np.testing.assert_allclose(numbers, usual[name], rtol=1e-10, atol=1e-10)
    if after:
        assert draws == once
    before_again = draws.copy()
    again = go_on()
    assert draws == before_again  # all is kept: nothing is drawn
    assert again.ledger == last.ledger
    objective = whole.step.objective
    for result in (last, again):
        assert secret or result.step.objective == (
            objective and pytest.approx(objective, rel=1e-10)
        )
    assert last.ledger.draws == last.draws_so_far


def test_which_folders_a_run_may_go_on_in(tmp_path: Path) -> None:
    place, other, rng = tmp_path / "run", tmp_path / "else", np.random.default_rng(1)
    with RunFolder(place, {"a": 0}):
        refused(place, {"a": 0}, "Another process works on the run")
    with RunFolder(place, {"a": 1}) as folder:  # nothing was released before
        folder.once("one", ones, rng)
    refused(place, {"a": 2}, "holds a run with other settings, other data")
    other.mkdir()
    (other / "letter.txt").touch()
    refused(other, {"a": 2}, r"holds other files \(letter.txt\)")
    for name, content, message in (
        ("two", None, "holds 'one' where the run releases 'two'"),
        ("one", b"PK nothing", "cannot be read"),
    ):
        (path,) = (place / "released").iterdir()
        if content:
            path.write_bytes(content)
        with RunFolder(place, {"a": 1}) as folder, pytest.raises(FolderError, match=message):
            folder.once(name, ones, rng)


def test_a_curator_releases_no_more_than_planned_whatever_its_journal_holds(tmp_path: Path) -> None:
    part = sum_part("a sum", clip=1.0, norm=2, coordinates=2, share=1.0)
    for epsilon in (1.0, 1.0, 2.0):
        planned = plan({"sum": part}, Budget(epsilon=epsilon))
        with RunFolder(tmp_path / "run", {}) as folder:
            curator = Curator(planned, np.random.default_rng(3), folder)
            if epsilon == 2.0:  # of another plan
                with pytest.raises(FolderError, match="with another noise or sensitivity"):
                    curator.release("sum", np.zeros(2))
                break
            first = curator.release("sum", np.zeros(2))
            with pytest.raises(RuntimeError, match="planned otherwise"):
                curator.release("sum", np.zeros(2))
            assert len(curator.made()) == 1
    (numbers,) = released(tmp_path / "run").values()
    np.testing.assert_array_equal(numbers, first)


@pytest.mark.long
def test_the_command_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    """A process that is killed while partitions are worked on, then the same command again."""
    folder = written(tmp_path / "data", 8, ratings(0, 2000))
    place = tmp_path / "run"
    line = f"-m dpmc_core large dpals --folder {folder} --user-column who --rank 3"
    line += f" --mechanism gaussian --epsilon 5 --item-share 0.6 --out {place}"
    process = subprocess.Popen([sys.executable, *line.split()], stderr=subprocess.PIPE)
    while len(contents(place)) < 3:
        assert process.poll() is None
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
    before = contents(place)
    done = run_python(*line.split(), "--json")
    assert done.returncode == 0, done.stderr
    assert f"holds releases of a run ({len(before)}): with the same settings" in done.stderr
    assert contents(place).items() >= before.items()
    printed = json.loads(done.stdout.splitlines()[-1])
    ledger = json.loads((place / "ledger.json").read_text())
    for name in ("finished", "ledger", "statement"):
        assert printed[name] == ledger[name]
    assert printed["finished"] is True


def test_the_command_asks_who_is_a_user_and_touches_no_other_folder(
    tmp_path: Path, terminal: Terminal
) -> None:
    """A wrong guess would protect a film; and a folder of data is no run's folder."""
    folder, place = written(tmp_path / "data", 2), tmp_path / "run"
    folder.chmod(0o755)
    line = f"large private-means --folder {folder} --mechanism gaussian --epsilon 2 --seed 1"
    question = "named by --user-column: one of who, what, stars; no name says who it is"
    assert question in terminal.refusal(f"{line} --out {place}")
    assert not place.exists()
    line += " --user-column who"
    assert "holds other files" in terminal.refusal(f"{line} --out {folder}")
    assert folder.stat().st_mode & 0o777 == 0o755
    assert all(path.suffix == ".parquet" for path in folder.iterdir())
    first, again = (terminal.output(f"{line} --out {place}") for _ in range(2))
    assert "columns: users who, items what, ratings stars" in first
    assert "rating scale: 1 to 5" in first
    assert "finished before" not in first
    assert "it was finished before: nothing was drawn again" in again


def test_nothing_half_written_stays_and_what_was_taken_away_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a release is seen onto the disk, a full disk, a killed process, and a file that
    is gone.
    """
    rng, place = np.random.default_rng(1), tmp_path / "run"
    for error, raised, message in (
        (KeyboardInterrupt(), KeyboardInterrupt, None),
        (FULL_DISK, FolderError, r"cannot be written \(No space left on device\)"),
    ):
        with RunFolder(place, {}) as folder, monkeypatch.context() as patch:
            patch.setattr("os.fsync", raising(error))
            with pytest.raises(raised, match=message):
                folder.once("one", ones, rng)
            assert not [*(place / "released").iterdir(), *place.rglob(".part-*")]
    (place / "released" / ".part-killed").write_bytes(b"a draw that nobody read")
    with RunFolder(place, {}) as folder:
        assert not list((place / "released").iterdir())
        for name in ("one", "two", "three"):
            folder.once(name, ones, rng)
    before = contents(place)
    one, two, three = sorted(before)
    for gone in (three, two):
        (place / "released" / gone).unlink()
        refused(place, {}, f"{gone} is no longer in")
        (place / "released" / gone).write_bytes(before[gone])
    ledger = (place / "ledger.json").read_text()
    (place / "ledger.json").unlink()
    refused(place, {}, r"ledger.json is no longer in")
    for gone in (three, two, one):
        (place / "released" / gone).unlink()
        refused(place, {}, r"ledger.json is no longer in")
    (place / "ledger.json").write_text(ledger.replace(f'"{two}",', ""))  # tells of others
    for name in (one, three):
        (place / "released" / name).write_bytes(before[name])
    with RunFolder(place, {}) as folder:
        folder.once("one", ones, rng)
        with pytest.raises(FolderError, match=r"number 2 \(two\) is no longer in"):
            folder.once("two", ones, rng)


@pytest.mark.parametrize("secret", [False, True])
def test_what_may_leave_does_not_tell_the_noise(tmp_path: Path, secret: bool) -> None:
    """From the state of a repeatable generator its draws can be worked out: it is kept apart. And a
    folder that was there is its owner's alone too.
    """
    place = tmp_path / "run"
    place.mkdir(mode=0o755)
    layout = layout_of(written(tmp_path / "data", 3))
    settings = {"algorithm": "private-means", "item_share": None, "rank": None}
    settings |= {"secret": True, "seed": None} if secret else {}
    dpals_of(layout, place, **settings)
    files = sorted((place / "released").iterdir())
    for path in files:
        assert set(np.load(path).files) == {"numbers", "name", "planned"}
    assert len(list((place / "states").iterdir())) == (0 if secret else len(files))
    for folder in (place, *(path for path in place.iterdir() if path.is_dir())):
        assert folder.stat().st_mode & 0o077 == 0, folder
