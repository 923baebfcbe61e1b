"""Blocks of a Dask array as shards, which workers write once to the scratch folder of a fit.

Otherwise the blocks would have to stay in memory, or to be computed again in each sweep. As in a
shard folder, documents are stored by rows and by columns. There are no checksums to verify, because
the files are temporary.
"""

import shutil
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.engines.mapping import SHARD_NONZEROS, cut, load_array


class Written(NamedTuple):
    """A shard that has a block or a part of one."""

    name: str
    n_docs: int
    nnz: int
    checksum: int


class BlockSource:
    """Shards written from blocks; a ``ShardSource``.

    Parameters
    ----------
    folder : path
        Folder of the shards.
    written : sequence of Written
        The shards, in the order of their documents.
    n_terms : int
        Number of columns.
    dtype : dtype
        float32 or float64.
    """

    labels = None

    def __init__(
        self, folder: Path, written: Sequence[Written], n_terms: int, dtype: np.dtype[Any]
    ) -> None:
        self.path, self.entries, self.dtype = folder, list(written), dtype
        self.starts = np.cumsum([0, *(shard.n_docs for shard in written)])
        self.shape = (int(self.starts[-1]), n_terms)
        self.nnz = sum(shard.nnz for shard in written)

    def __repr__(self) -> str:
        return f"Dask array of {self.shape[0]:,} documents × {self.shape[1]:,} terms"

    def rows(self, number: int) -> sparse.csr_array:
        """Read the documents of a shard, (n_docs, n_terms)."""
        shape = (self.entries[number].n_docs, self.shape[1])
        matrix = sparse.csr_array(self._arrays(number, "rows"), shape=shape)
        matrix.has_canonical_format = True
        return matrix

    def by_term(self, number: int) -> sparse.csc_array:
        """Read the same documents by columns."""
        shape = (self.entries[number].n_docs, self.shape[1])
        return sparse.csc_array(self._arrays(number, "columns"), shape=shape)

    def take(self, rows: Array) -> sparse.csr_array:
        """Read some of the documents; ``rows`` are ascending."""
        cuts = np.searchsorted(rows, self.starts)
        parts = [
            self.rows(i)[rows[a:b] - self.starts[i]] for i, (a, b) in enumerate(pairwise(cuts))
        ]
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def label_parts(self) -> Iterator[sparse.csr_array]:
        """Raise an error: a Dask array has no labels."""
        raise ValueError(f"a {self!r} has no labels. Pass them as y.")

    def weights(self) -> None:
        """Return None: all documents have weight one."""

    def _arrays(self, number: int, kind: str) -> tuple[Array, ...]:
        home = self.path / self.entries[number].name
        names = [f"{kind}.{name}.npy" for name in ("data", "indices", "indptr")]
        return tuple(np.asarray(load_array(home / name, mapped=True)) for name in names)


def write_block(
    block: Any, folder: Path, number: int, dtype: np.dtype[Any], n_terms: int
) -> list[Written]:
    """Write a block as one or several shards. Several runs write the same files."""
    X = sparse.csr_array(block, dtype=dtype)
    if X.shape[1] != n_terms:
        raise ValueError(f"block {number} has {X.shape[1]} columns; X has {n_terms}.")
    if not (np.isfinite(X.data).all() and (X.data >= 0).all()):
        raise ValueError(
            f"block {number} of X has negative, infinite or missing values. Weights of terms must "
            "be finite and at least zero."
        )
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    cuts = cut(np.diff(X.indptr), SHARD_NONZEROS).tolist()
    parts = [(a, b) for a, b in pairwise(cuts) if b > a]
    return [_write(X[a:b], folder, f"{number:06d}-{i:04d}") for i, (a, b) in enumerate(parts)]


def _write(X: sparse.csr_array, folder: Path, name: str) -> Written:
    temporary = folder / f".{uuid4().hex}"
    temporary.mkdir()
    checksum = 0
    for kind, matrix in (("rows", X), ("columns", X.tocsc())):
        for field in ("data", "indices", "indptr"):
            array = np.ascontiguousarray(getattr(matrix, field))
            array = array if field == "data" else array.astype(np.int32, copy=False)
            np.save(temporary / f"{kind}.{field}.npy", array)
            checksum = zlib.crc32(array.data.cast("B"), checksum)
    try:
        temporary.rename(folder / name)
    except OSError:
        shutil.rmtree(temporary)
        if not (folder / name).is_dir():  # not written by another run of the same task
            raise
    return Written(name, X.shape[0], X.nnz, checksum)
