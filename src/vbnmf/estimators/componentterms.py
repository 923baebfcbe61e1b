"""Choose the terms that describe the components of a model, from its documents."""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.engines.stream import ShardSource
from vbnmf.metrics.describing import describing_terms
from vbnmf.metrics.ranking import strongest_terms

LENGTH = 30
"""Number of terms chosen for each component."""

MOST_DOCUMENTS = 15_000
"""Maximum number of documents in which pairs of terms are counted."""


def choose_terms(model: Any, X: sparse.csr_array | ShardSource, weight: Array | None) -> Array:
    """Return the terms that describe each component, (K, at most ``LENGTH``) of int32.

    No terms describe a faded component. Its heaviest terms are returned. They do not count as a
    list when the terms of other components are chosen.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        Model with components.
    X : csr_array of shape (n_docs, n_terms), or shards
        Documents.
    weight : ndarray of shape (n_docs,) or None
        Sample weights.
    """
    n_docs = X.shape[0]
    if n_docs > MOST_DOCUMENTS or isinstance(X, ShardSource):
        n_rows = min(n_docs, MOST_DOCUMENTS)
        rows = np.arange(n_rows) * n_docs // n_rows
        X = X.take(rows) if isinstance(X, ShardSource) else X[rows]
        weight = None if weight is None else weight[rows]
    components, faded = model.components_, model.faded_
    if not faded.any():
        chosen = describing_terms(components, X, LENGTH, sample_weight=weight)
    else:
        chosen = strongest_terms(components, LENGTH)
        if not faded.all():
            kept = ~faded
            chosen[kept] = describing_terms(components[kept], X, LENGTH, sample_weight=weight)
    return chosen.astype(np.int32)
