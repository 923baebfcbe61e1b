"""The classifier methods of ``SupervisedVBNMF``: labels, probabilities and explanations.

The maths is in ``vbnmf.prediction``. This module connects it with fitted attributes and with the
interface of scikit-learn. ``labelfitting`` trains the prediction head.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.model import Array
from vbnmf.core.rows import effective_terms, is_empty, without_unused_terms
from vbnmf.estimators.streaming import checked, labels_from
from vbnmf.estimators.targets import check_targets
from vbnmf.estimators.validation import check_count, check_matrix, check_weights, count_threads
from vbnmf.prediction import generative
from vbnmf.prediction.calibration import Calibration
from vbnmf.prediction.evidence import mean_over_terms, term_evidence
from vbnmf.prediction.explanation import ExplainedLabel, Explanation, component_share, summed_up
from vbnmf.prediction.heads import Head

CLASSIFIERS = ("words and components", "components", "generative")


class PredictsLabels(ClassifierMixin):  # type: ignore[misc]
    """Mixin with the prediction methods of ``SupervisedVBNMF``, which documents the attributes."""

    def predict(self, X: Any) -> Array:
        """Predict the labels of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training. The result for an array on a cluster is
            another one, which is computed later.

        Returns
        -------
        ndarray of shape (n_docs,), or (n_docs, n_labels) of zeros and ones
            The most probable label. If documents may have several labels: an indicator matrix of
            the labels with probability of at least ``threshold_``.
        """
        return labels_from(self, self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training. The result for an array on a cluster is
            another one, which is computed later.

        Returns
        -------
        ndarray of shape (n_docs, n_labels)
            Probabilities in the order of ``classes_``. Rows sum to one unless documents may have
            several labels. A document without any known term gets the frequencies of the labels in
            training.
        """
        check_is_fitted(self, "components_")
        count_threads(self.n_jobs)  # one thread is used here, but a wrong n_jobs is an error
        return checked(self, X, self._proba)

    def _proba(self, X: sparse.csr_array) -> Array:
        P = self._calibration().probabilities(self._scores(X), effective_terms(X))
        P[is_empty(X)] = self.label_frequencies_
        return P

    def _scores(self, X: sparse.csr_array) -> Array:
        """Compute the scores of labels before calibration, (n_docs, n_labels)."""
        within, used = without_unused_terms(X)
        if self.classifier_ == "generative":
            return mean_over_terms(within, self._term_log_probabilities(used))
        return self._head(used).scores(within, self._term_evidence(used))

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the log-probabilities of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.

        Returns
        -------
        ndarray of shape (n_docs, n_labels)
            Logarithms of ``predict_proba``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

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

    def labels_from(self, probabilities: Array) -> Array:
        """Convert the result of ``predict_proba`` to that of ``predict``."""
        if self.multilabel_:
            return self.indicators_from(probabilities)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def indicators_from(self, probabilities: Array) -> Array:
        """Convert the result of ``predict_proba`` to an indicator matrix (n_docs, n_labels)."""
        if self.multilabel_:
            return (probabilities >= self.threshold_).astype(np.int64)
        given = np.zeros(probabilities.shape, dtype=np.int64)
        np.put_along_axis(given, probabilities.argmax(axis=1)[:, None], 1, axis=1)
        return given

    def explain(
        self,
        X: Any,
        *,
        n_terms: int = 8,
        n_components: int = 3,
        names: Any = None,
        also: Sequence[Iterable[int]] | None = None,
        probabilities: Array | None = None,
        return_proba: bool = False,
    ) -> Any:
        """Compute the contributions of components and terms to the two most probable labels.

        Contributions are exact: their sum over all terms and components is how much the terms of
        the document raise the score of the label above the mean score of all labels. Calibration
        then converts scores to probabilities. It does not change the order of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.
        n_terms : int, default=8
            Maximum number of terms to list for a label and for each component.
        n_components : int, default=3
            Maximum number of components to list.
        names : sequence of str or None, default=None
            Names of the terms. None uses the names from training, or numbers if there were none.
        also : sequence of iterables of int, of length n_docs, or None, default=None
            Further labels of each document to explain, as indices into ``classes_``.
        probabilities : ndarray of shape (n_docs, n_labels) or None, default=None
            The result of ``predict_proba`` for X. None computes it.
        return_proba : bool, default=False
            Whether to return the probabilities too.

        Returns
        -------
        explanations : list of lists of Explanation
            The explanations of each document, one for each label. The list is empty for a document
            without any known term.
        probabilities : ndarray of shape (n_docs, n_labels)
            The result of ``predict_proba``. Only if ``return_proba`` is True.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X = [[5, 4, 0, 0], [3, 4, 0, 0], [0, 0, 6, 5], [0, 0, 3, 3]]
        >>> y = ["tea", "tea", "coffee", "coffee"]
        >>> model = SupervisedVBNMF(n_components=2, random_state=0).fit(X, y)
        >>> best, second = model.explain([[3, 0, 0, 0]], names=["leaf", "pot", "bean", "cup"])[0]
        >>> best.label, best.terms[0].term
        ('tea', 'leaf')
        """
        n_terms = check_count("n_terms", n_terms)
        n_components = check_count("n_components", n_components)
        check_is_fitted(self, "components_")
        X = check_matrix(self, X, reset=False)
        P = self._proba(X) if probabilities is None else probabilities
        names = self._names(names)
        best = np.argsort(-P, axis=1, kind="stable")[:, :2].tolist()
        more = [()] * len(best) if also is None else also
        explained = [
            self._explain_one(
                *_terms_of(X, d), P[d], list(dict.fromkeys([*two, *more[d]])), names,
                n_terms, n_components,
            )
            for d, two in enumerate(best)
        ]  # fmt: skip
        return (explained, P) if return_proba else explained

    def component_share(self, X: Any, probabilities: Array | None = None) -> Array:
        """Compute the share of components in the score of the most probable label.

        The rest comes from single words. The share is the absolute contribution of components,
        divided by the sum of the absolute contributions of components and of words. It is 1 if the
        head does not use words, and for a document without any known term.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.
        probabilities : ndarray of shape (n_docs, n_labels) or None, default=None
            The result of ``predict_proba`` for X. None computes it.

        Returns
        -------
        ndarray of shape (n_docs,)
            Shares between 0 and 1.
        """
        check_is_fitted(self, "components_")
        X = check_matrix(self, X, reset=False)
        return self._component_share(X, self._proba(X) if probabilities is None else probabilities)

    def _component_share(self, X: sparse.csr_array, P: Array) -> Array:
        if not self.word_weights_.size:
            return np.ones(X.shape[0])
        within, used = without_unused_terms(X)
        parts = self._head(used).parts(within, self._term_evidence(used))
        best = P.argmax(axis=1)
        by_components, by_words = (
            part[np.arange(len(best)), best] - (0 if self.multilabel_ else part.mean(axis=1))
            for part in parts
        )
        return component_share(by_components, by_words)

    def _names(self, names: Any) -> Array:
        """Check the names of terms, or return those from training."""
        if names is None:
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        names = np.asarray(names, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"names must have one name for each of the {self.n_features_in_} terms; got "
                f"{names.size}."
            )
        return names

    def _explain_one(
        self,
        used: Array,
        x: Array,
        P: Array,
        codes: list[int],
        names: Array,
        n_terms: int,
        n_components: int,
    ) -> list[Explanation]:
        """Explain labels of a document with terms ``used``, weights x and probabilities P."""
        labels = self.classes_.tolist()
        return [
            summed_up(
                ExplainedLabel(
                    labels[code], float(P[code]), *self._parts(used, x, code), names[used]
                ),
                n_terms=n_terms,
                n_components=n_components,
            )
            for code in (codes if len(used) else [])
        ]

    @property
    def temperature_(self) -> float:
        """Deprecated: use ``score_scale_``. It multiplies scores, where a temperature divides."""
        scale = self.score_scale_  # a model that is not fitted has neither
        warnings.warn(
            "temperature_ is deprecated: use score_scale_, which is the same number.",
            FutureWarning,
            stacklevel=2,
        )
        return scale

    def _calibration(self) -> Calibration:
        return Calibration(
            np.full(len(self.head_biases_), self.score_scale_),
            self.head_biases_,
            self.label_frequencies_,
            self.length_exponent_,
            self.label_noise_,
            self.multilabel_,
            bend=self.score_bend_,
        )

    def _head(self, used: Array | slice) -> Head:
        """Return the prediction head restricted to some of the terms."""
        words = self.word_weights_
        words = words[:, used] if words.size else words
        return Head(self.head_weights_, self.head_intercepts_, self._calibration(), words)

    def _term_evidence(self, used: Array | slice) -> Array:
        """Compute the evidence of some of the terms for each component, (n_used, K)."""
        totals = (
            self.component_sums_ / self.component_scales_ + self.n_features_in_ * self.smoothing_
        )
        return term_evidence(self.component_shapes_.T[used], totals, self.smoothing_)

    def _term_log_probabilities(self, used: Array | slice) -> Array:
        """Compute the log-probabilities of some of the terms by label, (n_used, n_labels)."""
        components = self.components_[:, used]
        return generative.term_log_probabilities(
            components, self.label_rates_, self.component_sums_
        )

    def _parts(self, used: Array, x: Array, label: int) -> tuple[Array, Array]:
        """Compute the contributions of terms with weights x to the score of a label.

        Returns an array of shape (n_used, K + 1), with one column for each component and a last
        column for single words, and which components the label uses, (K,).
        """
        if self.classifier_ == "generative":
            logs = self._term_log_probabilities(used)
            shares = self.components_[:, used].T / self.label_rates_[label]
            shares = shares / shares.sum(axis=1, keepdims=True)
            parts = self.score_scale_ * (logs[:, label] - logs.mean(axis=1))[:, None] * shares
            uses = np.ones(shares.shape[1], dtype=bool)
        else:
            weights = self._above_mean(self.head_weights_, label)
            parts, uses = self._term_evidence(used) * weights, weights > 0
        parts = parts * (x / x.sum())[:, None]
        alone = np.zeros(len(x))
        if self.word_weights_.size:
            x = x.astype(np.float64)
            alone = self._above_mean(self.word_weights_[:, used], label) * x / np.sqrt((x**2).sum())
        growth = (x.astype(np.float64).sum() ** 2 / (x.astype(np.float64) ** 2).sum()) ** (
            self.length_exponent_
        )
        return growth * np.column_stack([parts, alone]), uses

    def _above_mean(self, weights: Array, label: int) -> Array:
        """Return the weights of a label minus the mean over labels (not if multilabel)."""
        own = weights[label].astype(np.float64)
        return own if self.multilabel_ else own - weights.mean(axis=0, dtype=np.float64)


def _terms_of(X: sparse.csr_array, d: int) -> tuple[Array, Array]:
    """Return the terms of a document and their weights."""
    at = slice(X.indptr[d], X.indptr[d + 1])
    occurs = X.data[at] > 0
    return X.indices[at][occurs], X.data[at][occurs]
