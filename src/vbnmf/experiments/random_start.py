"""The random start of the experiments: T and V drawn from gamma distributions.

The paper says only that its starts are random; its algorithm extends Cemgil's, which begins with

    t_wk ~ Gamma(1, ·),   v_dk ~ Gamma(a_v, ·)

The estimators begin with components alone, so that the first update of S and T is made here:

    t_wk ← Σ_d x_dw t_wk v_dk / Σ_k' t_wk' v_dk'
"""

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_CELLS_AT_ONCE = 1 << 14  # non-zeros whose K parts are held at a time
_TINY = 1e-12  # draws of small shapes may be zero


def drawn_components(X: sparse.csr_matrix, K: int, a_v: float, seed: int) -> Array:
    """Components, (K, n_terms), after one update of randomly drawn factors.

    Parameters
    ----------
    X : csr_matrix of shape (n_docs, n_terms)
    K : int
        Number of components.
    a_v : float
        Shape of the draws of V, that of its prior.
    seed : int
    """
    rng = np.random.default_rng(seed)
    n_docs, n_terms = X.shape
    T = rng.standard_gamma(1.0, (n_terms, K)) + _TINY
    V = rng.standard_gamma(a_v, (n_docs, K)) + _TINY
    sums = np.zeros((n_terms, K))
    by_term = X.tocsc()
    terms = np.repeat(np.arange(n_terms), np.diff(by_term.indptr))
    for begin in range(0, by_term.nnz, _CELLS_AT_ONCE):
        at = slice(begin, begin + _CELLS_AT_ONCE)
        parts = T[terms[at]] * V[by_term.indices[at]]
        parts *= (by_term.data[at] / parts.sum(axis=1))[:, None]
        first, n = terms[at][0], len(parts)
        # rows of one term lie together: add them up by a product with a 0/1 matrix
        gather = sparse.csr_matrix((np.ones(n), (terms[at] - first, np.arange(n))))
        sums[first : first + gather.shape[0]] += gather @ parts
    return sums.T
