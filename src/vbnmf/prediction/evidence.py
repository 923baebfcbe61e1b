"""Evidence for components: the mean log-probability of a document's terms in each component.

    e_dk = Σ_w x_dw m_wk / Σ_w x_dw,    m_wk = ln p_wk − mean_j ln p_wj

where p_wk is the probability of term w in component k, smoothed by one mean occurrence of a term.
Labels are predicted from the evidence. It is a sum over terms, so the contribution of each term to
a prediction is exact. It is computed without iterations. It predicts better than coefficients,
which divide a document's terms among components.

Components were fitted to the training documents. The evidence of a training document is therefore
computed without the document: its own share x_dw c_wk v_dk / Σ_j c_wj v_dj of each term is
subtracted from the components. Otherwise rare terms would seem to be strong evidence.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import product
from vbnmf.core.rows import is_empty, mass

_AT_ONCE = (1 << 16, 1 << 18)  # minimum and maximum size of a part of a matrix of non-zeros × K
_TERMS_AT_ONCE = 1 << 12  # terms whose values are held in double precision
_PART_AT_ONCE = 32  # between these limits, a part has 1/32 of the size of both factors
_LEAST_LEFT = 1e-3  # of a component that is one document alone
_TINY = np.finfo(float).tiny


def mean_occurrence(X: sparse.csr_array, weight: Array) -> float:
    """Compute the mean of the non-zero values of X, weighted by sample weights."""
    occurs = sparse.csr_array((X.data > 0, X.indices, X.indptr), shape=X.shape)
    return float((weight * mass(X)).sum() / max((weight * mass(occurs)).sum(), _TINY))


def term_evidence(shapes: Array, totals: Array, smoothing: float) -> Array:
    """Compute the evidence of each term for each component, m_wk, (n_terms, K) in float64.

    Parameters
    ----------
    shapes : array of shape (n_terms, K)
        Shapes of the gamma posteriors of the terms.
    totals : array of shape (K,)
        Smoothed sums of the shapes over all terms.
    smoothing : float
        Pseudo-count that is added to each shape.
    """
    logs = shapes.astype(np.float64)
    logs += smoothing
    np.log(logs, out=logs)  # in place: the array is large
    logs -= np.log(totals)
    logs -= logs.mean(axis=1, keepdims=True)
    return logs


def mean_over_terms(X: sparse.csr_array, of_terms: Array) -> Array:
    """Average values of terms over the terms of each document, weighted by X.

    With ``term_evidence`` this is the evidence e of documents.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    of_terms : array of shape (n_terms, m)
        Values of each term.

    Returns
    -------
    array of shape (n_docs, m)
        Zero for a document without any term.
    """
    return np.asarray((X @ of_terms) / np.maximum(mass(X), _TINY)[:, None])


def mean_documents(X: sparse.csr_array, fold: Array, weight: Array) -> Array:
    """Average the relative weights of terms over the documents without each fold.

    Documents without any term do not count.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    fold : array of int of shape (n_docs,)
        Their folds.
    weight : array of shape (n_docs,)
        Their sample weights.

    Returns
    -------
    ndarray of shape (n_folds, n_terms)
        A row for each fold that occurs, ascending.
    """
    size = mass(X)
    of_fold = (np.unique(fold)[:, None] == fold) * np.where(size > 0, weight, 0.0)
    sums = np.asarray((sparse.csr_array(of_fold / np.maximum(size, _TINY)) @ X).toarray())
    n_docs = of_fold.sum(axis=1)
    n_others = np.maximum(n_docs.sum() - n_docs, _TINY)
    return np.asarray((sums.sum(axis=0) - sums) / n_others[:, None])


def mean_values(documents: Array, of_terms: Callable[[slice], Array], n: int) -> Array:
    """Sum values of terms over dense documents, (n_docs, n).

    Parameters
    ----------
    documents : array of shape (n_docs, n_terms)
        Relative weights of terms.
    of_terms : callable
        Function from a range of terms to their values, (n_terms, n).
    n : int
        Number of values of a term.
    """
    out = np.zeros((len(documents), n))
    for begin in range(0, documents.shape[1], _TERMS_AT_ONCE):
        at = slice(begin, begin + _TERMS_AT_ONCE)
        out += product(documents[:, at], of_terms(at))
    return out


def evidence_left_out(
    X: sparse.csr_array,
    V: Array,
    shapes: Array,
    scales: Array,
    smoothing: float,
    weight: Array | None = None,
    n_threads: int = 1,
) -> Array:
    """Compute the evidence of training documents as if each had been left out, (n_docs, K).

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    V : array of shape (n_docs, K)
        Their coefficients in training.
    shapes : array of shape (n_terms, K)
        Shapes of the gamma posteriors of all terms.
    scales : array of shape (K,)
        Scales of the gamma posteriors.
    smoothing : float
        Pseudo-count that is added to each shape.
    weight : array of shape (n_docs,) or None
        Sample weights. If the weight is above one, only one copy of the document is left out.
    n_threads : int
        Number of threads.
    """
    totals = np.log(shapes.sum(axis=0, dtype=np.float64) + len(shapes) * smoothing)

    def logs(left: Array) -> Array:
        found = np.log(left + smoothing)
        return np.asarray(found - found.mean(axis=1, keepdims=True))

    out = left_out(X, V, shapes, scales, logs, weight, n_threads)
    return np.subtract(out, totals - totals.mean(), out=out, where=~is_empty(X)[:, None])


def left_out(
    X: sparse.csr_array,
    V: Array,
    shapes: Array,
    scales: Array,
    logs: Callable[[Array], Array],
    weight: Array | None = None,
    n_threads: int = 1,
) -> Array:
    """Subtract each document's own share from the shapes, and average logarithms over its terms.

    The remaining component is scaled to its original size. Otherwise smoothing would flatten it
    more than the others, and common terms would count against the component of the document.

    Parameters
    ----------
    X, V, shapes, scales, weight, n_threads
        See ``evidence_left_out``.
    logs : callable
        Function from the remaining shapes of some terms, (n, K), to logarithms, (n, m).

    Returns
    -------
    array of shape (n_docs, m)
        Weighted means over the terms of each document.
    """
    parts_in = np.ones(X.shape[0]) if weight is None else np.minimum(weight, 1.0)
    totals = shapes.sum(axis=0, dtype=np.float64)
    scales = scales.astype(shapes.dtype)
    out = np.zeros((X.shape[0], logs(shapes[:1]).shape[1]))

    def fill(begin: int, end: int) -> None:
        at = slice(X.indptr[begin], X.indptr[end])
        x, of_term = X.data[at], shapes[X.indices[at]]
        indptr = X.indptr[begin : end + 1] - at.start
        cells = np.diff(indptr)
        own = of_term * np.repeat(V[begin:end] * scales, cells, axis=0)
        counted = x * np.repeat(parts_in[begin:end], cells)
        own *= (counted / np.maximum(own.sum(axis=1), _TINY))[:, None]
        np.minimum(own, of_term, out=own)  # avoid negative remainders by rounding
        by_weight, ones = (
            sparse.csr_array((data, np.arange(len(x)), indptr), shape=(end - begin, len(x)))
            for data in (x.astype(np.float64), np.ones(len(x)))
        )
        left = totals - ones @ own
        size = totals / np.maximum(left, _LEAST_LEFT * totals)
        rest = (of_term - own) * np.repeat(size.astype(shapes.dtype), cells, axis=0)
        out[begin:end] = by_weight @ logs(rest)

    at_once = np.clip((shapes.size + V.size) // _PART_AT_ONCE, *_AT_ONCE)
    ranges = blocks(X.indptr, max(1, int(at_once) // len(scales)))
    with ThreadPoolExecutor(n_threads) as pool:  # blocks do not depend on who fills them
        deque(pool.map(fill, *zip(*ranges, strict=True)), maxlen=0)
    out /= np.maximum(mass(X), _TINY)[:, None]
    return out


def blocks(indptr: Array, cells: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents with about ``cells`` non-zeros each."""
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], cells))
    yield from pairwise(np.unique(np.append(cuts, len(indptr) - 1)).tolist())
