"""The one check of the values of X, and the one cast, for memory, shards and arrays on a cluster.

A :class:`ValueSummary` has what the check needs to know about some documents. Summaries add up. So
a corpus in parts is refused for the same values, with the same words, as a matrix in memory.

    finite:      NaN and infinity are refused
    sign:        negative values are refused
    smallest:    non-zero values below ``LEAST`` are refused: their products underflow
    sum:         a sum above ``LARGEST_SUM`` is refused: products of two factors overflow
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

LARGEST_SUM = 1e30
"""Largest sum of all values. Products of two factors of this size fit into float32."""

LEAST = float(np.finfo(np.float32).tiny)
"""Smallest value other than zero."""

LARGEST_SINGLE = 1e6
"""Largest value of a fit in float32. With larger values, rounding makes the bound inaccurate."""


class ValueAt(NamedTuple):
    """A value of X and its place."""

    value: float
    row: int
    column: int

    def __str__(self) -> str:
        return f"{self.value:.3g} at row {self.row}, column {self.column}"

    def below(self, n_docs: int) -> "ValueAt":
        """Return the same value, with its row counted from so many documents before."""
        return self._replace(row=self.row + n_docs)


@dataclass(frozen=True)
class ValueSummary:
    """What the check needs to know about the values of some documents."""

    n_docs: int
    total: float  # sum of all values
    largest: float  # 0 if there are no values
    not_finite: ValueAt | None = None  # the first one
    lowest: ValueAt | None = None  # if it is negative
    least: ValueAt | None = None  # the smallest value other than zero, if it is too small

    def __add__(self, other: "ValueSummary") -> "ValueSummary":
        """Return the summary of these documents followed by others."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(np.add(self.total, other.total))
        return ValueSummary(
            self.n_docs + other.n_docs,
            total,
            max(self.largest, other.largest),
            self.not_finite or (other.not_finite and other.not_finite.below(self.n_docs)),
            _lower(self.lowest, other.lowest, self.n_docs),
            _lower(self.least, other.least, self.n_docs),
        )


def summarize(X: sparse.csr_array | sparse.csc_array) -> ValueSummary:
    """Summarize the values of documents, (n_docs, n_terms), without duplicate entries."""
    data: Array = X.data
    if not data.size:
        return ValueSummary(X.shape[0], 0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found below
        total = float(data.sum(dtype=np.float64))
        lowest, largest = float(data.min()), float(data.max())
        least = float(data.min(where=data > 0, initial=np.inf))
    if lowest >= 0 and least >= LEAST and largest < np.inf:  # false for NaN
        return ValueSummary(X.shape[0], total, largest)
    finite = np.isfinite(data)
    return ValueSummary(
        X.shape[0],
        total,
        largest,
        None if finite.all() else _cell(X, int(np.argmin(finite))),
        _cell(X, int(np.argmin(data))) if lowest < 0 else None,
        _cell(X, int(np.flatnonzero(data == least)[0])) if least < LEAST else None,
    )


def check(found: ValueSummary, *, fit: bool = False) -> None:
    """Refuse documents with values that cannot be computed with.

    Parameters
    ----------
    found : ValueSummary
        The values of all documents.
    fit : bool
        Whether a model is to be fitted to them, which needs values other than zero.
    """
    if found.not_finite is not None:
        value, row, column = found.not_finite
        name = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(
            f"X contains {name} at row {row}, column {column}. All values must be finite numbers. "
            "Set missing values to zero."
        )
    if found.lowest is not None:
        raise ValueError(
            f"Negative values in data: found {found.lowest}. X must be non-negative; use counts "
            "or TF-IDF, not centred data."
        )
    if found.least is not None:
        raise ValueError(
            f"X has a value that is too small: {found.least}. Non-zero values must be at least "
            f"{LEAST:.3g}. Set smaller values to zero, or multiply X by a constant."
        )
    if not found.total <= LARGEST_SUM:
        raise ValueError(
            f"the values of X are too large: they sum to {found.total:.3g}, more than "
            f"{LARGEST_SUM:.0e}. Divide X by a constant."
        )
    if fit and found.total == 0:
        raise ValueError(
            "all values of X are zero, so there is nothing to learn from. Check the vocabulary "
            "and the weighting: no document has a term of non-zero weight."
        )


def check_weighted_sum(total: float) -> None:
    """Refuse sample weights that leave only empty documents, or that overflow.

    ``total`` is the sum of all values of X, each times the weight of its document.
    """
    if total == 0:
        raise ValueError(
            "all documents that are not empty have sample weight zero, so there is nothing to "
            "learn from. Check sample_weight."
        )
    if not total <= LARGEST_SUM:
        raise ValueError(
            f"sample_weight is too large: the sum of X times sample_weight is {total:.3g}, more "
            f"than {LARGEST_SUM:.0e}. Divide sample_weight by a constant."
        )


def weighted_sum(X: sparse.csr_array, weight: Array) -> float:
    """Add up the values of documents, each times the weight of its document."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float((weight @ X).sum())


def number_type(dtype: Any) -> np.dtype[Any]:
    """Return the type in which values of a type are held: float32 stays, others become float64."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)


def fit_type(dtype: Any, largest: float) -> np.dtype[Any]:
    """Return the type in which a model is fitted to values of a type, up to the largest one."""
    held = number_type(dtype)
    return held if largest <= LARGEST_SINGLE else np.dtype(np.float64)


def as_rows(X: Any) -> sparse.csr_array:
    """Return documents as a CSR array of float32 or float64, with sorted, unique entries.

    The given matrix is never modified.
    """
    X = sparse.csr_array(X, dtype=number_type(X.dtype))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _cell(X: Any, at: int) -> ValueAt:
    """Return the entry of a compressed matrix with this number."""
    major, minor = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    return ValueAt(float(X.data[at]), *((major, minor) if X.format == "csr" else (minor, major)))


def _lower(first: ValueAt | None, second: ValueAt | None, n_docs: int) -> ValueAt | None:
    """Return the lower of two values, of which the second is so many documents after the first."""
    if first is None or second is None:
        return first or (second and second.below(n_docs))
    return first if first.value <= second.value else second.below(n_docs)
