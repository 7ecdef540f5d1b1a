"""Specs as text: what every kind of spec reads and writes alike.

Lives here: from JSON to checked fields, unknown ones refused, and the words that bring somebody's own set along on a command line or in Python. Does not live here: the specs themselves, or what their values may be.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dpmc_core.datasets import user_datasets as shelf
from dpmc_core.errors import ParameterError

__all__ = [
    "fields_of_json",
    "known_fields",
    "others_than_own",
    "own_argument",
    "own_lines",
    "own_words",
]


def fields_of_json(kind: type, text: str) -> dict[str, Any]:
    """The fields of a spec of this ``kind`` (a dataclass) from JSON; raises ``ParameterError`` for anything else."""
    try:
        raw = json.loads(text)
    except ValueError:
        raise ParameterError("spec", text, "a JSON object as the app exports it") from None
    return known_fields(kind, raw)


def known_fields(kind: type, raw: object) -> dict[str, Any]:
    """``raw`` as keyword arguments of ``kind``; raises ``ParameterError`` unless it is a mapping whose names are all fields of it."""
    if not isinstance(raw, Mapping):
        raise ParameterError("spec", raw, "a JSON object as the app exports it")
    known = {f.name for f in fields(kind)}
    for name in raw:
        if name not in known:
            raise ParameterError("spec field", str(name), "one of " + ", ".join(sorted(known)))
    return {str(name): value for name, value in raw.items()}


def others_than_own(changes: Mapping[str, Any]) -> dict[str, Any]:
    """``changes`` without the name of an own set, which means nothing elsewhere."""
    return {
        name: value
        for name, value in changes.items()
        if name != "dataset" or not shelf.is_own(value)
    }


def own_words(dataset: str) -> list[str]:
    """The options that read an own set again; none for a set of the catalogue."""
    return [shelf.find(dataset).words()] if shelf.is_own(dataset) else []


def own_lines(dataset: str) -> str:
    """The lines of Python that read an own set again, as ``mine``."""
    return shelf.find(dataset).lines() if shelf.is_own(dataset) else ""


def own_argument(dataset: str) -> list[str]:
    """How those lines name it in a spec."""
    return ["dataset=mine.name"] if shelf.is_own(dataset) else []
