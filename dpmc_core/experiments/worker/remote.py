"""A process on a worker of a Dask cluster, as whoever asks sees it.

Provides ``RemoteProcess``. Dask decides where it is and when its turn has come, and tells when a
worker is lost. What is computed, and on which data, goes from here to that worker directly: the
scheduler sees a name.
"""

import os
import queue
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dpmc_core.experiments.worker.messages import Message, receive
from dpmc_core.experiments.worker.seat import exchange, hold
from dpmc_core.experiments.worker.share import Share

__all__ = ["OWN_DATA", "RemoteProcess", "may_hold_own_data"]

OWN_DATA = "OWN_DATA"  # a resource of workers that are told to hold visitors' own data
_OF_IT = 0.001  # as much of it as one process takes
_ASK_EVERY = 0.05  # seconds
_TIMEOUT = 10.0  # seconds for an answer


class RemoteProcess:
    """A process with its ``share`` of the worker that it is on, of the cluster of ``client``;
    ``own`` asks for a worker that is told to hold visitors' own data.

    It is there when its turn has come; what is sent before waits here.
    """

    def __init__(self, client: Any, share: Share, *, own: bool = False) -> None:
        self._client, self._name = client, f"dpmc-{uuid.uuid4().hex}"
        self.inbox: queue.Queue[Message | None] = queue.Queue()
        self.lost = False
        self._going = True
        self._given: list[bytes] = []
        self._leaving = threading.Event()
        options = {"resources": {OWN_DATA: _OF_IT}} if own else {}
        try:
            self._future = client.submit(
                hold, self._name, share, key=self._name, pure=False, **options
            )
        except (ValueError, RuntimeError) as error:  # the client is closed
            raise OSError(0, f"the cluster cannot be reached: {error}") from None
        reading, writing = os.pipe()
        self._pipe = os.fdopen(writing, "wb")
        whole = os.fdopen(reading, "rb")
        threading.Thread(target=self._received, args=(whole,), daemon=True).start()
        self._asking = threading.Thread(target=self._ask, name="dpmc-remote", daemon=True)
        self._asking.start()

    @property
    def pid(self) -> int | None:
        return None

    @property
    def going(self) -> bool:
        return self._going

    @property
    def busy(self) -> float:
        return 0.0

    def send(self, content: bytes) -> None:
        if not self._going:
            raise OSError(0, "it has ended")
        self._given.append(content)

    def close(self) -> None:
        self._leaving.set()
        self._asking.join(timeout=2 * _TIMEOUT)

    def _received(self, whole: Any) -> None:
        with whole:
            receive(whole, self.inbox)

    def _ask(self) -> None:
        """Exchange messages until either side has had enough."""
        try:
            self._exchanged()
        except Exception:  # noqa: BLE001 - whatever it is, the process cannot be reached
            self.lost = True
        finally:
            self._going = False
            with suppress(OSError):
                self._pipe.close()  # which tells whoever waits
            with suppress(Exception):  # the scheduler may be gone
                self._future.cancel()

    def _exchanged(self) -> None:
        address = ""
        while True:
            leaving = self._leaving.is_set()
            address = address or self._address()
            if address:
                given = self._given[:]
                answer = self._called(address, given, leaving)
                if answer is not None:
                    del self._given[: len(given)]
                    if answer[0]:
                        self._pipe.write(answer[0])
                        self._pipe.flush()
                    if answer[1]:  # it ended by itself: nobody else needs the seat
                        self._called(address, [], True)
                        return
                elif self._future.status in ("error", "lost", "cancelled", "finished"):
                    self.lost = self._future.status != "finished"
                    return
                else:
                    address = ""  # its turn has not come, or another worker has it
            if leaving:
                return
            self._leaving.wait(_ASK_EVERY)

    def _address(self) -> str:
        """Which worker has it, "" while none has."""
        if self._client.status != "running":
            raise OSError
        found: dict[str, Any] = self._client.processing()
        return next((one for one, keys in found.items() if self._name in map(str, keys)), "")

    def _called(self, address: str, given: list[bytes], leaving: bool) -> tuple[bytes, bool] | None:
        answer: tuple[bytes, bool] | None = _call(
            self._client, address, exchange, self._name, given, leaving
        )
        return answer


def may_hold_own_data(client: Any) -> bool:
    """Whether a worker of the cluster is told to hold visitors' own data."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return any(worker.get("resources", {}).get(OWN_DATA, 0) for worker in workers)


def _call(client: Any, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What ``function`` returns in the worker at ``address``, asked directly."""
    from distributed.protocol import pickle

    dumps: Any = pickle.dumps

    async def ask() -> Any:
        asked = client.rpc(address).run(
            function=dumps(function), args=dumps(arguments), kwargs=dumps({}), wait=True
        )
        answer = await asked
        if answer["status"] != "OK":
            raise OSError(0, "the worker cannot do this")
        return answer["result"]

    return client.sync(ask, callback_timeout=_TIMEOUT)
