"""What a prediction head is trained on: documents, the fitted model, and what follows from both.

Evidence, folds and scores of the training documents are as if each document, or its fold, had been
left out of the fit. They are computed once, and shared by all kinds of heads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import (
    content_keys,
    effective_terms,
    is_empty,
    leading,
    lengths,
    of_columns,
    without_unused_terms,
)
from vbnmf.prediction.calibration import best_threshold
from vbnmf.prediction.dividing import folds, in_several_folds
from vbnmf.prediction.evidence import (
    evidence_left_out,
    mean_documents,
    mean_over_terms,
    mean_values,
)
from vbnmf.prediction.head import Posterior
from vbnmf.prediction.machines import Report

LEAST_DIFFERENT = 50
"""Minimum number of different documents for components without a fold."""

_TINY = np.finfo(float).tiny
_LEAST_PROBABILITY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class TrainingDocuments:
    """Training documents with known labels.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms + n_features)
        Weights of terms, and values of further features of the head.
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
        return self.at(slice(None, None, n))

    def at(self, at: Array | slice) -> "TrainingDocuments":
        """Return some of the documents."""
        return replace(
            self, X=self.X[at], V=self.V[at], labels=self.labels[at], weight=self.weight[at]
        )

    def quality(self, P: Array) -> float:
        """Compute the accuracy of probabilities, or micro F1 if documents have several labels."""
        if self.multilabel:
            return best_threshold(P, self.labels.toarray() > 0, self.weight)[1]
        right = P.argmax(axis=1) == self.labels.indices
        return float(np.average(right, weights=self.weight))

    def largest_loss(self, P: Array, other: Array) -> float:
        """Compute what P may lose in quality against other probabilities of the same documents.

        This is the difference of the qualities, plus one standard error. The error is paired by
        documents, so it is small if both are right about the same documents.
        """
        from vbnmf.metrics.ratios import ratio_difference  # its room imports scikit-learn

        found = ratio_difference(self._ratio(other), self._ratio(P))
        return found.value + found.error

    def _ratio(self, P: Array) -> tuple[Array, Array]:
        """Return what each document adds to the two sums whose ratio is the quality."""
        if not self.multilabel:
            return self.weight * (P.argmax(axis=1) == self.labels.indices), self.weight
        Y = self.labels.toarray() > 0
        given = best_threshold(P, Y, self.weight)[0] <= P
        sizes = Y.sum(axis=1) + given.sum(axis=1)
        return 2 * self.weight * (Y & given).sum(axis=1), self.weight * sizes

    def log_loss_by_label(self, P: Array) -> float:
        """Compute the mean over labels of the log loss, for documents with one label each.

        All labels have the same weight. So it shows whether a head predicts rare labels, which
        hardly affect the accuracy.
        """
        own = self.labels.indices
        loss = -np.log(np.maximum(P[np.arange(len(own)), own], _LEAST_PROBABILITY))
        of_label = np.bincount(own, self.weight)
        used = of_label > 0
        return float((np.bincount(own, loss * self.weight)[used] / of_label[used]).mean())

    def commonest(self) -> float:
        """Compute the share of documents that have the commonest label."""
        return float((self.weight @ self.labels).max() / self.weight.sum())


Without = Callable[[Posterior, Array], Iterator[tuple[Array, Posterior]]]
"""Function from the model of all documents and the fold of each document to each fold's documents
and the model without them (``crossfit``)."""


class Training:
    """What heads are trained on: documents, the fitted model, and what follows from both.

    With ``without``, evidence and scores of documents are those of models that were fitted without
    their fold, and terms that no other fold has are unknown. Otherwise only the document itself is
    subtracted from the components.

    Parameters
    ----------
    documents : TrainingDocuments
        Documents with known labels.
    posterior : Posterior
        The fitted model.
    n_threads : int
        Number of threads. Results do not depend on it.
    report : callable or None
        Called with the progress of the machines.
    without : callable or None
        Returns the models without each fold.
    others : TrainingDocuments or None
        Documents with unknown labels that machines are trained on too (``selftraining``).
    """

    def __init__(
        self,
        documents: TrainingDocuments,
        posterior: Posterior,
        n_threads: int = 1,
        report: Report | None = None,
        without: Without | None = None,
        others: TrainingDocuments | None = None,
    ) -> None:
        self.documents, self.posterior, self.others = documents, posterior, others
        self.most_known = others is None
        self.n_threads, self.report, self.without = n_threads, report, without

    @cached_property
    def evidence(self) -> Array:
        """Evidence of the documents, as if each had been left out of the fit, (n_docs, K)."""
        if self.without is not None:
            return self.by_folds(Posterior.term_evidence, self.documents.V.shape[1])
        return self._evidence(self.documents)

    @property
    def evidence_of_others(self) -> Array:
        """The same of the documents with unknown labels that take part."""
        assert self.others is not None
        return self._evidence(self.others)

    def _evidence(self, of: TrainingDocuments) -> Array:
        model, terms = self.posterior, leading(of.X, self.posterior.n_terms)
        return evidence_left_out(
            terms, of.V, model.shapes, model.scales, model.smoothing, of.weight, self.n_threads
        )

    @cached_property
    def fold(self) -> Array:
        """Number of the fold of each document, (n_docs,)."""
        return folds(self.terms, self.documents.weight)

    @property
    def can_be_divided(self) -> bool:
        """Whether folds are of enough different documents to leave one out of the components.

        If documents are copies of few, a fold may have most of them, or all that have a word.
        """
        largest = int(np.bincount(self.fold).max())
        different = len(np.unique(content_keys(self.terms)))
        return different >= LEAST_DIFFERENT and 2 * largest <= len(self.fold)

    @property
    def terms(self) -> sparse.csr_array:
        """Weights of the terms of the documents, (n_docs, n_terms)."""
        return leading(self.documents.X, self.posterior.n_terms)

    @cached_property
    def familiar(self) -> Array:
        """Columns of X that are known without any one fold, (n_terms + n_features,) of bool."""
        if self.without is None:
            return np.ones(self.documents.X.shape[1], dtype=bool)
        return in_several_folds(self.documents.X, self.fold)

    @cached_property
    def known(self) -> Array:
        """Part of the length of each document that is known without its fold, (n_docs,)."""
        if self.without is None:
            return np.ones(len(self.documents.weight))
        X = self.documents.X
        values = X.data * self.familiar[X.indices]
        return lengths(X, values) / np.maximum(lengths(X), _TINY)

    @cached_property
    def n_effective_terms(self) -> Array:
        """Effective number of the terms of each document that are known, (n_docs,)."""
        return np.asarray(effective_terms(self._known_terms))

    @property
    def _known_terms(self) -> sparse.csr_array:
        return of_columns(self.terms, self.familiar[: self.posterior.n_terms])

    def by_folds(self, of_terms: Callable[[Posterior, Array | slice], Array], n: int) -> Array:
        """Average values of terms over the known terms of each document, (n_docs, n).

        The values are those of the model that was fitted without the fold of the document. What
        all documents have in common differs a little between these models, and it depends on the
        labels that the fold has: it would speak against these labels. So values are shifted until
        the mean of the other documents is that of the model of all documents. Those of a document
        without any known term are zero, as in a prediction.
        """
        assert self.without is not None
        X, posterior = self.terms, self.posterior
        means = mean_documents(self._known_terms, self.fold, self.documents.weight)
        expected = mean_values(means, partial(of_terms, posterior), n)
        out = np.zeros((X.shape[0], n), posterior.shapes.dtype)
        familiar = self.familiar[: posterior.n_terms]
        models = self.without(posterior, self.fold)
        for i in range(len(means)):
            held, model = next(models)  # an iterator such as enumerate would hold the one before
            part, used = without_unused_terms(of_columns(X[held], familiar))
            shift = expected[i] - mean_values(means[[i]], partial(of_terms, model), n)[0]
            has_terms = ~is_empty(part)[:, None]
            out[held] = mean_over_terms(part, of_terms(model, used)) + has_terms * shift
            del model, part  # before the next model is fitted
        return out

    def release(self) -> None:
        """Free the evidence, which is large. It is computed again on use."""
        self.__dict__.pop("evidence", None)

    def without_others(self) -> "Training":
        """Return the training on documents with known labels alone, without reports."""
        some = self.every(1)
        some.most_known = self.most_known
        return some

    def every(self, n: int) -> "Training":
        """Return the training on every n-th document of known label, without reports."""
        some = Training(self.documents.every(n), self.posterior, self.n_threads)
        some.evidence, some.fold = self.evidence[::n], self.fold[::n]
        some.n_effective_terms, some.known = self.n_effective_terms[::n], self.known[::n]
        return some
