"""Running an audit: the one path from an ``AuditSpec`` to an ``AuditResult``, used by the page and
the command line.

``audit_steps`` (a result so far, again and again), ``audit`` (the last of them), and the verdict.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import numpy as np

from dpmc_core.arrays import BoolArray, FloatArray
from dpmc_core.experiments.tasks.audit_canaries import OneRun
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
from dpmc_core.privacy.one_run import Proof, excludes, prove
from dpmc_core.privacy.tradeoff import TradeOff, of_ledger
from dpmc_core.wording import JsonObject, three

_FEWEST = 8  # outputs that an attack needs
_PAUSE = 0.4  # seconds between results while models are fitted
_LOOKS = 10  # after each tenth of the outputs, and as soon as there are enough for an attack
_LAST_SHARE = 0.9  # of the error that the confidence leaves; the earlier looks share the rest


@dataclass(frozen=True, kw_only=True, eq=False)
class Audited(ABC):
    """An audit so far, after ``runs`` outputs of each dataset or steps of the only run; the
    ``statement`` is what it tests.
    """

    spec: AuditSpec
    statement: Statement
    runs: int
    seconds: float
    finished: bool
    versions: dict[str, str] = field(default_factory=versions)

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The ε that is proved, whatever the noise is."""

    @property
    @abstractmethod
    def curve_exceeded(self) -> bool:
        """Whether the claimed trade-off function is wrong."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What the audit shows, in plain words."""

    @property
    def claims(self) -> dict[str, float]:
        """The ε that is claimed, by name; all at ``statement.delta``."""
        claim = self.statement
        if not claim.nominal:
            return {"claimed": claim.epsilon}
        if claim.draws == 1:
            return {"nominal, one release": claim.epsilon}
        return {
            "nominal, one release": claim.epsilon_per_draw,
            "nominal, all releases": claim.epsilon,
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
        return {
            name: self.epsilon > epsilon or self.curve_exceeded
            for name, epsilon in self.claims.items()
        }

    def summary(self) -> JsonObject:
        """A JSON-able account of the audit."""
        return {
            "spec": self.spec.as_dict(),
            "claims": self.claims,
            "beaten": self.beaten,
            "verdict": self.verdict,
            "statement": self.statement.as_dict(),
            "runs": self.runs,
            "finished": self.finished,
            "seconds": round(self.seconds, 3),
            "versions": dict(self.versions),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditResult(Audited):
    """An audit so far: the ``attack`` at the last look, and the ``statement`` that it tests.

    ``runs`` outputs of each dataset were drawn, and ``looked_at`` of them attacked. All looks are
    planned before the first, and share the error: with the confidence of ``attack.bound`` every
    one of them is right, whenever somebody stops. ``claimed_curve`` holds shares of false alarms
    and the misses that the claim then demands (2×k), or is empty for a nominal claim. ``record`` is
    in what the two datasets differ.
    """

    attack: Attack
    claimed_curve: FloatArray
    looked_at: int
    record: str

    @property
    def epsilon(self) -> float:
        return self.attack.bound.epsilon

    @property
    def curve_exceeded(self) -> bool:
        return self.attack.test is not None and self.attack.test.exceeded

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
        return {
            "record": self.record,
            "bound": asdict(self.attack.bound),
            "test": None if self.attack.test is None else asdict(self.attack.test),
            "epsilon_if_gaussian": self.epsilon_if_gaussian,
            "looked_at": self.looked_at,
            **super().summary(),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class OneRunResult(Audited):
    """An audit from one run: the canaries' ``scores`` (m,) so far and who is ``inside`` (m,).

    Once it is finished there are two ``proofs``, of (ε, δ) and for Gaussian noise, and
    ``curve_exceeded`` holds the guesses of the second against the claimed trade-off function. Each
    has half of the error that the confidence leaves. A run that was stopped proves nothing.
    """

    scores: FloatArray
    inside: BoolArray
    proofs: tuple[Proof, ...]
    curve_exceeded: bool = False

    @property
    def epsilon(self) -> float:
        return self.proofs[0].epsilon if self.proofs else 0.0

    @property
    def epsilon_if_gaussian(self) -> float:
        """The ε at the claim's δ that is proved if the releases are Gaussian."""
        return self.proofs[1].epsilon if self.proofs else 0.0

    @property
    def verdict(self) -> str:
        if not self.proofs:
            return "One run proves nothing before it ends. The claim may be true."
        claim = f"The claimed ε = {three(self.statement.epsilon)}"
        ending = f"{claim} is wrong." if self.beaten["claimed"] else "The claim may be true."
        if not (self.epsilon or self.epsilon_if_gaussian or self.curve_exceeded):
            return f"One run proves nothing. {ending}"
        return (
            f"One run proves ε ≥ {three(self.epsilon)}, and ε ≥ {three(self.epsilon_if_gaussian)} "
            f"if the noise is Gaussian, with {100 * self.spec.confidence:g} % confidence. {ending}"
        )

    @property
    def accounts(self) -> list[str]:
        """How many guesses were right, and what they prove, for each kind of proof."""
        return [
            f"For {of}: {proof.right:,} of the {proof.guesses:,} surest guesses about "
            f"{len(self.scores):,} canaries are right, which proves ε ≥ {three(proof.epsilon)}; "
            "the best attacker on Gaussian noise of the claimed ε can expect to prove about "
            f"{three(proof.possible)}."
            for of, proof in zip(("any noise", "Gaussian noise"), self.proofs, strict=False)
        ]

    def summary(self) -> JsonObject:
        names = ("epsilon_delta", "gaussian")
        return {
            "proofs": {n: asdict(one) for n, one in zip(names, self.proofs, strict=False)},
            "curve_exceeded": self.curve_exceeded,
            **super().summary(),
        }


def audit_steps(spec: AuditSpec, *, interim: bool = True) -> Iterator[Audited]:
    """Yield the result so far: of an audit from one run after each of its steps, else as
    ``repeated_steps`` does.
    """
    return one_run_steps(spec) if spec.canaries else repeated_steps(spec, interim=interim)


def one_run_steps(spec: AuditSpec) -> Iterator[OneRunResult]:
    """Yield the scores after each step of the run, and in the end what they prove.

    Raises ``ParameterError`` for more canaries than the data have room for.
    """
    started = time.perf_counter()
    run, ledger = OneRun(spec), Ledger()
    for step in run.steps():
        ledger = ledger.plus(step.releases)
        planned = ledger.plus(step.rest)
        claim = state(planned, spec.delta)
        proofs: tuple[Proof, ...] = ()
        wrong = False
        if step.iteration == spec.amount:
            error = (1 - spec.confidence) / 2
            proofs = prove(
                run.scores, run.inside, epsilon=claim.epsilon, delta=claim.delta, error=error
            )
            guesses, right = proofs[1].guesses, proofs[1].right
            wrong = excludes(of_ledger(planned).misses, spec.canaries, guesses, right, error)
        yield OneRunResult(
            spec=spec,
            statement=claim,
            scores=run.scores,
            inside=run.inside,
            proofs=proofs,
            curve_exceeded=wrong,
            runs=step.iteration,
            seconds=time.perf_counter() - started,
            finished=bool(proofs),
        )


def repeated_steps(spec: AuditSpec, *, interim: bool) -> Iterator[AuditResult]:
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
    outputs: list[tuple[FloatArray, FloatArray]] = []
    runs = looked_at = 0
    latest: Attack | None = None
    for with_alice, without in chunks(spec, pair):
        outputs.append((with_alice, without))
        runs += len(with_alice)
        now = time.perf_counter()
        finished = runs == spec.runs
        if runs >= looks[0] and (interim or finished):
            looks = [look for look in looks if look > runs]
            share = _LAST_SHARE if finished else (1 - _LAST_SHARE) / _LOOKS
            latest = attack(
                *map(np.concatenate, zip(*outputs, strict=True)),
                delta=statement.delta,
                confidence=1 - share * error,
                claim=claim,
            )
            latest = replace(latest, bound=replace(latest.bound, confidence=spec.confidence))
            looked_at = runs
        soon = latest is None or (len(with_alice) == 1 and now - last < _PAUSE)
        if not finished and (soon or not interim):
            continue
        last = now
        assert latest is not None
        yield AuditResult(
            spec=spec,
            attack=latest,
            statement=statement,
            claimed_curve=curve,
            runs=runs,
            looked_at=looked_at,
            seconds=now - started,
            finished=finished,
            record="Alice" if pair is None else pair.record,
        )


def audit(spec: AuditSpec) -> Audited:
    """The finished audit; see ``audit_steps``.

    >>> result = audit(AuditSpec(case="unclipped", runs=4000))
    >>> result.beaten
    {'claimed': True}
    """
    *_, result = audit_steps(spec, interim=False)
    return result


def _claim(spec: AuditSpec, pair: Neighbours | None) -> tuple[Statement, TradeOff | None]:
    """What is claimed, and its trade-off function unless the claim is nominal.

    The ledger is the algorithm's own, written by the line that draws the noise.
    """
    if pair is None:
        release = claimed_release(spec)
        ledger = Ledger((release,))
        claim, curve = state(ledger, spec.delta), of_ledger(ledger)
        if isinstance(release.mechanism, Gaussian):
            return claim, curve
        # a pure claim is tested as such: at δ = 0
        pure = claim.accounts[0].epsilon
        return replace(claim, epsilon=pure, delta=0.0, how="pure ε of one release"), curve
    ledger, on = Ledger(), pair.inside
    for step in solve(spec.run_spec(spec.seed), on, workers=1):
        ledger = ledger.plus(step.releases)
    width = None if spec.target in FACTOR_TARGETS else on.high - on.low
    secret = spec.case == "secret" if spec.searches else None
    claim = state(ledger, spec.delta, width, secret=secret)
    return claim, None if claim.nominal else of_ledger(ledger)
