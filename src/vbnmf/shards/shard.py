"""What a shard is: a range of the documents of a corpus, and how a corpus is cut into shards.

Cuts depend only on the numbers of non-zeros. So a matrix in memory, a shard folder and a cluster
have the same shards for the same documents, and their sums are added in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array, DocumentSums
from vbnmf.core.rows import mass

SHARD_NONZEROS = 1 << 23
"""Maximum number of non-zeros in a shard. 20 Newsgroups, with about a million, is one shard."""


@dataclass(frozen=True)
class Shard:
    """A range of documents.

    ``group`` has the group of each document, from 0 to ``n_groups`` - 1. With ``unknown``, the last
    group holds the documents with unknown labels. ``by_term`` is the same matrix in CSC format, or
    None if it has to be computed. ``weight`` has the sample weights; None means one for each.
    """

    X: sparse.csr_array
    group: Array
    n_groups: int
    unknown: bool = False
    weight: Array | None = None
    by_term: sparse.csc_array | None = None

    @property
    def n_known(self) -> int:
        """Number of groups whose labels are known."""
        return self.n_groups - int(self.unknown)

    @property
    def counts_as(self) -> Array:
        """Sample weights, (n_docs,)."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight


@dataclass(frozen=True)
class Local:
    """Local state of a shard, kept from one sweep to the next. A sweep may reuse its arrays."""

    Sigma_v: Array  # (n_docs, K) in the kernel's layout
    latent: Array  # (n_unknown, n_labels): q(z) of the previous sweep
    E_v: Array  # (n_unknown, K): E_v of the previous sweep, for the next q(z)
    before: "Local | None" = None  # the state before the last sweep, if it can be stepped back to


class KernelDocuments(Protocol):
    """The documents of a shard in the layout of a kernel; ``vbnmf.kernels`` has two kernels."""

    def begin(self, K: int, in_scope: Array | None = None) -> Array:
        """Set the number of components, and return a Sigma_v of zeros, which may pad rows."""
        ...

    def memory(self) -> Array:
        """Return zeros in the layout of Sigma_v."""
        ...

    def hold(self, Sigma_v: Array) -> None:
        """Set the Sigma_v from which the next sweep starts. The sweep may change it in place."""
        ...

    def sweep(
        self,
        L_t: Array,
        scale: Array,
        a_v: float,
        *,
        update: bool,
        bound: bool,
        out: Array | None = None,
        before: Array | None = None,
        beta: float = 0.0,
    ) -> DocumentSums:
        """Complete q(v); with ``update``, compute the next Sigma_v, and R_t in ``out``.

        The next Sigma_v is in the memory of ``before``, or of Sigma_v if None. With ``beta``, the
        shapes of q(v) are extrapolated from those before.
        """
        ...

    def close(self) -> None:
        """Free the memory that only sweeps need."""
        ...


class OpenShard:
    """A shard with its documents in the layout of a kernel.

    Here each document with an unknown label is a group of its own, after the known groups.
    """

    def __init__(self, shard: Shard, kernel: Any) -> None:
        n_known = shard.n_known
        unknown = np.flatnonzero(shard.group >= n_known)
        group = shard.group.astype(np.int32)
        group[unknown] = n_known + np.arange(len(unknown), dtype=np.int32)
        self.n_known, self.n_unknown = n_known, len(unknown)
        self.group = group
        self.n_docs = np.bincount(group, shard.counts_as, minlength=n_known + len(unknown))
        self.X, self.weight = shard.X, shard.weight
        self.documents: KernelDocuments = kernel.documents(
            shard.X, group, len(self.n_docs), 1, shard.weight, shard.by_term
        )

    @property
    def mass(self) -> Array:
        """Σ_w x_dw of each document, (n_docs,)."""
        return mass(self.X)

    def by_group(self, rows: Array) -> Array:
        """Return rows of groups, (n_groups, K) or (1, K), repeated for the groups of this shard."""
        rows = np.broadcast_to(rows, (self.n_known + 1, rows.shape[1])) if len(rows) == 1 else rows
        if not self.n_unknown:
            return np.asarray(rows[: self.n_known])
        return np.vstack([rows[: self.n_known], np.repeat(rows[-1:], self.n_unknown, axis=0)])


@runtime_checkable
class ShardSource(Protocol):
    """A source of shards, such as ``vbnmf.Shards``."""

    starts: Array  # (n_shards + 1,): the first document of each shard, and the number of documents
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def entries(self) -> Sequence[Any]:
        """Records of the shards, with the number of documents (n_docs) and non-zeros (nnz)."""
        ...

    def rows(self, number: int) -> sparse.csr_array:
        """Return the documents of a shard, (n_docs, n_terms)."""
        ...

    def by_term(self, number: int) -> sparse.csc_array:
        """Return the documents of a shard in CSC format."""
        ...

    def cast(self, dtype: Any) -> "ShardSource":
        """Return the same documents with values of another type."""
        ...

    def take(self, rows: Array) -> sparse.csr_array:
        """Read some documents into memory; ``rows`` are ascending."""
        ...


def cut(nonzeros: Array, size: int = SHARD_NONZEROS) -> Array:
    """Divide documents into as few shards as possible, of at most ``size`` non-zeros each.

    ``nonzeros`` has the number of non-zeros of each document. Returns the boundaries of the shards.
    A document is never divided. A document with more than ``size`` non-zeros is a shard by itself.
    """
    ends = np.cumsum(nonzeros, dtype=np.int64)
    cuts = [0]
    while cuts[-1] < len(ends):
        before = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + size, side="right"))))
    return np.array(cuts if len(cuts) > 1 else [0, 0])


def even_cuts(costs: Array, n: int) -> Array:
    """Divide items into at most n consecutive parts, such that the largest cost is minimal.

    ``costs`` has the cost of each item, in whole numbers. Returns the boundaries of the parts.
    """
    low, high = int(costs.max(initial=0)), int(costs.sum())
    while low < high:
        middle = (low + high) // 2
        if len(cut(costs, middle)) - 1 <= n:
            high = middle
        else:
            low = middle + 1
    return cut(costs, low)


def cut_corpus(corpus: Shard, cuts: Array) -> list[Shard]:
    """Divide documents in memory into shards, which share the memory of the matrix."""
    if len(cuts) == 2:
        return [corpus]
    X = corpus.X
    return [
        Shard(
            sparse.csr_array(
                (
                    X.data[X.indptr[a] : X.indptr[b]],
                    X.indices[X.indptr[a] : X.indptr[b]],
                    X.indptr[a : b + 1] - X.indptr[a],
                ),
                shape=(b - a, X.shape[1]),
            ),
            corpus.group[a:b],
            corpus.n_groups,
            corpus.unknown,
            None if corpus.weight is None else corpus.weight[a:b],
        )
        for a, b in pairwise(cuts.tolist())
    ]
