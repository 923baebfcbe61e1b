"""Factor the documents of each label, to initialise components that a sample changes little.

The rows of A are the documents of a label: square roots of term weights, at unit length, times the
square root of the document's weight. Non-negative matrix factorisation minimises

    ‖A − W H‖²      W (n_docs, n), H (n, n_terms), both non-negative

by multiplicative updates. It starts at the singular vectors of A, with the larger of their positive
and negative parts. Other documents of the same kind have nearly the same first singular vectors.
Clusters of documents (``vbnmf.discovery.clusters``) start at single documents instead, which
another sample may not have.

References
----------
D. D. Lee, H. S. Seung (2001). Algorithms for non-negative matrix factorization. Advances in Neural
Information Processing Systems 13, 556-562.
C. Boutsidis, E. Gallopoulos (2008). SVD based initialization: a head start for nonnegative matrix
factorization. Pattern Recognition 41, 1350-1362.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import dot, one_blas_thread, product
from vbnmf.core.rows import mass, of_unit_length, without_unused_terms
from vbnmf.discovery.clusters import content_hashes

_POWERS = 12  # iterations for the singular vectors
_MORE = 4  # singular vectors beyond those that are used, for faster convergence
_STEPS = 20  # updates of each factor
_FILL = 1e-3  # added to the factors at first, in parts of the mean of A: zeros would stay zeros
_GOLDEN = 0.6180339887498949  # multiples of it are the first vectors
_TINY = np.finfo(float).tiny


def factor_term_sums(
    X: sparse.csr_array, members: sparse.csc_array, counts: Array, n_threads: int = 1
) -> sparse.csr_array:
    """Divide the terms of the documents of each label by the factors that explain them.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    members : csc_array of shape (n_docs, n_labels)
        Weights of the documents in each label.
    counts : array of int, shape (n_labels,)
        Number of factors of each label, at least one.
    n_threads : int
        Number of threads, which take one label after another.

    Returns
    -------
    csr_array of shape (Σ counts, n_terms) in float64
        The rows of a label sum to the terms of its documents. If a label has fewer documents or
        terms than factors, the last rows are empty.
    """
    members = sparse.csc_array(members, dtype=np.float64)
    members.eliminate_zeros()

    def of_label(label: int, begin: int, end: int) -> sparse.csr_array:
        documents, weight = X[members.indices[begin:end]], members.data[begin:end]
        parts = factor_parts(documents, weight, int(counts[label])) * weight[:, None]
        return sparse.csr_array(sparse.csr_array(parts.T) @ documents)

    begins, ends = members.indptr[:-1].tolist(), members.indptr[1:].tolist()
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:  # for LAPACK
        blocks = list(pool.map(of_label, range(len(counts)), begins, ends))
    return sparse.csr_array(sparse.vstack(blocks), dtype=np.float64)


def factor_parts(X: sparse.csr_array, weight: Array, n: int) -> Array:
    """Return the part of each document that each of n factors explains, (n_docs, n)."""
    parts = np.zeros((X.shape[0], n))
    roots = sparse.csr_array((np.sqrt(X.data), X.indices, X.indptr), shape=X.shape)
    A, _ = without_unused_terms(of_unit_length(roots))
    n_factors = min(n, *A.shape)
    if n_factors < 2:
        parts[:, 0] = 1.0
        return parts
    order = np.argsort(content_hashes(A), kind="stable")  # so that their order does not matter
    A, weight = A[order], weight[order]
    fill = _FILL * dot(mass(A), weight) / (weight.sum() * A.shape[1])
    times = np.sqrt(weight)
    A = sparse.csr_array(sparse.diags_array(times) @ A)
    by_term = sparse.csr_array(A.T)
    W, H = _first_factors(A, by_term, n_factors)
    W, H = W + fill * times[:, None], H + fill
    for _ in range(_STEPS):
        W *= (A @ H) / np.maximum(product(W, product(H.T, H)), _TINY)
        H *= (by_term @ W) / np.maximum(product(H, product(W.T, W)), _TINY)
    W *= np.sqrt(np.square(H).sum(axis=0))
    total = W.sum(axis=1, keepdims=True)
    parts[order, :n_factors] = np.where(total > 0, W / np.maximum(total, _TINY), 1 / n_factors)
    return parts


def _first_factors(A: sparse.csr_array, by_term: sparse.csr_array, n: int) -> tuple[Array, Array]:
    """Start W, (n_docs, n), and the transpose of H, (n_terms, n), at singular vectors of A."""
    U = _singular_vectors(A, by_term, n)
    V = by_term @ U  # of the lengths of the singular values
    W, H = np.empty_like(U), np.empty_like(V)
    for k in range(n):
        sides = [(np.maximum(sign * U[:, k], 0), np.maximum(sign * V[:, k], 0)) for sign in (1, -1)]
        if k == 0:  # all its values have one sign, but for rounding errors
            sides = [(np.abs(U[:, k]), np.abs(V[:, k]))]
        sizes = [(_length(u), _length(v)) for u, v in sides]
        best = int(np.argmax([of_u * of_v for of_u, of_v in sizes]))
        (u, v), (of_u, of_v) = sides[best], sizes[best]
        root = np.sqrt(of_u * of_v)
        W[:, k], H[:, k] = u * root / max(of_u, _TINY), v * root / max(of_v, _TINY)
    return W, H


def _singular_vectors(A: sparse.csr_array, by_term: sparse.csr_array, n: int) -> Array:
    """Compute the first left singular vectors of A by orthogonal iteration, (n_docs, n)."""
    n_vectors = min(2 * n + _MORE, *A.shape)
    place = np.outer(np.arange(1, A.shape[1] + 1), np.arange(1, n_vectors + 1))
    U = _orthonormal(A @ (np.modf(place * _GOLDEN)[0] - 0.5))
    for _ in range(_POWERS):
        U = _orthonormal(A @ (by_term @ U))
    V = by_term @ U
    _, rotation = np.linalg.eigh(product(V.T, V))
    return product(U, np.ascontiguousarray(rotation[:, ::-1][:, :n]))


def _orthonormal(Y: Array) -> Array:
    """Make columns orthogonal to those before them, and of length one; those in their span zero."""
    Q, R = np.linalg.qr(Y)
    lengths = np.sqrt(np.square(Y).sum(axis=0))
    Q[:, np.abs(R.diagonal()) <= 1e-9 * lengths] = 0.0
    return np.asarray(Q)


def _length(x: Array) -> float:
    return float(np.sqrt(np.square(x).sum()))
