"""Your own file on the command line: the same as on the page."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dpmc_core.cli.common.main import main
from dpmc_core.cli.common.user_data import kinds_for
from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import PassingRuns
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import finished, sweep
from dpmc_core.experiments.sweeps.tradeoff import points_of
from dpmc_core.experiments.tasks.solve import noise_source
from tests.own.files import long_csv, picture, pictures_zip, read_table, table_of, zipped
from tests.terminal import Terminal

VISIT = "0123456789abcdef"  # as a page's visit names its sets
TABLE = long_csv(40, 12)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "runs.sqlite"))
    Path("-my table.csv").write_bytes(TABLE)
    yield
    user_datasets.put({})


def brought(data: bytes = TABLE, **choices: str) -> OwnSet:
    """The table as a page's visit has it."""
    return read_table(data, "-my table.csv", name=f"own-ratings-{VISIT}", **choices)


def executed(python: str, terminal: Terminal) -> list[str]:
    """The lines that lines of Python print."""
    exec(python, {})
    return terminal.capsys.readouterr().out.splitlines()


def test_what_is_said_wrongly_about_a_file_is_refused(terminal: Terminal) -> None:
    one_of = "is not allowed: it must be one of"
    for options, message in (
        ("--data none.csv", "cannot be read (No such file"),
        ("--read user=x", "left out without --data"),
        ("--data='-my table.csv' --dataset ml-1m", "left out with --data"),
        ("--data='-my table.csv' --read user", "NAME=VALUE"),
        ("--data='-my table.csv' --read kind=pickles", f"kind = 'pickles' {one_of} ratings"),
        *(
            (
                f"--data='-my table.csv' --read {name}=x",
                f"read = '{name}' {one_of} kind, visit, layout",
            )
            for name in ("data", "file", "name", "title", "colour")
        ),
    ):
        assert message in terminal.refusal(f"complete {options}")


def test_an_archive_with_both_is_what_it_is_said_to_be(terminal: Terminal) -> None:
    both = {"README.txt": b"twelve faces", **{f"{k}.png": picture(seed=k) for k in range(12)}}
    Path("faces.zip").write_bytes(zipped(both))
    line = "factorize --data faces.zip --rank 3 --rounds 2"
    assert "documents" in terminal.refusal(line)
    assert "12 images" in terminal.output(f"{line} --read kind=images")
    images = own.read("images", "faces.zip", zipped(both))
    assert images.words() == "--data faces.zip --read kind=images"


@pytest.mark.long
def test_a_sweep_of_a_page_is_repeated_by_the_lines_that_it_shows(terminal: Terminal) -> None:
    own_set = brought(low="0")
    with user_datasets.using(own_set):
        spec = SweepSpec.from_toml(
            f'seeds = 1\n[base]\ndataset = "{own_set.name}"\nalgorithm = "moments"\nrank = 2\n'
            'secret = false\n[grid]\nmechanism = ["gaussian"]\ntotal_epsilon = [1.0, 5.0]\n'
        )
        runs = PassingRuns()
        *_, last = sweep(spec, runs, jobs=1)
        assert (last.done, last.failures) == (2, 0)
        means = [point.mean for point in points_of(finished(spec, runs))]
        Path("a sweep.toml").write_text(spec.to_toml())
        command, python = spec.command("'a sweep.toml'"), spec.python()
    assert [point["mean"] for point in terminal.json(command)["points"]] == means
    printed = [line.split()[-2] for line in executed(python, terminal)]
    assert printed == [str(mean) for mean in means]
    assert not Path("runs.sqlite").exists()  # nothing of it is kept
    for option in ("--scheduler=tcp://127.0.0.1:1", "--store=x.sqlite"):
        assert main(shlex.split(f"{command} {option}")[3:]) == 2
        message = "is not allowed: it must be left out with --data"
        assert message in terminal.capsys.readouterr().err


def test_a_run_of_a_page_is_repeated_by_the_lines_that_it_shows(terminal: Terminal) -> None:
    """To the last digit: a page's set has a name that only its visit has, and noise hangs on it."""
    listed = "\n".join(["book", *(f"book {k}" for k in range(14))]).encode()
    Path("-my books.csv").write_bytes(listed)
    items = own.read_item_table("-my books.csv", listed)
    noise = {"algorithm": "moments", "mechanism": "gaussian", "total_epsilon": 1.0, "rank": 2}
    own_set = own.with_items(brought(low="0", high="5", users="50"), items)
    with user_datasets.using(own_set):
        spec = RunSpec.of(dataset=own_set.name, seed=0, **noise)
        result = run(spec)
        command, python = spec.command(), spec.python()
        draws = noise_source(spec).standard_normal(1000)
    assert not result.statement.nominal
    rmse = result.final.test_rmse
    assert "--data='-my table.csv' --items='-my books.csv'" in command
    assert terminal.json(command)["rmse"] == rmse
    assert executed(python, terminal)[-1].startswith(f"{rmse} ")
    # and another visit draws other noise
    assert terminal.json(command.replace(VISIT, VISIT[::-1]))["rmse"] != rmse
    # and so does another version of the file, whatever it is called, or another scale
    for changed in (brought(TABLE + b"\n1,r99,book 1,3", low="0"), brought()):
        with user_datasets.using(changed):
            others = noise_source(spec).standard_normal(1000)
        assert abs(np.corrcoef(draws, others)[0, 1]) < 0.16
    odd = command.removeprefix("python -m dpmc_core ").replace(VISIT, "../x")
    assert "visit = '../x' is not allowed" in terminal.refusal(odd)


def test_the_command_says_how_a_file_is_read(terminal: Terminal) -> None:
    rows = (f"{k % 12},{k % 8},g{k % 8},{1 + k % 5}" for k in range(96))
    table, line = Path("games.csv"), "datasets read games.csv"
    table.write_bytes(table_of(*rows, header="user,ID,name,rating"))
    reading = terminal.json(line)
    (question,) = reading.pop("asked")
    expected = {"users": 12, "items": 8, "ratings": 24, "low": 1.0, "high": 5.0, "layout": "long"}
    columns = {"user": "user", "item": "name", "rating": "rating"}
    assert reading == {**reading, **expected, "columns": columns}
    assert (question["field"], question["choices"]) == ("item", ["name", "ID"])
    assert "'name' is taken for items" in question["text"]
    for choice in question["choices"]:
        answered = terminal.json(f"{line} --read item={choice}")
        assert (answered["asked"], answered["columns"]["item"]) == ([], choice)
    assert "user: user; item: name; rating: rating" in terminal.output(line)
    table.write_bytes(table_of(*(f"u{k % 9},i{k},{k}e300" for k in range(9))))
    for words, message in (
        (line, "a rating is 1e+300; ratings must be numbers from -1e+12 to 1e+12"),
        (f"{line} --read separator=dash", "separator = 'dash' is not allowed: it must be"),
        (f"{line} --read header=perhaps", "header = 'perhaps' is not allowed"),
        ("datasets read", "file is missing"),
    ):
        assert message in terminal.refusal(words)


TEXTS = table_of(*["c,some common words of text"] * 9, header="class,body")


@pytest.mark.parametrize(
    ("algorithm", "file", "data", "kind"),
    [
        ("moments", "a.csv", TABLE, "ratings"),
        (None, "a.txt", TABLE, "ratings"),
        ("moment-nmf", "a.csv", TEXTS, "documents"),
        ("moment-nmf", "a.zip", pictures_zip(), "images"),
        ("moment-nmf", "a.zip", zipped({"a.txt": b"words"}), "documents"),
        ("any", "a.csv", TEXTS, "documents"),
        ("any", "a.csv", TABLE, "ratings"),
    ],
)
def test_a_table_and_an_archive_are_what_the_algorithm_takes(
    algorithm: str | None, file: str, data: bytes, kind: str
) -> None:
    kinds = tuple(own.KINDS) if algorithm == "any" else kinds_for([algorithm])
    assert own.kind_of(file, data, kinds) == kind


@pytest.mark.long
def test_a_plan_takes_a_table(terminal: Terminal) -> None:
    line = "plan model moments --data='-my table.csv' --rank 2 --target 1e-9 --mechanism gaussian"
    assert "does not reach held-out RMSE at most 10⁻⁹" in terminal.output(line)
