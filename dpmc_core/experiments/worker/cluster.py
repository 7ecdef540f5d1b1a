"""Workers wherever there are some: on a Dask cluster, and on this machine where it is gone.

Provides ``check_scheduler``, which says what is wrong with a scheduler that a command names
(``SweepError``), ``Connection``, one cluster for a whole program, and ``ClusterWorker``, which
draws results as a ``Worker`` does.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.worker.process import ALL, LocalProcess, Process, Share
from dpmc_core.experiments.worker.remote import RemoteProcess, answered, silence_dask, workers_of
from dpmc_core.experiments.worker.worker import (
    Outcomes,
    Steps,
    Worker,
    WorkerError,
    WorkerLostError,
)

_PATIENCE = 5.0  # seconds that a scheduler has to answer


class SweepError(DPMCError):
    """A sweep cannot go on; the message says why and what to do. Finished runs are kept."""


def asks_for_tls(host: str, port: int) -> bool:
    """Whether who listens there begins with TLS."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is said to it
    try:
        with socket.create_connection((host, port), timeout=2) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        return "ALERT" in str(error.reason)
    except OSError:
        return False


def _has_certificates() -> bool:
    from distributed.security import Security

    security: Any = Security  # without annotations
    try:
        return security().get_connection_args("client").get("ssl_context") is not None
    except (OSError, ssl.SSLError):  # named, and cannot be read
        return False


def check_scheduler(scheduler: str) -> None:
    """Raise ``ParameterError`` for what is no address, ``SweepError`` where nobody answers there or
    has workers.
    """
    from distributed import Client  # only here: it takes half a second, and few have a cluster
    from distributed.comm.addressing import get_address_host_port

    silence_dask()
    try:  # a client of a malformed address cannot even be closed
        host, port = get_address_host_port(scheduler, strict=True)
    except ValueError:
        host, port = "", 0
    if not 0 < port < 65536:
        raise ParameterError("scheduler", scheduler, "an address as tcp://host:8786")
    certificates = (
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE and DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT set to "
        "the files that it trusts. Nothing was run."
    )
    if scheduler.startswith("tls:") and not _has_certificates():
        # a client without them cannot even be closed
        raise SweepError(
            f"The scheduler at {scheduler} is named by TLS, which needs {certificates}"
        )
    try:
        client: Any = cast(Any, Client)(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError) as error:
        if not scheduler.startswith("tls:") and asks_for_tls(host, port):
            raise SweepError(
                f"The scheduler at {scheduler} asks for TLS: name it by tls://{host}:{port}, with "
                f"{certificates}"
            ) from None
        raise SweepError(
            f"No Dask scheduler answers at {scheduler!r} ({type(error).__name__}): start one "
            f"with 'dask scheduler' and workers with 'dask worker {scheduler}', correct the "
            "address, or leave --scheduler out to compute here. Nothing was run."
        ) from None
    try:
        if not client.scheduler_info()["workers"]:
            raise SweepError(
                f"The scheduler at {scheduler} has no workers: start some with 'dask worker "
                f"{scheduler}'. Nothing was run."
            )
    finally:
        client.close()


_TIMEOUT = 3.0  # seconds that a scheduler has to answer
_AGAIN = 15.0  # seconds until one that did not answer is asked again
_LOOK = 0.5  # seconds between looks at whether it is there again
_TURN = 3.0  # seconds that a process may take to begin
_TRIES = 4  # on workers that are lost
_ON_THE_SERVER = "this ran on the server itself."
_HERE = f"The cluster cannot be reached: {_ON_THE_SERVER}"
_NONE_HERE = f"The cluster has no worker: {_ON_THE_SERVER}"
_OWN_HERE = f"No worker of the cluster is told to hold own data: {_ON_THE_SERVER}"
WAITING = "Waiting for a free worker of the cluster."
_ANEW = "A worker was lost; what it had not finished was started again."


class Connection:
    """The cluster whose scheduler is at ``address``, asked again now and then where it is gone.

    Where it cannot be used, or has had no worker for ``patience`` seconds, ``lost`` is raised;
    without one this machine computes.
    """

    def __init__(self, address: str, lost: DPMCError | None = None, patience: float = 0.0) -> None:
        self.address, self.lost, self.patience = address, lost, patience
        self._client: Any = None
        self._failed = -_AGAIN
        self.without_workers = False  # when it was last asked, though its scheduler answers
        self._changing = threading.Lock()

    def client(self) -> Any:
        """A Dask client, or None where the scheduler does not answer or has no workers."""
        with self._changing:
            if time.monotonic() - self._failed < _AGAIN:
                return None
            try:
                if self._client is not None and self._client.status != "running":
                    self._close()
                if self._client is None:
                    self._client = self._reached()
                self.without_workers = not workers_of(self._client)
                return None if self.without_workers else self._client
            except Exception:  # noqa: BLE001 - whatever it is, the cluster cannot be used
                self._failed = time.monotonic()
                self.without_workers = False
                self._close()
                return None

    def _reached(self) -> Any:
        import distributed
        from distributed.comm.addressing import get_address_host_port

        silence_dask()
        # a client that finds nobody leaves a thread behind
        place: Any = get_address_host_port(self.address)
        socket.create_connection(place, timeout=_TIMEOUT).close()
        dask: Any = distributed
        return dask.Client(self.address, timeout=_TIMEOUT, set_as_default=False, name="dpmc-lab")

    def _close(self) -> None:
        with suppress(Exception):
            if self._client is not None:
                self._client.close(timeout=2)
        self._client = None

    def threads(self) -> int:
        """How many jobs its workers take at once; 0 where it cannot be reached."""
        client = self.client()
        return 0 if client is None else sum(int(one["nthreads"]) for one in workers_of(client))

    def crowded(self) -> bool:
        """Whether something waits on one of its workers for others to end."""
        client = self.client()
        if client is None:
            return False
        tasks = answered(client, client.scheduler.processing)
        workers = answered(client, client.scheduler.identity)["workers"]
        return any(len(tasks.get(at, ())) > one["nthreads"] for at, one in workers.items())

    def close(self) -> None:
        """Leave the cluster."""
        with self._changing:
            self._close()


class ClusterWorker(Worker):
    """A ``Worker`` whose process is on a worker of the cluster of ``connection``, a new one for
    each job, with its ``share`` of it: whatever it held ends with the job.

    Own data goes to workers that are told to hold it. Where there are none, or no cluster, a
    process of this machine computes, and ``note`` says so. Where a worker is lost, what it had not
    finished begins again on another one; secret noise of which something was shown is not drawn
    again.
    """

    def __init__(self, connection: Connection, share: Share = ALL) -> None:
        super().__init__(share)
        self._connection = connection
        self._held_before, self._kept = 0, False

    @property
    def held(self) -> int:
        return self._held_before + super().held

    def start_aside(self) -> None:
        """Reach the cluster without waiting for it."""
        threading.Thread(target=self._connection.client, daemon=True).start()

    def close(self) -> None:
        self._kept = False
        super().close()

    def draw(
        self,
        steps: Steps,
        specs: Sequence[Any],
        sets: Sequence[OwnSet] = (),
        *,
        most: int = 0,
        keep: bool = False,
        private: bool = False,
        together: bool = False,
    ) -> Outcomes:
        """See ``Worker.draw``. With ``keep`` a process that saw nobody's own data stays, with its
        place on the cluster, for the next ``draw`` or until it is closed. Specs go one after the
        other, ``together`` or not: what a lost worker has finished need not be made again.
        """
        self.note, self._held_before, done = "", 0, 0
        here = ""
        for attempt in range(_TRIES):
            if sets or not self._kept:
                self._leave()
                until = time.monotonic() + self._connection.patience
                while self._connection.client() is None and time.monotonic() < until:
                    if not self._connection.without_workers:
                        break
                    yield None
                    time.sleep(_LOOK)
                self._starter = self._chosen(bool(sets), here)
                if self._remote:
                    self.close()
            self._kept = False
            shown = False  # something of a spec that is not finished
            drawn = super().draw(steps, specs[done:], sets, most=most, private=private)
            first, began = done, time.monotonic()
            try:
                for outcome in drawn:
                    if self.note in ("", WAITING):
                        late = time.monotonic() - began > _TURN and not self.ready
                        self.note = WAITING if late and self._remote else ""
                    if outcome is None:
                        yield None
                        continue
                    k, result, last = outcome
                    shown = not last
                    done = first + k + 1 if last else done
                    yield first + k, result, last
                self._kept = keep and not sets
                return
            except WorkerLostError as error:
                if shown and specs[done].may_be_secret:
                    raise WorkerError(
                        "The worker that drew this run's secret noise was lost. What it had shown "
                        "stays; another run is another release, so it is not started by itself."
                    ) from None
                if error.unable:
                    if self._connection.lost is not None:
                        raise WorkerError(
                            f"The cluster cannot take this: {error.unable}."
                        ) from None
                    here = f"The cluster cannot take this ({error.unable}): {_ON_THE_SERVER}"
                    continue
                if attempt == _TRIES - 1:
                    raise WorkerError(
                        f"{_TRIES} workers of the cluster were lost one after the other: try again "
                        "later, or choose a smaller dataset or rank."
                    ) from None
                self.note = _ANEW
                self._held_before += super().held
            finally:
                drawn.close()
                if not self._kept:
                    self._leave()
                if self.note == WAITING:
                    self.note = ""

    def _leave(self) -> None:
        """Give the place on the cluster back, if it has one."""
        if self._remote:
            self.close()

    @property
    def _remote(self) -> bool:
        return self._starter is not LocalProcess

    def _chosen(self, own: bool, here: str) -> Callable[[Share], Process]:
        """What starts its process: on the cluster, or for a reason ``here``."""
        client = None if here else self._connection.client()
        with suppress(Exception):
            if client is not None and own and not workers_of(client, own=True):
                here = _OWN_HERE
        if client is None and self._connection.lost is not None:
            raise self._connection.lost
        if client is None or here:
            why = _NONE_HERE if self._connection.without_workers else _HERE
            self.note = here or why
            return LocalProcess
        return partial(RemoteProcess, client, own=own)
