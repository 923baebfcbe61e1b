"""How much components differ from one another."""

import numpy as np
from numpy.typing import ArrayLike

from vbnmf.core.model import Array
from vbnmf.metrics.ranking import as_components, strongest_terms


def topic_diversity(components: ArrayLike, top: int = 25) -> float:
    """Return the part of the components' strongest terms that are distinct.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    top : int, default=25
        Number of strongest terms of each component; all of them where there are fewer.

    Returns
    -------
    float
        1 if no two components share a strong term, 1/K if all have the same.

    References
    ----------
    A. B. Dieng, F. J. R. Ruiz, D. M. Blei (2020). Topic modeling in embedding spaces.
    Transactions of the Association for Computational Linguistics 8, 439-453.

    Examples
    --------
    >>> topic_diversity([[5, 4, 0, 0], [0, 4, 3, 0]], top=2)
    0.75
    """
    strongest = strongest_terms(components, top)
    return len(np.unique(strongest)) / strongest.size


def exclusivity(components: ArrayLike, top: int = 10) -> Array:
    """Return how far each component has its strongest terms to itself.

    Each component is first scaled to the sum one. The share of a component in a term is then its
    weight of the term over the sum of all components' weights of it. The exclusivity of the
    component is the mean share over its strongest terms.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component, none of them negative.
    top : int, default=10
        Number of strongest terms of each component; all of them where there are fewer.

    Returns
    -------
    ndarray of shape (K,)
        1 if no other component has any of the terms, 1/K if all components are alike. A term
        that no component has counts 0.

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
    weights = np.asarray(as_components(components), dtype=np.float64)
    if (weights < 0).any():
        raise ValueError(
            f"components must not have negative weights, for these are no shares; the smallest is "
            f"{weights.min():.4g}. Give the `components_` of a model that is non-negative."
        )
    parts = _divided(weights, weights.sum(axis=1, keepdims=True))
    shares = _divided(parts, parts.sum(axis=0))
    return np.take_along_axis(shares, strongest, axis=1).mean(axis=1)


def _divided(part: Array, whole: Array) -> Array:
    """The part over the whole, 0 where the whole is 0."""
    return part / np.where(whole > 0, whole, 1.0)
