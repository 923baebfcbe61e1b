"""Train linear machines on all documents by full-batch gradients, which are sums over shards.

The objective is that of ``machines``. Its loss, its gradient and the diagonal of its Hessian are
sums over documents, so a shard contributes partial sums (``hinge_sums``) and needs nothing from
other shards:

    loss_l      = Σ_d c_dl r_dl²,           r_dl = max(0, 1 − y_dl s_dl),  c_dl = weight_d boost_dl
    gradient_l  = −2 Σ_d c_dl y_dl r_dl f_d
    curvature_l = 2 Σ_d c_dl [r_dl > 0] f_d²

f_d are the features of a document: its terms at unit length, its scaled evidence, and a one for the
intercept. The solver is L-BFGS in variables scaled by the square root of the curvature at the
start, ``solve``. The problems of the labels are independent, so they are solved in blocks of
labels, which limits the memory.

References
----------
Liu and Nocedal (1989), On the limited memory BFGS method for large scale optimization.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from vbnmf.core.model import Array
from vbnmf.core.products import dot, one_blas_thread
from vbnmf.kernels import kernel_name

TOL = 2e-3
"""Relative decrease of the objective in an iteration below which a block of labels has converged.

With a quarter of it, training took 1.4 to 1.7 times as many passes, and accuracy on held-out
training documents changed by 0.2 points or less (scipy-docs and clinc150).
"""

MOST_ITERATIONS = 100
"""Maximum number of iterations for a block of labels."""

BLOCK_WEIGHTS = 1 << 20
"""Maximum of features times labels that are solved at a time; a single label may exceed it."""

_MEMORY = 5  # pairs of vectors that L-BFGS keeps
_TILE = 16  # labels at a time, which are the lanes of the compiled kernel


class Features(NamedTuple):
    """Documents of a shard as features of machines.

    Attributes
    ----------
    X : csr_array of float32 of shape (n_docs, n_terms)
        Terms of documents of unit length; no columns if the head does not use words.
    dense : ndarray of float32 of shape (n_docs, n_dense)
        Scaled evidence.
    labels : csr_array of shape (n_docs, n_labels)
        Label indicators.
    weight : ndarray of shape (n_docs,)
        Sample weights; zero for documents that are not used.
    """

    X: sparse.csr_array
    dense: Array
    labels: sparse.csr_array
    weight: Array

    @property
    def n_features(self) -> int:
        """Number of features, including the intercept."""
        return int(self.X.shape[1] + self.dense.shape[1] + 1)


@dataclass(frozen=True, eq=False)
class HingeSums:
    """Sums over documents for a block of labels. Sums of several shards are added.

    Attributes
    ----------
    loss : ndarray of shape (n,)
        Weighted squared hinge loss of each label.
    gradient : ndarray of shape (n_features, n)
        Gradient of the loss by the weights.
    curvature : ndarray of shape (n_features, n) or None
        Diagonal of the Hessian of the loss; None if not requested.
    """

    loss: Array
    gradient: Array
    curvature: Array | None = None

    def owned(self) -> Self:
        """Return sums to which others can be added: a copy if these came from another process."""
        if self.gradient.flags.writeable:
            return self
        parts = (None if part is None else part.copy() for part in astuple(self))
        return type(self)(*parts)  # type: ignore[arg-type]

    def __add__(self, other: Self) -> Self:
        """Add the sums of other documents, in place."""
        np.add(self.loss, other.loss, out=self.loss)
        np.add(self.gradient, other.gradient, out=self.gradient)
        if self.curvature is not None:
            assert other.curvature is not None
            np.add(self.curvature, other.curvature, out=self.curvature)
        return self


def hinge_sums(
    batch: Features,
    weights: Array,
    first: int,
    boosts: Array,
    *,
    curvature: bool = False,
    n_threads: int = 1,
) -> HingeSums:
    """Compute the sums over the documents of a shard.

    Parameters
    ----------
    batch : Features
        Documents.
    weights : array of shape (n_features, n)
        Weights of the machines of the labels ``first``, …, ``first + n - 1``. The intercepts are
        the last row.
    first : int
        The first label.
    boosts : array of shape (n,)
        Factors of the cost of documents that have each label.
    curvature : bool
        Whether to compute the curvature.
    n_threads : int
        Does not change the result.
    """
    n = weights.shape[1]
    sums = HingeSums(
        np.zeros(n), np.zeros(weights.shape), np.zeros(weights.shape) if curvature else None
    )
    native = kernel_name() == "native"
    fill = (_native if native else _scipy)(batch, first, n)

    def work(begin: int) -> None:
        at = slice(begin, min(begin + _TILE, n))
        fill(
            at, weights[:, at].astype(np.float32), boosts[at], sums.loss[at], sums.gradient[:, at],
            None if sums.curvature is None else sums.curvature[:, at],
        )  # fmt: skip

    tiles = range(0, n, _TILE)
    with ExitStack() as stack:
        if not native:
            stack.enter_context(one_blas_thread())
        if len(tiles) == 1:
            work(0)
        else:
            list(stack.enter_context(ThreadPoolExecutor(n_threads)).map(work, tiles))
    return sums


# fills in loss, gradient and curvature of the labels of a tile, from their weights and boosts
Fill = Callable[[slice, Array, Array, Array, Array, Array | None], None]


def _native(batch: Features, first: int, _n: int) -> Fill:
    from vbnmf.kernels import _native as native  # type: ignore[attr-defined,unused-ignore]

    given = (
        np.ascontiguousarray(batch.X.indptr, np.int64),
        np.ascontiguousarray(batch.X.indices, np.int32),
        np.ascontiguousarray(batch.X.data, np.float32),
        np.ascontiguousarray(batch.dense, np.float32),
        np.ascontiguousarray(batch.weight, np.float64),
        np.ascontiguousarray(batch.labels.indptr, np.int64),
        np.ascontiguousarray(batch.labels.indices, np.int32),
    )

    def fill(
        at: slice, weights: Array, boosts: Array, loss: Array, gradient: Array, bend: Array | None
    ) -> None:
        n = weights.shape[1]
        padded = np.zeros((len(weights), native.LANES), np.float32)
        padded[:, :n] = weights
        padded[-1, n:] = -2.0  # lanes of no label, all of whose documents are far from the margin
        of_lanes = np.ones(native.LANES, np.float32)
        of_lanes[:n] = boosts
        losses, slopes = np.zeros(native.LANES), np.zeros(padded.shape)
        bends = np.zeros(padded.shape if bend is not None else (0, native.LANES))
        native.add_hinge_sums(*given, first + at.start, of_lanes, padded, losses, slopes, bends)
        loss[:], gradient[:] = losses[:n], slopes[:, :n]
        if bend is not None:
            bend[:] = bends[:, :n]

    return fill


def _scipy(batch: Features, first: int, n: int) -> Fill:
    rows = np.flatnonzero(batch.weight > 0)
    if len(rows) < len(batch.weight):
        batch = Features(batch.X[rows], batch.dense[rows], batch.labels[rows], batch.weight[rows])
    by_term = batch.X.T.tocsr()
    has = sparse.csc_array(batch.labels[:, first : first + n])

    def fill(
        at: slice, weights: Array, boosts: Array, loss: Array, gradient: Array, bend: Array | None
    ) -> None:
        sign = has[:, at].toarray().astype(np.float32) * 2 - 1
        short = np.maximum(1 - sign * _scores(batch, weights), 0)
        cost = np.where(sign > 0, boosts, 1) * batch.weight[:, None]
        loss[:] = (cost * short**2).sum(axis=0)
        _back(batch, by_term, -2 * cost * sign * short, gradient, squared=False)
        if bend is not None:
            _back(batch, by_term, 2 * cost * (short > 0), bend, squared=True)

    return fill


def scores(batch: Features, weights: Array) -> Array:
    """Compute the scores of documents, (n_docs, n_labels) in float32, from all weights."""
    out = np.empty((len(batch.weight), weights.shape[1]), np.float32)
    with one_blas_thread():
        for begin in range(0, weights.shape[1], _TILE):
            at = slice(begin, begin + _TILE)
            out[:, at] = _scores(batch, weights[:, at].astype(np.float32))
    return out


def _scores(batch: Features, weights: Array) -> Array:
    n_terms = batch.X.shape[1]
    found = batch.X @ np.ascontiguousarray(weights[:n_terms])
    return np.asarray(found + batch.dense @ weights[n_terms:-1] + weights[-1])


def _back(
    batch: Features, by_term: sparse.csr_array, of_docs: Array, out: Array, *, squared: bool
) -> None:
    """Add values of documents, (n_docs, n), times features or their squares, to ``out``."""
    n_terms, dense = batch.X.shape[1], batch.dense
    if squared:
        shape = by_term.shape
        by_term = sparse.csr_array((by_term.data**2, by_term.indices, by_term.indptr), shape=shape)
        dense = dense**2
    out[:n_terms] = by_term @ of_docs
    out[n_terms:-1] = dense.T @ of_docs
    out[-1] = of_docs.sum(axis=0)


Evaluate = Callable[[Array, int, bool], HingeSums]
"""Function that returns the sums over all documents.

Arguments: weights (n_features, n), the first label, and whether to compute the curvature.
"""


class Solved(NamedTuple):
    """Machines trained on all documents.

    Attributes
    ----------
    weights : ndarray of float32 of shape (n_features, n_labels)
    n_passes : int
        Passes over all documents.
    converged : bool
        Whether all blocks of labels converged.
    """

    weights: Array
    n_passes: int
    converged: bool


def solve(
    start: Array, evaluate: Evaluate, report: Callable[[int, int], None] | None = None
) -> Solved:
    """Minimise the objective of all labels, a block at a time.

    A block has converged when an iteration decreases its objective by less than ``TOL`` of it. In
    addition to the weights, memory holds about 30 float64 arrays of the size of a block.

    Parameters
    ----------
    start : array of float32 of shape (n_features, n_labels)
        Initial weights.
    evaluate : callable
        Sums over all documents.
    report : callable or None
        Called with the number of iterations that are done, and with their maximum.
    """
    n_features, n_labels = start.shape
    size = max(1, BLOCK_WEIGHTS // n_features)
    size -= size % _TILE if size > _TILE else 0
    found, n_passes, converged = start.copy(), 0, True
    starts = range(0, n_labels, size)
    for number, first in enumerate(starts):
        at = slice(first, first + size)
        so_far = number * MOST_ITERATIONS

        def told(done: int, so_far: int = so_far) -> None:
            if report is not None:
                report(so_far + done, len(starts) * MOST_ITERATIONS)

        found[:, at], passes, ended = _solve_block(found[:, at], first, evaluate, told)
        n_passes += passes
        converged &= ended
    return Solved(found, n_passes, converged)


def _solve_block(
    start: Array, first: int, evaluate: Evaluate, report: Callable[[int], None]
) -> tuple[Array, int, bool]:
    shape = start.shape
    begun = evaluate(start, first, True)
    assert begun.curvature is not None
    scale = 1 / np.sqrt(1 + begun.curvature)
    del begun
    done = 0

    def objective(free: Array) -> tuple[float, Array]:
        weights = free.reshape(shape) * scale
        sums = evaluate(weights, first, False)
        value = float(sums.loss.sum() + dot(weights, weights) / 2)
        gradient = np.add(sums.gradient, weights, out=weights)
        gradient *= scale
        return value, gradient.ravel()

    def after(_: Array) -> None:
        nonlocal done
        done += 1
        report(done)

    with one_blas_thread():
        result = minimize(
            objective,
            (start / scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=after,
            options={"maxcor": _MEMORY, "maxiter": MOST_ITERATIONS, "ftol": TOL, "gtol": 0.0},
        )
    return (result.x.reshape(shape) * scale).astype(np.float32), result.nfev + 1, result.success
