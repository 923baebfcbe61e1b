"""Say which predictions can be accepted without a look: those above a threshold of probability.

    p_d    probability of the predicted label of document d;   r_d   whether it is a given label

Predictions of at least the threshold t are accepted. The share that is accepted falls with t, and
the part of them that is right usually rises. If documents may have several labels, the predictions
are pairs of a document and a predicted label.

Use documents that the model was not fitted to, or left-out probabilities
(``evaluation.judging``). A prediction that differs from the given label counts as not right, also
where the given label is the one that is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.shares import share_interval

FEWEST = 20
"""Predictions that must be accepted at least, for a threshold to be chosen by their share."""


@dataclass(frozen=True)
class Accepted:
    """Predictions that a threshold accepts.

    Attributes
    ----------
    label : int or None
        The predicted label, as a position in ``part.subject.names``; None for all labels.
    threshold : float
        Least probability of an accepted prediction.
    predictions : int
        Number of predictions, accepted or not.
    accepted, right : int
        Number of those that are accepted, and of accepted ones that are given labels.
    """

    label: int | None
    threshold: float
    predictions: int
    accepted: int
    right: int

    @property
    def share(self) -> float:
        """Share of the predictions that is accepted."""
        return self.accepted / max(self.predictions, 1)

    @property
    def share_right(self) -> float | None:
        """Share of the accepted predictions that is right; None if none is accepted."""
        return self.right / self.accepted if self.accepted else None

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of 95 % of the share that is right."""
        low, high = share_interval(self.right, self.accepted)
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Predictions of labelled documents, from which thresholds are chosen.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        Probability of each prediction.
    right : ndarray of bool of shape (n,)
        Whether the document has the label.
    label : ndarray of int of shape (n,)
        The predicted label.
    n_labels : int
        Number of labels of the model.
    """

    probability: Array
    right: Array
    label: Array
    n_labels: int

    @classmethod
    def of(cls, part: Part, probabilities: Array | None = None) -> "Acceptance":
        """Collect the predictions of the labelled documents.

        Parameters
        ----------
        part : Part
            Documents with labels, and a model that was fitted with labels.
        probabilities : array of shape (n_docs, n_labels) or None
            Probabilities of all documents, such as left-out ones; None for predictions.
        """
        known = np.flatnonzero(np.diff(part.Y.indptr))
        P = part.labelled.probabilities if probabilities is None else probabilities[known]
        n_labels = part.subject.n_labels
        if part.subject.has_several_labels:
            rows, labels = np.nonzero(part.subject.estimator.indicators_from(P))
        else:
            rows, labels = np.arange(len(P)), P.argmax(axis=1)
        given = part.Y[known][:, :n_labels].toarray() > 0
        return cls(P[rows, labels], given[rows, labels], labels, n_labels)

    def at(self, threshold: float, label: int | None = None) -> Accepted:
        """Count the predictions that a threshold accepts, of one label or of all."""
        mine = np.ones(len(self.label), bool) if label is None else self.label == label
        taken = mine & (self.probability >= threshold)
        n_right = int((taken & self.right).sum())
        return Accepted(label, float(threshold), int(mine.sum()), int(taken.sum()), n_right)

    def by_label(self, threshold: float) -> list[Accepted]:
        """Count the predictions that a threshold accepts, for each label of the model."""
        return [self.at(threshold, label) for label in range(self.n_labels)]

    def for_share(self, right: float, label: int | None = None) -> Accepted | None:
        """Choose the threshold that accepts most, so that at least this share of them is right.

        Parameters
        ----------
        right : float
            Share of the accepted predictions that must be right.
        label : int or None
            Only predictions of this label.

        Returns
        -------
        Accepted or None
            None if no threshold accepts at least ``FEWEST`` predictions (all of them, if there are
            fewer) with this share right.
        """
        mine = self._falling if label is None else self._falling[self.label[self._falling] == label]
        if not len(mine):
            return None
        p, n = self.probability[mine], np.arange(1, len(mine) + 1)
        # predictions of equal probability are accepted together
        last = np.append(p[1:] < p[:-1], True)
        enough = last & (np.cumsum(self.right[mine]) >= right * n) & (n >= min(FEWEST, len(mine)))
        found = np.flatnonzero(enough)
        return self.at(float(p[found[-1]]), label) if len(found) else None

    @cached_property
    def _falling(self) -> Array:
        """Predictions, the most probable first."""
        return np.argsort(-self.probability, kind="stable")


def acceptance_scores(acceptance: Acceptance, names: Sequence[str], right: float) -> dict[str, Any]:
    """Return what a threshold for all labels accepts, and thresholds for each, in types of JSON.

    Parameters
    ----------
    acceptance : Acceptance
        The predictions.
    names : sequence of str
        Names of labels.
    right : float
        Share of the accepted predictions that must be right.
    """
    found = acceptance.for_share(right)
    labels = []
    for label in range(acceptance.n_labels):
        own = acceptance.for_share(right, label)
        at = acceptance.at(np.inf if found is None else found.threshold, label)
        labels.append(
            {"label": names[label], "own_threshold": None if own is None else own.threshold,
             **_counts(at)}
        )  # fmt: skip
    at = acceptance.at(np.inf) if found is None else found
    threshold = None if found is None else found.threshold
    return {"wanted": right, "threshold": threshold, **_counts(at), "labels": labels}


def _counts(of: Accepted) -> dict[str, Any]:
    low, high = of.interval
    return {
        "predictions": of.predictions,
        "accepted": of.accepted,
        "right": of.right,
        "share_accepted": of.share,
        "share_right": of.share_right,
        "low": low if of.accepted else None,
        "high": high if of.accepted else None,
    }
