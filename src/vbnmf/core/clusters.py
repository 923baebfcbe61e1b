"""Clusters of the documents of each label: where components of their own begin.

Spherical k-means (Dhillon & Modha, 2001) on documents of unit length. Centres are chosen greedily,
as in k-means++ (Arthur & Vassilvitskii, 2007) but without chance: of a few documents, spread evenly
over what the centres so far leave unexplained, the one that explains most becomes the next centre.
Documents are visited in an order that follows from their contents, so that neither their order nor
repeating one instead of weighing it changes anything.
"""

from itertools import pairwise

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import of_unit_length

_CANDIDATES = 8  # documents that are tried for each centre
_STEPS = 4  # of k-means
_DOCUMENTS_A_CLUSTER = 40  # more than so many times the clusters are not looked at for centres
_GOLDEN = 0.6180339887498949  # mixes terms into an order of documents
_TINY = np.finfo(float).tiny


def cluster_term_sums(
    X: sparse.csr_array, members: sparse.csc_array, counts: Array, rng: np.random.Generator | None
) -> Array:
    """Sum the terms of the documents in each cluster of each label.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    members : csc_array of shape (n_docs, n_labels)
        How many documents of a label each one counts as.
    counts : array of int, shape (n_labels,)
        Number of clusters of each label, at least one.
    rng : Generator or None
        Draws the candidates for centres; None takes those of the module's description.

    Returns
    -------
    array of shape (n_terms, Σ counts) in float64
        Zeros in clusters that no document is left for.
    """
    sums = np.zeros((X.shape[1], int(counts.sum())))
    first = np.concatenate([[0], np.cumsum(counts)])
    for label, (begin, end) in enumerate(pairwise(members.indptr.tolist())):
        rows, weight = members.indices[begin:end], members.data[begin:end].astype(np.float64)
        rows, weight = rows[weight > 0], weight[weight > 0]
        if not len(rows):
            continue
        documents = X[rows]
        cluster = (
            _clusters(documents, weight, int(counts[label]), rng)
            if counts[label] > 1
            else np.zeros(len(rows), np.int64)
        )
        by_cluster = sparse.csr_array(
            (weight, (cluster, np.arange(len(rows)))), shape=(counts[label], len(rows))
        )
        sums[:, first[label] : first[label + 1]] = (by_cluster @ documents).toarray().T
    return sums


def _clusters(
    X: sparse.csr_array, weight: Array, n_clusters: int, rng: np.random.Generator | None
) -> Array:
    """Assign each document to one of the clusters, (n_docs,)."""
    unit = of_unit_length(X)
    order = np.argsort(unit @ np.modf(np.arange(1, X.shape[1] + 1) * _GOLDEN)[0], kind="stable")
    some = order[:: max(1, len(order) // (_DOCUMENTS_A_CLUSTER * n_clusters))]
    centres = _first_centres(unit[some], weight[some], n_clusters, rng)
    for step in range(_STEPS + 1):
        cluster = np.argmax(unit @ centres.T, axis=1)
        if step < _STEPS:
            members = sparse.csr_array(
                (weight, (cluster, np.arange(len(cluster)))), shape=(len(centres), len(cluster))
            )
            centres = (members @ unit).toarray()
            centres /= np.maximum(np.sqrt((centres**2).sum(axis=1, keepdims=True)), _TINY)
    return cluster


def _first_centres(
    unit: sparse.csr_array, weight: Array, n_clusters: int, rng: np.random.Generator | None
) -> Array:
    """Choose documents as centres, (≤ n_clusters, n_terms)."""
    explained = np.zeros(unit.shape[0])
    chosen: list[int] = []
    for _ in range(min(n_clusters, unit.shape[0])):
        left = np.cumsum(weight * np.maximum(1 - explained, 0) ** 2)
        if left[-1] <= 1e-9 * weight.sum():
            break  # every document is a copy of some centre
        even = (np.arange(_CANDIDATES) + 0.5) / _CANDIDATES
        at = even if rng is None else rng.random(_CANDIDATES)
        tried = np.unique(np.searchsorted(left, at * left[-1]))
        similarity = (unit @ unit[tried].T).toarray()
        gain = (weight[:, None] * np.maximum(similarity - explained[:, None], 0)).sum(axis=0)
        best = int(np.argmax(gain))
        chosen.append(int(tried[best]))
        explained = np.maximum(explained, similarity[:, best])
    return unit[chosen or [0]].toarray()
