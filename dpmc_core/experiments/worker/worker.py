"""A process that computes for another one.

What it does can be watched, stopped, and killed without harm.

``Worker``, which starts such a process, hands it a spec and draws results from it; and the process
itself (``python -m dpmc_core.experiments.worker.worker``). It takes no more than its ``Share`` of
the machine, sees only the own sets that came with the spec, and ends with its parent.

The two speak over the process's standard input and output. Messages are pickled: they come from
this software itself, never from a file or a visitor.
"""

import os
import pickle
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any

from threadpoolctl import threadpool_limits

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.process import (
    ALL,
    LocalProcess,
    Message,
    Process,
    Sender,
    Share,
    receive,
    return_memory,
    send,
)

_HEARTBEAT = 0.1  # seconds between looks at whether somebody asked to stop
_SEND_EVERY = 0.3  # seconds at least between results: nobody sees more
_PATIENCE = (
    3.0  # seconds that a step may go on after somebody asked to stop, before the process is killed
)
_TOO_LARGE = 1_000_000_000  # bytes in use after a job that are given back by starting again
_WORKED_OUT = ("statement", "against_baseline", "coherence")  # slow properties of results


Steps = Callable[[Any], Iterator[Any]]  # a generator of results of a spec, by its module and name
# a spec's number, a result of it (None: the one before), and whether it was its last
Outcome = tuple[int, Any, bool]
Outcomes = Generator[Outcome | None, None, None]


class WorkerError(DPMCError):
    """The process that computed is gone; the message says what to do."""


class WorkerEndedError(WorkerError):
    """The process ended by itself, perhaps for want of memory."""


class WorkerLostError(WorkerError):
    """The machine on which the process was is gone: it may be started on another one. ``unable``
    says why it may not, if so.
    """

    unable = ""


class Worker:
    """One process, started when it is first needed and again whenever it is gone.

    It takes at most its ``share``; ``starter`` starts it, on this machine if left out.
    """

    note = ""  # it runs where it should

    def __init__(
        self, share: Share = ALL, starter: Callable[[Share], Process] = LocalProcess
    ) -> None:
        self._share, self._starter = share, starter
        self._process: Process | None = None
        self._number = 0
        # whether the process that ``draw`` drew from last is through with starting: on a busy
        # machine that takes longer than most jobs
        self.ready, self._held = False, 0
        self._changing = threading.RLock()

    @property
    def pid(self) -> int | None:
        """The process's number, None while there is none."""
        return None if self._process is None else self._process.pid

    @property
    def busy(self) -> float:
        """Seconds of a processor that the process has used since it began; 0 while there is none.

        What a busy machine gives to others does not count.
        """
        return 0.0 if self._process is None else self._process.busy

    @property
    def held(self) -> int:
        """Bytes of all that the job has given so far, as it was sent."""
        return self._held

    def start(self) -> None:
        """Start the process now, so that the first job need not wait for it.

        Raises ``WorkerError`` where the system starts none.
        """
        with self._changing:
            if self._process is not None and self._process.alive:
                return
            self.close()
            try:
                self._process = self._starter(self._share)
            except ConnectionError:
                raise WorkerLostError("The cluster cannot be reached: run it again.") from None
            except OSError as error:
                raise WorkerError(
                    f"No process could be started to compute this ({error.strerror}): try again "
                    "in a minute."
                ) from None
            self.ready = False

    def start_aside(self) -> None:
        """Start the process without waiting for it; who draws is told if that fails."""

        def begin() -> None:
            with suppress(WorkerError):
                self.start()

        threading.Thread(target=begin, daemon=True).start()

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
        """What the generator ``steps`` yields for each of ``specs``, which see ``sets``, with the
        spec's number and whether it was its last (then None stands for the one before):
        the latest a few times a second, the last of each always, and None every tenth of a second
        in which there is nothing. Close it to stop; a step that does not heed that is killed.
        Raises what the generator raised where that is a ``DPMCError`` or ``MemoryError``;
        ``WorkerError`` where the process ended or something unexpected was raised. Results that
        take more than ``most`` bytes together are a ``DPMCError``: they never come here.

        A process that has seen somebody's own data (``sets``, or ``private`` specs) ends with the
        job, and another one is started: what it held is gone for good. With ``keep`` the job goes
        on in the next ``draw``, and ends when the process is closed. ``together``: the specs
        advance by turns, a step each, and what one of them raises comes when the others are done.
        """
        self.start()
        process = self._process
        assert process is not None  # just started
        self._number, self._held = self._number + 1, 0
        number = self._number
        try:
            process.send(
                pickle.dumps(
                    ("draw", number, (steps, tuple(specs), tuple(sets), most, together), 0)
                )
            )
        except OSError:
            raise self._ended() from None
        running, again = True, (bool(sets) or private) and not keep
        try:
            while True:
                try:
                    message = process.inbox.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    yield None
                    continue
                if message is None:
                    running = False
                    raise self._ended()
                kind, of, content, size = message
                self.ready = True  # whatever it says
                if of != number:
                    continue  # of a job that was stopped
                if kind == "result":
                    self._held = size or self._held
                    yield content
                    continue
                running = False
                again = again or size > _TOO_LARGE
                if kind == "raised":
                    raise content
                return
        finally:
            if running:
                self._stop(number)
            if again:
                self.close()
                if self._starter is LocalProcess:  # elsewhere a process is there for one job
                    self.start_aside()

    def close(self) -> None:
        """End the process, if there is one."""
        with self._changing:
            if self._process is not None:
                self._process.close()
                self._process = None

    def _stop(self, number: int) -> None:
        if self._process is None:
            return
        until = time.monotonic() + _PATIENCE
        try:
            self._process.send(pickle.dumps(("stop", number, None, 0)))
            while time.monotonic() < until:
                message = self._process.inbox.get(timeout=max(until - time.monotonic(), 0.01))
                if message is None or (message[0] != "result" and message[1] == number):
                    return
        except (OSError, queue.Empty):
            pass
        self.close()

    def _ended(self) -> WorkerError:
        process = self._process
        self.close()
        if process is not None and process.lost:
            error = WorkerLostError("The worker that computed this was lost: run it again.")
            error.unable = process.unable
            return error
        cap = f" (a run may hold {self._share.memory:,} MB)" if self._share.memory else ""
        return WorkerEndedError(
            "The process that computed this ended before it was done, perhaps for want of "
            f"memory{cap}. Nothing else was harmed: run it again, or choose a smaller dataset "
            "or rank."
        )


def _compute(sender: Sender, content: Any, stopped: Callable[[], bool]) -> None:
    """Draw results and send them on; what was worked out of the last ones is sent with them."""
    steps, specs, sets, _, together = content
    waiting = list(enumerate(specs))
    turns = [waiting] if together else [[one] for one in waiting]
    failed: DPMCError | None = None
    pause, last = 0.0, -_SEND_EVERY
    try:
        with user_datasets.using(*sets):
            for turn in turns:
                active = {k: steps(spec) for k, spec in turn}
                latest: dict[int, Any] = {}  # of each what was not sent yet
                shown: dict[int, Any] = {}
                while active:
                    for k in list(active):
                        try:
                            latest[k] = shown[k] = next(active[k])
                        except StopIteration:
                            del active[k]
                            _send_last(sender, k, shown.get(k), sent=k not in latest)
                            latest.pop(k, None)
                        except DPMCError as error:
                            del active[k]
                            failed = failed or error
                        if stopped():
                            return
                    if latest and time.monotonic() - last >= max(_SEND_EVERY, pause):
                        began = time.monotonic()
                        for k, result in latest.items():
                            sender.send("result", (k, result, False))
                        latest.clear()
                        last = time.monotonic()
                        pause = 10 * (last - began)  # large results must not fill the time
                if failed is not None:
                    raise failed
    except DPMCError as error:
        sender.send("raised", error)
    except MemoryError:
        sender.send("raised", MemoryError())
    except Exception as error:  # noqa: BLE001
        # one failure must never end the worker; its parent shows the sentence
        sender.send(
            "raised",
            WorkerError(f"The run stopped unexpectedly ({type(error).__name__}: {error})."),
        )
    else:
        sender.send("end", None)


def _send_last(sender: Sender, k: int, result: Any, *, sent: bool) -> None:
    """Send the last result of a spec, with what was worked out of it: the page need not wait."""
    if result is None:
        return
    named = [name for name in _WORKED_OUT if hasattr(type(result), name)]
    for name in named:
        getattr(result, name)
    sender.send("result", (k, result if named or not sent else None, True))


def main() -> None:
    """Compute what comes in until nothing more can come."""
    folder = sys.argv[1]
    Share(*map(int, sys.argv[2:])).take()

    def leave() -> None:
        """The parent has gone: nobody waits for the result."""
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not garble messages
    arrived: queue.Queue[Message | None] = queue.Queue()
    jobs: queue.Queue[Message] = queue.Queue()
    stopped: set[int] = set()
    threading.Thread(target=receive, args=(sys.stdin.buffer, arrived), daemon=True).start()

    def sort() -> None:
        while (message := arrived.get()) is not None:
            if message[0] == "stop":
                stopped.add(message[1])
            else:
                jobs.put(message)
            del message
        leave()

    threading.Thread(target=sort, daemon=True).start()
    import dpmc_core.experiments  # noqa: F401 - before the first job comes

    # where others come first (``Share.nice``), two threads of BLAS wait for each other: twice the
    # time; the solvers have threads of their own
    threadpool_limits(1)
    with suppress(BrokenPipeError):  # the next read tells that the parent is gone
        send(outbox, pickle.dumps(("ready", 0, None, 0)))
    while True:
        _, number, content, _ = jobs.get()
        try:
            sender = Sender(outbox, number, most=content[3])
            _compute(sender, content, lambda number=number: number in stopped)  # type: ignore[misc]
            if number in stopped:
                sender.send("end", None)
            del sender, content  # nothing of a job stays while none is there
            return_memory()
        except BrokenPipeError:
            leave()


if __name__ == "__main__":
    # by its own name: an error of a class of ``__main__`` could not be read by the parent
    from dpmc_core.experiments.worker.worker import main as _main

    _main()
