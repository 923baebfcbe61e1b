"""Records for training a prediction head: its input and its result."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.prediction.assembly import Linear
from vbnmf.prediction.calibration import Calibration, best_threshold
from vbnmf.prediction.heads import Head

_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior quantities of a fitted model that prediction needs.

    Attributes
    ----------
    shapes : array of shape (n_terms, K)
        Shapes of the gamma posteriors of terms.
    scales : array of shape (K,)
        Scales of these posteriors.
    rates : array of shape (n_labels, K)
        Expected rates of the labels.
    smoothing : float
        Pseudo-count that is added to the shapes in the evidence.
    log_prior : array of shape (n_labels,)
        Log-frequencies of the labels.
    """

    shapes: Array
    scales: Array
    rates: Array
    smoothing: float
    log_prior: Array


@dataclass(frozen=True, eq=False)
class TrainingDocuments:
    """Training documents with known labels.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Document-term matrix.
    V : array of shape (n_docs, K)
        Coefficients.
    labels : csr_array of shape (n_docs, n_labels)
        Label indicators.
    weight : array of shape (n_docs,)
        Sample weights, greater than zero.
    multilabel : bool
        Whether documents may have several labels.
    """

    X: sparse.csr_array
    V: Array
    labels: sparse.csr_array
    weight: Array
    multilabel: bool

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labels.shape[1])

    def every(self, n: int) -> "TrainingDocuments":
        """Return every n-th document."""
        at = slice(None, None, n)
        return replace(
            self, X=self.X[at], V=self.V[at], labels=self.labels[at], weight=self.weight[at]
        )

    def quality(self, P: Array) -> float:
        """Compute the accuracy of probabilities, or micro F1 if documents have several labels."""
        if self.multilabel:
            return best_threshold(P, self.labels.toarray() > 0, self.weight)[1]
        right = P.argmax(axis=1) == self.labels.indices
        return float(np.average(right, weights=self.weight))

    def log_loss_by_label(self, P: Array) -> float:
        """Compute the mean over labels of the log loss, for documents with one label each.

        All labels have the same weight. So it shows whether a head predicts rare labels, which
        hardly affect the accuracy.
        """
        own = self.labels.indices
        loss = -np.log(np.maximum(P[np.arange(len(own)), own], _TINY))
        of_label = np.bincount(own, self.weight)
        used = of_label > 0
        return float((np.bincount(own, loss * self.weight)[used] / of_label[used]).mean())

    def commonest(self) -> float:
        """Compute the share of documents that have the commonest label."""
        return float((self.weight @ self.labels).max() / self.weight.sum())


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained prediction head.

    Attributes
    ----------
    classifier : str
        Kind of head.
    reason : str
        Why this head was chosen, in words.
    calibration : Calibration
        Map from scores to probabilities.
    left_out : ndarray of float32 of shape (n_docs, n_labels)
        Probabilities of the training documents as if each had been left out.
    head : Head or None
        None for the generative head.
    threshold : float
        Probability from which a label is predicted, if documents may have several.
    unfinished : tuple of str
        Parts of the training that did not converge, in words.
    machine : Linear or None
        The machines before calibration; None for a head without machines.
    """

    classifier: str
    reason: str
    calibration: Calibration
    left_out: Array
    head: Head | None = None
    threshold: float = 0.5
    unfinished: tuple[str, ...] = ()
    machine: Linear | None = None

    def because(self, reason: str, *others: "Trained") -> "Trained":
        """Return a copy with the reason why this head was preferred to others.

        Convergence failures of the others are included, because the choice depended on them.
        """
        told = dict.fromkeys(what for one in (self, *others) for what in one.unfinished)
        return replace(self, reason=reason, unfinished=tuple(told))
