"""How often each item is rated, from two noisy sums of weights: post-processing alone."""

import numpy as np

from dpmc_core.arrays import FloatArray

_GRID, _ROUNDS, _ENOUGH = 120, 60, 5000  # possible popularities, rounds of EM, numbers it reads
_PLAIN = 30.0
_SMALLEST = 0.03  # of the noise: popularities below are one
_SMOOTH = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
_MODEL = 0.1  # how far, relatively, an item's second weight lies from what its popularity says


def positive_means(noisy: FloatArray, std: FloatArray) -> FloatArray:
    """Posterior means (n,) of positive numbers that were released with Gaussian noise.

    ``noisy`` (n,) with noise of standard deviation ``std`` (n,). Their distribution is estimated
    from all of them together: by EM on a logarithmic grid, slightly smoothed (non-parametric
    empirical Bayes, Kiefer & Wolfowitz 1956). Noise of another family is treated as Gaussian. What
    is thirty times its noise stays as released: the grid is coarser than that.
    """
    smallest = _SMALLEST * float(std.min())
    grid = np.geomspace(smallest, max(float(noisy.max()), 4 * float(std.max())), _GRID)
    misfit = ((noisy[:, None] - grid) / std[:, None]) ** 2 / 2
    likelihood = np.exp(misfit.min(axis=1, keepdims=True) - misfit)
    # of very many numbers, some of all sizes tell how they are distributed
    few = np.argsort(noisy, kind="stable")[:: -(-len(noisy) // _ENOUGH)]
    prior = np.full(_GRID, 1 / _GRID)
    for _ in range(_ROUNDS):
        joint = likelihood[few] * prior
        prior = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        prior = np.convolve(np.pad(prior, 2, mode="edge"), _SMOOTH, "valid")
    joint = likelihood * prior
    means = (joint @ grid) / joint.sum(axis=1)
    return np.asarray(np.where(noisy > _PLAIN * std, noisy, means))


def standardised_log(positive: FloatArray) -> FloatArray:
    """Logarithms of ``positive`` numbers, centred and scaled over them."""
    logs = np.log(positive)
    return np.asarray((logs - logs.mean()) / max(float(logs.std()), 1e-9))


def from_two_sums(
    first: FloatArray,
    first_std: float,
    weights: FloatArray,
    weights_std: float,
    item_weight: FloatArray,
    popularity: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Each item's popularity and total weight (n_items,), from both sums together.

    ``first`` is the noisy sum of users' even weights, whose ``popularity`` is what it says alone;
    ``weights`` the noisy sum of weights proportional to ``item_weight``. An item's weight is about
    its popularity times ``item_weight`` times a quadratic of log-popularity, which is fitted. So
    both sums tell of the same number, and their noise is averaged.
    """
    logs = standardised_log(popularity)
    terms = np.stack([np.ones_like(logs), logs, logs**2], axis=1)
    expected = popularity * item_weight
    level = float(np.median(weights / np.maximum(expected, 1e-9)))
    variance = (
        weights_std**2 + (first_std * item_weight * level) ** 2 + (_MODEL * np.abs(weights)) ** 2
    )
    design = terms * expected[:, None]
    scaled = design / variance[:, None]
    gram = scaled.T @ design
    ridge = (1e-9 + 1e-9 * float(np.trace(gram))) * np.eye(3)
    fitted = terms @ np.linalg.solve(gram + ridge, scaled.T @ weights)
    lowest = max(1e-2 * float(np.median(np.abs(fitted))), 1e-9)
    ratio = np.maximum(fitted, lowest) * item_weight
    second, second_std = weights / ratio, np.hypot(weights_std / ratio, _MODEL * popularity)
    trust = first_std**-2, second_std**-2
    both = (first * trust[0] + second * trust[1]) / (trust[0] + trust[1])
    pooled = positive_means(both, (trust[0] + trust[1]) ** -0.5)
    return pooled, np.maximum(pooled * ratio, 0.1 * weights_std)
