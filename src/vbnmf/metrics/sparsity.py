"""Hoyer's sparsity of an array and inter-label sparsity of coefficients (equations 12 and 13)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse


def hoyer_sparsity(x: Any) -> float:
    """Compute Hoyer's sparsity of an array taken as one long vector, equation (12).

    Parameters
    ----------
    x : array_like or sparse matrix
        Any shape.

    Returns
    -------
    float
        1 if only one element is not zero, 0 if all have the same magnitude. It is also 0 for an
        array of one element or of zeros.

    References
    ----------
    P. O. Hoyer (2004). Non-negative matrix factorization with sparseness constraints. Journal of
    Machine Learning Research 5, 1457-1469.

    Examples
    --------
    >>> hoyer_sparsity([0.0, 0.0, 3.0, 0.0])
    1.0
    >>> hoyer_sparsity([2.0, 2.0, 2.0, 2.0])
    0.0
    """
    n = int(np.prod(np.shape(x)))
    values = np.abs(np.asarray(x.data if sparse.issparse(x) else x, dtype=np.float64)).ravel()
    largest = values.max(initial=0.0)
    if n < 2 or largest == 0:
        return 0.0
    values /= largest  # avoids overflow of squares; the measure does not depend on scale
    return hoyer_of_sums(n, float(values.sum()), float(np.square(values).sum()))


def hoyer_of_sums(n: int, total: float, squares: float) -> float:
    """Compute Hoyer's sparsity of n numbers from the sums of their magnitudes and squares."""
    if n < 2 or squares == 0:
        return 0.0
    ratio = total / np.sqrt(squares)
    return float(np.clip((np.sqrt(n) - ratio) / (np.sqrt(n) - 1), 0.0, 1.0))


def inter_label_sparsity(V: ArrayLike, y: Any) -> float:
    """Compute Hoyer's sparsity of the coefficients summed by label, equation (13).

    Parameters
    ----------
    V : array_like of shape (n_docs, K)
        Coefficients, as ``transform`` or ``fit_coefficients`` return them.
    y : array_like of shape (n_docs,), or indicators of shape (n_docs, n_labels)
        One label per document, or a dense or sparse indicator matrix. Labels that no document has
        are ignored.

    Returns
    -------
    float
        Near 1 if each label uses few components and each component serves few labels.

    Examples
    --------
    >>> inter_label_sparsity([[1.0, 0.0], [3.0, 0.0]], ["a", "a"])
    1.0
    """
    V = np.asarray(V)
    has_columns = sparse.issparse(y) or np.ndim(y) == 2
    n_docs = y.shape[0] if has_columns else len(y)
    if V.ndim != 2 or len(V) != n_docs:
        raise ValueError(
            f"V must have one row for each label in y; got V of shape {V.shape} and {n_docs} "
            "labels. Pass the coefficients of the documents with these labels."
        )
    if has_columns:
        Y = sparse.csc_array(y)
        Y = Y[:, np.diff(Y.indptr) > 0]
    else:
        labels, codes = np.unique(np.asarray(y), return_inverse=True)
        parts = np.ones(n_docs), codes.ravel(), np.arange(n_docs + 1)
        Y = sparse.csr_array(parts, shape=(n_docs, len(labels)))
    return hoyer_sparsity(Y.T @ V.astype(np.float64))
