"""Dask collections: arrays of documents, and labels or weights.

For a fit, workers write the blocks of an array once to the scratch folder. Otherwise the blocks
would have to stay in memory, or to be computed again in each sweep. The folder is an ordinary shard
folder (``vbnmf.shards``), and it is removed after the fit. Predictions for an array are Dask arrays
too, which are computed on request.

This file only calls methods of the collections, so it does not import Dask.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.shards import Shards, values
from vbnmf.shards.folder import Entry
from vbnmf.shards.shard import SHARD_NONZEROS, cut
from vbnmf.shards.writing import write_manifest, write_shard


class DaskCollection:
    """A Dask collection; a ``vbnmf.engines.backends.Collection``."""

    name = "dask"

    def __init__(self, values: Any) -> None:
        self._values = values
        self.is_matrix = type(values).__module__.startswith("dask.array")

    def map(self, work: Callable[[Any], Any], like: Array, n_columns: int | None = None) -> Any:
        """Apply work to each block of rows of an array, as a Dask array.

        Parameters
        ----------
        work : callable
            A function of a block.
        like : array of shape (n_rows, ...)
            A result of the function.
        n_columns : int or None
            Number of columns that the array must have, if given.
        """
        X = whole_rows(self._values, n_columns)
        chunks = X.chunks[:1] if like.ndim == 1 else (X.chunks[0], (like.shape[1],))
        dropped = 1 if like.ndim == 1 else None
        return X.map_blocks(work, dtype=like.dtype, chunks=chunks, drop_axis=dropped, meta=like[:0])

    def compute(self) -> Any:
        """Return the values in memory."""
        return self._values.compute()


def collection(values: Any) -> DaskCollection | None:
    """Return Dask collections as such; None for other objects of Dask."""
    is_collection = hasattr(values, "__dask_graph__") and hasattr(values, "compute")
    return DaskCollection(values) if is_collection else None


def is_texts(documents: Any) -> bool:
    """Return whether documents are a Dask bag, or a column of a Dask data frame."""
    homes = ("dask.bag", "dask.dataframe", "dask_expr")
    is_dask = type(documents).__module__.startswith(homes) and hasattr(documents, "to_delayed")
    return is_dask and getattr(documents, "ndim", 1) == 1


def whole_rows(X: Any, n_terms: int | None = None) -> Any:
    """Return the array with all terms of a document in one block."""
    if X.ndim != 2 or (n_terms is not None and X.shape[1] != n_terms):
        wanted = "(n_docs, n_terms)" if n_terms is None else f"(n_docs, {n_terms})"
        raise ValueError(f"X must be of shape {wanted}; got a Dask array of shape {X.shape}.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: X.shape[1]})


class WrittenBlock(NamedTuple):
    """What the client needs to know about a block that was written."""

    entries: list[Entry]
    values: values.ValueSummary
    dtype: np.dtype[Any]


class ArrayShards(Shards):
    """Shards of a Dask array."""

    def __repr__(self) -> str:
        return f"Dask array of {self.shape[0]:,} documents × {self.shape[1]:,} terms"

    def label_parts(self) -> Iterator[sparse.csr_array]:
        """Raise an error: a Dask array has no labels."""
        raise ValueError(f"a {self!r} has no labels. Pass them as y.")


def write_block(block: Any, folder: Path, number: int, n_terms: int) -> WrittenBlock:
    """Write a block as one or several shards. Several runs may write the same block."""
    X = values.as_rows(block)
    if X.shape[1] != n_terms:
        raise ValueError(f"block {number} has {X.shape[1]} columns; X has {n_terms}.")
    cuts = cut(np.diff(X.indptr), SHARD_NONZEROS).tolist()
    entries = [
        write_shard(folder, f"{number:06d}{i:04d}", X[a:b])
        for i, (a, b) in enumerate(pairwise(cuts))
        if b > a
    ]
    return WrittenBlock(entries, values.summarize(X), X.dtype)


def open_blocks(folder: Path, blocks: Iterable[WrittenBlock], n_terms: int) -> ArrayShards:
    """Check the values of all blocks, and return the folder that they were written to."""
    blocks = list(blocks)
    values.check(reduce(add, (block.values for block in blocks)))
    entries = [entry for block in blocks for entry in block.entries]
    dtype = reduce(np.promote_types, (block.dtype for block in blocks))
    write_manifest(folder, entries, n_terms, np.dtype(dtype))
    return ArrayShards(folder)
