"""What audits find, and how often they are wrong.

``python -m benchmarks.privacy.audits``: false alarms of a thousand audits at 95 % with ten looks
each, noise that is smaller than claimed, and what a million outputs prove (some minutes).
"""

import statistics

import numpy as np
from scipy import stats

from dpmc_core.experiments.tasks.audit import audit_steps, repeated_steps
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.mechanisms import FAMILIES, Mechanism
from dpmc_core.privacy.attack import attack
from dpmc_core.privacy.tradeoff import of_mechanism


def main() -> None:
    """Print the three tables."""
    print("claim that holds, 95 %, ten looks: audits of 1,000 that were ever wrong (at most 69)")
    for mechanism in ("laplace", "gaussian"):
        wrong = 0
        for seed in range(1000):
            spec = AuditSpec(mechanism=mechanism, runs=200, confidence=0.95, seed=seed)
            wrong += any(r.beaten["claimed"] for r in audit_steps(spec))
        bound = int(stats.binom.ppf(0.995, 1000, 0.05))
        print(f"  {mechanism}: {wrong} (binomial bound {bound})", flush=True)
    print("less noise than claimed (ε = 1), 100,000 outputs, 99.9 %: found by the curve, by ε")
    for name, factor, shape in (
        ("gaussian", 0.8, {"delta": 1e-5}),
        ("gaussian", 1.0, {"delta": 1e-5}),
        ("huber", 0.9, {"alpha": 1.5}),
        ("laplace", 0.9, {}),
    ):
        family = FAMILIES[name]
        told = [_attacked(family.with_epsilon(1.0, 1.0, **shape), factor, k) for k in range(40)]
        by_curve, by_epsilon = (sum(one[k] for one in told) for k in (0, 1))
        print(f"  {name} × {factor}: {by_curve} of 40, {by_epsilon} of 40", flush=True)
    print("a million outputs, Gaussian ε = 1, 99.9 %: ε proved if Gaussian, and whatever it is")
    specs = [AuditSpec(mechanism="gaussian", runs=10**6, seed=k) for k in range(20)]
    found = [next(repeated_steps(spec, interim=False)) for spec in specs]
    sure = [result.epsilon_if_gaussian or 0.0 for result in found]
    proved = [result.attack.bound.epsilon for result in found]
    for values in (sure, proved):
        print(f"  {min(values):.3f} to {max(values):.3f}, mean {statistics.mean(values):.3f}")


def _attacked(noise: Mechanism, factor: float, seed: int) -> tuple[bool, bool]:
    rng = np.random.default_rng([seed, 0xAD])
    drawn = [m + factor * np.asarray(noise.sample(100_000, rng)) for m in (1.0, 0.0)]
    delta = 0.0 if type(noise).pure else 1e-5
    told = attack(*drawn, delta=delta, claim=of_mechanism(noise, 1.0))
    return told.test is not None and told.test.exceeded, told.bound.epsilon > 1.0


if __name__ == "__main__":
    main()
