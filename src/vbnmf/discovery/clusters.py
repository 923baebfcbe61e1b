"""Cluster the documents of each label, to initialise components of single labels.

The method is spherical k-means on the square roots of term weights, at unit length. Square roots
give all counts about the same variance, so that no heavy term dominates. Their cosine is the
Bhattacharyya coefficient, which ``merging`` uses as well.

Centres are chosen greedily, like in k-means++ but deterministically. A few candidates are spread
evenly over the similarity that the present centres leave unexplained. The candidate that explains
most becomes the next centre. Documents are sorted by their contents. So neither their order in the
corpus nor repeating a document instead of weighting it changes the clusters.

References
----------
I. S. Dhillon, D. S. Modha (2001). Concept decompositions for large sparse text data using
clustering. Machine Learning 42, 143-175.
D. Arthur, S. Vassilvitskii (2007). k-means++: the advantages of careful seeding. Proceedings of the
18th ACM-SIAM Symposium on Discrete Algorithms, 1027-1035.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import of_unit_length
from vbnmf.shards.shard import cut

_CANDIDATES = 8  # candidates for each centre
_STEPS = 4  # iterations of k-means
_DOCUMENTS_A_CLUSTER = 40  # documents per cluster among which centres are chosen
_NONZEROS_AT_ONCE = 1 << 18  # that are summed at a time, unless a cluster has more
_DOCUMENTS_AT_ONCE = 1 << 10  # documents whose similarities to all centres are in memory
_GOLDEN = 0.6180339887498949  # multiples of it are hash values of terms


def cluster_term_sums(
    X: sparse.csr_array,
    members: sparse.csc_array,
    counts: Array,
    rng: np.random.Generator | None,
    n_threads: int = 1,
) -> sparse.csr_array:
    """Sum the terms of the documents in each cluster of each label.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    members : csc_array of shape (n_docs, n_labels)
        Weights of the documents in each label.
    counts : array of int, shape (n_labels,)
        Number of clusters of each label, at least one.
    rng : Generator or None
        Source of random candidates for centres. None: candidates are deterministic.
    n_threads : int
        Number of threads, which take one label after another. Random candidates need one thread.

    Returns
    -------
    csr_array of shape (Σ counts, n_terms) in float64
        Rows of clusters without documents are empty.
    """
    members = sparse.csc_array(members, dtype=np.float64)
    members.eliminate_zeros()
    cluster = np.repeat(np.cumsum(counts) - counts, np.diff(members.indptr))

    def add_clusters(label: int, begin: int, end: int) -> None:
        if counts[label] > 1 and begin < end:
            rows, weight = members.indices[begin:end], members.data[begin:end]
            cluster[begin:end] += spherical_clusters(X[rows], weight, int(counts[label]), rng)

    begins, ends = members.indptr[:-1].tolist(), members.indptr[1:].tolist()
    with ThreadPoolExecutor(1 if rng else n_threads) as pool:
        deque(pool.map(add_clusters, range(len(counts)), begins, ends), maxlen=0)
    sizes = np.bincount(cluster, np.diff(X.indptr)[members.indices], int(counts.sum()))
    sums = []
    for begin, end in pairwise(cut(sizes.astype(np.int64), _NONZEROS_AT_ONCE).tolist()):
        at = np.flatnonzero((cluster >= begin) & (cluster < end))
        belongs = _members(cluster[at] - begin, members.data[at], end - begin)
        sums.append(belongs @ X[members.indices[at]])
    return sparse.csr_array(sparse.vstack(sums))


def spherical_clusters(
    X: sparse.csr_array, weight: Array, n_clusters: int, rng: np.random.Generator | None
) -> Array:
    """Assign each row of X to one of the clusters, (n_rows,); some may stay empty."""
    roots = sparse.csr_array((np.sqrt(X.data), X.indices, X.indptr), shape=X.shape)
    del X  # large
    unit = of_unit_length(roots)
    del roots
    order = np.argsort(content_hashes(unit), kind="stable")
    some = order[:: max(1, len(order) // (_DOCUMENTS_A_CLUSTER * n_clusters))]
    centres = _first_centres(unit[some], weight[some], n_clusters, rng)
    for _ in range(_STEPS):
        cluster = _nearest(unit, centres)
        centres = of_unit_length(_members(cluster, weight, centres.shape[0]) @ unit)
    return _nearest(unit, centres)


def _members(cluster: Array, weight: Array, n_clusters: int) -> sparse.csr_array:
    """Return the weight of each document in the row of its cluster, (n_clusters, n_docs)."""
    # in 32 bits, so that products do not copy the indices of the documents
    where = (cluster.astype(np.int32), np.arange(len(cluster), dtype=np.int32))
    return sparse.csr_array((weight, where), (n_clusters, len(cluster)))


def content_hashes(X: sparse.csr_array) -> Array:
    """Return a number for each document that depends on its terms and weights, (n_docs,)."""
    return X @ np.modf(np.arange(1, X.shape[1] + 1) * _GOLDEN)[0]


def _nearest(unit: sparse.csr_array, centres: sparse.csr_array) -> Array:
    """Return the most similar centre of each document, (n_docs,)."""
    by_term = sparse.csr_array(centres.T)
    nearest = np.empty(unit.shape[0], np.int64)
    for begin in range(0, len(nearest), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        nearest[at] = np.argmax((unit[at] @ by_term).toarray(), axis=1)
    return nearest


def _first_centres(
    unit: sparse.csr_array, weight: Array, n_clusters: int, rng: np.random.Generator | None
) -> sparse.csr_array:
    """Choose documents as centres, (≤ n_clusters, n_terms)."""
    explained = np.zeros(unit.shape[0])
    chosen: list[int] = []
    for _ in range(min(n_clusters, unit.shape[0])):
        left = np.cumsum(weight * np.maximum(1 - explained, 0) ** 2)
        if left[-1] <= 1e-9 * weight.sum():
            break  # every document equals a centre
        even = (np.arange(_CANDIDATES) + 0.5) / _CANDIDATES
        at = even if rng is None else rng.random(_CANDIDATES)
        tried = np.unique(np.searchsorted(left, at * left[-1]))
        similarity = (unit @ unit[tried].T).toarray()
        gain = (weight[:, None] * np.maximum(similarity - explained[:, None], 0)).sum(axis=0)
        best = int(np.argmax(gain))
        chosen.append(int(tried[best]))
        explained = np.maximum(explained, similarity[:, best])
    return unit[chosen or [0]]
