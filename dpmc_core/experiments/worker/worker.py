"""A process that computes for another one: what it does can be watched, stopped, and killed without harm.

Lives here: ``Share``, what a process may take; ``Worker``, which starts such a process, hands it a spec and draws results from it; and the process itself (``python -m
dpmc_core.experiments.worker.worker``). It takes no more than its ``Share`` of the machine, sees only the own sets that came with the spec, and ends with its parent.
Does not live here: what is computed (``STEPS`` names the generators), or whose turn it is.

The two speak over the process's standard input and output. Messages are pickled: they come from this software itself, never from a file or a visitor.
"""

import io
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from dpmc_core.datasets import user_datasets as shelf
from dpmc_core.datasets.implicit import UserSplit
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.datasets.ratings import Split
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import DataError, DPMCError

__all__ = ["ALL", "STEPS", "Share", "Worker", "WorkerError"]

_HEADER = struct.Struct(">Q")
_LAST = 19  # the most steps that Unix has
_HEARTBEAT = 0.1  # seconds between looks at whether somebody asked to stop
_SEND_EVERY = 0.3  # seconds at least between results: nobody sees more
_PATIENCE = (
    3.0  # seconds that a step may go on after somebody asked to stop, before the process is killed
)
_TOO_LARGE = 1_000_000_000  # bytes in use after a job that are given back by starting anew
_WORKED_OUT = ("statement", "against_trivial", "coherence")  # slow properties of results
_PRIVATE = ("read", "words")  # what may have a visitor's data in its spec
_SENT_ONCE = (
    Split,
    UserSplit,
    Samples,
)  # the data within results: large, and the same in each of them
Message = tuple[str, int, Any, int]  # kind, of which job, content, bytes in use where it was sent


class WorkerError(DPMCError):
    """The process that computed is gone; the message says what to do."""


def _any(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments import any_steps

    return any_steps(spec)


def _study(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments.studies.completion import study_steps

    return study_steps(spec)


def _factors(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments.tasks.factorize import factor_steps

    return factor_steps(spec)


def _factor_study(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments.studies.factor_engine import factor_study_steps

    return factor_study_steps(spec)


def _audit(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments.tasks.audit import audit_steps

    return audit_steps(spec)


def _row(spec: tuple[str, str, int]) -> Iterator[float]:
    from dpmc_core.experiments.papers.compute import new_trial
    from dpmc_core.experiments.papers.rows import rows_of

    entry, name, seed = spec
    yield new_trial(next(row for row in rows_of(entry) if row.id == name), seed)


def _inspect(spec: tuple[str, str, bytes]) -> Iterator[Any]:
    from dpmc_core.datasets import own

    yield own.inspect(*spec)


def _read(spec: tuple[str, str, bytes, dict[str, Any]]) -> Iterator[OwnSet]:
    from dpmc_core.datasets import own

    made = own.read(*spec[:3], **spec[3])
    if made.documents is not None:
        with suppress(DataError):  # no word is left: the page says so where it matters
            made.samples(
                TextFilter()
            )  # here, where time and memory have limits, and not in the server
    yield made


def _words(spec: tuple[tuple[str, ...], tuple[str, ...]]) -> Iterator[Any]:
    from dpmc_core.metrics.topics import learned_words

    yield learned_words(*spec)


STEPS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "any": _any,
    "study": _study,
    "factors": _factors,
    "factor-study": _factor_study,
    "audit": _audit,
    "row": _row,
    "inspect": _inspect,
    "read": _read,
    "words": _words,
}


@dataclass(frozen=True, slots=True)
class Share:
    """What a process that computes may take of the machine: at most ``memory`` megabytes (0: no cap; heeded on Linux), and the processor after others, by Unix's ``nice`` steps (0 to 19; 19: on Linux only when no other
    process wants it)."""

    memory: int = 0
    nice: int = 0

    def take(self) -> None:
        """Hold this process to it, where the system can do that."""
        with suppress(AttributeError, OSError):
            os.nice(self.nice)
        if self.nice == _LAST and sys.platform == "linux":
            with suppress(OSError):
                os.sched_setscheduler(
                    0, os.SCHED_IDLE, os.sched_param(0)
                )  # even a nice process keeps others waiting
        if self.memory and sys.platform == "linux":
            import resource

            with suppress(ValueError, OSError):
                resource.setrlimit(
                    resource.RLIMIT_DATA, (self.memory * 1_000_000, self.memory * 1_000_000)
                )


ALL = Share()  # no cap, and no giving way


class Worker:
    """One process, started when it is first needed and again whenever it is gone. It takes at most its ``share``."""

    def __init__(self, share: Share = ALL) -> None:
        self._share = share
        self._process: subprocess.Popen[bytes] | None = None
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        self._number = 0
        self._changing = threading.RLock()

    @property
    def pid(self) -> int | None:
        """The process's number, None while there is none."""
        return (
            None if self._process is None or self._process.poll() is not None else self._process.pid
        )

    def start(self) -> None:
        """Start the process now, so that the first job need not wait for it."""
        with self._changing:
            if self.pid is not None:
                return
            self.close()
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dpmc_core.experiments.worker.worker",
                    str(self._share.memory),
                    str(self._share.nice),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
            self._inbox = queue.Queue()
            threading.Thread(
                target=_receive, args=(self._process.stdout, self._inbox), daemon=True
            ).start()

    def draw(
        self, steps: str, specs: Sequence[Any], sets: Sequence[OwnSet] = ()
    ) -> Iterator[tuple[int, Any, bool] | None]:
        """What the generator ``STEPS[steps]`` yields for each of ``specs``, which see ``sets``, with the spec's number and whether it was its last (then None stands for the one before): the latest a few times a second, the last of each always, and None every tenth of a second in
        which there is nothing. Close it to stop; a step that does not heed that is killed. Raises what the generator raised where that is a
        ``DPMCError`` or ``MemoryError``; ``WorkerError`` where the process ended or something unexpected was raised.

        A process that has seen somebody's own data ends with the job, and another one is started: what it held is gone for good."""
        self.start()
        assert self._process is not None  # just started
        self._number += 1
        number = self._number
        try:
            _send(
                self._process.stdin,
                pickle.dumps(("draw", number, (steps, tuple(specs), tuple(sets)), 0)),
            )
        except OSError:
            raise self._ended() from None
        going, anew = True, bool(sets) or steps in _PRIVATE
        try:
            while True:
                try:
                    message = self._inbox.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    yield None
                    continue
                if message is None:
                    going = False
                    raise self._ended()
                kind, of, content, in_use = message
                if of != number:
                    continue  # of a job that was stopped
                if kind == "result":
                    yield content
                    continue
                going = False
                anew = anew or in_use > _TOO_LARGE
                if kind == "raised":
                    raise content
                return
        finally:
            if going:
                self._stop(number)
            if anew:
                self.close()
                threading.Thread(target=self.start, daemon=True).start()

    def close(self) -> None:
        """End the process, if there is one."""
        with self._changing:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                for pipe in (self._process.stdin, self._process.stdout):
                    if pipe is not None:
                        with suppress(OSError):
                            pipe.close()
                self._process = None

    def _stop(self, number: int) -> None:
        if self._process is None:
            return
        until = time.monotonic() + _PATIENCE
        try:
            _send(self._process.stdin, pickle.dumps(("stop", number, None, 0)))
            while time.monotonic() < until:
                message = self._inbox.get(timeout=max(until - time.monotonic(), 0.01))
                if message is None or (message[0] != "result" and message[1] == number):
                    return
        except (OSError, queue.Empty):
            pass
        self.close()

    def _ended(self) -> WorkerError:
        self.close()
        cap = f" (a run may hold {self._share.memory:,} MB)" if self._share.memory else ""
        return WorkerError(
            f"The process that computed this ended before it was done, perhaps for want of memory{cap}. Nothing else was harmed: run it again, or choose a smaller dataset or rank."
        )


class _Sender(pickle.Pickler):
    """Pickles messages of one job; the data within results is sent once, before the first result that holds it."""

    def __init__(self, outbox: IO[bytes], number: int) -> None:
        self._outbox, self._of = outbox, number
        self._sent: dict[
            int, tuple[int, Any]
        ] = {}  # by identity; holding on to them keeps identities unique

    def send(self, kind: str, content: Any) -> None:
        buffer = io.BytesIO()
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self.dump((kind, self._of, content, 0 if kind == "result" else _in_use()))
        _send(self._outbox, buffer.getbuffer())

    def persistent_id(self, found: Any) -> int | None:
        if not isinstance(found, _SENT_ONCE):
            return None
        if id(found) not in self._sent:
            number = len(self._sent)
            self._sent[id(found)] = (number, found)
            _send(
                self._outbox,
                pickle.dumps(
                    ("shared", self._of, (number, found), 0), protocol=pickle.HIGHEST_PROTOCOL
                ),
            )
        return self._sent[id(found)][0]


class _Reader(pickle.Unpickler):
    """Unpickles messages, with the data that was sent before."""

    def __init__(self, content: bytes, shared: Mapping[int, Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self._shared[pid]


def _send(pipe: IO[bytes] | None, content: bytes | memoryview) -> None:
    assert pipe is not None  # both ends are pipes
    pipe.write(_HEADER.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes] | None, inbox: "queue.Queue[Message | None]") -> None:
    """Put what arrives into ``inbox``, and None when nothing more will."""
    assert pipe is not None
    shared: dict[int, Any] = {}
    # whatever happens here, also for want of memory: who waits must hear that nothing more comes
    with suppress(Exception):
        while True:
            header = pipe.read(_HEADER.size)
            if len(header) < _HEADER.size:
                break
            (size,) = _HEADER.unpack(header)
            content = pipe.read(size)
            if len(content) < size:
                break
            message = _Reader(content, shared).load()
            if message[0] == "shared":
                shared[message[2][0]] = message[2][1]
                continue
            if message[0] != "result":
                shared = {}  # the job is over: nothing of its data stays here
            inbox.put(message)
            del message, content
    inbox.put(None)


def _compute(sender: _Sender, content: Any, stopped: Callable[[], bool]) -> None:
    """Draw results and send them on; what was worked out of the last ones is sent with them."""
    steps, specs, sets = content
    pause, last = 0.0, -_SEND_EVERY
    try:
        with shelf.using(*sets):
            for k, spec in enumerate(specs):
                latest, sent = None, True
                for latest in STEPS[steps](spec):
                    sent = False
                    if stopped():
                        return
                    if time.monotonic() - last >= max(_SEND_EVERY, pause):
                        began = time.monotonic()
                        sender.send("result", (k, latest, False))
                        last, sent = time.monotonic(), True
                        pause = 10 * (last - began)  # large results must not fill the time
                if latest is None:
                    continue
                named = [name for name in _WORKED_OUT if hasattr(type(latest), name)]
                for name in named:  # kept with the result: the page need not wait for them
                    getattr(latest, name)
                sender.send("result", (k, latest if named or not sent else None, True))
    except DPMCError as error:
        sender.send("raised", error)
    except MemoryError:
        sender.send("raised", MemoryError())
    except Exception as error:  # noqa: BLE001 - one failure must never end the worker; its parent shows the sentence
        sender.send(
            "raised",
            WorkerError(f"The run stopped unexpectedly ({type(error).__name__}: {error})."),
        )
    else:
        sender.send("end", None)


def _in_use() -> int:
    """Bytes of memory in use, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def main() -> None:
    """Compute what comes in until nothing more can come."""
    Share(*map(int, sys.argv[1:])).take()
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not garble messages
    arrived: queue.Queue[Message | None] = queue.Queue()
    jobs: queue.Queue[Message] = queue.Queue()
    stopped: set[int] = set()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, arrived), daemon=True).start()

    def sort() -> None:
        while (message := arrived.get()) is not None:
            if message[0] == "stop":
                stopped.add(message[1])
            else:
                jobs.put(message)
            del message
        os._exit(0)  # the parent is gone, and with it whoever wanted the result

    threading.Thread(target=sort, daemon=True).start()
    import dpmc_core.experiments  # noqa: F401 - before the first job comes

    while True:
        _, number, content, _ = jobs.get()
        try:
            sender = _Sender(outbox, number)
            _compute(sender, content, lambda number=number: number in stopped)  # type: ignore[misc]
            if number in stopped:
                sender.send("end", None)
            del sender, content  # nothing of a job stays while none is there
        except BrokenPipeError:
            os._exit(0)


if __name__ == "__main__":
    main()
