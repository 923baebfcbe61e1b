"""How well the strongest terms of components belong together, and how much components differ.

    p_i  = part of the documents that have term i,     p_ij = part that have both i and j
    NPMI = ln(p_ij / (p_i p_j)) / −ln p_ij              1: always together, 0: by chance, −1: never

Terms are ranked by their weight in the component, which is what ``vbnmf topics`` shows.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbnmf.core.model import Array


def npmi_coherence(components: ArrayLike, X: Any, top: int = 10) -> Array:
    """Mean NPMI over the pairs of each component's strongest terms.

    Counted in whole documents, without a sliding window. A pair that no document has counts -1. A
    pair that says nothing counts 0: one of whose terms no document has, or both of which all have.
    Estimates from few documents are rough.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents: those of training, or better others. A weight above zero means that the
        document has the term; its size does not matter.
    top : int, default=10
        Number of strongest terms; at least 2, and all of them where there are fewer.

    Returns
    -------
    ndarray of shape (K,)
        Between -1 and 1; 0 where there is no pair, because there is but one term.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [2, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]]
    >>> npmi_coherence([[5, 4, 0, 0], [0, 0, 3, 2]], X, top=2).tolist()
    [1.0, -1.0]
    """
    strongest = _strongest(components, top, least=2)
    has = sparse.csc_array(X)
    if has.shape[1] != np.shape(components)[1]:
        raise ValueError(
            f"X has {has.shape[1]} terms, but the components have {np.shape(components)[1]}. Make "
            "X in the same way as for the fit."
        )
    if has.shape[0] == 0:
        raise ValueError("X has no documents to count terms in.")
    n_docs, n_top = has.shape[0], strongest.shape[1]
    first, second = np.triu_indices(n_top, 1)
    scores = np.zeros(len(strongest))
    # one component after another: the pairs of all terms together would not fit into memory
    for k, terms in enumerate(strongest) if n_top > 1 else ():
        present = (has[:, terms] > 0).astype(np.float64)
        p = (present.T @ present).toarray() / n_docs
        scores[k] = _npmi(p[first, second], p[first, first], p[second, second]).mean()
    return scores


def topic_diversity(components: ArrayLike, top: int = 25) -> float:
    """Part of the components' strongest terms that are distinct.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    top : int, default=25
        Number of strongest terms of each component; all of them where there are fewer.

    Returns
    -------
    float
        1 if no two components share a strong term, 1/K if all have the same.

    Examples
    --------
    >>> topic_diversity([[5, 4, 0, 0], [0, 4, 3, 0]], top=2)
    0.75
    """
    strongest = _strongest(components, top, least=1)
    return len(np.unique(strongest)) / strongest.size


def _strongest(components: ArrayLike, top: int, *, least: int) -> Array:
    """Indices of the strongest terms of each component, (K, top); of equal terms the first."""
    components = np.asarray(components)
    if components.ndim != 2 or 0 in components.shape:
        raise ValueError(
            f"components must have the shape (K, n_terms); got an array of {components.shape}."
        )
    if top < least:
        raise ValueError(f"top must be at least {least}; got {top}.")
    return np.argsort(-components, axis=1, kind="stable")[:, :top]


def _npmi(both: Array, p_i: Array, p_j: Array) -> Array:
    """NPMI of pairs, by the parts of documents that have both terms, and each."""
    scores = np.where((both == 0) & (p_i > 0) & (p_j > 0), -1.0, 0.0)
    some = (both > 0) & (both < 1)
    log_both = np.log(both[some])
    scores[some] = (log_both - np.log(p_i[some] * p_j[some])) / -log_both
    return scores
