"""Standard errors of scores that are ratios of sums over documents.

The held-out log-likelihood per unit of weight and micro F1 are ratios of sums over documents d,

    R = Σ_d a_d / Σ_d b_d

Documents are the sampling unit: the terms of one document are not independent. The standard error
of this ratio estimator is, by linearisation,

    e_d = (a_d − R b_d) / Σ b,     se(R)² = n / (n − 1) Σ_d e_d²

Two models that are scored on the same documents are compared by the paired difference R − R′. Its
residuals are e_d − e′_d. What makes a document easy or hard for both models cancels, so this
standard error is usually much smaller than that of each ratio.

References
----------
W. G. Cochran (1977). Sampling Techniques, 3rd edition, chapter 6. Wiley.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vbnmf.core.model import Array


class Estimate(NamedTuple):
    """An estimate and its standard error."""

    value: float
    error: float


def ratio(a: ArrayLike, b: ArrayLike) -> Estimate:
    """Compute Σ a / Σ b and its standard error.

    Parameters
    ----------
    a, b : array_like of shape (n_docs,)
        Numerator and denominator of each document. The sum of the denominators must be positive.

    Returns
    -------
    Estimate
        The ratio. The standard error is infinite if there is only one document.

    Examples
    --------
    >>> ratio([1, 0, 1, 1], [1, 1, 1, 1])
    Estimate(value=0.75, error=0.25)
    """
    value, residuals = _linearised(a, b)
    return Estimate(value, _root_of_squares(residuals))


def ratio_difference(
    first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]
) -> Estimate:
    """Compute the difference of two ratios on the same documents, and its paired standard error.

    Parameters
    ----------
    first, second : pairs of array_like of shape (n_docs,)
        Numerators and denominators, as for ``ratio``, with documents in the same order.

    Returns
    -------
    Estimate
        The first ratio minus the second. The standard error is infinite if there is only one
        document.

    Examples
    --------
    >>> ones = [1, 1, 1, 1]
    >>> ratio_difference(([1, 0, 1, 1], ones), ([1, 0, 1, 1], ones))
    Estimate(value=0.0, error=0.0)
    """
    (R, of_first), (S, of_second) = _linearised(*first), _linearised(*second)
    return Estimate(R - S, _root_of_squares(of_first - of_second))


def _linearised(a: ArrayLike, b: ArrayLike) -> tuple[float, Array]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    value = float(a.sum() / b.sum())
    return value, (a - value * b) / b.sum()


def _root_of_squares(residuals: Array) -> float:
    n = len(residuals)
    return float(np.sqrt(n / (n - 1) * np.square(residuals).sum())) if n > 1 else float("inf")
