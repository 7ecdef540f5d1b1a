"""Reaching the scheduler of a Dask cluster that a command names."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.worker.remote import silence_dask

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


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A cluster's client. Raises ``ParameterError`` for what is no address, ``SweepError`` where
    nobody answers there or has workers.
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
        yield client
    finally:
        client.close()
