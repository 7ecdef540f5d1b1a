"""Kinds of hostile and mistaken files, read in a process that may take what the app's may."""

import faulthandler
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
from tests.own.hostile import HOSTILE

ALL = [(*of, name, make) for of, files in HOSTILE.items() for name, make in files.items()]


def what_becomes_of_them(folder: str) -> dict[str, str]:
    """By kind of file: "read", or what was said of it; anything else fails."""
    faulthandler.enable(Path(folder, "crash").open("w"))  # noqa: SIM115 - open to the last
    Share(memory=2000).take()
    found = {}
    for kind, file, name, make in ALL:
        Path(folder, "now").write_text(name)
        data = make()
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                own.inspect(kind, file, data)
                made = own.read(kind, file, data)
                found[name] = "read"
                for note in (*made.notes, *made.doubts):
                    assert "\n" not in note, (name, note)
            except DPMCError as error:
                found[name] = str(error)
            except MemoryError:
                found[name] = "It takes more memory than is allowed."  # as the app says
            except Exception as error:  # noqa: BLE001
                found[name] = f"UNEXPECTED {type(error).__name__}: {error}"
        if time.process_time() - began > 20:  # what the app allows for both
            found[name] = f"UNEXPECTED: {time.process_time() - began:.0f} s"
    return found


@pytest.mark.nightly
def test_each_ends_in_a_set_or_a_sentence(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        try:
            found = apart.submit(what_becomes_of_them, str(tmp_path)).result()
        except BrokenProcessPool:
            now, crash = ((tmp_path / name).read_text() for name in ("now", "crash"))
            pytest.fail(f"The process died on {now!r}: {crash or 'killed without a word'}")
    assert len(found) == len(ALL)
    bad = {
        name: said[:300]
        for name, said in found.items()
        if said != "read"
        and (not re.fullmatch(r"[^\n]{20,700}", said) or said.startswith("UNEXPECTED"))
    }
    assert bad == {}
    # unusual, and yet right
    for name in ("pictures of a palette with holes", "pictures of four inks", "codes everywhere"):
        assert found[name] == "read", found[name]
