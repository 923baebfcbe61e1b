"""How well a model tells the half of a document that it has not seen."""

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_AT_ONCE = 1 << 21  # numbers of each of two arrays that are held in memory
_TINY = np.finfo(np.float64).tiny


class Projects(Protocol):
    """A fitted model: ``VBNMF`` or ``SupervisedVBNMF``."""

    components_: Array
    component_sums_: Array

    def transform(self, X: Any) -> Array:
        """Coefficients of documents, (n_docs, K)."""


def split_documents(X: Any, seed: int = 0) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split the terms of each document at random into two halves.

    A term goes to one half with all its weight. Of an odd number of terms the first half has one
    more, so that a document of a single term has it in the first half.

    Parameters
    ----------
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Weights of terms. Zeros that are stored are no terms.
    seed : int, default=0
        The same seed gives the same halves.

    Returns
    -------
    first, second : csr_arrays of shape (n_docs, n_terms)
        Their sum is X, and no cell is in both.

    Examples
    --------
    >>> first, second = split_documents([[1, 2, 3, 4], [0, 0, 5, 0]])
    >>> np.diff(first.indptr).tolist(), np.diff(second.indptr).tolist()
    ([2, 1], [2, 0])
    """
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()  # sorts as well, so that the halves do not depend on the order of storing
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

    The terms of each document are split into two halves. Coefficients v are found by the first
    half. The second half is then scored by the probability that they give each of its terms,

        p(w | d) = Σ_k v_dk t_wk / Σ_k v_dk s_k,   s_k = Σ_w t_wk

    A document whose first half is empty is scored by the prior's coefficients.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        Fitted.
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Weights of terms in documents, made in the same way as those of training; best documents
        that the model has not seen.
    seed : int, default=0
        Of the halves.

    Returns
    -------
    float
        Mean of ln p(w | d) over the weight of the second halves, Σ x ln p / Σ x. Below 0; the
        nearer to 0, the better. Guessing all terms alike gives -ln(n_terms). Weighting, documents
        and terms must be the same for two models to be compared.

    References
    ----------
    H. M. Wallach, I. Murray, R. Salakhutdinov, D. Mimno (2009). Evaluation methods for topic
    models. Proceedings of the 26th International Conference on Machine Learning, 1105-1112.

    Examples
    --------
    Each document has all of five terms, so that the best possible is -ln 5, or -1.61.

    >>> from vbnmf import VBNMF
    >>> X = 9 * np.kron(np.eye(2), np.ones((40, 5)))
    >>> model = VBNMF(n_components=2, random_state=0).fit(X)
    >>> print(f"{completion_log_likelihood(model, X):.2f}")
    -1.62
    """
    first, second = split_documents(X, seed)
    return half_log_likelihood(model, second, model.transform(first))


def half_log_likelihood(model: Projects, second: sparse.csr_array, V: Array) -> float:
    """Compute the log-likelihood of second halves, given coefficients by the first halves.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        Fitted.
    second : csr_array of shape (n_docs, n_terms)
        The second halves that ``split_documents`` returned.
    V : ndarray of shape (n_docs, n_components)
        Coefficients of the first halves.

    Returns
    -------
    float
        As from ``completion_log_likelihood``.
    """
    if not second.nnz:
        raise ValueError(
            f"no document has two terms, of {second.shape[0]} documents; one is needed to find "
            "coefficients and another to score. Give documents with more terms."
        )
    totals = np.einsum("dk,k->d", V, model.component_sums_, dtype=np.float64)
    terms = model.components_.T
    rows = np.repeat(np.arange(second.shape[0]), np.diff(second.indptr))
    step = max(_AT_ONCE // V.shape[1], 1)
    score = 0.0
    for begin in range(0, second.nnz, step):
        at = slice(begin, begin + step)
        # einsum and not BLAS, whose sums depend on the number of threads
        means = np.einsum("nk,nk->n", V[rows[at]], terms[second.indices[at]], dtype=np.float64)
        p = np.maximum(means / totals[rows[at]], _TINY)  # means may have become 0 in float32
        score += float(np.sum(second.data[at] * np.log(p)))
    return score / float(np.sum(second.data, dtype=np.float64))


def _only(X: sparse.csr_array, kept: Array) -> sparse.csr_array:
    """X with the stored cells that are kept."""
    before = np.concatenate(([0], np.cumsum(kept)))
    return sparse.csr_array((X.data[kept], X.indices[kept], before[X.indptr]), shape=X.shape)
