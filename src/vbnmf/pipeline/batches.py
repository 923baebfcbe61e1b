"""``DocumentModel.partial_fit``: learn from batches of raw documents."""

from typing import Any, Self

from sklearn.base import TransformerMixin

from vbnmf.core.rows import is_empty, leading
from vbnmf.distributed import is_texts
from vbnmf.shards import Shards
from vbnmf.text import DocumentVectorizer
from vbnmf.text.vectorizer import unknown_terms


class LearnsDocuments(TransformerMixin):  # type: ignore[misc]
    """Mixin with ``partial_fit`` of ``DocumentModel``."""

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, terms: Any = None
    ) -> Self:
        """Update the model with a batch of documents.

        The vocabulary and the inverse document frequencies are those of the first batch, or of
        ``fit``, and do not change. ``unknown_share_`` is the share of the words of the batch that
        are not in the vocabulary. See ``SupervisedVBNMF.partial_fit``.

        Parameters
        ----------
        X : iterable of str, matrix of shape (n_docs, n_terms), or Shards
            Texts or weights of terms. Each shard of ``Shards`` is a batch.
        y : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
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

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model = model.partial_fit(["black tea", "green cocoa"], ["tea", "cocoa"])
        >>> model.classes_.tolist(), model.unknown_share_
        (['cocoa', 'coffee', 'tea'], 0.5)
        """
        if is_texts(X):
            raise ValueError(
                "partial_fit needs a batch of documents in memory; got texts on a cluster. Compute "
                "one partition after the other, or use fit, which converts texts on the workers."
            )
        if not (hasattr(X, "shape") or hasattr(X, "columns")):
            X = list(X)  # they are read twice
        if not hasattr(self, "estimator_"):
            self._fit(X, y, sample_weight, terms, how="partial_fit")
            has_words = isinstance(self.vectorizer_, DocumentVectorizer)
            self.unknown_share_: float | None = 0.0 if has_words else None
            return self
        if y is not None and not self.has_labels:
            raise ValueError(
                "labels were given, but the model was fitted without labels. Fit a new model with "
                "labels, or pass no labels."
            )
        weights = self.vectorize(X)
        streamed = isinstance(weights, Shards)
        if self.has_labels and y is None and not (streamed and weights.labels is not None):
            y = [None] * weights.shape[0]
        self.estimator_.partial_fit(weights, y, sample_weight)
        parts = (weights.rows(i) for i in range(weights.n_shards)) if streamed else (weights,)
        n_terms = len(self.terms_)
        self.n_empty_ += sum(int(is_empty(leading(rows, n_terms)).sum()) for rows in parts)
        self.unknown_share_ = None
        if weights is not X and isinstance(self.vectorizer_, DocumentVectorizer):
            self.unknown_share_ = unknown_terms(self.vectorizer_, X).share
        return self
