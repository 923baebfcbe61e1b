"""Score a model on documents in parts: sums over documents, and the scores that follow from them.

``vbnmf evaluate`` adds the documents of a file as one part, and a shard folder part by part. So the
memory for a folder does not depend on its number of documents.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.metrics.coherence import counts_together, npmi_of_counts
from vbnmf.metrics.likelihood import half_log_sums, split_documents
from vbnmf.metrics.scoring import PredictionTally, ProbabilityTally
from vbnmf.metrics.sparsity import hoyer_of_sums, hoyer_sparsity
from vbnmf.pipeline import DocumentModel
from vbnmf.report import measures
from vbnmf.report.truth import read_truth, refuse_several_labels
from vbnmf.shards import Shards

PART_NONZEROS = 1 << 20
"""Maximum of non-zeros in a part of a shard, unless a document has more."""

PART_NUMBERS = 1 << 21
"""Maximum of documents times labels, and of documents times components, in a part."""


class Evaluation:
    """Sums over labelled documents.

    Parameters
    ----------
    model : DocumentModel
        Fitted with labels.
    names : list of str
        Labels of the model, and after them those that only the documents have.
    """

    def __init__(self, model: DocumentModel, names: list[str]) -> None:
        self.model, self.names, self.estimator = model, names, model.estimator_
        K, n_names = self.estimator.n_components_, len(names)
        self._top = measures.lasting_terms(model, measures.TOP)
        self._predictions: PredictionTally | None = None
        self._probabilities: ProbabilityTally | None = None
        self._n_empty = 0
        self._V = np.zeros(3)  # number of coefficients, sum of them and of their squares
        self._V_by_label = np.zeros((n_names, K))
        self._shares = np.zeros((2, n_names))  # documents by predicted label, and sums of shares
        self._together: Array = np.zeros((*self._top.shape, self._top.shape[1]))
        self._half = np.zeros(2)  # of the held-out log-likelihood, and its weight
        self._said = measures.said_of_labels(model)
        self._recounted: measures.Recounted | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return 0 if self._predictions is None else self._predictions.n_docs

    def add(self, X: Any, Y: sparse.csr_array) -> None:
        """Add documents of known labels.

        Parameters
        ----------
        X : matrix of shape (n_docs, n_terms)
            Weights of terms.
        Y : csr_array of shape (n_docs, n_names)
            Label indicators.
        """
        P, V = self.estimator.predict_proba(X), self.estimator.transform(X)
        self._add_predictions(Y, P)
        best, shares = P.argmax(axis=1), self.estimator.component_share(X, P)
        n_names = len(self.names)
        self._shares += [np.bincount(best, w, minlength=n_names) for w in (None, shares)]
        self._n_empty += int(is_empty(X).sum())
        V = V.astype(np.float64)
        self._V += [V.size, np.abs(V).sum(), np.square(V).sum()]
        self._V_by_label += Y.T @ V
        self._together += counts_together(self._top, X)
        first, second = split_documents(X)
        if second.nnz:
            self._half += half_log_sums(self.estimator, second, self.estimator.transform(first))
        known = sparse.csr_array(Y[:, : len(self.estimator.classes_)])
        recounted = measures.Recounted.of(self._said, X, known)
        self._recounted = recounted if self._recounted is None else self._recounted + recounted

    def _add_predictions(self, Y: sparse.csr_array, P: Array) -> None:
        truth: Any = Y.indices
        given: Any = P.argmax(axis=1)
        if self.model.has_several_labels:
            found = self.estimator.indicators_from(P)
            given = sparse.csr_array((len(found), Y.shape[1]), dtype=np.int64)
            given = sparse.csr_array(sparse.hstack([found, given[:, P.shape[1] :]], format="csr"))
            truth = Y
        predictions = PredictionTally.of(truth, given, np.arange(Y.shape[1]))
        probabilities = ProbabilityTally.of(truth, P)
        if self._predictions is None or self._probabilities is None:
            self._predictions, self._probabilities = predictions, probabilities
        else:
            self._predictions += predictions
            self._probabilities += probabilities

    def scores(self, npmi_windows: float | None = None) -> dict[str, Any]:
        """Compute the scores of all documents so far, as ``vbnmf evaluate --json`` prints them."""
        assert self._predictions is not None
        assert self._probabilities is not None
        assert self._recounted is not None
        found = self._predictions.scores(np.arange(len(self.names)))
        n_predicted, shares = self._shares
        had = found.support > 0
        half, half_weight = self._half
        n_classes = len(self.estimator.classes_)
        nothing = [(None, None)] * (len(self.names) - n_classes)  # is said of labels unknown to it
        fidelity = [*self._recounted.of_labels(), *nothing]
        return {
            "documents": self.n_docs,
            "documents_without_known_term": self._n_empty,
            **self._of_predictions(found),
            "calibration_error": self._probabilities.calibration_error,
            "log_loss": self._probabilities.log_loss,
            "component_share": float(shares.sum() / self.n_docs),
            "coefficient_sparsity": hoyer_of_sums(int(self._V[0]), *self._V[1:].tolist()),
            "inter_label_sparsity": hoyer_sparsity(self._V_by_label[had]),
            "npmi_documents": float(npmi_of_counts(self._together, self.n_docs).mean()),
            "npmi_windows": npmi_windows,
            **measures.distinctness(self.model),
            **self._recounted.scores(self.estimator),
            "held_out_log_likelihood": float(half / half_weight) if half_weight else None,
            "faded_components": int(self.estimator.faded_.sum()),
            "labels": [
                {
                    "label": name,
                    "documents": int(found.support[at]),
                    "recall": float(found.recall[at]),
                    "precision": measures.number(found.precision[at]),
                    "component_share": float(shares[at] / n_predicted[at])
                    if n_predicted[at]
                    else None,
                    "fidelity": fidelity[at][0],
                    "fidelity_elsewhere": fidelity[at][1],
                    "known": at < n_classes,
                }
                for at, name in enumerate(self.names)
                if had[at]
            ],
        }

    def _of_predictions(self, found: Any) -> dict[str, float]:
        of_commonest = int(found.support[int(np.argmax(self.estimator.label_counts_))])
        if not found.multilabel:
            return {
                "micro_accuracy": found.accuracy,
                "macro_accuracy": found.macro_accuracy,
                "most_frequent_label_accuracy": of_commonest / self.n_docs,
            }
        return {
            "micro_f1": found.micro_f1,
            "macro_f1": found.macro_f1,
            "subset_accuracy": found.accuracy,
            "most_frequent_label_f1": 2 * of_commonest / int(found.support.sum() + self.n_docs),
        }


def evaluate_shards(model: DocumentModel, shards: Shards) -> Evaluation:
    """Sum over the documents of known label in a shard folder, a part of a shard at a time."""
    model.vectorize(shards)  # checks the number of terms
    labels = shards.labels or []
    truth = read_truth(model, [[label] for label in labels] if shards.multilabel else labels,
                       len(labels))  # fmt: skip
    evaluation = Evaluation(model, truth.names)
    for number, indicators in enumerate(shards.label_parts()):
        if not model.has_several_labels and (np.diff(indicators.indptr) > 1).any():
            refuse_several_labels()
        Y, X = sparse.csr_array(indicators @ truth.indicators), shards.rows(number)
        for begin, end in _parts(X, max(len(truth.names), model.estimator_.n_components_)):
            known = np.flatnonzero(np.diff(Y.indptr[begin : end + 1]))
            if len(known):
                evaluation.add(X[begin:end][known], Y[begin:end][known])
    return evaluation


def _parts(X: sparse.csr_array, n_numbers: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents that are scored at a time."""
    most, begin = max(1, PART_NUMBERS // n_numbers), 0
    while begin < X.shape[0]:
        end = int(np.searchsorted(X.indptr, X.indptr[begin] + PART_NONZEROS, side="right")) - 1
        end = min(max(end, begin + 1), begin + most, X.shape[0])
        yield begin, end
        begin = end
