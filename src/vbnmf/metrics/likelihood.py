"""Held-out log-likelihood of documents by document completion."""

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import row_products

_AT_ONCE = 1 << 21  # numbers of each of two arrays that are held in memory
_TINY = np.finfo(np.float64).tiny


class HasComponents(Protocol):
    """Components, and their sums over the terms."""

    @property
    def components_(self) -> Array:
        """Weights of terms in components, (K, n_terms)."""

    @property
    def component_sums_(self) -> Array:
        """Sums of components, (K,)."""


class Projects(HasComponents, Protocol):
    """A fitted model: ``VBNMF`` or ``SupervisedVBNMF``."""

    def transform(self, X: Any) -> Array:
        """Compute the coefficients of documents, (n_docs, K)."""


def split_documents(X: Any, seed: int = 0) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split the terms of each document at random into two halves.

    A term is in one half with all its weight. If the number of terms is odd, the first half has one
    more. A single term is in the first half.

    Parameters
    ----------
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Weights of terms. Explicit zeros are ignored.
    seed : int, default=0
        The same seed gives the same halves.

    Returns
    -------
    first, second : csr_arrays of shape (n_docs, n_terms)
        The halves, whose sum is X.

    Examples
    --------
    >>> first, second = split_documents([[1, 2, 3, 4], [0, 0, 5, 0]])
    >>> np.diff(first.indptr).tolist(), np.diff(second.indptr).tolist()
    ([2, 1], [2, 0])
    """
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()  # also sorts, so that the halves do not depend on the storage order
    X.eliminate_zeros()
    lengths = np.diff(X.indptr)
    rows = np.repeat(np.arange(X.shape[0]), lengths)
    shuffled = np.lexsort((np.random.default_rng(seed).random(X.nnz), rows))
    rank = np.arange(X.nnz) - np.repeat(X.indptr[:-1], lengths)
    in_first = np.zeros(X.nnz, dtype=bool)
    in_first[shuffled] = rank < np.repeat((lengths + 1) // 2, lengths)
    return _only(X, in_first), _only(X, ~in_first)


def completion_log_likelihood(model: Projects, X: Any, seed: int = 0) -> float:
    """Compute the held-out log-likelihood of documents by document completion.

    The terms of each document are split into two halves. Coefficients v are computed from the first
    half. The terms of the second half are scored by their probability,

        p(w | d) = Σ_k v_dk t_wk / Σ_k v_dk s_k,   s_k = Σ_w t_wk

    The coefficients of a document whose first half is empty are those of the prior.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        A fitted model.
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Weights of terms, computed as for training. Use documents that the model was not fitted to.
    seed : int, default=0
        Random seed of the split into halves.

    Returns
    -------
    float
        Mean log-probability per unit of weight of the second halves, Σ x ln p / Σ x. It is
        negative, and higher is better. A uniform distribution over terms gives -ln(n_terms).
        Compare models only on the same documents with the same terms and weighting.

    References
    ----------
    H. M. Wallach, I. Murray, R. Salakhutdinov, D. Mimno (2009). Evaluation methods for topic
    models. Proceedings of the 26th International Conference on Machine Learning, 1105-1112.

    Examples
    --------
    Each document has five terms of equal weight, so the best possible value is -ln 5 = -1.61.

    >>> from vbnmf import VBNMF
    >>> X = 9 * np.kron(np.eye(2), np.ones((40, 5)))
    >>> model = VBNMF(n_components=2, random_state=0).fit(X)
    >>> print(f"{completion_log_likelihood(model, X):.2f}")
    -1.62
    """
    first, second = split_documents(X, seed)
    return half_log_likelihood(model, second, model.transform(first))


def half_log_likelihood(model: Projects, second: sparse.csr_array, V: Array) -> float:
    """Compute the log-likelihood of second halves, given coefficients of the first halves.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        A fitted model.
    second : csr_array of shape (n_docs, n_terms)
        The second halves from ``split_documents``.
    V : ndarray of shape (n_docs, n_components)
        Coefficients of the first halves.

    Returns
    -------
    float
        As from ``completion_log_likelihood``.
    """
    if not second.nnz:
        raise ValueError(
            f"none of {second.shape[0]} documents has two terms: one for the coefficients, and "
            "one to score. Pass documents with more terms."
        )
    score, weight = half_log_sums(model, second, V)
    return score / weight


def half_log_sums(model: Projects, second: sparse.csr_array, V: Array) -> tuple[float, float]:
    """Compute Σ x ln p and Σ x of second halves; those of several parts can be added.

    Parameters are as for ``half_log_likelihood``.
    """
    score, weight = document_log_sums(model, second, V)
    return float(score.sum()), float(weight.sum())


def document_log_sums(
    model: HasComponents, second: sparse.csr_array, V: Array
) -> tuple[Array, Array]:
    """Compute Σ_w x ln p and Σ_w x of the second half of each document, two arrays (n_docs,).

    Both are 0 for a document whose second half is empty. Parameters are as for
    ``half_log_likelihood``. ``metrics.ratios`` has the standard error of the log-likelihood, and
    of the difference between two models.
    """
    n_docs = second.shape[0]
    totals = row_products(V, model.component_sums_, np.float64)
    terms = model.components_.T
    rows = np.repeat(np.arange(n_docs), np.diff(second.indptr))
    step = max(_AT_ONCE // V.shape[1], 1)
    score = np.zeros(n_docs)
    for begin in range(0, second.nnz, step):
        at = slice(begin, begin + step)
        means = row_products(V[rows[at]], terms[second.indices[at]], np.float64)
        p = np.maximum(means / totals[rows[at]], _TINY)  # means may underflow in float32
        score += np.bincount(rows[at], second.data[at] * np.log(p), minlength=n_docs)
    return score, np.bincount(rows, second.data, minlength=n_docs)


def _only(X: sparse.csr_array, kept: Array) -> sparse.csr_array:
    """Return X with some of its entries."""
    before = np.concatenate(([0], np.cumsum(kept)))
    return sparse.csr_array((X.data[kept], X.indices[kept], before[X.indptr]), shape=X.shape)
