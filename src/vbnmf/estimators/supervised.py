"""SupervisedVBNMF: variational Bayesian NMF with label-dependent sparsity."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from vbnmf.core.fit import Progress
from vbnmf.core.model import Array
from vbnmf.core.rows import leading
from vbnmf.core.starts import Knobs
from vbnmf.engines.backends import place
from vbnmf.estimators.componentterms import counts_of_fit
from vbnmf.estimators.heads import (
    HeadTrainer,
    check_classifier,
    check_several,
    fit_head,
    has_several_shards,
)
from vbnmf.estimators.labelbatches import BatchClassifier
from vbnmf.estimators.labels import (
    Targets,
    check_targets,
    source_targets,
    sums_by_group,
    with_class_weights,
)
from vbnmf.estimators.labeltree import labels_of_groups
from vbnmf.estimators.labelwarnings import warn_of_odd_labels
from vbnmf.estimators.online import Batches
from vbnmf.estimators.posterior import (
    Fitted,
    FittedLabels,
    LabelPosterior,
    posterior_of_labels,
)
from vbnmf.estimators.starting import Start, check_start, is_scoped
from vbnmf.estimators.validation import (
    USUAL_SHAPES,
    check_coef_shape,
    check_head_features,
    check_in_memory,
    check_label_shape,
    check_matrix,
    check_scale,
    check_source,
    check_term_shape,
    check_terms_left,
    check_threshold,
    check_weights,
    count_threads,
    is_source,
    source_weights,
)
from vbnmf.shards.shard import ShardSource

SHAPES_WITHOUT_SCOPES = (0.5, 1.0)  # of terms and of coefficients, the second as in the paper
_LEAST_LABEL_SHAPE = 1.0  # label shape of a label that no document is known to have


class SupervisedVBNMF(BatchClassifier):
    """Variational Bayesian NMF with label-dependent sparsity of the coefficients.

    The model is that of ``VBNMF``, but the rate of a coefficient depends on the label l of its
    document: ``v_dk ~ Gamma(coef_shape, 1/λ_lk)`` with ``λ_lk ~ Gamma(label_shape, label_scale)``.
    As a result each label uses few components. By default each component also has a *scope*: one
    label, a group of labels, or all labels. Documents with other labels do not use the component.

    ``transform`` returns coefficients, ``predict`` and ``predict_proba`` return labels and their
    probabilities, and ``explain`` returns the contributions of components and terms.

    For the model of the paper, use ``scopes="all"``, ``init="random"`` and a number for
    ``label_shape``.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of components K. "auto" starts from two for each label, at least 20 and at most 300
        (or one for each label, if there are more), adds up to a quarter where labels would
        otherwise share unrelated terms, and leaves out components that explain less than a
        document. With an array ``init`` it is the number of its rows. ``n_components_reason_``
        explains the number. ``vbnmf.tune`` compares numbers on held-out documents.
    scopes : "auto", "all" or array of bool of shape (n_labels, n_components), default="auto"
        Labels that may use each component. "auto" finds scopes if ``init="auto"``, and is "all"
        otherwise. "all" lets every label use every component, as in the paper. The rows of an array
        are the labels in the order of ``classes_``.
    label_tree : str, mapping or None, default=None
        Hierarchy of the labels. Each group of labels gets a component of its own. A str is the
        separator of levels in the names of labels, such as "." or "/". A mapping has the parent
        group of each label, and the parent of each group that has one. Other shared components
        serve labels of one top group if possible.
    label_shape : float or "auto", default="auto"
        Shape a^λ of the prior of label rates, a pseudo-count of documents. With larger values a
        label uses fewer components; with very large values labels cannot differ any more. "auto"
        is 1 with scopes, and the number of documents of each label without scopes.
    label_scale : float or "auto", default="auto"
        Scale of the prior of label rates. "auto" learns it.
    coef_shape : float or "auto", default="auto"
        Shape of the prior of coefficients. With smaller values a document uses fewer components.
        "auto" is 0.2 with scopes, and 1 without scopes, as in the paper.
    term_shape : float, "auto", "learned" or "free", default="auto"
        Shape of the prior of components. "auto" is 0.1 with scopes, and 0.5 without scopes.
        "learned" learns it after burn-in with a lower limit of 0.35, because very sparse components
        make coefficients less sparse (docs/explanation/deviations.md). "free" learns it without a
        limit.
    term_scale : float or "auto", default="auto"
        Scale of the prior of components. "auto" learns it.
    init : "auto", "label", "random" or array of shape (n_components, n_terms), default="auto"
        Initialisation of the components. "auto" clusters the documents of each label, merges
        similar components, and finds scopes; if most labels are unknown it is the same as "label".
        "label" initialises each component from documents of one label, "random" at random as in
        the paper. An array has the initial components.
    n_init : int, default=1
        Number of initialisations. The fit with the best bound is kept. The first initialisation by
        "auto" is not random and does not depend on ``random_state``.
    max_iter : int, default=200
        Maximum number of iterations of each initialisation.
    tol : float, default=2e-5
        Stop when the relative increase of the bound per iteration is less than ``tol``.
    burn_in : int or "auto", default="auto"
        Number of first iterations in which all label rates are equal and ``term_shape`` is not
        learned. "auto" is 10 if ``init="random"``, and 0 otherwise.
    bound_every : int, default=5
        Number of iterations between evaluations of the bound, at which ``tol`` is checked.
    classifier : {"auto", "words and components", "components", "generative"}, default="auto"
        Prediction head. All heads are calibrated on held-out documents.

        - "words and components": linear support vector machines on the evidence for components and
          on single words.
        - "components": linear support vector machines on the evidence for components.
        - "generative": the likelihood of a document under each label. It needs one label per
          document.
        - "auto": the best head on held-out documents. "components" is preferred to "words and
          components" if it is clearly better or makes no mistake, and its log loss averaged over
          labels is as low. The
          generative head is compared too if there are fewer than 25 documents per label. It is used
          without a comparison if there are fewer than 50 documents. If most labels are unknown,
          machines are also trained on documents with predicted labels.
    threshold : {"micro", "macro", "samples"} or float, default="micro"
        Which labels ``predict`` gives, if documents may have several: those for the best micro F1,
        the best mean F1 of labels (rare labels then count as much as common ones), or the best mean
        F1 of documents, as chosen on left-out documents; or all labels of at least this
        probability. It can be changed after ``fit``.
    class_weight : dict, "balanced" or None, default=None
        Weight of the documents of each label, multiplied with ``sample_weight``. "balanced" gives
        all labels the same total weight.
    unlabelled : label, default=None
        Value in y that marks an unknown label, besides None and NaN. Without it, -1 is a label like
        any other.
    head_features : int, default=0
        Number of the last columns of X that only the prediction head uses, in addition to words.
        Components are made of the columns before them. ``DocumentModel`` passes marks, pairs of
        words and pieces of words in this way.
    batches : Batches or None, default=None
        Settings of ``partial_fit``, as ``vbnmf.Batches(learning_decay=0.5)``. None has the defaults
        of ``vbnmf.Batches``.
    random_state : int, RandomState or None, default=None
        Seed of random initialisations.
    n_jobs : int or None, default=-1
        Number of threads, as in scikit-learn. -1 uses all cores, or OMP_NUM_THREADS if it is set.
        None is 1, unless ``joblib.parallel_config`` says otherwise. A task on a cluster has one
        thread, unless this is a positive number. Results are identical for any number of threads.
    verbose : int, default=0
        1 prints a line to standard error every ten iterations, 2 in every iteration.
    callback : callable or None, default=None
        Called as ``callback(progress)`` after each iteration; see ``vbnmf.core.fit.Progress``.
    checkpoint : str, path, Checkpoint or None, default=None
        Folder to which the state of the fit is written once a minute; ``vbnmf.Checkpoint`` sets
        another interval. If the fit is stopped, the same call resumes it and gives the same bits.
        With ``n_init`` above one, initialisations that have ended are not run again.
    engine : "auto", name of a cluster, or its settings, default="auto"
        Where the fit runs. "auto" runs in this process, on a matrix in memory or on ``Shards`` on
        disk. A cluster takes ``Shards`` that all workers can read, or an array that it holds; see
        ``vbnmf.distributed`` and docs/guide/scale.md for the names and settings.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted, or in the order of the columns of an indicator matrix.
    label_counts_ : ndarray of shape (n_labels,)
        Number of documents known to have each label.
    label_frequencies_ : ndarray of shape (n_labels,)
        Part of the documents with known labels that have each label.
    n_documents_ : int
        Number of documents of the fit and of all batches, with and without known labels, whatever
        their weights.
    term_documents_ : ndarray of int32 of shape (n_terms,)
        Number of these documents that have each term: whose value in X is not zero. A term that
        all documents have can have the weight zero, as with TF-IDF; it is not counted.
    label_term_documents_ : csr_array of int32 of shape (n_labels, n_terms)
        Number of the documents known to have each label that have each term. A document with
        several labels counts for each.
    scopes_ : ndarray of bool of shape (n_labels, n_components)
        Labels that may use each component.
    component_agreement_ : ndarray of shape (n_components,)
        Agreement of the two main labels of each shared component: whether they take the same terms
        from it (``vbnmf.metrics.agreement``). About one if they do, and below 0.5 if the component
        is two topics under one name. NaN for components that serve one label, or all.
    background_ : int or None
        The component that was initialised as a background common to all labels, if any.
    label_groups_ : dict
        The labels of each group of ``label_tree``.
    n_components_ : int
        Number of components.
    n_components_reason_ : str
        Explanation of the number of components.
    classifier_ : str
        The prediction head in use: "words and components", "components" or "generative".
    classifier_reason_ : str
        Explanation of the choice of the prediction head.
    head_ : Head
        The prediction head (``vbnmf.prediction.head``), with its weights. Its ``calibration``
        converts scores to probabilities. If documents may have several labels, its ``thresholds``
        are those of the parameter ``threshold``.
    left_out_proba_ : ndarray of float32 of shape (n_docs, n_labels)
        Held-out probabilities of the training documents. A low probability of a document's own
        label can indicate a wrong label. If there are ``head_documents_``, only of these.
    head_documents_ : ndarray of int
        Only after a fit to ``Shards`` or to a matrix of more than 2²³ non-zeros: the documents of
        ``left_out_proba_``. With a single shard these are all documents, which model files do not
        list. With several shards they are a sample of at most 2²³ non-zeros and 200,000 documents,
        on which the training of the prediction head begins; it ends on all documents.
    head_document_keys_ : ndarray of int64
        Keys of the contents of the documents of ``left_out_proba_``, by which the documents of a
        file are found again. Models from older files have none.
    multilabel_ : bool
        Whether documents may have several labels.
    label_activations_ : ndarray of shape (n_labels, n_components)
        Mean expected coefficient of each component over the documents of each label. A document
        with several or unknown labels is divided among the labels in the component's scope. Zero
        for labels outside the scope.
    label_rates_ : ndarray of shape (n_labels, n_components)
        Expected rates λ. Coefficients are small where the rate is large. Infinite for labels
        outside the scope of a component.
    components_ : ndarray of shape (n_components, n_terms)
        Expected weights of the terms in each component.
    describing_terms_ : ndarray of int32 of shape (n_components, at most 30), or None
        Columns of the terms that describe each component. They are relevant to it, occur together
        in documents, and appear in few other lists (``vbnmf.metrics.describing_terms``). None
        after batches without labels.
    passages_ : Passages
        Passages that recur in documents, such as signatures (``vbnmf.metrics.find_passages``).
        Lists of terms have one term of each.
    component_shapes_ : ndarray of shape (n_components, n_terms)
        Shapes of the gamma posteriors of ``components_``.
    component_scales_ : ndarray of shape (n_components,)
        Scales of the gamma posteriors of ``components_``.
    component_sums_ : ndarray of shape (n_components,)
        Sums of ``components_`` over the terms.
    component_mass_ : ndarray of shape (n_components,)
        Part of the documents' weight that each component explains.
    faded_ : ndarray of bool of shape (n_components,)
        Components whose terms all depend more on the prior than on documents; see ``prune``.
    bound_ : float
        Lower bound of the log evidence of the fitted model. ``partial_fit`` does not change it.
    bound_history_ : ndarray
        The bound at each evaluation.
    n_iter_ : int
        Number of iterations of the best initialisation.
    hyperparameters_ : dict
        Shapes and scales of the priors, given or learned. ``coef_scale`` is the average over all
        labels, which ``transform`` uses without scopes. ``label_shape`` and ``label_scale`` are
        means over labels.
    n_samples_seen_ : float
        Number of documents seen, by their weights, in the fit and in all batches.
    n_steps_ : int
        Number of batches after the first fit.
    fitted_ : FittedLabels
        All of the above in records (``vbnmf.estimators.posterior``), with what few users need: the
        posterior of the rates (``labels``), what the training of the head found (``head``), and the
        sample of labelled documents that ``partial_fit`` keeps (``sample``).
    n_features_in_, feature_names_in_
        Number of columns of X (terms and ``head_features``), and their names if X was a data frame.

    See Also
    --------
    VBNMF : Variational Bayesian NMF without labels.

    References
    ----------
    I. Ivek (2014). Interpretable low-rank document representations with label-dependent sparsity
    patterns.

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
    _uses_labels = True

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        scopes: Any = "auto",
        label_tree: Any = None,
        label_shape: float | Literal["auto"] = "auto",
        label_scale: float | Literal["auto"] = "auto",
        coef_shape: float | Literal["auto"] = "auto",
        term_shape: float | Literal["auto", "learned", "free"] = "auto",
        term_scale: float | Literal["auto"] = "auto",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 2e-5,
        burn_in: int | Literal["auto"] = "auto",
        bound_every: int = 5,
        classifier: Literal["auto", "words and components", "components", "generative"] = "auto",
        threshold: float | Literal["micro", "macro", "samples"] = "micro",
        class_weight: Any = None,
        unlabelled: Any = None,
        head_features: int = 0,
        batches: Batches | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
        callback: Callable[[Progress], None] | None = None,
        checkpoint: Any = None,
        engine: Any = "auto",
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
        self.classifier = classifier
        self.threshold = threshold
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.head_features = head_features
        self.batches = batches
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.engine = engine

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model and the prediction head to labelled documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms), or Shards
            Non-negative weights of terms: counts or TF-IDF, and behind them ``head_features``
            columns with further features of the prediction head. ``Shards`` are documents on disk,
            whose labels and weights are taken where ``y`` and ``sample_weight`` are None.
        y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
            One label per document: numbers, strings or other sortable objects. For several labels
            per document: lists or sets of labels, or an indicator matrix of zeros and ones. None,
            NaN, an empty list or a row of zeros marks an unknown label, which is inferred during
            the fit.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights. None gives all documents weight one.

        Returns
        -------
        SupervisedVBNMF
            The fitted model.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.components_.shape
        (2, 4)
        """
        self.fitted_, _ = self._learned(X, y, sample_weight)
        return self

    def fit_coefficients(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Fit the model and return the coefficients of the training documents.

        The labels were known when these coefficients were computed. Do not train a classifier on
        them: ``transform`` does not use labels, so coefficients of new documents are distributed
        differently. Use ``fit_transform`` instead.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients at the end of training.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0)
        >>> model.fit_coefficients(X, y).shape
        (10, 2)
        """
        check_in_memory(X)
        self.fitted_, V = self._learned(X, y, sample_weight, coefficients=True)
        assert V is not None
        return V

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
        with self._restoring_terms(), self._reporting():
            classifier = check_classifier(self.classifier)
            check_threshold(self.threshold)
            X = place(self.engine, X)
            if is_source(X):
                X = check_source(self, X)
                if self.head_features:
                    raise ValueError(
                        f"head_features must be 0 for shards; got {self.head_features!r}."
                    )
                targets, weight = (
                    source_targets(self, X, y, self.unlabelled),
                    source_weights(X, sample_weight),
                )
            else:
                X = check_matrix(self, X, reset=True)
                targets = check_targets(self, y, X.shape[0], self.unlabelled)
                weight = check_weights(sample_weight, X.shape[0])
            targets = targets if classes is None else targets.with_classes(classes)
            warn_of_odd_labels(targets, self.unlabelled)
            class_weight = self.class_weight if class_weight is None else class_weight
            weight = with_class_weights(class_weight, targets, weight)
            n_terms = check_head_features(self.head_features, X.shape[1])
            terms = X if is_source(X) else leading(X, n_terms)
            _check_weight_left(terms, targets, weight)
            if targets.multilabel:
                check_several(classifier)
            return self._fit_with_head(terms, X, targets, weight, classifier, coefficients)

    def _fit_with_head(
        self,
        X: sparse.csr_array | ShardSource,
        of_head: sparse.csr_array | ShardSource,
        targets: Targets,
        weight: Array | None,
        classifier: str,
        coefficients: bool,
    ) -> tuple[FittedLabels, Array | None]:
        """Fit the model to checked documents, then its head, which may use more columns."""
        several = has_several_shards(X)
        of_fit = targets if weight is None else targets.weighted(weight)
        with ExitStack() as hold:
            # a head of documents in memory needs the coefficients of all of them
            outcome, common = self._fit(
                X, of_fit, weight, coefficients=coefficients or not several,
                hold=hold if several else None,
            )  # fmt: skip
            counts_as = targets.known if weight is None else weight[targets.known]
            labels = LabelPosterior(
                classes=targets.classes,
                counts=targets.counts,
                frequencies=of_fit.frequencies(weight),
                n_seen=float(counts_as.sum()),
                multilabel=targets.multilabel,
                groups=labels_of_groups(self.label_tree, targets.classes),
                scoped=is_scoped(self.scopes, self.init, targets),
                **posterior_of_labels(outcome.fit.state, outcome.fit.stats),
            )
            trainer = HeadTrainer(
                common.components, labels, classifier, count_threads(self.n_jobs),
                self._reporter(self.n_init - 1),
            )  # fmt: skip
            head = fit_head(trainer, X, of_head, outcome, targets, weight)
        assert outcome.term_documents is not None
        fitted = FittedLabels(
            components=common.components,
            course=common.course,
            seen=common.seen,
            terms=common.terms,
            labels=labels,
            counts=counts_of_fit(outcome.term_documents, X.shape[0]),
            head=head,
        )
        return fitted, outcome.coefficients

    def _knobs(self, targets: Targets | None, weight: Array | None) -> Knobs:
        assert targets is not None
        scoped = is_scoped(self.scopes, self.init, targets)
        of_terms, of_coefs = USUAL_SHAPES if scoped else SHAPES_WITHOUT_SCOPES
        a_t, least_a_t = check_term_shape(self.term_shape, of_terms)
        a_lam: Any = check_label_shape(self.label_shape)
        if a_lam is None and scoped:
            a_lam = 1.0
        elif a_lam is None:
            n_docs = sums_by_group(targets.group, weight, targets.n_groups)
            a_lam = np.maximum(targets.labels.documents(n_docs), _LEAST_LABEL_SHAPE)
        return Knobs(
            a_t=a_t,
            least_a_t=least_a_t,
            b_t=check_scale("term_scale", self.term_scale),
            a_v=check_coef_shape(self.coef_shape, of_coefs),
            b_v=None,
            a_lam=a_lam,
            b_lam=check_scale("label_scale", self.label_scale),
        )

    def _start(self, init: Array | str, K: int, targets: Targets | None) -> Start:
        assert targets is not None
        init, scopes, groups = check_start(self.scopes, self.label_tree, init, K, targets)
        scoped = is_scoped(self.scopes, self.init, targets)
        start = super()._start(init, K, targets)
        return replace(start, scopes=scopes, scoped=scoped, groups=groups)

    def _removed(self, least: float | None) -> Array:
        removed = super()._removed(least)
        of, labels = self.fitted_.components, self.fitted_.labels
        alone = ~(labels.scopes & ~removed).any(axis=1)  # labels with no other component
        removed[(labels.activations * of.sums)[alone].argmax(axis=1)] = False
        return removed

    def _without(self, kept: Array) -> tuple[dict[str, Any], dict[str, Any]]:
        start, after = super()._without(kept)
        labels = self.fitted_.labels
        scopes = labels.scopes[:, kept] if labels.scoped else "all"
        named = isinstance(self.scopes, str)
        given = self.scopes if named else np.asarray(self.scopes)[:, kept]
        start |= {"scopes": scopes, "label_tree": None}
        return start, after | {"scopes": given, "label_tree": self.label_tree}

    def _fitted_without(self, fitted: Fitted, kept: Array) -> FittedLabels:
        pruned = super()._fitted_without(fitted, kept)
        assert isinstance(pruned, FittedLabels)
        return replace(pruned, labels=replace(pruned.labels, groups=self.label_groups_))


def _check_weight_left(X: Any, targets: Targets, weight: Array | None) -> None:
    """Refuse weights that leave no document with a known label, or no term."""
    if weight is None:
        return
    if not weight[targets.known].any():
        raise ValueError(
            "all documents with known labels have weight zero, so there is nothing to learn labels "
            "from. Check sample_weight and class_weight."
        )
    check_terms_left(X, weight)
