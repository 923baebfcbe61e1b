"""What makes the supervised model a classifier: labels and probabilities of new documents.

Three ways lead from a document to its label: components and single words together (``words``), a
regression on the evidence for components alone (``heads``), and the model itself (``generative``).
The first is right most often; with few documents a label it is often the last, which is then found
out on documents of training that are left out.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.clusters import of_unit_length
from vbnmf.core.model import Array
from vbnmf.estimators import generative
from vbnmf.estimators.base import without_unused_terms
from vbnmf.estimators.evidence import evidence, evidence_left_out, mean_occurrence, term_evidence
from vbnmf.estimators.explaining import Explained, Explanation, summed_up
from vbnmf.estimators.heads import Head, accuracy_left_out, fit_head, folds
from vbnmf.estimators.targets import Targets, check_targets
from vbnmf.estimators.validation import (
    check_count,
    check_matrix,
    check_weights,
    count_threads,
    is_empty,
)
from vbnmf.estimators.words import fit_words, has_room

CLASSIFIERS = ("words and components", "components", "generative")
_ENOUGH = 25  # documents a label, from which on the regression is as good or better
_TINY = np.finfo(float).tiny


class PredictsLabels(ClassifierMixin):  # type: ignore[misc]
    """The part of ``SupervisedVBNMF`` that predicts; its attributes are documented there."""

    def predict(self, X: Any) -> Array:
        """Labels of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, made in the same way as those of training.

        Returns
        -------
        ndarray of shape (n_docs,), or (n_docs, n_labels) of zeros and ones
            The most probable label; where documents may have several, those of at least the
            probability that did best in training.
        """
        return self.labels_from(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the labels, (n_docs, n_labels), in the order of ``classes_``.

        With one label a document they sum to one. A document without any known term gets the
        frequencies of the labels in training.
        """
        check_is_fitted(self, "components_")
        count_threads(self.n_jobs)  # one is enough here; a wrong number is told all the same
        X = check_matrix(self, X, reset=False)
        within, used = without_unused_terms(X)
        if self.classifier_ == "generative":
            calibration = generative.Calibration(self.temperature_, self.head_intercepts_)
            P = calibration.probabilities(evidence(within, self._term_log_odds(used)))
        else:
            documents = of_unit_length(within) if self.word_weights_.size else None
            P = self._head(used).probabilities(
                evidence(within, self._term_evidence(used)), documents
            )
        P[is_empty(X)] = self.label_frequencies_
        return P

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy: the part of documents whose label, or set of labels, is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, made in the same way as those of training.
        y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
            Labels in any form that ``fit`` takes. Documents of unknown label do not count. Labels
            go by their names, and columns without names by the order of ``classes_``. A label that
            the model does not know is a wrong prediction where each document has one label, and
            refused where documents have several.
        sample_weight : array-like of shape (n_docs,) or None
            How many documents each one counts as.

        Returns
        -------
        float
            Between 0 and 1.
        """
        P = self.predict_proba(X)
        targets = check_targets(self, y, len(P), self.unlabelled)
        truth, strange = targets.placed(self.classes_)
        if self.multilabel_:
            right = (truth == self.labels_from(P)).all(axis=1)
        else:
            right = (truth[np.arange(len(P)), P.argmax(axis=1)] == 1) & (truth.sum(axis=1) == 1)
        right &= ~strange
        weight = check_weights(sample_weight, len(P))
        weight = targets.known * (1.0 if weight is None else weight)
        if not weight.any():
            raise ValueError(
                "the documents of known label all have the weight zero, so there is nothing to "
                "score. Check sample_weight."
            )
        return float(np.average(right, weights=weight))

    def labels_from(self, probabilities: Array) -> Array:
        """As ``predict``, from what ``predict_proba`` returned."""
        if self.multilabel_:
            return (probabilities >= self.threshold_).astype(np.int64)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def explain(
        self,
        X: Any,
        *,
        n_terms: int = 8,
        n_components: int = 3,
        names: Any = None,
        also: Sequence[Iterable[int]] | None = None,
    ) -> list[list[Explanation]]:
        """What spoke for the most probable label of documents, and for the runner-up.

        Parts are exact: over all terms and components they add up to how much a document's terms
        raise the score of the label (the logarithm of its odds) above the mean of all labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, made in the same way as those of training.
        n_terms, n_components : int
            Most terms, of a label and of each component, and most components that are named.
        names : sequence of str or None, default=None
            Names of the terms; None takes those of training, or numbers where there were none.
        also : sequence of iterables of int, of length n_docs, or None, default=None
            Labels of each document, as places in ``classes_``, to explain after these two.

        Returns
        -------
        list of lists of Explanation
            For each document the labels, each once; none for a document without
            any known term, of which nothing can be said.

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
        P = self.predict_proba(X)
        X = check_matrix(self, X, reset=False)
        names = self._names(names)
        best = np.argsort(-P, axis=1, kind="stable")[:, :2].tolist()
        more = [()] * len(best) if also is None else also
        return [
            self._explain_one(
                *_terms_of(X, d), P[d], list(dict.fromkeys([*two, *more[d]])), names,
                n_terms, n_components,
            )
            for d, two in enumerate(best)
        ]  # fmt: skip

    def _names(self, names: Any) -> Array:
        """Names of all terms."""
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
        """Explanations of a document of terms ``used`` with weights x and probabilities P."""
        labels = self.classes_.tolist()
        return [
            summed_up(
                Explained(labels[code], float(P[code]), *self._parts(used, x, code), names[used]),
                n_terms=n_terms,
                n_components=n_components,
            )
            for code in (codes if len(used) else [])
        ]

    def _fit_head(
        self, X: sparse.csr_array, V: Array, targets: Targets, weight: Array, classifier: str
    ) -> None:
        """Train what predicts on the documents of known labels."""
        n_labels, n_terms, K = len(targets.classes), X.shape[1], V.shape[1]
        self.smoothing_ = mean_occurrence(X, weight)
        self.multilabel_, self.threshold_ = targets.multilabel, 0.5
        self.head_weights_, self.temperature_ = np.zeros((n_labels, K)), 1.0
        self.word_weights_ = np.zeros((n_labels, 0), np.float32)
        counts, indicators = targets.known & (weight > 0), targets.indicators
        if not counts.all():
            X, V, weight, indicators = X[counts], V[counts], weight[counts], indicators[counts]
        auto = classifier == "auto"
        few = len(weight) < _ENOUGH * n_labels and targets.known.all() and not targets.multilabel
        shapes, scales = self.component_shapes_.T, self.component_scales_
        n_threads = count_threads(self.n_jobs)
        head, accuracy = None, -1.0
        if classifier != "generative":
            seen = evidence_left_out(X, V, shapes, scales, self.smoothing_, weight, n_threads)
            found = None
            if classifier != "components" and has_room(X.shape[0], n_terms, n_labels, K):
                found = fit_words(seen, X, indicators, weight, multilabel=targets.multilabel)
            classifier = "components" if found is None else "words and components"
            if found is not None:
                head, accuracy = found
            elif auto and few:
                accuracy = accuracy_left_out(seen, indicators, weight, folds(X))
            if head is None:
                head = fit_head(seen, indicators, weight, multilabel=targets.multilabel)
        # where common terms dominate, evidence of documents left out can point the wrong way
        wrong = (
            head is not None
            and not targets.multilabel
            and self._is_worse_than_none(head, X, indicators, weight)
        )
        if head is None or (auto and (few or wrong)):
            odds = generative.log_odds_left_out(
                X, V, shapes, scales, self.label_rates_, weight, n_threads
            )
            y, log_prior = indicators.indices, _logs(self.label_frequencies_)
            calibration = generative.calibrate(odds, log_prior, y, weight)
            right = calibration.probabilities(odds).argmax(axis=1) == y
            if head is None or wrong or np.average(right, weights=weight) > accuracy:
                classifier = "generative"
        self.classifier_ = classifier
        if classifier == "generative":
            self.temperature_, self.head_intercepts_ = calibration.temperature, calibration.biases
            return
        assert head is not None
        self.head_weights_, self.head_intercepts_ = head.weights, head.intercepts
        self.threshold_ = head.threshold
        if head.words.size:
            self.word_weights_ = head.words

    def _is_worse_than_none(
        self, head: Head, X: sparse.csr_array, indicators: sparse.csr_array, weight: Array
    ) -> bool:
        """Whether a head is right about fewer documents of training than the commonest label."""
        documents = of_unit_length(X) if head.words.size else None
        P = head.probabilities(evidence(X, self._term_evidence(slice(None))), documents)
        right = P.argmax(axis=1) == indicators.indices
        return bool(weight @ right < (weight @ indicators).max())

    def _head(self, used: Array | slice) -> Head:
        """What predicts from documents over some of the terms."""
        words = self.word_weights_
        return Head(
            self.head_weights_,
            self.head_intercepts_,
            self.multilabel_,
            self.threshold_,
            words[:, used] if words.size else words,
        )

    def _term_evidence(self, used: Array | slice) -> Array:
        """What some of the terms say of each component, (n_used, K)."""
        totals = (
            self.component_sums_ / self.component_scales_ + self.n_features_in_ * self.smoothing_
        )
        return term_evidence(self.component_shapes_.T[used], totals, self.smoothing_)

    def _term_log_odds(self, used: Array | slice) -> Array:
        """How probable some of the terms are under each label, (n_used, n_labels)."""
        components = self.components_[:, used]
        return generative.term_log_odds(components, self.label_rates_, self.component_sums_)

    def _parts(self, used: Array, x: Array, label: int) -> tuple[Array, Array]:
        """Parts in a label's score of terms of weights x: by components, then by words alone.

        Returns an array of shape (n_used, K + 1), and which components the label uses, (K,).
        """
        if self.classifier_ == "generative":
            logs = self._term_log_odds(used)
            shares = self.components_[:, used].T / self.label_rates_[label]
            shares = shares / shares.sum(axis=1, keepdims=True)
            parts = self.temperature_ * (logs[:, label] - logs.mean(axis=1))[:, None] * shares
            uses = np.ones(shares.shape[1], dtype=bool)
        else:
            weights = self._above_mean(self.head_weights_, label)
            parts, uses = self._term_evidence(used) * weights, weights > 0
        parts = parts * (x / x.sum())[:, None]
        alone = np.zeros(len(x))
        if self.word_weights_.size:
            x = x.astype(np.float64)
            alone = self._above_mean(self.word_weights_[:, used], label) * x / np.sqrt((x**2).sum())
        return np.column_stack([parts, alone]), uses

    def _above_mean(self, weights: Array, label: int) -> Array:
        """Weights of a label above the mean of all labels; its own where documents have several."""
        own = weights[label].astype(np.float64)
        return own if self.multilabel_ else own - weights.mean(axis=0, dtype=np.float64)


def _logs(frequencies: Array) -> Array:
    """Logarithms; of what never occurs, that of the least there is."""
    return np.asarray(np.log(np.maximum(frequencies, _TINY)))


def _terms_of(X: sparse.csr_array, d: int) -> tuple[Array, Array]:
    """Terms of a document, and their weights."""
    at = slice(X.indptr[d], X.indptr[d + 1])
    occurs = X.data[at] > 0
    return X.indices[at][occurs], X.data[at][occurs]
