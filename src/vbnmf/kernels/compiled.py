"""Call the compiled kernels in ``_native``, with padding, blocks and threads.

Rows are padded with zeros to whole cache lines. Threads take fixed blocks of rows from a queue. A
block writes only its own rows and its own partial sums, and partial sums are added in a fixed
order. Results therefore do not depend on the number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import polygamma

from vbnmf.core import gamma
from vbnmf.core.model import Array, DocumentSums, Terms
from vbnmf.core.pages import zeros
from vbnmf.core.rows import mass
from vbnmf.kernels import _native  # type: ignore[attr-defined,unused-ignore]
from vbnmf.kernels.layout import MOST_BLOCKS, cut_evenly, cut_into_blocks

CACHED = 10 << 20
"""Maximum bytes of coefficients that are gathered at a time. They should fit into the cache."""


class NativeKernel:
    """Compiled kernels with a number of threads. Use it as a context manager."""

    name = "native"

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = min(n_threads, MOST_BLOCKS)  # more threads would have no work
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "NativeKernel":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def zeros(self, n: int, K: int, dtype: np.dtype[Any]) -> Array:
        """Return zeros in this kernel's layout: aligned, and padded to whole cache lines."""
        per_line = _native.ROW_BYTES // np.dtype(dtype).itemsize
        stride = -(-K // per_line) * per_line
        memory = zeros(n * stride + per_line, dtype)
        skip = -(memory.ctypes.data // memory.itemsize) % per_line
        return memory[skip : skip + n * stride].reshape(n, stride)

    def exp_psi(self, x: Array) -> Array:
        """Compute exp(ψ(x)) for x > 0; 0 if it is less than the smallest normal number."""
        x = np.ascontiguousarray(x)
        out = np.empty_like(x)
        _native.exp_psi(x, out)
        return out

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
        args = (L, scale, prior_shape, tally)
        return self._gamma_rows(R, R, 0.0, *args, shapes_only=shapes_only, extrapolates=False)

    def extrapolated_rows(
        self, shape: Array, before: Array, beta: float, L: Array, scale: Array, least: float
    ) -> Terms:
        """Extrapolate shapes in the memory of those before, then compute L; see ``reference``."""
        args = (L, scale, least, True)
        return self._gamma_rows(before, shape, beta, *args, shapes_only=False, extrapolates=True)

    def _gamma_rows(
        self,
        R: Array,
        base: Array,
        beta: float,
        L: Array,
        scale: Array,
        prior_shape: float,
        tally: bool,
        *,
        shapes_only: bool,
        extrapolates: bool,
    ) -> Terms:
        n, K = len(R), len(scale)
        blocks = cut_evenly(n, K)
        sums = np.zeros((len(blocks) - 1, R.shape[1]))
        tallies = np.zeros((len(blocks) - 1, 3))
        offset = np.zeros(n)
        scales, largest = _relative(self, scale[None, :], R.dtype)
        self.run(
            lambda queue: _native.gamma_rows(
                queue, blocks, R, base, float(beta), L, scales, float(prior_shape),
                _near(float(prior_shape), R.dtype.itemsize), shapes_only, extrapolates, tally,
                offset, sums, tallies,
            )
        )  # fmt: skip
        offset += np.log(largest)
        _log_mean, psi, entropy = tallies.sum(axis=0) if tally else (np.nan,) * 3
        return Terms(R, scale, L, offset, sums.sum(axis=0)[:K], float(psi), float(entropy))

    def documents(
        self,
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        K: int,
        weight: Array | None = None,
        by_term: sparse.csc_array | None = None,
    ) -> "NativeDocuments":
        """Prepare documents for sweeps.

        ``weight`` has the sample weights. ``by_term`` is X in CSC format, or None if it has to be
        computed.
        """
        return NativeDocuments(self, X, group, n_groups, K, weight, by_term)

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
        n, K = X.shape[0], len(scale)
        E_v, n_iter = self.zeros(n, K, X.dtype), np.zeros(n, np.int32)
        scales, largest = _relative(self, scale[None, :], X.dtype)
        shapes = self.zeros(len(a_v) if isinstance(a_v, np.ndarray) else 1, K, X.dtype)
        if isinstance(a_v, np.ndarray):
            shapes[:, :K] = a_v
        else:
            shapes[:] = a_v
        matrix = _matrix(X)
        self.run(
            lambda queue: matrix.project(
                queue, L_t, scales, shapes, mode, K, max_iter, tol, E_v, n_iter
            )
        )
        return E_v[:, :K] * X.dtype.type(largest[0]), n_iter

    def run(self, work: Callable[[Any], None]) -> None:
        """Call ``work(queue)`` in all threads, including this one."""
        queue = _native.Queue()
        if self.n_threads > 1 and self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="vbnmf")
        others = (
            [self._pool.submit(work, queue) for _ in range(self.n_threads - 1)]
            if self._pool
            else []
        )
        work(queue)
        for other in others:
            other.result()


class NativeDocuments:
    """Documents, and the row of Sigma_v that each keeps from one sweep to the next."""

    def __init__(
        self,
        kernel: NativeKernel,
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        K: int,
        weight: Array | None,
        by_term: sparse.csc_array | None,
    ) -> None:
        self._kernel, self._n_groups, self._dtype = kernel, n_groups, X.dtype
        n_docs = X.shape[0]
        narrow = np.int16 if n_groups <= 1 << 15 else np.int32  # NumPy sorts 16 bits in one pass
        self._order = np.argsort(group.astype(narrow), kind="stable").astype(np.int64)
        self._group = group.astype(np.int32)
        self._weight = np.ones(n_docs) if weight is None else np.asarray(weight, np.float64)
        self._blocks = cut_into_blocks(np.diff(X.indptr)[self._order])  # of the documents by group
        self._matrix = _matrix(X)
        if by_term is None:
            by_term = X.tocsc()
        elif weight is not None:
            by_term = by_term.copy()
        if weight is not None:
            by_term.data *= self._weight[by_term.indices].astype(X.dtype)
        self._transposed = _matrix(by_term)
        self._first_of_term = by_term.indptr[:-1].astype(np.int64)
        self._sums_at, self._sums_group = _lines_of_sums(self._group[self._order], self._blocks)
        self._X = X
        self.begin(K)

    def begin(self, K: int, in_scope: Array | None = None) -> Array:
        """Set the number of components, and return a Sigma_v of zeros, with padding.

        ``in_scope``, (n_groups, K) of bool, has the components that each group may use; None if all
        may use all. A sweep visits only the cache lines that hold components in scope. Outside
        scopes, scales must be zero, and Sigma_v stays zero.
        """
        n_docs, dtype = len(self._order), self._dtype
        self._K = K
        self._Sigma_v = np.empty((0, 0), dtype)  # free the old array first
        self._Sigma_v = self._kernel.zeros(n_docs, K, dtype)
        self._scopes = _lines_in_scope(in_scope, self._Sigma_v.shape[1], dtype)
        self._n_cached = self._documents_at_once(in_scope)
        return self._Sigma_v

    def memory(self) -> Array:
        """Return zeros in the layout of Sigma_v."""
        return self._kernel.zeros(len(self._order), self._K, self._dtype)

    def hold(self, Sigma_v: Array) -> None:
        """Set Sigma_v, with the padding of the array that ``begin`` returned."""
        self._Sigma_v = Sigma_v

    @property
    def Sigma_v(self) -> Array:
        """Σ_w ⟨s⟩ of each document, (n_docs, K)."""
        return self._Sigma_v[:, : self._K]

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
        """Complete q(v); with ``update``, compute R_t and then the next Sigma_v.

        R_t, (n_terms, K), is written to ``out``, which has this kernel's layout. The next Sigma_v
        is in the memory of ``before``, or of Sigma_v if None. L_v is there until R_t is computed.
        With ``beta``, shapes are extrapolated from those before, as in ``reference``.
        """
        following = self._Sigma_v if before is None else before
        lines = np.zeros((len(self._sums_group), self._Sigma_v.shape[1]))
        tallies = np.zeros((len(self._sums_at), 3))
        scale = np.broadcast_to(scale, (self._n_groups, self._K))
        scales, largest = _relative(self._kernel, scale, L_t.dtype)
        make = _native.Documents32 if self._dtype == np.float32 else _native.Documents64
        documents = make(
            self._order, self._group, self._weight, L_t, scales, self._scopes, float(a_v),
            _near(float(a_v), self._dtype.itemsize), self._Sigma_v, following, float(beta),
            np.empty(len(self._order)), update, bound,
        )  # fmt: skip
        run, matrix, sums = self._kernel.run, self._matrix, (self._sums_at, lines, tallies)
        run(lambda queue: matrix.complete(queue, self._blocks, documents, *sums))
        if update:
            self._Sigma_v = following
        if update and out is not None:
            self._gather(L_t, out)
        if update:
            of_means = np.zeros((MOST_BLOCKS, 3))  # of each block; unused rows stay zero
            run(lambda queue: matrix.divide(queue, documents, of_means))
            tallies = np.vstack([tallies, of_means])
        shape_sums = np.zeros((self._n_groups, self._K))
        np.add.at(shape_sums, self._sums_group, lines[:, : self._K])
        shape_sums *= scale > 0
        log_mean, psi, entropy = tallies.sum(axis=0) if bound else (np.nan,) * 3
        if bound:
            log_mean += (np.log(largest) * self._group_mass).sum()
        return DocumentSums(shape_sums, float(log_mean), float(psi), float(entropy))

    def _gather(self, L_t: Array, out: Array) -> None:
        """Compute R_t in ``out`` from L_v, a range of documents at a time.

        The documents of a term are spread over the whole shard. If L_v is larger than the cache,
        gathering all of them at once is much slower.
        """
        n_docs, at = len(self._order), self._first_of_term.copy()
        for first in range(0, max(n_docs, 1), self._n_cached):
            gather = partial(
                self._transposed.gather, L=L_t, other=self._Sigma_v, R=out, at=at,
                until=first + self._n_cached, first=first == 0,
                group=self._group, scopes=self._scopes,
            )  # fmt: skip
            self._kernel.run(gather)

    def _documents_at_once(self, in_scope: Array | None) -> int:
        """Return the number of documents whose coefficients in scope are gathered at a time."""
        n_docs, row = len(self._order), self._Sigma_v[:1].nbytes
        n_bytes = n_docs * row
        if in_scope is not None:
            in_group = np.bincount(self._group, minlength=len(in_scope))
            n_bytes = int(in_group @ in_scope.sum(axis=1)) * row // self._K
        n_ranges = max(-(-n_bytes // CACHED), 1)
        return max(-(-n_docs // n_ranges), 1)

    @cached_property
    def _group_mass(self) -> Array:
        """Sum the weight of the documents of each group, (n_groups,)."""
        return np.bincount(self._group, self._weight * mass(self._X), self._n_groups)

    def close(self) -> None:
        """Free the memory that only sweeps need. ``Sigma_v`` is kept."""
        del self._matrix, self._transposed


@lru_cache(maxsize=64)
def _near(prior: float, itemsize: int) -> list[float]:
    """Return the coefficients of series around the shape of a prior, for the compiled passes.

    In the order of ``NearPrior``: the prior a, the limit of s, and the coefficients in s of
    (exp(ψ(a + s) − ψ(a)) − 1) / s, of ψ(a + s) and of the entropy of Gamma(a + s, 1). Below the
    limit, the terms that are left out are smaller than rounding errors.
    """
    if prior <= 0:
        return [1.0, -1.0] + [0.0] * 11
    a = prior
    p = [float(polygamma(n, a)) for n in range(4)]
    exp_psi = [p[1], (p[2] + p[1] ** 2) / 2, (p[3] + 3 * p[1] * p[2] + p[1] ** 3) / 6]
    psi = [p[0], p[1], p[2] / 2, p[3] / 6]
    slopes = [1 + (1 - a) * p[1], -p[1] + (1 - a) * p[2], -2 * p[2] + (1 - a) * p[3]]
    entropy = [float(gamma.entropy(a, 1.0)), slopes[0], slopes[1] / 2, slopes[2] / 6]
    limit = (1e-2 if itemsize == 4 else 1e-4) * a * min(a, 1.0)
    return [a, limit, *exp_psi, *psi, *entropy]


def _relative(kernel: NativeKernel, scale: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Divide rows of scales by their largest; return them in the kernel's layout, and the largest.

    Single precision can then hold scales of any size. The divisors are added to the offsets. Scales
    of zero, which are outside a scope, stay zero, and no other scale becomes zero.
    """
    largest = scale.max(axis=1)
    padded = kernel.zeros(scale.shape[0], scale.shape[1], dtype)
    relative = np.maximum(scale / largest[:, None], np.finfo(dtype).tiny)
    padded[:, : scale.shape[1]] = np.where(scale > 0, relative, 0)
    return padded, largest


def _matrix(X: Any) -> Any:
    """Return the rows of X (or columns of a CSC matrix) as the compiled passes need them."""
    make = _native.Matrix32 if X.dtype == np.float32 else _native.Matrix64
    indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False)
    return make(indptr, indices, X.data, cut_into_blocks(np.diff(indptr)))


def _lines_of_sums(sorted_group: Array, blocks: Array) -> tuple[Array, Array]:
    """Return the first line of partial sums of each block, and the group of each line."""
    begins = np.ones(len(sorted_group), bool)  # whether a line begins with this document
    begins[1:] = sorted_group[1:] != sorted_group[:-1]
    begins[blocks[:-1]] = True
    line = np.cumsum(begins) - 1
    return line[blocks[:-1]].astype(np.int64), sorted_group[begins]


def _lines_in_scope(in_scope: Array | None, stride: int, dtype: np.dtype[Any]) -> Any:
    """Return the cache lines of a row that each group needs, for the compiled passes."""
    if in_scope is None or in_scope.all():
        return _native.Scopes(np.zeros(1, np.int64), np.zeros(0, np.int32))
    per_line = _native.ROW_BYTES // dtype.itemsize
    padded = np.zeros((len(in_scope), stride), dtype=bool)
    padded[:, : in_scope.shape[1]] = in_scope
    needed = padded.reshape(len(in_scope), -1, per_line).any(axis=2)
    at = np.concatenate([[0], np.cumsum(needed.sum(axis=1))]).astype(np.int64)
    return _native.Scopes(at, np.nonzero(needed)[1].astype(np.int32))
