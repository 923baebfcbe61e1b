"""From evidence for components to labels: a logistic regression.

With one label a document probabilities sum to one; with several, each label has its own, and a
label is given where its probability passes a threshold. What the evidence is: ``evidence``.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from vbnmf.core.model import Array

_PENALTY = 10.0  # chosen on held-out training documents: docs/deviations.md
_MAX_ITER = 300
_THRESHOLDS = np.linspace(0.1, 0.9, 33)
_FOLDS = 3
_ENOUGH = 50  # documents to choose a threshold by
_GOLDEN, _SPREAD = 0.6180339887498949, 1009.0  # what mixes documents into folds
CERTAIN = 20.0  # intercept of a label that all documents have


@dataclass(frozen=True)
class Head:
    """A fitted regression.

    Attributes
    ----------
    weights : ndarray of shape (n_labels, K)
    intercepts : ndarray of shape (n_labels,)
    multilabel : bool
    threshold : float
        Probability from which a label is given, where documents may have several.
    words : ndarray of shape (n_labels, n_terms), or (n_labels, 0)
        Weights of single words in documents of unit length, where they have any.
    """

    weights: Array
    intercepts: Array
    multilabel: bool = False
    threshold: float = 0.5
    words: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def probabilities(self, evidence: Array, documents: sparse.csr_array | None = None) -> Array:
        """Probabilities of the labels, (n_docs, n_labels), from evidence, (n_docs, K).

        ``documents`` of unit length, (n_docs, n_terms), are needed where words have weights.
        """
        # not a product by BLAS, which would be rounded by its number of threads
        scores = np.einsum("dk,lk->dl", evidence, self.weights) + self.intercepts
        if documents is not None:
            scores += documents @ self.words.T.astype(np.float64)
        return np.asarray(expit(scores) if self.multilabel else softmax(scores, axis=1))


def fit_head(
    evidence: Array, indicators: sparse.csr_array, weight: Array, *, multilabel: bool
) -> Head:
    """Train on evidence, (n_docs, K), labels, (n_docs, n_labels), and weights of documents.

    The evidence is centred in place.
    """
    n_labels, K = indicators.shape[1], evidence.shape[1]
    if n_labels == 1:
        return Head(np.zeros((1, K)), np.full(1, CERTAIN), multilabel)
    centre = np.einsum("d,dk->k", weight, evidence) / weight.sum()
    A, threshold = evidence, 0.5
    A -= centre
    with warnings.catch_warnings(), threadpool_limits(1):  # the same bits on any machine's BLAS
        warnings.simplefilter("ignore", UserWarning)  # it is a regression of two or more labels
        if multilabel:
            Y = indicators.toarray().astype(np.int64)
            weights, intercepts = _regressions(A, Y, weight)
            if len(A) >= _ENOUGH:
                threshold, _ = best_threshold(_left_out(A, Y, weight), Y, weight)
        else:
            weights, intercepts = _regression(A, indicators.indices, weight, n_labels)
        intercepts = intercepts - weights @ centre
    # by rows, as they come from a file: the order of a sum depends on it
    return Head(np.ascontiguousarray(weights), intercepts, multilabel, threshold)


def accuracy_left_out(
    evidence: Array, indicators: sparse.csr_array, weight: Array, fold: Array
) -> float:
    """Accuracy of regressions on the documents of folds they were not trained on."""
    right = np.zeros(len(weight))
    for number in np.unique(fold):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(train):
            head = fit_head(evidence[train], indicators[train], weight[train], multilabel=False)
            found = head.probabilities(evidence[test]).argmax(axis=1)
            right[test] = found == indicators[test].indices
    return float(np.average(right, weights=weight))


def folds(X: sparse.csr_array, n: int = 5) -> Array:
    """A fold for each document by what it says: one that is repeated is never split up."""
    mixed = np.modf(np.arange(1, X.shape[1] + 1) * _GOLDEN)[0]
    return (np.modf(X @ mixed * _SPREAD)[0] * n).astype(np.int64)


def _regression(A: Array, y: Array, weight: Array, n_labels: int) -> tuple[Array, Array]:
    """Weights, (n_labels, K), and intercepts of one regression for all labels that occur."""
    occur = np.unique(y)
    all_weights, all_intercepts = np.zeros((n_labels, A.shape[1])), np.full(n_labels, -CERTAIN)
    if len(occur) == 1:
        all_intercepts[occur] = CERTAIN
        return all_weights, all_intercepts
    fitted = LogisticRegression(C=_PENALTY, max_iter=_MAX_ITER).fit(A, y, sample_weight=weight)
    weights, intercepts = fitted.coef_, fitted.intercept_
    if len(weights) == 1:  # scikit-learn keeps one row for two labels
        weights = np.vstack([np.zeros_like(weights), weights])
        intercepts = np.concatenate([[0.0], intercepts])
    all_weights[occur], all_intercepts[occur] = weights, intercepts
    return all_weights, all_intercepts


def _regressions(A: Array, Y: Array, weight: Array) -> tuple[Array, Array]:
    """Weights, (n_labels, K), and intercepts of a regression for each label."""
    weights, intercepts = np.zeros((Y.shape[1], A.shape[1])), np.zeros(Y.shape[1])
    for label, y in enumerate(Y.T):
        if y.min() == y.max():
            intercepts[label] = CERTAIN if y.all() else -CERTAIN
        else:
            both, intercept = _regression(A, y, weight, 2)
            weights[label], intercepts[label] = both[1], intercept[1]
    return weights, intercepts


def _left_out(A: Array, Y: Array, weight: Array) -> Array:
    """Probabilities of documents by regressions that did not see them."""
    left_out = np.zeros(Y.shape)
    # shuffled, because documents often come by label
    for train, test in KFold(_FOLDS, shuffle=True, random_state=0).split(A):
        weights, intercepts = _regressions(A[train], Y[train], weight[train])
        left_out[test] = expit(A[test] @ weights.T + intercepts)
    return left_out


def best_threshold(P: Array, Y: Array, weight: Array) -> tuple[float, float]:
    """The threshold of the best micro F1 on documents left out, and that F1."""
    scores = [
        f1_score(Y, least <= P, average="micro", sample_weight=weight, zero_division=0)
        for least in _THRESHOLDS
    ]
    best = int(np.argmax(scores))
    return float(_THRESHOLDS[best]), float(scores[best])
