"""Find components that are alike: those whose terms are nearly the same.

The terms that describe components are chosen so that few lists share a term, so two components of
nearly the same terms still get different names. The terminal and the page therefore say which
components are alike. The measure is the cosine of their weights of terms,

    cos(j, k) = Σ_w t_wj t_wk / √(Σ_w t_wj² Σ_w t_wk²)

which is 1 if both have the same parts of terms, and 0 if they have no term in common.
"""

from typing import Any

import numpy as np

ALIKE = 0.8
"""Cosine from which on two components are called alike."""
_MOST_NUMBERS = 1 << 24  # weights of components that are converted to double precision at a time
_TINY = np.finfo(float).tiny


def alike_components(estimator: Any) -> list[list[tuple[int, float]]]:
    """Return the components that are alike to each component, with their cosines.

    Parameters
    ----------
    estimator : fitted VBNMF or SupervisedVBNMF

    Returns
    -------
    list of K lists of (int, float)
        Number and cosine of each other component with a cosine of at least ``ALIKE``, the largest
        first. Faded components are alike to none, because their terms come from the prior.
    """
    weights, faded = np.asarray(estimator.components_), np.asarray(estimator.faded_)
    K, n_terms = weights.shape
    products = np.zeros((K, K))
    step = max(1, _MOST_NUMBERS // K)
    for begin in range(0, n_terms, step):
        some = weights[:, begin : begin + step].astype(np.float64)
        products += some @ some.T
    norms = np.sqrt(np.maximum(products.diagonal(), _TINY))
    cosines = np.minimum(products / norms / norms[:, None], 1.0)
    cosines[faded] = cosines[:, faded] = 0
    np.fill_diagonal(cosines, 0)
    return [
        [(int(j), float(row[j])) for j in np.argsort(-row, kind="stable") if row[j] >= ALIKE]
        for row in cosines
    ]
