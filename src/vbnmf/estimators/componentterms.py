"""Describe a model by its documents: terms of components, passages, documents that have each term.

Passages that recur in the documents are found first, because lists of terms have only one term of
each. Descriptions of labels are counted from the numbers of documents that have each term
(``vbnmf.description.labels``). These are sums over documents, so batches of ``partial_fit`` add to
them.
"""

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.posterior import Components, DocumentCounts, TermView
from vbnmf.metrics.describing import describing_terms
from vbnmf.metrics.passages import Passages, find_passages
from vbnmf.metrics.relevance import strongest_terms
from vbnmf.shards.shard import Shard, ShardSource
from vbnmf.shards.work import label_term_documents

LENGTH = 30
"""Number of terms chosen for each component."""

MOST_DOCUMENTS = 15_000
"""Maximum number of documents in which pairs of terms are counted."""

MOST_NONZEROS = 1 << 25
"""Maximum number of non-zeros in which passages are searched, so that memory is limited."""


def passages_of(X: sparse.csr_array | ShardSource, weight: Array | None) -> Passages:
    """Find passages that recur: in all documents, or in a sample of shards and of very many.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms), or shards
        Documents.
    weight : ndarray of shape (n_docs,) or None
        Sample weights.
    """
    if isinstance(X, ShardSource):
        X, weight = _sample(X, weight, MOST_DOCUMENTS)
    elif X.nnz > MOST_NONZEROS:
        X, weight = _sample(X, weight, int(X.shape[0] * MOST_NONZEROS / X.nnz))
    return find_passages(X, sample_weight=weight)


def choose_terms(
    components: Components,
    passages: Passages,
    X: sparse.csr_array | ShardSource,
    weight: Array | None,
) -> Array:
    """Return the terms that describe each component, (K, at most ``LENGTH``) of int32.

    No terms describe a faded component. Its heaviest terms are returned. They do not count as a
    list when the terms of other components are chosen.

    Parameters
    ----------
    components : Components
        Posterior of the components.
    passages : Passages
        Passages that recur in the documents.
    X : csr_array of shape (n_docs, n_terms), or shards
        Documents.
    weight : ndarray of shape (n_docs,) or None
        Sample weights.
    """
    if X.shape[0] > MOST_DOCUMENTS or isinstance(X, ShardSource):
        X, weight = _sample(X, weight, MOST_DOCUMENTS)
    means, faded = components.means, components.faded
    if not faded.any():
        chosen = describing_terms(means, X, LENGTH, sample_weight=weight, passages=passages)
    else:
        chosen = strongest_terms(means, LENGTH)
        if not faded.all():
            kept = ~faded
            chosen[kept] = describing_terms(
                means[kept], X, LENGTH, sample_weight=weight, passages=passages
            )
    return chosen.astype(np.int32)


def term_view(
    components: Components, X: sparse.csr_array | ShardSource, weight: Array | None
) -> TermView:
    """Find passages that recur in documents, and choose the terms that describe components."""
    passages = passages_of(X, weight)
    return TermView(choose_terms(components, passages, X, weight), passages)


def _sample(
    X: sparse.csr_array | ShardSource, weight: Array | None, most: int
) -> tuple[sparse.csr_array, Array | None]:
    """Take at most this many documents, at equal distances, and their weights."""
    n_docs = X.shape[0]
    n_rows = max(min(n_docs, most), 1)
    rows = np.arange(n_rows) * n_docs // n_rows
    taken = X.take(rows) if isinstance(X, ShardSource) else X[rows]
    return taken, None if weight is None else weight[rows]


def counts_of_fit(counts: sparse.csr_array, n_docs: int) -> DocumentCounts:
    """Return the counts of a fit.

    Parameters
    ----------
    counts : csr_array of int32 of shape (n_labels + 1, n_terms)
        Documents that have each term: of each label, and in the last row of all documents.
    n_docs : int
        Number of documents.
    """
    return DocumentCounts(counts[:-1], counts[[-1]].toarray().ravel(), n_docs)


def add_counts(before: DocumentCounts, X: sparse.csr_array, targets: Targets) -> DocumentCounts:
    """Add the documents of a batch to the counts.

    Parameters
    ----------
    before : DocumentCounts
        Counts of the same labels.
    X : csr_array of shape (n_docs, n_terms)
        Documents of the batch.
    targets : Targets
        Their labels.
    """
    shard = Shard(X, targets.group, targets.labels.known.shape[0] + 1)
    counts = label_term_documents(shard, targets.labels.known)
    return DocumentCounts(
        sparse.csr_array(before.label_terms + counts[:-1]),
        before.terms + counts[[-1]].toarray().ravel(),
        before.n_docs + X.shape[0],
    )


def with_labels(counts: DocumentCounts, order: Array) -> DocumentCounts:
    """Return the counts with more labels, which have no documents so far, in another order."""
    before = counts.label_terms
    empty = sparse.csr_array((len(order) - before.shape[0], before.shape[1]), dtype=before.dtype)
    label_terms = sparse.csr_array(sparse.vstack([before, empty]))[order]
    return DocumentCounts(label_terms, counts.terms, counts.n_docs)
