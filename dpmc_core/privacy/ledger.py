"""Releases and the ledger of a run, and ledgers as files.

``draw``, the one function that solvers call for noise; it returns the noise *and* the release, so
the count cannot drift from the algorithm. And what a run exported, read back and checked: from JSON
text to a ``Ledger``, with one clear sentence for everything that is wrong with a file; nothing is
read halfway.
"""

import inspect
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DataError, ParameterError, check_choice, check_names, one_of
from dpmc_core.mechanisms import FAMILIES, Gaussian, Mechanism, Staircase
from dpmc_core.paths import names_once, read_file
from dpmc_core.wording import JsonObject

Unit = Literal["rating", "user", "document", "image", "record"]
Neighbours = Literal["replace-one", "add/remove-one"]
UNITS: tuple[str, ...] = get_args(Unit)
NEIGHBOURS: tuple[str, ...] = get_args(Neighbours)
# what a release is part of, which decides what a statement says beside its ε: a completion or a
# factorisation with derived sensitivities (of which the average, the second moment of photographs
# and rows of a table have sentences of their own), or an algorithm as its paper has it (the Huber
# paper's ALS and IRLS with noise on each rating, on solved factors, on users too, or only in first
# iterations)
Kind = Literal[
    "",
    "completion",
    "score",
    "factorization",
    "average",
    "photographs",
    "rows",
    "huber-paper",
    "huber-ratings",
    "huber-output",
    "huber-users",
    "huber-stopped",
    "nmf-paper",
    "nmf-random",
    "dpnmf",
]
KINDS: tuple[str, ...] = get_args(Kind)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Release:
    """One noisy vector that leaves the curator, and how often it did.

    Between neighbours (``neighbours``, in data of one ``unit``) the vector moves by at most
    ``l1_sensitivity`` in the ℓ1 norm and ``l2_sensitivity`` in the ℓ2 norm, and none of its numbers
    by more than ``linf_sensitivity`` (None: not known to be less than the ℓ2 one), all in units of
    the released number; ``sound`` says whether they are derived (a guarantee) or assumed
    (*nominal*, as a paper counts). ``coordinates`` is the length d of the vector, ``count`` how
    many times a vector of this kind was released, ``mechanism`` the noise on each coordinate,
    ``source`` where the sensitivities come from. ``failure`` is the probability with which, apart
    from all that, something is shown that only one unit has (``account`` says what it costs).
    ``kind`` says what it is part of ("": nothing here). Where ``mean_runs`` is above 1, a random
    number of runs with that mean each made such releases, and those of the best run by a score
    among them are published alone (``account.choice_rdp``). There are as many choices of the same
    ``mean_runs`` as releases of kind "score", one at least. A ``sampling_rate`` q below 1 says that
    each is made of a new sample, which every unit is in with probability q (Poisson sampling).

    Raises ``ParameterError`` when a number is out of range, or when ℓ2 ≤ ℓ1 ≤ √d·ℓ2 or ℓ1 ≤ d·ℓ∞,
    which hold for every vector, do not hold. Staircase noise is accounted for single numbers only.
    """

    what: str
    mechanism: Mechanism
    l1_sensitivity: float
    l2_sensitivity: float
    unit: Unit
    neighbours: Neighbours
    coordinates: int
    count: int
    sound: bool
    source: str
    linf_sensitivity: float | None = None
    failure: float = 0.0
    kind: Kind = ""
    mean_runs: float = 1.0
    sampling_rate: float = 1.0

    def __post_init__(self) -> None:
        l1, l2 = (
            limits.check("sensitivity", x) for x in (self.l1_sensitivity, self.l2_sensitivity)
        )
        coordinates = limits.check_int("coordinates", self.coordinates)
        for name in ("count", "failure", "sampling_rate", "mean_runs"):
            limits.check(name, getattr(self, name))
        if self.mean_runs > 1 and self.failure:
            raise ParameterError("failure", self.failure, "0 in the best of several runs")
        for name, allowed in (("unit", UNITS), ("neighbours", NEIGHBOURS), ("kind", KINDS)):
            check_choice(name, getattr(self, name), allowed)
        if not self.what.isprintable():  # a ledger that is written can be read again
            raise ParameterError("what", ascii(self.what), "a text of printable characters")
        if l2 > l1 * (1 + 1e-9):
            raise ParameterError(
                "l2_sensitivity",
                l2,
                f"at most the l1_sensitivity, {l1:g}: no vector has ℓ2 above ℓ1",
            )
        if l1 > math.sqrt(coordinates) * l2 * (1 + 1e-9):
            raise ParameterError(
                "l1_sensitivity",
                l1,
                "at most √coordinates times the l2_sensitivity, "
                f"{math.sqrt(coordinates) * l2:g}: no vector exceeds it",
            )
        if self.linf_sensitivity is not None:
            most = coordinates * limits.check("sensitivity", self.linf_sensitivity)
            if l1 > most * (1 + 1e-9):
                raise ParameterError(
                    "l1_sensitivity",
                    l1,
                    f"at most coordinates times the linf_sensitivity, {most:g}: no vector "
                    "exceeds it",
                )
        ratio = l1 / self.mechanism.std
        if not 1e-12 <= ratio <= 1e12:
            raise ParameterError(
                "l1_sensitivity",
                l1,
                f"between 1e-12 and 1e12 standard deviations ({self.mechanism.std:g}) of the noise",
            )
        if isinstance(self.mechanism, Staircase):
            if l1 > 1e4 * self.mechanism.sensitivity:
                raise ParameterError(
                    "l1_sensitivity",
                    l1,
                    f"at most 10,000 times the staircase's own, {self.mechanism.sensitivity:g}",
                )
            if coordinates > 1:
                raise ParameterError(
                    "coordinates",
                    coordinates,
                    "1 for staircase noise, whose ε is derived for one number",
                )

    @property
    def most_uneven(self) -> tuple[tuple[float, int], ...]:
        """The worst way to move within ℓ1 and ℓ∞, as (shift, how many numbers): as few numbers as
        possible, each by as much as possible (docs/huber-composition.md, 3).
        """
        l1 = self.l1_sensitivity
        most = min(self.l2_sensitivity, self.linf_sensitivity or math.inf)
        whole = math.floor(l1 / most * (1 + 1e-9))
        rest = l1 - whole * most
        if rest > 1e-9 * l1:
            return ((most, whole), (rest, 1))
        return ((max(most, l1 / whole), whole),)  # nothing is left out

    def as_dict(self) -> JsonObject:
        """A JSON-able copy; the mechanism becomes its name and parameters."""
        # built field by field: asdict would turn the mechanism into a nameless dict; what is as
        # usual is left out
        usual = {field.name: field.default for field in fields(self)}
        out = {name: value for name, value in vars(self).items() if value != usual[name]}
        del out["mechanism"]
        return {**out, "mechanism": {"name": self.mechanism.name, **asdict(self.mechanism)}}


@dataclass(frozen=True)
class Ledger:
    """All releases of a run so far, like ones merged with their counts added."""

    releases: tuple[Release, ...] = ()

    def plus(self, new: tuple[Release, ...]) -> "Ledger":
        """A ledger with ``new`` added; releases that differ only in ``count`` become one."""
        merged = Counter[Release]()
        for release in (*self.releases, *new):
            merged[replace(release, count=1)] += release.count
        return Ledger(tuple(replace(key, count=count) for key, count in merged.items()))

    @property
    def private(self) -> bool:
        """Whether noise was drawn at all."""
        return bool(self.releases)

    @property
    def draws(self) -> int:
        """How many vectors were released in all."""
        return sum(release.count for release in self.releases)

    @property
    def failure(self) -> float:
        """The probability that any release shows what only one unit has: they fail apart."""
        logs = sum(release.count * math.log1p(-release.failure) for release in self.releases)
        return -math.expm1(logs)

    @property
    def mean_runs(self) -> float:
        """Of how many runs on average the best is published; 1 where no run was chosen."""
        return max((release.mean_runs for release in self.releases), default=1.0)

    @property
    def sampled(self) -> bool:
        """Whether any release is made of samples."""
        return any(release.sampling_rate < 1 for release in self.releases)

    def without_failure(self) -> "Ledger":
        """The same releases, as if none of them ever failed."""
        return Ledger(tuple(replace(release, failure=0.0) for release in self.releases))

    @property
    def sound(self) -> bool:
        """Whether every sensitivity is derived, so that what is counted from it is a guarantee."""
        return all(release.sound for release in self.releases)

    def as_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {"version": 1, "releases": [release.as_dict() for release in self.releases]}


def draw(
    mechanism: Mechanism, shape: tuple[int, ...], rng: np.random.Generator, **about: Any
) -> tuple[FloatArray, Release]:
    """Noise of ``shape`` and the release that it makes, together.

    All else that is said ``about`` it is a field of ``Release``. Returns (noise, release).
    """
    release = Release(mechanism=mechanism, coordinates=int(np.prod(shape)), count=1, **about)
    return sample(release, rng).reshape(shape), release


def sample(release: Release, rng: np.random.Generator) -> FloatArray:
    """The noise that a planned ``release`` says.

    Count×coordinates numbers, or coordinates numbers for a count of 1.
    """
    shape = (release.coordinates,) if release.count == 1 else (release.count, release.coordinates)
    return release.mechanism.sample(shape, rng)


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
    return Ledger().plus(tuple(parsed))


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
        raise ParameterError("mechanism", "missing" if name is None else name, one_of(FAMILIES))
    # what a ledger says of staircase noise has another name than what makes it
    given = {**raw}
    del given["name"]
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
