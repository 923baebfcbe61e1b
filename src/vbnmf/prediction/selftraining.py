"""Train machines on documents with unknown labels too, with the labels that machines predict.

Machines are first trained on the documents with known labels. They predict the labels of the other
documents. The most certain predictions of each label are taken as labels for the next training,
with a small weight. This is repeated with more documents in each round. Documents with a predicted
label weigh together at most as much as the documents that are known to have it, so that a label
that is predicted too often does not displace the others.

Scores of left-out documents come from machines whose whole training, with all predicted labels,
was done without the known labels of their fold. Of near-duplicates, only one document takes part.

References
----------
Yarowsky (1995), Unsupervised word sense disambiguation rivaling supervised methods.
Blum and Mitchell (1998), Combining labeled and unlabeled data with co-training.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import product_with_rows
from vbnmf.prediction import machines
from vbnmf.prediction.dividing import FOLDS, near_duplicates
from vbnmf.prediction.machines import Machines, Report

ROUNDS = 3
"""Number of trainings with predicted labels: the first uses 1/4 of them, the last 3/4."""

WEIGHT = 0.1
"""Maximum weight of a document with a predicted label."""

TIMES = 1.0
"""Maximum weight of all documents with a predicted label, relative to those that have it."""

MOST_DOCUMENTS = 10_000
"""Maximum number of documents with unknown labels that take part, evenly spaced."""


class Featured(NamedTuple):
    """Features of documents: sparse ones, dense ones, and sample weights."""

    X: sparse.csr_array
    dense: Array
    weight: Array

    def at(self, rows: Array) -> "Featured":
        """Return the features of some of the documents."""
        return Featured(self.X[rows], self.dense[rows], self.weight[rows])


def chosen(terms: sparse.csr_array, weight: Array, known: Array) -> Array:
    """Return the documents with unknown labels that take part, ascending.

    Near-duplicates of documents with known labels are left out, and so are all but the first of
    other near-duplicates.

    Parameters
    ----------
    terms : csr_array of shape (n_docs, n_terms)
        All documents.
    weight : array of shape (n_docs,)
        Their sample weights.
    known : array of bool of shape (n_docs,)
        Whether their labels are known.
    """
    rows = np.flatnonzero((weight > 0) & (np.diff(terms.indptr) > 0))
    others = rows[~known[rows]]
    others = others[:: max(1, -(-len(others) // MOST_DOCUMENTS))]
    every = np.concatenate([rows[known[rows]], others])
    group = near_duplicates(sparse.csr_array(terms[every]), weight[every])
    first = np.unique(group, return_index=True)[1]
    return np.sort(every[first[first >= len(every) - len(others)]])


def train(
    documents: Featured,
    labels: sparse.csr_array,
    fold: Array,
    others: Featured,
    *,
    n_threads: int = 1,
    report: Report | None = None,
) -> Machines:
    """Train a machine for each label, and score documents by machines without their fold.

    Parameters
    ----------
    documents : Featured
        Documents with known labels.
    labels : csr_array of shape (n_docs, n_labels)
        Indicators of these labels, one for each document.
    fold : array of shape (n_docs,)
        Fold of each of these documents.
    others : Featured
        Documents with unknown labels.
    n_threads : int
        Does not change the result.
    report : callable or None
        Called with the number of trainings that are done, and with that of all trainings.
    """
    left_out = np.zeros(labels.shape, np.float32)
    squares, converged, found = np.zeros(2), True, None
    folds = [number for number in range(FOLDS) if (fold == number).any()]
    for done, without in enumerate([-1, *folds]):
        rows = np.flatnonzero(fold != without)
        if not len(rows):
            continue
        weights, ended = _rounds(documents.at(rows), labels[rows], others, n_threads)
        converged &= ended
        if without < 0:
            found = weights
        else:
            held = np.flatnonzero(fold == without)
            left_out[held] = _scores(weights, documents.at(held))
        squares[int(without >= 0)] += np.square(weights[:, :-1], dtype=np.float64).sum()
        if report is not None:
            report(done + 1, len(folds) + 1)
    assert found is not None
    squares[1] /= max(len(folds), 1)
    n_terms = documents.X.shape[1]
    return Machines(
        np.ascontiguousarray(found[:, :n_terms]),
        np.ascontiguousarray(found[:, n_terms:-1], dtype=np.float64),
        found[:, -1].astype(np.float64),
        left_out,
        float(np.sqrt(squares[0] / squares[1])) if squares.all() else 1.0,
        converged,
    )


def _rounds(
    documents: Featured, labels: sparse.csr_array, others: Featured, n_threads: int
) -> tuple[Array, bool]:
    """Train on documents with known labels, then also on others with predicted labels."""
    n_docs = np.asarray(documents.weight @ labels)
    weights, converged = machines.solve(*documents[:2], labels, documents.weight, n_threads)
    for number in range(ROUNDS):
        part = (number + 1) / (ROUNDS + 1)
        rows, predicted = _most_certain(_scores(weights, others), part)
        some = others.at(rows)
        size = np.bincount(predicted, some.weight, minlength=len(n_docs))
        of_label = np.minimum(WEIGHT, TIMES * n_docs / np.maximum(size, 1.0))
        indptr, ones = np.arange(len(rows) + 1), np.ones(len(rows), labels.dtype)
        of_some = sparse.csr_array((ones, predicted, indptr), (len(rows), len(n_docs)))
        weights, ended = machines.solve(
            sparse.csr_array(sparse.vstack([documents.X, some.X], format="csr")),
            np.concatenate([documents.dense, some.dense]),
            sparse.csr_array(sparse.vstack([labels, of_some], format="csr")),
            np.concatenate([documents.weight, of_label[predicted] * some.weight]),
            n_threads,
        )
        converged &= ended
    return weights, converged


def _most_certain(scores: Array, part: float) -> tuple[Array, Array]:
    """Return this part of the documents of each predicted label, and their labels.

    They are those whose best label exceeds the second by most.
    """
    predicted = scores.argmax(axis=1)
    two = np.partition(scores, -2, axis=1)[:, -2:]
    order = np.lexsort((two[:, 0] - two[:, 1], predicted))  # by label, the largest margin first
    of = predicted[order]
    place = np.arange(len(of)) - np.searchsorted(of, of)
    rows = np.sort(order[place < np.ceil(part * np.bincount(of))[of]])
    return rows, predicted[rows]


def _scores(weights: Array, documents: Featured) -> Array:
    """Compute the scores of documents, (n_docs, n_labels)."""
    n_terms = documents.X.shape[1]
    by_words = documents.X @ np.ascontiguousarray(weights[:, :n_terms].T)
    dense = documents.dense.astype(np.float64)
    by_dense = product_with_rows(dense, weights[:, n_terms:-1].astype(np.float64))
    return np.asarray(by_words + by_dense + weights[:, -1])
