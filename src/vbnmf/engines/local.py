"""All documents in the memory of this process."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from vbnmf.core.clusters import cluster_term_sums
from vbnmf.core.model import Array, Statistics, Terms, Totals

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel

_AT_ONCE = 1 << 16  # non-zeros whose ln Γ is held at a time
_ROWS_AT_ONCE = 1 << 9  # documents whose scales are held at a time


class LocalEngine:
    """Sweeps over a matrix in memory.

    Parameters
    ----------
    kernel : kernel
        From ``vbnmf.kernels.open_kernel``.
    X : csr_array of shape (n_docs, n_terms)
        float32 or float64; sorted, without duplicates.
    group : array of int, shape (n_docs,)
        The group of each document.
    n_groups, K : int
        Number of groups and of components.
    weight : array of shape (n_docs,) or None
        How many documents each one counts as, in all sums; None is one.
    """

    def __init__(
        self,
        kernel: "AnyKernel",
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        K: int,
        weight: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self._X, self._group = X, group
        counts_as = np.ones(len(group)) if weight is None else weight
        where = (group, np.arange(len(group)))
        self._members = sparse.csr_array((counts_as.astype(X.dtype), where), (n_groups, len(group)))
        self.totals = _totals(X, group, n_groups, counts_as)
        self._mass = X @ np.ones(X.shape[1])
        self._documents = kernel.documents(X, group, n_groups, K, weight)

    @property
    def Sigma_v(self) -> Array:
        """Σ_w ⟨s⟩ of each document, (n_docs, K): all that documents keep between sweeps."""
        return self._documents.Sigma_v

    def begin(self, portions: Array, in_scope: Array | None = None) -> None:
        """Start anew with each document's weight spread over the components by its group.

        ``portions`` is (n_groups, K), or (1, K) for all groups alike; rows sum to one, and are zero
        for components that are not ``in_scope``, (n_groups, K) of bool. None: all are.
        """
        portions = np.broadcast_to(portions, (len(self.totals.n_docs), portions.shape[1]))
        self._documents.begin(portions.shape[1], in_scope)
        Sigma_v = self.Sigma_v
        for begin in range(0, len(Sigma_v), _ROWS_AT_ONCE):
            at = slice(begin, begin + _ROWS_AT_ONCE)
            Sigma_v[at] = self._mass[at, None] * portions[self._group[at]]

    def group_term_sums(self) -> sparse.csr_array:
        """Σ_d x_dw by group, (n_groups, n_terms)."""
        return self._members @ self._X

    def cluster_term_sums(
        self, known: sparse.csr_array, counts: Array, rng: np.random.Generator | None = None
    ) -> sparse.csr_array:
        """Σ_d x_dw by cluster of each label, (Σ counts, n_terms).

        ``known`` (n_known, n_labels) has the labels of the first groups; documents of others take
        no part. ``counts`` are the clusters of each label.
        """
        of_label = (self._members[: known.shape[0]].T @ known).tocsc()
        return cluster_term_sums(self._X, of_label, counts, rng)

    def coefficients(self, scale: Array, a_v: float) -> Array:
        """E_v, (n_docs, K), of q(v) with ``scale`` (n_groups, K)."""
        Sigma_v = self.Sigma_v
        scale = np.broadcast_to(scale, (len(self.totals.n_docs), Sigma_v.shape[1]))
        E_v = np.empty(Sigma_v.shape, Sigma_v.dtype)
        for begin in range(0, len(E_v), _ROWS_AT_ONCE):
            at = slice(begin, begin + _ROWS_AT_ONCE)
            E_v[at] = (Sigma_v[at] + a_v) * scale[self._group[at]]
        return E_v

    def close(self) -> None:
        """Let go of what only sweeps need; coefficients can still be had."""
        self._documents.close()

    def sweep(
        self, terms: Terms, scale: Array, a_v: float, *, bound: bool, update: bool = True
    ) -> Statistics:
        """Finish q(v) with ``scale`` (n_groups, K), then form all sums over the documents.

        With ``update``, R_t takes the memory of ``terms.shape``, which nothing needs any more.
        """
        sums = self._documents.sweep(terms.L, scale, a_v, update=update, bound=bound)
        R_t = self._documents.gather(terms.L, terms.shape) if update else None
        scale = np.broadcast_to(scale, sums.shape_sums.shape)
        return Statistics(R_t, sums.shape_sums, scale, sums.log_mean, sums.psi, sums.entropy)


def _totals(X: sparse.csr_array, group: Array, n_groups: int, weight: Array) -> Totals:
    log_factorials = 0.0
    for begin in range(0, X.nnz, _AT_ONCE):
        at = np.arange(begin, min(begin + _AT_ONCE, X.nnz))
        row = np.searchsorted(X.indptr, at, side="right") - 1
        log_factorials += float((weight[row] * gammaln(X.data[at].astype(np.float64) + 1)).sum())
    return Totals(
        n_docs=np.bincount(group, weight, minlength=n_groups),
        term_sums=X.T @ weight,  # not X.sum, which adds up in X's own precision
        log_factorials=log_factorials,
    )
