"""``partial_fit`` with labels: new labels, and a prediction head that keeps up.

The head is trained on a bounded sample of the labelled documents seen (``reservoir``). A model that
was fitted by ``fit`` has no such sample, and a head trained on new documents alone would forget the
others. Such a model keeps its head until the sample of new documents has enough of each label, and
a head trained on it is as accurate on them.
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from vbnmf.core.model import Array
from vbnmf.estimators import newlabels
from vbnmf.estimators.classweights import with_class_weights
from vbnmf.estimators.componentterms import choose_terms, passages_of
from vbnmf.estimators.documentcounts import add_counts
from vbnmf.estimators.labelposterior import set_label_posterior
from vbnmf.estimators.labeltree import check_label_tree
from vbnmf.estimators.online import (
    Batch,
    LearnsOnline,
    batch_knobs,
    batch_labels,
    check_batch,
    prior_of,
    step_on,
)
from vbnmf.estimators.outcome import check_finite
from vbnmf.estimators.reservoir import Reservoir, moved_columns
from vbnmf.estimators.targets import Targets, check_targets, grouped
from vbnmf.estimators.validation import check_choice, check_count, check_verbose
from vbnmf.prediction.training import HEADS

ENOUGH_OF_A_LABEL = 20
"""Number of documents of each label from which the sample may replace a head of ``fit``."""


class LearnsLabelsOnline(LearnsOnline):
    """Mixin with ``partial_fit`` for a model with labels."""

    class_weight: Any
    label_counts_: Array
    label_frequencies_: Array
    n_labelled_seen_: float
    _uses_labels = True

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Learn from a batch of documents, in addition to those before.

        The first batch of a model that is not fitted is fitted as by ``fit``, so it should not be
        small: the components are found on it. Later batches move the components and the label
        rates towards their own by a step of ``(t + learning_offset) ** -learning_decay``, where t
        is the number of documents seen before, in batches of this size.

        A label that appears for the first time gets a row of rates and, with scopes, a component of
        its own. The prediction head is trained anew on ``head_sample_``. A model that was fitted by
        ``fit`` has no such sample of its documents: its head is kept until the sample has enough
        new documents of each label (``head_follows_``).

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
            Labels that may occur, for compatibility with scikit-learn; another label is an error.
            None accepts all labels.

        Returns
        -------
        SupervisedVBNMF
            The model itself.
        """
        with self._all_or_nothing():
            super().partial_fit(X, y, sample_weight)
            other = [] if classes is None else sorted(set(self.classes_) - set(classes))
            if other:
                raise ValueError(
                    f"y has labels that are not in classes: {', '.join(map(repr, other[:5]))}. Add "
                    "them to classes, or leave classes out."
                )
        return self

    def _learn_first(self, X: Any, y: Any, sample_weight: Any) -> None:
        most = check_count("head_samples", self.head_samples)
        given = self.class_weight
        targets = check_targets(self, y, _num_samples(X), self.unlabelled)
        self.class_weight = _restricted(given, targets)  # after an error, it is restored
        self.fit(X, y, sample_weight)
        X, weight = check_batch(self, X, sample_weight)
        weight = with_class_weights(self.class_weight, targets, weight)
        self.class_weight = given
        self.head_sample_ = _sample(X, targets.indicators, weight).cut(most)
        self.head_follows_ = True

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any) -> None:
        classifier = check_choice("classifier", self.classifier, ("auto", *HEADS))
        most = check_count("head_samples", self.head_samples)
        check_count("n_init", self.n_init)  # the progress of the head depends on both
        check_verbose(self.verbose)
        X, weight = check_batch(self, X, sample_weight)
        given = check_targets(self, y, X.shape[0], self.unlabelled, some=False)
        weight = with_class_weights(_restricted(self.class_weight, given), given, weight)
        K = self.n_components_
        targets = self._placed(given, X, weight)
        self._count(targets, weight)
        add_counts(self, X, targets)
        labels = batch_labels(self, targets)
        knobs = batch_knobs(self)
        n_new = self.n_components_ - K
        state, sums = step_on(
            self, X, targets.group, targets.n_groups, weight, labels, knobs, n_new
        )
        set_label_posterior(self, state, sums)
        if targets.indicators.nnz:
            sample = _sample(X, targets.indicators, weight)
            if hasattr(self, "head_sample_"):
                self.head_sample_ = self.head_sample_.add(sample, most)
            else:
                self.head_sample_, self.head_follows_ = sample.cut(most), False
            self._renew_head(classifier)
        if hasattr(self, "head_sample_"):
            of = self.head_sample_
            self.passages_ = passages_of(of.X, of.weight)
            self.describing_terms_ = choose_terms(self, of.X, of.weight)

    def _placed(self, given: Targets, X: sparse.csr_array, weight: Array | None) -> Targets:
        """Return labels in the order of ``classes_``, to which new labels are added."""
        n_docs, known = X.shape[0], self.classes_
        if not given.indicators.nnz:
            nothing = sparse.csr_array((n_docs, len(known)))
            return grouped(known, [nothing], self.multilabel_, named=True)
        several = int((np.diff(given.indicators.indptr) > 1).sum())
        if several and not self.multilabel_:
            raise ValueError(
                f"{several} documents of this batch have several labels, but the model was fitted "
                "to documents with one label each. Pass one label per document, or fit a new model."
            )
        indicators, labels = given.placed(known)
        indicators = sparse.csr_array(indicators, dtype=np.float64)
        names = labels[len(known) :]
        if names:
            _check_type(names, known)
            parts = indicators[:, len(known) :] / np.diff(indicators.indptr).clip(1)[:, None]
            if weight is not None:
                parts = parts * weight[:, None]
            parts = sparse.csr_array(parts)
            places = newlabels.add_labels(self, names, X, parts, prior_of(self))
            self.n_components_ = len(self.component_scales_)
            self.n_components_reason_ = _reason(self)
            indicators = moved_columns(indicators, places, len(places))
            if hasattr(self, "head_sample_"):
                before = places[: len(known)]
                self.head_sample_ = self.head_sample_.with_labels(before, len(places))
            _regroup(self)
        return grouped(self.classes_, [indicators], self.multilabel_, named=True)

    def _count(self, targets: Targets, weight: Array | None) -> None:
        """Add the labels of a batch to counts and frequencies."""
        self.label_counts_ = self.label_counts_ + targets.counts
        counts_as = np.ones(len(targets.group)) if weight is None else weight
        before = self.n_labelled_seen_
        self.n_labelled_seen_ = before + float(counts_as[targets.known].sum())
        sums = before * self.label_frequencies_ + counts_as @ targets.indicators
        self.label_frequencies_ = sums / self.n_labelled_seen_

    def _renew_head(self, classifier: str) -> None:
        """Train the prediction head, unless it knows documents that the sample lacks."""
        if self.head_follows_:
            self._train_head(classifier)
            return
        of = self.head_sample_
        enough = np.minimum(self.label_counts_, ENOUGH_OF_A_LABEL)
        if (np.bincount(of.indicators.indices, minlength=len(enough)) < enough).any():
            return
        before = self.__dict__.copy()
        accuracy = self._agreement(self._proba(of.X))
        self._train_head(classifier)
        if self._agreement(self.left_out_proba_) >= accuracy:
            self.head_follows_ = True
        else:
            self.__dict__ = before

    def _agreement(self, P: Array) -> float:
        """Return the part of the sample whose labels are predicted by these probabilities."""
        right = self.indicators_from(P) == self.head_sample_.indicators.toarray()
        return float(np.average(right.all(axis=1), weights=self.head_sample_.weight))

    def _train_head(self, classifier: str) -> None:
        """Train the prediction head on the sample, with the components as they are now."""
        of = self.head_sample_
        targets = grouped(self.classes_, [of.indicators], self.multilabel_, named=True)
        labels = batch_labels(self, targets)
        batch = Batch(self, of.X, targets.group, targets.n_groups, of.weight, labels)
        with batch, np.errstate(over="ignore"):
            V = batch.engine.coefficients(batch.state)
        self._fit_head(of.X, V, targets, of.weight, classifier)
        check_finite(self.head_weights_, self.word_weights_, self.left_out_proba_)
        self.__dict__.pop("head_documents_", None)


def _sample(X: sparse.csr_array, indicators: sparse.csr_array, weight: Array | None) -> Reservoir:
    """Return the documents with known labels, with their weights."""
    counts_as = np.ones(X.shape[0]) if weight is None else weight
    rows = np.flatnonzero((np.diff(indicators.indptr) > 0) & (counts_as > 0))
    return Reservoir(X[rows], sparse.csr_array(indicators[rows]), counts_as[rows])


def _restricted(class_weight: Any, targets: Targets) -> Any:
    """Return the class weights of the labels of a batch."""
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} is not supported by partial_fit, because it depends on "
            "all documents. Pass a dict of weights, or sample_weight."
        )
    if isinstance(class_weight, dict):
        return {label: class_weight[label] for label in targets.classes if label in class_weight}
    return class_weight


def _check_type(names: list[Any], known: Array) -> None:
    """Refuse strings among numbers, and the reverse."""
    if {isinstance(name, str) for name in names} != {isinstance(x, str) for x in known.tolist()}:
        raise ValueError(
            f"the labels of this batch are of another type than those of the model: got "
            f"{names[0]!r}, and the model has {known.tolist()[0]!r}. Pass labels of one type."
        )


def _reason(model: Any) -> str:
    n = model.n_components_
    return f"{n} components, with those added for labels that came later"


def _regroup(model: Any) -> None:
    """Add new labels to the groups of a label tree that is given by a separator."""
    if isinstance(model.label_tree, str):
        groups = check_label_tree(model.label_tree, model.classes_)
        model.label_groups_ = {name: model.classes_[at] for name, at in groups.items()}
