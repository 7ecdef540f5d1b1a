"""A real scheduler and real workers, some of which are killed half-way: the same numbers."""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmc_core.errors import DataError
from dpmc_core.partitioned.engine import Engine, engine_at
from dpmc_core.partitioned.population import found_in
from dpmc_core.partitioned.source import open_folder
from tests.clusters import cluster, wait_for_workers
from tests.partitioned.folders import SCALE, dpals_of, layout_of, quiet, released, written
from tests.partitioned.test_engine import Deadly

pytestmark = pytest.mark.nightly


class Killing:
    """An engine one of whose workers is killed in the middle of the ``turn``-th sum."""

    def __init__(self, engine: Engine, turn: int, marker: Path) -> None:
        self._engine, self._turn, self._marker = engine, turn, marker
        self.each = engine.each

    def total(self, work: Any, n: int, tell: Any) -> Any:
        self._turn -= 1
        if self._turn == 0:
            work = Deadly(work, n - 2, str(self._marker))
        return self._engine.total(work, n, tell)


@pytest.mark.parametrize("where", ["here", "cluster"])
def test_a_worker_killed_half_way_changes_nothing(tmp_path: Path, where: str) -> None:
    """The first sum, one in the middle, and one of the second round of DPALS."""
    folder = written(tmp_path / "data", 6)
    layout = layout_of(folder)
    here = dpals_of(layout, tmp_path / "here")
    usual = released(tmp_path / "here")
    with ExitStack() as stack:
        address = None
        if where == "cluster":
            address, _ = stack.enter_context(cluster(tmp_path, 2))
            wait_for_workers(address, 2)
        engine = stack.enter_context(engine_at(address, 2, 1000))
        for turn in (1, 3, 4):
            place, marker = tmp_path / f"run-{turn}", tmp_path / f"killed-{turn}"
            result = dpals_of(layout, place, Killing(engine, turn, marker))
            assert marker.exists()
            assert released(place).keys() == usual.keys()
            for name, numbers in released(place).items():
                np.testing.assert_allclose(numbers, usual[name], rtol=1e-10, atol=1e-10)
            assert result.ledger == here.ledger
            for name, rel in (
                ("test_rmse", 1e-10),
                ("baselines", 1e-10),
                ("apart_half_width", 1e-8),
            ):
                expected = pytest.approx(getattr(here.errors, name), rel=rel)
                assert getattr(result.errors, name) == expected
        again = found_in(open_folder(folder), engine, quiet, test_fraction=0.2, seed=3, given=SCALE)
        assert again.catalogue.digest == layout.catalogue.digest


def test_copies_on_workers_are_gone_afterwards_and_a_mistake_is_told_as_here(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "data", 3)
    layout = layout_of(folder)

    def copies() -> list[str]:  # folders that go while they are read are passed over
        walk = os.walk(tmp_path / "space")
        return [name for place, _, names in walk if layout.key in place for name in (place, *names)]

    with cluster(tmp_path, 1, "--local-directory", str(tmp_path / "space")) as (address, _):
        wait_for_workers(address, 1)
        with engine_at(address) as engine:
            dpals_of(layout, tmp_path / "run", engine)
            assert len(copies()) > 3
        end = time.monotonic() + 20
        while copies():
            assert time.monotonic() < end
            time.sleep(0.05)
        (folder / "part-001.parquet").unlink()
        message = r"part-001\.parquet cannot be read as Parquet"
        with engine_at(address) as engine, pytest.raises(DataError, match=message):
            dpals_of(layout, tmp_path / "another", engine)
