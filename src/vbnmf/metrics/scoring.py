"""Score predicted labels, for ``evaluate``, the page, ``tune`` and the benchmarks.

    recall    = part of a label's documents that were predicted as this label
    precision = part of the documents predicted as a label that have it
    F1        = 2 · precision · recall / (precision + recall)

A macro score is the mean over the labels that at least one document has.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    log_loss,
    multilabel_confusion_matrix,
)
from sklearn.utils.multiclass import unique_labels

from vbnmf.core.model import Array
from vbnmf.metrics.calibration import bin_sums, error_of_bins


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

    Examples
    --------
    >>> from vbnmf.metrics import score_predictions
    >>> scores = score_predictions(["a", "a", "a", "b"], ["a", "a", "b", "b"])
    >>> scores.confusion.tolist()
    [[2, 1], [0, 1]]
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

    Examples
    --------
    >>> from vbnmf.metrics import score_probabilities
    >>> scores = score_probabilities(np.array([0, 1]), np.array([[0.6, 0.4], [0.3, 0.7]]))
    >>> scores.right.tolist(), scores.probability.tolist()
    ([True, True], [0.6, 0.7])
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
    tally = PredictionTally.of(y_true, y_pred, labels)
    scores = tally.scores(labels)
    if multilabel:
        return scores
    if len(labels) == 1:  # scikit-learn warns of a single one
        return replace(scores, confusion=tally.hits[:, None])
    return replace(scores, confusion=confusion_matrix(y_true, y_pred, labels=labels))


@dataclass(frozen=True, eq=False)
class PredictionTally:
    """Counts of predictions; those of several parts of the documents are added with ``+``.

    Attributes
    ----------
    multilabel : bool
        Whether documents may have several labels.
    n_docs, exact : int
        Number of documents, and of those whose label, or whole set of labels, was predicted.
    support, predicted, hits : ndarrays of int of shape (n_labels,)
        Documents that have each label, that were predicted as it, and both.
    moments : ndarray of shape (3,)
        Sums of squares and products for the standard error of micro F1.
    """

    multilabel: bool
    n_docs: int
    exact: int
    support: Array
    predicted: Array
    hits: Array
    moments: Array

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, labels: Array) -> Self:
        """Count the predictions of at least one document; see ``score_predictions``."""
        multilabel = np.ndim(y_true) == 2 or sparse.issparse(y_true)
        (_, wrong), (missed, hits) = np.moveaxis(
            multilabel_confusion_matrix(y_true, y_pred, labels=labels), 0, -1
        )
        found, sizes = document_matches(y_true, y_pred)
        return cls(
            multilabel,
            len(found),
            int(accuracy_score(y_true, y_pred, normalize=False)),
            hits + missed,
            hits + wrong,
            hits,
            np.array([found @ found, found @ sizes, sizes @ sizes]),
        )

    def __add__(self, other: Self) -> Self:
        """Add the counts of other documents."""
        return replace(
            self,
            n_docs=self.n_docs + other.n_docs,
            exact=self.exact + other.exact,
            support=self.support + other.support,
            predicted=self.predicted + other.predicted,
            hits=self.hits + other.hits,
            moments=self.moments + other.moments,
        )

    def scores(self, labels: Array) -> PredictionScores:
        """Compute the scores, without the confusion matrix."""
        with np.errstate(invalid="ignore"):  # NaN where there is nothing to count
            recall, precision = self.hits / self.support, self.hits / self.predicted
        sizes = self.support + self.predicted
        f1 = 2 * self.hits / np.maximum(sizes, 1)
        had = self.support > 0
        accuracy = self.exact / self.n_docs
        total = float(sizes.sum()) if self.multilabel else 2.0 * self.n_docs
        micro = 2 * float(self.hits.sum()) / max(total, 1.0) if self.multilabel else accuracy
        of_hits, of_both, of_sizes = self.moments
        squares = max(of_hits - 2 * micro * of_both + micro**2 * of_sizes, 0.0)
        return PredictionScores(
            multilabel=self.multilabel,
            n_docs=self.n_docs,
            labels=labels,
            accuracy=accuracy,
            macro_accuracy=float(recall[had].mean()),
            micro_f1=micro,
            macro_f1=float(f1[had].mean()),
            standard_error=max(float(np.sqrt(squares)) / max(total, 1.0), 1 / self.n_docs),
            support=self.support,
            recall=recall,
            precision=precision,
            f1=f1,
            confusion=None,
        )


def document_matches(y_true: Any, y_pred: Any) -> tuple[Array, Array]:
    """Count the matches of each document whose sums over documents give micro F1, Σ a / Σ b.

    Parameters are as for ``score_predictions``. With one label per document, micro F1 is the
    accuracy.

    Returns
    -------
    a, b : ndarrays of shape (n_docs,)
        Twice the number of true labels that were predicted, and the number of true labels plus
        that of predicted labels.
    """
    if np.ndim(y_true) == 2 or sparse.issparse(y_true):
        Y, Z = (sparse.csr_array(y).astype(np.float64) for y in (y_true, y_pred))
        return (
            2 * np.asarray((Y * Z).sum(axis=1)).ravel(),
            np.asarray(Y.sum(axis=1) + Z.sum(axis=1)).ravel(),
        )
    found = 2.0 * (np.asarray(y_true) == np.asarray(y_pred))
    return found, np.full(len(found), 2.0)


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
    right, probability = _right(y_true, P)
    tally = ProbabilityTally.of(y_true, P)
    return ProbabilityScores(probability, right, tally.calibration_error, tally.log_loss)


@dataclass(frozen=True, eq=False)
class ProbabilityTally:
    """Sums over predicted probabilities; those of several parts are added with ``+``.

    Attributes
    ----------
    bins : ndarray of shape (n_bins, 3)
        See ``bin_sums``.
    loss : float or None
        Sum of -ln p. None if a document has a label without probability.
    n : int
        Number of terms of this sum.
    """

    bins: Array
    loss: float | None
    n: int

    @classmethod
    def of(cls, y_true: Any, P: Array) -> Self:
        """Sum over the probabilities of documents; see ``score_probabilities``."""
        right, probability = _right(y_true, P)
        return cls(bin_sums(probability, right), _loss(y_true, P, right), len(probability))

    def __add__(self, other: Self) -> Self:
        """Add the sums of other documents."""
        known = self.loss is not None and other.loss is not None
        loss = self.loss + other.loss if known else None  # type: ignore[operator]
        return replace(self, bins=self.bins + other.bins, loss=loss, n=self.n + other.n)

    @property
    def calibration_error(self) -> float:
        """See ``calibration_error``."""
        return error_of_bins(self.bins)

    @property
    def log_loss(self) -> float | None:
        """Mean of -ln p; see ``ProbabilityScores``."""
        return None if self.loss is None else self.loss / self.n


def _right(y_true: Any, P: Array) -> tuple[Array, Array]:
    """Return whether predictions are right, and their probabilities; see ``ProbabilityScores``."""
    n_labels = P.shape[1]
    if np.ndim(y_true) == 2 or sparse.issparse(y_true):
        Y = sparse.csr_array(y_true).toarray() > 0
        return Y[:, :n_labels].ravel(), P.ravel()
    return P.argmax(axis=1) == np.asarray(y_true), P.max(axis=1)


def _loss(y_true: Any, P: Array, right: Array) -> float | None:
    """Sum -ln p; None if a document has a label without probability."""
    n_docs, n_labels = P.shape
    if np.ndim(y_true) == 2 or sparse.issparse(y_true):
        if sparse.csr_array(y_true)[:, n_labels:].nnz:
            return None
        return float(log_loss(right, P.ravel(), labels=[False, True], normalize=False))
    y = np.asarray(y_true)
    if not ((y >= 0) & (y < n_labels)).all():
        return None
    if n_labels == 1:
        return float(-np.log(P[np.arange(n_docs), y]).sum())
    P = P / P.sum(axis=1, keepdims=True)
    return float(log_loss(y, P, labels=np.arange(n_labels), normalize=False))
