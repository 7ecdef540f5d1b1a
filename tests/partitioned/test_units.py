"""Documents and images in partitions: the parts, releases and errors are those in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.cli.common.main import main
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own.given import NOTHING, Given
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.synthetic.samples import cartoon_faces, topic_documents
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks.factorize import factorize_steps
from dpmc_core.factorization.corrected import CorrectedNMFConfig, corrected_nmf
from dpmc_core.factorization.moments import MomentConfig, moment_nmf
from dpmc_core.partitioned.engine import Here
from dpmc_core.partitioned.factorize import factorize_partitions
from dpmc_core.partitioned.generate import write_samples
from dpmc_core.partitioned.journal import RunFolder
from dpmc_core.partitioned.population import UnitPartitions, found_in
from dpmc_core.partitioned.run import FolderSet
from dpmc_core.partitioned.source import open_folder
from dpmc_core.privacy.budget import Budget, Curator
from tests.partitioned.folders import write
from tests.partitioned.test_same_numbers import layout_of, quiet

BUDGET = Budget(epsilon=20.0)
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


def entries(samples: Samples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and value of all that is not 0."""
    table = samples.values if samples.counts is None else samples.counts.toarray()
    rows, columns = np.nonzero(np.asarray(table))
    return rows, columns, np.asarray(table)[rows, columns]


def in_files(samples: Samples, folder: Path, files: int) -> Path:
    rows, columns, values = entries(samples)
    named: Any = np.array([f"{k:05d} {word}" for k, word in enumerate(samples.words)] or [""])
    for k in range(files):
        here = columns % files == k
        what = named[rows[here]] if samples.words else rows[here]
        write(folder / f"{k}.parquet", unit=columns[here], what=what, how=values[here])
    return folder


def units_of(
    samples: Samples, folder: Path, files: int, given: Given = NOTHING, **more: Any
) -> UnitPartitions:
    layout = layout_of(in_files(samples, folder, files), test_fraction=0.0, given=given)
    units = UnitPartitions(layout, Here(), quiet, samples.shape, drawn=samples.drawn, **more)
    units.doing = "trying"
    return units


def nothing(*_: object) -> Any:
    raise AssertionError("a sum was asked for again")


@pytest.mark.parametrize("made", [documents, images])
@pytest.mark.parametrize(("name", "config"), CONFIGS, ids=lambda x: x if isinstance(x, str) else "")
def test_what_leaves_is_what_leaves_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Any, name: str, config: Any
) -> None:
    """To 1e-10; the parts that are made of it go on iterating, which magnifies the last bits."""
    left: list[np.ndarray] = []
    release = Curator.release

    def noted(self: Curator, name: str, exact: Any) -> Any:
        left.append(release(self, name, exact))
        return left[-1]

    monkeypatch.setattr(Curator, "release", noted)
    samples = made()
    units = units_of(samples, tmp_path / "data", 3)
    usual = list(SOLVED[name](samples, config, np.random.default_rng(7)))
    in_memory = left.copy()
    left.clear()
    learn = ALGORITHMS[name].learn
    assert learn is not None
    with RunFolder(tmp_path / "run", {}) as folder:
        found = list(learn(units, config, np.random.default_rng(7), folder))
    assert len(left) == len(in_memory)
    for numbers, expected in zip(left, in_memory, strict=True):
        np.testing.assert_allclose(numbers, expected, rtol=1e-10, atol=1e-10)
    assert len(found) == len(usual) > 1
    for one, step in zip(found, usual, strict=True):
        np.testing.assert_allclose(one.dictionary, step.dictionary, rtol=1e-5, atol=1e-6)
        assert one.releases == step.releases
        assert one.rest == step.rest
    with RunFolder(tmp_path / "run", {}) as folder:  # from what is kept alone
        units.total = nothing  # type: ignore[method-assign]
        again = list(learn(units, config, np.random.default_rng(7), folder))
    np.testing.assert_array_equal(again[-1].dictionary, found[-1].dictionary)


@pytest.mark.parametrize(("made", "holds"), [(documents, "documents"), (images, "images")])
def test_a_run_is_judged_as_in_memory(tmp_path: Path, made: Any, holds: str) -> None:
    samples = made()
    units = units_of(samples, tmp_path / "data", 3)
    folder = FolderSet(units.layout, holds, units.dimension)
    with user_datasets.using(folder):
        spec = RunSpec.of(dataset=folder.name, algorithm="moment-nmf", rank=4, rounds=40, seed=2)
        *_, found = factorize_partitions(spec, units, tmp_path / "run")
        *_, usual = factorize_steps(spec, samples=samples, compare=False)
    assert found.errors is not None
    assert found.errors["objective"] == pytest.approx(usual.final.objective, rel=1e-6)
    average = usual.baselines["average column"]
    assert found.errors["baseline"] == pytest.approx(average, rel=1e-10)
    assert (tmp_path / "run" / "parts.parquet").exists()


def test_public_words_and_a_stated_number_of_documents_keep_the_guarantee(tmp_path: Path) -> None:
    samples = documents()
    words = [f"{k:05d} {word}" for k, word in enumerate(samples.words)]
    said, measured = [], []
    listed = [*words[10:60], "never seen"]
    for some, users in ((None, 500), (listed, None), (listed, 500)):
        given, name = Given(users=users), f"{some is None} {users}"
        units = units_of(samples, tmp_path / name, 2, given, words=some)
        folder = FolderSet(units.layout, "documents", units.dimension)
        with user_datasets.using(folder):
            spec = RunSpec.of(
                dataset=folder.name,
                algorithm="moment-nmf",
                rank=3,
                rounds=10,
                mechanism="gaussian",
                epsilon=5.0,
            )
            *_, found = factorize_partitions(spec, units, tmp_path / f"run-{name}")
        said.append(found.statement.uncovered)
        measured.append(found.errors["baseline"])
        assert found.statement.nominal == bool(said[-1])
        if some is not None:
            assert len(found.dictionary) == 51
        assert units.given == (users or len(samples))
    assert said == [("list of words",), ("number of documents",), ()]
    assert measured[1] == measured[2]  # of those who are there, however many there may be


def test_what_cannot_be_factorised_is_said(tmp_path: Path) -> None:
    samples = documents()
    with pytest.raises(DataError, match="none of the listed words"):
        units_of(samples, tmp_path / "a", 2, words=["x"])
    write(tmp_path / "b" / "0.parquet", unit=[1, 2], what=["a", "b"], how=[-1.0, 2.0])
    source = open_folder(tmp_path / "b", ratings=False)
    layout = found_in(source, Here(), quiet, test_fraction=0.0, seed=0, given=NOTHING)
    with pytest.raises(DataError, match="the lowest value is -1"):
        UnitPartitions(layout, Here(), quiet)
    write(tmp_path / "c" / "0.parquet", unit=[1, 2], what=[3, 16], how=[1.0, 2.0])
    source = open_folder(tmp_path / "c", ratings=False)
    layout = found_in(source, Here(), quiet, test_fraction=0.0, seed=0, given=NOTHING)
    with pytest.raises(DataError, match=r"there is a pixel 16; .* have 0 to 15"):
        UnitPartitions(layout, Here(), quiet, (4, 4))
    units = units_of(samples, tmp_path / "d", 2)
    with user_datasets.using(FolderSet(units.layout, "documents", units.dimension)):
        spec = RunSpec.of(dataset=FolderSet.name, algorithm="nmf", rank=3)
        with pytest.raises(ParameterError, match="one of private-nmf, moment-nmf"):
            next(factorize_partitions(spec, units, tmp_path / "run"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = in_files(images(), tmp_path / "data", 2)
    side = "x".join(map(str, images().shape or ()))
    words = ["large", "moment-nmf", "--folder", str(folder), "--out", str(tmp_path / "run")]
    words += ["--rank", "4", "--rounds", "20"]
    assert main([*words, "--holds", "images", "--shape", side]) == 0
    assert "of the average column" in capsys.readouterr().out
    assert main([*words, "--holds", "images"]) == 2
    assert "shape is missing: it must be given for images" in capsys.readouterr().err
    assert main([*words, "--holds", "films"]) == 2
    assert "holds = 'films' is not allowed" in capsys.readouterr().err


def test_datasets_become_partitions_and_give_what_they_give_in_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for samples in (documents(), images()):
        folder = tmp_path / samples.unit
        assert write_samples(samples, folder, 4) == len(entries(samples)[0])
        layout = layout_of(folder, test_fraction=0.0, given=NOTHING)
        assert len(layout.catalogue.source.files) == 4
        units = UnitPartitions(layout, Here(), quiet, samples.shape)
        assert units.given == len(samples)
        exact = samples.values if samples.counts is None else samples.counts.toarray()
        used = np.count_nonzero(np.asarray(exact), axis=1)
        np.testing.assert_array_equal(units.counts[units.counts > 0], used[used > 0])
        with pytest.raises(DataError, match="holds Parquet files already"):
            write_samples(samples, folder, 4)
        with pytest.raises(ParameterError, match=f"at most {len(samples)}, the {samples.unit}s"):
            write_samples(samples, tmp_path / "more", len(samples) + 1)
    place = tmp_path / "faces"
    assert main(["datasets", "partition", "cartoon", "--folder", str(place), "--files", "2"]) == 0
    told = capsys.readouterr()
    assert "1,152,000 entries in 2 files" in told.out
    assert "--holds images --shape 24x24" in told.err
