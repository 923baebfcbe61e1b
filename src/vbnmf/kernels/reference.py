"""The kernels in NumPy and SciPy: the specification of the compiled ones, and their stand-in.

    ratio_dw = x_dw / Σ_k L_t[w,k] L_v[d,k]        only where x_dw > 0
    Sigma_v  = L_v ∘ (ratio @ L_t)
    R_t      = ratioᵀ @ L_v                        so that Sigma_t = L_t ∘ R_t

A row of L may be divided by any number, for it cancels in ratio ∘ L: rows are kept relative to
their largest exp(ψ), which is what lets single precision hold shapes near zero. The logarithm of
that number is the row's offset, and only the bound needs it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import psi

from vbnmf.core import gamma
from vbnmf.core.model import Array, DocumentSums, Terms

NONZEROS_AT_ONCE = 1 << 14
"""Scratch is this many rows of K numbers, never one for each non-zero."""

# By bytes of a number: nothing divides by zero, even where products of two L underflow.
_TINY = {4: 1e-36, 8: 1e-300}


class ReferenceKernel:
    """Same methods as ``NativeKernel``; one thread."""

    name = "scipy"

    def __enter__(self) -> "ReferenceKernel":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def zeros(self, n: int, K: int, dtype: np.dtype[Any]) -> Array:
        """Zeros in this kernel's layout: plain rows."""
        return np.zeros((n, K), dtype)

    def exp_psi(self, x: Array) -> Array:
        """Elementwise exp(ψ(x)) for x > 0."""
        return np.asarray(np.exp(psi(x)))

    def gamma_rows(
        self, R: Array, L: Array, scale: Array, prior_shape: float, *, tally: bool
    ) -> Terms:
        """Set shape = prior_shape + L ∘ R in place of R, and L anew from it in place."""
        R *= L
        R += prior_shape
        L[:], offset = _exp_mean_log(R, scale)
        totals = _tally(R, np.ones(len(R))) if tally else (np.nan, np.nan)
        return Terms(R, scale, L, offset, R.sum(axis=0, dtype=np.float64), *totals)

    def documents(
        self,
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        K: int,
        weight: Array | None = None,
        by_term: sparse.csc_array | None = None,
        scratch: None = None,
    ) -> "ReferenceDocuments":
        """Hold the documents, which count by ``weight`` in all sums, and their coefficients.

        Nothing is made of ``by_term`` and ``scratch``, which the compiled kernel needs.
        """
        return ReferenceDocuments(X, group, n_groups, K, weight)

    def project(
        self,
        X: sparse.csr_array,
        L_t: Array,
        scale: Array,
        a_v: float,
        *,
        max_iter: int,
        tol: float,
    ) -> tuple[Array, Array]:
        """Coefficients (n_docs, K) with the components fixed, and iterations of each document.

        A document is done when an iteration moves less than ``tol`` of its weight.
        """
        K = len(scale)
        E_v = np.empty((X.shape[0], K), X.dtype)
        n_iter = np.zeros(X.shape[0], np.int32)
        for begin, end in _blocks_of_rows(X):
            block = X[begin:end]
            mass = block @ np.ones(X.shape[1])
            shape = a_v + np.repeat(mass[:, None] / K, K, axis=1)
            active = np.flatnonzero(mass > 0)
            for _ in range(max_iter):
                if not len(active):
                    break
                L_v, _offset = _exp_mean_log(shape[active], scale)
                ratio, _mean = _ratios(block[active], L_v, L_t)
                new = a_v + L_v * (ratio @ L_t)
                moved = np.abs(new - shape[active]).sum(axis=1) / mass[active]
                shape[active] = new
                n_iter[begin + active] += 1
                active = active[moved > tol]
            E_v[begin:end] = shape * scale
        return E_v, n_iter

    def scratch(self) -> None:
        """No memory is shared here."""


class ReferenceDocuments:
    """Documents and the one row of K numbers that each keeps from sweep to sweep."""

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
        """Start over with K components; return Sigma_v, all zero.

        ``in_scope`` (n_groups, K) says which components each group may use: those whose scale is
        not zero. Nothing follows from it here; the compiled kernel is faster for it.
        """
        self._L_v = np.empty((self._X.shape[0], K), self._X.dtype)
        self.Sigma_v = np.zeros((self._X.shape[0], K), self._X.dtype)
        return self.Sigma_v

    def hold(self, Sigma_v: Array) -> None:
        """Take over a Sigma_v, as ``begin`` returned it."""
        self.Sigma_v = Sigma_v

    def sweep(
        self, L_t: Array, scale: Array, a_v: float, *, update: bool, bound: bool
    ) -> DocumentSums:
        """Finish q(v), then form the ratios and, with ``update``, the next Sigma_v."""
        shape_sums = self._members @ self.Sigma_v.astype(np.float64, copy=False)
        shape_sums += a_v * self._members.sum(axis=1)[:, None]
        shape_sums *= scale > 0
        log_mean = total_psi = total_entropy = 0.0 if bound else np.nan
        for begin, end in _blocks_of_rows(self._X):
            block = self._X[begin:end]
            shape = a_v + self.Sigma_v[begin:end]
            L_v, offset = _exp_mean_log(shape, scale[self._group[begin:end]])
            self._L_v[begin:end] = L_v
            ratio, mean = _ratios(block, L_v, L_t)
            self._ratio[self._X.indptr[begin] : self._X.indptr[end]] = ratio.data
            if update:
                self.Sigma_v[begin:end] = L_v * (ratio @ L_t)
            if bound:
                weight = self._weight[begin:end]
                mass = weight * (block @ np.ones(block.shape[1]))
                by_cell = np.repeat(weight, np.diff(block.indptr)) * block.data
                log_mean += float((by_cell * np.log(mean)).sum() + (mass * offset).sum())
                block_psi, block_entropy = _tally(shape, weight, scale[self._group[begin:end]] > 0)
                total_psi += block_psi
                total_entropy += block_entropy
        return DocumentSums(shape_sums, log_mean, total_psi, total_entropy)

    def close(self) -> None:
        """Let go of what only sweeps need; ``Sigma_v`` stays."""
        del self._L_v, self._ratio

    def gather(self, L_t: Array, out: Array) -> Array:
        """R_t of the last sweep, (n_terms, K), in ``out``."""
        X = self._X
        ratio = sparse.csr_array((self._ratio, X.indices, X.indptr), shape=X.shape)
        out[:] = ratio.T @ (self._weight[:, None] * self._L_v)
        return out


def _exp_mean_log(shape: Array, scale: Array) -> tuple[Array, Array]:
    """exp⟨ln ·⟩ by rows, each divided by the exp of its offset; and the offsets."""
    with np.errstate(divide="ignore"):  # a scale of zero is out of scope: exp⟨ln ·⟩ is zero
        logs = psi(shape.astype(np.float64, copy=False)) + np.log(scale)
    offset = logs.max(axis=1)
    return np.exp(logs - offset[:, None]), offset


def _ratios(X: sparse.csr_array, L_v: Array, L_t: Array) -> tuple[sparse.csr_array, Array]:
    """x / Σ_k L_v L_t as a matrix of the same pattern, and the sums Σ_k L_v L_t."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    mean = np.empty(X.nnz)
    for begin in range(0, X.nnz, NONZEROS_AT_ONCE):
        at = slice(begin, begin + NONZEROS_AT_ONCE)
        mean[at] = np.einsum("jk,jk->j", L_v[row[at]], L_t[X.indices[at]])
    mean = np.maximum(mean, _TINY[X.dtype.itemsize])
    return sparse.csr_array((X.data / mean, X.indices, X.indptr), shape=X.shape), mean


def _tally(shape: Array, weight: Array, counts: Array | bool = True) -> tuple[float, float]:
    """Σ ψ(shape) and Σ H(Gamma(shape, 1)) over what counts, rows by their weight."""
    shape = shape.astype(np.float64, copy=False)
    sums = tuple(
        (values * counts).sum(axis=1) for values in (psi(shape), gamma.entropy(shape, 1.0))
    )
    return float((weight * sums[0]).sum()), float((weight * sums[1]).sum())


def _blocks_of_rows(X: sparse.csr_array) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about ``NONZEROS_AT_ONCE`` rows and non-zeros together."""
    work = X.indptr.astype(np.int64) + np.arange(len(X.indptr))
    cuts = np.searchsorted(work, np.arange(0, work[-1], NONZEROS_AT_ONCE))
    yield from pairwise(np.unique(np.append(cuts, X.shape[0])).tolist())
