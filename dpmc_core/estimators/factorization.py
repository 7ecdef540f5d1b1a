"""Non-negative matrix factorisation as scikit-learn estimators, without and with privacy."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Places, Samples, direction_of, unit_columns
from dpmc_core.errors import ParameterError, one_of
from dpmc_core.estimators.comparison import Standing, Stated, generator_of, run_to_end
from dpmc_core.factorization.blocks import fit_coefficients
from dpmc_core.factorization.corrected import CorrectedNMFConfig, corrected_nmf
from dpmc_core.factorization.moments import MomentConfig, moment_nmf
from dpmc_core.factorization.robust import NMFConfig, robust_nmf
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.budget import Budget

_SWEEPS = 200
_USUAL_PARTS = 16
_LARGEST = 1e100  # squares of it are numbers
_MOST_COLUMNS = 4000  # the square of so many numbers is held a few times
_METHODS: dict[str, tuple[type, Any]] = {
    "moments": (MomentConfig, moment_nmf),
    "corrected": (CorrectedNMFConfig, corrected_nmf),
}


class _Factorization(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """What both share: X ≈ H·components_, H non-negative, each row fitted alone."""

    components_: FloatArray
    n_features_in_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _rows(self, X: ArrayLike, *, reset: bool) -> FloatArray:
        """X as float64 rows (n_samples×n_features); raises ``ValueError`` or ``TypeError``."""
        rows = validate_data(self, X, reset=reset, dtype=np.float64, order="C")
        check_non_negative(rows, type(self).__name__)
        if rows.max() > _LARGEST:
            raise ValueError(f"X must have numbers of at most {_LARGEST:g}.")
        return rows

    def transform(self, X: ArrayLike) -> FloatArray:
        """H (n_samples×n_components): the non-negative weights that rebuild each row of X, worked
        out from that row alone.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return fit_coefficients(rows.T, self.components_.T, sweeps=_SWEEPS).T

    def compare(self, X: ArrayLike) -> Standing:
        """How well the parts rebuild rows ``X``, each scaled to length 1, beside multiples of their
        average. Computed without noise: for who holds the rows.
        """
        check_is_fitted(self)
        columns = unit_columns(self._rows(X, reset=False).T)
        fits = fit_coefficients(columns, self.components_.T, sweeps=_SWEEPS)
        along = columns.T @ direction_of(columns.mean(axis=1))
        return Standing.of(
            ((columns - self.components_.T @ fits) ** 2).sum(axis=0),
            {"the average row": (columns**2).sum(axis=0) - along**2},
        )

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """H·components_ (n_samples×n_features) of weights H = ``X``."""
        check_is_fitted(self)
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.components_)


class NMF(_Factorization):
    """Non-negative matrix factorisation by coordinate descent from NNDSVD (nmf-paper section 2.3,
    eqs. 1–8), without privacy.

    ``n_components`` parts (None: 16, or the smaller side of X), ``max_iter`` rounds. Fitted:
    ``components_`` (n_components×n_features), ``n_iter_``, ``reconstruction_err_`` ½‖X − WH‖²/N.
    """

    def __init__(
        self, n_components: int | None = None, *, max_iter: int = 50, random_state: Any = None
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the parts of ``X`` (n_samples×n_features, non-negative); ``y`` is not read."""
        rows = self._rows(X, reset=True)
        usual = min(_USUAL_PARTS, *rows.shape)
        parts = usual if self.n_components is None else self.n_components
        if parts > min(rows.shape):
            raise ValueError(
                f"n_components = {parts} must be at most {min(rows.shape)}, the smaller side of X "
                f"(n_samples = {rows.shape[0]}, n_features = {rows.shape[1]})."
            )
        config = _checked(NMFConfig, rank=parts, rounds=self.max_iter)
        rng = generator_of(self.random_state, private=False)
        last, _ = run_to_end(robust_nmf(rows.T, config, rng))
        self.components_ = np.ascontiguousarray(last.dictionary.T)
        self.n_iter_ = last.iteration
        left = rows - self.transform(rows) @ self.components_
        self.reconstruction_err_ = float(0.5 * np.mean((left**2).sum(axis=1)))
        return self


class PrivateNMF(Stated, _Factorization):
    """Private NMF: the parts are (ε, δ)-DP for one row added or removed.

    Each row is scaled to length 1, from that row alone. By ``method`` "moments" the rows' sum and
    second moment are released once and ``max_iter`` rounds (None: 150) factorise what was released
    (``factorization.moments``, for columns that are no pixels); by "corrected" statistics are
    released in each of ``max_iter`` rounds (None: 20; ``factorization.corrected``), which takes
    more columns and was worse on all rows that it was measured on (docs/moment-nmf.md). How many
    places for rows there are is taken as public: formally a row is there, or its place is empty.
    ``n_components`` None takes 16, or the number of columns where that is less. The parts and
    ``statement_`` may be published; what ``transform`` returns is of the rows that it is given,
    without noise. A ``UserWarning`` says where the parts rebuild the rows no better than their
    average does; as ``compare``, it is computed without noise, and for who holds the rows.

    ``epsilon`` is the total at ``delta``, by ``mechanism`` ("gaussian", "laplace", "huber").
    ``random_state`` None draws the noise from the operating system; a seed repeats it, for
    teaching: with it there is no guarantee. Fitted: ``components_``, ``ledger_``, ``statement_``.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        mechanism: str = "gaussian",
        method: str = "moments",
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.method = method
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the parts of ``X`` with noise; ``y`` is not read. Raises ``ValueError``."""
        rows = self._rows(X, reset=True)
        if self.method not in _METHODS:
            allowed = one_of(_METHODS)
            raise ValueError(str(ParameterError("method", self.method, allowed)))
        if self.method == "moments" and rows.shape[1] > _MOST_COLUMNS:
            raise ValueError(
                f"X has {rows.shape[1]:,} columns: method = 'moments' releases a number for each "
                f"two of them and takes at most {_MOST_COLUMNS:,}; 'corrected' takes more."
            )
        usual = min(_USUAL_PARTS, rows.shape[1])  # by public columns alone
        parts = usual if self.n_components is None else self.n_components
        if parts > rows.shape[1]:
            raise ValueError(
                f"n_components = {parts} must be at most {rows.shape[1]}, the columns of X."
            )
        budget = _checked(Budget, epsilon=self.epsilon, delta=self.delta, family=self.mechanism)
        kind, algorithm = _METHODS[self.method]
        rounds = {} if self.max_iter is None else {"rounds": self.max_iter}
        config = _checked(kind, rank=parts, budget=budget, **rounds)
        rng = generator_of(self.random_state, private=True)
        # places beyond the rows are empty: fewer rows than parts change nothing that is released
        places = Places(np.arange(len(rows)), max(len(rows), config.rank))
        samples = Samples(values=unit_columns(rows.T), unit="image", name="rows", of=places)
        step, ledger = run_to_end(algorithm(samples, config, rng))
        self.components_ = np.ascontiguousarray(step.dictionary.T)
        self.n_iter_ = config.rounds
        # a row is whatever it stands for: the sums and their sensitivities are the same
        self.ledger_ = Ledger(
            tuple(
                replace(
                    r, unit="record", kind="rows", source=r.source.replace("one image", "one row")
                )
                for r in ledger.releases
            )
        )
        self._stated = (self.delta, self.random_state is None, {})
        beside = self.compare(rows)
        if not beside.better:
            warnings.warn(f"PrivateNMF is no better than a baseline: {beside}", stacklevel=2)
        return self


def _checked(kind: type, **values: Any) -> Any:
    """``kind`` of these values; what is out of range is a ``ValueError``, as users of scikit-learn
    expect.
    """
    try:
        return kind(**values)
    except ParameterError as error:
        name = {"rank": "n_components", "rounds": "max_iter"}.get(error.name, error.name)
        raise ValueError(str(ParameterError(name, error.value, error.allowed))) from None
