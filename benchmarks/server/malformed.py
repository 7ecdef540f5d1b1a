"""Thousands of malformed uploads and links.

``python -m benchmarks.server.malformed [--uploads 8000] [--links 2000]``.

Uploads are good files of every kind with bytes flipped, cut, doubled, mixed and mislabelled, read
as the app reads them; links are pages of the running app with hostile values for their controls,
opened by real sessions. Reports what was refused, what was read, the slowest, and anything that did
not end in a sentence.
"""

import argparse
import asyncio
import itertools
import random
import re
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from benchmarks.server.visitor import PAGES, ROOT, App, Visitor, running_app
from dpmc_core.datasets import own
from dpmc_core.errors import DPMCError
from tests.own.files import spoiled

VALUES = (
    "", " ", "0", "-1", "1e400", "nan", "inf", "-inf", "1" * 400, "0x10", "١٢٣", "1,2,3", "1,,2",
    "None", "null", "true", "false", "[]", "{}", "undefined",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
    "`rm -rf /`", "$x^2$", ":material/home:", "../../etc/passwd", "file:///etc/passwd",
    "\x00", "\u202e", "😀" * 50, "A" * 5000, "%", "%%", "%s%n", "'; DROP TABLE dpmc_runs; --",
    "own-ratings-0000000000000000", "Your ratings", "low-rank", "ml-100k", "huber",
    "1", "2", "1.5", "1e-9", "1e9", "1.0000000001",
)  # fmt: skip


def keys() -> list[str]:
    """Every name that a link can hold, as the pages' code has them."""
    found: set[str] = {
        "run",
        "audit",
        "lesson",
        "step",
        "runs",
        "embed",
        "present",
        "dataset",
        "d_name",
        "n",
    }
    for file in [*(ROOT / "pages").glob("*.py"), *(ROOT / "pages" / "parts").glob("*controls.py")]:
        found |= set(
            re.findall(
                r"controls\.\w+\(\s*\"[^\"]*\",\s*\"(\w+)\"", file.read_text(encoding="utf-8")
            )
        )
    return sorted(found)


def links(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Without end: pages with one to five hostile values."""
    rng, names = random.Random(seed), keys()
    while True:
        parts = [
            f"{quote(rng.choice(names))}={quote(rng.choice(VALUES), errors='replace')}"
            for _ in range(rng.randint(1, 5))
        ]
        if rng.random() < 0.05:
            parts.append(rng.choice(("&&&", "===", "a", "%zz", "?x=1", "run=1&run=1&run=2")))
        # a run that a hostile link starts would be as long as it says: those are cancelled when the
        # session goes
        yield (
            rng.choice(PAGES),
            "&".join(part for part in parts if part not in ("run=1", "audit=1")),
        )


def uploads(count: int, seed: int) -> None:
    """Read that many spoiled files."""
    said: Counter[str] = Counter()
    slowest, started = 0.0, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would go to the log, and may quote the file
        for kind, file, data in itertools.islice(spoiled(seed), count):
            began = time.perf_counter()
            try:
                own.inspect(kind, file, data)
                own.read(kind, file, data)
                said["read"] += 1
            except DPMCError:
                said["refused in a sentence"] += 1
            except Exception:  # noqa: BLE001 - what is looked for
                said["NOT IN A SENTENCE: " + traceback.format_exc(limit=-3)[-600:]] += 1
            slowest = max(slowest, time.perf_counter() - began)
    print(
        f"{count:,} uploads in {time.perf_counter() - started:.0f} s, the slowest {slowest:.2f} "
        f"s: {dict(said)}",
        flush=True,
    )


async def visit(app: App, count: int, seed: int) -> None:
    """Open that many links, four sessions at a time."""
    made = itertools.islice(links(seed), count)
    times: list[float] = []
    errors: list[str] = []
    hung: list[str] = []
    slow: list[str] = []

    async def one() -> None:
        async with Visitor(app.url) as visitor:
            for page, query in made:
                try:
                    times.append(await visitor.open(page, query, timeout=60))
                    if times[-1] > 5:
                        slow.append(f"{times[-1]:.1f} s: {page}?{query[:300]}")
                except TimeoutError:
                    hung.append(f"{page}?{query}")
                    return
            errors.extend(visitor.errors)

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(4)))
    over = sum(t > 5 for t in times)
    print(
        f"{len(times):,} links in {time.perf_counter() - started:.0f} s, four at a time: "
        f"slowest {max(times):.2f} s, {over} above 5 s, {len(hung)} hung, {len(errors)} with an "
        "error on the page"
    )
    for line in (*hung[:5], *errors[:10], *slow[:20]):
        print(f"  {line}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=8000)
    parser.add_argument("--links", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    uploads(arguments.uploads, arguments.seed)
    if not arguments.links:
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder), DPMC_STORE=str(Path(folder) / "runs")) as app,
    ):
        asyncio.run(visit(app, arguments.links, arguments.seed))
        log = app.log.read_text(errors="replace")
        print(
            f"the server is {'up' if app.process.poll() is None else 'DOWN'}; tracebacks in its "
            f"log: {log.count('Traceback')}"
        )
        for said in sorted(set(re.findall(r"^\w+Error: .*$", log, re.MULTILINE)))[:10]:
            print(f"  {said}")


if __name__ == "__main__":
    main()
