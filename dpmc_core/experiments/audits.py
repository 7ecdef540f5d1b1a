"""Running an audit: the one path from an ``AuditSpec`` to an ``AuditResult``, used by the page and the command line.

Lives here: ``audit_steps`` (a result so far after each tenth of the outputs), ``audit`` (the last of them), and the verdict. Does not live
here: the spec (``audit_spec``), what is released (``audit_targets``), the attack and its bound (``privacy.audit``).
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.experiments import registry
from dpmc_core.experiments.audit_spec import BATCHES, AuditSpec
from dpmc_core.experiments.audit_targets import claimed_release, neighbours, outputs
from dpmc_core.experiments.run import versions
from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy import Ledger, Statement, state
from dpmc_core.privacy.audit import Attack, attack
from dpmc_core.wording import three

__all__ = ["AuditResult", "audit", "audit_steps"]

FloatArray = NDArray[np.float64]
_GRID_RUNS = 20_000  # exact sampling is slow; more would not tell more about the last bits


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
    seeds = np.random.SeedSequence([spec.seed, 0xAD17]).spawn(2 * BATCHES)
    runs = min(spec.runs, _GRID_RUNS) if spec.case == "on-grid" else spec.runs
    sizes = [len(part) for part in np.array_split(np.arange(runs), BATCHES)]
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
            finished=k + 1 == BATCHES,
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
