"""Multiply dense arrays without BLAS.

A fit and a prediction must give the same bits with any number of threads. BLAS divides sums among
its threads, so the last bits of its results depend on their number. Fits, projections and
predictions therefore multiply dense arrays only with these functions. Products with a sparse matrix
do not use BLAS. Functions of other libraries that use it are called in ``one_blas_thread()``.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def product(A: Array, B: Array) -> Array:
    """Compute A B from arrays of shapes (n, K) and (K, m)."""
    return np.asarray(np.einsum("ik,kj->ij", A, B))


def product_with_rows(A: Array, B: Array) -> Array:
    """Compute A Bᵀ from arrays of shapes (n, K) and (m, K)."""
    return np.asarray(np.einsum("ik,jk->ij", A, B))


def row_products(A: Array, B: Array, dtype: Any = None) -> Array:
    """Compute the inner products of rows, (n,), from arrays of shape (n, K), or (n, K) and (K,)."""
    rows = "ik,ik->i" if np.ndim(B) == 2 else "ik,k->i"
    return np.asarray(np.einsum(rows, A, B, dtype=dtype))


def dot(a: Array, b: Array) -> float:
    """Compute the inner product of two arrays of the same shape."""
    return float((a * b).sum())


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread: the same bits on any machine.

    Only fits need it. Most kinds of BLAS have one number of threads for the whole process. If two
    fits, or two tasks of Dask, run in threads of one process, the one that leaves first may restore
    this number while the other computes. Predictions do not change it, and do not depend on it.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited


@cache
def _libraries() -> Any:
    """Find the libraries with threads, once: the search takes as long as a small computation.

    Those of NumPy and SciPy are loaded by then. What is loaded later is not used in these contexts.
    """
    import scipy.linalg  # noqa: F401 - loads the BLAS of SciPy, so that it is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
