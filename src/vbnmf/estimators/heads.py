"""Train the prediction head of a fitted model; on several shards: ``shardedheads``."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from vbnmf.callers import callers_level
from vbnmf.core.fit import HEAD
from vbnmf.core.model import Array
from vbnmf.core.pages import release
from vbnmf.core.rows import content_keys, is_empty
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.posterior import Components, LabelPosterior, TrainedHead, for_prediction
from vbnmf.estimators.running import Reporter
from vbnmf.estimators.validation import check_choice
from vbnmf.metrics.agreement import fitted_agreement
from vbnmf.prediction.evidence import mean_occurrence
from vbnmf.prediction.head import Posterior, Trained, TrainingDocuments
from vbnmf.prediction.training import HEADS, train

_SAMPLE = 2000  # maximum number of documents for the mean of component_share
_SAMPLE_SCORES = 5_000_000  # maximum of these documents times labels


def check_classifier(classifier: object) -> str:
    """Check the parameter ``classifier``: "auto", or a kind of head."""
    return check_choice("classifier", classifier, ("auto", *HEADS))


def check_several(classifier: str) -> None:
    """Refuse a head that cannot predict several labels of a document."""
    if classifier in HEADS and not HEADS[classifier].predicts_several:
        raise ValueError(
            f'classifier="{classifier}" needs one label per document, but y has several. Use '
            'classifier="components".'
        )


class Begun(NamedTuple):
    """A head that was trained on documents in memory, with what its training found."""

    found: Trained
    posterior: Posterior
    agreement: Array


@dataclass(frozen=True, eq=False)
class HeadTrainer:
    """Trains heads of a fitted model.

    Attributes
    ----------
    components : Components
        Posterior of the components.
    labels : LabelPosterior
        Posterior of the labels.
    classifier : str
        "auto", or a kind of head.
    n_threads : int
        Number of threads. Results do not depend on it.
    reporter : Reporter
        Reports progress.
    """

    components: Components
    labels: LabelPosterior
    classifier: str
    n_threads: int
    reporter: Reporter

    def train(self, X: sparse.csr_array, V: Array, targets: Targets, weight: Array) -> TrainedHead:
        """Train a head on the documents with known labels.

        Parameters
        ----------
        X : csr_array of shape (n_docs, n_terms)
            Documents.
        V : array of shape (n_docs, K)
            Their coefficients.
        targets : Targets
            Their labels.
        weight : array of shape (n_docs,)
            Their sample weights.
        """
        release()
        rows = np.flatnonzero(targets.known & (weight > 0))
        return self.record(self.begin(X, V, targets, weight, rows), X, rows)

    def begin(
        self, X: sparse.csr_array, V: Array, targets: Targets, weight: Array, rows: Array
    ) -> Begun:
        """Train a head on some of the documents; other parameters are as for ``train``."""
        posterior = for_prediction(self.components, self.labels, mean_occurrence(X, weight))
        labels = targets.indicators
        agreement = fitted_agreement(
            X, sparse.csr_array(labels, dtype=np.float64), V, self.components.means,
            self.labels.scopes,
        )  # fmt: skip
        if len(rows) < len(weight):
            documents = TrainingDocuments(
                X[rows], V[rows], labels[rows], weight[rows], targets.multilabel
            )
        else:
            documents = TrainingDocuments(X, V, labels, weight, targets.multilabel)
        found = train(
            documents,
            posterior,
            self.classifier,
            all_known=bool(targets.known.all()),
            n_threads=self.n_threads,
            report=partial(self.reporter.stage, HEAD),
        )
        return Begun(found, posterior, agreement)

    def record(
        self, begun: Begun, X: sparse.csr_array, rows: Array, documents: Array | None = None
    ) -> TrainedHead:
        """Return the record of a head, whose left-out probabilities are of ``rows`` of X.

        ``documents`` are the numbers of the documents of X, if these are not all documents.
        """
        found, posterior, agreement = begun
        if found.unfinished:
            warnings.warn(
                _not_converged(found.unfinished), ConvergenceWarning, stacklevel=callers_level()
            )
        calibration = replace(found.head.calibration, frequencies=posterior.frequencies)
        head = replace(found.head, calibration=calibration)
        left_out, judged = found.left_out, X
        if found.rows is not None:
            rows = rows[found.rows]
            judged = X[rows]
            documents = rows if documents is None else documents[rows]
        elif len(rows) < X.shape[0]:
            left_out = head.probabilities(X, posterior).astype(np.float32)
            left_out[rows] = found.left_out
        left_out[is_empty(judged)] = posterior.frequencies
        n_labels = len(posterior.frequencies)
        sample = X[:: -(-X.shape[0] // min(_SAMPLE, -(-_SAMPLE_SCORES // n_labels)))]
        best = head.probabilities(sample, posterior).argmax(axis=1)
        shares = head.component_share(sample, posterior, best)
        n_docs = np.bincount(best, minlength=n_labels)
        sums = np.bincount(best, shares, minlength=n_labels)
        share = float(shares.mean())
        label_shares = np.where(n_docs > 0, sums / np.maximum(n_docs, 1), share)
        return TrainedHead(
            head, found.reason, posterior.smoothing, agreement, left_out, documents,
            content_keys(judged), share, label_shares,
        )  # fmt: skip


def _not_converged(unfinished: tuple[str, ...]) -> str:
    """Return the message of a prediction head that did not converge."""
    return (
        f"the prediction head did not converge ({' and '.join(unfinished)}). Its probabilities may "
        "be inaccurate. Usual causes are documents or sample weights of very unequal size. Try "
        "another weighting."
    )
