"""Somebody's own mechanism is audited from a file of its outputs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks.audit_outputs import audit_outputs
from dpmc_core.mechanisms import Laplace
from dpmc_core.privacy.attack import attack
from tests.terminal import Terminal


def written(folder: Path, scale: float, runs: int = 20_000, columns: int = 1) -> Path:
    """Outputs of a count with Laplace noise, with a record and without, in turns."""
    noise, rng = Laplace(scale=scale), np.random.default_rng(2)
    inside = np.arange(2 * runs) % 2
    drawn = inside[:, None] + np.asarray(noise.sample((2 * runs, columns), rng))
    file = folder / "mine.csv"
    header = ",".join(["inside", *(f"y{k}" for k in range(columns))])
    np.savetxt(file, np.column_stack([inside, drawn]), delimiter=",", header=header, comments="")
    return file


@pytest.mark.parametrize("columns", [1, 3])
def test_a_claim_that_holds_stands_and_one_that_does_not_falls(
    tmp_path: Path, columns: int
) -> None:
    file = written(tmp_path, 1.0, columns=columns)
    held, broken = (audit_outputs(file, epsilon=epsilon) for epsilon in (float(columns), 0.5))
    assert (held.beaten, broken.beaten) == (False, True)
    assert 0.6 * columns < held.attack.bound.epsilon <= columns
    assert "the claim ε = 0.5 is wrong" in broken.verdict


def test_on_the_command_line(tmp_path: Path, terminal: Terminal) -> None:
    line = f"audit --outputs {written(tmp_path, 1.0)}"
    result = terminal.json(f"{line} --epsilon 1")
    assert result["beaten"] is False
    assert result["claimed"] == {"epsilon": 1.0, "delta": 0.0}
    terminal.output(f"{line} --epsilon 1 --delta 0.0")
    for options, message in (
        ("--epsilon 1 --target als", "target = 'als' is not allowed: it must be left"),
        ("", "epsilon is missing: it must be given with --outputs"),
        ("--epsilon -1", "epsilon = '-1' is not allowed"),
        ("--epsilon 1 --confidence 2", "confidence = '2' is not allowed"),
        ("--epsilon 1 --confidence 0.9999999999", "above 0.5 and at most 0.999999999"),
        ("--epsilon 1 --delta 1", "delta = '1' is not allowed"),
        ("--epsilon 1 --read user=x", "left out with --outputs"),
    ):
        assert message in terminal.refusal(f"{line} {options}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as CSV"),
        ("a,b\n1,2\n", "needs a column 'inside' .* it has a, b"),
        ("inside\n1\n", "at least one column of released numbers"),
        ("inside,y\n1,2\n2,3\n", "line 3: 'inside' must be 1 or 0"),
        ("inside,y\n1,2\n,3\n", "line 3: 'inside' must be 1 or 0"),
        ("inside,y\n1,2\nNA,NA\n", "line 3: 'inside' must be 1 or 0"),
        ("inside,y\n1,2\n0,x\n", "line 3: 'y' must be a finite number"),
        ("inside,y\n1,inf\n0,1\n", "line 2: 'y' must be a finite number"),
        ("inside,y\n1,2\n0,1\n", "at least 8 outputs of each dataset"),
        ("inside,y\n\n1,2\n\n0,x\n", "line 5: 'y' must be a finite number"),
        ("inside,y\n1," + "9" * 400, "line 2: 'y' must be a finite number"),
        ("inside,inside,y\n1,1,2\n", "there are two columns called 'inside'"),
        ("inside,y\nnoise,1,2\n", r"cannot be read as CSV \(Expected 2 fields in line 2, saw 3\)"),
        (",inside,y\n0,1,2\n", "column 1 has no name. If it numbers the rows"),
    ],
)
def test_files_that_cannot_be_audited_get_a_sentence(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        audit_outputs(file, epsilon=1.0)
    with pytest.raises(DataError, match="cannot be read"):
        audit_outputs(tmp_path / "none.csv", epsilon=1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        audit_outputs(file, epsilon=0.0)


def test_a_column_that_numbers_the_rows_is_not_attacked(tmp_path: Path) -> None:
    """``DataFrame.to_csv`` writes one unless told otherwise; rows in blocks would be told apart."""
    file = written(tmp_path, 1.0, runs=2_000)
    table = pd.read_csv(file).sort_values("inside", ignore_index=True)
    table["inside"] = table["inside"] == 1  # in words
    table.to_csv(file, index=False)
    assert not audit_outputs(file, epsilon=1.0).beaten
    shuffled = table.assign(run=np.random.default_rng(1).permutation(len(table)) + 5)
    for numbered, index, message in (
        (table, True, "index=False"),
        (shuffled, False, "'run' holds every whole number of a range once"),
    ):
        numbered.to_csv(file, index=index)
        with pytest.raises(DataError, match=message):
            audit_outputs(file, epsilon=1.0)


@pytest.mark.parametrize(
    ("scale", "blur", "outlier", "offset"),
    [
        *(
            (scale, blur, 0, 0)
            for scale in (1e-300, 1e-4, 1.0, 1e4, 1e170, 1e300)
            for blur in (0, 1)
        ),
        (1.0, 1, 1e6, 0),
        (1.0, 1, 1e300, 0),
        (1.0, 1, 0, 1e15),
    ],
)
def test_neither_units_nor_an_outlier_nor_an_offset_hide_what_one_number_gives_away(
    scale: float, blur: float, outlier: float, offset: float
) -> None:
    outputs = np.random.default_rng(5).normal(size=(4_000, 2)) * [scale, blur]
    outputs[1::2, 1] += 20
    outputs[7, 1] += outlier
    outputs += offset
    assert attack(outputs[1::2], outputs[::2]).bound.epsilon > 3.5
