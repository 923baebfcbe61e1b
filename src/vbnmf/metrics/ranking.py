"""Top terms of components, for measures of coherence and diversity."""

import numpy as np
from numpy.typing import ArrayLike

from vbnmf.core.model import Array


def as_components(components: ArrayLike, name: str = "components") -> Array:
    """Convert components to an array of shape (K, n_terms)."""
    array = np.asarray(components)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have the shape (K, n_terms) and must not be empty; got an array of the "
            f"shape {array.shape}. Pass the `components_` of a fitted model."
        )
    return array


def as_nonnegative(components: ArrayLike) -> Array:
    """Convert components to an array of shape (K, n_terms), and refuse negative weights."""
    array = as_components(components)
    if (array < 0).any():
        raise ValueError(
            f"components must not have negative weights; the smallest is "
            f"{array.min():.4g}. Pass the `components_` of a non-negative model."
        )
    return array


def strongest_terms(components: ArrayLike, top: int, *, least: int = 1) -> Array:
    """Return the terms of each component with the largest weights.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    top : int
        Number of terms of each component. All terms are returned if there are fewer.
    least : int, default=1
        Minimum of `top`.

    Returns
    -------
    ndarray of int of shape (K, min(top, n_terms))
        Columns of the terms in descending order of weight. Ties are in the order of columns.
    """
    array = as_components(components)
    if top < least:
        raise ValueError(
            f"top must be at least {least}; got {top}. It is the number of top terms, usually 10."
        )
    return np.argsort(-array, axis=1, kind="stable")[:, :top]
