"""Initialise the experiments at random: draw T and V from gamma distributions.

The paper says only that its initialisation is random. Its algorithm extends that of Cemgil (2009),
which starts from

    t_wk ~ Gamma(1, ·),   v_dk ~ Gamma(a_v, ·)

The estimators can be initialised with components only. So the first update of S and T is made here:

    t_wk ← Σ_d x_dw t_wk v_dk / Σ_k' t_wk' v_dk'

References
----------
A. T. Cemgil (2009). Bayesian inference for nonnegative matrix factorisation models. Computational
Intelligence and Neuroscience.
"""

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_CELLS_AT_ONCE = 1 << 14  # non-zeros whose K parts are held in memory
_TINY = 1e-12  # draws with small shapes may be zero


def drawn_components(X: sparse.csr_matrix, K: int, a_v: float, seed: int) -> Array:
    """Compute components, (K, n_terms), by one update of randomly drawn factors.

    Parameters
    ----------
    X : csr_matrix of shape (n_docs, n_terms)
    K : int
        Number of components.
    a_v : float
        Shape of the distribution of V, the same as in its prior.
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
        # rows of a term are adjacent: add them up by a product with a 0/1 matrix
        gather = sparse.csr_matrix((np.ones(n), (terms[at] - first, np.arange(n))))
        sums[first : first + gather.shape[0]] += gather @ parts
    return sums.T
