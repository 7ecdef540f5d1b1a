"""Commands end well: with one sentence and their own exit code, and leave no process behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import record_of
from dpmc_core.experiments.store.store import RunStore, StoreError
from dpmc_core.experiments.sweeps.sweep import make_all
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.paths import read_file
from tests.partitioned.folders import written
from tests.programs import run_python
from tests.terminal import Terminal

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(os.name != "posix", reason="needs signals, devices and pipes"),
]
COMMAND = (sys.executable, "-m", "dpmc_core")
LONG = ("complete", "als", "--dataset", "low-rank", "--rank", "64", "--iterations", "500")


@pytest.fixture(autouse=True)
def _ctrl_c_is_heeded() -> Iterator[None]:
    """A process inherits that it is ignored, as it is where these tests run in the background."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


# Python itself was still starting: nothing was loaded
PYTHON_STARTS = ("Fatal Python error: init_", "Could not import runpy module")
SWEEP = """
seeds = 400
[base]
algorithm = "als"
dataset = "low-rank"
rank = 8
iterations = 20
[grid]
mechanism = ["huber"]
variance = [1.0]
"""


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "absent"])
@pytest.mark.parametrize("line", ["complete als --data", "sweep", "account --ledger", "runs add"])
def test_what_is_no_file_is_refused_at_once(
    line: str, kind: str, tmp_path: Path, terminal: Terminal
) -> None:
    place = Path("/dev/zero") if kind == "device" else tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    assert re.search("cannot be read|no such|No such", terminal.refusal(f"{line} {place}"))


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    place = tmp_path / "x"
    place.write_bytes(b"x" * 1000)
    assert read_file(place, 1000) == b"x" * 1000
    with pytest.raises(DataError, match=r"x has 0.0 MB; at most 0.000999 MB are allowed"):
        read_file(place, 999)


def ended(line: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    """A command that has ended; its output is read where no stream is given."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run([*COMMAND, *line.split()], check=False, **pipes | streams)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_and_error_that_are_full() -> None:
    """A run outlives its messages: its noise is secret, so the result cannot be had again."""
    with Path("/dev/full").open("w") as full:
        for line in ("mechanism huber", "mechanism huber --json"):
            done = ended(line, stdout=full)
            assert done.returncode == os.EX_IOERR
            assert re.fullmatch("error: standard output takes no more .*\n", done.stderr)
        sizes = "--n-users 60 --n-items 20 --n-ratings 600 --dataset skewed"
        noise = "--mechanism=gaussian --epsilon=1 --secret --json"
        done = ended(f"complete private-means {sizes} {noise}", stderr=full)
    assert done.returncode == 0
    first, *_, last = done.stdout.splitlines()
    assert first == "standard error takes no more (No space left on device): messages follow here."
    assert json.loads(last)["rmse"] > 0


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_every_encoding_takes_every_word(encoding: str) -> None:
    where = {**os.environ, "PYTHONIOENCODING": encoding}
    done = run_python(*COMMAND[1:], "mechanism", "huber", env=where)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("ε" if encoding == "utf-8" else "\\u03b5") in done.stdout


@pytest.mark.parametrize("after", [0.1, 0.5, 2.0, 4.0])
def test_ctrl_c_ends_a_command_at_any_moment(after: float) -> None:
    code, text, _ = ended_by(LONG, signal.SIGINT, after.__le__)
    if code == -signal.SIGINT or text.startswith(PYTHON_STARTS):
        return
    assert code == 130
    assert "stopped" in text
    assert "Traceback" not in text
    assert ("test RMSE" in text) == ("iteration" in text)


def ended_by(
    words: Sequence[str], sent: signal.Signals, due: Callable[[float], bool], twice: bool = False
) -> tuple[int, str, int]:
    """Exit code and words of a command whose whole group gets a signal, as Ctrl-C does, where that
    is ``due`` after so many seconds, and how many processes it had then; fails where anything of it
    is left after a while.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen([*COMMAND, *words], start_new_session=True, **pipes)
    while "dpmc_core" not in psutil.Process(process.pid).cmdline():  # Python has not begun yet
        time.sleep(0.01)
    began = time.monotonic()
    while not due(time.monotonic() - began):
        assert process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, sent) if sent == signal.SIGINT else process.send_signal(sent)
    if twice:
        time.sleep(0.3)
        os.killpg(process.pid, sent)
    text, _ = process.communicate(timeout=60)  # nobody holds the pipe any longer
    assert psutil.wait_procs(children, timeout=60)[1] == []  # they look once a second
    return process.returncode, text, len(children)


def test_the_exit_code_stands_wherever_the_interrupt_came(tmp_path: Path) -> None:
    """Python ends by SIGINT where one has passed through code made from text."""
    (tmp_path / "interrupted.py").write_text(
        "from contextlib import suppress\nfrom dpmc_core.__main__ import end\n"
        "with suppress(KeyboardInterrupt):\n    exec('raise KeyboardInterrupt')\nend(143)\n"
    )
    path = os.pathsep.join((str(tmp_path), os.getcwd()))
    command = [sys.executable, "-m", "interrupted"]
    assert subprocess.run(command, env={**os.environ, "PYTHONPATH": path}).returncode == 143


@pytest.mark.parametrize(
    ("sent", "code", "after"),
    [
        *((signal.SIGINT, 130, after) for after in (1.5, 3.0, None)),
        (signal.SIGTERM, 143, 2.0),
        *((signal.SIGKILL, -9, after) for after in (2.0, None)),
    ],
)
def test_workers_heed_the_end_and_none_is_left_behind(
    sent: signal.Signals,
    code: int,
    after: float | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of sweeps, also once three runs are done, and of partitions: nothing is swallowed, and no
    child has a last word.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # one that is killed leaves its files there
    (tmp_path / "sweep.toml").write_text(SWEEP)
    sweep = f"sweep {tmp_path}/sweep.toml --store {tmp_path}/runs"
    if after is None:
        with RunStore(tmp_path / "runs") as store:
            ended, text, workers = ended_by(sweep.split(), sent, lambda _: store.count() >= 3)
        assert (ended, workers >= 2) == (code, True)
        assert "Traceback" not in text
        assert ("the same command goes on from here" in text) == (sent == signal.SIGINT)
        return
    folder = written(tmp_path / "data", 3)
    large = f"large als --folder {folder} --out {tmp_path}/out --user-column who --workers 2"
    for line in (sweep, f"{large} --iterations 500 --rank 20"):
        # the second may come when Python itself has ended, and no longer handles it
        for twice, codes in ((False, [code]), (True, [code, -sent]))[: 1 + (code == 130)]:
            ended, text, _ = ended_by(line.split(), sent, after.__le__, twice)
            assert ended in codes, text
            assert "stopped" in text or twice or code == -9
            assert "Traceback" not in text


def test_a_store_that_can_only_be_read_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "runs.sqlite"
    spec, other = (
        RunSpec.of(algorithm="als", dataset="low-rank", rank=rank, iterations=1) for rank in (2, 3)
    )
    record, new = (record_of(run(one)) for one in (spec, other))
    with RunStore(place) as store:
        store.add(record)
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # a read-only medium
    # nothing is run in vain
    monkeypatch.setattr("dpmc_core.experiments.sweeps.workers.run_single_threaded", None)
    for url in (place, f"sqlite:///file:{place}?mode=ro&uri=true"):
        with RunStore(url) as store:
            assert store.find([record.key, new.key]) == {record.key: record}
            with pytest.raises(StoreError, match=r"could not be kept.*may not write there"):
                store.add(new)
            with pytest.raises(StoreError, match=r"could not be written.*may not write there"):
                list(make_all({new.key: other}, store, Workers(1)))
            *_, last = make_all({record.key: spec}, store, Workers(1))
            assert last.done == 1  # nothing is missing, so nothing has to be written
        assert url != place or sorted(tmp_path.iterdir()) == before
