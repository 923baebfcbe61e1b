"""``DocumentModel.partial_fit``: learn from batches of raw documents."""

from typing import Any, Self

from sklearn.base import TransformerMixin

from vbnmf.core.rows import is_empty
from vbnmf.distributed import is_texts
from vbnmf.shards import Shards
from vbnmf.text.vectorizer import unknown_terms


class LearnsDocuments(TransformerMixin):  # type: ignore[misc]
    """Mixin with ``partial_fit`` of ``DocumentModel``."""

    def partial_fit(
        self, documents: Any, labels: Any = None, sample_weight: Any = None, *, terms: Any = None
    ) -> Self:
        """Update the model with a batch of documents.

        The vocabulary and the inverse document frequencies are those of the first batch, or of
        ``fit``, and do not change. ``unknown_share_`` is the share of the words of the batch that
        are not in the vocabulary. See ``SupervisedVBNMF.partial_fit``.

        Parameters
        ----------
        documents : iterable of str, matrix of shape (n_docs, n_terms), or Shards
            Texts or weights of terms. Each shard of ``Shards`` is a batch.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            Labels, as for ``fit``. New labels may appear. With ``Shards``, None uses their labels.
            With other documents after the first batch, None means that all labels are unknown.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights.
        terms : sequence of str or None
            Names of the columns, if the first batch is a matrix.

        Returns
        -------
        DocumentModel
            The model itself.
        """
        if is_texts(documents):
            raise ValueError(
                "partial_fit needs a batch of documents in memory; got texts on a cluster. Compute "
                "one partition after the other, or use fit, which converts texts on the workers."
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
        streamed = isinstance(X, Shards)
        if self.has_labels and labels is None and not (streamed and X.labels is not None):
            labels = [None] * X.shape[0]
        self.estimator_.partial_fit(X, labels, sample_weight)
        parts = (X.rows(i) for i in range(X.n_shards)) if streamed else (X,)
        self.n_empty_ += sum(int(is_empty(rows).sum()) for rows in parts)
        self.unknown_share_ = None
        if X is not documents:
            self.unknown_share_ = unknown_terms(self.vectorizer_, documents).share
        return self
