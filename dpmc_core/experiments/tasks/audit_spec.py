"""What an audit is: one frozen, JSON-able value that names it.

Lives here: ``AuditSpec``, the names in it and what they mean. Does not live here: what is released (``audit_targets``) or running an
audit (``audits``).
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dpmc_core import limits
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import registry
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.factor_spec import FactorSpec
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.spec_text import fields_of_json

__all__ = [
    "CASES",
    "CHOICES",
    "FACTOR_TARGETS",
    "NEIGHBOURS",
    "NUMERIC",
    "VIEWS",
    "AuditSpec",
    "spec_from_json",
]

# What happens to the one number of the "number" target. Only the first keeps what is claimed.
CASES: dict[str, str] = {
    "as-claimed": "The noise that was promised, and an input within the promised range.",
    "half-noise": "Broken on purpose: the noise has half the scale that was promised.",
    "unclipped": "Broken on purpose: Alice adds 3 where at most 1 was promised, and nobody clips it.",
    "low-bits": "The noise that was promised, added in floating point to a count of 1 (Alice) or 0; the attacker reads the last bits.",
    "on-grid": "The noise that was promised, sampled exactly on a grid: there are no finer bits, so the same attack has nothing to read.",
}
NEIGHBOURS: dict[str, str] = {
    "rating": "One of Alice's ratings is a 5 or a 1 (replace one rating).",
    "user": "All of Alice's ratings are in the data or not (add or remove one user).",
    "image": "Alice's picture is in the data, or its place is empty (add or remove one image).",
}
VIEWS: dict[str, str] = {
    "matrix": "the whole completed matrix, Alice's row included",
    "others": "the completed rows of everybody but Alice",
    "items": "the item factors only (as VVᵀ)",
    "factors": "the factors of all other users and of all items",
    "parts": "the learned parts (W)",
}
FACTOR_TARGETS = tuple(name for name, factorizer in FACTORIZERS.items() if factorizer.claims)
TARGETS = (
    "number",
    *(
        name
        for name, algorithm in registry.ALGORITHMS.items()
        if algorithm.protects and algorithm.rates
    ),
    *FACTOR_TARGETS,
)
CHOICES: dict[str, tuple[str, ...]] = {
    "target": TARGETS,
    "mechanism": ("huber", "laplace", "gaussian", "staircase"),
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
_USUAL_RUNS = {"number": 100_000, "on-grid": 20_000, "algorithm": 1_000}
_MOST_RUNS = {
    "number": 10_000_000,
    "on-grid": 20_000,
    "algorithm": 10_000,
}  # exact sampling and algorithms are slow
_MOST_WORK = (
    200_000  # iterations (inner ones counted) of all runs on one dataset: about three minutes
)
_MOST_ITERATIONS = 500  # of one run, so that an audit can be cancelled between outputs


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditSpec:
    """Everything that determines an audit. Raises ``ParameterError`` naming field, value and range.

    ``target`` "number" is a count of people released once with ``mechanism`` noise of claimed ``epsilon`` (at ``delta`` for
    Gaussian noise), as ``case`` says; any other target is an algorithm of the registry, run on a small table of ratings with noise of nominal
    ``epsilon`` per draw, between ``neighbours``, the attacker seeing ``view``. For algorithms that are sound ``epsilon`` is the
    total of the run; factorisations are run on a few tiny pictures, ``rank`` parts in ``iterations`` rounds. ``runs`` outputs of each dataset are
    drawn, by default 100,000 numbers (20,000 on a grid) or 1,000 models.
    """

    target: str = "number"
    mechanism: str = "laplace"
    epsilon: float = 1.0
    alpha: float = 1.5
    delta: float = 1e-5
    case: str = "as-claimed"
    neighbours: str = ""  # "" in the call: what the target's noise is about
    view: str = ""
    iterations: int = 1
    inner: int = 2
    rank: int = 2
    reg: float = 0.5
    runs: int = 0  # 0 in the call: the usual number for the target
    confidence: float = 0.999
    seed: int = 0

    def __post_init__(self) -> None:
        about_users = (
            self.target in registry.ALGORITHMS
            and registry.ALGORITHMS[self.target].protects == "user"
        )
        about_images = self.target in FACTOR_TARGETS
        for name, usual in (
            ("neighbours", "image" if about_images else "user" if about_users else "rating"),
            ("view", "parts" if about_images else "factors" if about_users else "matrix"),
        ):
            if getattr(self, name) == "":
                object.__setattr__(self, name, usual)
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(choices))
        kind = (
            "algorithm"
            if self.target != "number"
            else "on-grid"
            if self.case == "on-grid"
            else "number"
        )
        if isinstance(self.runs, int) and self.runs == 0:
            object.__setattr__(self, "runs", _USUAL_RUNS[kind])
        for name, limit in NUMERIC.items():
            try:
                number = limits.check(limit, getattr(self, name))
            except ParameterError as error:
                raise ParameterError(name, getattr(self, name), error.allowed) from None
            object.__setattr__(self, name, int(number) if limits.LIMITS[limit].integer else number)
        if self.target != "number" and self.case != "as-claimed":
            raise ParameterError(
                "case", self.case, "as-claimed for algorithms; the others break a single number"
            )
        if self.case in ("low-bits", "on-grid") and self.mechanism not in ("huber", "laplace"):
            raise ParameterError("mechanism", self.mechanism, f"huber or laplace for {self.case}")
        if self.target != "number" and self.mechanism == "staircase":
            raise ParameterError(
                "mechanism", "staircase", "huber, laplace or gaussian for algorithms"
            )
        if about_users and self.neighbours != "user":
            raise ParameterError(
                "neighbours",
                self.neighbours,
                f"user for {self.target}, whose claim is about one user added or removed",
            )
        if about_users and self.view == "matrix":
            raise ParameterError(
                "view",
                "matrix",
                "others, items or factors: joint privacy does not hide from Alice what only she is shown",
            )
        if about_images != (self.neighbours == "image"):
            raise ParameterError(
                "neighbours",
                self.neighbours,
                "image for this target, a factorisation"
                if about_images
                else "rating or user for this target, which is about ratings",
            )
        if about_images != (self.view == "parts"):
            raise ParameterError(
                "view",
                self.view,
                "parts for this target, a factorisation"
                if about_images
                else "matrix, others, items or factors for this target, which is about ratings",
            )
        if about_images:
            self.factor_spec(0)
        if self.runs > _MOST_RUNS[kind]:
            raise ParameterError("runs", self.runs, f"at most {_MOST_RUNS[kind]:,} for this target")
        if kind == "algorithm":
            each = (
                1
                if self.target == "moment-nmf"
                else self.iterations * (1 if about_images else self.run_spec(0).inner_iterations)
            )
            if each > _MOST_ITERATIONS or each * self.runs > _MOST_WORK:
                most = min(_MOST_ITERATIONS, _MOST_WORK // self.runs)
                raise ParameterError(
                    "iterations",
                    self.iterations,
                    f"so few that each run makes at most {most} solves, with {self.runs:,} runs",
                )

    @property
    def noise_options(self) -> dict[str, float]:
        """What the noise needs beside ε: α for Huber, δ for Gaussian."""
        return {"huber": {"alpha": self.alpha}, "gaussian": {"delta": self.delta}}.get(
            self.mechanism, {}
        )

    @property
    def about_the_whole_run(self) -> bool:
        """Whether ε is the total of an algorithm's whole run, not of one draw."""
        if self.target in FACTOR_TARGETS:
            return FACTORIZERS[self.target].claims == "sound"
        return self.target != "number" and registry.ALGORITHMS[self.target].protects == "user"

    def but(self, **changes: Any) -> "AuditSpec":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All fields, JSON-able."""
        return asdict(self)

    def command(self) -> str:
        """The command line that makes this audit.

        >>> AuditSpec(mechanism="huber", case="half-noise").command()
        'python -m dpmc_core audit --case half-noise --mechanism huber'
        >>> AuditSpec(epsilon=1.23456789, seed=123456789).command()
        'python -m dpmc_core audit --epsilon 1.23456789 --seed 123456789'
        """
        usual = AuditSpec(target=self.target, case=self.case)
        changed = [f.name for f in fields(self) if getattr(self, f.name) != getattr(usual, f.name)]
        changed = [
            name for name in ("target", "case") if getattr(self, name) != getattr(AuditSpec(), name)
        ] + changed
        words = [f"--{name} {getattr(self, name)}" for name in changed]
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
            centring="user",
        )

    def factor_spec(self, seed: int) -> FactorSpec:
        """The run of a factorisation target with this seed; what is published of moment NMF needs no rounds on the data."""
        return FactorSpec(
            dataset="cartoon",
            n_samples=100,
            algorithm=self.target,
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            alpha=self.alpha if self.mechanism == "huber" else None,
            delta=self.delta,
            rank=self.rank,
            rounds=20 if self.target == "moment-nmf" else self.iterations,
            seed=seed,
        )


def spec_from_json(text: str) -> AuditSpec:
    """An ``AuditSpec`` from JSON; raises ``ParameterError`` for anything else, unknown fields included."""
    return AuditSpec(**fields_of_json(AuditSpec, text))
