"""All documents in the memory of this process."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from vbnmf.core.model import Array, Statistics, Totals

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel

_AT_ONCE = 1 << 20  # non-zeros whose ln Γ is held at a time


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
    """

    def __init__(
        self, kernel: "AnyKernel", X: sparse.csr_array, group: Array, n_groups: int, K: int
    ) -> None:
        self.kernel = kernel
        self._group = group
        self.totals = _totals(X, group, n_groups)
        self._mass = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        self._documents = kernel.documents(X, group, n_groups, K)

    @property
    def Sigma_v(self) -> Array:
        """Σ_w ⟨s⟩ of each document, (n_docs, K): all that documents keep between sweeps."""
        return self._documents.Sigma_v

    def spread_evenly(self) -> None:
        """Start anew with each document's weight spread evenly over the components."""
        self.Sigma_v[:] = (self._mass / self.Sigma_v.shape[1])[:, None]

    def coefficients(self, scale: Array, a_v: float) -> Array:
        """E_v, (n_docs, K), of q(v) with ``scale`` (n_groups, K)."""
        E_v = self.Sigma_v + self.Sigma_v.dtype.type(a_v)
        E_v *= scale.astype(E_v.dtype)[self._group]
        return E_v

    def sweep(
        self, L_t: Array, scale: Array, a_v: float, *, bound: bool, update: bool = True
    ) -> Statistics:
        """Finish q(v) with ``scale`` (n_groups, K), then form all sums over the documents."""
        sums = self._documents.sweep(L_t, scale, a_v, update=update, bound=bound)
        R_t = self._documents.gather(L_t) if update else None
        scale = np.broadcast_to(scale, sums.shape_sums.shape)
        return Statistics(R_t, sums.shape_sums, scale, sums.log_mean, sums.psi, sums.entropy)


def _totals(X: sparse.csr_array, group: Array, n_groups: int) -> Totals:
    slices = range(0, X.nnz, _AT_ONCE)
    return Totals(
        n_docs=np.bincount(group, minlength=n_groups),
        term_sums=np.asarray(X.sum(axis=0, dtype=np.float64)).ravel(),
        log_factorials=sum(
            float(gammaln(X.data[i : i + _AT_ONCE].astype(np.float64) + 1).sum()) for i in slices
        ),
    )
