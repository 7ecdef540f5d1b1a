"""Documents and images in partitions: the parts, releases and errors are those in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.cli.common.main import main
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own.given import NOTHING, Given
from dpmc_core.datasets.samples import Samples, subset
from dpmc_core.datasets.synthetic.samples import cartoon_faces, topic_documents
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks.factorize import factorize_steps
from dpmc_core.factorization.corrected import CorrectedNMFConfig, corrected_nmf
from dpmc_core.factorization.moments import MomentConfig, moment_nmf
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.generate import write_samples
from dpmc_core.partitioned.journal import RunFolder
from dpmc_core.partitioned.population import UnitPartitions, found_in
from dpmc_core.partitioned.source import open_folder
from dpmc_core.privacy.budget import Budget, Curator
from tests.faults import raising
from tests.partitioned.folders import dataset_of, layout_of, quiet, result_of, write
from tests.terminal import Terminal

BUDGET = Budget(epsilon=20.0)
NOISY = {"algorithm": "moment-nmf", "mechanism": "gaussian", "epsilon": 5.0}
SOLVED: dict[str, Any] = {"moment-nmf": moment_nmf, "private-nmf": corrected_nmf}
CONFIGS: list[tuple[str, Any]] = [
    ("moment-nmf", MomentConfig(rank=5, rounds=30)),
    ("moment-nmf", MomentConfig(rank=5, rounds=30, budget=BUDGET)),
    ("private-nmf", CorrectedNMFConfig(rank=4, rounds=3, budget=BUDGET)),
    ("private-nmf", CorrectedNMFConfig(rank=4, rounds=3, start="random")),
]


def documents() -> Samples:
    return topic_documents(400, 1)


def images() -> Samples:
    return cartoon_faces(150, 1)


def units_of(
    samples: Samples, folder: Path, files: int, given: Given = NOTHING, **more: Any
) -> UnitPartitions:
    """The samples in files, dealt out at random."""
    order = np.random.default_rng(0).permutation(len(samples))
    write_samples(subset(samples, order), folder, files)
    layout = layout_of(folder, test_fraction=0.0, given=given)
    units = UnitPartitions(layout, Here(), quiet, samples.shape, drawn=samples.drawn, **more)
    units.doing = "trying"
    return units


@pytest.mark.parametrize("make", [documents, images])
@pytest.mark.parametrize(("name", "config"), CONFIGS, ids=lambda x: x if isinstance(x, str) else "")
def test_what_leaves_is_what_leaves_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, name: str, config: Any
) -> None:
    """To 1e-10; the parts that are made of it go on iterating, which magnifies the last bits."""
    released: list[np.ndarray] = []
    release = Curator.release

    def noted(self: Curator, name: str, exact: Any) -> Any:
        released.append(release(self, name, exact))
        return released[-1]

    monkeypatch.setattr(Curator, "release", noted)
    samples = make()
    units = units_of(samples, tmp_path / "data", 3)
    usual = list(SOLVED[name](samples, config, np.random.default_rng(7)))
    in_memory = released.copy()
    released.clear()
    learn = ALGORITHMS[name].learn
    assert learn is not None
    with RunFolder(tmp_path / "run", {}) as folder:
        steps = list(learn(units, config, np.random.default_rng(7), folder))
    for numbers, expected in zip(released, in_memory, strict=True):
        np.testing.assert_allclose(numbers, expected, rtol=1e-10, atol=1e-10)
    assert len(usual) > 1
    for step, expected in zip(steps, usual, strict=True):
        np.testing.assert_allclose(step.dictionary, expected.dictionary, rtol=1e-5, atol=1e-6)
        assert (step.releases, step.rest) == (expected.releases, expected.rest)
    with RunFolder(tmp_path / "run", {}) as folder:  # from what is kept alone
        units.total = raising(AssertionError())  # type: ignore[method-assign]
        *_, again = learn(units, config, np.random.default_rng(7), folder)
    np.testing.assert_array_equal(again.dictionary, steps[-1].dictionary)


@pytest.mark.parametrize("make", [documents, images])
def test_a_run_is_judged_as_in_memory(tmp_path: Path, make: Any) -> None:
    samples = make()
    units = units_of(samples, tmp_path / "data", 3)
    settings = {"algorithm": "moment-nmf", "rank": 4, "rounds": 40, "seed": 2}
    last = result_of(units, tmp_path / "run", **settings)
    with user_datasets.using(dataset_of(units)):
        *_, usual = factorize_steps(last.spec, samples=samples, compare=False)
    assert last.errors is not None
    assert last.errors["objective"] == pytest.approx(usual.final.objective, rel=1e-6)
    average = usual.baselines["average column"]
    assert last.errors["baseline"] == pytest.approx(average, rel=1e-10)
    assert (tmp_path / "run" / "parts.parquet").exists()


def test_public_words_and_a_stated_number_of_documents_keep_the_guarantee(tmp_path: Path) -> None:
    samples = documents()
    listed = [*samples.words[10:60], "never seen"]
    baselines = []
    for words, users, uncovered in (
        (None, 500, ("list of words",)),
        (listed, None, ("number of documents",)),
        (listed, 500, ()),
    ):
        place = tmp_path / f"{len(uncovered)} {users}"
        units = units_of(samples, place / "data", 2, Given(users=users), words=words)
        last = result_of(units, place / "run", rank=3, rounds=10, **NOISY)
        assert last.statement.uncovered == uncovered
        assert last.statement.nominal == bool(uncovered)
        assert words is None or len(last.step.dictionary) == 51
        assert units.given == (users or len(samples))
        baselines.append(last.errors["baseline"])
    assert baselines[1] == baselines[2]  # of those who are there, however many there may be


def test_what_cannot_be_factorised_is_said(tmp_path: Path) -> None:
    samples = documents()
    with pytest.raises(DataError, match="none of the listed words"):
        units_of(samples, tmp_path / "a", 2, words=["x"])
    for name, what, how, shape, message in (
        ("b", ["a", "b"], [-1.0, 2.0], (), "the lowest value is -1"),
        ("c", [3, 16], [1.0, 2.0], ((4, 4),), r"there is a pixel 16; .* have 0 to 15"),
    ):
        write(tmp_path / name / "0.parquet", unit=[1, 2], what=what, how=how)
        source = open_folder(tmp_path / name, ratings=False)
        layout = found_in(source, Here(), quiet, test_fraction=0.0, seed=0, given=NOTHING)
        with pytest.raises(DataError, match=message):
            UnitPartitions(layout, Here(), quiet, *shape)
    with pytest.raises(ParameterError, match="at most 400, the documents"):
        write_samples(samples, tmp_path / "more", 401)
    units = units_of(samples, tmp_path / "d", 2)
    with pytest.raises(ParameterError, match="one of private-nmf, moment-nmf"):
        result_of(units, tmp_path / "run", algorithm="nmf", rank=3)


def test_a_dataset_becomes_partitions_that_the_command_takes(
    tmp_path: Path, terminal: Terminal
) -> None:
    folder = tmp_path / "faces"
    assert main(f"datasets partition lfw --folder {folder} --files 2".split()) == 0
    printed = terminal.capsys.readouterr()
    assert "62,498 entries in 2 files" in printed.out
    assert "--holds images --shape 25x25" in printed.err
    assert len([*folder.iterdir()]) == 2
    line = f"large moment-nmf --folder {folder} --out {tmp_path}/run --rank 2 --rounds 4 --holds"
    shown = terminal.output(f"{line} images --shape 25x25")
    assert "of the average column" in shown
    assert "shape is missing: it must be given for images" in terminal.refusal(f"{line} images")
    assert "holds = 'films' is not allowed" in terminal.refusal(f"{line} films")
