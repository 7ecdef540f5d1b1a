"""What a worker can compute, by name."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from dpmc_core.datasets.own.sets import OwnSet, Preview
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import DataError, DPMCError


def _run(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments import steps

    return steps(spec)


def _study(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments.studies.engine import study_steps

    return study_steps(spec)


def _record(named: tuple[str, str]) -> Iterator[Any]:
    """One run of a sweep, by kind and spec as JSON; its record."""
    from dpmc_core.experiments.sweeps.workers import one

    yield one(*named)


def _audit(spec: Any) -> Iterator[Any]:
    from dpmc_core.experiments.tasks.audit import audit_steps

    return audit_steps(spec)


def _row(spec: tuple[str, str, int]) -> Iterator[float]:
    from dpmc_core.experiments.papers.compute import new_trial
    from dpmc_core.experiments.papers.rows import rows_of

    entry, name, seed = spec
    yield new_trial(next(row for row in rows_of(entry) if row.id == name), seed)


def _take(
    spec: tuple[str, str, bytes, dict[str, Any]],
) -> Iterator[tuple[Preview, OwnSet | DPMCError]]:
    """How a file is probably meant, and what it is if that is right."""
    from dpmc_core.datasets import own

    preview = own.inspect(*spec[:3])
    made: OwnSet | DPMCError
    try:
        (made,) = _read(spec)
    except DPMCError as error:
        made = error
    yield preview, made


def _read(spec: tuple[str, str, bytes, dict[str, Any]]) -> Iterator[OwnSet]:
    from dpmc_core.datasets import own

    made = own.read(*spec[:3], **spec[3])
    if made.documents is not None:
        with suppress(DataError):  # no word is left: the page says so where it matters
            # here, where time and memory have limits, and not in the server
            made.samples(TextFilter())
    yield made


def _ledger(spec: tuple[str, str, bytes, float]) -> Iterator[Any]:
    from dpmc_core.privacy import ledger_from_text, state

    _, name, content, delta = spec
    yield state(ledger_from_text(content, name), delta)


def _call(spec: tuple[str, str, bytes, str]) -> Iterator[Any]:
    """``module:function`` of a room that builds on this one, of a file's name and content."""
    module, _, function = spec[0].partition(":")
    yield getattr(importlib.import_module(module), function)(*spec[1:])


def _outputs(spec: tuple[str, str, bytes, dict[str, float]]) -> Iterator[Any]:
    from dpmc_core.experiments.tasks.audit_outputs import audit_text

    yield audit_text(spec[2], spec[1], **spec[3])


def _words(spec: tuple[tuple[str, ...], tuple[str, ...]]) -> Iterator[Any]:
    from dpmc_core.metrics.topics import learned_words

    yield learned_words(*spec)


STEPS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "run": _run,
    "study": _study,
    "record": _record,
    "audit": _audit,
    "row": _row,
    "take": _take,
    "read": _read,
    "ledger": _ledger,
    "call": _call,
    "outputs": _outputs,
    "words": _words,
}
