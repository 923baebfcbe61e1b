"""Choose the terms that describe each component to a reader.

The heaviest terms of a component, or the most relevant ones, do not always make a good list. Some
of them come from a few odd documents, and some appear in the lists of many other components. So the
terms of a list should be relevant, occur together in documents, and appear in few other lists.

    r(w|k)  relevance of term w in component k (``metrics.relevance``), by weights divided by the
            square root of the mean weight that w has in the documents that have it
    a(v, w) NPMI of two terms in documents (``metrics.coherence``). The number n of documents that
            have both terms is replaced by n − 2 √n, or by 0 if this is negative: the lower limit of
            a confidence interval. Otherwise names from a few documents would have the largest a.
    s(w)    number of lists that have w already

Each list begins with the most relevant term. Then the lists grow in rounds. In each round, every
component adds the term with the largest

    ln r(w|k) + 6 · mean of a(v, w) over the terms v in its list − 5 ln(1 + s(w))

The component with the largest score comes first, so that similar components do not add the same
term. Terms with r ≤ 0 come last, the heaviest first. Of a passage that recurs in documents, such as
a signature (``metrics.passages``), a list has only the term that is most relevant to the component;
its other terms come after all others. A list of ten terms is the beginning of a list of thirty. The
numbers were chosen on held-out training documents of three corpora (docs/explanation/benchmarks.md,
"Components").
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.metrics.coherence import npmi
from vbnmf.metrics.passages import Passages, first_of_each
from vbnmf.metrics.relevance import TermParts, as_nonnegative, relevance

TOGETHER, ELSEWHERE = 6.0, 5.0
"""Weights of a(v, w) and of ln(1 + s(w)) in the score of a term."""

CANDIDATES = 80
"""Number of most relevant terms of a component that its list is chosen from."""

_LIMIT = 2.0  # standard deviations from a count to the lower limit of its confidence interval
_HEAVIEST = 1000  # number of heaviest terms among which the most relevant ones are searched
_MOST_PAIRS = 1 << 24  # maximum number of pairs of candidates whose a(v, w) is in memory
_TINY = np.finfo(float).tiny


def describing_terms(
    components: ArrayLike,
    X: Any,
    n: int = 10,
    *,
    sample_weight: Array | None = None,
    passages: Passages | None = None,
) -> Array:
    """Choose the terms that describe each component, from documents.

    The terms of a component are relevant to it, occur together in documents, and appear in few of
    the other lists. The components may be those of any non-negative model.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Non-negative weights of the terms in each component.
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents, usually those of training. A document has a term if its weight is positive.
    n : int, default=10
        Number of terms of each component. All terms are used if there are fewer.
    sample_weight : ndarray of shape (n_docs,) or None
        Weight of each document; None if all are equal.
    passages : Passages or None
        Passages that recur, from ``find_passages``. A list has one term of each at most, as long as
        there are other terms.

    Returns
    -------
    ndarray of int of shape (K, min(n, n_terms))
        Columns of the terms. The first term of a component is its most relevant one.

    See Also
    --------
    find_passages : Find passages that recur in documents.
    document_npmi : Measure whether the top terms of components occur together.

    Examples
    --------
    The third term is as heavy as the second one, but never occurs together with the first one.

    >>> X = [[1, 1, 0, 0]] * 9 + [[0, 0, 1, 1]] * 9
    >>> describing_terms([[5, 2, 2, 0.1], [0.1, 1, 2, 5]], X, n=2).tolist()
    [[0, 1], [3, 2]]
    """
    weights = as_nonnegative(components)
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}. It is the number of terms of a list.")
    rows = sparse.csr_array(X)
    if rows.shape[1] != weights.shape[1]:
        raise ValueError(
            f"X has {rows.shape[1]} terms, but the components have {weights.shape[1]}. Compute X "
            "as for the fit."
        )
    n = min(n, weights.shape[1])
    candidates, log_relevance = _candidates(weights, _units(rows, sample_weight), n, passages)
    together = _together(candidates, rows, sample_weight)
    return _take_turns(candidates, log_relevance, together, n)


def _units(X: sparse.csr_array, sample_weight: Array | None) -> Array:
    """Return the square root of each term's mean weight in the documents that have it."""
    of_document = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    has = sparse.csr_array(((X.data > 0).astype(np.float64), X.indices, X.indptr), X.shape)
    sums, n_docs = X.T @ of_document, has.T @ of_document
    overall = sums.sum() / max(n_docs.sum(), _TINY)
    occurs = (n_docs > 0) & (sums > 0)
    mean = np.where(occurs, sums / np.where(occurs, n_docs, 1.0), overall)
    return np.sqrt(np.maximum(mean, _TINY))


def _candidates(
    weights: Array, unit: Array, n: int, passages: Passages | None
) -> tuple[Array, Array]:
    """Return the most relevant terms of each component, and their ln r, (K, n_candidates) each.

    Of each passage only the most relevant term is a candidate, if there are enough other terms.
    """
    K, n_terms = weights.shape
    passage = None if passages is None or not len(passages) else passages.of_terms(n_terms)
    size = min(n_terms, max(n, min(CANDIDATES, int((_MOST_PAIRS / K) ** 0.5))))
    n_heavy = min(n_terms, max(_HEAVIEST, size))
    parts = TermParts.of_weights(weights, unit)
    # terms that are rarer here than elsewhere come last, in the order of their weights
    last = -1000.0 * (1 + np.arange(size))
    candidates = np.empty((K, size), np.intp)
    log_relevance = np.empty((K, size))
    for k in range(K):
        q = parts.of_component(k)
        heavy = np.sort(np.argpartition(-q, n_heavy - 1)[:n_heavy])
        scores = np.maximum(relevance(q[heavy], parts.average[heavy]), 0.0)
        best = np.lexsort((-q[heavy], -scores))
        if passage is not None:
            shown = first_of_each(passage[heavy[best]])
            best = np.concatenate([best[shown], best[~shown]])
            scores[best[np.count_nonzero(shown) :]] = 0.0
        best = best[:size]
        candidates[k] = heavy[best]
        relevant = scores[best] > 0
        log_relevance[k] = np.where(relevant, np.log(np.where(relevant, scores[best], 1.0)), last)
    return candidates, log_relevance


def _together(candidates: Array, X: sparse.csr_array, sample_weight: Array | None) -> Array:
    """Return a(v, w) of the candidates of each component, (K, n_candidates, n_candidates)."""
    used, places = np.unique(candidates, return_inverse=True)
    places = places.reshape(candidates.shape)
    has = sparse.csr_array(((X.data > 0).astype(np.int8), X.indices, X.indptr), X.shape)
    by_term = sparse.csc_array(has[:, used])
    by_term.eliminate_zeros()
    n_docs = float(X.shape[0] if sample_weight is None else sample_weight.sum())
    found = np.empty((*candidates.shape, candidates.shape[1]), np.float32)
    for k, columns in enumerate(places):
        some = by_term[:, columns].astype(np.float64)
        weighted = some if sample_weight is None else some.multiply(sample_weight[:, None])
        both = (some.T @ weighted).toarray()
        of_term = both.diagonal() / max(n_docs, _TINY)
        surely = np.maximum(both - _LIMIT * np.sqrt(both), 0.0) / max(n_docs, _TINY)
        found[k] = npmi(surely, of_term[:, None], of_term[None, :])
    return found


def _take_turns(candidates: Array, log_relevance: Array, together: Array, n: int) -> Array:
    """Let each component add a term to its list in each round, (K, n)."""
    K = len(candidates)
    chosen = np.empty((K, n), np.intp)
    left = log_relevance.copy()  # −∞ for terms that were chosen
    sums = np.zeros(candidates.shape)
    n_lists = np.zeros(candidates.max() + 1)

    def score(k: Any, turn: int) -> Array:
        elsewhere = ELSEWHERE * np.log1p(n_lists[candidates[k]])
        return np.asarray(left[k] + TOGETHER * sums[k] / max(turn, 1) - elsewhere)

    def add(k: int, place: int, turn: int) -> None:
        chosen[k, turn] = candidates[k, place]
        left[k, place] = -np.inf
        sums[k] += together[k, :, place]
        n_lists[chosen[k, turn]] += 1

    for k in range(K):
        add(k, int(log_relevance[k].argmax()), 0)
    for turn in range(1, n):
        for k in np.argsort(-score(slice(None), turn).max(axis=1), kind="stable").tolist():
            add(k, int(score(k, turn).argmax()), turn)
    return chosen
