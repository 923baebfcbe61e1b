"""Compute sums over the terms of each document."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_DOCUMENTS_AT_ONCE = 1 << 10  # that are put side by side
_NONZEROS_AT_ONCE = 1 << 15  # about as many are in each part
_TINY = np.finfo(float).tiny
# shifts and factors of SplitMix64, after which all bits depend on all bits
_MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def _ranges(X: sparse.csr_array) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents with a limited number of non-zeros."""
    if 0 < X.nnz <= _NONZEROS_AT_ONCE:
        yield 0, X.shape[0]
        return
    cuts = np.searchsorted(X.indptr, np.arange(0, X.nnz, _NONZEROS_AT_ONCE))
    yield from pairwise(np.unique(np.append(cuts, X.shape[0])).tolist())


def parts(X: sparse.csr_array) -> Iterator[tuple[slice, sparse.csr_array]]:
    """Yield ranges of documents with a limited number of non-zeros, and their rows of X.

    Temporary arrays of a part are small. Documents share no sums, so parts do not change results.
    """
    for begin, end in _ranges(X):
        at = slice(X.indptr[begin], X.indptr[end])
        indptr = X.indptr[begin : end + 1] - at.start
        rows = (X.data[at], X.indices[at], indptr)
        yield slice(begin, end), sparse.csr_array(rows, shape=(end - begin, X.shape[1]))


def leading(X: sparse.csr_array, n_columns: int) -> sparse.csr_array:
    """Return the first columns of X; X itself if it has no others."""
    if X.shape[1] == n_columns:
        return X
    if X.nnz > _NONZEROS_AT_ONCE:
        return sparse.csr_array(X[:, :n_columns])
    at = X.indices < n_columns  # faster for few documents
    ends = np.append(0, np.cumsum(at))[X.indptr].astype(X.indptr.dtype)
    return sparse.csr_array((X.data[at], X.indices[at], ends), shape=(X.shape[0], n_columns))


def side_by_side(left: Any, right: Any) -> sparse.csr_array:
    """Return the columns of two CSR matrices with the same documents, side by side."""
    if left.shape[0] != 1:
        ends = as_narrow(np.add(left.indptr, right.indptr, dtype=np.int64))
        data = np.empty(ends[-1], np.result_type(left.dtype, right.dtype))
        columns = np.empty(ends[-1], np.int32)
        for begin in range(0, left.shape[0], _DOCUMENTS_AT_ONCE):  # hstack holds several copies
            rows = slice(begin, begin + _DOCUMENTS_AT_ONCE)
            block = sparse.hstack([left[rows], right[rows]], format="csr")
            at = slice(ends[begin], ends[begin] + block.nnz)
            data[at], columns[at] = block.data, block.indices
        shape = (left.shape[0], left.shape[1] + right.shape[1])
        return sparse.csr_array((data, columns, ends), shape=shape)
    # faster for one document, as in a service
    width = left.shape[1] + right.shape[1]
    data = np.concatenate([left.data, right.data])
    columns = np.concatenate([left.indices, right.indices + left.indices.dtype.type(left.shape[1])])
    return sparse.csr_array((data, columns, [0, len(data)]), shape=(1, width))


def as_narrow(ends: Array) -> Array:
    """Return the ends of rows in 32 bits if they fit; wider ones would widen all indices."""
    return ends.astype(np.int32) if ends[-1] <= np.iinfo(np.int32).max else ends


def of_columns(X: sparse.csr_array, kept: Array) -> sparse.csr_array:
    """Return X without the values in other columns; X itself if all columns are kept."""
    if kept.all():
        return X
    at = kept[X.indices]
    sizes = _sums_of(X, at, lambda values: values)  # of each document
    ends = np.append(0, np.cumsum(sizes)).astype(X.indptr.dtype)  # so indices stay narrow
    return sparse.csr_array((X.data[at], X.indices[at], ends), shape=X.shape)


def mass(X: sparse.csr_array) -> Array:
    """Sum the weights of each document, (n_docs,) in float64."""
    return _sums(X, lambda weights: weights)


def mass_of_squares(X: sparse.csr_array) -> Array:
    """Sum the squared weights of each document, (n_docs,) in float64."""
    return _sums(X, partial(np.square, dtype=np.float64))


def _sums(X: sparse.csr_array, of: Callable[[Array], Array]) -> Array:
    """Sum a function of the weights of each document, (n_docs,) in float64."""
    return _sums_of(X, X.data, of)


def _sums_of(X: sparse.csr_array, values: Array, of: Callable[[Array], Array]) -> Array:
    """Sum a function of values in the places of X, (nnz,), as ``_sums``."""
    out = np.zeros(X.shape[0])
    for begin, end in _ranges(X):
        indptr = X.indptr[begin : end + 1]
        row = np.repeat(np.arange(end - begin), np.diff(indptr))
        out[begin:end] = np.bincount(row, of(values[indptr[0] : indptr[-1]]), end - begin)
    return out


def is_empty(X: Any) -> Array:
    """Return whether each document has no weight, (n_docs,) of bool."""
    if sparse.issparse(X) and X.format == "csr":
        return mass(X) == 0
    return np.asarray(X.sum(axis=1)).ravel() == 0


def content_keys(X: sparse.csr_array) -> Array:
    """Compute a number of 64 bits from the terms and weights of each document, (n_docs,) of int64.

    Documents of the same terms and weights have the same key. Others have different keys, apart
    from chance. Weights are compared in single precision; the order of stored values and stored
    zeros do not matter. The key of a document without terms is 0.
    """
    out = np.zeros(X.shape[0], np.uint64)
    for at, part in parts(X):
        weights = part.data.astype(np.float32)
        mixed = part.indices.astype(np.uint64) << np.uint64(32)
        mixed |= weights.view(np.uint32)
        for shift, factor in _MIXING:
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        mixed[weights == 0] = 0
        sums = np.append(np.uint64(0), np.cumsum(mixed))
        out[at] = np.diff(sums[part.indptr])
    return out.view(np.int64)


def lengths(X: sparse.csr_array, values: Array | None = None) -> Array:
    """Compute the Euclidean length of each document, (n_docs,) in float64.

    ``values`` are used instead of the weights, in the same places, (nnz,).
    """
    values = X.data if values is None else values
    return np.sqrt(_sums_of(X, values, partial(np.square, dtype=np.float64)))


def of_unit_length(X: sparse.csr_array, dtype: Any = np.float64) -> sparse.csr_array:
    """Divide documents by their Euclidean length."""
    return sparse.csr_array((unit_values(X, dtype), X.indices, X.indptr), shape=X.shape)


def unit_values(X: sparse.csr_array, dtype: Any = np.float64) -> Array:
    """Compute the weights of documents divided by their Euclidean length, (nnz,)."""
    values, length = np.empty(X.nnz, dtype), np.maximum(lengths(X), _TINY)
    for begin, end in _ranges(X):
        indptr = X.indptr[begin : end + 1]
        at = slice(indptr[0], indptr[-1])
        of_cell = np.repeat(length[begin:end], np.diff(indptr))
        np.divide(X.data[at], of_cell, out=values[at], casting="same_kind")
    return values


def effective_terms(X: sparse.csr_array) -> Array:
    """Compute the effective number of terms of each document, (Σ x)² / Σ x²; at least one.

    It equals the number of terms if all have the same weight, and is smaller if a few dominate.
    """
    return np.maximum((mass(X) / np.maximum(lengths(X), _TINY)) ** 2, 1.0)


def without_unused_terms(X: sparse.csr_array) -> tuple[sparse.csr_array, Array | slice]:
    """Remove the terms that no document has; return X, and the columns that were kept."""
    if X.nnz < X.shape[1] // 8:  # few documents: all terms are not looked at
        used, columns = np.unique(X.indices, return_inverse=True)
        rows = (X.data, columns.astype(np.int32), X.indptr)
        return sparse.csr_array(rows, shape=(X.shape[0], len(used))), used.astype(np.int64)
    occurs = np.zeros(X.shape[1], dtype=bool)
    occurs[X.indices] = True
    if occurs.all():
        return X, slice(None)
    used = np.flatnonzero(occurs)
    position = np.cumsum(occurs) - 1
    columns = position[X.indices].astype(np.int32)
    return sparse.csr_array((X.data, columns, X.indptr), shape=(X.shape[0], len(used))), used
