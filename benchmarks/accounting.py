"""Accounting and audits.

Seconds to compose, accuracy against exact values, and how much of a true ε an attack proves.

Prints Markdown for results.md. Times are of one run on one machine; the first composition includes
importing dp-accounting.
"""

import time

from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.privacy import Ledger, Release, account
from dpmc_core.privacy.account import tightest

DELTA = 1e-5


def book(noise: Mechanism, count: int, shift: float = 1.0) -> Ledger:
    """``count`` releases of one number."""
    return Ledger(
        (
            Release(
                what="a number",
                mechanism=noise,
                l1_sensitivity=shift,
                l2_sensitivity=shift,
                unit="record",
                neighbours="add/remove-one",
                coordinates=1,
                count=count,
                sound=True,
                source="benchmark",
            ),
        )
    )


def seconds(ledger: Ledger) -> tuple[float, float]:
    """Of all six methods: the first time, and the second (cached)."""
    start = time.perf_counter()
    account(ledger, DELTA)
    first = time.perf_counter() - start
    start = time.perf_counter()
    account(ledger, DELTA)
    return first, time.perf_counter() - start


def main() -> None:
    """Print three tables."""
    print("| ledger | all six methods, s | again, µs |\n|---|---|---|")
    three = (Huber(alpha=1.5, scale=5.0), Laplace(scale=5.0), Gaussian(scale=5.0))
    mixed = Ledger(
        tuple(r for n, c in zip(three, (400, 300, 300), strict=True) for r in book(n, c).releases)
    )
    cases = [("1,000 releases, three noises (first call, with the import)", mixed)]
    cases += [(f"1,000 × {noise}", book(noise, 1000)) for noise in three]
    cases += [("1,000 × Huber(alpha=20), shift 0.01", book(Huber(alpha=20.0), 1000, 0.01))]
    cases += [("100,000 × Huber(alpha=1.5, scale=5.0)", book(three[0], 100_000))]
    for name, ledger in cases:
        first, again = seconds(ledger)
        print(f"| {name} | {first:.2f} | {1e6 * again:.0f} |")
    print(
        "\n"
        "| Gaussian releases, σ = 5 | exact ε | privacy loss distribution, relative excess |\n"
        "|---|---|---|"
    )
    for count in (1, 10, 100, 1000, 10_000, 100_000):
        found = {a.method: a.epsilon for a in account(book(Gaussian(scale=5.0), count), DELTA)}
        print(f"| {count:,} | {found['exact']:.6g} | {found['pld'] / found['exact'] - 1:.1e} |")
    print(
        "\n"
        "| ε claimed (exact) | Laplace proved | Huber proved | Gaussian proved (δ = 1e-5) |\n"
        "|---|---|---|---|"
    )
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        row = [
            audit(AuditSpec(mechanism=name, epsilon=epsilon, runs=1_000_000)).epsilon
            for name in ("laplace", "huber", "gaussian")
        ]
        print(f"| {epsilon} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    print(
        "\n"
        "| releases, ε = 1, δ = 1e-5 | Laplace variance | Huber α = 2 | Huber α = 1 | Gaussian "
        "|\n"
        "|---|---|---|---|---|"
    )
    from dpmc_core.privacy import least_noise

    for count in (1, 5, 10, 20, 100, 1000):
        row = [
            least_noise(book(noise, count), 1.0, DELTA, tolerance=1e-4)
            .releases[0]
            .mechanism.variance
            for noise in (
                Laplace(scale=1.0),
                Huber(alpha=2.0),
                Huber(alpha=1.0),
                Gaussian(scale=1.0),
            )
        ]
        print(f"| {count:,} | " + " | ".join(f"{value:.4g}" for value in row) + " |")
    assert tightest(mixed, DELTA) > 0


if __name__ == "__main__":
    main()
