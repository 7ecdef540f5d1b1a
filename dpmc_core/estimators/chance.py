"""Where an estimator's chance comes from: a seed to repeat it, else the operating system."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from dpmc_core.mechanisms.secret import secret_generator


def generator_of(random_state: Any, *, private: bool) -> np.random.Generator:
    """A generator from scikit-learn's ``random_state``; None with noise that a guarantee rests on
    takes the operating system's entropy, so that nobody can draw it again.
    """
    if private and random_state is None:
        return secret_generator()
    seed = check_random_state(random_state).randint(2**31 - 1)
    return np.random.default_rng(int(seed))
