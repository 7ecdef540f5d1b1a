"""The one table of ranges of numbers that no algorithm owns: name, range, unit and meaning.

The core, the widgets, links and the command line check and parse values against it.
"""

import math
from dataclasses import replace

from dpmc_core.limit import Limit

__all__ = ["LIMITS", "Limit", "check", "check_int", "parse"]


INF = math.inf
LIMITS: dict[str, Limit] = {
    limit.name: limit
    for limit in (
        # mechanisms
        Limit(
            "alpha",
            0.01,
            20,
            "transition parameter of the Huber noise: Gaussian inside ±α, exponential outside",
            1.5,
            label="Huber's α",
            step=0.1,
        ),
        Limit("scale", 1e-100, 1e100, "scale of the noise, in units of the released number", 1),
        Limit(
            "variance",
            1e-200,
            1e200,
            "variance of the noise, in squared units of the released number",
            2,
            label="Variance",
        ),
        Limit("epsilon", 0, 1e12, "privacy loss ε", 1, open_low=True),
        Limit("epsilon_or_zero", 0, INF, "privacy loss ε at which δ is read", 1),
        Limit(
            "delta",
            0,
            1,
            "probability δ with which the ε bound may fail",
            1e-5,
            open_low=True,
            open_high=True,
            label="δ",
            step=1e-6,
            format="%.1e",
        ),
        Limit(
            "sensitivity",
            1e-100,
            1e100,
            "most that one person's data can move the released number",
            1,
        ),
        Limit("order", 1, 1e9, "order of the Rényi divergence", 2),
        Limit("gamma", 0, 1, "step position of the staircase noise", 0.5),
        # releases and accounts
        Limit(
            "count", 1, 10**6, "how many times a vector of this kind was released", 1, integer=True
        ),
        Limit(
            "releases_shown",
            1,
            10_000,
            "how many times the vector is released",
            1000,
            integer=True,
            label="Releases T",
        ),
        Limit(
            "moved",
            1,
            10_000,
            "how many numbers of the released vector one person moves",
            1,
            integer=True,
            label="Coordinates one person affects",
        ),
        Limit("failure", 0, 1, "probability with which a release fails", 0.0, open_high=True),
        Limit("coordinates", 1, 10**15, "length of the released vector", 1, integer=True),
        Limit(
            "confidence",
            0.5,
            0.999999999,
            "probability with which an audit's bound holds",
            0.999,
            open_low=True,
            label="Confidence",
            step=0.001,
            format="%.4f",
        ),
        Limit(
            "account_delta",
            1e-15,
            1,
            "probability δ with which the composed bound may fail",
            1e-5,
            open_high=True,
            label="δ",
            step=1e-6,
            format="%.1e",
        ),
        # matrix completion
        Limit("seed", 0, 2**32 - 1, "seed of every random choice", 0, integer=True, label="Seed"),
        # private completion at user level
        Limit(
            "sigma",
            0,
            1e6,
            "standard deviation σ of the noise in units of the clipping norm",
            10,
            open_low=True,
        ),
        Limit(
            "sweep_seeds",
            1,
            10_000,
            "how many times each cell of a sweep is run, each with seeds of its own",
            5,
            integer=True,
            label="Repetitions of each point",
        ),
        Limit("sweep_jobs", 1, 256, "how many runs of a sweep are made at once", 2, integer=True),
        Limit(
            "study_seeds",
            1,
            20,
            "how many seeds each point of a study is the mean of",
            3,
            integer=True,
            label="Seeds of each point",
        ),
        # factorisation of images and documents
        Limit(
            "contaminated",
            0,
            1,
            "share of the images that are corrupted",
            0.1,
            label="Share corrupted",
            step=0.05,
        ),
        Limit(
            "spoiled_pixels",
            0,
            1,
            "share of a corrupted image's pixels that are hit",
            0.7,
            open_low=True,
        ),
        Limit(
            "min_documents",
            1,
            1000,
            "least number of documents that a word must be in",
            3,
            integer=True,
            label="In at least so many documents",
        ),
        Limit(
            "max_share",
            0.01,
            1,
            "largest share of the documents that a word may be in",
            0.5,
            label="In at most this share of them",
            step=0.05,
        ),
        Limit(
            "most_words",
            10,
            50_000,
            "how many words are kept, most frequent first",
            5000,
            integer=True,
            label="Words kept, most frequent first",
            step=500,
        ),
        Limit(
            "term_share",
            0.01,
            1,
            "share of the terms that is drawn, for count files without words",
            1,
            label="Share of terms drawn",
            step=0.1,
        ),
        Limit(
            "n_samples",
            2,
            100_000,
            "number of made images or documents N",
            2000,
            integer=True,
            label="Images or documents N",
            step=1000,
        ),
        # data
        Limit(
            "test_fraction",
            0.01,
            0.9,
            "share of the ratings held out for testing",
            0.2,
            label="Held-out share",
            step=0.05,
        ),
        Limit("n_users", 2, 200_000, "number of users (rows)", 300, integer=True, label="Users"),
        Limit("n_items", 2, 200_000, "number of items (columns)", 300, integer=True, label="Items"),
        Limit(
            "n_ratings",
            1,
            25_000_000,
            "number of observed ratings",
            20_000,
            integer=True,
            label="Ratings",
            step=1000,
        ),
        Limit(
            "true_rank",
            1,
            64,
            "rank of the matrix that generates the data",
            5,
            integer=True,
            label="True rank",
        ),
        Limit(
            "observed",
            1e-4,
            1,
            "share of the matrix's entries that are observed",
            0.1,
            label="Observed share",
            step=0.01,
        ),
        Limit("value_scale", 1e-3, 1e3, "scale c in M = c·UVᵀ", 1, label="Scale c", step=0.1),
        Limit(
            "noise_floor",
            0,
            10,
            "standard deviation of the rating noise that no model can predict",
            0.5,
            label="Noise floor",
            step=0.05,
        ),
        Limit(
            "popularity",
            0,
            3,
            "exponent of item popularity: 0 is even, 1 is Zipf",
            0.9,
            label="Popularity exponent",
            step=0.1,
        ),
        Limit(
            "data_seed",
            0,
            2**32 - 1,
            "seed of the synthetic data",
            0,
            integer=True,
            label="Data seed",
        ),
    )
}


def check(name: str, value: object) -> float:
    """``value`` checked against the range called ``name``.

    >>> check("alpha", 1.5)
    1.5
    >>> check("alpha", 50)
    Traceback (most recent call last):
    dpmc_core.errors.ParameterError: alpha = 50 is not allowed: it must be a number from 0.01 to 20.
    """
    return LIMITS[name].check(value)


def check_int(name: str, value: object, *, said: str = "") -> int:
    """As ``check``, returning an ``int``; a fraction is refused, never rounded.

    ``said`` is what the user calls it, where that is not ``name``.
    """
    return int(replace(LIMITS[name], name=said or name).check(value))


def parse(name: str, text: object) -> float:
    """A number typed by a person (URL, command line, text box), checked against the range called
    ``name``.

    >>> parse("n_items", "32")
    32.0
    >>> parse("n_items", "many")
    Traceback (most recent call last):
    dpmc_core.errors.ParameterError: n_items = 'many' is not allowed: it must be a whole number
    from 2 to 200000.
    """
    return LIMITS[name].parse(text)
