"""Running an audit: the one path from an ``AuditSpec`` to an ``AuditResult``, used by the page and
the command line.

Lives here: ``audit_steps`` (a result so far, again and again), ``audit`` (the last of them), and
the verdict. Does not live here: the spec (``audit_spec``), what is released (``audit_targets``),
the attack and its bound (``privacy.audit``).
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.experiments.tasks.audit_spec import FACTOR_TARGETS, VIEWS, AuditSpec
from dpmc_core.experiments.tasks.audit_targets import chunks, claimed_release, neighbours, pictures
from dpmc_core.experiments.tasks.solve import solve, versions
from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy import Ledger, Statement, state
from dpmc_core.privacy.audit import Attack, attack
from dpmc_core.wording import three

__all__ = ["AuditResult", "audit", "audit_steps"]

FloatArray = NDArray[np.float64]
_FEWEST, _PAUSE = (
    8,
    0.4,
)  # outputs that an attack needs, and seconds between results while models are fitted


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditResult:
    """An audit so far: the ``attack`` on ``runs`` outputs of each dataset, and the ``statement``
    that it tests.
    """

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
        if not self.statement.nominal:
            return {"claimed": self.statement.epsilon}
        if self.statement.draws == 1:
            return {"nominal, one draw": self.statement.epsilon}
        return {
            "nominal, one draw": self.statement.epsilon_per_draw,
            "nominal, all draws": self.statement.epsilon,
        }

    @property
    def about_another_unit(self) -> bool:
        """Whether the datasets differ in more than the claim speaks of.

        A whole user, where it is about one rating.
        """
        return (
            self.spec.target != "number"
            and self.spec.neighbours == "user"
            and self.statement.unit == "rating"
        )

    @cached_property
    def beaten(self) -> dict[str, bool]:
        """For each claim, whether the attack proves that the true ε between these two datasets is
        larger.
        """
        return {name: self.attack.bound.epsilon > epsilon for name, epsilon in self.claims.items()}

    @property
    def verdict(self) -> str:
        """What the audit shows, in plain words."""
        bound = self.attack.bound
        proved = (
            f"The attack proves ε ≥ {three(bound.epsilon)} with {100 * bound.confidence:g} % "
            "confidence"
        )
        lost = [(self.claims[name], name) for name, larger in self.beaten.items() if larger]
        if not bound.epsilon:
            return (
                "The attack proves nothing: these outputs do not show that they differ. That is "
                "no proof that the claim holds."
            )
        if not lost:
            return f"{proved}. That does not contradict the claim; it does not prove it either."
        epsilon, name = max(lost)
        if self.about_another_unit:
            return (
                f"{proved}, more than the {name} ε = {three(epsilon)}. That count speaks of one "
                "rating; nothing at all is promised about a whole user."
            )
        if self.statement.nominal:
            count = name.removeprefix("nominal, ")
            return (
                f"{proved}, for whoever sees {VIEWS[self.spec.view]}. The nominal ε = "
                f"{three(epsilon)} ({count}) is wrong there."
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


def audit_steps(spec: AuditSpec, *, interim: bool = True) -> Iterator[AuditResult]:
    """Yield the ``AuditResult`` so far after each tenth of the numbers, or about twice a second
    while models are fitted.

    Without ``interim`` the last only. Stop iterating to cancel. The last result does not depend on
    how often one was yielded.
    """
    started = last = time.perf_counter()
    statement = _statement(spec)
    made: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    runs = 0
    for with_alice, without in chunks(spec):
        made[0].append(with_alice)
        made[1].append(without)
        runs += len(with_alice)
        now = time.perf_counter()
        soon = runs < _FEWEST or (len(with_alice) == 1 and now - last < _PAUSE)
        if runs < spec.runs and (soon or not interim):
            continue
        last = now
        yield AuditResult(
            spec=spec,
            attack=attack(
                np.concatenate(made[0]),
                np.concatenate(made[1]),
                delta=statement.delta,
                confidence=spec.confidence,
            ),
            statement=statement,
            runs=runs,
            seconds=now - started,
            finished=runs == spec.runs,
            versions=versions(),
        )


def audit(spec: AuditSpec) -> AuditResult:
    """The finished audit; see ``audit_steps``.

    >>> result = audit(AuditSpec(case="unclipped", runs=4000))
    >>> result.beaten
    {'claimed': True}
    """
    (result,) = audit_steps(spec, interim=False)
    return result


def _statement(spec: AuditSpec) -> Statement:
    """The claim: the ledger is the algorithm's own, written by the line that draws the noise."""
    if spec.target == "number":
        release = claimed_release(spec)
        claim = state(Ledger((release,)), spec.delta)
        if isinstance(release.mechanism, Gaussian):
            return claim
        # a pure claim is tested as such: at δ = 0
        return replace(
            claim, epsilon=claim.accounts[0].epsilon, delta=0.0, how="pure ε of one release"
        )
    ledger = Ledger()
    if spec.target in FACTOR_TARGETS:
        for learned in solve(spec.run_spec(spec.seed), pictures()[0]):
            ledger = ledger.plus(learned.releases)
        return state(ledger, spec.delta)
    ratings, _ = neighbours(spec.neighbours)
    for step in solve(spec.run_spec(spec.seed), ratings, workers=1):
        ledger = ledger.plus(step.releases)
    secret = spec.case == "secret" if spec.searches else None
    return state(ledger, spec.delta, ratings.high - ratings.low, secret=secret)
