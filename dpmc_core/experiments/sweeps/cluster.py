"""A Dask cluster: reaching its scheduler, and drawing results from its workers."""

import queue
import socket
import ssl
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.worker.remote import silence_dask

Made = TypeVar("Made")
_HEARTBEAT = 0.5  # seconds
_PATIENCE = 5.0  # seconds that a scheduler has to answer


class SweepError(DPMCError):
    """A sweep cannot go on; the message says why and what to do. Finished runs are kept."""


def results_of(
    one: Callable[..., Made], named: list[tuple[str, str]], client: Any
) -> Generator[Made | None, None, None]:
    """What ``one`` makes of each of ``named``, on the workers of a cluster.

    None where nothing was for half a second. What a worker had that is gone goes to another one.
    Raises ``SweepError``.
    """
    from distributed import CancelledError, KilledWorker

    waiting = set(client.map(one, *zip(*named, strict=True), pure=False)) if named else set()
    # Dask's ``wait`` looks at all of them each time
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for future in waiting:
        future.add_done_callback(finished.put)
    try:
        while waiting:
            try:
                future = finished.get(timeout=_HEARTBEAT)
            except queue.Empty:
                yield None
            else:
                waiting.remove(future)
                yield future.result()
            if client.status != "running":
                raise CancelledError
    except DPMCError:  # of a run: data that a worker has not, for one
        raise
    except (ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "deserializ" not in str(error):
            raise
        raise SweepError(
            f"A worker cannot run this software ({error}): install the same release on every "
            "worker. Finished runs are kept."
        ) from error
    except (CancelledError, KilledWorker, OSError) as error:
        raise SweepError(
            f"The cluster's scheduler or its workers are gone ({type(error).__name__}): start "
            "them again, and the same command goes on from here. Finished runs are kept."
        ) from None
    finally:
        if client.status == "running":
            client.cancel(list(waiting))


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


@contextmanager
def connected(scheduler: str | None) -> Iterator[Any]:
    """A cluster's client, for as long as a sweep goes on; None without one."""
    if scheduler is None:
        yield None
        return
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
        yield client
    finally:
        client.close()
