"""Specs of the first released form: one flat bag of fields for ratings, one for factorisations.

Links, exported files and stored runs of that form keep working: what this release has no use for is
left out, and said.
"""

from collections.abc import Mapping
from typing import Any

from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.flat import default_algorithm

# what a field was where it was not named
_RATINGS: dict[str, Any] = {
    "task": "rate",
    "dataset": "low-rank",
    "algorithm": "als",
    "mechanism": "none",
    "variance": None,
    "epsilon": None,
    "alpha": None,
    "sensitivity": 5.0,
    "delta": 1e-5,
    "rank": 5,
    "reg": 0.5,
    "iterations": 20,
    "inner": 10,
    "loss_alpha": 1.076,
    "items_per_user": 50,
    "item_share": 1.0,
    "sampling": "adaptive",
    "projection": "inner",
    "start": "random",
    "centring": "mean",
    "clip_norm": 1.0,
    "value_clip": None,
    "gram_ratio": 2.0,
    "item_exponent": 0.5,
    "user_exponent": 1.0,
    "global_penalty": 0.0,
    "nuclear": 1.0,
    "split": "random",
    "test_fraction": 0.2,
    "zeros": "missing",
    "seed": 0,
    "n_users": 300,
    "n_items": 300,
    "n_ratings": 20_000,
    "true_rank": 5,
    "observed": 0.1,
    "value_scale": 1.0,
    "popularity": 0.9,
    "noise_floor": 0.5,
    "data_seed": 0,
}
_SAMPLES: dict[str, Any] = {
    "dataset": "lfw",
    "algorithm": "nmf",
    "mechanism": "none",
    "epsilon": None,
    "alpha": None,
    "delta": 1e-5,
    "rank": 16,
    "rounds": 0,
    "inner": 0,
    "solver": "coordinates",
    "start": "mean",
    "averaging": 0.9,
    "neighbours": "add/remove-one",
    "dictionary_step": 1e-4,
    "outlier_penalty": None,
    "outlier_bound": 10.0,
    "contaminated": 0.0,
    "spoiled_pixels": 0.7,
    "min_documents": 3,
    "max_share": 0.5,
    "most_words": 5000,
    "stop_words": "left-out",
    "term_share": 1.0,
    "n_samples": 2000,
    "data_seed": 0,
    "seed": 0,
}


def _usual(given: Mapping[str, Any]) -> str:
    """The algorithm that was meant where none is named: factorisations had a form of their own."""
    try:
        return default_algorithm(given["dataset"]) if "dataset" in given else "als"
    except ParameterError:  # told below, with what the form allows
        return "als"


def translated(raw: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """All fields of a flat spec of version 1 by today's names, and which of them were set.

    Raises ``ParameterError`` for a field that version 1 did not have.
    """
    given = {str(name): value for name, value in raw.items() if name != "version"}
    name = given.get("algorithm", _usual(given))
    card = ALGORITHMS.get(name) if isinstance(name, str) else None
    samples = card is not None and "factorize" in card.tasks
    usual = _SAMPLES if samples else _RATINGS
    for field in given:
        if field not in usual:
            raise ParameterError("spec field", field, "one of " + ", ".join(sorted(usual)))
    whole = {**usual, **given}
    if whole["mechanism"] == "none":
        for field in ("variance", "epsilon", "alpha"):
            if whole.get(field) is not None:
                allowed = "left out without noise; choose a mechanism to use it"
                raise ParameterError(field, whole[field], allowed)
    if name == "private-nmf-published" and whole["rounds"] == 0:
        whole["rounds"] = 100  # its own number then
    for field in ("rounds", "inner") if samples else ():
        if whole[field] == 0:  # the algorithm's own number
            del whole[field]
    if whole.get("outlier_penalty", 0) is None:
        del whole["outlier_penalty"]
    plain = usual | {"inner": 1} if samples else usual  # written where an algorithm has none
    return whole, tuple(n for n, value in given.items() if value != plain[n])
