"""Diversity and exclusivity of components."""

import numpy as np
from numpy.typing import ArrayLike

from vbnmf.core.model import Array
from vbnmf.metrics.relevance import as_nonnegative, strongest_terms


def topic_diversity(components: ArrayLike, top: int = 25) -> float:
    """Compute the part of distinct terms among the top terms of all components.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    top : int, default=25
        Number of top terms of each component. All terms are used if there are fewer.

    Returns
    -------
    float
        1 if no two components share a top term, 1/K if all have the same top terms.

    References
    ----------
    A. B. Dieng, F. J. R. Ruiz, D. M. Blei (2020). Topic modeling in embedding spaces.
    Transactions of the Association for Computational Linguistics 8, 439-453.

    Examples
    --------
    >>> topic_diversity([[5, 4, 0, 0], [0, 4, 3, 0]], top=2)
    0.75
    """
    return distinct_share(strongest_terms(components, top))


def distinct_share(terms: Array) -> float:
    """Compute the part of distinct terms among the top terms of all components."""
    return len(np.unique(terms)) / terms.size


def exclusivity(components: ArrayLike, top: int = 10) -> Array:
    """Compute the mean share of each component in its top terms.

    Each component is first scaled to sum to one. The share of a component in a term is its weight
    of the term, divided by the sum of the weights of all components. The exclusivity of the
    component is the mean share over its top terms.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Non-negative weights of the terms in each component.
    top : int, default=10
        Number of top terms of each component. All terms are used if there are fewer.

    Returns
    -------
    ndarray of shape (K,)
        1 if no other component has any of the terms, 1/K if all components are equal. The share
        in a term that no component has is 0.

    References
    ----------
    J. M. Bischof, E. M. Airoldi (2012). Summarizing topical content with word frequency and
    exclusivity. Proceedings of the 29th International Conference on Machine Learning.

    Examples
    --------
    The components share the second term, one to three.

    >>> exclusivity([[3, 1, 0], [0, 3, 1]], top=2).tolist()
    [0.625, 0.875]
    """
    strongest = strongest_terms(components, top)
    weights = np.asarray(as_nonnegative(components), dtype=np.float64)
    parts = _divided(weights, weights.sum(axis=1, keepdims=True))
    shares = _divided(parts, parts.sum(axis=0))
    return np.take_along_axis(shares, strongest, axis=1).mean(axis=1)


def _divided(part: Array, whole: Array) -> Array:
    """Divide, with 0 for a division by 0."""
    return part / np.where(whole > 0, whole, 1.0)
