"""Compute sums over the terms of each document."""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_TINY = np.finfo(float).tiny


def mass(X: Any) -> Array:
    """Sum the weights of each document, (n_docs,) in float64."""
    return np.asarray(X @ np.ones(X.shape[1]))


def is_empty(X: Any) -> Array:
    """Return whether each document has no weight, (n_docs,) of bool."""
    return np.asarray(X.sum(axis=1)).ravel() == 0


def lengths(X: sparse.csr_array) -> Array:
    """Compute the Euclidean length of each document, (n_docs,) in float64."""
    squares = np.square(X.data, dtype=np.float64)
    return np.sqrt(mass(sparse.csr_array((squares, X.indices, X.indptr), shape=X.shape)))


def of_unit_length(X: sparse.csr_array, dtype: Any = np.float64) -> sparse.csr_array:
    """Divide documents by their Euclidean length."""
    length = np.repeat(np.maximum(lengths(X), _TINY), np.diff(X.indptr))
    values = np.empty(X.nnz, dtype)
    np.divide(X.data, length, out=values, casting="same_kind")
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def effective_terms(X: sparse.csr_array) -> Array:
    """Compute the effective number of terms of each document, (Σ x)² / Σ x²; at least one.

    It equals the number of terms if all have the same weight, and is smaller if a few dominate.
    """
    return np.maximum((mass(X) / np.maximum(lengths(X), _TINY)) ** 2, 1.0)


def without_unused_terms(X: sparse.csr_array) -> tuple[sparse.csr_array, Array | slice]:
    """Remove the terms that no document has; return X, and the columns that were kept."""
    occurs = np.zeros(X.shape[1], dtype=bool)
    occurs[X.indices] = True
    if occurs.all():
        return X, slice(None)
    used = np.flatnonzero(occurs)
    position = np.cumsum(occurs) - 1
    columns = position[X.indices].astype(np.int32)
    return sparse.csr_array((X.data, columns, X.indptr), shape=(X.shape[0], len(used))), used
