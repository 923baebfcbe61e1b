"""A model that is measured, and a part of the documents: what measures need, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import leading
from vbnmf.description.components import estimator_of, lasting, naming_terms
from vbnmf.estimators import SupervisedVBNMF
from vbnmf.evaluation.judging import Judged, judge
from vbnmf.evaluation.statements import Statements, statements_of_labels
from vbnmf.metrics.likelihood import document_log_sums, split_documents
from vbnmf.metrics.scoring import document_matches

TOP = 10
"""Number of terms that describe a component in NPMI, exclusivity and fidelity."""


_OF_DOCUMENTS = ("X", "judged", "coefficients", "log_sums")  # what no probability changes


class Subject:
    """A fitted model that is measured.

    Parameters
    ----------
    model : DocumentModel, VBNMF or SupervisedVBNMF
        Fitted model.
    names : sequence of str
        Labels of the model, and after them those that only the documents have.
    """

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        self.model, self.names = model, list(names)
        self.estimator: Any = estimator_of(model)

    @property
    def has_labels(self) -> bool:
        """Whether the model was fitted with labels."""
        return isinstance(self.estimator, SupervisedVBNMF)

    @property
    def has_several_labels(self) -> bool:
        """Whether it was fitted to documents that may have several labels."""
        return self.has_labels and bool(self.estimator.multilabel_)

    @property
    def n_labels(self) -> int:
        """Number of labels that the model knows."""
        return len(self.estimator.classes_) if self.has_labels else 0

    @cached_property
    def top_terms(self) -> list[Array]:
        """The first terms that describe each component, at most 10; none if it has faded."""
        return [np.array(row, np.intp) for row in naming_terms(self.model, TOP)]

    @cached_property
    def lasting(self) -> Array:
        """Whether each component has not faded, (K,); True for all if all have faded."""
        return lasting(self.estimator)

    @cached_property
    def statements(self) -> Statements:
        """What is said of each label."""
        return statements_of_labels(self.model)


@dataclass(frozen=True, eq=False)
class Part:
    """Documents that are measured at a time.

    Attributes
    ----------
    subject : Subject
        The model.
    encoded : csr_array of shape (n_docs, n_terms + n_features)
        Weights of terms and of the features of the prediction head: the result of ``vectorize``.
    Y : csr_array of shape (n_docs, n_names)
        Label indicators. The row of a document with unknown labels is zero.
    texts : sequence of str, or None
        The texts; None if documents are rows of a matrix.
    whole : Part or None
        The part that these documents were taken from, and ``rows`` their places in it.
    """

    subject: Subject
    encoded: sparse.csr_array
    Y: sparse.csr_array
    texts: Sequence[str] | None = None
    whole: "Part | None" = None
    rows: Array | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.encoded.shape[0])

    @cached_property
    def X(self) -> sparse.csr_array:
        """Weights of terms, (n_docs, n_terms)."""
        return leading(self.encoded, self.subject.estimator.components_.shape[1])

    @cached_property
    def labelled(self) -> "Part":
        """The documents with a known label."""
        rows = np.flatnonzero(np.diff(self.Y.indptr))
        if len(rows) == self.n_docs:
            return self
        texts = None if self.texts is None else [self.texts[i] for i in rows.tolist()]
        return Part(self.subject, self.encoded[rows], self.Y[rows], texts, self, rows)

    @cached_property
    def probabilities(self) -> Array:
        """Probabilities of the labels of the model, (n_docs, n_labels)."""
        if self.whole is not None:
            return np.asarray(self.whole.probabilities[self.rows])
        return np.asarray(self.subject.estimator.predict_proba(self.encoded))

    @cached_property
    def judged(self) -> Judged:
        """Probabilities by which labels are judged; the model was fitted with labels."""
        return judge(self)

    def judged_by(self, probabilities: Array) -> "Part":
        """Return the same documents with other probabilities, such as left-out ones."""
        other = replace(self)
        same = {name: vars(self)[name] for name in _OF_DOCUMENTS if name in vars(self)}
        vars(other).update(same, probabilities=probabilities)
        return other

    @cached_property
    def scored(self) -> "Part":
        """The same documents as predictions of them are scored.

        If they are those of the training, the probabilities are left-out ones. Other documents may
        have the words of training documents, too. They are predicted like all new ones.
        """
        if self.whole is not None or not self.subject.has_labels or not self.Y.nnz:
            return self
        return self.judged_by(self.judged.probabilities) if self.judged.are_training else self

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients, (n_docs, K)."""
        if self.whole is not None:
            return np.asarray(self.whole.coefficients[self.rows])
        return np.asarray(self.subject.estimator.transform(self.X))

    @cached_property
    def component_shares(self) -> Array:
        """Share of components in the score of the most probable label, (n_docs,)."""
        if self.whole is not None:
            return np.asarray(self.whole.component_shares[self.rows])
        return np.asarray(self.subject.estimator.component_share(self.encoded, self.probabilities))

    @cached_property
    def best(self) -> Array:
        """Most probable label, (n_docs,) of int."""
        return np.asarray(self.probabilities.argmax(axis=1))

    @property
    def truth(self) -> Any:
        """True labels: their columns, (n_docs,), or indicators if there may be several."""
        return self.Y if self.subject.has_several_labels else self.Y.indices

    @cached_property
    def predicted(self) -> Any:
        """Predicted labels, in the form of ``truth``."""
        if not self.subject.has_several_labels:
            return self.best
        found = self.subject.estimator.indicators_from(self.probabilities)
        others = sparse.csr_array((self.n_docs, self.Y.shape[1] - found.shape[1]), dtype=np.int64)
        return sparse.csr_array(sparse.hstack([found, others], format="csr"))

    @cached_property
    def matches(self) -> tuple[Array, Array]:
        """Sums of each document that give micro F1; see ``document_matches``."""
        return document_matches(self.truth, self.predicted)

    @cached_property
    def log_sums(self) -> tuple[Array, Array]:
        """Σ x ln p and Σ x of the second half of each document, given the first half."""
        first, second = split_documents(self.X)
        if not second.nnz:
            return np.zeros(self.n_docs), np.zeros(self.n_docs)
        estimator = self.subject.estimator
        return document_log_sums(estimator, second, estimator.transform(first))
