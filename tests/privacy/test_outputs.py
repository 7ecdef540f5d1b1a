"""Somebody's own mechanism is audited from a file of its outputs."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpmc_core.cli.main import main
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks.audit_outputs import audit_outputs
from dpmc_core.mechanisms import Laplace


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
    held = audit_outputs(file, epsilon=float(columns))
    assert not held.beaten
    assert 0.6 * columns < held.attack.bound.epsilon <= columns
    broken = audit_outputs(file, epsilon=0.5)
    assert broken.beaten
    assert "the claim ε = 0.5 is wrong" in broken.verdict


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(written(tmp_path, 1.0))
    assert main(["audit", "--outputs", file, "--epsilon", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["beaten"] is False
    assert said["claimed"] == {"epsilon": 1.0, "delta": 0.0}
    for words, sentence in (
        (["--epsilon", "1", "--target", "als"], "target = 'als' is not allowed: it must be left"),
        ([], "epsilon = None is not allowed: it must be given with --outputs"),
        (["--epsilon", "-1"], "epsilon = '-1' is not allowed"),
        (["--epsilon", "1", "--confidence", "2"], "confidence = '2' is not allowed"),
    ):
        assert main(["audit", "--outputs", file, *words]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read as CSV"),
        ("a,b\n1,2\n", "needs a column 'inside' .* it has a, b"),
        ("inside\n1\n", "at least one column of released numbers"),
        ("inside,y\n1,2\n2,3\n", "line 3: 'inside' must be 1 or 0"),
        ("inside,y\n1,2\n,3\n", "line 3: 'inside' must be 1 or 0"),
        ("inside,y\n1,2\n0,x\n", "line 3: 'y' must be a finite number"),
        ("inside,y\n1,inf\n0,1\n", "line 2: 'y' must be a finite number"),
        ("inside,y\n1,2\n0,1\n", "at least 8 outputs of each dataset"),
    ],
)
def test_files_that_cannot_be_audited_get_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=said):
        audit_outputs(file, epsilon=1.0)
    with pytest.raises(DataError, match="cannot be read"):
        audit_outputs(tmp_path / "none.csv", epsilon=1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        audit_outputs(file, epsilon=0.0)
