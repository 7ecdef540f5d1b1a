"""Workers for a run: those of a scheduler, a few on this machine, or this process.

Provides ``engine_at``.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dpmc_core import __version__
from dpmc_core.experiments.sweeps.cluster import SweepError, connected
from dpmc_core.experiments.worker.share import interrupts_held
from dpmc_core.limits import Limit
from dpmc_core.partitioned.engine.cluster import Cluster
from dpmc_core.partitioned.engine.here import Engine, Here

# Dask's own settings have the C library give every piece back to the system at once, which takes a
# third of the time of a sum; more BLAS threads than workers would wait for one another
_ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": "134217728",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
# a worker's memory is the partition it works on and its sum: to write that to disk, or to wait
# until it shrinks, helps nobody; nor do profiles that nobody looks at
_KEEP_ALL = ("target", "spill", "pause")
_SETTINGS = {
    "distributed.nanny.pre-spawn-environ": _ENVIRONMENT,
    "distributed.worker.profile.enabled": False,
    **{f"distributed.worker.memory.{name}": False for name in _KEEP_ALL},
}
WORKERS = Limit("workers", 1, 256, "processes on this machine", integer=True)


@contextmanager
def engine_at(scheduler: str | None, workers: int = 1, megabytes: int = 0) -> Iterator[Engine]:
    """The workers of ``scheduler``; else ``workers`` processes of this machine, one thread and at
    most ``megabytes`` each (0: no limit); one without a limit is this process.

    Copies that a cluster's workers kept are gone afterwards. Raises ``ParameterError`` and
    ``SweepError``.
    """
    if scheduler is not None:
        with connected(scheduler) as client:
            _same_release(client)
            engine = Cluster(client)
            try:
                yield engine
            finally:
                with suppress(Exception):  # the cluster may be gone
                    client.run(_forget, engine.keys)
                    client.run(_forget_later, engine.keys, wait=False)
        return
    if workers == 1 and not megabytes:
        yield Here()
        return
    import distributed
    from dask import config

    dask: Any = distributed  # its functions have no annotations
    folder = tempfile.mkdtemp(prefix="dpmc-workers-")
    try:
        with config.set(_SETTINGS), ExitStack() as stack:
            with interrupts_held():
                cluster = stack.enter_context(
                    dask.LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        memory_limit=f"{megabytes} MB" if megabytes else 0,
                        dashboard_address="127.0.0.1:0",
                        local_directory=folder,
                        silence_logs=50,
                    )
                )
            yield Cluster(stack.enter_context(dask.Client(cluster, set_as_default=False)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _same_release(client: Any) -> None:
    """Raise ``SweepError`` unless all workers have this release."""
    try:
        found = client.run(_release)
    except (OSError, TimeoutError):
        raise
    except Exception as error:  # noqa: BLE001 - Dask says in its own words what is not there
        raise SweepError(
            f"A worker cannot run this software ({error}): install release {__version__} on every "
            "worker, or set its PYTHONPATH to a checkout. Nothing was run."
        ) from None
    for address, release in found.items():
        if release != __version__:
            raise SweepError(
                f"The worker at {address} has release {release} of this software, and this is "
                f"{__version__}: install the same on both. Nothing was run."
            )


def _release() -> str:
    import dpmc_core

    return dpmc_core.__version__


def _forget(keys: frozenset[str], dask_worker: Any = None) -> None:
    """Remove the copies of these data that this worker kept."""
    for key in keys if dask_worker is not None else ():
        folder = Path(dask_worker.local_directory) / "dpmc" / key
        shutil.rmtree(folder, ignore_errors=True)


async def _forget_later(keys: frozenset[str], dask_worker: Any = None) -> None:
    """The same once nothing goes on there that might still write some; nobody waits for this."""
    going = {task.key for task in dask_worker.state.executing}
    while going & {task.key for task in dask_worker.state.executing}:
        await asyncio.sleep(1.0)
    _forget(keys, dask_worker)
