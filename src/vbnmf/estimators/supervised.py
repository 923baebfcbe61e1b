"""SupervisedVBNMF: the paper's model, whose coefficients are sparse by label."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.fit import Progress
from vbnmf.core.model import Array
from vbnmf.core.starts import Knobs
from vbnmf.estimators.base import BaseVBNMF, Outcome
from vbnmf.estimators.heads import Head, fit_head
from vbnmf.estimators.targets import check_targets
from vbnmf.estimators.validation import (
    check_matrix,
    check_shape_or_scale,
    check_term_shape,
)

_TINY = np.finfo(float).tiny


class SupervisedVBNMF(ClassifierMixin, BaseVBNMF):  # type: ignore[misc]
    """Variational Bayesian NMF with label-dependent sparsity of the coefficients.

    As ``VBNMF``, but a coefficient has a rate that belongs to its document's label,
    ``v_dk ~ Gamma(1, 1/λ_lk)`` with ``λ_lk ~ Gamma(label_shape, label_scale)``, so that each label
    comes to use few of the components. ``transform`` gives coefficients, ``predict`` and
    ``predict_proba`` give labels, by a logistic regression on the coefficients.

    Parameters
    ----------
    n_components : int, default=20
        Number of components K.
    label_shape : float, default=100
        The paper's a^λ, the one knob: the larger, the fewer components a label uses, until a prior
        that strong leaves no room for labels to differ.
    label_scale : float or "auto", default="auto"
        Scale of the prior of label rates: a number is held fixed, "auto" is learned.
    coef_shape : float, default=1
        Shape of the coefficients' prior; the paper has 1.
    term_shape : float, "auto" or "free", default=0.5
        Shape of the components' prior. "auto" is learned after burn-in, but not below 0.35, because
        sparse components spoil sparse coefficients (docs/deviations.md); "free" has no such guard.
    term_scale : float or "auto", default="auto"
        Scale of the components' prior.
    init : "label", "random" or array of shape (n_components, n_terms), default="label"
        Where the components begin: assigned to the labels in turn, at random as in the paper, or
        as given.
    n_init : int, default=1
        Number of random starts, of which the one with the best bound is kept.
    max_iter : int, default=200
        Most iterations of one start.
    tol : float, default=5e-5
        Stop when an iteration raises the bound by less than this part of its value.
    burn_in : int, default=10
        Iterations in which all label rates are held equal, and ``term_shape`` is not learned.
    bound_every : int, default=5
        Evaluate the bound, and with it ``tol``, every so many iterations.
    transform_max_iter : int, default=100
        Most iterations for a document in ``transform``.
    transform_tol : float, default=1e-4
        A document in ``transform`` is done when an iteration moves less than this part of its
        weight from one component to another.
    unlabelled : label, default=None
        Value in y that stands for an unknown label, besides None and NaN: -1, say, which is
        otherwise a label like any other.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores, or OMP_NUM_THREADS if that is set. Results do not
        depend on it, to the last bit.
    verbose : int, default=0
        1 writes a line to standard error every ten iterations, 2 every iteration.
    callback : callable or None, default=None
        Called as ``callback(progress)`` after each iteration; see ``vbnmf.core.fit.Progress``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted, or in the order of the columns of an indicator matrix.
    label_counts_ : ndarray of shape (n_labels,)
        Number of documents known to have each.
    label_frequencies_ : ndarray of shape (n_labels,)
        The same as part of the documents whose labels are known.
    head_weights_ : ndarray of shape (n_labels, n_components)
        Weights of the regression behind ``predict``; see ``vbnmf.estimators.heads``.
    head_intercepts_ : ndarray of shape (n_labels,)
        Its intercepts.
    multilabel_ : bool
        Whether documents may have several labels.
    threshold_ : float
        Probability from which ``predict`` gives a label, where documents may have several.
    label_activations_ : ndarray of shape (n_labels, n_components)
        Mean expected coefficient of each component over the documents of each label; those with
        several labels, or with an unknown one, count in parts.
    label_rates_ : ndarray of shape (n_labels, n_components)
        Expected rates λ; the inverse of a rate is the size of coefficients it allows for.
    label_rate_shapes_ : ndarray of shape (n_labels,)
        Shapes of the gamma posteriors of ``label_rates_``.
    label_rate_scales_ : ndarray of shape (n_labels, n_components)
        Scales of these posteriors.
    components_ : ndarray of shape (n_components, n_terms)
        Expected weights of the terms in each component.
    component_shapes_ : ndarray of shape (n_components, n_terms)
        Shapes of the gamma posteriors of ``components_``.
    component_scales_ : ndarray of shape (n_components,)
        Scales of these posteriors.
    component_sums_ : ndarray of shape (n_components,)
        Sums of ``components_`` over the terms.
    bound_ : float
        Lower bound of the log evidence of the fitted model.
    bound_history_ : ndarray
        The bound at each evaluation.
    n_iter_ : int
        Iterations of the best start.
    hyperparameters_ : dict
        Shapes and scales of the priors, given or learned. ``coef_scale`` is the average over all
        labels, which ``transform`` uses.
    n_features_in_, feature_names_in_
        Number of terms, and their names if X was a data frame.

    See Also
    --------
    VBNMF : the same without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from vbnmf import SupervisedVBNMF
    >>> X = np.array([[5, 4, 0, 0], [3, 4, 0, 0], [0, 0, 6, 5], [0, 0, 3, 3]])
    >>> y = ["tea", "tea", "coffee", "coffee"]
    >>> model = SupervisedVBNMF(n_components=2, label_shape=1, random_state=0).fit(X, y)
    >>> model.classes_.tolist()
    ['coffee', 'tea']
    >>> sorted(model.label_activations_.argmax(axis=1).tolist())
    [0, 1]
    """

    _named_starts = ("label", "random")

    def __init__(
        self,
        n_components: int = 20,
        *,
        label_shape: float = 100.0,
        label_scale: float | Literal["auto"] = "auto",
        coef_shape: float = 1.0,
        term_shape: float | Literal["auto", "free"] = 0.5,
        term_scale: float | Literal["auto"] = "auto",
        init: Any = "label",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 5e-5,
        burn_in: int = 10,
        bound_every: int = 5,
        transform_max_iter: int = 100,
        transform_tol: float = 1e-4,
        unlabelled: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.label_shape = label_shape
        self.label_scale = label_scale
        self.coef_shape = coef_shape
        self.term_shape = term_shape
        self.term_scale = term_scale
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.burn_in = burn_in
        self.bound_every = bound_every
        self.transform_max_iter = transform_max_iter
        self.transform_tol = transform_tol
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any) -> Self:
        """Learn components from labelled documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Non-negative weights of terms: counts or TF-IDF.
        y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
            One label a document: numbers, strings, or anything that can be sorted. Several: a list
            or set of labels for each document, or an indicator matrix of zeros and ones. None,
            NaN, an empty list or a row of zeros: the label is not known, and is learned with the
            rest.
        """
        self._learn(X, y, coefficients=False)
        return self

    def fit_transform(self, X: Any, y: Any) -> Array:
        """Learn components and return the coefficients (n_docs, n_components) found on the way.

        They knew the labels. For coefficients that compare with those of new documents, use
        ``fit(X, y).transform(X)``.
        """
        V = self._learn(X, y, coefficients=True).coefficients
        assert V is not None
        return V

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
        X = check_matrix(self, X, reset=False)
        return self.probabilities_of(self._project(X), X)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def probabilities_of(self, V: Array, X: Any) -> Array:
        """As ``predict_proba``, of documents X whose coefficients V are known already."""
        P = self._head.probabilities(V)
        empty = np.asarray(X.sum(axis=1)).ravel() == 0
        P[empty] = self.label_frequencies_
        return P

    def labels_from(self, probabilities: Array) -> Array:
        """As ``predict``, from what ``predict_proba`` returned."""
        if self.multilabel_:
            return (probabilities >= self.threshold_).astype(np.int64)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _learn(self, X: Any, y: Any, *, coefficients: bool) -> Outcome:
        with self._all_or_nothing():
            X = check_matrix(self, X, reset=True)
            targets = check_targets(self, y, X.shape[0], self.unlabelled)
            outcome = self._fit(X, targets, coefficients=coefficients)
            result = outcome.fit
            rates, prior, labels = result.state.rates, result.state.prior, result.state.labels
            assert rates is not None
            assert labels is not None
            assert prior.a_lam is not None
            assert prior.b_lam is not None
            n_docs = labels.by_label(np.bincount(targets.group))
            self.classes_ = targets.classes
            self.label_counts_ = targets.indicators.sum(axis=0).astype(np.int64)
            self.label_frequencies_ = self.label_counts_ / targets.known.sum()
            sums = labels.by_label(result.stats.E_sums)
            self.label_activations_ = sums / np.maximum(n_docs, _TINY)[:, None]
            self.label_rates_ = rates.E
            self.label_rate_shapes_ = rates.shape
            self.label_rate_scales_ = rates.scale
            self.hyperparameters_ |= {"label_shape": prior.a_lam, "label_scale": prior.b_lam}
            V = self._project(X[targets.known])
            indicators = targets.indicators[targets.known]
            self._set_head(fit_head(V, indicators, multilabel=targets.multilabel))
            return outcome

    def _set_head(self, head: Head) -> None:
        self.head_weights_, self.head_intercepts_ = head.weights, head.intercepts
        self.multilabel_, self.threshold_ = head.multilabel, head.threshold

    @property
    def _head(self) -> Head:
        return Head(self.head_weights_, self.head_intercepts_, self.multilabel_, self.threshold_)

    def _knobs(self) -> Knobs:
        a_t, least_a_t = check_term_shape(self.term_shape)
        return Knobs(
            a_t=a_t,
            least_a_t=least_a_t,
            b_t=check_shape_or_scale("term_scale", self.term_scale),
            a_v=check_shape_or_scale("coef_shape", self.coef_shape, auto=False) or 0.0,
            b_v=None,
            a_lam=check_shape_or_scale("label_shape", self.label_shape, auto=False),
            b_lam=check_shape_or_scale("label_scale", self.label_scale),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.multi_label = True
        return tags
