"""Specs as JSON: what every kind of spec reads alike.

Lives here: from text to checked fields, unknown ones refused. Does not live here: the specs themselves, or what their values may be.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dpmc_core.errors import ParameterError

__all__ = ["fields_of_json", "known_fields"]


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
