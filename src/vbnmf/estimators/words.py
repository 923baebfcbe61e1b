"""Labels by components first and by single words for the rest: a linear support vector machine.

    s_dl = b_l + Σ_k w_lk e_dk + Σ_w u_lw x_dw / ‖x_d‖

What components say of a document is the evidence e; documents of training are scored as if they had
been left out (``evidence``). Its columns are standardised and take part with ``COMPONENT_SIZE``
beside a document of unit length. The penalty on the weights makes words the dearer of the two, so
that they say what components cannot. Scores become probabilities by a temperature and biases (with
several labels a document: a slope and an intercept for each label) that suit scores of documents
left out.
"""

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from vbnmf.core.clusters import of_unit_length
from vbnmf.core.model import Array
from vbnmf.estimators import generative
from vbnmf.estimators.heads import CERTAIN, Head, best_threshold, folds

COMPONENT_SIZE = 0.1
"""Standard deviation of the evidence for each component beside documents of length one."""

MOST_WEIGHTS = 50_000_000
"""Weights of words are learned for up to so many labels times terms,"""

MOST_EVIDENCE = 100_000_000
"""and for up to so many documents times components."""

LEAST_DOCUMENTS = 50
"""Fewer tell too little of how sure scores are."""

_FOLDS = 3
_USUAL_TEMPERATURE = 3.0  # of scores of support vector machines
_MAX_ITER = 3000
_TOL, _TOL_OF_FOLDS = 1e-3, 1e-1  # scores for calibration need not be exact
_TINY = np.finfo(float).tiny


def has_room(n_docs: int, n_terms: int, n_labels: int, K: int) -> bool:
    """Whether weights of words fit into memory, and there is something to tell apart."""
    return 1 < n_labels <= MOST_WEIGHTS / n_terms and n_docs * K <= MOST_EVIDENCE


def fit_words(
    evidence: Array,
    X: sparse.csr_array,
    indicators: sparse.csr_array,
    weight: Array,
    *,
    multilabel: bool,
) -> tuple[Head, float] | None:
    """Train on documents, and return the head and its accuracy on documents left out.

    Parameters
    ----------
    evidence : array of shape (n_docs, K)
        Evidence of the documents, each as if it had been left out.
    X : csr_array of shape (n_docs, n_terms)
        The documents.
    indicators : csr_array of shape (n_docs, n_labels)
        Their labels.
    weight : array of shape (n_docs,)
        How many documents each one counts as.
    multilabel : bool
        Whether documents may have several labels.

    Returns
    -------
    (Head, float) or None
        None where there are too few documents to leave some out, or where it is right about fewer
        of them than the commonest label is.
    """
    K = evidence.shape[1]
    centre = np.average(evidence, axis=0, weights=weight)
    spread = np.sqrt(np.average((evidence - centre) ** 2, axis=0, weights=weight))
    size = COMPONENT_SIZE / np.maximum(spread, _TINY) * (spread > 0)
    features = sparse.csr_array(
        sparse.hstack([sparse.csr_array((evidence - centre) * size), of_unit_length(X)])
    )
    # LinearSVC takes no other kind of index
    features.indices, features.indptr = (
        a.astype(np.int32) for a in (features.indices, features.indptr)
    )
    fold = folds(X, _FOLDS)
    if min(np.bincount(fold, minlength=_FOLDS)) == 0 or len(fold) < LEAST_DOCUMENTS:
        return None
    machine = _one_for_each if multilabel else _one_for_all
    scores = np.empty(indicators.shape)
    with threadpool_limits(1):
        weights, intercepts = machine(features, indicators, weight, _TOL)
        # one after another: the random numbers of liblinear belong to the whole process
        for number in range(_FOLDS):
            rows, held = fold != number, fold == number
            found, constant = machine(features[rows], indicators[rows], weight[rows], _TOL_OF_FOLDS)
            # not by BLAS, which rounds by its number of threads
            scores[held] = np.asarray(features[held] @ found.T) + constant
    calibrate = _calibrate_each if multilabel else _calibrate_all
    slopes, shifts, accuracy, threshold = calibrate(scores, indicators, weight)
    commonest = (weight @ indicators).max() / weight.sum()
    if accuracy < commonest and not multilabel:
        return None  # no better than to say the commonest label
    never = np.flatnonzero(np.asarray(indicators.sum(axis=0)).ravel() == 0)
    shifts[never] -= CERTAIN
    weights = weights * slopes[:, None]
    of_components = weights[:, :K] * size
    head = Head(
        weights=np.ascontiguousarray(of_components),
        intercepts=intercepts * slopes + shifts - np.einsum("lk,k->l", of_components, centre),
        multilabel=multilabel,
        threshold=threshold,
        words=np.ascontiguousarray(weights[:, K:], dtype=np.float32),
    )
    return head, accuracy


def _one_for_all(
    A: sparse.csr_array, labels: sparse.csr_array, weight: Array, tol: float
) -> tuple[Array, Array]:
    """Weights, (n_labels, n_features), and intercepts for documents of one label each.

    A label that none of them has gets the score of one that speaks against a document.
    """
    y = labels.indices
    occur = np.unique(y)
    weights, intercepts = np.zeros((labels.shape[1], A.shape[1])), np.full(labels.shape[1], -1.0)
    if len(occur) == 1:
        intercepts[occur] = CERTAIN
        return weights, intercepts
    fitted = _machine(tol).fit(A, y, sample_weight=weight)
    found, constant = fitted.coef_, fitted.intercept_
    if len(found) == 1:  # scikit-learn keeps one row for two labels
        found, constant = np.vstack([-found, found]), np.concatenate([-constant, constant])
    weights[occur], intercepts[occur] = found, constant
    return weights, intercepts


def _one_for_each(
    A: sparse.csr_array, labels: sparse.csr_array, weight: Array, tol: float
) -> tuple[Array, Array]:
    """Weights, (n_labels, n_features), and intercepts where each label is there or not."""
    weights, intercepts = np.zeros((labels.shape[1], A.shape[1])), np.zeros(labels.shape[1])
    for label, y in enumerate(labels.toarray().T):
        if y.min() == y.max():
            intercepts[label] = CERTAIN if y.all() else -CERTAIN
        else:
            fitted = _machine(tol).fit(A, y > 0, sample_weight=weight)
            weights[label], intercepts[label] = fitted.coef_[0], fitted.intercept_[0]
    return weights, intercepts


def _machine(tol: float) -> LinearSVC:
    # the dual is several times as fast here as the primal that "auto" would choose
    return LinearSVC(dual=True, tol=tol, random_state=0, max_iter=_MAX_ITER)


Calibrated = tuple[Array, Array, float, float]  # slopes and shifts by label, accuracy, threshold


def _calibrate_all(scores: Array, labels: sparse.csr_array, weight: Array) -> Calibrated:
    """One slope for all labels, and a shift for each."""
    y, n_labels = labels.indices, labels.shape[1]
    found = generative.calibrate(scores, np.zeros(n_labels), y, weight, usual=_USUAL_TEMPERATURE)
    right = found.probabilities(scores).argmax(axis=1) == y
    slopes = np.full(n_labels, found.temperature)
    return slopes, found.biases, float(np.average(right, weights=weight)), 0.5


def _calibrate_each(scores: Array, labels: sparse.csr_array, weight: Array) -> Calibrated:
    """A slope and a shift for each label (Platt, 1999)."""
    Y = labels.toarray() > 0
    slopes, shifts = np.ones(Y.shape[1]), np.zeros(Y.shape[1])
    for label, (s, y) in enumerate(zip(scores.T, Y.T, strict=True)):
        if y.any() and not y.all():
            fitted = LogisticRegression().fit(s[:, None], y, sample_weight=weight)
            slopes[label], shifts[label] = fitted.coef_[0, 0], fitted.intercept_[0]
    P = expit(scores * slopes + shifts)
    threshold, score = best_threshold(P, Y, weight)
    return slopes, shifts, score, threshold
