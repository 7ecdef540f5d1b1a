"""A class of 300 in one room: how many guesses are counted, and how far behind the projector is.

``python -m benchmarks.server.classroom [students]``. Every student is a real WebSocket session:
each joins, guesses in three rounds within five seconds of the question, and some load the page
again. Two rooms are open at once. Prints the seconds by which the projector is behind an answer.
"""

import asyncio
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.server.visitor import Visitor, running_app

_ROUNDS, _WITHIN = 3, 5.0
_JOINING = 10  # at once
_COUNT = re.compile(r"\*\*(\d+)\*\* of (\d+) answered")


async def _lead(url: str) -> Visitor:
    host = await Visitor(url).__aenter__()
    await host.open("classroom")
    await host.press("Open a room")
    return host


def _count(host: Visitor) -> int:
    found = [_COUNT.search(text) for text in host.texts[-8:]]
    return max((int(match[1]) for match in found if match), default=0)


async def _guess(student: Visitor, draw: random.Random, pressed: list[float]) -> None:
    await asyncio.sleep(draw.uniform(0, _WITHIN))
    label = draw.choice(("She is in", "She is out"))
    student.texts.clear()
    await student.press_in_fragment(label)
    while not any("Look at the projector" in text for text in student.texts):
        await asyncio.sleep(0.05)
    pressed.append(time.perf_counter())


async def _watch(host: Visitor, seen: dict[int, float], until: int) -> None:
    """Note when the projector first shows each number of answers."""
    while _count(host) < until:
        await asyncio.sleep(0.02)
        now, count = time.perf_counter(), _count(host)
        for k in range(max(seen, default=0) + 1, count + 1):
            seen[k] = now


async def play(url: str, students: int) -> dict[str, float]:
    """Play, and return what was measured."""
    draw, joining = random.Random(0), asyncio.Semaphore(_JOINING)
    host, other = await _lead(url), await _lead(url)
    query = host._query.split("&")[0]

    async def join() -> Visitor:
        async with joining:
            student = await Visitor(url).__aenter__()
            await student.open("classroom", query, timeout=120)
            return student

    began = time.perf_counter()
    seated = await asyncio.gather(*(join() for _ in range(students)))
    joined = time.perf_counter() - began
    lags, waits = [], []
    for number in range(_ROUNDS):
        host.texts.clear()
        for student in seated:
            student.widgets.clear()
        await host.press("Ask the class")
        asked = time.perf_counter()
        for student in seated:
            while "She is in" not in student.widgets:
                await asyncio.sleep(0.05)
        waits.append(time.perf_counter() - asked)
        pressed, seen = list[float](), dict[int, float]()
        watching = asyncio.create_task(_watch(host, seen, students))
        await asyncio.gather(*(_guess(student, draw, pressed) for student in seated))
        await asyncio.wait_for(watching, 60)
        lags += [max(0.0, seen[k] - at) for k, at in enumerate(sorted(pressed), start=1)]
        if number == 0:  # connections are lost, and tabs loaded again
            await asyncio.gather(*(student.reconnect() for student in seated[:5]))
            await asyncio.gather(*(student.reload() for student in seated[5:10]))
    seats = int(next(match[2] for text in reversed(host.texts) if (match := _COUNT.search(text))))
    errors = [error for one in (host, other, *seated) for error in one.errors]
    if errors or (_count(host), seats, _count(other)) != (students, students, 0):
        raise RuntimeError(f"{_count(host)} answers, {seats} seats of {students}: {errors[:3]}")
    for one in (host, other, *seated):
        await one.__aexit__()
    return {
        "seconds until all had joined": joined,
        "seconds until all phones had the question, at most": max(waits),
        "projector behind, seconds, p50": float(np.quantile(lags, 0.5)),
        "projector behind, seconds, p95": float(np.quantile(lags, 0.95)),
        "projector behind, seconds, at most": max(lags),
    }


def main() -> None:
    """Play one class and print what was measured."""
    students = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with running_app(place, DPMC_VISITS="400", DPMC_STORE=str(place / "runs.sqlite")) as app:
            for name, value in asyncio.run(play(app.url, students)).items():
                print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
