"""The app with ``DPMC_SCHEDULER``: pages' jobs on a real Dask cluster, and what happens when a
worker or the scheduler is gone.
"""

import signal
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.server.visitor import Visitor, running_app
from dpmc_core.experiments.store.store import RunStore
from tests.apart import run_apart
from tests.clusters import at_work, children, cluster, wait_for_workers
from tests.server.test_failures import LONG, ends, going, run_one, shown, until, workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: signals of processes")


@pytest.mark.nightly
def test_jobs_are_computed_on_workers_cancelled_and_never_lost(tmp_path: Path) -> None:
    async def tell() -> None:
        for seed in (1, 2):
            visitor = await run_one(app, seed)
            assert not shown(visitor, "ran on the server itself")
            assert shown(visitor, ", on the cluster.")
        assert not [one for one in workers(app) if one.status() == psutil.STATUS_RUNNING]
        with RunStore(tmp_path / "runs.sqlite") as store:
            assert store.count() == 2
        async with Visitor(app.url) as visitor:  # a worker is lost in the middle of a run
            await visitor.open("completion", LONG)
            await until(lambda: going(visitor))
            await until(lambda: shown(visitor, "Computed on a worker of the cluster"))
            busy = at_work(hands)[0]
            busy.send_signal(signal.SIGKILL)
            await until(lambda: shown(visitor, "A worker was lost"))
            await until(lambda: {*at_work(hands)} - {busy})
        # the tab was closed
        await until(lambda: not at_work(hands))
        await until(lambda: ends(app).count("cancelled") == 1)
        children(" scheduler ")[0].kill()
        visitor = await run_one(app, 3)  # falls back to this machine
        await until(lambda: shown(visitor, "ran on the server itself"))
        assert not shown(visitor, ", on the cluster.")
        with RunStore(tmp_path / "runs.sqlite") as store:
            assert store.count() == 3
        assert ends(app).count("done") == 3

    with cluster(tmp_path, 2) as (address, hands):
        wait_for_workers(address, 2)
        settings = {
            "DPMC_SCHEDULER": address,
            "DPMC_STORE": str(tmp_path / "runs.sqlite"),
            "DPMC_GRACE_SECONDS": "1",
        }
        with running_app(tmp_path, **settings) as app:
            run_apart(tell())
        assert "Traceback" not in app.log.read_text(errors="replace")
