"""Blocks of a Dask array as a shard folder, which workers write once to the scratch folder.

Otherwise the blocks would have to stay in memory, or to be computed again in each sweep. The folder
is an ordinary shard folder (``vbnmf.shards``), and it is removed after the fit.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.shards import Shards, values
from vbnmf.shards.folder import Entry
from vbnmf.shards.shard import SHARD_NONZEROS, cut
from vbnmf.shards.writing import write_manifest, write_shard


class Block(NamedTuple):
    """What the client needs to know about a block that was written."""

    entries: list[Entry]
    values: values.Summary
    dtype: np.dtype[Any]


class ArrayShards(Shards):
    """Shards of a Dask array."""

    def __repr__(self) -> str:
        return f"Dask array of {self.shape[0]:,} documents × {self.shape[1]:,} terms"

    def label_parts(self) -> Iterator[sparse.csr_array]:
        """Raise an error: a Dask array has no labels."""
        raise ValueError(f"a {self!r} has no labels. Pass them as y.")


def write_block(block: Any, folder: Path, number: int, n_terms: int) -> Block:
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
    return Block(entries, values.summarize(X), X.dtype)


def open_blocks(folder: Path, blocks: Iterable[Block], n_terms: int) -> ArrayShards:
    """Check the values of all blocks, and return the folder that they were written to."""
    blocks = list(blocks)
    values.check(reduce(add, (block.values for block in blocks)))
    entries = [entry for block in blocks for entry in block.entries]
    dtype = reduce(np.promote_types, (block.dtype for block in blocks))
    write_manifest(folder, entries, n_terms, np.dtype(dtype))
    return ArrayShards(folder)
