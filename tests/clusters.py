"""A real Dask cluster on loopback, and the processes of a program, for tests."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.server.visitor import free_port
from tests.programs import ROOT

WORKER = "dpmc_core.experiments.worker.worker"
"""The module that a process which computes for the server or a sweep runs."""


def children(word: str, of: int | None = None) -> list[psutil.Process]:
    """Processes begun by ``of`` (this one) or by those, whose command names ``word``."""
    running = []
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(of).children(recursive=True):
            with suppress(psutil.Error):  # it has ended just now
                if word in " ".join(process.cmdline()):
                    running.append(process)
    return running


def at_work(hands: Iterable[subprocess.Popen[bytes]]) -> list[subprocess.Popen[bytes]]:
    """Those of a cluster's workers that hold a process which computes."""
    return [hand for hand in hands if children(WORKER, hand.pid)]


@contextmanager
def cluster(
    tmp_path: Path, workers: int, *options: str
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and ``workers`` of one thread each, on this machine."""
    address = f"tcp://127.0.0.1:{free_port()}"
    host, port = address.removeprefix("tcp://").split(":")
    words = ("scheduler", "--host", host, "--port", port, "--no-dashboard", "--no-show")
    with ExitStack() as stack:
        stack.enter_context(_started(tmp_path, *words))
        hands = [
            stack.enter_context(started_worker(address, tmp_path, *options)) for _ in range(workers)
        ]
        yield address, hands


def started_worker(
    address: str, tmp_path: Path, *options: str
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """One more worker of the cluster at ``address``."""
    words = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    return _started(tmp_path, "worker", address, *words, *options)


@contextmanager
def _started(tmp_path: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    where = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DASK_DISTRIBUTED__WORKER__USE_FILE_LOCKING": "false",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "dask", *words]
    with (tmp_path / "dask.log").open("a") as log:
        process = subprocess.Popen(command, env=where, cwd=tmp_path, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, timeout=60, set_as_default=False) as client:
        if count:
            client.wait_for_workers(count, timeout=90)
