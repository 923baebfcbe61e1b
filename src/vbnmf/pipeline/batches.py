"""``DocumentModel.partial_fit``: learn from batches of raw documents."""

from typing import Any, Self

from sklearn.base import TransformerMixin

from vbnmf.core.rows import is_empty
from vbnmf.data.shards import Shards
from vbnmf.text.unknown import unknown_terms


class LearnsDocuments(TransformerMixin):  # type: ignore[misc]
    """Mixin with ``partial_fit`` of ``DocumentModel``."""

    def partial_fit(
        self, documents: Any, labels: Any = None, sample_weight: Any = None, *, terms: Any = None
    ) -> Self:
        """Learn from a batch of documents, in addition to those before.

        The vocabulary and the weights of terms are those of the first batch, or of the fit, and do
        not change. ``unknown_share_`` says which part of the words of the batch they lack. See
        ``SupervisedVBNMF.partial_fit``.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            Labels, as for ``fit``. New labels may appear. After the first batch, None marks all
            labels as unknown.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights.
        terms : sequence of str or None
            Names of the columns, if the first batch is a matrix.

        Returns
        -------
        DocumentModel
            The model itself.
        """
        if isinstance(documents, Shards):
            raise ValueError(
                "partial_fit needs texts or a matrix in memory; got Shards. Use fit, which reads "
                "Shards one by one."
            )
        if not (hasattr(documents, "shape") or hasattr(documents, "columns")):
            documents = list(documents)  # they are read twice
        if not hasattr(self, "estimator_"):
            self._fit(documents, labels, sample_weight, terms, how="partial_fit")
            self.unknown_share_: float | None = None if self.vectorizer_ is None else 0.0
            return self
        if labels is not None and not self.has_labels:
            raise ValueError(
                "labels were given, but the model was fitted without labels. Fit a new model with "
                "labels, or pass no labels."
            )
        X = self.vectorize(documents)
        if self.has_labels and labels is None:
            labels = [None] * X.shape[0]
        self.estimator_.partial_fit(X, labels, sample_weight)
        self.n_empty_ += int(is_empty(X).sum())
        self.unknown_share_ = None
        if X is not documents:
            self.unknown_share_ = unknown_terms(self.vectorizer_, documents).share
        return self
