"""What one run with canaries proves on MovieLens 1M, and in which time.

``python -m benchmarks.privacy.one_run``: one-shot moments with Gaussian noise, as claimed and with
half the noise, 1,800 canaries, 95 %, three seeds (some ten minutes; needs ``DPMC_DATA_DIR``).
"""

from dpmc_core.experiments.tasks.audit import OneRunResult, audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec


def main() -> None:
    """Print a row for each audit."""
    print("| ε claimed | noise | seed | proved, any noise | proved, Gaussian | wrong | seconds |")
    print("|---|---|---|---|---|---|---|")
    for epsilon in (1.0, 2.0, 5.0, 8.0):
        for case in ("as-claimed", "half-noise"):
            for seed in range(3):
                spec = AuditSpec(
                    target="moments",
                    mechanism="gaussian",
                    epsilon=epsilon,
                    case=case,
                    dataset="ml-1m",
                    canaries=1800,
                    confidence=0.95,
                    seed=seed,
                )
                result = audit(spec)
                assert isinstance(result, OneRunResult)
                shown = (
                    f"{proof.epsilon:.2f} of {proof.possible:.2f} ({proof.right}/{proof.guesses})"
                    for proof in result.proofs
                )
                wrong = "yes" if result.beaten["claimed"] else "no"
                row = (epsilon, case, seed, *shown, wrong, f"{result.seconds:.0f}")
                print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
