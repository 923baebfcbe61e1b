"""Score predicted labels, for ``evaluate``, the page, ``tune`` and the benchmarks.

    recall    = part of a label's documents that were predicted as this label
    precision = part of the documents predicted as a label that have it
    F1        = 2 · precision · recall / (precision + recall)

A macro score is the mean over the labels that at least one document has.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
)
from sklearn.utils.multiclass import unique_labels

from vbnmf.core.model import Array
from vbnmf.metrics.calibration import calibration_error


@dataclass(frozen=True, eq=False)
class PredictionScores:
    """Scores of predicted labels.

    Attributes
    ----------
    multilabel : bool
        Whether documents may have several labels.
    n_docs : int
        Number of documents.
    labels : ndarray of shape (n_labels,)
        The labels in the order of the arrays below; indices of columns if documents may have
        several labels.
    accuracy : float
        Part of the documents whose label, or whole set of labels, was predicted.
    macro_accuracy : float
        Mean recall over labels, also called balanced accuracy.
    micro_f1 : float
        F1 over all pairs of document and label. It equals the accuracy if each document has one
        label.
    macro_f1 : float
        Mean F1 over labels.
    standard_error : float
        Standard error of ``micro_f1``, at least 1 / n_docs.
    support : ndarray of int of shape (n_labels,)
        Number of documents that have each label.
    recall : ndarray of shape (n_labels,)
        Recall of each label; NaN if no document has the label.
    precision : ndarray of shape (n_labels,)
        Precision of each label; NaN if no document was predicted as this label.
    f1 : ndarray of shape (n_labels,)
        F1 of each label; 0 if it is not defined.
    confusion : ndarray of int of shape (n_labels, n_labels), or None
        Number of documents by label (rows) and predicted label (columns). None if documents may
        have several labels.
    """

    multilabel: bool
    n_docs: int
    labels: Array
    accuracy: float
    macro_accuracy: float
    micro_f1: float
    macro_f1: float
    standard_error: float
    support: Array
    recall: Array
    precision: Array
    f1: Array
    confusion: Array | None

    @property
    def macro(self) -> float:
        """Macro F1 if documents may have several labels, otherwise macro accuracy."""
        return self.macro_f1 if self.multilabel else self.macro_accuracy


@dataclass(frozen=True, eq=False)
class ProbabilityScores:
    """Scores of predicted probabilities.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        Probability of the most probable label of each document. If documents may have several
        labels: of each pair of document and label.
    right : ndarray of bool of shape (n,)
        Whether the label is a true label of the document.
    calibration_error : float
        See ``calibration_error``.
    log_loss : float or None
        Mean of -ln p over documents, where p is the probability of the true label. If documents may
        have several labels: mean over pairs of document and label. None if a document has a label
        without probability.
    """

    probability: Array
    right: Array
    calibration_error: float
    log_loss: float | None


def score_predictions(y_true: Any, y_pred: Any, labels: Any = None) -> PredictionScores:
    """Score predicted labels of documents.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_docs,), or indicators of shape (n_docs, n_labels)
        True and predicted labels, as in the functions of ``sklearn.metrics``.
    labels : array-like of shape (n_labels,) or None, default=None
        The labels to list, if each document has one label. None lists all labels that occur.

    Returns
    -------
    PredictionScores
        The scores.

    Examples
    --------
    >>> from vbnmf.metrics import score_predictions
    >>> scores = score_predictions(["a", "a", "a", "b"], ["a", "a", "b", "b"])
    >>> scores.accuracy, round(scores.macro_accuracy, 3), scores.precision.tolist()
    (0.75, 0.833, [1.0, 0.5])
    """
    multilabel = np.ndim(y_true) == 2 or sparse.issparse(y_true)
    if multilabel:
        labels = np.arange(y_true.shape[1])
    else:
        labels = np.asarray(unique_labels(y_true, y_pred) if labels is None else labels)
    precision, recall, f1, support = precision_recall_fscore_support(
        y_true, y_pred, labels=labels, zero_division=np.nan
    )
    f1 = np.nan_to_num(f1)
    had = support > 0
    accuracy = float(accuracy_score(y_true, y_pred))
    micro = accuracy
    if multilabel:
        micro = float(f1_score(y_true, y_pred, average="micro", zero_division=0.0))
    return PredictionScores(
        multilabel=multilabel,
        n_docs=y_true.shape[0] if multilabel else len(y_true),
        labels=labels,
        accuracy=accuracy,
        macro_accuracy=float(recall[had].mean()),
        micro_f1=micro,
        macro_f1=float(f1[had].mean()),
        standard_error=_standard_error(y_true, y_pred, micro, multilabel=multilabel),
        support=support,
        recall=recall,
        precision=precision,
        f1=f1,
        confusion=None if multilabel else confusion_matrix(y_true, y_pred, labels=labels),
    )


def score_probabilities(y_true: Any, P: Array) -> ProbabilityScores:
    """Score predicted probabilities of labels.

    Parameters
    ----------
    y_true : ndarray of int of shape (n_docs,), or indicators of shape (n_docs, n_columns)
        Index of the label of each document, or an indicator matrix if documents may have several
        labels. Indices and columns outside those of P are labels without probability.
    P : ndarray of shape (n_docs, n_labels)
        Probability of each label.

    Returns
    -------
    ProbabilityScores
        The scores.

    Examples
    --------
    >>> from vbnmf.metrics import score_probabilities
    >>> P = np.array([[0.5, 0.5], [0.25, 0.75]])
    >>> round(score_probabilities(np.array([0, 1]), P).log_loss, 3)
    0.49
    """
    n_docs, n_labels = P.shape
    if np.ndim(y_true) == 2 or sparse.issparse(y_true):
        Y = sparse.csr_array(y_true).toarray() > 0
        all_known = not Y[:, n_labels:].any()
        right, probability = Y[:, :n_labels].ravel(), P.ravel()
        loss = log_loss(right, probability, labels=[False, True]) if all_known else None
    else:
        y = np.asarray(y_true)
        all_known = bool(((y >= 0) & (y < n_labels)).all())
        right, probability = P.argmax(axis=1) == y, P.max(axis=1)
        loss = None
        if all_known and n_labels == 1:
            loss = float(-np.log(P[np.arange(n_docs), y]).mean())
        elif all_known:
            loss = log_loss(y, P / P.sum(axis=1, keepdims=True), labels=np.arange(n_labels))
    error = calibration_error(probability, right)
    return ProbabilityScores(probability, right, error, None if loss is None else float(loss))


def _standard_error(y_true: Any, y_pred: Any, micro: float, *, multilabel: bool) -> float:
    """Compute the standard error of micro F1, which is a ratio of sums over documents."""
    if multilabel:
        Y, Z = (sparse.csr_array(y).astype(np.float64) for y in (y_true, y_pred))
        hits = 2 * np.asarray((Y * Z).sum(axis=1)).ravel()
        sizes = np.asarray(Y.sum(axis=1) + Z.sum(axis=1)).ravel()
    else:
        hits = 2.0 * (np.asarray(y_true) == np.asarray(y_pred))
        sizes = np.full(len(hits), 2.0)
    error = np.sqrt(np.square(hits - micro * sizes).sum()) / max(sizes.sum(), 1.0)
    return float(max(error, 1 / len(hits)))
