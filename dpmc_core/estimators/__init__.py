"""scikit-learn estimators: NMF, private NMF, and private completion of ratings.

They need scikit-learn, which the extra ``text`` of the package brings.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "dpmc_core.estimators needs scikit-learn: pip install 'dpmc-lab[text]'", name="sklearn"
    )

from dpmc_core.estimators.comparison import Standing
from dpmc_core.estimators.completion import RatingCompletion
from dpmc_core.estimators.factorization import NMF, PrivateNMF

__all__ = ["NMF", "PrivateNMF", "RatingCompletion", "Standing"]
