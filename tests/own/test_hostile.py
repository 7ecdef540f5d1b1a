"""Kinds of hostile and mistaken files, read in a process that may take what the app's may."""

import re
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import pytest

from dpmc_core.datasets import own
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.process import Share
from tests.own.hostile import hostile


def outcomes(now: Path) -> dict[str, str]:
    """By kind of file: "read", or what was said of it. ``now`` tells which one is being read."""
    files, results = hostile(), {}
    Share(memory=2000).take()
    warnings.simplefilter("error")
    for (kind, file), each in files.items():
        for name, data in each.items():
            now.write_text(name)
            began = time.process_time()
            try:
                own.inspect(kind, file, data)
                whole = own.read(kind, file, data)
                assert "\n" not in "".join(map(str, (*whole.notes, *whole.questions)))
                results[name] = "read"
            except DPMCError as error:
                results[name] = str(error)
            except MemoryError:
                results[name] = "It takes more memory than is allowed."  # as the app says
            except Exception as error:  # noqa: BLE001
                results[name] = f"UNEXPECTED {error!r}"
            if time.process_time() - began > 20:  # what the app allows for both
                results[name] = "UNEXPECTED: it takes too long"
    return results


@pytest.mark.nightly
def test_each_ends_in_a_set_or_a_sentence(tmp_path: Path) -> None:
    now = tmp_path / "now"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        try:
            results = apart.submit(outcomes, now).result()
        except BrokenProcessPool:
            pytest.fail(f"The process died on {now.read_text()!r}")
    assert len(results) > 70
    sentence = re.compile(r"read|(?!UNEXPECTED)[^\n]{20,700}")
    assert {name: text for name, text in results.items() if not sentence.fullmatch(text)} == {}
    # unusual, and yet right
    for name in ("pictures of a palette with holes", "pictures of four inks", "codes everywhere"):
        assert results[name] == "read", results[name]
