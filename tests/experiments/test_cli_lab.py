"""The commands sweep, runs and paper, as somebody at a terminal meets them."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.terminal import Terminal

TOML = """
name = "small"
seeds = 2
[base]
n_users = 30
n_items = 20
observed = 0.5
rank = 2
iterations = 2
[grid]
mechanism = ["none", "laplace"]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))
    (tmp_path / "sweep.toml").write_text(TOML)
    return str(tmp_path / "sweep.toml")


def test_a_sweep_its_runs_and_what_becomes_of_them(
    file: str, tmp_path: Path, terminal: Terminal
) -> None:
    first = terminal.json(f"sweep {file} --jobs 1")
    counts = {name: first[name] for name in ("done", "total", "already_there", "failures")}
    assert counts == {"done": 4, "total": 4, "already_there": 0, "failures": 0}
    plain, noisy = first["points"]
    assert plain["epsilon"] is None
    assert plain["unit"] == ""
    assert noisy["epsilon"] > 0
    assert noisy["nominal"]
    assert noisy["delta"] == 1e-5
    shown = terminal.output(f"sweep {file} --jobs 1")
    assert "4 of 4 runs of 'small'" in shown
    assert "nominal, one rating" in shown
    assert terminal.json("runs --mechanism laplace")["runs"] == 2
    for name, read in (("runs.csv", pd.read_csv), ("runs.parquet", pd.read_parquet)):
        terminal.output(f"runs export {tmp_path / name}")
        frame = read(tmp_path / name)
        assert len(frame) == 4
        assert json.loads(frame["spec"][0])["algorithm"]["rank"] == 2
    for line, message in (
        ("runs delete", "at least one of --kind"),
        (
            "runs delete --dataset nosuch",
            "--dataset = 'nosuch' is not allowed: it must be one that kept runs have",
        ),
        (f"runs export {tmp_path}/runs.txt", "a name that ends in .csv or .parquet"),
        (f"runs export {tmp_path}/no/runs.csv", "a place that can be written"),
        (f"runs add {file}", "holds no runs that can be added"),
    ):
        assert message in terminal.refusal(line)
    assert terminal.json("runs delete --mechanism none")["deleted"] == 2
    # what was deleted is made again
    assert terminal.json(f"sweep {file} --jobs 1")["already_there"] == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sweep nowhere.toml", "sweep file = 'nowhere.toml' is not allowed"),
        ("sweep FILE --jobs 0", "jobs = '0' is not allowed"),
        pytest.param(
            "sweep FILE --scheduler tcp://127.0.0.1:1",
            "No Dask scheduler answers at 'tcp://127.0.0.1:1'",
            marks=pytest.mark.long,  # it is waited for
        ),
        ("sweep FILE --store nosuch://x", "is no place for runs"),
        ("runs export", "file = '(none)' is not allowed: it must be the file to write"),
        ("runs", "There is no run store at"),
        ("runs --store typo/runs", "There is no run store at typo/runs yet"),
        ("runs export x.csv --store sqlite:///typo/x", "no run store at sqlite:///typo"),
        (
            "paper huber-table-99",
            "paper = 'huber-table-99' is not allowed: it must be one of huber-table-1",
        ),
        ("paper huber-table-1 --trials many", "trials = 'many' is not allowed"),
    ],
)
def test_mistakes_are_one_sentence(line: str, message: str, file: str, terminal: Terminal) -> None:
    assert message in terminal.refusal(line.replace("FILE", file))
    assert not Path("typo").exists()


@pytest.mark.usefixtures("file")
def test_papers_are_listed_and_one_is_tried(terminal: Terminal) -> None:
    assert "huber-table-3" in terminal.output("paper")
    rows = terminal.json("paper huber-table-1 --trials 1")["rows"]  # nothing is kept
    assert rows["variance=2;mechanism=laplace;delta=0;sensitivity=5"]["verdict"] == "reproduced"


def test_stored_rows_whose_data_is_not_here_are_not_lost(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    message = terminal.refusal("paper nmf-table-3 --keep")
    assert "stored rows would be lost, whose data (uci-news) is not here" in message
