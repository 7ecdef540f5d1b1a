"""What the cards of algorithms with a guarantee for users have in common."""

from functools import partial

from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import TotalEpsilon

user_level = partial(Algorithm, noise=(TotalEpsilon,), unit="user", guarantee=True)
