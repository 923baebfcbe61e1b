"""Divide documents into folds by their content, so that near-duplicates share a fold.

Copies of a text, such as replies that quote it or descriptions of the parts of one package, often
have the same label. If copies of a document were in other folds, its held-out scores would be
better than those of a new document, and the probabilities would be too certain.

Near-duplicates are found in a time proportional to the non-zeros of X. Some terms of each document
are drawn, with probabilities proportional to their squared IDF. The random numbers are the same for
all documents, so similar documents often have the same drawn terms. Two documents with the same
pair of drawn terms are candidates. Candidates are near-duplicates if their cosine is above
``ALIKE``. Documents that are linked by near-duplicates form a group.

References
----------
Broder (1997), On the resemblance and containment of documents.
Moulton and Jiang (2018), Maximally consistent sampling and the Jaccard index of probability
distributions.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import of_unit_length, parts

FOLDS = 5

ALIKE = 0.8
"""Cosine of the terms, weighted by IDF, above which two documents are near-duplicates."""

FEW_TERMS = 10
"""Documents with at most this many different terms are not compared: they are alike by chance."""

LARGEST_GROUP = 0.05
"""Maximum share of all documents in a group of near-duplicates.

In larger groups, only identical documents share a fold.
"""

_DRAWS = 8  # pairs of terms drawn from each document
_CELLS_AT_ONCE = 1 << 18  # non-zeros of candidates whose cosines are computed at a time
_GOLDEN, _SPREAD = 0.6180339887498949, 1009.0  # what mixes documents into folds
_OTHER_SPREAD = 2003.0  # the same for held-out documents, which come from all folds


def folds(X: sparse.csr_array, weight: Array | None = None) -> Array:
    """Assign documents to folds by their content, (n_docs,) of int32 from 0 to ``FOLDS`` - 1.

    Identical documents and near-duplicates share a fold. Two copies of a document have the same
    effect as one document of weight two.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight
    place = _mixed(X, _SPREAD)
    group = near_duplicates(X, weight)
    least = np.ones(group.max(initial=0) + 1)
    np.minimum.at(least, group, place)
    size = np.bincount(group, weight)
    small = size <= LARGEST_GROUP * weight.sum()
    return (np.where(small[group], least[group], place) * FOLDS).astype(np.int32)


def in_several_folds(X: sparse.csr_array, fold: Array) -> Array:
    """Return whether documents of several folds have each term, (n_terms,) of bool.

    The other terms of a document are unknown to a model that was trained without its fold.
    """
    first = np.full(X.shape[1], FOLDS, np.int32)
    last = np.full(X.shape[1], -1, np.int32)
    for number in range(FOLDS):
        part = X[np.flatnonzero(fold == number)]
        terms = part.indices[part.data != 0]
        first[terms] = np.minimum(first[terms], number)
        last[terms] = number
    return np.asarray(first < last)


def held_out(X: sparse.csr_array, share: float) -> Array:
    """Select about this share of the documents by their content, (n_docs,) of bool.

    Identical documents are selected together. A document without any term is never selected.
    """
    return _mixed(X, _OTHER_SPREAD) > 1 - share


def _mixed(X: sparse.csr_array, spread: float) -> Array:
    """Compute a hash of the content of each document, between 0 and 1.

    Weights are taken in single precision, so that documents of both types have the same hash.
    """
    mixed = np.modf(np.arange(1, X.shape[1] + 1) * _GOLDEN)[0]
    return np.asarray(np.modf(X.astype(np.float32, copy=False) @ mixed * spread)[0])


def near_duplicates(X: sparse.csr_array, weight: Array) -> Array:
    """Number the groups of near-duplicates, (n_docs,) of int.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Document-term matrix.
    weight : array of shape (n_docs,)
        Sample weights.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import, not for predictions

    if not X.data.all():  # zeros that are stored are not terms of a document
        X = X.copy()
        X.eliminate_zeros()
    rows = np.flatnonzero(np.diff(X.indptr) > FEW_TERMS)
    A = _by_rarity(X[rows], weight[rows])
    pairs = _candidates(A, _mixed(X, _SPREAD)[rows])
    alike = [
        np.asarray((A[left] * A[right]).sum(axis=1)) > ALIKE
        for left, right in _batches(pairs, np.diff(A.indptr))
    ]
    linked = rows[pairs[:, np.concatenate([np.zeros(0, bool), *alike])]]
    n_docs = X.shape[0]
    links = sparse.coo_array((np.ones(linked.shape[1]), (linked[0], linked[1])), (n_docs, n_docs))
    return np.asarray(connected_components(links, directed=False)[1])


def _by_rarity(X: sparse.csr_array, weight: Array) -> sparse.csr_array:
    """Weight the terms of a document by their inverse document frequencies, to unit length.

    The values of X are not used: they may be counts, or TF-IDF already.
    """
    frequency = np.zeros(X.shape[1])
    for at, part in parts(X):
        np.add.at(frequency, part.indices, np.repeat(weight[at], np.diff(part.indptr)))
    idf = 1 + np.log((1 + weight.sum()) / (1 + frequency))
    values = np.empty(X.nnz, np.float32)
    for at, part in parts(X):
        part.data = idf[part.indices]
        values[X.indptr[at.start] : X.indptr[at.stop]] = of_unit_length(part, np.float32).data
    return sparse.csr_array((values, X.indices, X.indptr), X.shape)


def _batches(pairs: Array, cells: Array) -> Iterator[Array]:
    """Cut pairs of documents into batches of about ``_CELLS_AT_ONCE`` non-zeros, (2, n) each."""
    work = np.cumsum(cells[pairs].sum(axis=0))
    cuts = np.flatnonzero(np.diff(work // _CELLS_AT_ONCE)) + 1
    return iter(np.split(pairs, cuts, axis=1))


def _candidates(A: sparse.csr_array, place: Array) -> Array:
    """Find pairs of documents with the same drawn terms, (2, n_pairs).

    If more than two documents have the same terms, neighbours in the order of ``place`` are paired.
    """
    if not A.nnz:
        return np.zeros((2, 0), np.int64)
    found = []
    for draw in range(_DRAWS):
        first, second = (_drawn_terms(A, 2 * draw + number) for number in range(2))
        key = first * A.shape[1] + second
        order = np.lexsort((place, key))
        same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
        low, high = np.sort([order[same], order[same + 1]], axis=0)
        found.append(low * A.shape[0] + high)
    return np.array(np.divmod(np.unique(np.concatenate(found)), A.shape[0]))


def _drawn_terms(A: sparse.csr_array, seed: int) -> Array:
    """Draw a term of each document, with a probability that grows with its weight, (n_docs,)."""
    clock = np.random.default_rng(seed).exponential(size=A.shape[1]).astype(np.float32)
    terms = np.zeros(A.shape[0], np.int64)
    for at, part in parts(A):
        rate = np.maximum(part.data, np.finfo(np.float32).tiny ** 0.25) ** 2
        waiting = clock[part.indices] / rate
        least = np.minimum.reduceat(waiting, part.indptr[:-1])
        first = np.flatnonzero(waiting == np.repeat(least, np.diff(part.indptr)))
        terms[at][np.searchsorted(part.indptr, first, side="right") - 1] = part.indices[first]
    return terms
