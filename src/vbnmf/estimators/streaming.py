"""Fits on shards: what differs from a matrix in memory.

The search for components looks at a sample of the documents, which is loaded into memory. The fit
itself sees all documents, two shards at a time (``vbnmf.engines.stream``).
"""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from vbnmf.core.model import Array
from vbnmf.engines.stream import PlacedSource, ShardSource
from vbnmf.estimators.lazy import by_block, computed, is_lazy
from vbnmf.estimators.targets import Targets, check_targets, grouped
from vbnmf.estimators.validation import check_matrix, check_weights


def is_source(X: Any) -> bool:
    """Whether documents are in shards, as ``vbnmf.Shards``, and not in memory."""
    return isinstance(X, ShardSource)


def check_source(model: Any, X: Any) -> Any:
    """Shards that can be learned from, all of which are read; notes their number of terms."""
    if not _any_mass(X, None):
        raise ValueError(
            f"{X!r} has no value other than zero, so there is nothing to learn from. Check the "
            "vocabulary and the weighting: no document has a term of non-zero weight."
        )
    model.n_features_in_ = X.shape[1]
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return X


def check_in_memory(X: Any) -> None:
    """Refuse shards where the coefficients of all documents are asked for."""
    if is_source(X):
        raise ValueError(
            "fit_coefficients needs the documents in memory; got Shards. Use fit, and then "
            "transform."
        )


def source_weights(X: Any, sample_weight: Any) -> Array | None:
    """Weights of documents: those given, or those of the shards."""
    given = X.weights() if sample_weight is None else computed(sample_weight)
    return check_weights(given, X.shape[0])


def source_targets(model: Any, X: Any, y: Any) -> Targets:
    """Labels of documents: those given, or those of the shards."""
    if y is not None:
        return check_targets(model, computed(y), X.shape[0], model.unlabelled)
    if not any(part.nnz for part in X.label_parts()):
        raise ValueError(
            f"{X!r} has no label for any document. {type(model).__name__} needs some documents of "
            "known label; use VBNMF where there are none."
        )
    labels = np.array(X.labels)
    order = np.argsort(labels)  # labels are sorted, as those of a vector are
    place = np.empty(len(labels), np.int32)
    place[order] = np.arange(len(labels), dtype=np.int32)
    parts = (_placed(part, place) for part in X.label_parts())
    return grouped(labels[order], parts, X.multilabel, named=True)


def batches(
    X: Any, y: Any, sample_weight: Any, *, labelled: bool
) -> Iterator[tuple[sparse.csr_array, Any, Array | None]]:
    """Yield the documents, labels and weights of each shard, as batches of ``partial_fit``.

    Labels and weights are those given, or those of the shards. Labels that the shards lack are
    None.
    """
    weight = source_weights(X, sample_weight)
    y = computed(y)
    if y is not None and _num_samples(y) != X.shape[0]:
        raise ValueError(f"y has {_num_samples(y):,} labels; {X!r} needs one for each document.")
    own = y is None and labelled and X.labels is not None
    parts = X.label_parts() if own else repeat(None)
    for (number, a, b), part in zip(_spans(X), parts, strict=False):
        labels = _named(X, part) if part is not None else None
        if y is not None:
            labels = _safe_indexing(y, slice(a, b))
        yield X.rows(number), labels, None if weight is None else weight[a:b]


def _named(X: Any, indicators: sparse.csr_array) -> Any:
    """Return the labels of the documents of a shard in the form that ``fit`` takes."""
    names, counts = np.array(X.labels), np.diff(indicators.indptr)
    if not X.multilabel and (counts == 1).all():
        return names[indicators.indices]
    listed = [
        names[codes].tolist() for codes in np.split(indicators.indices, indicators.indptr[1:-1])
    ]
    return listed if X.multilabel else [label[0] if label else None for label in listed]


def _placed(indicators: sparse.csr_array, place: Array) -> sparse.csr_array:
    """The same with columns in other places."""
    found = sparse.csr_array(
        (indicators.data, place[indicators.indices], indicators.indptr), shape=indicators.shape
    )
    found.sort_indices()
    return found


def check_source_left(X: Any, weight: Array | None) -> None:
    """Refuse weights that leave nothing but empty documents."""
    if weight is None:
        return
    if not _any_mass(X, weight):
        raise ValueError(
            "the documents that have any term all have the weight zero, so there is nothing to "
            "learn from. Check sample_weight."
        )


def _any_mass(X: Any, weight: Array | None) -> bool:
    """Return whether the weighted documents have any non-zero value. All shards are read."""
    if isinstance(X, PlacedSource):
        return X.any_mass(weight)
    parts = ((X.rows(i), slice(a, b)) for i, a, b in _spans(X))
    if weight is None:
        return sum(rows.data.sum(dtype=np.float64) for rows, _at in parts) > 0
    return any((weight[at] @ rows).any() for rows, at in parts)


def by_shard(model: Any, X: Any, work: Callable[[sparse.csr_array], Array]) -> Array:
    """Apply work to the documents of each shard, checked, and join what it returns."""
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{X!r} must have the {model.n_features_in_:,} terms that "
            f"{type(model).__name__} was fitted to. Vectorize the documents with its vocabulary."
        )
    return np.concatenate([work(X.rows(i)) for i, _a, _b in _spans(X)])


def checked(model: Any, X: Any, work: Callable[[sparse.csr_array], Array]) -> Array:
    """Apply work to checked documents, in memory or shard by shard."""
    if is_source(X):
        return by_shard(model, X, work)
    if is_lazy(X):
        lazy: Array = by_block(model, X, work)
        return lazy
    return work(check_matrix(model, X, reset=False))


def _spans(X: Any) -> list[tuple[int, int, int]]:
    """Number, first and next document of each shard."""
    starts = X.starts.tolist()
    return list(zip(range(len(starts) - 1), starts[:-1], starts[1:], strict=True))
