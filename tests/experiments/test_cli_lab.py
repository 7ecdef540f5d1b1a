"""The commands sweep, runs and paper, as somebody at a terminal meets them."""

import json
from pathlib import Path

import pandas as pd
import pytest

from dpmc_core.cli.common.main import main

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


def said(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_a_sweep_its_runs_and_what_becomes_of_them(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", file, "--jobs", "1", "--json"]) == 0
    found = said(capsys)
    assert (found["done"], found["total"], found["already_there"], found["failures"]) == (
        4,
        4,
        0,
        0,
    )
    plain, noisy = found["points"]
    assert plain["epsilon"] is None
    assert plain["unit"] == ""
    assert noisy["epsilon"] > 0
    assert noisy["nominal"]
    assert noisy["delta"] == 1e-5
    assert main(["sweep", file, "--jobs", "1"]) == 0
    words = capsys.readouterr().out
    assert "4 of 4 runs of 'small'" in words
    assert "nominal, one rating" in words
    assert main(["runs", "--mechanism", "laplace", "--json"]) == 0
    assert said(capsys)["runs"] == 2
    for name, read in (("runs.csv", pd.read_csv), ("runs.parquet", pd.read_parquet)):
        assert main(["runs", "export", str(tmp_path / name)]) == 0
        frame = read(tmp_path / name)
        assert len(frame) == 4
        assert json.loads(frame["spec"][0])["algorithm"]["rank"] == 2
    assert main(["runs", "delete", "--mechanism", "none", "--json"]) == 0
    assert said(capsys)["deleted"] == 2
    assert main(["sweep", file, "--jobs", "1", "--json"]) == 0
    assert said(capsys)["already_there"] == 2  # what was deleted is made again


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "nowhere.toml"], "sweep file = 'nowhere.toml' is not allowed"),
        (["sweep", "FILE", "--jobs", "0"], "jobs = '0' is not allowed"),
        (
            ["sweep", "FILE", "--scheduler", "tcp://127.0.0.1:1"],
            "No Dask scheduler answers at 'tcp://127.0.0.1:1'",
        ),
        (["sweep", "FILE", "--store", "nosuch://x"], "is no place for runs"),
        (["runs", "export"], "file = '(none)' is not allowed: it must be the file to write"),
        (["runs"], "There is no run store at"),
        (["runs", "--store", "typo/runs"], "There is no run store at typo/runs yet"),
        (
            ["runs", "export", "x.csv", "--store", "sqlite:///typo/x"],
            "no run store at sqlite:///typo",
        ),
        (
            ["paper", "huber-table-99"],
            "paper = 'huber-table-99' is not allowed: it must be one of huber-table-1",
        ),
        (["paper", "huber-table-1", "--trials", "many"], "trials = 'many' is not allowed"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file if word == "FILE" else word for word in words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
    assert not Path("typo").exists()


def test_mistakes_with_a_store(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", file, "--jobs", "1"]) == 0
    for words, message in (
        (["runs", "delete"], "at least one of --kind"),
        (
            ["runs", "delete", "--dataset", "nosuch"],
            "--dataset = 'nosuch' is not allowed: it must be one that kept runs have",
        ),
        (["runs", "export", str(tmp_path / "runs.txt")], "a name that ends in .csv or .parquet"),
        (["runs", "export", str(tmp_path / "no" / "runs.csv")], "a place that can be written"),
        (["runs", "add", str(tmp_path / "sweep.toml")], "holds no runs that can be added"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err


def test_papers_are_listed_and_one_is_tried(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper"]) == 0
    assert "huber-table-3" in capsys.readouterr().out
    assert (
        main(["paper", "huber-table-1", "--trials", "1", "--json"]) == 0
    )  # with trials nothing is kept
    rows = said(capsys)["rows"]
    assert rows["variance=2;mechanism=laplace;delta=0;sensitivity=5"]["verdict"] == "reproduced"
