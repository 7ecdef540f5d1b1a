"""Your own file on the command line: the same as on the page."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.cli.common.main import main
from dpmc_core.cli.common.user_data import kinds_for
from dpmc_core.datasets import own, user_datasets
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import PassingRuns
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import finished, sweep
from dpmc_core.experiments.sweeps.tradeoff import points_of
from dpmc_core.experiments.tasks.solve import noise_source
from tests.own.files import long_csv, picture, pictures_zip, zipped


def test_the_command_line_takes_the_same_files(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, faces = tmp_path / "my ratings.csv", tmp_path / "faces.zip"
    table.write_bytes(long_csv(30, 12))
    faces.write_bytes(pictures_zip(12))
    assert (
        main(
            [
                "complete",
                "--data",
                str(table),
                "--read",
                "twice=mean",
                "--rank",
                "2",
                "--iterations",
                "2",
                "--json",
            ]
        )
        == 0
    )
    printed = capsys.readouterr()
    summary = json.loads(printed.out.splitlines()[-1])
    mine = own.read("ratings", table.name, table.read_bytes(), twice="mean")
    with user_datasets.using(mine):
        spec = RunSpec.of(dataset=mine.name, rank=2, iterations=2)
        assert summary["rmse"] == run(spec).final.test_rmse
        assert (
            spec.command()
            == "python -m dpmc_core complete als --data 'my ratings.csv' --read twice=mean "
            "--rank 2 --iterations 2"
        )
        lines = spec.python()
    assert main(["factorize", "--data", str(faces), "--rank", "3", "--rounds", "2"]) == 0
    assert "12 images" in capsys.readouterr().out
    for words, said in (
        (["--data", str(tmp_path / "none.csv")], "cannot be read (No such file"),
        (["--data", str(table), "--dataset", "ml-1m"], "left out with --data"),
        (["--data", str(table), "--read", "user"], "NAME=VALUE"),
        (["--read", "user=x"], "left out without --data"),
        (
            ["--data", str(table), "--read", "kind=pickles"],
            "kind = 'pickles' is not allowed: it must be one of ratings",
        ),
        *(
            (
                ["--data", str(table), "--read", f"{name}=x"],
                f"read = '{name}' is not allowed: it must be one of kind, visit, layout",
            )
            for name in ("data", "file", "name", "title", "colour")
        ),
    ):
        assert main(["complete", *words]) == 2
        assert said in capsys.readouterr().err
    before = os.getcwd()
    try:
        os.chdir(tmp_path)
        room: dict[str, object] = {}
        exec(lines, room)
        assert room["result"].final.test_rmse == summary["rmse"]  # type: ignore[attr-defined]
    finally:
        os.chdir(before)
        user_datasets.put({})


def test_an_archive_with_both_is_what_it_is_said_to_be(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "faces.zip"
    both.write_bytes(
        zipped({"README.txt": b"twelve faces", **{f"{k}.png": picture(seed=k) for k in range(12)}})
    )
    words = ["factorize", "--data", str(both), "--rank", "3", "--rounds", "2"]
    assert main(words) == 2
    assert "documents" in capsys.readouterr().err
    assert main([*words, "--read", "kind=images"]) == 0
    assert "12 images" in capsys.readouterr().out
    mine = own.read("images", "faces.zip", both.read_bytes())
    assert mine.words() == "--data faces.zip --read kind=images"


@pytest.mark.long
def test_a_sweep_of_a_page_is_repeated_by_the_lines_that_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))
    Path("-my table.csv").write_bytes(long_csv(40, 12))
    name = "own-ratings-0123456789abcdef"
    mine = own.read("ratings", "-my table.csv", long_csv(40, 12), name=name, low="0")
    with user_datasets.using(mine):
        spec = SweepSpec.from_dict(
            {
                "seeds": 2,
                "base": {"dataset": name, "algorithm": "moments", "rank": 2, "secret": False},
                "grid": {"mechanism": ["gaussian"], "total_epsilon": [1.0, 5.0]},
            }
        )
        runs = PassingRuns()
        *_, last = sweep(spec, runs, jobs=1, sets=[mine])
        assert last.failures == 0
        shown = [point.mean for point in points_of(finished(spec, runs))]
        Path("a sweep.toml").write_text(spec.to_toml())
        command, python = spec.command("'a sweep.toml'"), spec.python()
    words = shlex.split(command)[3:]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [point["mean"] for point in said["points"]] == shown
    room: dict[str, object] = {}
    try:
        exec(python, room)
    finally:
        user_datasets.put({})
    printed = [line.split()[-2] for line in capsys.readouterr().out.splitlines()]
    assert printed == [str(mean) for mean in shown]
    assert not (tmp_path / "runs.sqlite").exists()  # nothing of it is kept
    for option in ("--scheduler=tcp://127.0.0.1:1", "--store=x.sqlite"):
        assert main([*words, option]) == 2
        assert "is not allowed: it must be left out with --data" in capsys.readouterr().err


def test_a_run_of_a_page_is_repeated_by_the_lines_that_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last digit: a page's set has a name that only its visit has, and noise hangs on it."""
    monkeypatch.chdir(tmp_path)
    Path("my table.csv").write_bytes(long_csv(40, 12))
    table = "\n".join(["book", *(f"book {k}" for k in range(14))]).encode()
    Path("-my books.csv").write_bytes(table)
    chosen = {"name": "own-ratings-0123456789abcdef", "low": "0", "high": "5", "users": "50"}
    mine = own.read("ratings", "my table.csv", long_csv(40, 12), **chosen)
    mine = own.with_items(mine, own.read_item_table("-my books.csv", table))
    amount = {"algorithm": "moments", "mechanism": "gaussian", "total_epsilon": 1.0, "rank": 2}
    with user_datasets.using(mine):
        spec = RunSpec.of(dataset=mine.name, seed=0, **amount)
        result = run(spec)
        shown = result.final.test_rmse
        assert not result.statement.nominal
        command, python = spec.command(), spec.python()
    assert main([*shlex.split(command)[3:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rmse"] == shown
    room: dict[str, object] = {}
    try:
        exec(python, room)
    finally:
        user_datasets.put({})
    assert room["result"].final.test_rmse == shown  # type: ignore[attr-defined]
    # and another visit draws other noise
    other = command.replace("0123456789abcdef", "0123456789abcde0")
    assert main([*shlex.split(other)[3:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rmse"] != shown
    # and so does another version of the file, whatever it is called
    Path("my table.csv").write_bytes(long_csv(40, 12) + b"\n1,r99,book 1,3")
    with user_datasets.using(mine):
        before = noise_source(spec).standard_normal(1000)
    for choices in ({"low": "0"}, {}):
        read = Path("my table.csv").read_bytes() if choices else long_csv(40, 12)
        changed = own.read("ratings", "my table.csv", read, name=mine.name, **choices)
        with user_datasets.using(changed):
            assert abs(np.corrcoef(before, noise_source(spec).standard_normal(1000))[0, 1]) < 0.16
    assert main([*shlex.split(command.replace("0123456789abcdef", "../x"))[3:]]) == 2
    assert "visit = '../x' is not allowed" in capsys.readouterr().err


def test_the_command_says_how_a_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{k % 12},{k % 8},g{k % 8},{1 + k % 5}" for k in range(96)]
    table = tmp_path / "games.csv"
    table.write_text("\n".join(["user,ID,name,rating", *rows]))

    def said(*options: str) -> dict[str, Any]:
        assert main(["datasets", "read", str(table), *options, "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return found

    found = said()
    assert (found["users"], found["items"], found["ratings"]) == (12, 8, 24)
    assert (found["low"], found["high"], found["layout"]) == (1.0, 5.0, "long")
    assert found["columns"] == {"user": "user", "item": "name", "rating": "rating"}
    (question,) = found["asked"]
    assert (question["field"], question["choices"]) == ("item", ["name", "ID"])
    assert "'name' is taken for items" in question["text"]
    for choice in question["choices"]:
        answered = said("--read", f"item={choice}")
        assert answered["asked"] == []
        assert answered["columns"]["item"] == choice
    assert main(["datasets", "read", str(table)]) == 0
    assert "user: user; item: name; rating: rating" in capsys.readouterr().out
    table.write_text("\n".join(["user,item,rating", *(f"u{k % 9},i{k},{k}e300" for k in range(9))]))
    for words, error in (
        ((str(table),), "a rating is 1e+300; ratings must be numbers from -1e+12 to 1e+12"),
        ((str(table), "--read", "separator=dash"), "separator = 'dash' is not allowed: it must be"),
        ((str(table), "--read", "header=perhaps"), "header = 'perhaps' is not allowed"),
        ((), "file is missing"),
    ):
        assert main(["datasets", "read", *words]) == 2
        printed = capsys.readouterr().err
        assert error in printed
        assert printed.count("\n") == 1


def test_a_table_and_an_archive_are_what_the_algorithm_takes() -> None:
    texts = ("class,body\n" + "c,some common words of text\n" * 9).encode()
    for algorithm, file, data, kind in (
        ("moments", "a.csv", long_csv(), "ratings"),
        (None, "a.txt", long_csv(), "ratings"),
        ("moment-nmf", "a.csv", texts, "documents"),
        ("moment-nmf", "a.zip", pictures_zip(), "images"),
        ("moment-nmf", "a.zip", zipped({"a.txt": b"words"}), "documents"),
    ):
        assert own.kind_of(file, data, kinds_for([algorithm])) == kind
    assert own.kind_of("a.csv", texts) == "documents"
    assert own.kind_of("a.csv", long_csv()) == "ratings"


@pytest.mark.long
def test_a_sweep_and_a_plan_take_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, file = tmp_path / "a.csv", tmp_path / "sweep.toml"
    table.write_bytes(long_csv(40, 12))
    file.write_text('name = "t"\nseeds = 1\n[base]\nalgorithm = "als"\nrank = 2\niterations = 2\n')
    assert main(["sweep", str(file), "--data", str(table)]) == 0
    words = ["plan", "model", "moments", "--data", str(table), "--rank", "2", "--target", "1e-9"]
    assert main([*words, "--mechanism", "gaussian"]) == 0
    assert "does not reach held-out RMSE at most 1e-09" in capsys.readouterr().out
