"""Agreement: whether the labels that share a component mean the same by it.

For a component that two or more labels share, but not all:

    agreement = cos(terms its main label takes from it, terms its second label takes from it)
                ÷ mean cosine of random halves of the same documents

It is about one if both labels take the same terms. Below ``GLUED`` the component is two topics
under one name. The measure depends only on documents, labels, components and scopes: coefficients
are fitted by maximum likelihood inside the scopes. Documents with two labels of the scope are left
out, and so are terms in fewer than three documents. The formulas are in
``vbnmf.discovery.labelterms``.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbnmf.core.explained import ratios
from vbnmf.core.model import Array
from vbnmf.core.rows import mass, of_columns
from vbnmf.discovery.labelterms import Explained, sampled_agreement, shared
from vbnmf.metrics.relevance import as_nonnegative

GLUED = 0.5
"""Agreement below which a component is two topics under one name."""
AGREES = 0.8
"""Agreement from which on labels mean the same by a component."""
MOST_DOCUMENTS = 15_000
"""Documents that are used, at most; of more, each label gives a sample."""

_LEAST_DOCUMENTS = 3  # documents that must have a term
_DOCUMENTS_AT_ONCE = 1 << 10  # whose scopes are in double precision
_HALVES = 20  # so that chance moves the result by about 0.01


def agreement(
    X: Any,
    Y: Any,
    components: ArrayLike,
    scopes: ArrayLike,
    *,
    max_docs: int = MOST_DOCUMENTS,
    seed: int = 0,
) -> Array:
    """Compute the agreement of the two main labels of each shared component.

    The main labels of a component are those whose documents take most weight from it.

    Parameters
    ----------
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Weights of terms, as for the fit.
    Y : {array_like, sparse matrix} of shape (n_docs, n_labels)
        Label indicators; non-zero where a document has a label.
    components : array_like of shape (K, n_terms)
        Weights of terms in components.
    scopes : array_like of bool of shape (n_labels, K)
        Which labels may use which component.
    max_docs : int, default=15000
        Use a sample of the documents if there are more. Labels with few documents keep them all.
    seed : int, default=0
        Random seed of the sample and of the halves.

    Returns
    -------
    ndarray of shape (K,)
        At least zero; one on average if both labels mean the same. NaN if the component serves one
        label, or all, or if only one of its labels takes terms from it.

    See Also
    --------
    label_agreement : The agreement of all pairs of labels.

    Examples
    --------
    Two labels share the first component and the second. Both use the terms of the first. Of the
    second, one label uses the first two terms, and the other label uses the last two.

    >>> one, other, third = [3, 3, 1, 1, 0, 0, 0], [3, 3, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]
    >>> X = [one] * 20 + [other] * 20 + [third] * 20
    >>> Y = np.repeat(np.eye(3), 20, axis=0)
    >>> T = [[1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]]
    >>> scopes = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> agreement(X, Y, T, scopes).round(2).tolist()
    [1.0, 0.0, nan]
    """
    explained, weight = _explained(X, Y, components, scopes, max_docs, seed)
    found = np.full(explained.mask.shape[1], np.nan)
    for k in shared(explained.mask).tolist():
        shares, label, rows = explained.shares(k)
        taken = mass(shares) * weight[rows]
        of_label = np.bincount(label, taken, minlength=len(explained.mask))
        first, second = np.argsort(-of_label, kind="stable")[:2]
        both = np.flatnonzero((label == first) | (label == second))
        # a generator for each component, so that one component does not change another's halves
        rng = np.random.default_rng([seed, k])
        found[k] = sampled_agreement(shares[both], label[both] == second, _HALVES, rng)
    return found


def fitted_agreement(
    X: sparse.csr_array, Y: sparse.csr_array, V: Array, components: Array, scopes: Array
) -> Array:
    """Compute the agreement of the two main labels of each shared component, with coefficients.

    It is like ``agreement``, but with the coefficients of a fit, and without random halves
    (``vbnmf.discovery.labelterms.LabelTerms``). So it takes one pass over the documents.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Weights of terms.
    Y : csr_array of shape (n_docs, n_labels)
        Label indicators.
    V : ndarray of shape (n_docs, K)
        Coefficients.
    components : ndarray of shape (K, n_terms)
        Weights of terms in components.
    scopes : ndarray of bool of shape (n_labels, K)
        Which labels may use which component.

    Returns
    -------
    ndarray of shape (K,)
        As from ``agreement``.
    """
    found = np.full(len(components), np.nan)
    numbers = shared(scopes)
    if not len(numbers):
        return found
    step = -(-X.shape[0] // MOST_DOCUMENTS)
    if step > 1:
        X, Y, V = X[::step], Y[::step], V[::step]
    X, T = sparse.csr_array(X, dtype=components.dtype), np.ascontiguousarray(components.T)
    X = of_columns(X, np.bincount(X.indices, minlength=X.shape[1]) >= _LEAST_DOCUMENTS)
    in_scope, served = V.copy(), scopes.astype(np.float64)
    for begin in range(0, len(V), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        in_scope[at] *= (Y[at] @ served) > 0
    ratio = ratios(X, in_scope, T)
    del X  # large
    in_scope[:, ~np.isin(np.arange(V.shape[1]), numbers)] = 0.0
    of_shared = sparse.csc_array(in_scope)
    del in_scope
    explained = Explained(ratio, of_shared, T, Y, scopes, np.ones(len(V)))
    for k in numbers.tolist():
        terms = explained.label_terms(k)
        taken = mass(terms.sums)
        main = np.argsort(-taken, kind="stable")[:2]
        if taken[main[1]] > 0:
            found[k] = terms.agreement(main)[0, 1]
    return found


def label_agreement(
    X: Any,
    Y: Any,
    components: ArrayLike,
    scopes: ArrayLike,
    *,
    max_docs: int = MOST_DOCUMENTS,
    seed: int = 0,
) -> Iterator[tuple[int, Array]]:
    """Compute the agreement of all pairs of labels on each shared component.

    The mean cosine of halves is computed from sums over documents instead of sampled
    (``vbnmf.discovery.labelterms.LabelTerms``). So results differ a little from
    those of ``agreement``.

    Parameters
    ----------
    X, Y, components, scopes, max_docs, seed
        As for ``agreement``.

    Yields
    ------
    component : int
        Number of a component that two or more labels share, but not all.
    agreement : ndarray of shape (n_labels, n_labels)
        Symmetric; one on the diagonal. NaN for labels that take no terms from the component.

    Examples
    --------
    The first two labels use the same terms of the first component, but not of the second.

    >>> one, other, third = [3, 3, 1, 1, 0, 0, 0], [3, 3, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]
    >>> X = [one] * 20 + [other] * 20 + [third] * 20
    >>> Y = np.repeat(np.eye(3), 20, axis=0)
    >>> T = [[1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]]
    >>> scopes = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> {k: round(float(pairs[0, 1]), 2) for k, pairs in label_agreement(X, Y, T, scopes)}
    {0: 1.0, 1: 0.0}
    """
    explained, _ = _explained(X, Y, components, scopes, max_docs, seed)
    for k in shared(explained.mask).tolist():
        yield k, explained.label_terms(k).agreement()


def _explained(
    X: Any, Y: Any, components: ArrayLike, scopes: ArrayLike, max_docs: int, seed: int
) -> tuple[Explained, Array]:
    """Explain documents by components, and return how many documents each stands for."""
    T, mask = as_nonnegative(components), np.asarray(scopes).astype(bool)
    rows, labels = sparse.csr_array(X), sparse.csr_array(Y).astype(bool)
    labels.eliminate_zeros()
    labels.sort_indices()
    _check_shapes(rows, labels, T, mask)
    rows = sparse.csr_array(rows.astype(np.float64))
    rows.eliminate_zeros()
    frequent = np.bincount(rows.indices, minlength=rows.shape[1]) >= _LEAST_DOCUMENTS
    in_use = np.zeros(mask.shape[1], dtype=bool)
    in_use[shared(mask)] = True
    concerned = np.flatnonzero(labels @ (mask & in_use).any(axis=1))
    chosen, weight = _sample(labels, concerned, max_docs, seed)
    return (
        Explained.of(
            sparse.csr_array(rows[chosen][:, np.flatnonzero(frequent)]),
            sparse.csr_array(labels[chosen]),
            np.ascontiguousarray(T[:, frequent].T, dtype=np.float64),
            mask,
        ),
        weight,
    )


def _check_shapes(X: Any, Y: Any, T: Array, mask: Array) -> None:
    expected = {
        "Y": ((X.shape[0], mask.shape[0] if mask.ndim == 2 else "n_labels"), Y.shape),
        "components": ((T.shape[0], X.shape[1]), T.shape),
        "scopes": ((Y.shape[1], T.shape[0]), mask.shape),
    }
    for name, (shape, arrived) in expected.items():
        if shape != arrived:
            raise ValueError(
                f"{name} must have the shape {shape} to match the other arguments; got {arrived}. "
                "X is (n_docs, n_terms), Y is (n_docs, n_labels), components are (K, n_terms) and "
                "scopes are (n_labels, K)."
            )


def _sample(
    Y: sparse.csr_array, candidates: Array, max_docs: int, seed: int
) -> tuple[Array, Array]:
    """Choose documents of each label, and return how many documents each stands for.

    Labels with few documents keep them all. The others keep the same number each. A document with
    several labels counts for the rarest.
    """
    if len(candidates) <= max_docs:
        return candidates, np.ones(len(candidates))
    n_docs = np.bincount(Y.indices, minlength=Y.shape[1])
    some = Y[candidates]
    rarest = np.minimum.reduceat(n_docs[some.indices] * Y.shape[1] + some.indices, some.indptr[:-1])
    label = rarest % Y.shape[1]
    order = np.random.default_rng(seed).permutation(len(candidates))
    order = order[np.argsort(label[order], kind="stable")]
    sizes = np.bincount(label, minlength=Y.shape[1])
    kept = np.minimum(sizes, _most_each(sizes, max_docs))
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.sort(order[place < kept[label[order]]])
    return candidates[chosen], (sizes / np.maximum(kept, 1))[label[chosen]]


def _most_each(sizes: Array, total: int) -> int:
    """Return the largest number n for which Σ min(size, n) is at most ``total``, at least two."""
    ascending = np.sort(sizes)
    before = np.concatenate(([0], np.cumsum(ascending)[:-1]))
    each = (total - before) // np.arange(len(sizes), 0, -1)
    enough = each < ascending
    return max(int(each[enough].max()) if enough.any() else int(ascending[-1]), 2)
