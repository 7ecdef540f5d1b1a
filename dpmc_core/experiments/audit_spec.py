"""What an audit is: one frozen, JSON-able value that names it.

Lives here: ``AuditSpec``, the names in it and what they mean. Does not live here: what is released (``audit_targets``) or running an
audit (``audits``).
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dpmc_core import limits
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import registry
from dpmc_core.experiments.spec import RunSpec

__all__ = ["BATCHES", "CASES", "CHOICES", "NEIGHBOURS", "NUMERIC", "VIEWS", "AuditSpec", "spec_from_json"]

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
BATCHES = 10  # an audit yields a result so far after each of them


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
        return BATCHES

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
