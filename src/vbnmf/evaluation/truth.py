"""Match the labels of documents with those of a model.

``KnownLabels`` matches the names of labels, and ``Targets`` encodes them as it does for ``fit`` and
``score``. Predictions are scored against the result.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.data.labels import KnownLabels
from vbnmf.estimators.labelforms import is_indicator
from vbnmf.estimators.labels import check_targets
from vbnmf.evaluation.parts import Part, Subject
from vbnmf.pipeline import DocumentModel


@dataclass(frozen=True, eq=False)
class Truth:
    """Labels of documents.

    Attributes
    ----------
    names : list of str
        Names of the labels of the model, followed by those that only the documents have.
    indicators : csr_array of shape (n_docs, n_names)
        Indicator matrix of the labels. The row of a document with unknown labels is zero.
    """

    names: list[str]
    indicators: sparse.csr_array

    @property
    def known(self) -> Array:
        """Whether each document has a known label, (n_docs,) of bool."""
        return np.diff(self.indicators.indptr) > 0

    def lists(self) -> list[list[int] | None]:
        """Return the labels of each document as positions in ``names``; None if unknown."""
        rows = np.split(self.indicators.indices, self.indicators.indptr[1:-1])
        return [row.tolist() or None for row in rows]


def read_part(model: DocumentModel, documents: Any, labels: Any = None) -> Part:
    """Vectorize documents and match their labels with those of a model.

    Parameters
    ----------
    model : DocumentModel
        Fitted model, with or without labels.
    documents : iterable of str, or matrix of shape (n_docs, n_terms)
        Texts or weights of terms.
    labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
        Labels in any form that ``fit`` takes; unknown ones may be None.
    """
    is_matrix = getattr(documents, "ndim", 1) == 2
    texts = None if is_matrix else list(documents)
    X = sparse.csr_array(model.vectorize(documents if texts is None else texts))
    n_docs = X.shape[0]
    truth = read_truth(model, [None] * n_docs if labels is None else labels, n_docs)
    return Part(Subject(model, truth.names), X, truth.indicators, texts)


def read_truth(model: DocumentModel, labels: Any, n_docs: int) -> Truth:
    """Match and encode the labels of documents.

    Parameters
    ----------
    model : DocumentModel
        Fitted model, with or without labels.
    labels : array-like of shape (n_docs,), lists of labels, or indicator matrix
        Labels in any form that ``fit`` takes. Labels that the model does not know are kept.
    n_docs : int
        Number of documents.

    Raises
    ------
    ValueError
        The numbers of labels and documents differ, or a document has several labels and the model
        was fitted to documents with one label each.
    """
    estimator = model.estimator_
    classes = model.classes_.tolist() if model.has_labels else ()
    known = KnownLabels(classes, getattr(estimator, "unlabelled", None))
    if not is_indicator(labels):
        labels = [known.match(label) for label in labels]
        if len(labels) != n_docs:
            there = "is 1 document" if n_docs == 1 else f"are {n_docs} documents"
            raise ValueError(f"there {there} but {len(labels)} labels.")
        if not any(labels):
            return Truth(known.names, sparse.csr_array((n_docs, len(known.names)), dtype=np.int64))
    targets = check_targets(estimator, labels, n_docs)
    indicators, names = targets.placed(np.array(known.names, dtype=object))
    if model.has_labels and not model.has_several_labels and np.diff(indicators.indptr).max() > 1:
        refuse_several_labels()
    return Truth([str(name) for name in names], indicators)


def refuse_several_labels() -> NoReturn:
    """Refuse documents with several labels for a model of one label each."""
    raise ValueError(
        "some documents have several labels, but the model was fitted to documents with one "
        "label each. Fit a model to documents with several labels, or check which column "
        "holds the labels."
    )
