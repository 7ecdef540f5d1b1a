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

from dpmc_core.cli.common.main import main
from dpmc_core.completion.als import learn_als
from dpmc_core.completion.irls import learn_irls
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.journal import FolderError, RunFolder
from dpmc_core.privacy import budget
from dpmc_core.privacy.budget import Budget, Curator, plan
from dpmc_core.privacy.moments import sum_part
from tests.partitioned.folders import ratings, written
from tests.partitioned.test_cluster import released, result_of
from tests.partitioned.test_same_numbers import layout_of

RUNS: list[dict[str, Any]] = [
    {},
    {"start": "power", "centring": "mean", "sampling": "adaptive"},
    {"algorithm": "moments", "item_share": None, "epsilon": 20.0},
    {"algorithm": "irls", "item_share": None, "epsilon": None, "variance": 1.0, "iterations": 3},
]


class Stopped(Exception):
    """The machine went down."""


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
def test_stopped_before_or_after_any_release(
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
    layout = layout_of(written(ratings(), tmp_path / "data", 3))
    drawn: Counter[str] = Counter()
    for module in (budget, sys.modules[learn_als.__module__], sys.modules[learn_irls.__module__]):
        sample = module.sample

        def noted(release: Any, rng: Any, sample: Any = sample) -> Any:
            drawn[release.what] += 1
            return sample(release, rng)

        monkeypatch.setattr(module, "sample", noted)
    whole = result_of(layout, Here(), tmp_path / "whole", **settings)
    usual, once = released(tmp_path / "whole"), drawn.copy()
    drawn.clear()
    place = tmp_path / "run"
    go_on = partial(result_of, layout, Here(), place, **settings)
    for stop in range(1, len(usual) + 1):
        kept = {p: p.read_bytes() for p in place.glob("released/*.npz")}
        stopped_at(monkeypatch, go_on, stop, after=after)
        assert all(p.read_bytes() == content for p, content in kept.items())
        assert len(released(place)) == stop - (not after)
        told = json.loads((place / "ledger.json").read_text()) if stop > 1 else {"files": []}
        # it stopped before the last release could be told of
        assert told["files"] == sorted(released(place))[: stop - 1]
    last = go_on()
    found = released(place)
    assert found.keys() == usual.keys()
    if not secret:
        for name, numbers in found.items():
            np.testing.assert_allclose(numbers, usual[name], rtol=1e-10, atol=1e-10)
    if after:
        assert drawn == once
    again = drawn.copy()
    once_more = go_on()
    assert once_more.ledger == last.ledger
    if whole.step.objective is None or secret:
        assert (once_more.step.objective is None) == (whole.step.objective is None)
    else:
        for found_again in (last, once_more):
            assert found_again.step.objective == pytest.approx(whole.step.objective, rel=1e-10)
    assert drawn == again  # all is kept: nothing is drawn
    assert last.ledger.draws == last.made


def test_two_processes_never_go_on_at_once(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path / "run", {"a": 1}),
        pytest.raises(FolderError, match="Another process works on the run"),
        RunFolder(tmp_path / "run", {"a": 1}),
    ):
        pass
    with RunFolder(tmp_path / "run", {"a": 1}):
        pass


def test_other_settings_or_other_files_are_refused(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", {"a": 0}):
        pass
    with RunFolder(tmp_path / "run", {"a": 1}) as folder:  # nothing was released before
        folder.once("one", lambda: np.ones(3), np.random.default_rng(1))
    with (
        pytest.raises(FolderError, match="holds a run with other settings, other data"),
        RunFolder(tmp_path / "run", {"a": 2}),
    ):
        pass
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "letter.txt").write_text("")
    with (
        pytest.raises(FolderError, match=r"holds other files \(letter.txt\)"),
        RunFolder(tmp_path / "else", {"a": 2}),
    ):
        pass


def test_changed_or_damaged_releases_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    with RunFolder(tmp_path / "run", {}) as folder:
        folder.once("one", lambda: np.ones(3), rng)
    (path,) = (tmp_path / "run" / "released").iterdir()
    with (
        RunFolder(tmp_path / "run", {}) as folder,
        pytest.raises(FolderError, match="holds 'one' where the run releases 'two'"),
    ):
        folder.once("two", lambda: np.ones(3), rng)
    path.write_bytes(b"PK nothing")
    with (
        RunFolder(tmp_path / "run", {}) as folder,
        pytest.raises(FolderError, match="cannot be read"),
    ):
        folder.once("one", lambda: np.ones(3), rng)


def test_a_full_disk_of_the_curator_is_told_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    rng = np.random.default_rng(1)
    with RunFolder(tmp_path / "run", {}) as folder:
        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(FolderError, match=r"cannot be written \(No space left on device\)"):
            folder.once("one", lambda: np.ones(3), rng)
        assert not list((tmp_path / "run" / "released").iterdir())


def test_a_curator_releases_no_more_than_planned_whatever_its_journal_holds(tmp_path: Path) -> None:
    part = sum_part("a sum", clip=1.0, norm=2, coordinates=2, share=1.0)
    planned = plan({"sum": part}, Budget(epsilon=1.0))
    for _ in range(2):
        with RunFolder(tmp_path / "run", {}) as folder:
            curator = Curator(planned, np.random.default_rng(3), folder)
            first = curator.release("sum", np.zeros(2))
            with pytest.raises(RuntimeError, match="planned otherwise"):
                curator.release("sum", np.zeros(2))
            assert len(curator.made()) == 1
    (path,) = (tmp_path / "run" / "released").iterdir()
    np.testing.assert_array_equal(np.load(path)["numbers"], first)


@pytest.mark.long
def test_the_command_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    """A process that is killed while partitions are worked on, then the same command again."""
    folder = written(ratings(0, 2000), tmp_path / "data", 8)
    words = [sys.executable, "-m", "dpmc_core", "large", "dpals", "--folder", str(folder)]
    words += [
        "--user-column",
        "who",
        "--rank",
        "3",
        "--mechanism",
        "gaussian",
        "--epsilon",
        "5",
        "--item-share",
        "0.6",
    ]
    place = tmp_path / "run"
    process = subprocess.Popen([*words, "--out", str(place)], stderr=subprocess.PIPE)
    while len(list(place.glob("released/*.npz"))) < 3:
        assert process.poll() is None
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
    kept = {p: p.read_bytes() for p in place.glob("released/*.npz")}
    done = subprocess.run(
        [*words, "--out", str(place), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"holds releases of a run ({len(kept)}): with the same settings" in done.stderr
    assert all(p.read_bytes() == content for p, content in kept.items())
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["finished"] is True
    kept_ledger = json.loads((place / "ledger.json").read_text())
    assert said["ledger"] == kept_ledger["ledger"]
    assert kept_ledger["finished"]
    assert said["statement"] == kept_ledger["statement"]


def test_the_command_asks_who_is_a_user_and_touches_no_other_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong guess would protect a film; and a folder of data is no run's folder."""
    folder = written(ratings(), tmp_path / "data", 2)
    folder.chmod(0o755)
    words = ["large", "private-means", "--folder", str(folder), "--mechanism", "gaussian"]
    words += ["--epsilon", "2", "--seed", "1"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 2
    asked = "named by --user-column: one of who, what, stars; no name says who it is"
    assert asked in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    words += ["--user-column", "who"]
    assert main([*words, "--out", str(folder)]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert folder.stat().st_mode & 0o777 == 0o755
    assert all(path.suffix == ".parquet" for path in folder.iterdir())
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "columns: users who, items what, ratings stars" in said
    assert "rating scale: 1 to 5" in said
    assert "finished before" not in said
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert "it was finished before: nothing was drawn again" in capsys.readouterr().out


def test_nothing_half_written_stays_and_what_was_taken_away_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a release is seen onto the disk, a killed process, and a file that is gone."""
    rng, place = np.random.default_rng(1), tmp_path / "run"

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with RunFolder(place, {}) as folder:
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                folder.once("one", lambda: np.ones(3), rng)
        assert not list((place / "released").iterdir())
    (place / "released" / ".part-killed").write_bytes(b"a draw that nobody read")
    with RunFolder(place, {}) as folder:
        assert not list((place / "released").iterdir())
        for name in ("one", "two", "three"):
            folder.once(name, lambda: np.ones(3), rng)
    kept = {path.name: path.read_bytes() for path in (place / "released").iterdir()}
    for gone in ("0003-three.npz", "0002-two.npz"):
        (place / "released" / gone).unlink()
        with pytest.raises(FolderError, match=f"{gone} is no longer in"), RunFolder(place, {}):
            pass
        (place / "released" / gone).write_bytes(kept[gone])
    ledger = (place / "ledger.json").read_text()
    (place / "ledger.json").unlink()
    for gone in ("", "0003-three.npz", "0002-two.npz", "0001-one.npz"):
        (place / "released" / gone).unlink() if gone else None
        with pytest.raises(FolderError, match=r"ledger.json is no longer in"):
            RunFolder(place, {}).__enter__()
    (place / "ledger.json").write_text(ledger.replace('"0002-two.npz",', ""))  # tells of others
    for name in ("0001-one.npz", "0003-three.npz"):
        (place / "released" / name).write_bytes(kept[name])
    with RunFolder(place, {}) as folder:
        folder.once("one", lambda: np.zeros(3), rng)
        with pytest.raises(FolderError, match=r"number 2 \(two\) is no longer in"):
            folder.once("two", lambda: np.zeros(3), rng)


@pytest.mark.parametrize("secret", [False, True])
def test_what_may_leave_does_not_tell_the_noise(tmp_path: Path, secret: bool) -> None:
    """From the state of a repeatable generator its draws can be worked out: it is kept apart."""
    layout = layout_of(written(ratings(), tmp_path / "data", 3))
    settings = {"algorithm": "private-means", "item_share": None, "rank": None}
    result_of(
        layout,
        Here(),
        tmp_path / "run",
        **settings,
        **({"secret": True, "seed": None} if secret else {}),
    )
    kept = sorted((tmp_path / "run" / "released").iterdir())
    for path in kept:
        assert set(np.load(path).files) == {"numbers", "name", "planned"}
    states = list((tmp_path / "run" / "states").iterdir())
    assert len(states) == (0 if secret else len(kept))


def test_a_folder_that_was_there_is_its_owners_alone_too(tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.mkdir(mode=0o755)
    layout = layout_of(written(ratings(), tmp_path / "data", 2))
    result_of(layout, Here(), place)
    for folder in (place, *(path for path in place.iterdir() if path.is_dir())):
        assert folder.stat().st_mode & 0o077 == 0, folder


def test_a_release_of_another_plan_is_refused(tmp_path: Path) -> None:
    part = sum_part("a sum", clip=1.0, norm=2, coordinates=2, share=1.0)
    for epsilon in (1.0, 2.0):
        planned = plan({"sum": part}, Budget(epsilon=epsilon))
        with RunFolder(tmp_path / "run", {}) as folder:
            curator = Curator(planned, np.random.default_rng(3), folder)
            if epsilon == 1.0:
                curator.release("sum", np.zeros(2))
                continue
            with pytest.raises(FolderError, match="with another noise or sensitivity"):
                curator.release("sum", np.zeros(2))
