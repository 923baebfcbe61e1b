"""Train linear support vector machines, one against the rest, and score left-out documents.

    min  ‖w_l‖² / 2 + Σ_d weight_d boost_dl max(0, 1 − y_dl s_dl)²,    s_dl = w_l · (1, x_d, e_d)

boost_dl is one, except for the documents of a rare label in the machine of this label. There it is
greater, so that together they count as at least ``ENOUGH`` documents. Otherwise the documents
without the label would dominate.

The compiled kernel trains sixteen machines at a time (``kernels/native/machines.cpp``). Without it,
scikit-learn's ``LinearSVC`` solves the same problem. In addition, machines are trained without one
fold each. Their scores of the documents of this fold are used for calibration.

References
----------
Hsieh et al. (2008), A dual coordinate descent method for large-scale linear SVM.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import one_blas_thread
from vbnmf.kernels import kernel_name
from vbnmf.prediction.dividing import FOLDS

ENOUGH = 50
"""If a label has fewer documents than this, they have a greater weight in its machine."""

# An epoch visits each document once. Small corpora may take more epochs.
_EPOCHS, _VISITS = 2_000, 20_000_000

TOGETHER = 16
"""Number of machines that are trained at a time."""

_TOL, _TOL_OF_FOLDS = 0.05, 0.6  # largest gradient at the end; held-out scores only calibrate

Report = Callable[[int, int], None]


class Machines(NamedTuple):
    """Trained machines.

    Attributes
    ----------
    words : ndarray or csc_array of float32 of shape (n_labels, n_terms)
        Weights of the sparse features; sparse if there are many labels.
    dense : ndarray of float64 of shape (n_labels, n_dense)
        Weights of the dense features.
    intercepts : ndarray of float64 of shape (n_labels,)
    left_out : ndarray of float32 of shape (n_docs, n_labels)
        Scores of each document by the machines that were trained without its fold.
    growth : float
        Length of the weights of the machines that were trained on all documents, divided by that of
        the machines that were trained without a fold. With more documents, weights and scores are
        larger.
    converged : bool
        Whether all machines reached their tolerance in ``max_epochs`` passes over the documents.
    held : ndarray of int, or None
        The documents that ``left_out`` has rows of; None if they are all documents.
    """

    words: Any
    dense: Array
    intercepts: Array
    left_out: Array
    growth: float
    converged: bool
    held: Array | None = None


def boosts(labels: sparse.csr_array, weight: Array) -> Array:
    """Return the factor of the loss of documents with each label, (n_labels,), at least one."""
    return np.maximum(ENOUGH / np.maximum(weight @ labels, 1.0), 1.0)


def max_epochs(n_docs: int) -> int:
    """Return the maximum number of passes over this number of documents."""
    return max(_EPOCHS, _VISITS // max(n_docs, 1))


def train(
    X: sparse.csr_array,
    dense: Array,
    labels: sparse.csr_array,
    weight: Array,
    fold: Array,
    *,
    n_threads: int = 1,
    report: Report | None = None,
    known: Array | None = None,
    rough: bool = False,
) -> Machines:
    """Train a machine for each label, and one for each label and fold left out.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Sparse features.
    dense : array of shape (n_docs, n_dense)
        Dense features.
    labels : csr_array of shape (n_docs, n_labels)
        Indicators of the labels.
    weight : array of shape (n_docs,)
        Sample weights, greater than zero.
    fold : array of shape (n_docs,)
        Fold of each document, from 0 to ``FOLDS`` - 1.
    n_threads : int
        Does not change the result.
    report : callable or None
        Called with the amount of work that is done, and with the total amount.
    known : array of shape (n_docs,) or None
        Part of the length of each document that other folds know. The sparse features of a new
        document have unit length without those that are unknown. So the sparse features of a
        left-out document are divided by this part. None means one.
    rough : bool
        Whether only ``left_out`` is needed. Then the machines of all documents are not more precise
        than those without a fold.
    """
    solve = _native if kernel_name() == "native" else _scikit_learn
    with one_blas_thread():
        stretched = stretch(known, len(fold))
        tol = _TOL_OF_FOLDS if rough else _TOL
        task = _Task(X, dense, labels, weight, fold, n_threads, report, stretched, tol)
        weights, left_out, squares, converged = solve(task)
    if (fold == fold[:1]).all():  # no other fold to learn from: scores are rounding errors
        left_out[:], squares[1] = 0, 0
    n_terms = X.shape[1]
    return Machines(
        np.ascontiguousarray(weights[:, :n_terms]),
        np.ascontiguousarray(weights[:, n_terms:-1], dtype=np.float64),
        weights[:, -1].astype(np.float64),
        left_out,
        1.0 if not squares.all() else float(np.sqrt(squares[0] / squares[1])),
        converged,
    )


class _Task(NamedTuple):
    """Arguments of ``train``."""

    X: sparse.csr_array
    dense: Array
    labels: sparse.csr_array
    weight: Array
    fold: Array
    n_threads: int
    report: Report | None
    stretch: Array  # factor of the sparse features of each document, when it is left out
    tol: float  # of the machines of all documents


def stretch(known: Array | None, n_docs: int) -> Array:
    """Return the factor of the sparse features of left-out documents, (n_docs,) in float32."""
    known = np.ones(n_docs) if known is None else known
    factor = np.divide(1.0, known, out=np.ones(n_docs), where=known > 0)
    return factor.astype(np.float32)


# weights with the intercept last, left-out scores, sums of squared weights of all documents and in
# the mean over folds, whether all converged
Solved = tuple[Array, Array, Array, bool]


def _native(task: _Task) -> Solved:
    X, dense, labels, weight, fold, n_threads, report, stretched, tol_of_all = task
    from vbnmf.kernels import _native as native  # type: ignore[attr-defined,unused-ignore]

    n_labels = labels.shape[1]
    weights = np.zeros((n_labels, X.shape[1] + dense.shape[1] + 1), np.float32)
    alpha, left_out = (np.zeros(labels.shape, np.float32) for _ in range(2))
    features = _features(X, dense, labels, weight, fold)
    boost = boosts(labels, weight).astype(np.float32)

    def run(tile: tuple[Array, Array, float]) -> tuple[bool, Array]:
        label, without, tol = tile
        squares = np.zeros(native.LANES)
        gap = native.train_machines(
            *features,
            tol,
            max_epochs(X.shape[0]),
            label,
            without,
            boost[label],
            stretched,
            weights,
            alpha,
            left_out,
            squares,
        )
        by_kind = [squares[without < 0].sum(), squares[without >= 0].sum() / FOLDS]
        return bool(gap <= tol), np.array(by_kind)

    every, number = np.arange(n_labels), np.arange(FOLDS)
    of_all = _tiles(every, np.full(n_labels, -1), tol_of_all, native.LANES)
    # machines of one label together: they need the same documents, and skip the same
    of_folds = _tiles(
        np.repeat(every, FOLDS), np.tile(number, n_labels), _TOL_OF_FOLDS, native.LANES
    )
    converged, squares, done = True, np.zeros(2), 0
    with ThreadPoolExecutor(n_threads) as pool:
        for tiles in (of_all, of_folds):  # machines that leave out a fold begin with those of all
            for ended, of_tile in pool.map(run, tiles):
                converged &= ended
                squares += of_tile
                done += 1
                if report is not None:
                    report(done, len(of_all) + len(of_folds))
    return weights, left_out, squares, converged


def _features(
    X: sparse.csr_array, dense: Array, labels: sparse.csr_array, weight: Array, fold: Array
) -> tuple[Array, ...]:
    """Return the arguments of the kernel that describe documents."""
    return (
        np.ascontiguousarray(X.indptr, np.int64),
        np.ascontiguousarray(X.indices, np.int32),
        np.ascontiguousarray(X.data, np.float32),
        np.ascontiguousarray(dense, dtype=np.float32),
        np.ascontiguousarray(weight, np.float64),
        np.ascontiguousarray(labels.indptr, np.int64),
        np.ascontiguousarray(labels.indices, np.int32),
        np.ascontiguousarray(fold, np.int32),
    )


def solve_together(
    X: sparse.csr_array, dense: Array, labels: sparse.csr_array, weight: Array
) -> tuple[Array, bool]:
    """Train the machines of at most ``TOGETHER`` labels on all documents.

    Parameters are as for ``train``. Returns weights, (n_labels, n_features + 1) with the intercept
    last, and whether all machines converged.
    """
    n_labels = labels.shape[1]
    if kernel_name() != "native":
        A = _stacked(X, dense)
        solved = [
            _one_machine(A, y, np.where(y, boost * weight, weight), _TOL)
            for y, boost in zip(labels.toarray().T > 0, boosts(labels, weight), strict=True)
        ]
        return np.array([found for found, _ in solved]), all(ended for _, ended in solved)
    from vbnmf.kernels import _native as native  # type: ignore[attr-defined,unused-ignore]

    n_docs = X.shape[0]
    weights = np.zeros((n_labels, X.shape[1] + dense.shape[1] + 1), np.float32)
    alpha, scores = (np.zeros((n_docs, n_labels), np.float32) for _ in range(2))
    ((label, without, tol),) = _tiles(
        np.arange(n_labels), np.full(n_labels, -1), _TOL, native.LANES
    )
    gap = native.train_machines(
        *_features(X, dense, labels, weight, np.zeros(n_docs)), tol, max_epochs(n_docs), label,
        without, boosts(labels, weight).astype(np.float32)[label], stretch(None, n_docs), weights,
        alpha, scores, np.zeros(native.LANES),
    )  # fmt: skip
    return weights, bool(gap <= tol)


def solve(
    X: sparse.csr_array, dense: Array, labels: sparse.csr_array, weight: Array, n_threads: int
) -> tuple[Array, bool]:
    """Train the machines of all labels on all documents, as ``solve_together`` does for some."""
    by_label = sparse.csc_array(labels)
    tiles = [by_label[:, at : at + TOGETHER] for at in range(0, labels.shape[1], TOGETHER)]
    threads = n_threads if kernel_name() == "native" else 1  # liblinear: one after another

    def run(some: sparse.csc_array) -> tuple[Array, bool]:
        return solve_together(X, dense, sparse.csr_array(some), weight)

    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        solved = list(pool.map(run, tiles))
    return np.concatenate([found for found, _ in solved]), all(ended for _, ended in solved)


def _stacked(X: sparse.csr_array, dense: Array) -> sparse.csr_matrix:
    """Return all features in one matrix, with the integers that scikit-learn needs."""
    A = sparse.csr_matrix(sparse.hstack([X, sparse.csr_array(dense)]), dtype=np.float64)
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    return A


def _tiles(label: Array, without: Array, tol: float, size: int) -> list[tuple[Array, Array, float]]:
    """Divide machines into tiles of the same size; -1 means no machine."""
    n = -(-len(label) // size)
    label, without = (
        np.pad(a, (0, n * size - len(a)), constant_values=-1).astype(np.int32).reshape(n, size)
        for a in (label, without)
    )
    return [(label[i], without[i], tol) for i in range(n)]


def _scikit_learn(task: _Task) -> Solved:
    X, dense, labels, weight, fold, _, report, stretched, tol = task
    # one after another: the random numbers of liblinear belong to the whole process
    A = _stacked(X, dense)
    weights = np.zeros((labels.shape[1], A.shape[1] + 1), np.float32)
    left_out = np.zeros(labels.shape, np.float32)
    converged, squares = True, np.zeros(2)
    for label, boost in enumerate(boosts(labels, weight)):
        y = labels[:, [label]].toarray().ravel() > 0
        cost = np.where(y, boost * weight, weight)
        weights[label], ended = _one_machine(A, y, cost, tol)
        converged &= ended
        squares[0] += (weights[label, :-1] ** 2).sum()
        for number in range(FOLDS):
            rows, held = fold != number, fold == number
            found, ended = _one_machine(A[rows], y[rows], cost[rows], _TOL_OF_FOLDS)
            converged &= ended
            squares[1] += (found[:-1] ** 2).sum() / FOLDS
            by_words = stretched[held] * (X[held] @ found[: X.shape[1]])
            left_out[held, label] = by_words + dense[held] @ found[X.shape[1] : -1] + found[-1]
        if report is not None:
            report(label + 1, labels.shape[1])
    return weights, left_out, squares, converged


def _one_machine(A: sparse.csr_matrix, y: Array, weight: Array, tol: float) -> tuple[Array, bool]:
    from sklearn.exceptions import ConvergenceWarning  # slow to import, and not needed to predict
    from sklearn.svm import LinearSVC

    if y.all() or not y.any():  # scikit-learn needs both classes
        constant = 1.0 if y.all() else -1.0
        return np.append(np.zeros(A.shape[1]), constant), True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the caller is told by the result
        # the dual is several times as fast here as the primal that "auto" would choose
        machine = LinearSVC(dual=True, tol=tol, random_state=0, max_iter=max_epochs(len(y)))
        machine.fit(A, y, sample_weight=weight)
    found = np.append(machine.coef_[0], machine.intercept_[0])
    return found, bool(machine.n_iter_ < max_epochs(len(y)))
