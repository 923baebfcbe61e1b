"""Choose by held-out documents which further features a prediction head gets.

Linear support vector machines are trained on a sample of the documents, with each candidate. Those
that are trained without a fold score its documents (``machines``). The candidate whose scores are
best is chosen. Components are not needed for this, so features are chosen before the fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import of_unit_length
from vbnmf.prediction import machines
from vbnmf.prediction.calibration import best_threshold
from vbnmf.prediction.dividing import folds

MOST_DOCUMENTS = 4_000
"""Maximum number of documents of the sample."""

MOST_LABELS = 100
"""Maximum number of labels of these documents; the commonest are taken."""

LEAST_DOCUMENTS = 50
"""With fewer documents, the first candidate is taken."""

_SLOPE = 3.0  # usual factor from scores of machines to logits


class FeatureChoice(NamedTuple):
    """The chosen candidate, and the scores of all that were tried."""

    chosen: int
    scores: list[float]


def sample(labels: sparse.csr_array) -> tuple[Array, sparse.csr_array]:
    """Choose documents with known labels for a comparison.

    Parameters
    ----------
    labels : csr_array of shape (n_docs, n_labels)
        Label indicators. The row of a document with unknown labels is zero.

    Returns
    -------
    rows : ndarray of int
        Documents that have one of the commonest labels, evenly spaced.
    labels : csr_array of shape (n, at most ``MOST_LABELS``)
        Their labels among these.
    """
    counts = np.bincount(labels.indices, minlength=labels.shape[1])
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_LABELS])
    of_common = sparse.csr_array(labels[:, common])
    rows = np.flatnonzero(np.diff(of_common.indptr))
    rows = rows[:: max(1, -(-len(rows) // MOST_DOCUMENTS))]
    return rows, of_common[rows]


def is_clear(difference: float, n_docs: int) -> bool:
    """Return whether a difference of scores is above two standard errors of two shares, at most."""
    return difference > 2 * np.sqrt(0.5 / max(n_docs, 1))


@dataclass(frozen=True, eq=False)
class FeatureTrial:
    """Documents on which kinds of features are tried.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Weights of terms, by which near-duplicates are found.
    labels : csr_array of shape (n_docs, n_labels)
        Label indicators.
    multilabel : bool
        Whether documents may have several labels. Then the score is micro F1, and else accuracy.
    n_threads : int
        Does not change the result.
    """

    X: sparse.csr_array
    labels: sparse.csr_array
    multilabel: bool
    n_threads: int = 1

    @cached_property
    def _fold(self) -> Array:
        return folds(self.X, np.ones(self.X.shape[0]))

    def choose(self, candidates: Sequence[Callable[[], sparse.csr_array]]) -> FeatureChoice:
        """Return the candidate with the best score of held-out documents; the first of equals.

        Each candidate returns the features of the documents, (n_docs, n).
        """
        n_docs, n_labels = self.labels.shape
        if n_docs < LEAST_DOCUMENTS or n_labels < 2:
            return FeatureChoice(0, [])
        scores = [self.score(features()) for features in candidates]
        return FeatureChoice(int(np.argmax(scores)), scores)

    def score(self, features: sparse.csr_array) -> float:
        """Score machines that are trained with these features, on held-out documents."""
        weight = np.ones(features.shape[0])
        found = machines.train(
            of_unit_length(features, np.float32), np.zeros((len(weight), 0)), self.labels, weight,
            self._fold, n_threads=self.n_threads, rough=True,
        )  # fmt: skip
        if self.multilabel:
            P = 1 / (1 + np.exp(-_SLOPE * found.left_out.astype(np.float64)))
            return best_threshold(P, self.labels.toarray() > 0, weight)[1]
        return float((found.left_out.argmax(axis=1) == self.labels.indices).mean())
