"""One ALS sweep of our kernel against cmfrec 3.5, side by side in one run.

Both solve the same problem (float64, two threads, Cholesky, no biases, no centring, same rank and
λ). cmfrec's time per sweep is the slope between two iteration counts, so its set-up is not counted;
ours is the median sweep, grouping not counted. Rounds alternate, so a drift of the machine's speed
hits both. Equal work is checked: ours continues from cmfrec's factors after its first sweep, and
both must reach the same training RMSE after equal sweeps.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sparse
from cmfrec import CMF

from benchmarks.kernel import dgemm_rate
from dpmc_core.completion.common.step import FactorModel, Sides
from dpmc_core.completion.kernel.solve import half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets import Ratings, loaders
from dpmc_core.datasets.synthetic import ratings as synthetic

REG, THREADS = 10.0, 2


def cmfrec_fit(
    matrix: sparse.coo_matrix, rank: int, sweeps: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Seconds and factors of a cmfrec fit."""
    model = CMF(
        k=rank,
        lambda_=REG,
        method="als",
        use_cg=False,
        finalize_chol=False,
        user_bias=False,
        item_bias=False,
        center=False,
        scale_lam=False,
        niter=sweeps,
        nthreads=THREADS,
        use_float=False,
        verbose=False,
        precompute_for_predictions=False,
        random_state=1,
    )
    start = time.perf_counter()
    model.fit(matrix)
    return (
        time.perf_counter() - start,
        np.ascontiguousarray(model.A_),
        np.ascontiguousarray(model.B_),
    )


def rmse(ratings: Ratings, users: np.ndarray, items: np.ndarray) -> float:
    """Training RMSE."""
    error = FactorModel(users, items).predict(ratings.users, ratings.items) - ratings.values
    return float(np.sqrt(np.mean(error**2)))


def compare(name: str, ratings: Ratings, rank: int, low: int, high: int, rounds: int) -> str:
    """One row of the table."""
    matrix = sparse.coo_matrix(
        (ratings.values, (ratings.users, ratings.items)), (ratings.n_users, ratings.n_items)
    )
    sides = Sides.of(ratings, rank)
    slopes, sweeps = [], []
    workers = Workers(THREADS)
    for _ in range(rounds):
        first, start_users, _ = cmfrec_fit(matrix, rank, low)
        second, their_users, their_items = cmfrec_fit(matrix, rank, high)
        slopes.append((second - first) / (high - low))
        users = start_users
        for _ in range(high - low):  # cmfrec's order: items from users, then users from items
            begin = time.perf_counter()
            items, _ = half_sweep(sides.by_item, users, REG, workers)
            users, _ = half_sweep(sides.by_user, items, REG, workers)
            sweeps.append(time.perf_counter() - begin)
    ours, theirs = float(np.median(sweeps)), float(np.median(slopes))
    mine, other = rmse(ratings, users, items), rmse(ratings, their_users, their_items)
    gflops = 4 * len(ratings) * rank**2 / ours / 1e9
    share = gflops / dgemm_rate(THREADS)
    return (
        f"| {name} | {rank} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.2f} × | {share:.0%} | "
        f"{other:.4f} | {mine:.4f} | {100 * abs(mine / other - 1):.2f} % |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", choices=["ml-1m", "ml-10m-shaped", "all"], default="all")
    parser.add_argument("--ranks", nargs="*", type=int, default=[32, 128])
    arguments = parser.parse_args()
    print(
        "| ratings | rank | cmfrec s | ours s | faster | of DGEMM | cmfrec RMSE | our RMSE | "
        "apart |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    if arguments.ratings in ("ml-1m", "all"):
        data = loaders.load("ml-1m")
        for rank in arguments.ranks:
            print(
                compare("ML-1M", data, rank, 2, 7 if rank < 100 else 4, 5 if rank < 100 else 3),
                flush=True,
            )
    if arguments.ratings in ("ml-10m-shaped", "all"):
        data = synthetic.skewed(69_878, 10_677, 10_000_054)
        for rank in arguments.ranks:
            print(
                compare(
                    "ML-10M-shaped", data, rank, 1, 4 if rank < 100 else 2, 3 if rank < 100 else 1
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
