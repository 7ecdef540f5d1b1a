"""Ledgers as files: what a run exported, read back and checked.

From JSON text to a ``Ledger``, with one clear sentence for everything that is wrong with a file;
nothing is read halfway.
"""

import inspect
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from dpmc_core import limits
from dpmc_core.errors import DataError, ParameterError, check_names
from dpmc_core.mechanisms import FAMILIES, Gaussian, Mechanism
from dpmc_core.paths import names_once, read_file
from dpmc_core.privacy.ledger import Ledger, Release, merge
from dpmc_core.wording import JsonObject

MOST_BYTES = 2_000_000
MOST_RELEASES = 200  # of different kinds; how often each was made does not matter
_FORM = 'a JSON object {"version": 1, "releases": [...]}, as the app exports it'
_DEFAULTS = {
    "what": "a released vector",
    "source": "given in a file",
    "unit": "record",
    "neighbours": "add/remove-one",
    "coordinates": 1,
    "count": 1,
    "sound": False,
}


def read_ledger(path: str | Path) -> Ledger:
    """The ledger in the file at ``path``.

    Raises ``DataError`` for a file that cannot be read, is larger than ``MOST_BYTES`` or is not
    JSON, and ``ParameterError`` for what is wrong inside.
    """
    path = Path(path)
    return ledger_from_text(read_file(path, MOST_BYTES), path.name)


def ledger_from_text(text: bytes | str, name: str = "ledger") -> Ledger:
    """The ledger in JSON ``text``.

    A ledger, a run's exported result, or a list of results of which exactly one has noise.

    Raises as ``read_ledger``; ``name`` is what messages call it.
    """
    if len(text) > MOST_BYTES:
        raise DataError(
            f"The ledger file {name!r} has {len(text) / 1e6:,.1f} MB: it must be at most "
            f"{MOST_BYTES / 1e6:g} MB."
        )
    if isinstance(text, str):
        text = text.removeprefix("\ufeff")
    try:
        raw = json.loads(text, parse_constant=_no_constant, object_pairs_hook=names_once)
    except (ValueError, RecursionError) as error:
        twice = " (a name is there twice)" if "twice" in str(error) else ""
        raise DataError(f"{name!r} is not a ledger file{twice}: it must be {_FORM}.") from None
    if isinstance(raw, list):
        noisy = [entry for entry in raw if isinstance(entry, Mapping) and _has_releases(entry)]
        if len(noisy) != 1:
            raise DataError(
                f"{name!r} holds {len(noisy)} results with noise: it must hold one; export the "
                "ledger of one configuration."
            )
        raw = noisy[0]
    if isinstance(raw, Mapping) and isinstance(raw.get("ledger"), Mapping):
        raw = raw["ledger"]
    return ledger_from_dict(raw)


def ledger_from_dict(raw: object) -> Ledger:
    """The ledger that ``Ledger.as_dict`` wrote.

    Of the two sensitivities one may be missing: ℓ2 is then at most ℓ1, and ℓ1 at most
    √coordinates·ℓ2, for which ``coordinates`` must be given. Otherwise ``count`` and
    ``coordinates`` default to 1 (one number, once), ``sound`` to false: what a file does not say is
    not a guarantee.
    """
    if not isinstance(raw, Mapping) or not isinstance(raw.get("releases"), list):
        raise DataError(f"This is not a ledger: it must be {_FORM}.")
    if raw.get("version", 1) != 1:
        raise ParameterError(
            "version", raw.get("version"), "1, the only version this release reads"
        )
    releases = raw["releases"]
    if not 1 <= len(releases) <= MOST_RELEASES:
        raise ParameterError(
            "releases", f"{len(releases)} entries", f"from 1 to {MOST_RELEASES:,} kinds of release"
        )
    parsed = []
    for k, entry in enumerate(releases, start=1):
        try:
            parsed.append(_release(entry))
        except ParameterError as error:
            raise ParameterError(f"release {k}: {error.name}", error.value, error.allowed) from None
    return Ledger(merge(tuple(parsed)))


def _has_releases(entry: Mapping[str, Any]) -> bool:
    ledger = entry.get("ledger", entry)
    return isinstance(ledger, Mapping) and bool(ledger.get("releases"))


def _release(raw: object) -> Release:
    if not isinstance(raw, Mapping):
        raise ParameterError("entry", raw, "a JSON object")
    check_names("field", raw, (f.name for f in fields(Release)))
    given: JsonObject = {**_DEFAULTS, **raw}
    for name in ("coordinates", "count"):
        given[name] = limits.check_int(name, given[name])
    l1, l2 = raw.get("l1_sensitivity"), raw.get("l2_sensitivity")
    if l1 is None and l2 is None:
        raise ParameterError(
            "l1_sensitivity",
            "missing",
            "given, or l2_sensitivity: without either nothing is bounded",
        )
    given["mechanism"] = noise = _mechanism(raw.get("mechanism"))
    if l1 is None and "coordinates" not in raw and not isinstance(noise, Gaussian):
        raise ParameterError(
            "coordinates",
            "missing",
            "given when l1_sensitivity is not: ℓ1 can be √coordinates times ℓ2",
        )
    if l1 is None:
        given["l1_sensitivity"] = given["coordinates"] ** 0.5 * limits.check("sensitivity", l2)
    if l2 is None:
        given["l2_sensitivity"] = l1
    for name in ("l1_sensitivity", "l2_sensitivity", "linf_sensitivity"):
        if given.get(name) is not None:
            given[name] = limits.check("sensitivity", given[name])
    if not isinstance(given["sound"], bool):
        raise ParameterError("sound", given["sound"], "true or false")
    for name in ("what", "source"):
        text = given[name]
        if not isinstance(text, str) or not text.isprintable():
            shown = ascii(text) if isinstance(text, str) else text
            raise ParameterError(name, shown, "a text of printable characters")
        given[name] = text[:300]
    return Release(**given)


def _mechanism(raw: object) -> Mechanism:
    name = raw.get("name") if isinstance(raw, Mapping) else raw
    if not isinstance(raw, Mapping) or not isinstance(name, str) or name not in FAMILIES:
        raise ParameterError(
            "mechanism", "missing" if name is None else name, "one of " + ", ".join(FAMILIES)
        )
    # what a ledger says of staircase noise has another name than what makes it
    given = {n: v for n, v in raw.items() if n != "name"}
    if name == "staircase" and "epsilon_design" in given:
        given["epsilon"] = given.pop("epsilon_design")
    allowed = inspect.signature(FAMILIES[name]).parameters
    check_names(f"{name} parameter", given, allowed)
    for key in sorted(allowed.keys() - given.keys()):
        if allowed[key].default is inspect.Parameter.empty:
            raise ParameterError(f"{name} {key}", "missing", limits.LIMITS[key].allowed)
    return FAMILIES[name](**given)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
