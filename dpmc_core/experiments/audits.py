"""What can be audited: releases with and without Alice, and what is claimed of them.

Lives here: ``AuditSpec`` (one frozen, JSON-able value that names an audit), the neighbouring datasets that a visitor can see,
the outputs that an attacker sees, and ``audit_steps``, the one path from a spec to an ``AuditResult``. Does not live here: the attack
and its bound (``privacy.audit``), or the algorithms (``completion``).
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import registry
from dpmc_core.experiments.run import versions
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.mechanisms.grid import grid_step, sample_on_grid
from dpmc_core.privacy import Ledger, Release, Statement, state
from dpmc_core.privacy.audit import Attack, attack
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.wording import three

__all__ = [
    "ALICE",
    "CASES",
    "CHOICES",
    "FILM",
    "NEIGHBOURS",
    "NUMERIC",
    "VIEWS",
    "AuditResult",
    "AuditSpec",
    "audit",
    "audit_steps",
    "claimed_release",
    "neighbours",
    "outputs",
    "spec_from_json",
    "true_counts",
]

FloatArray = NDArray[np.float64]

# What happens to the one number of the "number" target. Only the first keeps what is claimed.
CASES: dict[str, str] = {
    "as-claimed": "The noise that was promised, and an input within the promised range.",
    "half-noise": "Broken on purpose: the noise has half the scale that was promised.",
    "unclipped": "Broken on purpose: Alice adds 3 where at most 1 was promised, and nobody clips it.",
    "low-bits": "The noise that was promised, added in floating point to a count of 1 (Alice) or 0; the attacker reads the last bits.",
    "on-grid": "The noise that was promised, sampled exactly on a grid; the same attack on the last bits.",
}
NEIGHBOURS: dict[str, str] = {
    "rating": "One of Alice's ratings is a 5 or a 1 (replace one rating).",
    "user": "All of Alice's ratings are in the data or not (add or remove one user).",
}
VIEWS: dict[str, str] = {
    "matrix": "the whole completed matrix, Alice's row included",
    "others": "the completed rows of everybody but Alice",
    "items": "the item factors only (as VVᵀ)",
}
TARGETS = ("number", *registry.ALGORITHMS)
CHOICES: dict[str, tuple[str, ...]] = {
    "target": TARGETS,
    "mechanism": ("huber", "laplace", "gaussian"),
    "case": tuple(CASES),
    "neighbours": tuple(NEIGHBOURS),
    "view": tuple(VIEWS),
}
NUMERIC = {
    "epsilon": "noise_epsilon",
    "alpha": "alpha",
    "delta": "account_delta",
    "iterations": "iterations",
    "inner": "inner",
    "rank": "audit_rank",
    "reg": "reg",
    "runs": "audit_runs",
    "confidence": "confidence",
    "seed": "seed",
}
_BATCHES = 10  # a result so far after each of them
_GRID_RUNS = 20_000  # exact sampling is slow; more would not tell more about the last bits
ALICE, FILM = 0, 2  # Alice's row, and the film whose rating the "rating" neighbours change
_PEOPLE = 41  # of whom count, without Alice: a public number, the attacker knows everybody else


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditSpec:
    """Everything that determines an audit. Raises ``ParameterError`` naming field, value and range.

    ``target`` "number" is a count of people released once with ``mechanism`` noise of claimed ``epsilon`` (at ``delta`` for
    Gaussian noise), as ``case`` says; any other target is an algorithm of the registry, run on a small table of ratings with noise of nominal
    ``epsilon`` per draw, between ``neighbours``, the attacker seeing ``view``. ``runs`` outputs of each dataset are drawn.
    """

    target: str = "number"
    mechanism: str = "laplace"
    epsilon: float = 1.0
    alpha: float = 1.5
    delta: float = 1e-5
    case: str = "as-claimed"
    neighbours: str = "rating"
    view: str = "matrix"
    iterations: int = 1
    inner: int = 2
    rank: int = 2
    reg: float = 0.5
    runs: int = 100_000
    confidence: float = 0.999
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(choices))
        for name, limit in NUMERIC.items():
            try:
                number = limits.check(limit, getattr(self, name))
            except ParameterError as error:
                raise ParameterError(name, getattr(self, name), error.allowed) from None
            object.__setattr__(self, name, int(number) if limits.LIMITS[limit].integer else number)
        if self.target != "number" and self.case != "as-claimed":
            raise ParameterError("case", self.case, "as-claimed for algorithms; the others break a single number")
        if self.case in ("low-bits", "on-grid") and self.mechanism == "gaussian":
            raise ParameterError("mechanism", "gaussian", f"huber or laplace for {self.case}, whose claim is a pure ε")
        most = 10_000 if self.target != "number" else 10_000_000
        if self.runs > most:
            raise ParameterError("runs", self.runs, f"at most {most:,} for {self.target}")

    @property
    def total(self) -> int:
        """How many results ``audit_steps`` yields."""
        return _BATCHES

    @property
    def epsilon_of_noise(self) -> dict[str, float]:
        """Arguments that make the noise: α for Huber, δ for Gaussian."""
        return {"huber": {"alpha": self.alpha}, "gaussian": {"delta": self.delta}}.get(self.mechanism, {})

    def but(self, **changes: Any) -> "AuditSpec":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All fields, JSON-able."""
        return asdict(self)

    def command(self) -> str:
        """The command line that makes this audit.

        >>> AuditSpec(mechanism="huber", case="half-noise").command()
        'python -m dpmc_core audit --mechanism huber --case half-noise'
        """
        changed = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        words = [
            f"--{name} {getattr(self, name):g}" if name in NUMERIC else f"--{name} {getattr(self, name)}"
            for name in changed
        ]
        return " ".join(["python -m dpmc_core audit", *words])

    def run_spec(self, seed: int) -> RunSpec:
        """The run of an algorithm target with this seed; noise of nominal ε per draw at Δ = 5, as the papers assume."""
        return RunSpec(
            algorithm=self.target,
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            alpha=self.alpha if self.mechanism == "huber" else None,
            delta=self.delta,
            rank=self.rank,
            reg=self.reg,
            iterations=self.iterations,
            inner=self.inner,
            seed=seed,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditResult:
    """An audit so far: the ``attack`` on ``runs`` outputs of each dataset, and the ``statement`` that it tests."""

    spec: AuditSpec
    attack: Attack
    statement: Statement
    runs: int
    seconds: float
    finished: bool
    versions: dict[str, str]

    @property
    def claims(self) -> dict[str, float]:
        """The ε that is claimed, by name; all at ``statement.delta``."""
        if self.statement.draws == 1:
            return {"nominal" if self.statement.nominal else "claimed": self.statement.epsilon}
        return {"nominal, one draw": self.statement.epsilon_per_draw, "nominal, all draws": self.statement.epsilon}

    @property
    def about_another_unit(self) -> bool:
        """Whether the datasets differ in more than the claim speaks of: a whole user, where it is about one rating."""
        return self.spec.target != "number" and self.spec.neighbours == "user" and self.statement.unit == "rating"

    @cached_property
    def beaten(self) -> dict[str, bool]:
        """For each claim, whether the attack proves that the true ε between these two datasets is larger."""
        return {name: self.attack.bound.epsilon > epsilon for name, epsilon in self.claims.items()}

    @property
    def verdict(self) -> str:
        """What the audit shows, in plain words."""
        bound = self.attack.bound
        proved = f"The attack proves ε ≥ {three(bound.epsilon)} with {100 * bound.confidence:g} % confidence"
        lost = [(self.claims[name], name) for name, larger in self.beaten.items() if larger]
        if not lost:
            return f"{proved}. That does not contradict the claim; it does not prove it either."
        epsilon, name = max(lost)
        if self.about_another_unit:
            return (
                f"{proved}, more than the {name} ε = {three(epsilon)}. That count speaks of one rating; nothing at all is "
                "promised about a whole user."
            )
        return f"{proved}. The {name} ε = {three(epsilon)} is wrong."

    def summary(self) -> dict[str, Any]:
        """A JSON-able account of the audit."""
        return {
            "spec": self.spec.as_dict(),
            "bound": asdict(self.attack.bound),
            "claims": self.claims,
            "beaten": self.beaten,
            "verdict": self.verdict,
            "statement": self.statement.as_dict(),
            "runs": self.runs,
            "finished": self.finished,
            "seconds": round(self.seconds, 3),
            "versions": dict(self.versions),
        }


def audit_steps(spec: AuditSpec) -> Iterator[AuditResult]:
    """Yield the ``AuditResult`` so far after each tenth of the runs. Stop iterating to cancel."""
    started = time.perf_counter()
    seeds = np.random.SeedSequence([spec.seed, 0xAD17]).spawn(2 * _BATCHES)
    runs = min(spec.runs, _GRID_RUNS) if spec.case == "on-grid" else spec.runs
    sizes = [len(part) for part in np.array_split(np.arange(runs), _BATCHES)]
    statement = _statement(spec)
    made: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for k, size in enumerate(sizes):
        for side, inside in enumerate((True, False)):
            made[side].append(outputs(spec, inside, size, seeds[2 * k + side]))
        found = attack(
            np.concatenate(made[0]),
            np.concatenate(made[1]),
            delta=statement.delta if statement.private else 0.0,
            confidence=spec.confidence,
        )
        yield AuditResult(
            spec=spec,
            attack=found,
            statement=statement,
            runs=sum(sizes[: k + 1]),
            seconds=time.perf_counter() - started,
            finished=k + 1 == _BATCHES,
            versions=versions(),
        )


def audit(spec: AuditSpec) -> AuditResult:
    """The finished audit; see ``audit_steps``.

    >>> result = audit(AuditSpec(case="unclipped", runs=4000))
    >>> result.beaten
    {'claimed': True}
    """
    result = None
    for result in audit_steps(spec):  # noqa: B007
        pass
    assert result is not None
    return result


def outputs(spec: AuditSpec, inside: bool, size: int, seed: np.random.SeedSequence) -> FloatArray:
    """``size`` independent outputs as the attacker sees them (size×d), with Alice ``inside`` or not."""
    if spec.target == "number":
        return _numbers(spec, inside, size, seed)[:, None]
    ratings = neighbours(spec.neighbours)[0 if inside else 1]
    look = _LOOKS[spec.view]
    rows = []
    first = int(seed.generate_state(1)[0])
    for k in range(size):
        step = None
        for step in registry.start(ratings, spec.run_spec((first + k) % 2**32), workers=1):  # noqa: B007
            pass
        assert step is not None
        rows.append(look(step.model.user_factors, step.model.item_factors))
    return np.array(rows)


def claimed_release(spec: AuditSpec) -> Release:
    """The one release of the "number" target as it is claimed: a count that Alice moves by at most 1."""
    return Release(
        what="how many people are in the data",
        mechanism=_claimed_noise(spec),
        l1_sensitivity=1.0,
        l2_sensitivity=1.0,
        unit="user",
        neighbours="add/remove-one",
        coordinates=1,
        count=1,
        sound=True,
        source="a count changes by at most 1 when one person joins or leaves",
    )


def true_counts() -> tuple[int, int]:
    """The count with Alice and without; the attacker knows both."""
    return _PEOPLE + 1, _PEOPLE


def neighbours(kind: str) -> tuple[Ratings, Ratings]:
    """The two small tables of ratings that an algorithm target is run on (12 people × 8 films, ratings 1–5), as ``NEIGHBOURS``
    says: first the one with Alice (or with her 5), then the other. They differ in nothing else."""
    rng = np.random.default_rng(7)
    people, films = 12, 8
    taste, trait = rng.choice([-1.0, 1.0], people), rng.choice([-1.0, 1.0], films)
    values = np.clip(np.rint(3 + 1.4 * np.outer(taste, trait) + rng.normal(0, 0.7, (people, films))), 1, 5)
    seen = rng.random((people, films)) < 0.8
    seen[ALICE, :] = True
    values[ALICE, FILM] = 5
    users, items = np.nonzero(seen)

    def table(values: FloatArray, keep: NDArray[np.bool_]) -> Ratings:
        return Ratings.checked(
            users[keep], items[keep], values[users[keep], items[keep]], n_users=people, n_items=films, low=1, high=5
        )

    everything = np.ones(len(users), dtype=np.bool_)
    if kind == "user":
        return table(values, everything), table(values, users != ALICE)
    other = values.copy()
    other[ALICE, FILM] = 1
    return table(values, everything), table(other, everything)


def _claimed_noise(spec: AuditSpec) -> Mechanism:
    family: Any = {"huber": Huber, "laplace": Laplace, "gaussian": Gaussian}[spec.mechanism]
    made: Mechanism = family.with_epsilon(spec.epsilon, 1.0, **spec.epsilon_of_noise)
    return made


def _statement(spec: AuditSpec) -> Statement:
    """What is claimed: the ledger is the algorithm's own, written by the line that draws the noise."""
    if spec.target == "number":
        release = claimed_release(spec)
        claim = state(Ledger((release,)), spec.delta)
        if isinstance(release.mechanism, Gaussian):
            return claim
        # a pure claim is tested as such: at δ = 0
        return replace(claim, epsilon=claim.accounts[0].epsilon, delta=0.0, how="pure ε of one release")
    ledger = Ledger()
    ratings, _ = neighbours(spec.neighbours)
    for step in registry.start(ratings, spec.run_spec(spec.seed), workers=1):
        ledger = ledger.plus(step.releases)
    return state(ledger, spec.delta, ratings.high - ratings.low)


def _numbers(spec: AuditSpec, inside: bool, size: int, seed: np.random.SeedSequence) -> FloatArray:
    rng = np.random.default_rng(seed)
    noise = _claimed_noise(spec)
    value = float(true_counts()[0 if inside else 1])
    if spec.case in ("low-bits", "on-grid"):
        value = (
            1.0 if inside else 0.0
        )  # nobody but Alice could be counted: the attack needs a neighbour whose value is 0
        if spec.case == "low-bits":
            published: FloatArray = value + np.asarray(noise.sample(size, rng), dtype=np.float64)
        else:
            step = grid_step(noise)
            published = value + step * sample_on_grid(noise, size, step, lambda n: _below(rng, n)).astype(np.float64)
        return _has_small_bits(published).astype(np.float64)
    if spec.case == "half-noise":
        noise = scaled(noise, 0.5)
    if spec.case == "unclipped" and inside:
        value += 2.0
    return value + np.asarray(noise.sample(size, rng))


def _below(rng: np.random.Generator, n: int) -> int:
    """A uniform whole number below n of any size, for audits that can be repeated; releases use the system's secrets."""
    if n <= 2**63:
        return int(rng.integers(n))
    bits = n.bit_length()
    while True:
        value = int.from_bytes(rng.bytes((bits + 7) // 8), "little") >> (-bits % 8)
        if value < n:
            return value


def _has_small_bits(published: FloatArray) -> NDArray[np.bool_]:
    """Whether a published number within ±½ is no multiple of 2⁻⁵³.

    1 + x, computed in floating point with x between −3/2 and −1/2, always is one: such a number can only have come from 0 + x.
    """
    in_steps = published * 2.0**53
    return np.asarray((np.abs(published) < 0.5) & (in_steps != np.rint(in_steps)))


def _upper(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix))]


_LOOKS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "matrix": lambda u, v: (u @ v.T).ravel(),
    "others": lambda u, v: (np.delete(u, ALICE, axis=0) @ v.T).ravel(),
    "items": lambda u, v: _upper(v @ v.T),
}


def spec_from_json(text: str) -> AuditSpec:
    """An ``AuditSpec`` from JSON; raises ``ParameterError`` for anything else, unknown fields included."""
    try:
        raw = json.loads(text)
    except ValueError:
        raise ParameterError("spec", text, "a JSON object as the app exports it") from None
    if not isinstance(raw, dict):
        raise ParameterError("spec", raw, "a JSON object as the app exports it")
    known = {f.name for f in fields(AuditSpec)}
    for name in raw:
        if name not in known:
            raise ParameterError("spec field", str(name), "one of " + ", ".join(sorted(known)))
    return AuditSpec(**raw)
