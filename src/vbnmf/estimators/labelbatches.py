"""``SupervisedVBNMF.partial_fit``: learn from batches of labelled documents.

``online`` has the maths of a batch. ``supervised`` has the parameters and the fit.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _num_samples

from vbnmf.core.model import Array
from vbnmf.estimators.classifier import LabelClassifier
from vbnmf.estimators.heads import check_classifier
from vbnmf.estimators.labels import check_allowed, check_targets, with_class_weights
from vbnmf.estimators.online import (
    Batches,
    LabelStream,
    batch_class_weight,
    check_batches,
    sample_of,
)
from vbnmf.estimators.posterior import FittedLabels, HeadSample
from vbnmf.estimators.validation import check_count, check_verbose, count_threads


class BatchClassifier(LabelClassifier):
    """Base class of ``SupervisedVBNMF``, which documents the parameters."""

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Learn from a batch of documents, in addition to those before.

        The first batch of a model that is not fitted is fitted as by ``fit``, so it should not be
        small: the components are found on it. Later batches move the components and the label
        rates towards their own by a step of ``(t + learning_offset) ** -learning_decay``, where t
        is the number of documents seen before, in batches of this size, and the other two are
        settings of ``vbnmf.Batches``.

        A label that appears for the first time gets a row of rates and, with scopes, a component of
        its own. The prediction head is trained anew on a sample of the labelled documents so far
        (``fitted_.sample``). A model that was fitted by
        ``fit`` has no such sample of its documents: its head is kept until the sample has enough
        new documents of each label (``fitted_.sample.follows``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms), or Shards
            Weights of terms, with the columns and the weighting of the first batch. Each shard of
            ``Shards`` is a batch, and only one of them is in memory.
        y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
            Labels, as for ``fit``. New labels may appear in any batch. After the first batch, all
            labels of a batch may be unknown. None takes the labels of ``Shards``.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights.
        classes : array-like or None
            Labels that may occur, as in scikit-learn; another label is an error. With the first
            batch, the model has all of them, also those that no document has so far. None accepts
            all labels.

        Returns
        -------
        SupervisedVBNMF
            The model itself.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model = model.partial_fit([[4, 6, 0, 0], [0, 0, 1, 2]], ["tea", "coffee"])
        >>> print(model.fitted_.seen.n_docs)
        12.0
        """
        fitted = self._after_batches(X, y, sample_weight, classes)
        assert isinstance(fitted, FittedLabels)
        if classes is not None:
            check_allowed(fitted.labels.classes, np.asarray(classes))
        self.fitted_ = fitted
        return self

    @abstractmethod
    def _learned(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        coefficients: bool = False,
        class_weight: Any = None,
        classes: Any = None,
    ) -> tuple[FittedLabels, Array | None]:
        """Fit the model and the head.

        ``class_weight`` is used instead of the parameter. ``classes`` are all labels that may
        occur.
        """

    def _after_first_batch(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> FittedLabels:
        most = check_batches(self.batches).head_samples
        targets = check_targets(self, y, _num_samples(X), self.unlabelled)
        targets = targets if classes is None else targets.with_classes(classes)
        class_weight = batch_class_weight(self.class_weight, targets)
        fitted, _ = self._learned(X, y, sample_weight, class_weight=class_weight, classes=classes)
        X, weight = self._checked_batch(fitted.components, X, sample_weight)
        weight = with_class_weights(class_weight, targets, weight)
        sample = sample_of(X, targets.indicators, weight).cut(most)
        return replace(fitted, sample=HeadSample(sample, follows=True))

    def _after_batch(
        self, fitted: FittedLabels, batches: Batches, X: Any, y: Any, sample_weight: Any
    ) -> FittedLabels:
        stream = self._stream(batches)
        X, weight = self._checked_batch(fitted.components, X, sample_weight)
        given = check_targets(self, y, X.shape[0], self.unlabelled, some=False)
        class_weight = batch_class_weight(self.class_weight, given)
        weight = with_class_weights(class_weight, given, weight)
        return stream.learn(fitted, X, given, weight)

    def _stream(self, batches: Batches) -> LabelStream:
        """Check the parameters of later batches."""
        classifier = check_classifier(self.classifier)
        n_init = check_count("n_init", self.n_init)  # the progress of the head depends on both
        check_verbose(self.verbose)
        return LabelStream(
            self.term_shape, self.term_scale, self.label_shape, self.label_scale, self.label_tree,
            batches, classifier, count_threads(self.n_jobs), self._reporter(n_init - 1),
        )  # fmt: skip
