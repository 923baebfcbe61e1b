"""Dask arrays of documents. Results are Dask arrays too, which are computed on request.

This file only calls methods of the arrays, so it does not import Dask. Bags and data frames of
texts are recognised here, and converted by ``vbnmf.lazytexts``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.estimators.validation import check_matrix


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "map_blocks")


def is_lazy_texts(documents: Any) -> bool:
    """Whether documents are a Dask bag, or a column of a Dask data frame."""
    homes = ("dask.bag", "dask.dataframe", "dask_expr")
    is_dask = type(documents).__module__.startswith(homes) and hasattr(documents, "to_delayed")
    return is_dask and getattr(documents, "ndim", 1) == 1


def computed(values: Any) -> Any:
    """Compute labels or weights that are a Dask collection; return others unchanged."""
    is_collection = hasattr(values, "__dask_graph__") and hasattr(values, "compute")
    return values.compute() if is_collection else values


def whole_rows(X: Any, n_terms: int | None = None) -> Any:
    """Return the array with all terms of a document in one block."""
    if X.ndim != 2 or (n_terms is not None and X.shape[1] != n_terms):
        wanted = "(n_docs, n_terms)" if n_terms is None else f"(n_docs, {n_terms})"
        raise ValueError(f"X must be of shape {wanted}; got a Dask array of shape {X.shape}.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: X.shape[1]})


def by_block(model: Any, X: Any, work: Callable[[sparse.csr_array], Array]) -> Any:
    """Apply a method of a model to each block, as a Dask array."""
    X = whole_rows(X, model.n_features_in_)
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    like = work(sparse.csr_array((1, model.n_features_in_), dtype=dtype))
    return X.map_blocks(
        partial(_on_block, model, work.__name__),
        dtype=like.dtype,
        chunks=(X.chunks[0], (like.shape[1],)),
        meta=like[:0],
    )


def labels_by_block(model: Any, P: Any) -> Any:
    """Convert probabilities to labels, as a Dask array."""
    like = model.labels_from(np.full((1, P.shape[1]), 1.0 / P.shape[1]))
    dropped = 1 if like.ndim == 1 else None
    return P.map_blocks(model.labels_from, dtype=like.dtype, drop_axis=dropped, meta=like[:0])


def _on_block(model: Any, name: str, block: Any) -> Array:
    if not block.shape[0]:
        block = np.zeros((0, model.n_features_in_))
        return np.asarray(getattr(model, name)(sparse.csr_array(block)))
    result: Array = getattr(model, name)(check_matrix(model, block, reset=False))
    return result
