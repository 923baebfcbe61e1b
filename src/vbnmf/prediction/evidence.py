"""Evidence: how well each component alone explains a document.

    e_dk = Σ_w x_dw m_wk / Σ_w x_dw,    m_wk = ln p_wk − mean_j ln p_wj

where p_wk is the probability of term w in component k, smoothed by one mean occurrence of a term.
Labels are predicted from it. It is a sum over terms, so the part of each term in a prediction is
known exactly, and it needs no iteration. Coefficients divide a document's terms among components;
evidence uses what every term says about every component, and predicts better (docs/deviations.md).

Components have seen the training documents. The evidence of a training document is computed as if
it had been left out of the fit: its own share x_dw c_wk v_dk / Σ_j c_wj v_dj of each term is taken
out of the components. Otherwise a term of few documents would look like proof.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty, mass

_NUMBERS_AT_ONCE = 1 << 17  # held of each matrix of non-zeros × K
_LEAST_LEFT = 1e-3  # of a component that is one document alone
_TINY = np.finfo(float).tiny


def mean_occurrence(X: sparse.csr_array, weight: Array) -> float:
    """Mean of the weights that are not zero, documents counting by theirs."""
    occurs = sparse.csr_array((X.data > 0, X.indices, X.indptr), shape=X.shape)
    return float((weight * mass(X)).sum() / max((weight * mass(occurs)).sum(), _TINY))


def term_evidence(shapes: Array, totals: Array, smoothing: float) -> Array:
    """What each term says of each component, (n_terms, K) in float64.

    Parameters
    ----------
    shapes : array of shape (n_terms, K)
        Of the gamma posteriors of the terms that are asked for.
    totals : array of shape (K,)
        Smoothed sums of the shapes over all terms.
    smoothing : float
        Added to each shape.
    """
    logs = np.log(shapes + np.float64(smoothing)) - np.log(totals)
    logs -= logs.mean(axis=1, keepdims=True)
    return np.asarray(logs)


def mean_over_terms(X: sparse.csr_array, of_terms: Array) -> Array:
    """Average numbers of terms over the terms of each document, by their weights.

    Of ``term_evidence`` this is the evidence e of documents.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    of_terms : array of shape (n_terms, m)
        Numbers of each term.

    Returns
    -------
    array of shape (n_docs, m)
        Zero for a document without any term.
    """
    return np.asarray((X @ of_terms) / np.maximum(mass(X), _TINY)[:, None])


def evidence_left_out(
    X: sparse.csr_array,
    V: Array,
    shapes: Array,
    scales: Array,
    smoothing: float,
    weight: Array | None = None,
    n_threads: int = 1,
) -> Array:
    """e of documents of training, (n_docs, K), each as if it had been left out of the fit.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    V : array of shape (n_docs, K)
        Their coefficients in training.
    shapes : array of shape (n_terms, K)
        Of the gamma posteriors of all terms.
    scales : array of shape (K,)
        Scales of these posteriors.
    smoothing : float
        Added to each shape.
    weight : array of shape (n_docs,) or None
        How many documents each one counted as, if not one: of several, one is left out.
    n_threads : int
        How many threads share the work.
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
    """Take each document's own share out of the shapes and average logarithms over its terms.

    What is left of a component is scaled up to the size it had. Otherwise smoothing would flatten
    it more than the others, and common terms would speak against the component that a document
    belongs to.

    Parameters
    ----------
    X, V, shapes, scales, weight, n_threads
        See ``evidence_left_out``.
    logs : callable
        Is given what is left of the shapes of some terms, (n, K), and returns logarithms, (n, m).

    Returns
    -------
    array of shape (n_docs, m)
        Means over the terms of each document, by their weights.
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
        np.minimum(own, of_term, out=own)  # rounding must not leave less than nothing
        by_weight, ones = (
            sparse.csr_array((data, np.arange(len(x)), indptr), shape=(end - begin, len(x)))
            for data in (x.astype(np.float64), np.ones(len(x)))
        )
        left = totals - ones @ own
        size = totals / np.maximum(left, _LEAST_LEFT * totals)
        rest = (of_term - own) * np.repeat(size.astype(shapes.dtype), cells, axis=0)
        out[begin:end] = by_weight @ logs(rest)

    with ThreadPoolExecutor(n_threads) as pool:  # blocks do not depend on who fills them
        deque(pool.map(fill, *zip(*_blocks(X.indptr, len(scales)), strict=True)), maxlen=0)
    out /= np.maximum(mass(X), _TINY)[:, None]
    return out


def _blocks(indptr: Array, K: int) -> Iterator[tuple[int, int]]:
    """Ranges of documents with about ``_NUMBERS_AT_ONCE`` numbers for their non-zeros."""
    cells = max(1, _NUMBERS_AT_ONCE // K)
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], cells))
    yield from pairwise(np.unique(np.append(cuts, len(indptr) - 1)).tolist())
