"""From coefficients to labels: a logistic regression on documents projected without their labels.

Coefficients of training knew the labels, those of new documents do not; the regression is therefore
trained on training documents projected as new ones are. A document is taken by the square roots of
its coefficients scaled to length one, so that its length does not matter and no component drowns
the others. With one label a document probabilities sum to one; with several, each label has its
own, and a label is given where its probability passes a threshold.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from vbnmf.core.model import Array

# This and the scaling were chosen on held-out training documents: docs/deviations.md.
_PENALTY = 10.0
_MAX_ITER = 300
_THRESHOLDS = np.linspace(0.1, 0.9, 33)
_FOLDS = 3
_CERTAIN = 20.0  # intercept of a label that all documents have


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
    """

    weights: Array
    intercepts: Array
    multilabel: bool = False
    threshold: float = 0.5

    def probabilities(self, V: Array) -> Array:
        """Probabilities of the labels, (n_docs, n_labels), of documents by their coefficients."""
        # not a product by BLAS, which would be rounded by its number of threads
        scores = np.einsum("dk,lk->dl", features(V), self.weights) + self.intercepts
        return np.asarray(expit(scores) if self.multilabel else softmax(scores, axis=1))


def fit_head(V: Array, indicators: sparse.csr_array, *, multilabel: bool) -> Head:
    """Train on coefficients, (n_docs, K), and labels, (n_docs, n_labels), of documents."""
    n_labels = indicators.shape[1]
    if n_labels == 1:
        return Head(np.zeros((1, V.shape[1])), np.full(1, _CERTAIN), multilabel)
    A = features(V)
    regression = LogisticRegression(C=_PENALTY, max_iter=_MAX_ITER)
    with warnings.catch_warnings(), threadpool_limits(1):  # the same bits on any machine's BLAS
        warnings.simplefilter("ignore", UserWarning)  # it is a regression of two or more labels
        if multilabel:
            return _fit_several(A, indicators.toarray().astype(int), regression)
        regression.fit(A, indicators.indices)
    weights, intercepts = regression.coef_, regression.intercept_
    if n_labels == 2:  # scikit-learn keeps one row for two labels
        weights = np.vstack([np.zeros_like(weights), weights])
        intercepts = np.concatenate([[0.0], intercepts])
    # by rows, as they come from a file: the order of a sum depends on it
    return Head(np.ascontiguousarray(weights, np.float64), np.asarray(intercepts, np.float64))


def features(V: Array) -> Array:
    """Square roots of coefficients, each document scaled to length one; (n_docs, K)."""
    return np.asarray(normalize(np.sqrt(np.asarray(V, dtype=np.float64))))


def _fit_several(A: Array, Y: Array, regression: LogisticRegression) -> Head:
    """A regression for each label, and the threshold that does best on documents left out."""
    each = OneVsRestClassifier(regression)
    weights, intercepts = np.zeros((Y.shape[1], A.shape[1])), np.zeros(Y.shape[1])
    for label, fitted in enumerate(each.fit(A, Y).estimators_):
        if hasattr(fitted, "coef_"):
            weights[label], intercepts[label] = fitted.coef_[0], fitted.intercept_[0]
    intercepts[Y.min(axis=0) == 1] = _CERTAIN
    intercepts[Y.max(axis=0) == 0] = -_CERTAIN
    threshold = 0.5
    if len(A) >= 2 * _FOLDS:
        folds = KFold(_FOLDS, shuffle=True, random_state=0)  # documents often come by label
        left_out = cross_val_predict(each, A, Y, cv=folds, method="predict_proba")
        scores = [f1_score(Y, left_out >= t, average="micro", zero_division=0) for t in _THRESHOLDS]
        threshold = float(_THRESHOLDS[int(np.argmax(scores))])
    return Head(weights, intercepts, multilabel=True, threshold=threshold)
