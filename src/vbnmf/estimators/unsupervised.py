"""VBNMF: Poisson-gamma variational Bayesian NMF without labels (Cemgil, 2009)."""

from collections.abc import Callable
from typing import Any, Literal, Self

from vbnmf.core.fit import Progress
from vbnmf.core.model import Array
from vbnmf.core.starts import Knobs
from vbnmf.engines.backends import place
from vbnmf.estimators.base import BaseVBNMF
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.online import Batches, batch_knobs, learn_batch
from vbnmf.estimators.posterior import Fitted
from vbnmf.estimators.validation import (
    USUAL_SHAPES,
    check_coef_shape,
    check_fitted,
    check_in_memory,
    check_matrix,
    check_scale,
    check_source,
    check_term_shape,
    check_terms_left,
    check_weights,
    count_threads,
    is_source,
    source_weights,
)
from vbnmf.metrics.likelihood import half_log_likelihood, split_documents


class VBNMF(BaseVBNMF):
    """Variational Bayesian non-negative matrix factorisation of documents.

    Each document is a sum of few components, and each component is a vector of term weights:
    ``x_dw ~ Poisson(Σ_k t_wk v_dk)`` with gamma priors on both factors.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of components K. "auto" starts from 20 and leaves out components that explain less
        than a document. With an array ``init`` it is the number of its rows.
        ``n_components_reason_`` explains the number. ``vbnmf.tune`` compares numbers on held-out
        documents.
    coef_shape : float or "auto", default="auto"
        Shape of the prior of coefficients. Values of at most 1 give sparse coefficients; smaller
        values give sparser ones. "auto" is 0.2.
    coef_scale : float or "auto", default="auto"
        Scale of the prior of coefficients. "auto" learns it.
    term_shape : float, "auto", "learned" or "free", default="auto"
        Shape of the prior of components. "auto" is 0.1. "learned" learns it after burn-in with a
        lower limit of 0.35, because very sparse components make coefficients less sparse
        (docs/explanation/deviations.md). "free" learns it without a limit.
    term_scale : float or "auto", default="auto"
        Scale of the prior of components. "auto" learns it.
    init : "auto", "random" or array of shape (n_components, n_terms), default="auto"
        Initialisation of the components. "auto" clusters the documents into about twice
        ``n_components`` components, and merges similar ones; one of them may become a background of
        common terms. "random" distributes the weight of each term at random. An array has the
        initial components.
    n_init : int, default=1
        Number of initialisations. The fit with the best bound is kept. The first initialisation by
        "auto" is not random and does not depend on ``random_state``.
    max_iter : int, default=200
        Maximum number of iterations of each initialisation.
    tol : float, default=2e-5
        Stop when the relative increase of the bound per iteration is less than ``tol``.
    burn_in : int or "auto", default="auto"
        Number of first iterations in which the scale of coefficients stays at its initial value and
        ``term_shape`` is not learned. "auto" is 10 if ``init="random"``, and 0 otherwise.
    bound_every : int, default=5
        Number of iterations between evaluations of the bound, at which ``tol`` is checked.
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
    components_ : ndarray of shape (n_components, n_terms)
        Expected weights of the terms in each component.
    n_components_ : int
        Number of components.
    n_components_reason_ : str
        Explanation of the number of components.
    background_ : int or None
        The component that was initialised as a background of common terms, if any.
    describing_terms_ : ndarray of int32 of shape (n_components, at most 30), or None
        Columns of the terms that describe each component. They are relevant to it, occur together
        in documents, and appear in few other lists (``vbnmf.metrics.describing_terms``). None after
        a batch of ``partial_fit``.
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
        Shapes and scales of the priors, given or learned.
    n_samples_seen_ : float
        Number of documents seen, by their weights, in the fit and in all batches.
    n_steps_ : int
        Number of batches after the first fit.
    fitted_ : Fitted
        All of the above in records (``vbnmf.estimators.posterior``).
    n_features_in_, feature_names_in_
        Number of terms, and their names if X was a data frame.

    See Also
    --------
    SupervisedVBNMF : Variational Bayesian NMF with label-dependent sparsity.

    References
    ----------
    A. T. Cemgil (2009). Bayesian inference for nonnegative matrix factorisation models.
    Computational Intelligence and Neuroscience 2009, 785152.

    Examples
    --------
    >>> import numpy as np
    >>> from vbnmf import VBNMF
    >>> X = np.array([[5, 4, 0, 0], [3, 4, 0, 0], [0, 0, 6, 5], [0, 0, 3, 3]])
    >>> model = VBNMF(n_components=2, random_state=0).fit(X)
    >>> model.transform(X).argmax(axis=1).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        coef_shape: float | Literal["auto"] = "auto",
        coef_scale: float | Literal["auto"] = "auto",
        term_shape: float | Literal["auto", "learned", "free"] = "auto",
        term_scale: float | Literal["auto"] = "auto",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 2e-5,
        burn_in: int | Literal["auto"] = "auto",
        bound_every: int = 5,
        batches: Batches | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
        callback: Callable[[Progress], None] | None = None,
        checkpoint: Any = None,
        engine: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.coef_shape = coef_shape
        self.coef_scale = coef_scale
        self.term_shape = term_shape
        self.term_scale = term_scale
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.burn_in = burn_in
        self.bound_every = bound_every
        self.batches = batches
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.engine = engine

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms), or Shards
            Non-negative weights of terms: counts or TF-IDF. ``Shards`` are documents on disk.
        y : ignored
            Present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights. None gives all documents weight one.

        Returns
        -------
        VBNMF
            The fitted model.

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0).fit(X)
        >>> model.components_.shape
        (2, 4)
        """
        self.fitted_, _ = self._learned(X, y, sample_weight)
        return self

    def fit_coefficients(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit the model and return the coefficients of the training documents.

        They are close to those of ``transform`` for the same documents, but not equal:
        ``transform`` initialises the coefficients again and keeps the components fixed.

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
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0)
        >>> model.fit_coefficients(X).shape
        (10, 2)
        """
        check_in_memory(X)
        self.fitted_, V = self._learned(X, y, sample_weight, coefficients=True)
        assert V is not None
        return V

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the held-out log-likelihood of documents by document completion.

        Coefficients are computed from one half of the terms of each document. The score is the mean
        log-probability of the other half, per unit of weight. It is negative, and higher is better;
        see ``vbnmf.metrics.completion_log_likelihood``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training. Use documents that the model was not fitted
            to, as ``GridSearchCV`` does.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        float
            Mean log-probability.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from vbnmf import VBNMF
        >>> X = 9 * np.kron(np.eye(2), np.ones((40, 5)))
        >>> search = GridSearchCV(VBNMF(random_state=0), {"n_components": [1, 2]}, cv=2)
        >>> search.fit(X[np.random.default_rng(0).permutation(80)]).best_params_
        {'n_components': 2}
        """
        check_fitted(self)
        first, second = split_documents(check_matrix(self, X, reset=False))
        return half_log_likelihood(self, second, self._project(first))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of documents, in addition to those before.

        The first batch of a model that is not fitted is fitted as by ``fit``, so it should not be
        small: the components are found on it. Later batches move the components towards their own
        by a step of ``(t + learning_offset) ** -learning_decay``, where t is the number of
        documents seen before, in batches of this size, and the other two are settings of
        ``vbnmf.Batches``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms), or Shards
            Weights of terms, with the columns and the weighting of the first batch. Each shard of
            ``Shards`` is a batch, and only one of them is in memory.
        y : ignored
            Present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights.

        Returns
        -------
        VBNMF
            The model itself.

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0).fit(X)
        >>> print(model.partial_fit([[4, 6, 0, 0], [0, 0, 1, 2]]).fitted_.seen.n_docs)
        12.0
        """
        self.fitted_ = self._after_batches(X, y, sample_weight)
        return self

    def _learned(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        coefficients: bool = False,
    ) -> tuple[Fitted, Array | None]:
        with self._restoring_terms(), self._reporting():
            X = place(self.engine, X)
            if is_source(X):
                X = check_source(self, X)
                weight = source_weights(X, sample_weight)
            else:
                X = check_matrix(self, X, reset=True)
                weight = check_weights(sample_weight, X.shape[0])
            check_terms_left(X, weight)
            best, fitted = self._fit(X, weight=weight, coefficients=coefficients)
        return fitted, best.coefficients

    def _after_batch(
        self, fitted: Fitted, batches: Batches, X: Any, y: Any, sample_weight: Any
    ) -> Fitted:
        X, weight = self._checked_batch(fitted.components, X, sample_weight)
        knobs = batch_knobs(fitted.components, self.term_shape, self.term_scale, self.coef_scale)
        return learn_batch(fitted, X, weight, knobs, batches, count_threads(self.n_jobs))

    def _knobs(self, targets: Targets | None, weight: Array | None) -> Knobs:
        of_terms, of_coefs = USUAL_SHAPES
        a_t, least_a_t = check_term_shape(self.term_shape, of_terms)
        return Knobs(
            a_t=a_t,
            least_a_t=least_a_t,
            b_t=check_scale("term_scale", self.term_scale),
            a_v=check_coef_shape(self.coef_shape, of_coefs),
            b_v=check_scale("coef_scale", self.coef_scale),
        )
