"""What a run releases, as files: nothing of any user, replayed exactly, refused where changed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmc_core.completion.common.population import Whole
from dpmc_core.datasets.data import split_of
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import FactorResult, RunResult, RunSpec, run
from dpmc_core.experiments.release import (
    ReleasedModel,
    prepare_folder,
    read_release,
    release_files,
    write_files,
)
from dpmc_core.experiments.tasks.solve import noise_source
from dpmc_core.privacy.budget import Journal
from tests.terminal import Terminal

MADE = {"n_users": 80, "n_items": 40, "observed": 0.4, "true_rank": 4}
PRIVATE = {"mechanism": "gaussian", "epsilon": 20}
NAMES = ("moments", "private-means", "dpals", "private-sgld")


def released(name: str, folder: Path, **more: Any) -> tuple[RunResult, ReleasedModel]:
    """A finished run, and what was read back from its folder."""
    spec = RunSpec.of(algorithm=name, dataset="low-rank", **MADE, **more)
    prepare_folder(folder, spec)
    result = run(spec)
    assert isinstance(result, RunResult)
    write_files(folder, release_files(result))
    return result, read_release(folder)


@pytest.fixture
def folder(tmp_path: Path, terminal: Terminal) -> Path:
    """A released folder of one-shot moments, as the command writes it."""
    options = RunSpec.of(algorithm="moments", dataset="low-rank", **MADE, **PRIVATE).to_json()
    terminal.output(f"complete --spec '{options}' --out {tmp_path / 'out'}")
    return tmp_path / "out"


@pytest.mark.parametrize("name", NAMES)
def test_users_are_predicted_from_the_folder_as_in_memory(name: str, tmp_path: Path) -> None:
    """The run's own users, who come as new ones, get their predictions back; no number of their
    vectors is in any file, nor what repeats the noise.
    """
    result, model = released(name, tmp_path / "out", seed=4417, **PRIVATE)
    train = result.split.train
    again = model.fit(train)
    everybody = slice(0, train.n_users)
    gap = np.abs(again.block(everybody) - result.model.block(everybody)).max()
    assert gap < 1e-12
    content = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    users = result.model.user_factors
    own = users[:, np.ptp(users, axis=0) > 0].ravel()
    assert not any(number.tobytes() in content for number in own if number % 1)
    assert b"4417" not in content


class _Tape(Journal):
    """What leaves in a first run, handed out again in the next ones."""

    def __init__(self) -> None:
        self.tape: dict[str, NDArray[Any]] = {}

    def once(
        self, name: str, make: Callable[[], NDArray[Any]], rng: Any, planned: Any = None
    ) -> NDArray[Any]:
        return self.tape.setdefault(name, make())


# a chain that does not diverge, and the solver whose releases all pass a journal
SETTINGS: dict[str, dict[str, Any]] = {
    "private-sgld": {"step_size": 0.1, "epsilon": 500},
    "dpals": {"solve": "gradient"},
}


@pytest.mark.parametrize("name", NAMES)
def test_one_user_reaches_the_folder_through_the_ledger_alone(name: str) -> None:
    """Given the releases, whose sensitivities the ledger claims, all that is written is the same
    with one user's ratings turned round; without them it is not.
    """
    settings = {**MADE, **PRIVATE, **SETTINGS.get(name, {})}
    spec = RunSpec.of(algorithm=name, dataset="low-rank", **settings)
    train = split_of(spec.data, spec.seed).train
    values = np.where(train.users == 3, train.low + train.high - train.values, train.values)
    config = spec.card.prepare(spec.algorithm, spec.noise, train)

    def written(ratings: Ratings, tape: _Tape) -> dict[str, Any]:
        *_, last = spec.card.learn(Whole(ratings, 1), config, noise_source(spec), tape)
        return last.learned.released()

    tape, changed = _Tape(), replace(train, values=values)
    first, second, third = (
        written(*run) for run in ((train, tape), (changed, tape), (changed, _Tape()))
    )
    for part, numbers in first.items():
        np.testing.assert_array_equal(numbers, second[part])
    assert any(not np.array_equal(numbers, third[part]) for part, numbers in first.items())


def test_folders_that_are_not_as_written_are_refused(folder: Path) -> None:
    ledger, about = folder / "ledger.json", folder / "release.json"
    for file, old, new, message in (
        (ledger, b'"count": 1', b'"count": 0', "is not as it was written"),
        (about, b'"version": 1', b'"version": 2', "version = 2 is not allowed: it must be 1"),
    ):
        original = file.read_bytes()
        file.write_bytes(original.replace(old, new, 1))
        with pytest.raises(DPMCError, match=message):
            read_release(folder)
        file.write_bytes(original)
    ledger.unlink()
    with pytest.raises(DPMCError, match="cannot be read"):
        read_release(folder)
    for name, message in (("moments", "a new or an empty folder"), ("svt", "one of als, irls")):
        with pytest.raises(DPMCError, match=message):
            prepare_folder(folder, RunSpec.of(algorithm=name, dataset="low-rank"))


def test_new_users_from_a_file(folder: Path, tmp_path: Path, terminal: Terminal) -> None:
    """Items are matched by name, unknown ones counted; who rates none of them gets the average."""
    new, out = tmp_path / "new.csv", tmp_path / "best.csv"
    new.write_text("user,item,rating\nAnn,item 3,5\nAnn,item 9,1\nAnn,Nowhere,2\nBob,Elsewhere,4\n")
    summary = terminal.json(f"predict {folder} {new} --top 40 --out {out}")
    assert summary == {"users": 2, "users_without_known_items": 1, "rows": 78}
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert {item for user, item, _ in rows if user == "Ann"}.isdisjoint({"item 3", "item 9"})
    model = read_release(folder)
    _, (*_, note) = model.read("new.csv", new.read_bytes())
    assert note.startswith("2 items are not in the release")
    average = [float(value) for user, _, value in rows if user == "Bob"]
    expected = np.clip(np.sort(model.learned.base)[::-1], model.low, model.high)  # type: ignore
    np.testing.assert_allclose(average, expected, atol=1e-4)


def test_parts_are_released_without_coefficients(tmp_path: Path) -> None:
    spec = RunSpec.of(algorithm="private-nmf", dataset="cartoon", rank=4, n_samples=200, **PRIVATE)
    result = run(spec)
    assert isinstance(result, FactorResult)
    write_files(tmp_path, release_files(result))
    with np.load(tmp_path / "numbers.npz") as numbers:
        assert numbers.files == ["dictionary", "shape"]
        np.testing.assert_array_equal(numbers["dictionary"], result.dictionary)
    with pytest.raises(DPMCError, match="that of a completion"):
        read_release(tmp_path)
