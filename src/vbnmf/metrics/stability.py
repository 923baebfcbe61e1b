"""Stability: similarity of the components of several fits."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from vbnmf.core.model import Array
from vbnmf.metrics.relevance import as_components


def matched_similarity(A: ArrayLike, B: ArrayLike) -> Array:
    """Match the components of two fits one to one, and compute the cosine of each pair.

    Linear assignment finds the pairs with the largest sum of cosines. The result does not depend on
    the scales of components or on the order in B.

    Parameters
    ----------
    A, B : array_like of shapes (K, n_terms) and (L, n_terms)
        Weights of the same terms in the components of each fit.

    Returns
    -------
    ndarray of shape (min(K, L),)
        Cosines in the order of A's components. If A has more components than B, those without a
        partner are omitted. A component of zeros has cosine 0 with any other.

    References
    ----------
    D. Greene, D. O'Callaghan, P. Cunningham (2014). How many topics? Stability analysis for topic
    models. Machine Learning and Knowledge Discovery in Databases (ECML PKDD), 498-513. They match
    components in this way, but compare ranks of terms instead of cosines.

    Examples
    --------
    >>> matched_similarity([[1, 0, 0], [0, 1, 1]], [[0, 2, 2], [3, 0, 0]]).round(6).tolist()
    [1.0, 1.0]
    """
    first, second = _unit_rows(A, "A"), _unit_rows(B, "B")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"both fits must have the same terms; A has {first.shape[1]} and B has "
            f"{second.shape[1]}. Fit both to the same columns."
        )
    cosines = np.clip(first @ second.T, -1.0, 1.0)
    return cosines[linear_sum_assignment(cosines, maximize=True)]


def seed_stability(fits: Sequence[ArrayLike]) -> float:
    """Compute the mean cosine of matched components over all pairs of fits.

    Parameters
    ----------
    fits : sequence of array_like of shape (K, n_terms)
        Components of at least two fits with different random seeds.

    Returns
    -------
    float
        1 if all fits have the same components, up to order and scale.

    Examples
    --------
    >>> seed_stability([[[1, 0], [0, 1]], [[0, 2], [2, 0]], [[1, 0], [0, 3]]])
    1.0
    """
    if len(fits) < 2:
        raise ValueError(
            f"stability needs at least two fits; got {len(fits)}. Fit the model again with "
            "another random_state."
        )
    means = [matched_similarity(A, B).mean() for A, B in combinations(fits, 2)]
    return float(np.mean(means))


def _unit_rows(components: ArrayLike, name: str) -> Array:
    """Scale components to Euclidean length one; zeros stay zeros."""
    rows = np.asarray(as_components(components, name), dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
