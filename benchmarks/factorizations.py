"""Factorisations against what was asked of them.

``python -m benchmarks.factorizations [sklearn|sound|robust|people|memory ...]``.

Needs ``DPMC_DATA_DIR`` for CBCL, Extended Yale B, BBC and TDT2. Ratios are of one run on one
machine; tables go to ``benchmarks/results.md`` and ``docs/moment-nmf.md``.
"""

import resource
import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np

from dpmc_core.datasets.data import samples_of
from dpmc_core.datasets.loaders import load_samples
from dpmc_core.datasets.samples import Matrix, contaminate
from dpmc_core.datasets.text import TextFilter
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.tasks.factorize import reference
from dpmc_core.factorization import (
    RobustConfig,
    fit_coefficients,
    objective,
    robust_nmf,
    sklearn_nmf,
)
from dpmc_core.factorization.step import FactorStep
from dpmc_core.metrics.intervals import t_half_width

SEEDS = range(5)


def last(steps: Iterator[FactorStep]) -> FactorStep:
    """The last step."""
    *_, step = steps
    return step


def reached(values: Matrix, step: FactorStep) -> float:
    """The objective with the algorithm's own coefficients."""
    assert step.coefficients is not None  # both that are compared keep them
    return objective(values, step.dictionary, step.coefficients)


def versus_sklearn() -> None:
    """Objective and time against scikit-learn's coordinate descent.

    The same start, as many iterations, taken in turns.
    """
    whole = TextFilter(min_documents=1, max_share=1.0, most_words=50_000, stop_words=False)
    for name, parts, chosen in (("cbcl", 50, None), ("bbc", 5, None), ("tdt2", 30, whole)):
        values = load_samples(name, chosen=chosen).values
        for rounds in (50, 200) if name != "tdt2" else (50,):
            times: dict[str, list[float]] = {"ours": [], "sklearn": []}
            ends = {}
            for _ in range(3):
                start = time.perf_counter()
                ends["ours"] = last(
                    robust_nmf(
                        values, RobustConfig(rank=parts, rounds=rounds), np.random.default_rng(0)
                    )
                )
                times["ours"].append(time.perf_counter() - start)
                start = time.perf_counter()
                ends["sklearn"] = last(sklearn_nmf(values, parts, rounds))
                times["sklearn"].append(time.perf_counter() - start)
            ours, theirs = (reached(values, ends[name]) for name in ("ours", "sklearn"))
            ratio = statistics.median(times["ours"]) / statistics.median(times["sklearn"])
            print(
                f"{name} {values.shape[0]}×{values.shape[1]}, K = {parts}, {rounds} iterations: "
                f"objective {ours:.6f} against {theirs:.6f} ({100 * (ours / theirs - 1):+.4f} "
                f"%), {statistics.median(times['ours']):.2f} s, {ratio:.2f} × its time",
                flush=True,
            )


def sound() -> None:
    """Private forms on CBCL, Extended Yale B and LFW over five seeds."""
    for name, rank in (("cbcl", 50), ("yaleb", 38), ("lfw", 25)):
        base = RunSpec.of(dataset=name, rank=rank)
        plain = run(base, compare=False)
        print(
            f"{name}, K = {rank}: NMF {plain.final.objective:.4f}, scikit-learn "
            f"{reference(base.data, rank):.4f}, "
            + ", ".join(f"{title} {value:.4f}" for title, value in plain.baselines.items())
        )
        _private_forms(base, [("moment-nmf", rank), ("private-nmf", 20)])


def _private_forms(base: RunSpec, algorithms: list[tuple[str, int]]) -> None:
    for algorithm, parts in algorithms:
        for family in ("gaussian", "laplace", "huber"):
            line = []
            for epsilon in (1.0, 5.0, 10.0, 50.0):
                spec = base.replace(
                    algorithm=algorithm, mechanism=family, epsilon=epsilon, rank=parts
                )
                ends = [run(spec.replace(seed=k), compare=False).final.objective for k in SEEDS]
                line.append(f"{np.mean(ends):.4f} ± {t_half_width(ends):.4f}")
            print(f"{algorithm} {family}, K = {parts}: {' | '.join(line)}", flush=True)


def robust() -> None:
    """Plain against robust NMF on Extended Yale B with a tenth of the images spoiled.

    Five draws of what is spoiled.
    """
    clean = load_samples("yaleb")
    apart = []
    for seed in SEEDS:
        spoiled = contaminate(clean, 0.1, 0.7, seed)
        ends = []
        for penalty in (None, 0.5):
            config = RobustConfig(
                rank=38, rounds=50, inner=1 if penalty is None else 3, outlier_penalty=penalty
            )
            step = last(robust_nmf(spoiled.values, config, np.random.default_rng(0)))
            ends.append(
                objective(
                    clean.values,
                    step.dictionary,
                    fit_coefficients(clean.values, step.dictionary, 40),
                )
            )
        # the same number of steps on each factor without outliers, so that the margin is not of
        # more steps
        step = last(
            robust_nmf(
                spoiled.values, RobustConfig(rank=38, rounds=50, inner=3), np.random.default_rng(0)
            )
        )
        ends.append(
            objective(
                clean.values, step.dictionary, fit_coefficients(clean.values, step.dictionary, 40)
            )
        )
        apart.append((ends[1] - ends[0], ends[1] - ends[2]))
        print(
            f"seed {seed}: plain {ends[0]:.5f}, plain with 3 inner steps {ends[2]:.5f}, robust "
            f"{ends[1]:.5f}",
            flush=True,
        )
    for name, differences in zip(
        ("plain", "plain with 3 inner steps"), zip(*apart, strict=True), strict=True
    ):
        print(f"robust minus {name}: {np.mean(differences):+.5f} ± {t_half_width(differences):.5f}")


def people() -> None:
    """True parts found among cartoon faces by moment NMF, and true topics."""
    for name, parts in (("cartoon", 20), ("topics", 12)):
        for n in (1000, 2000, 5000, 10_000, 50_000):
            for epsilon in (1.0, 5.0):
                found = []
                for k in SEEDS:
                    spec = RunSpec.of(
                        dataset=name,
                        n_samples=n,
                        rank=parts,
                        algorithm="moment-nmf",
                        mechanism="gaussian",
                        epsilon=epsilon,
                        seed=k,
                        data_seed=k,
                    )
                    share = run(spec, compare=False).final.found
                    assert share is not None  # made data: the true parts are known
                    found.append(share)
                print(
                    f"{name}, N = {n:,}, ε = {epsilon:g}: {100 * np.mean(found):.0f} % found "
                    f"(lowest {100 * min(found):.0f} %)",
                    flush=True,
                )


def memory() -> None:
    """Time and peak memory beyond the data of the live runs."""
    for name, parts, n in (
        ("lfw", 16, 0),
        ("lee", 8, 0),
        ("tdt2", 30, 0),
        ("cartoon", 20, 100_000),
    ):
        base = RunSpec.of(dataset=name, rank=parts, n_samples=n or None)
        for algorithm in ("nmf", "private-nmf-published", "private-nmf", "moment-nmf"):
            spec = base.replace(
                algorithm=algorithm, mechanism="none" if algorithm == "nmf" else "gaussian"
            )
            if algorithm == "private-nmf-published":
                spec = spec.replace(rounds=200)  # as on the page
            if algorithm == "nmf":
                samples_of(spec.data)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            result = run(spec)
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            result.statement, result.coherence  # noqa: B018 - part of what a page shows
            print(
                f"{name} {algorithm}: {result.seconds:.1f} s, peak memory grew by "
                f"{(after - before) / 1024:.0f} MiB",
                flush=True,
            )


TASKS = {
    "sklearn": versus_sklearn,
    "sound": sound,
    "robust": robust,
    "people": people,
    "memory": memory,
}

if __name__ == "__main__":
    for task in sys.argv[1:] or TASKS:
        print(f"## {task}")
        TASKS[task]()
