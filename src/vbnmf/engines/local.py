"""Run sweeps over documents in the memory of this process."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.discovery.clusters import cluster_term_sums
from vbnmf.discovery.labelfactors import factor_term_sums
from vbnmf.engines.mapping import ShardEngine, Work
from vbnmf.shards.shard import SHARD_NONZEROS, Local, OpenShard, Shard, cut, cut_corpus
from vbnmf.shards.work import members

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel


class LocalEngine(ShardEngine):
    """Run sweeps over a matrix in memory.

    Parameters
    ----------
    kernel : kernel
        From ``vbnmf.kernels.open_kernel``.
    X : csr_array of shape (n_docs, n_terms)
        Documents, in float32 or float64, with sorted indices and without duplicates.
    group : array of int, shape (n_docs,)
        The group of each document.
    n_groups : int
        Number of groups.
    K : int
        Initial number of components; ``begin`` may change it.
    weight : array of shape (n_docs,) or None
        Sample weights; None for one each.
    unknown : bool
        Whether the last group holds the documents with unknown labels.
    shard_nonzeros : int
        Maximum number of non-zeros in a shard.
    """

    def __init__(
        self,
        kernel: "AnyKernel",
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        K: int = 1,
        weight: Array | None = None,
        *,
        unknown: bool = False,
        shard_nonzeros: int = SHARD_NONZEROS,
    ) -> None:
        self._corpus = Shard(X, group, n_groups, unknown, weight)
        self._shards = cut_corpus(self._corpus, cut(np.diff(X.indptr), shard_nonzeros))
        super().__init__(kernel)
        self._open = [OpenShard(shard, kernel) for shard in self._shards]
        self._local: list[Local] = []
        self.begin(np.zeros((1, K)))

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._shards)

    @property
    def documents(self) -> Shard:
        """The documents."""
        return self._corpus

    @property
    def nnz(self) -> int:
        """Number of non-zeros."""
        return int(self._corpus.X.nnz)

    def shards(self) -> Iterable[Shard]:
        """Return all shards in order."""
        return self._shards

    def start(self, work: Callable[[OpenShard], Local]) -> None:
        """Set the local state of each shard to what ``work`` returns."""
        self._local = []  # free the memory first
        for shard in self._open:
            self._local.append(work(shard))

    def map(self, work: Work) -> Iterator[Any]:
        """Apply work to each shard in order. Store the new local state, and yield the sums."""
        for i, shard in enumerate(self._open):
            self._local[i], sums = work(shard, self._local[i])
            yield sums

    def cluster_term_sums(
        self, known: sparse.csr_array, counts: Array, rng: np.random.Generator | None = None
    ) -> sparse.csr_array:
        """Cluster the documents of each label; return Σ_d x_dw by cluster, (Σ counts, n_terms).

        ``known`` (n_known, n_labels) has the labels of the first groups. Documents of other groups
        are ignored. ``counts`` has the number of clusters of each label.
        """
        return cluster_term_sums(
            self._corpus.X, self._of_labels(known), counts, rng, self.kernel.n_threads
        )

    def factor_term_sums(self, known: sparse.csr_array, counts: Array) -> sparse.csr_array:
        """Divide Σ_d x_dw of each label by factors, (Σ counts, n_terms).

        ``known`` and ``counts``, of factors, are as in ``cluster_term_sums``.
        """
        return factor_term_sums(
            self._corpus.X, self._of_labels(known), counts, self.kernel.n_threads
        )

    def _of_labels(self, known: sparse.csr_array) -> sparse.csc_array:
        """Return the weights of the documents in each label, (n_docs, n_labels)."""
        return (members(self._corpus)[: known.shape[0]].T @ known).tocsc()

    def rest(self) -> None:
        """Free the local state of the documents, until the next ``begin``."""
        self.begin(np.zeros((1, 1)))

    def place(self, Sigma_v: Array, E_v: Array) -> None:
        """Set Sigma_v, (n_docs, K), of all documents, and E_v of those with unknown labels."""
        ends = np.cumsum([len(local.Sigma_v) for local in self._local])
        last = np.cumsum([shard.n_unknown for shard in self._open])
        parts = np.split(Sigma_v, ends[:-1]), np.split(E_v, last[:-1])
        for i, (rows, of_unknown) in enumerate(zip(*parts, strict=True)):
            self._local[i].Sigma_v[:, : self.K] = rows
            self._local[i] = replace(self._local[i], E_v=of_unknown)

    def close(self) -> None:
        """Free the memory that only sweeps need. Coefficients can still be computed."""
        self._local = [replace(local, before=None) for local in self._local]
        for shard in self._open:
            shard.documents.close()
