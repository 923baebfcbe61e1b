"""SupervisedVBNMF: the paper's model, whose coefficients are sparse by label."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.fit import Progress
from vbnmf.core.model import Array, column
from vbnmf.core.starts import Knobs
from vbnmf.engines.stream import ShardSource
from vbnmf.estimators import intervals, labelscopes
from vbnmf.estimators.base import BaseVBNMF
from vbnmf.estimators.classifier import CLASSIFIERS, PredictsLabels
from vbnmf.estimators.classweights import check_weight_left, with_class_weights
from vbnmf.estimators.labelconcerns import warn_of_odd_labels
from vbnmf.estimators.labeltree import check_label_tree
from vbnmf.estimators.starting import Start
from vbnmf.estimators.streaming import (
    check_in_memory,
    check_source,
    fit_head_on,
    head_sample,
    is_source,
    source_targets,
    source_weights,
)
from vbnmf.estimators.targets import Targets, check_targets
from vbnmf.estimators.validation import check_choice, check_matrix, check_weights

_TINY = np.finfo(float).tiny


class SupervisedVBNMF(PredictsLabels, BaseVBNMF):
    """Variational Bayesian NMF with label-dependent sparsity of the coefficients.

    As ``VBNMF``, but a coefficient has a rate that belongs to its document's label,
    ``v_dk ~ Gamma(coef_shape, 1/λ_lk)`` with ``λ_lk ~ Gamma(label_shape, label_scale)``, so that
    each label comes to use few of the components. By default each component also has a *scope*: it
    serves one label, a group of labels, or all of them, and documents of other labels do not use it
    at all. ``transform`` gives coefficients, ``predict`` and ``predict_proba`` give labels, and
    ``explain`` says why.

    The paper's model is ``scopes="all", init="random"`` with a number as ``label_shape``.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of components K. None is two for each label, at least 20 and at most 300, or as many
        as an array ``init`` has. "auto" looks for the number with the best bound.
        ``n_components_reason_`` says where the number comes from.
    scopes : "auto", "all" or array of bool of shape (n_labels, n_components), default="auto"
        Which labels each component may serve. "auto" finds out where ``init="auto"``, and is "all"
        otherwise. "all" lets every component serve every label, as in the paper. An array says it;
        its rows are the labels in the order of ``classes_``.
    label_tree : str, mapping or None, default=None
        Groups of labels, each of which gets a component of its own: a separator inside the names of
        labels, such as "." or "/", or a mapping from labels to the groups above them, and from
        groups to groups above those. Scopes of several labels are then groups of the tree.
    label_shape : float or "auto", default="auto"
        The paper's a^λ, a pseudo-count of documents in which a label hardly uses a component: the
        larger, the fewer components a label uses, until labels can no longer differ. "auto" is 1
        with scopes, which say by themselves which labels use a component, and the number of
        documents of each label without.
    label_scale : float or "auto", default="auto"
        Scale of the prior of label rates: a number is held fixed, "auto" is learned.
    coef_shape : float or None, default=None
        Shape of the coefficients' prior: the smaller, the fewer components a document uses. None is
        0.2 with scopes, and the paper's 1 without.
    term_shape : float, "auto", "free" or None, default=None
        Shape of the components' prior. None is 0.1 with scopes, and 0.5 without. "auto" is learned
        after burn-in, but not below 0.35, because sparse components spoil sparse coefficients
        (docs/deviations.md); "free" has no such guard.
    term_scale : float or "auto", default="auto"
        Scale of the components' prior.
    init : "auto", "label", "random" or array of shape (n_components, n_terms), default="auto"
        Where the components begin. "auto" clusters the documents of each label, merges components
        that say the same, and finds scopes on the way; where most labels are unknown it is "label",
        because scopes would say too much about documents of unknown label. "label" begins with the
        documents of single labels, "random" at random as in the paper, an array as given.
    n_init : int, default=1
        Number of starts, of which the one with the best bound is kept. The first start of "auto"
        is not random, so that seeds make no difference to it.
    max_iter : int, default=200
        Most iterations of one start.
    tol : float, default=5e-5
        Stop when an iteration raises the bound by less than this part of its value.
    burn_in : int or "auto", default="auto"
        Iterations in which all label rates are held equal, and ``term_shape`` is not learned.
        "auto" is 10 where components begin at random, none otherwise.
    bound_every : int, default=5
        Evaluate the bound, and with it ``tol``, every so many iterations.
    transform_max_iter : int, default=100
        Most iterations for a document in ``transform``.
    transform_tol : float, default=1e-4
        A document in ``transform`` is done when an iteration moves less than this part of its
        weight from one component to another.
    classifier : {"auto", "words and components", "components", "generative"}, default="auto"
        The prediction head. "words and components": linear support vector machines on the evidence
        for components and on single words together. "components": the same on the evidence alone.
        "generative": the likelihood of a document under each label, for one label a document.
        "auto" compares them on documents left out. It prefers components alone where they are as
        good. It tries the generative head with fewer than 25 documents a label, and takes it with
        fewer than 50 in all. All are calibrated on documents left out; see
        ``vbnmf.prediction.training``.
    class_weight : dict, "balanced" or None, default=None
        How many documents a document of each label counts as, times ``sample_weight``: for rare
        labels to matter more. "balanced" lets all labels count the same.
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
    checkpoint : str, path, Checkpoint or None, default=None
        A folder in which the fit is written to disk once a minute; ``vbnmf.Checkpoint`` sets
        another time. If the fit is stopped at any moment, the same call goes on from there and ends
        with the same bits. It takes ``n_init=1``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted, or in the order of the columns of an indicator matrix.
    label_counts_ : ndarray of shape (n_labels,)
        Number of documents known to have each.
    label_frequencies_ : ndarray of shape (n_labels,)
        The same as part of the documents whose labels are known.
    scopes_ : ndarray of bool of shape (n_labels, n_components)
        Which labels each component serves.
    scoped_ : bool
        Whether scopes were given or looked for; if not, every component may serve every label.
    background_ : int or None
        The component that began as a background common to all labels, if there is one.
    label_groups_ : dict
        Groups of ``label_tree``, each with its labels.
    n_components_ : int
        Number of components.
    n_components_reason_ : str
        Why there are as many, in words.
    classifier_ : str
        The prediction head in use: "words and components", "components" or "generative".
    classifier_reason_ : str
        Why this one, in words.
    head_weights_ : ndarray of shape (n_labels, n_components)
        Weights of the evidence for components; zero if the head is generative.
    word_weights_ : ndarray of shape (n_labels, n_terms), or (n_labels, 0)
        Weights of single words, if they have any.
    head_intercepts_ : ndarray of shape (n_labels,)
        Intercepts of the scores.
    head_biases_ : ndarray of shape (n_labels,)
        Added to the scores by calibration.
    length_exponent_ : float
        Scores grow with this power of the effective number of terms of a document.
    label_noise_ : float
        Share of documents whose label has nothing to do with their terms, as far as the training
        documents tell. No prediction is more certain than that.
    left_out_proba_ : ndarray of float32 of shape (n_docs, n_labels)
        Probabilities of the training documents, each as if it had been left out. Where they speak
        against a label, the label may be wrong. Not stored in model files. After a fit to
        ``Shards`` they are those of ``head_documents_``.
    head_documents_ : ndarray of int
        Only after a fit to ``Shards``: the documents that the prediction head was trained on. They
        are all documents of a single shard. Of several shards they are as many as have 2²³
        non-zeros, at most 200,000. Not stored in model files.
    component_share_ : float
        Mean share of the decisions about training documents that components carry; single words
        carry the rest. ``component_share`` gives it for each document.
    label_component_shares_ : ndarray of shape (n_labels,)
        The same for the documents predicted to have each label.
    smoothing_ : float
        Mean weight of a term that occurs, which smooths its probabilities in components.
    score_scale_ : float
        Factor of the scores before biases are added, where the head is generative; else 1.
    multilabel_ : bool
        Whether documents may have several labels.
    threshold_ : float
        Probability from which ``predict`` gives a label, where documents may have several.
    label_activations_ : ndarray of shape (n_labels, n_components)
        Mean expected coefficient of each component over the documents of each label; those with
        several labels, or with an unknown one, count in parts, which are those of the labels that
        the component serves. Zero for labels out of its scope.
    label_rates_ : ndarray of shape (n_labels, n_components)
        Expected rates λ; the inverse of a rate is the size of coefficients it allows for. Infinite
        for labels out of a component's scope.
    label_shapes_ : ndarray of shape (n_labels,)
        a^λ of each label.
    label_rate_shapes_ : ndarray of shape (n_labels, n_components)
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
    component_mass_ : ndarray of shape (n_components,)
        Part of the documents' weight that each component explains.
    faded_ : ndarray of bool of shape (n_components,)
        Components all of whose terms owe more to the prior than to documents; see ``prune``.
    bound_ : float
        Lower bound of the log evidence of the fitted model.
    bound_history_ : ndarray
        The bound at each evaluation.
    n_iter_ : int
        Iterations of the best start.
    hyperparameters_ : dict
        Shapes and scales of the priors, given or learned. ``coef_scale`` is the average over all
        labels, which ``transform`` uses; ``label_shape`` and ``label_scale`` are means over labels.
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

    _named_starts = ("auto", "label", "random")

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = None,
        *,
        scopes: Any = "auto",
        label_tree: Any = None,
        label_shape: float | Literal["auto"] = "auto",
        label_scale: float | Literal["auto"] = "auto",
        coef_shape: float | None = None,
        term_shape: float | Literal["auto", "free"] | None = None,
        term_scale: float | Literal["auto"] = "auto",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 5e-5,
        burn_in: int | Literal["auto"] = "auto",
        bound_every: int = 5,
        transform_max_iter: int = 100,
        transform_tol: float = 1e-4,
        classifier: Literal["auto", "words and components", "components", "generative"] = "auto",
        class_weight: Any = None,
        unlabelled: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Progress], None] | None = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_components = n_components
        self.scopes = scopes
        self.label_tree = label_tree
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
        self.classifier = classifier
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn components from labelled documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms), or Shards
            Non-negative weights of terms: counts or TF-IDF. ``Shards`` are documents on disk,
            whose labels and weights are taken where ``y`` and ``sample_weight`` are None.
        y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
            One label a document: numbers, strings, or anything that can be sorted. Several: a list
            or set of labels for each document, or an indicator matrix of zeros and ones. None,
            NaN, an empty list or a row of zeros: the label is not known, and is learned with the
            rest.
        sample_weight : array-like of shape (n_docs,) or None
            How many documents each one counts as.
        """
        self._learn(X, y, sample_weight)
        return self

    def fit_coefficients(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Fit the model and return the coefficients that training found, which knew the labels.

        The paper compares new documents with these. Do not train a classifier on them: new
        documents have no labels, so their coefficients, from ``transform``, look different. Use
        ``fit_transform`` for that.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients at the end of training.
        """
        check_in_memory(X)
        return self._learn(X, y, sample_weight)

    def label_interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Credible intervals of the mean coefficients of documents with each label.

        Means of all documents such as these, not only of those in training: the fewer documents a
        label has, the wider the interval. They are too narrow, because what the fit does not know
        about components and coefficients is left out: of documents drawn from the model, intervals
        of 90 % held 75–95 % of the means that matter (a tenth of the label or more) where labels
        keep components apart, 70–92 % where every document mixes all of them, and fewer of those
        that do not matter. docs/algorithm.md has more.

        Parameters
        ----------
        level : float, default=0.9
            Probability of each interval, with equal tails outside.

        Returns
        -------
        low, high : ndarrays of shape (n_labels, n_components)
            Of the shape and in the units of ``label_activations_``. Nothing is known of a label
            without documents: zero and infinity.
        """
        check_is_fitted(self, "components_")
        return intervals.label_interval(self, level)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Array:
        """Fit, and return the coefficients (n_docs, n_components) found on the way."""
        with self._all_or_nothing():
            classifier = check_choice("classifier", self.classifier, ("auto", *CLASSIFIERS))
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
                    'classifier="generative" takes one label a document; y has several. Use '
                    'classifier="components".'
                )
            if streamed:
                rows = head_sample(X, targets, weight)
                V = self._fit_model(X, targets, weight, rows)
                fit_head_on(self, X, rows, V, targets, weight, classifier)
            else:
                V = self._fit_model(X, targets, weight, True)
                ones = np.ones(X.shape[0])
                self._fit_head(X, V, targets, ones if weight is None else weight, classifier)
            return V

    def _fit_model(
        self,
        X: sparse.csr_array | ShardSource,
        targets: Targets,
        weight: Array | None,
        coefficients: Array | bool,
    ) -> Array:
        """Fit all but what predicts, and return the coefficients that are asked for."""
        if weight is not None:
            targets = targets.weighted(weight)
        outcome = self._fit(X, targets, weight, coefficients=coefficients)
        result = outcome.fit
        rates, prior, labels = result.state.rates, result.state.prior, result.state.labels
        assert rates is not None
        assert labels is not None
        assert prior.a_lam is not None
        assert prior.b_lam is not None
        self.classes_ = targets.classes
        self.label_counts_ = targets.counts.astype(np.int64)
        self.label_frequencies_ = targets.frequencies(weight)
        n_docs, sums = column(result.stats.n_docs), result.stats.label_sums
        self.label_activations_ = sums / np.maximum(n_docs, _TINY)
        scopes = labels.scopes
        self.scoped_ = labelscopes.is_scoped(self, targets)
        self.scopes_ = np.ones(sums.shape, dtype=bool) if scopes is None else scopes.mask
        groups = check_label_tree(self.label_tree, targets.classes)
        self.label_groups_ = {name: targets.classes[at] for name, at in groups.items()}
        self.label_rates_ = np.where(self.scopes_, rates.E, np.inf)
        self.label_rate_shapes_ = np.broadcast_to(column(rates.shape), rates.scale.shape).copy()
        self.label_rate_scales_ = rates.scale
        self.label_shapes_ = np.broadcast_to(prior.a_lam, (len(sums),)).copy()
        self.hyperparameters_ |= {
            "label_shape": float(np.mean(prior.a_lam)),
            "label_scale": float(np.mean(prior.b_lam)),
        }
        assert outcome.coefficients is not None
        return outcome.coefficients

    def _knobs(self, targets: Targets | None, weight: Array | None) -> Knobs:
        assert targets is not None
        return labelscopes.knobs(self, targets, weight)

    def _start(self, init: Array | str, K: int | None, targets: Targets | None) -> Start:
        assert targets is not None
        init, scopes, groups = labelscopes.check_start(self, init, K, targets)
        start = super()._start(init, K, targets)
        scoped = labelscopes.is_scoped(self, targets)
        return replace(start, scopes=scopes, scoped=scoped, groups=groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True  # where two measurements are all there is
        tags.classifier_tags.multi_label = True
        return tags
