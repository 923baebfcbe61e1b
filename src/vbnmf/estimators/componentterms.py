"""Choose the terms that describe the components of a model, from its documents.

Passages that recur in the documents are found before, because lists have only one term of each.
"""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.metrics.describing import describing_terms
from vbnmf.metrics.passages import LEAST_TERMS, Passages, find_passages
from vbnmf.metrics.relevance import strongest_terms
from vbnmf.shards.shard import ShardSource
from vbnmf.store import ModelFileError, read_rows

LENGTH = 30
"""Number of terms chosen for each component."""

MOST_DOCUMENTS = 15_000
"""Maximum number of documents in which pairs of terms are counted."""

MOST_NONZEROS = 1 << 25
"""Maximum number of non-zeros in which passages are searched, so that memory is limited."""

_MOST_COUNTED = np.iinfo(np.int32).max  # documents of a model file


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


def choose_terms(model: Any, X: sparse.csr_array | ShardSource, weight: Array | None) -> Array:
    """Return the terms that describe each component, (K, at most ``LENGTH``) of int32.

    No terms describe a faded component. Its heaviest terms are returned. They do not count as a
    list when the terms of other components are chosen.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        Model with components and ``passages_``.
    X : csr_array of shape (n_docs, n_terms), or shards
        Documents.
    weight : ndarray of shape (n_docs,) or None
        Sample weights.
    """
    if X.shape[0] > MOST_DOCUMENTS or isinstance(X, ShardSource):
        X, weight = _sample(X, weight, MOST_DOCUMENTS)
    components, faded, passages = model.components_, model.faded_, model.passages_
    if not faded.any():
        chosen = describing_terms(components, X, LENGTH, sample_weight=weight, passages=passages)
    else:
        chosen = strongest_terms(components, LENGTH)
        if not faded.all():
            kept = ~faded
            chosen[kept] = describing_terms(
                components[kept], X, LENGTH, sample_weight=weight, passages=passages
            )
    return chosen.astype(np.int32)


def _sample(
    X: sparse.csr_array | ShardSource, weight: Array | None, most: int
) -> tuple[sparse.csr_array, Array | None]:
    """Take at most this many documents, at equal distances, and their weights."""
    n_docs = X.shape[0]
    n_rows = max(min(n_docs, most), 1)
    rows = np.arange(n_rows) * n_docs // n_rows
    taken = X.take(rows) if isinstance(X, ShardSource) else X[rows]
    return taken, None if weight is None else weight[rows]


def passages_to_state(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return entries of the header, and arrays; none if the model is from an older file."""
    passages = model.passages_
    if passages is None:
        return {}, {}
    header = {"passages": {"number": len(passages), "examined": passages.examined}}
    if not len(passages):
        return header, {}
    return header, {
        "passages.terms": np.array([w for terms in passages.terms for w in terms], np.int32),
        "passages.ends": np.cumsum([len(terms) for terms in passages.terms], dtype=np.int64),
        "passages.documents": np.array(passages.documents, np.int32),
    }


def read_passages(
    header: dict[str, Any], arrays: dict[str, Array], n_terms: int
) -> Passages | None:
    """Read the passages of a model; None if the file is older and has none.

    Raises
    ------
    ModelFileError
        The passages contradict one another or the number of terms.
    """
    if "passages" not in header:
        return None
    number, examined = header["passages"]["number"], header["passages"]["examined"]
    if not all(type(n) is int and 0 <= n <= _MOST_COUNTED for n in (number, examined)):
        raise ModelFileError("the number of passages that recur is damaged.")
    if number == 0:
        return Passages((), (), examined)
    terms, documents = arrays["passages.terms"], arrays["passages.documents"]
    sound = (
        documents.dtype == terms.dtype == np.int32
        and documents.shape == (number,)
        and terms.ndim == 1
        and documents.min() >= 1
        and documents.max() <= examined
        and (np.diff(documents) <= 0).all()
        and len(np.unique(terms)) == len(terms)
    )
    if not sound:
        raise ModelFileError("the passages that recur are damaged.")
    rows = read_rows(arrays, "passages.terms", "passages.ends", terms, (number, n_terms))
    if (np.diff(rows.indptr) < LEAST_TERMS).any():
        raise ModelFileError(
            f"a passage that recurs has fewer than {LEAST_TERMS} terms: the file is damaged."
        )
    found = (tuple(part.tolist()) for part in np.split(terms, rows.indptr[1:-1]))
    return Passages(tuple(found), tuple(documents.tolist()), examined)
