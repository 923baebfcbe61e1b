"""Kernels in NumPy and SciPy. They specify the compiled kernels, and replace them if need be.

    ratio_dw = x_dw / Σ_k L_t[w,k] L_v[d,k]        only where x_dw > 0
    Sigma_v  = L_v ∘ (ratio @ L_t)
    R_t      = ratioᵀ @ L_v                        so that Sigma_t = L_t ∘ R_t

A row of L may be divided by any number, because it cancels in ratio ∘ L. Rows are divided by their
largest exp(ψ), so that single precision can hold shapes near zero. The logarithm of the divisor is
the offset of the row; only the bound needs it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import psi

from vbnmf.core import gamma
from vbnmf.core.explained import NONZEROS_AT_ONCE, means, ratios
from vbnmf.core.model import Array, DocumentSums, Terms

EXTRAPOLATED = 5.0
"""Largest change of a logarithm by extrapolation."""


class ReferenceKernel:
    """Kernels in NumPy and SciPy, with the methods of ``NativeKernel`` and one thread."""

    name = "scipy"
    n_threads = 1

    def __enter__(self) -> "ReferenceKernel":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def zeros(self, n: int, K: int, dtype: np.dtype[Any]) -> Array:
        """Return zeros in this kernel's layout, which has no padding."""
        return np.zeros((n, K), dtype)

    def exp_psi(self, x: Array) -> Array:
        """Compute exp(ψ(x)) for x > 0."""
        return np.asarray(np.exp(psi(x)))

    def gamma_rows(
        self,
        R: Array,
        L: Array,
        scale: Array,
        prior_shape: float,
        *,
        tally: bool,
        shapes_only: bool = False,
    ) -> Terms:
        """Compute shape = prior_shape + L ∘ R in the memory of R, then the new L in that of L.

        With ``shapes_only``, L and the offsets are not of the new shapes.
        """
        R *= L
        R += prior_shape
        offset = np.zeros(len(R))
        if not shapes_only:
            L[:], offset = _exp_mean_log(R, scale)
        totals = _tally(R, np.ones(len(R))) if tally else (np.nan, np.nan)
        return Terms(R, scale, L, offset, R.sum(axis=0, dtype=np.float64), *totals)

    def extrapolated_rows(
        self, shape: Array, before: Array, beta: float, L: Array, scale: Array, least: float
    ) -> Terms:
        """Extrapolate shapes in the memory of those before, then compute L in its memory.

        Results are at least ``least``. With a ``beta`` of 0, shapes stay as they are.
        """
        before[:] = _extrapolated(shape, before, beta, least) if beta > 0 else shape
        L[:] = 1
        return self.gamma_rows(before, L, scale, 0.0, tally=True)

    def documents(
        self,
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        K: int,
        weight: Array | None = None,
        by_term: sparse.csc_array | None = None,
    ) -> "ReferenceDocuments":
        """Prepare documents for sweeps; ``weight`` has the sample weights.

        ``by_term``, which the compiled kernels need, is not used.
        """
        return ReferenceDocuments(X, group, n_groups, K, weight)

    def project(
        self,
        X: sparse.csr_array,
        L_t: Array,
        scale: Array,
        a_v: float | Array,
        *,
        max_iter: int,
        tol: float,
        mode: bool = False,
    ) -> tuple[Array, Array]:
        """Compute coefficients with fixed components, (n_docs, K), and the number of iterations.

        Iterations of a document stop when one moves less than ``tol`` of its weight. ``a_v`` is the
        shape of the prior, one number or an array (n_docs, K). With ``mode``, the result is not the
        mean of q(v) but the posterior mode of ln v.
        """
        K = len(scale)
        E_v = np.empty((X.shape[0], K), X.dtype)
        n_iter = np.zeros(X.shape[0], np.int32)
        for begin, end in _blocks_of_rows(X):
            block = X[begin:end]
            mass = block @ np.ones(X.shape[1])
            prior = np.broadcast_to(a_v, E_v.shape)[begin:end].astype(np.float64, copy=False)
            shape = prior + np.repeat(mass[:, None] / K, K, axis=1)
            active = np.flatnonzero(mass > 0)
            for _ in range(max_iter):
                if not len(active):
                    break
                if mode:
                    L_v = shape[active] * scale
                    L_v /= L_v.max(axis=1, keepdims=True)
                else:
                    L_v, _offset = _exp_mean_log(shape[active], scale)
                new = prior[active] + L_v * (ratios(block[active], L_v, L_t) @ L_t)
                moved = np.abs(new - shape[active]).sum(axis=1) / mass[active]
                shape[active] = new
                n_iter[begin + active] += 1
                active = active[moved > tol]
            E_v[begin:end] = shape * scale
        return E_v, n_iter


class ReferenceDocuments:
    """Documents, and the row of Sigma_v that each keeps from one sweep to the next."""

    def __init__(
        self, X: sparse.csr_array, group: Array, n_groups: int, K: int, weight: Array | None
    ) -> None:
        self._X, self._group = X, group
        self._weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, np.float64)
        self._members = sparse.csr_array(
            (self._weight, (group, np.arange(X.shape[0]))), shape=(n_groups, X.shape[0])
        )
        self._ratio = np.zeros_like(X.data)
        self.begin(K)

    def begin(self, K: int, in_scope: Array | None = None) -> Array:
        """Set the number of components, and return a Sigma_v of zeros.

        ``in_scope`` is not used. The compiled kernels use it to be faster.
        """
        self._L_v = np.empty((self._X.shape[0], K), self._X.dtype)
        self.Sigma_v = np.zeros((self._X.shape[0], K), self._X.dtype)
        return self.Sigma_v

    def memory(self) -> Array:
        """Return zeros in the layout of Sigma_v."""
        return np.zeros_like(self.Sigma_v)

    def hold(self, Sigma_v: Array) -> None:
        """Set Sigma_v, in the layout of the array that ``begin`` returned."""
        self.Sigma_v = Sigma_v

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
        X, Sigma_v = self._X, self.Sigma_v
        following = Sigma_v if before is None else before
        if beta > 0:
            shape = _extrapolated(a_v + Sigma_v, a_v + following, beta, a_v)
            Sigma_v = (shape - a_v).astype(X.dtype, copy=False)
        shape_sums = self._members @ Sigma_v.astype(np.float64, copy=False)
        shape_sums += a_v * self._members.sum(axis=1)[:, None]
        shape_sums *= scale > 0
        log_mean = total_psi = total_entropy = 0.0 if bound else np.nan
        for begin, end in _blocks_of_rows(X):
            block = X[begin:end]
            shape = a_v + Sigma_v[begin:end]
            L_v, offset = _exp_mean_log(shape, scale[self._group[begin:end]])
            self._L_v[begin:end] = L_v
            mean = means(block, L_v, L_t)
            ratio = sparse.csr_array((block.data / mean, block.indices, block.indptr), block.shape)
            self._ratio[X.indptr[begin] : X.indptr[end]] = ratio.data
            if update:
                following[begin:end] = L_v * (ratio @ L_t)
            if bound:
                weight = self._weight[begin:end]
                mass = weight * (block @ np.ones(block.shape[1]))
                by_cell = np.repeat(weight, np.diff(block.indptr)) * block.data
                log_mean += float((by_cell * np.log(mean)).sum() + (mass * offset).sum())
                block_psi, block_entropy = _tally(shape, weight, scale[self._group[begin:end]] > 0)
                total_psi += block_psi
                total_entropy += block_entropy
        if update:
            self.Sigma_v = following
        if update and out is not None:
            by_document = sparse.csr_array((self._ratio, X.indices, X.indptr), shape=X.shape)
            out[:] = by_document.T @ (self._weight[:, None] * self._L_v)
        return DocumentSums(shape_sums, log_mean, total_psi, total_entropy)

    def close(self) -> None:
        """Free the memory that only sweeps need. ``Sigma_v`` is kept."""
        del self._L_v, self._ratio


def _extrapolated(x: Array, before: Array, beta: float, least: float) -> Array:
    """Extrapolate ln x + beta (ln x - ln before), by at most ``EXTRAPOLATED``."""
    power = np.clip(beta * np.log(x / before), -EXTRAPOLATED, EXTRAPOLATED)
    return np.asarray(np.maximum(x * np.exp(power), least))


def _exp_mean_log(shape: Array, scale: Array) -> tuple[Array, Array]:
    """Compute exp⟨ln ·⟩ by rows, each divided by the exponential of its offset, and the offsets."""
    with np.errstate(divide="ignore"):  # exp⟨ln ·⟩ is zero outside scopes, where scales are zero
        logs = psi(shape.astype(np.float64, copy=False)) + np.log(scale)
    offset = logs.max(axis=1)
    return np.exp(logs - offset[:, None]), offset


def _tally(shape: Array, weight: Array, counts: Array | bool = True) -> tuple[float, float]:
    """Compute Σ ψ(shape) and Σ H(Gamma(shape, 1)) over entries in scope, with row weights."""
    shape = shape.astype(np.float64, copy=False)
    sums = tuple(
        (values * counts).sum(axis=1) for values in (psi(shape), gamma.entropy(shape, 1.0))
    )
    return float((weight * sums[0]).sum()), float((weight * sums[1]).sum())


def _blocks_of_rows(X: sparse.csr_array) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows, with about ``NONZEROS_AT_ONCE`` rows and non-zeros in total."""
    work = X.indptr.astype(np.int64) + np.arange(len(X.indptr))
    cuts = np.searchsorted(work, np.arange(0, work[-1], NONZEROS_AT_ONCE))
    yield from pairwise(np.unique(np.append(cuts, X.shape[0])).tolist())
