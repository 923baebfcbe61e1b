"""Check documents in shards for a fit, and predict shard by shard, or later on a cluster.

The search for components uses a sample of the documents, which is loaded into memory. The fit
itself uses all documents, two shards at a time (``vbnmf.engines.stream``).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from itertools import repeat
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from vbnmf.core.model import Array
from vbnmf.engines.backends import PlacedSource, computed, matrix_of
from vbnmf.estimators.labels import Targets, check_targets, grouped
from vbnmf.estimators.validation import check_matrix, check_weights
from vbnmf.shards import values
from vbnmf.shards.shard import ShardSource


def is_source(X: Any) -> bool:
    """Return whether documents are in shards, such as ``vbnmf.Shards``, and not in memory."""
    return isinstance(X, ShardSource)


def check_source(model: Any, X: Any) -> Any:
    """Check the values of all shards for a fit, and return the shards in the type of the fit.

    The number of terms is set in the model.
    """
    found = reduce(add, _by_shard(X, _summarized, repeat(None)))
    values.check(found, fit=True)
    model.n_features_in_ = X.shape[1]
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return X.cast(values.fit_type(X.dtype, found.largest))


def check_in_memory(X: Any) -> None:
    """Refuse shards if the coefficients of all documents are requested."""
    if is_source(X):
        raise ValueError(
            "fit_coefficients needs the documents in memory; got Shards. Use fit, and then "
            "transform."
        )


def source_weights(X: Any, sample_weight: Any) -> Array | None:
    """Check the sample weights: those given, or those of the shards."""
    given = X.weights() if sample_weight is None else computed(sample_weight)
    return check_weights(given, X.shape[0])


def source_targets(model: Any, X: Any, y: Any) -> Targets:
    """Encode the labels of documents: those given, or those of the shards."""
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

    Labels and weights are those given, or those of the shards. A document without a label has the
    label None.
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
    """Reorder the columns of an indicator matrix: column j becomes column ``place[j]``."""
    found = sparse.csr_array(
        (indicators.data, place[indicators.indices], indicators.indptr), shape=indicators.shape
    )
    found.sort_indices()
    return found


def check_source_left(X: Any, weight: Array | None) -> None:
    """Refuse sample weights that leave only empty documents, or that overflow."""
    if weight is not None:
        each = (weight[a:b] for _number, a, b in _spans(X))
        values.check_weighted_sum(sum(_by_shard(X, values.weighted_sum, each)))


def _by_shard(X: Any, work: Callable[..., Any], each: Iterable[Any]) -> list[Any]:
    """Return ``work(rows, value)`` of each shard, with the value of each."""
    if isinstance(X, PlacedSource):
        return X.by_shard(work, each)
    return [work(X.rows(i), value) for (i, _a, _b), value in zip(_spans(X), each, strict=False)]


def _summarized(rows: sparse.csr_array, _value: None) -> values.ValueSummary:
    return values.summarize(rows)


def by_shard(model: Any, X: Any, work: Callable[[sparse.csr_array], Array]) -> Array:
    """Apply work to the documents of each shard, and join the results."""
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{X!r} must have the {model.n_features_in_:,} terms that "
            f"{type(model).__name__} was fitted to. Vectorize the documents with its vocabulary."
        )
    return np.concatenate([work(X.rows(i)) for i, _a, _b in _spans(X)])


def checked(model: Any, X: Any, work: Callable[[sparse.csr_array], Array]) -> Array:
    """Check documents and apply work to them: in memory, shard by shard, or later on a cluster."""
    if is_source(X):
        return by_shard(model, X, work)
    lazy = matrix_of(X)
    if lazy is None:
        return work(check_matrix(model, X, reset=False))
    n_terms = model.n_features_in_
    like = work(sparse.csr_array((1, n_terms), dtype=values.number_type(X.dtype)))
    found: Array = lazy.map(partial(_on_block, model, work.__name__), like, n_terms)
    return found


def labels_from(model: Any, P: Any) -> Any:
    """Convert probabilities to labels, in memory or later, as they are given."""
    lazy = matrix_of(P)
    if lazy is None:
        return model.labels_from(P)
    n_labels = P.shape[1]
    return lazy.map(model.labels_from, model.labels_from(np.full((1, n_labels), 1.0 / n_labels)))


def _on_block(model: Any, name: str, block: Any) -> Array:
    """Apply a method of a model to a block of documents, which may be empty."""
    if not block.shape[0]:
        block = np.zeros((0, model.n_features_in_))
        return np.asarray(getattr(model, name)(sparse.csr_array(block)))
    result: Array = getattr(model, name)(check_matrix(model, block, reset=False))
    return result


def _spans(X: Any) -> list[tuple[int, int, int]]:
    """Return the number, the first document and the end of each shard."""
    starts = X.starts.tolist()
    return list(zip(range(len(starts) - 1), starts[:-1], starts[1:], strict=True))
