"""How a model with labels is fitted: first the model itself, then its prediction head."""

import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from vbnmf.callers import callers_level
from vbnmf.core.fit import HEAD
from vbnmf.core.model import Array
from vbnmf.core.pages import release
from vbnmf.core.products import row_products
from vbnmf.core.rows import is_empty
from vbnmf.core.starts import Knobs
from vbnmf.engines.backends import place
from vbnmf.estimators import documentcounts, labelscopes
from vbnmf.estimators.base import BaseVBNMF
from vbnmf.estimators.classifier import CLASSIFIERS, PredictsLabels
from vbnmf.estimators.classweights import check_weight_left, with_class_weights
from vbnmf.estimators.labelconcerns import warn_of_odd_labels
from vbnmf.estimators.labelposterior import set_label_posterior
from vbnmf.estimators.labeltree import check_label_tree
from vbnmf.estimators.outcome import Outcome, head_not_converged
from vbnmf.estimators.shardedheads import fit_head_on_shards, has_several_shards
from vbnmf.estimators.starting import Start
from vbnmf.estimators.streaming import check_source, is_source, source_targets, source_weights
from vbnmf.estimators.targets import Targets, check_targets
from vbnmf.estimators.telling import Teller
from vbnmf.estimators.validation import check_choice, check_matrix, check_weights, count_threads
from vbnmf.metrics.agreement import fitted_agreement
from vbnmf.prediction.evidence import mean_occurrence
from vbnmf.prediction.material import Posterior, Trained, TrainingDocuments
from vbnmf.prediction.training import train
from vbnmf.shards.shard import ShardSource

_SAMPLE = 2000  # maximum number of documents for component_share_
_SAMPLE_SCORES = 5_000_000  # maximum of these documents times labels
_LEAST_SCALE = 1e-6  # of the prior of a coefficient, relative to the average; of faded components
_TINY = np.finfo(float).tiny


class FitsLabels(PredictsLabels, BaseVBNMF):
    """Base class of ``SupervisedVBNMF``, which documents the parameters and attributes."""

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, coefficients: bool) -> Array | None:
        """Fit the model and the head; return the coefficients, (n_docs, K), if requested."""
        with self._all_or_nothing():
            classifier = check_choice("classifier", self.classifier, ("auto", *CLASSIFIERS))
            X = place(self.engine, X)
            streamed = is_source(X)
            if streamed:
                X = check_source(self, X)
                targets, weight = source_targets(self, X, y), source_weights(X, sample_weight)
            else:
                X = check_matrix(self, X, reset=True)
                targets = check_targets(self, y, X.shape[0], self.unlabelled)
                weight = check_weights(sample_weight, X.shape[0])
            warn_of_odd_labels(targets, self.unlabelled)
            weight = with_class_weights(self.class_weight, targets, weight)
            check_weight_left(X, targets, weight)
            if classifier == "generative" and targets.multilabel:
                raise ValueError(
                    'classifier="generative" needs one label per document, but y has several. Use '
                    'classifier="components".'
                )
            if has_several_shards(X):
                with ExitStack() as hold:
                    outcome = self._fit_model(X, targets, weight, coefficients, hold)
                    assert outcome.engine is not None
                    fit_head_on_shards(
                        self, X, outcome.engine, outcome.fit.state, targets, weight, classifier
                    )
                return outcome.coefficients
            # the head needs the coefficients of all documents
            V = self._fit_model(X, targets, weight, coefficients=True).coefficients
            assert V is not None
            ones = np.ones(X.shape[0])
            every = np.arange(X.shape[0])
            self._fit_head(
                X.take(every) if streamed else X, V, targets, ones if weight is None else weight,
                classifier,
            )  # fmt: skip
            if streamed:
                self.head_documents_ = every
            return V

    def _fit_model(
        self,
        X: sparse.csr_array | ShardSource,
        targets: Targets,
        weight: Array | None,
        coefficients: bool,
        hold: ExitStack | None = None,
    ) -> Outcome:
        """Fit the model without the prediction head; parameters are those of ``_fit``."""
        if weight is not None:
            targets = targets.weighted(weight)
        outcome = self._fit(X, targets, weight, coefficients=coefficients, hold=hold)
        self.classes_ = targets.classes
        self.label_counts_ = targets.counts.astype(np.int64)
        assert outcome.term_documents is not None
        documentcounts.set_counts(self, outcome.term_documents, X.shape[0])
        self.label_frequencies_ = targets.frequencies(weight)
        counts_as = targets.known if weight is None else weight[targets.known]
        self.n_labelled_seen_ = float(counts_as.sum())
        self.__dict__.pop("head_sample_", None)  # of earlier batches
        self.scoped_ = labelscopes.is_scoped(self, targets)
        self.transform_prior_ = "by component" if self.scoped_ else "even"
        groups = check_label_tree(self.label_tree, targets.classes)
        self.label_groups_ = {name: targets.classes[at] for name, at in groups.items()}
        set_label_posterior(self, outcome.fit.state, outcome.fit.stats)
        return outcome

    @property
    def coef_scales_(self) -> Array:
        """Scale of the prior of coefficients in ``transform``, (n_components,)."""
        even = super().coef_scales_
        if self.transform_prior_ == "even":
            return even
        parts = self.label_frequencies_ / max(self.label_frequencies_.sum(), _TINY)
        means = row_products(self.label_activations_.T, parts)
        scales = means / self.hyperparameters_["coef_shape"]
        return np.maximum(scales, _LEAST_SCALE * even)

    def _knobs(self, targets: Targets | None, weight: Array | None) -> Knobs:
        assert targets is not None
        return labelscopes.knobs(self, targets, weight)

    def _start(self, init: Array | str, K: int | None, targets: Targets | None) -> Start:
        assert targets is not None
        init, scopes, groups = labelscopes.check_start(self, init, K, targets)
        start = super()._start(init, K, targets)
        scoped = labelscopes.is_scoped(self, targets)
        return replace(start, scopes=scopes, scoped=scoped, groups=groups)

    def _fit_head(
        self, X: sparse.csr_array, V: Array, targets: Targets, weight: Array, classifier: str
    ) -> None:
        """Fit the prediction head on the documents with known labels."""
        release()
        rows = np.flatnonzero(targets.known & (weight > 0))
        found = self._trained_head(X, V, targets, weight, classifier, rows)
        self._set_head(found, X, rows)

    def _trained_head(
        self,
        X: sparse.csr_array,
        V: Array,
        targets: Targets,
        weight: Array,
        classifier: str,
        rows: Array,
    ) -> Trained:
        """Train a prediction head on some of the documents, and note what its evidence needs."""
        self.smoothing_ = mean_occurrence(X, weight)
        self.multilabel_ = targets.multilabel
        labels = targets.indicators
        self.component_agreement_ = fitted_agreement(
            X, sparse.csr_array(labels, dtype=np.float64), V, self.components_, self.scopes_
        )
        if len(rows) < len(weight):
            documents = TrainingDocuments(
                X[rows], V[rows], labels[rows], weight[rows], targets.multilabel
            )
        else:
            documents = TrainingDocuments(X, V, labels, weight, targets.multilabel)
        return train(
            documents,
            self._posterior(),
            classifier,
            all_known=bool(targets.known.all()),
            n_threads=count_threads(self.n_jobs),
            tell=partial(Teller(self, self.n_init - 1, self.n_init).of_stage, HEAD),
        )

    def _posterior(self) -> Posterior:
        return Posterior(
            self.component_shapes_.T, self.component_scales_, self.label_rates_, self.smoothing_,
            _logs(self.label_frequencies_),
        )  # fmt: skip

    def _set_head(self, found: Trained, X: sparse.csr_array, rows: Array) -> None:
        """Set the attributes of a head, whose left-out probabilities are of ``rows`` of X."""
        n_labels, K = self.label_rates_.shape
        if found.unfinished:
            warnings.warn(
                head_not_converged(found.unfinished), ConvergenceWarning, stacklevel=callers_level()
            )
        self.classifier_, self.classifier_reason_ = found.classifier, found.reason
        self.threshold_, self.score_scale_ = found.threshold, 1.0
        self.length_exponent_ = found.calibration.length_exponent
        self.label_noise_ = found.calibration.noise
        self.score_bend_ = found.calibration.bend
        self.head_biases_ = found.calibration.biases
        self.head_weights_, self.head_intercepts_ = np.zeros((n_labels, K)), np.zeros(n_labels)
        self.word_weights_ = np.zeros((n_labels, 0), np.float32)
        if found.head is None:
            self.score_scale_ = float(found.calibration.slopes[0])
        else:
            self.head_weights_, self.head_intercepts_ = found.head.weights, found.head.intercepts
            self.word_weights_ = found.head.words
        self.left_out_proba_ = found.left_out
        if len(rows) < X.shape[0]:
            self.left_out_proba_ = self._proba(X).astype(np.float32)
            self.left_out_proba_[rows] = found.left_out
        self.left_out_proba_[is_empty(X)] = self.label_frequencies_
        sample = X[:: -(-X.shape[0] // min(_SAMPLE, -(-_SAMPLE_SCORES // n_labels)))]
        P = self._proba(sample)
        shares, best = self._component_share(sample, P), P.argmax(axis=1)
        self.component_share_ = float(shares.mean())
        n_docs = np.bincount(best, minlength=n_labels)
        sums = np.bincount(best, shares, minlength=n_labels)
        self.label_component_shares_ = np.where(
            n_docs > 0, sums / np.maximum(n_docs, 1), self.component_share_
        )


def _logs(frequencies: Array) -> Array:
    """Return logarithms, with zeros replaced by the smallest positive number."""
    return np.asarray(np.log(np.maximum(frequencies, _TINY)))
