"""The strongest terms of components, which most measures of readability look at."""

import numpy as np
from numpy.typing import ArrayLike

from vbnmf.core.model import Array


def as_components(components: ArrayLike, name: str = "components") -> Array:
    """Return components as an array of shape (K, n_terms), or say what they are instead."""
    array = np.asarray(components)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have the shape (K, n_terms), neither of them 0; got an array of the "
            f"shape {array.shape}. Give the `components_` of a fitted model."
        )
    return array


def strongest_terms(components: ArrayLike, top: int, *, least: int = 1) -> Array:
    """Rank the terms of each component by weight and return the first ones.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    top : int
        Number of terms of each component; all of them where there are fewer.
    least : int, default=1
        Smallest number that `top` may be.

    Returns
    -------
    ndarray of int of shape (K, min(top, n_terms))
        Columns of the terms, the strongest first. Of equal terms the first column comes first.
    """
    array = as_components(components)
    if top < least:
        raise ValueError(
            f"top must be at least {least}; got {top}. It is the number of strongest terms to look "
            "at, and ten is usual."
        )
    return np.argsort(-array, axis=1, kind="stable")[:, :top]
