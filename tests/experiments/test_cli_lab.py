"""The commands sweep, runs and paper, as somebody at a terminal meets them, and commands that are
mistaken, each told in one sentence that says what is allowed.
"""

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


NOISELESS = "left out without noise; choose a mechanism"
REFUSED = [
    ("complete --alpha 50", "alpha = '50' is not allowed: it must be a number from 0.01 to 20"),
    ("complete --colour red", "nrecognized arguments"),
    ("complete --iter 3", "nrecognized arguments"),
    ("mechanism huber --scale 0", "scale = '0'"),
    ("mechanism laplace --alpha 2", "laplace, which has no alpha"),
    ("mechanism cauchy", "invalid choice"),
    ("datasets fetch netflix", "dataset = 'netflix'"),
    ("datasets fetch", "one of low-rank"),
    ("complete --spec {", "spec = '{'"),
    ("", "required"),
    ("mechanism staircase --epsilon 800", "from 1e-100 to 700"),
    ("mechanism staircase --epsilon 5e-324", "from 1e-100 to 700"),
    ("mechanism staircase --variance 2 --gamma 0.5", "gamma"),
    ("mechanism gaussian --scale 1e200", "scale = '1e200'"),
    # an amount of noise without a mechanism is never a run without noise
    ("complete --variance 2", NOISELESS),
    ("complete private-means --dataset skewed --epsilon 1", NOISELESS),
    ("complete dpals --total-epsilon 1", NOISELESS),
    ("complete private-means --epsilon 1", NOISELESS),
    (
        """complete --spec '{"version": 2, "algorithm": {"name": "private-means"}, """
        """"noise": {"epsilon": 1.0}}'""",
        NOISELESS,
    ),
    ("factorize private-nmf --dataset cartoon --epsilon 5", NOISELESS),
    # negative numbers are values, and what is no number is named
    ("mechanism laplace --scale -1e5", "scale = '-1e5' is not allowed"),
    ("mechanism laplace --scale -.5", "scale = '-.5' is not allowed"),
    ("mechanism laplace --release 1_5", "release = '1_5' is not allowed"),
    ("complete als --reg -1e-5", "reg = '-1e-5' is not allowed"),
    ("complete als --rank 1_6", "rank = '1_6' is not allowed"),
    ("mechanism laplace --samples 1_0", "samples = '1_0' is not allowed"),
    ("audit --runs many", "runs = 'many'"),
    ("audit --spec {", "spec = '{'"),
    ("audit --outputs x.csv --epsilon 1 --record 3", "left out with --outputs"),
    ("account", "family = '(none)' is not allowed: it must be one of huber"),
    ("account laplace --delta 0", "delta = '0' is not allowed"),
    ("account laplace --target-epsilon -1", "target_epsilon = '-1' is not allowed"),
    ("account laplace --l1 1 --l2 2", "l2_sensitivity = 2"),
    ("account laplace --count 1.5", "count = '1.5'"),
    ("account laplace --alpha 2", "alpha = 2.0 is not allowed: it must be left out for laplace"),
    ("account laplace --scale 1 --variance 1", "left out when scale is given"),
    (
        "account laplace --ledger x.json",
        "family = 'laplace' is not allowed: it must be left out with --ledger",
    ),
    ("account --ledger none.json", "cannot be read"),
    ("account staircase --scale 1", "left out for staircase"),
    ("mechanism laplace --release x", "release = 'x'"),
    ("mechanism staircase --release 1", ""),
    ("plan", "epsilon is missing: it must be given, or people and margin"),
    ("plan --margin 1 --people 9 --epsilon 1", "it must be left out, or another of"),
    ("plan count --margin 1 --people 9", "left out for a count"),
    ("plan --margin 1 --people 9 --low 5 --high 5", "low = 5.0 is not allowed"),
    ("plan --margin 0 --people 9", "margin = '0' is not allowed"),
    ("plan median --margin 1", "one of mean, sum, count, histogram"),
    ("plan --margin 1 --people 9 --delta 0.5", "at most 0.01"),
    ("plan --margin 50 --people 9", "the middle of the range is never further off"),
    ("plan count --margin 1 --low 3", "left out for a count, which does not read"),
    ("plan --margin 1 --people 9 --bins 7", "left out for a mean, which does not read"),
    ("plan count --epsilon nan", "epsilon = 'nan' is not allowed"),
    ("plan count --query sum --margin 3", "query"),
    ("plan --bins x", "bins = 'x'"),
    ("plan project", "file"),
    ("plan mean project", "project"),
    ("factorize --w2v --rank 2", "left out for images"),
    ("factorize --rank many", "rank = 'many' is not allowed"),
    ("complete als --recall-at 7", "recall_at = 7 is not allowed: it must be left out unless"),
    ("plan model als --dataset low-rank", "one with a guarantee: moments"),
    # of sweeps and what was kept of them
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
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_a_mistaken_command_is_one_sentence(
    line: str, message: str, file: str, terminal: Terminal
) -> None:
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
