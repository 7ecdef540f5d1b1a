"""Running an audit: the one path from an ``AuditSpec`` to an ``AuditResult``, used by the page and
the command line.

``audit_steps`` (a result so far, again and again), ``audit`` (the last of them), and the verdict.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.experiments.tasks.audit_spec import FACTOR_TARGETS, AuditSpec, seen_by_attacker
from dpmc_core.experiments.tasks.audit_targets import (
    Neighbours,
    chunks,
    claimed_release,
    two_datasets,
)
from dpmc_core.experiments.tasks.solve import solve, versions
from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy import Ledger, Statement, state
from dpmc_core.privacy.attack import Attack, attack
from dpmc_core.privacy.tradeoff import TradeOff, of_ledger
from dpmc_core.wording import JsonObject, three

_FEWEST, _PAUSE = (
    8,
    0.4,
)  # outputs that an attack needs, and seconds between results while models are fitted
_LOOKS = 10  # after each tenth of the outputs, and as soon as there are enough for an attack
_LAST_SHARE = 0.9  # of the error that the confidence leaves; the earlier looks share the rest


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditResult:
    """An audit so far: the ``attack`` at the last look, and the ``statement`` that it tests.

    ``runs`` outputs of each dataset were drawn, and ``looked_at`` of them attacked. All looks are
    planned before the first, and share the error: with the confidence of ``attack.bound`` every
    one of them is right, whenever somebody stops. ``claimed_curve`` holds shares of false alarms
    and the misses that the claim then demands (2×k), or is empty for a nominal claim. ``record`` is
    in what the two datasets differ.
    """

    spec: AuditSpec
    attack: Attack
    statement: Statement
    claimed_curve: FloatArray
    runs: int
    looked_at: int
    seconds: float
    finished: bool
    versions: dict[str, str]
    record: str

    @property
    def claims(self) -> dict[str, float]:
        """The ε that is claimed, by name; all at ``statement.delta``."""
        if not self.statement.nominal:
            return {"claimed": self.statement.epsilon}
        if self.statement.draws == 1:
            return {"nominal, one release": self.statement.epsilon}
        return {
            "nominal, one release": self.statement.epsilon_per_draw,
            "nominal, all releases": self.statement.epsilon,
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
        curve = self.attack.test is not None and self.attack.test.exceeded
        return {
            name: self.attack.bound.epsilon > epsilon or curve
            for name, epsilon in self.claims.items()
        }

    @cached_property
    def epsilon_if_gaussian(self) -> float | None:
        """The ε at the claim's δ that is proved if the release is Gaussian, as is claimed."""
        test, claim = self.attack.test, self.statement
        if test is None or self.spec.mechanism != "gaussian" or not claim.delta:
            return None
        if not test.mu:
            return 0.0
        return Gaussian(scale=1 / test.mu).epsilon_at_delta(claim.delta, 1.0)

    @property
    def verdict(self) -> str:
        """What the audit shows, in plain words."""
        bound = self.attack.bound
        proved = (
            f"The attack proves ε ≥ {three(bound.epsilon)} with {100 * bound.confidence:g} % "
            "confidence"
        )
        lost = [(self.claims[name], name) for name, larger in self.beaten.items() if larger]
        test = self.attack.test
        if test is not None and test.exceeded and bound.epsilon <= self.claims["claimed"]:
            return (
                f"The attack finds {three(100 * test.found)} % or more at "
                f"{three(100 * test.false_alarms)} % false alarms or fewer, with "
                f"{100 * bound.confidence:g} % confidence; the claim allows at most "
                f"{three(100 * test.allowed)} % there. The claimed ε = "
                f"{three(self.claims['claimed'])} is wrong."
            )
        if not bound.epsilon:
            return (
                "The attack proves nothing: these outputs do not show that they differ. That is "
                "no proof that the claim holds."
            )
        if not lost:
            return f"{proved}. The claim may be true."
        epsilon, name = max(lost)
        if self.about_another_unit:
            return (
                f"{proved}, more than the {name} ε = {three(epsilon)}. That count speaks of one "
                "rating; nothing at all is promised about a whole user."
            )
        if self.statement.nominal:
            count = name.removeprefix("nominal, ")
            seen = seen_by_attacker(self.spec.view, "the user" if self.spec.dataset else "Alice")
            return (
                f"{proved}, for anybody who sees {seen}. The nominal ε = "
                f"{three(epsilon)} ({count}) is wrong there."
            )
        return f"{proved}. The {name} ε = {three(epsilon)} is wrong."

    def summary(self) -> JsonObject:
        """A JSON-able account of the audit."""
        return {
            "spec": self.spec.as_dict(),
            "record": self.record,
            "bound": asdict(self.attack.bound),
            "test": None if self.attack.test is None else asdict(self.attack.test),
            "epsilon_if_gaussian": self.epsilon_if_gaussian,
            "claims": self.claims,
            "beaten": self.beaten,
            "verdict": self.verdict,
            "statement": self.statement.as_dict(),
            "runs": self.runs,
            "looked_at": self.looked_at,
            "finished": self.finished,
            "seconds": round(self.seconds, 3),
            "versions": dict(self.versions),
        }


def audit_steps(spec: AuditSpec, *, interim: bool = True) -> Iterator[AuditResult]:
    """Yield the ``AuditResult`` so far after each tenth of the numbers, or about twice a second
    while models are fitted.

    Outputs are attacked after the first few and after each tenth, as planned; between these looks
    only ``runs`` changes. Without ``interim`` the last only. Stop iterating to cancel. The last
    result does not depend on how often one was yielded.
    """
    started = last = time.perf_counter()
    pair = None if spec.target == "number" else two_datasets(spec)
    statement, claim = _claim(spec, pair)
    curve = np.empty((2, 0)) if claim is None else claim.points
    looks = [_FEWEST, *(math.ceil(spec.runs * k / _LOOKS) for k in range(1, _LOOKS + 1))]
    error = 1 - spec.confidence
    outputs: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    runs = 0
    latest: tuple[Attack, int] | None = None
    for with_alice, without in chunks(spec, pair):
        outputs[0].append(with_alice)
        outputs[1].append(without)
        runs += len(with_alice)
        now = time.perf_counter()
        finished = runs == spec.runs
        if runs >= looks[0] and (interim or finished):
            looks = [look for look in looks if look > runs]
            share = _LAST_SHARE if finished else (1 - _LAST_SHARE) / _LOOKS
            made_so_far = attack(
                np.concatenate(outputs[0]),
                np.concatenate(outputs[1]),
                delta=statement.delta,
                confidence=1 - share * error,
                claim=claim,
            )
            bound = replace(made_so_far.bound, confidence=spec.confidence)
            latest = (replace(made_so_far, bound=bound), runs)
        soon = latest is None or (len(with_alice) == 1 and now - last < _PAUSE)
        if not finished and (soon or not interim):
            continue
        last = now
        assert latest is not None
        yield AuditResult(
            spec=spec,
            attack=latest[0],
            statement=statement,
            claimed_curve=curve,
            runs=runs,
            looked_at=latest[1],
            seconds=now - started,
            finished=finished,
            versions=versions(),
            record="Alice" if pair is None else pair.record,
        )


def audit(spec: AuditSpec) -> AuditResult:
    """The finished audit; see ``audit_steps``.

    >>> result = audit(AuditSpec(case="unclipped", runs=4000))
    >>> result.beaten
    {'claimed': True}
    """
    (result,) = audit_steps(spec, interim=False)
    return result


def _claim(spec: AuditSpec, pair: Neighbours | None) -> tuple[Statement, TradeOff | None]:
    """What is claimed, and its trade-off function unless the claim is nominal.

    The ledger is the algorithm's own, written by the line that draws the noise.
    """
    if pair is None:
        release = claimed_release(spec)
        claim, curve = state(Ledger((release,)), spec.delta), of_ledger(Ledger((release,)))
        if isinstance(release.mechanism, Gaussian):
            return claim, curve
        # a pure claim is tested as such: at δ = 0
        pure = claim.accounts[0].epsilon
        return replace(claim, epsilon=pure, delta=0.0, how="pure ε of one release"), curve
    ledger, on = Ledger(), pair.inside
    if spec.target in FACTOR_TARGETS:
        for learned in solve(spec.run_spec(spec.seed), on):
            ledger = ledger.plus(learned.releases)
        claim = state(ledger, spec.delta)
        return claim, None if claim.nominal else of_ledger(ledger)
    for step in solve(spec.run_spec(spec.seed), on, workers=1):
        ledger = ledger.plus(step.releases)
    secret = spec.case == "secret" if spec.searches else None
    claim = state(ledger, spec.delta, on.high - on.low, secret=secret)
    return claim, None if claim.nominal else of_ledger(ledger)
