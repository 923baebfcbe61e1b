"""Compute what each component explains of the terms of documents.

With coefficients V and components T, the part of x_dw that component k explains is

    s_dwk = x_dw V_dk T_wk / Σ_j V_dj T_wj,        so that Σ_k s_dwk = x_dw

Summed over documents this is Sigma_t = T ∘ (ratioᵀ V). Products use no BLAS
(``vbnmf.core.products``), so results do not depend on its threads.
"""

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import row_products

NONZEROS_AT_ONCE = 1 << 14
"""Maximum number of rows of K numbers that are held in memory."""
MAX_ITER = 60
"""Iterations of ``coefficients``, at most."""
TOL = 1e-3
"""Part of a document's coefficients that moves in an iteration when they have converged."""

_CHECK_EVERY = 5  # iterations between looks at which documents have converged
_TINY = np.finfo(float).tiny

# Lower limit of divisors, by bytes of a number, because products of two factors may underflow.
_LEAST_MEAN = {4: 1e-36, 8: 1e-300}


def ratios(X: sparse.csr_array, V: Array, T: Array) -> sparse.csr_array:
    """Compute x / Σ_k V_dk T_wk at the non-zeros of X, in its sparsity pattern.

    Parameters are as for ``means``.
    """
    found = means(X, V, T)
    np.divide(X.data, found, out=found)
    return sparse.csr_array((found, X.indices, X.indptr), shape=X.shape)


def means(X: sparse.csr_array, V: Array, T: Array) -> Array:
    """Compute Σ_k V_dk T_wk at the non-zeros of X, (nnz,), in the order of ``X.data``.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Weights of terms.
    V : ndarray of shape (n_docs, k)
        Coefficients.
    T : ndarray of shape (n_terms, k)
        Components, a row for each term, so that the numbers of a term are contiguous.
    """
    row = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))
    mean = np.empty(X.nnz)
    for begin in range(0, X.nnz, NONZEROS_AT_ONCE):
        at = slice(begin, begin + NONZEROS_AT_ONCE)
        mean[at] = row_products(V[row[at]], T[X.indices[at]])
    return np.maximum(mean, _LEAST_MEAN[X.dtype.itemsize], out=mean)


def coefficients(
    X: sparse.csr_array, T: Array, in_scope: Array, *, max_iter: int = MAX_ITER, tol: float = TOL
) -> Array:
    """Fit coefficients by maximum likelihood, with fixed components.

    The iterations are those of the EM algorithm. Those of a document stop when they have converged.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Weights of terms.
    T : ndarray of shape (n_terms, k)
        Components, whose columns sum to one.
    in_scope : ndarray of shape (n_docs, k)
        True where a document may use a component. Other coefficients are zero.
    max_iter : int
        Iterations, at most.
    tol : float
        A document has converged when an iteration moves less than this part of its coefficients.

    Returns
    -------
    ndarray of shape (n_docs, k)
        Rows sum to one. The row of a document that no component in its scope explains is zero.
    """
    V = in_scope / np.maximum(in_scope.sum(axis=1, keepdims=True), 1)
    active, rows = np.arange(X.shape[0]), X
    for iteration in range(1, max_iter + 1):
        if not len(active):
            break
        before = V[active]
        after = before * (ratios(rows, before, T) @ T)
        after /= np.maximum(after.sum(axis=1, keepdims=True), _TINY)
        V[active] = after
        if iteration % _CHECK_EVERY == 0:
            moving = np.abs(after - before).sum(axis=1) > tol
            active, rows = active[moving], rows[moving]
    return np.asarray(V)
