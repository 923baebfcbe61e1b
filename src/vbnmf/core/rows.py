"""Sums over the terms of each document."""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_TINY = np.finfo(float).tiny


def mass(X: Any) -> Array:
    """Sum of the weights of each document, (n_docs,) in float64."""
    return np.asarray(X @ np.ones(X.shape[1]))


def is_empty(X: Any) -> Array:
    """Which documents have no weight at all, (n_docs,) of bool."""
    return np.asarray(X.sum(axis=1)).ravel() == 0


def lengths(X: sparse.csr_array) -> Array:
    """Euclidean length of each document, (n_docs,) in float64."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.sqrt(np.bincount(row, X.data.astype(np.float64) ** 2, minlength=X.shape[0]))


def of_unit_length(X: sparse.csr_array) -> sparse.csr_array:
    """Divide documents by their Euclidean length, in float64."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    values = X.data.astype(np.float64) / np.maximum(lengths(X), _TINY)[row]
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def effective_terms(X: sparse.csr_array) -> Array:
    """Effective number of terms of each document, (Σ x)² / Σ x²: at least one.

    It is the number of terms where all have the same weight, and less where a few dominate.
    """
    return np.maximum((mass(X) / np.maximum(lengths(X), _TINY)) ** 2, 1.0)
