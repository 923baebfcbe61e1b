"""A model with labels as a classifier of scikit-learn: its score and its intervals.

``labelpredictor`` has the predictions, ``labelbatches`` learns from batches, and ``supervised`` has
the parameters and the fit.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from vbnmf.core.model import Array
from vbnmf.description.showing import ShowsLabels
from vbnmf.estimators.base import BaseVBNMF
from vbnmf.estimators.labelpredictor import PredictsLabels
from vbnmf.estimators.labels import check_targets
from vbnmf.estimators.posterior import FittedLabels
from vbnmf.estimators.validation import check_fitted, check_weights
from vbnmf.prediction.projection import CoefficientPrior, LabelPrior, mean_weight


class LabelClassifier(PredictsLabels, ShowsLabels, ClassifierMixin, BaseVBNMF):  # type: ignore[misc]
    """Base class of ``SupervisedVBNMF``, which documents the attributes."""

    fitted_: FittedLabels
    unlabelled: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy, or subset accuracy if documents may have several labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.
        y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
            True labels in any form that ``fit`` accepts. Documents with unknown labels are ignored.
            Labels are matched by name; columns without names are in the order of ``classes_``. A
            label that the model does not know counts as a wrong prediction if each document has one
            label, and is an error if documents may have several.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights.

        Returns
        -------
        float
            Accuracy between 0 and 1.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.score([[1, 1, 0, 0], [0, 0, 1, 1]], ["tea", "coffee"])
        1.0
        """
        P = self.predict_proba(X)
        targets = check_targets(self, y, len(P), self.unlabelled)
        targets.check_known(self.classes_)
        truth = targets.placed(self.classes_)[0].toarray()
        n_labels = P.shape[1]
        right = (truth[:, :n_labels] == self.indicators_from(P)).all(axis=1)
        right &= ~truth[:, n_labels:].any(axis=1)
        weight = check_weights(sample_weight, len(P))
        weight = targets.known * (1.0 if weight is None else weight)
        if not weight.any():
            raise ValueError(
                "all documents with known labels have sample weight zero, so there is nothing to "
                "score. Check sample_weight."
            )
        return float(np.average(right, weights=weight))

    def label_interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Compute credible intervals of the mean coefficients of each label.

        The mean is that of the population, not only of the training documents. The fewer documents
        a label has, the wider the interval. The intervals are too narrow, because they ignore the
        uncertainty of components and coefficients. On documents drawn from the model, intervals of
        90 % covered 75–95 % of the means of a tenth of the label or more if labels use separate
        components, 70–92 % if every document mixes all components, and fewer of the smaller means;
        see docs/explanation/algorithm.md.

        Parameters
        ----------
        level : float, default=0.9
            Probability of each interval, with equal tails.

        Returns
        -------
        low, high : ndarrays of shape (n_labels, n_components)
            Ends of the intervals, in the units of ``label_activations_``. They are zero and
            infinity for a label without documents.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> low, high = model.label_interval(0.9)
        >>> low.shape, bool((low <= high).all())
        ((2, 2), True)
        """
        check_fitted(self)
        of = self.fitted_
        return of.labels.interval(level, of.components.hyperparameters["coef_shape"])

    def _coef_prior(self, terms: Array | slice) -> CoefficientPrior:
        if not self.fitted_.labels.scoped:
            return super()._coef_prior(terms)
        of, labels = self.fitted_.for_prediction, self.fitted_.labels
        weight = mean_weight(labels.activations, labels.frequencies, of.sums)
        return LabelPrior.of(of.components(terms), of.sums, of.rates, of.log_prior, weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True  # on scikit-learn's checks with two features
        tags.classifier_tags.multi_label = True
        return tags
