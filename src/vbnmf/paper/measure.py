"""Run one cell: fit, project, classify and measure. Also compute label maps.

Test documents are always projected with fixed components and without labels. The paper compares
them with the coefficients of training documents from the fit (``micro``, ``macro``). We also
compare them with training documents that are projected in the same way (``micro_projected``,
``macro_projected``). The stronger classifiers use projected training documents too.

The paper says only that its initialisation is random. Its algorithm extends that of Cemgil (2009),
which draws the factors from gamma distributions; see ``drawn_components``.

References
----------
A. T. Cemgil (2009). Bayesian inference for nonnegative matrix factorisation models. Computational
Intelligence and Neuroscience.
"""

import time
import warnings
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from vbnmf import hoyer_sparsity, inter_label_sparsity
from vbnmf.core.fit import Schedule
from vbnmf.core.model import Array
from vbnmf.estimators import VBNMF, SupervisedVBNMF
from vbnmf.estimators.base import BaseVBNMF
from vbnmf.paper.folds import Matrices
from vbnmf.paper.specification import Cell

Metrics = dict[str, float]

MAP_TERMS = 5  # terms in the name of a component, as in the paper
MOST_ITERATIONS = 300  # of logistic regression

_NONZEROS_AT_ONCE = 1 << 14  # whose K parts are held in memory
_TINY = 1e-12  # draws with small shapes may be zero


class ImpossibleError(ValueError):
    """Error about a cell that cannot be run on this corpus. The message has the reason."""


@dataclass(frozen=True)
class LabelMap:
    """A decomposition, as in Figures 4 and 5: how much each label uses each component.

    Attributes
    ----------
    labels : list of str
    components : list of str
        The top terms of each component.
    sums : list of lists, shape (n_labels, K)
        Coefficients summed by label, the matrix of (13).
    sparsity, inter_label_sparsity, micro : float
        Measures of the decomposition.
    """

    labels: list[str]
    components: list[str]
    sums: list[list[float]]
    sparsity: float
    inter_label_sparsity: float
    micro: float


def measure(cell: Cell, matrices: Matrices, threads: int) -> Metrics:
    """Run a cell.

    Raises
    ------
    ImpossibleError
        The corpus is too small for the cell.

    Warns
    -----
    ConvergenceWarning
        A classifier stopped before it converged.
    """
    begin = time.perf_counter()
    runs = {"pca": _pca, "svm": _svm}
    metrics = runs.get(cell.method, _factorise)(cell, matrices, threads)
    return metrics | {"seconds": time.perf_counter() - begin}


def label_map(cell: Cell, matrices: Matrices, threads: int) -> LabelMap:
    """Repeat a vbNMF cell, and return its label map."""
    model, V, _, metrics = _fitted(cell, matrices, threads)
    sums = np.zeros((len(matrices.labels), cell.dimension))
    np.add.at(sums, matrices.y, V)
    top = np.argsort(-model.components_, axis=1)[:, :MAP_TERMS]
    return LabelMap(
        matrices.labels.tolist(),
        [" ".join(matrices.terms[terms]) for terms in top],
        sums.tolist(),
        metrics["sparsity"],
        metrics["inter_label_sparsity"],
        metrics["micro"],
    )


def _pca(cell: Cell, matrices: Matrices, threads: int) -> Metrics:
    """Run centred PCA without making the matrix dense."""
    X = matrices.X.astype(np.float64)
    if cell.dimension >= min(X.shape):
        raise ImpossibleError(
            f"{cell.dimension} principal components of {X.shape[0]} documents × {X.shape[1]} terms"
        )
    begin = time.perf_counter()
    pca = PCA(cell.dimension, svd_solver="arpack", random_state=0).fit(X)
    seconds = time.perf_counter() - begin
    V, V_new = pca.transform(X), pca.transform(matrices.X_new.astype(np.float64))
    metrics = _accuracies("", _neighbours(V, matrices), V_new, matrices)
    # PCA projects all documents in the same way, so both comparisons are equal
    metrics |= {f"{name}_projected": value for name, value in metrics.items()}
    if cell.heads:
        metrics |= _heads(V, V_new, matrices)
    return metrics | {"seconds_fit": seconds}


def _svm(cell: Cell, matrices: Matrices, threads: int) -> Metrics:
    """Run a linear SVM on the weights of terms, scaled to length one."""
    X, X_new = matrices.X_full, matrices.X_new_full
    if cell.dimension:
        X, X_new = matrices.X, matrices.X_new
    svm = LinearSVC(random_state=0).fit(normalize(X), matrices.y)
    return _accuracies("_svm", svm, normalize(X_new), matrices)


def _factorise(cell: Cell, matrices: Matrices, threads: int) -> Metrics:
    model, _, V_new, metrics = _fitted(cell, matrices, threads)
    V = model.transform(matrices.X)
    metrics |= _accuracies("_projected", _neighbours(V, matrices), V_new, matrices)
    if cell.heads:
        metrics |= _heads(V, V_new, matrices)
    return metrics


class _PlainSweeps(BaseVBNMF):
    """A model that is fitted by the sweeps of the paper: none starts from an extrapolated state."""

    def _schedule(self, burn_in: Any) -> Schedule:
        return replace(super()._schedule(burn_in), extrapolate=False)


class _Supervised(_PlainSweeps, SupervisedVBNMF):
    """``SupervisedVBNMF``, fitted by the sweeps of the paper."""


class _Unsupervised(_PlainSweeps, VBNMF):
    """``VBNMF``, fitted by the sweeps of the paper."""


def _fitted(
    cell: Cell, matrices: Matrices, threads: int
) -> tuple[BaseVBNMF, Array, Array, Metrics]:
    """Fit a model; return it, the coefficients of training and new documents, and measures."""
    supervised = cell.method == "supervised"
    a_v = 1.0 if supervised else cell.parameter or 1.0
    start: Array | str = "random"
    if cell.start == "drawn":
        start = drawn_components(matrices.X, cell.dimension, a_v, cell.seed or 0)
    common: dict[str, Any] = {
        "n_components": cell.dimension,
        "coef_shape": a_v,
        "term_shape": cell.term_shape,
        "init": start,
        "max_iter": cell.iterations,
        "tol": 0,
        "burn_in": cell.burn_in,
        "random_state": cell.seed,
        "n_jobs": threads,
    }
    model: BaseVBNMF
    if supervised:
        model = _Supervised(**common | {"label_shape": cell.parameter, "scopes": "all"})
    else:
        model = _Unsupervised(**common)
    begin = time.perf_counter()
    V = model.fit_coefficients(matrices.X, matrices.y)
    seconds = time.perf_counter() - begin
    V_new = model.transform(matrices.X_new)
    return model, V, V_new, {
        **_accuracies("", _neighbours(V, matrices), V_new, matrices),
        "sparsity": hoyer_sparsity(V),
        "inter_label_sparsity": inter_label_sparsity(V, matrices.y),
        "learned_term_shape": model.hyperparameters_["term_shape"],
        "n_iter": model.n_iter_,
        "bound": model.bound_,
        "seconds_fit": seconds,
    }  # fmt: skip


def drawn_components(X: sparse.csr_matrix, K: int, a_v: float, seed: int) -> Array:
    """Compute components, (K, n_terms), by one update of randomly drawn factors.

    The factors are drawn as

        t_wk ~ Gamma(1, ·),   v_dk ~ Gamma(a_v, ·)

    The estimators can be initialised with components only. So the first update of S and T is made
    here:

        t_wk ← Σ_d x_dw t_wk v_dk / Σ_k' t_wk' v_dk'

    Parameters
    ----------
    X : csr_matrix of shape (n_docs, n_terms)
    K : int
        Number of components.
    a_v : float
        Shape of the distribution of V, the same as in its prior.
    seed : int
    """
    rng = np.random.default_rng(seed)
    n_docs, n_terms = X.shape
    T = rng.standard_gamma(1.0, (n_terms, K)) + _TINY
    V = rng.standard_gamma(a_v, (n_docs, K)) + _TINY
    sums = np.zeros((n_terms, K))
    by_term = X.tocsc()
    terms = np.repeat(np.arange(n_terms), np.diff(by_term.indptr))
    for begin in range(0, by_term.nnz, _NONZEROS_AT_ONCE):
        at = slice(begin, begin + _NONZEROS_AT_ONCE)
        parts = T[terms[at]] * V[by_term.indices[at]]
        parts *= (by_term.data[at] / parts.sum(axis=1))[:, None]
        first, n = terms[at][0], len(parts)
        # rows of a term are adjacent: add them up by a product with a 0/1 matrix
        gather = sparse.csr_matrix((np.ones(n), (terms[at] - first, np.arange(n))))
        sums[first : first + gather.shape[0]] += gather @ parts
    return sums.T


def _neighbours(V: Array, matrices: Matrices) -> KNeighborsClassifier:
    """Return the paper's classifier: k-NN with cosine similarity, k = √N, rounded down."""
    k = isqrt(len(matrices.y))
    return KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(V, matrices.y)


def _heads(V: Array, V_new: Array, matrices: Matrices) -> Metrics:
    """Run logistic regression and a linear SVM on coefficients scaled to length one."""
    V, V_new = normalize(V), normalize(V_new)
    # C = 10 and 1 were best among 0.1 to 1000 on held-out training documents
    logistic = LogisticRegression(C=10, max_iter=MOST_ITERATIONS).fit(V, matrices.y)
    svm = LinearSVC(C=1, dual=False).fit(V, matrices.y)
    return _accuracies("_logistic", logistic, V_new, matrices) | _accuracies(
        "_svm", svm, V_new, matrices
    )


def _accuracies(
    suffix: str, classifier: ClassifierMixin, V_new: Array, matrices: Matrices
) -> Metrics:
    """Compute micro- and macro-averaged accuracy on the documents to score."""
    predicted: NDArray[np.int64] = classifier.predict(V_new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels predicted that are not there
        return {
            f"micro{suffix}": float(accuracy_score(matrices.y_new, predicted)),
            f"macro{suffix}": float(balanced_accuracy_score(matrices.y_new, predicted)),
        }
