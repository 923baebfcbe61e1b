"""Base class of both models: fitting, projection, and the scikit-learn interface."""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from vbnmf.callers import callers_level
from vbnmf.core import starts
from vbnmf.core.fit import Progress, Schedule
from vbnmf.core.model import Array
from vbnmf.core.rows import without_unused_terms
from vbnmf.core.starts import Knobs
from vbnmf.estimators import intervals, pruning
from vbnmf.estimators.componentterms import choose_terms, passages_of
from vbnmf.estimators.online import LearnsOnline, note_fit
from vbnmf.estimators.outcome import (
    Outcome,
    bound_rounded,
    check_finite,
    is_rounded,
    not_converged,
)
from vbnmf.estimators.running import best_of_starts
from vbnmf.estimators.starting import FitData, Start
from vbnmf.estimators.streaming import checked
from vbnmf.estimators.targets import Targets
from vbnmf.estimators.validation import (
    MOST_ITERATIONS,
    check_count,
    check_init,
    check_n_components,
    check_nonnegative,
    check_verbose,
    count_threads,
)
from vbnmf.kernels import open_kernel
from vbnmf.shards.shard import ShardSource

BURN_IN = 10  # default number of burn-in iterations with init="random"
_MOST_STEPS = 1 << 30  # non-zeros × components × iterations of one part of a projection
ANNEALING = 30  # iterations over which posteriors of unknown labels are sharpened


def burn_in_of(burn_in: Any, init: Any) -> Any:
    """Return the number of burn-in iterations; "auto" has none unless ``init="random"``."""
    if isinstance(burn_in, str) and burn_in == "auto":
        return BURN_IN if isinstance(init, str) and init == "random" else 0
    return burn_in


class BaseVBNMF(LearnsOnline, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of both models, without labels. Subclasses document the parameters."""

    _named_starts: tuple[str, ...] = ("auto", "random")
    callback: Callable[[Progress], None] | None
    checkpoint: Any
    engine: Any

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to documents."""

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit the model and transform the same documents.

        The result is identical to ``fit(X, y, sample_weight).transform(X)``. Labels are not used in
        ``transform``, so a pipeline trains and predicts on coefficients of the same kind.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Array:
        """Compute the coefficients of documents with fixed components.

        This is the paper's projection. Labels are not used, so training documents and new
        documents are treated alike. For the coefficients at the end of training, see
        ``fit_coefficients``.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients, computed later if X is on a cluster. For a document without any
            known term they depend only on the prior:
            ``coef_shape / (1 / coef_scales_ + component_sums_)``.
        """
        check_is_fitted(self, "components_")
        return checked(self, X, self._project)

    def inverse_transform(self, V: Any) -> Array:
        """Compute the expected term weights of documents with given coefficients.

        Parameters
        ----------
        V : array-like of shape (n_docs, n_components)
            Coefficients, as ``transform`` returns them.

        Returns
        -------
        ndarray of shape (n_docs, n_terms)
            ``V @ components_``. The array is dense; process many documents in parts.
        """
        check_is_fitted(self, "components_")
        V = check_array(V, dtype=[np.float64, np.float32], input_name="V")
        if V.shape[1] != self._n_features_out:
            raise ValueError(
                f"V must have one column for each of the {self._n_features_out} components; got "
                f"the shape {V.shape}. Pass the result of transform."
            )
        return np.asarray(V @ self.components_.astype(V.dtype, copy=False))

    def _project(self, X: sparse.csr_array) -> Array:
        """Compute the coefficients of validated documents, (n_docs, K).

        Documents are processed in parts, so that Ctrl-C takes effect soon. The result does not
        depend on the parts.
        """
        max_iter = check_count("transform_max_iter", self.transform_max_iter, most=MOST_ITERATIONS)
        tol = check_nonnegative("transform_tol", self.transform_tol)
        a_v = self.hyperparameters_["coef_shape"]
        scale = 1.0 / (1.0 / self.coef_scales_ + self.component_sums_)
        X, used = without_unused_terms(X)
        K = self._n_features_out
        E_v = np.empty((X.shape[0], K), X.dtype)
        with open_kernel(count_threads(self.n_jobs)) as kernel, np.errstate(over="ignore"):
            shapes = kernel.zeros(X.shape[1], K, X.dtype)
            shapes[:, :K] = self.component_shapes_.T[used]
            terms = starts.terms_of(kernel, shapes, self.component_scales_, tally=False)
            for begin, end in _parts(X, _MOST_STEPS // (K * max_iter)):
                E_v[begin:end], _n_iter = kernel.project(
                    X[begin:end], terms.L, scale, a_v, max_iter=max_iter, tol=tol
                )
        check_finite(E_v)
        return E_v

    @property
    def coef_scales_(self) -> Array:
        """Scale of the prior of coefficients in ``transform``, (n_components,)."""
        return np.full(self._n_features_out, self.hyperparameters_["coef_scale"])

    @property
    def component_mass_(self) -> Array:
        """Part of the documents' weight that each component explains, (n_components,)."""
        return pruning.component_mass(self)

    @property
    def faded_(self) -> Array:
        """Components whose terms all depend more on the prior than on documents, of bool."""
        return pruning.faded(self)

    def prune(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, least: float | None = None
    ) -> Self:
        """Remove components without weight and fit again.

        The fit is initialised with the remaining components. Its parameters are the same except
        for ``n_components``. The remaining components may change, because they take over the weight
        of those removed.

        Parameters
        ----------
        X, y, sample_weight
            The training documents, with their labels and sample weights.
        least : float or None, default=None
            Remove components with less than this part of the documents' weight
            (``component_mass_``). None removes the components in ``faded_``. A label always keeps
            at least one component, the one that it uses most.

        Returns
        -------
        VBNMF or SupervisedVBNMF
            A new model; this model is not changed. Its attribute ``pruning_`` has the components
            that were ``removed``, ``bound_before`` and ``bound_after``. Model files do not store
            it.
        """
        return pruning.prune(self, X, y, sample_weight, least)

    def component_interval(
        self, level: float = 0.9, *, components: Any = None
    ) -> tuple[Array, Array]:
        """Compute credible intervals of the term weights from the gamma posteriors.

        The intervals are too narrow, because the variational posterior assumes independence. On
        documents drawn from the model, intervals of 90 % covered about 80 % of the strong weights
        if labels use separate components, about half if every document mixes all components, and
        fewer of the weak weights. The intervals are about the terms of a component relative to one
        another, because the scale of a component is not identified; see docs/algorithm.md.

        Parameters
        ----------
        level : float, default=0.9
            Probability of each interval, with equal tails.
        components : int, array of int or bool, or None, default=None
            Components to compute intervals of; None for all. A quantile takes about two
            microseconds.

        Returns
        -------
        low, high : ndarrays of shape (n_components, n_terms)
            Ends of the intervals, in the units of ``components_``.
        """
        check_is_fitted(self, "components_")
        return intervals.component_interval(self, level, components)

    def save(self, path: Any) -> None:
        """Save the fitted model to a file, which ``vbnmf.load`` reads.

        The file has numbers and text only, and no code. It is written completely or not at all.
        These parameters are not saved: ``callback``, ``checkpoint``, ``engine``, an array
        ``init``, a dict ``class_weight``, and a ``random_state`` that is not a number.

        ``pickle`` and ``joblib`` work too, but loading their files can run any code. Never load a
        pickle from a source that you do not trust.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        from vbnmf.estimators.saving import save

        save(self, path)

    def __sklearn_clone__(self) -> Any:
        """Clone all parameters except the callback, which is shared with the clone.

        A callback such as a progress bar may not support copies. The original is not modified, so
        that other threads can use it.
        """
        without = copy.copy(self)
        without.callback = None
        made = super(BaseVBNMF, without).__sklearn_clone__()
        made.callback = self.callback
        return made

    @abstractmethod
    def _knobs(self, targets: Targets | None, weight: Array | None) -> Knobs:
        """Check the hyperparameters for documents with these labels and weights."""

    def _burn_in(self, init: Array | str) -> Any:
        """Return the number of burn-in iterations, not validated."""
        return burn_in_of(self.burn_in, init)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the earlier fit if a new one fails."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _fit(
        self,
        X: sparse.csr_array | ShardSource,
        targets: Targets | None = None,
        weight: Array | None = None,
        *,
        coefficients: Array | bool,
        hold: ExitStack | None = None,
    ) -> Outcome:
        """Fit to validated documents, set common attributes, and return the best outcome.

        ``coefficients`` requests those of all documents (True), of none (False), or of the
        documents with these numbers, in ascending order. With ``hold``, the outcome has the engine
        of the best start, which stays open until the stack is closed.
        """
        labels = None if targets is None else targets.labels
        group = np.zeros(X.shape[0], np.uint8) if targets is None else targets.group
        corpus = FitData(X, group, 1 if targets is None else targets.n_groups, labels, weight)
        n_labels = None if targets is None else len(targets.classes)
        K, why = check_n_components(self.n_components, self.init, n_labels)
        init = check_init(self.init, self._named_starts, K, X.shape[1])
        start = self._start(init, K, targets)
        knobs = self._knobs(targets, weight)
        schedule = self._schedule(burn_in=start.burn_in)
        if labels is not None and len(labels.latent):
            schedule = replace(schedule, annealing=ANNEALING)
        n_init = check_count("n_init", self.n_init)
        if not (self.callback is None or callable(self.callback)):
            raise ValueError(f"callback must be callable or None; got {self.callback!r}.")
        check_verbose(self.verbose)
        best = best_of_starts(
            self, corpus, start, knobs, schedule, why,
            n_init=n_init, coefficients=coefficients, hold=hold,
        )  # fmt: skip
        self._set_terms(best)
        note_fit(self, float(X.shape[0] if weight is None else weight.sum()))
        check_finite(self.components_, self.component_scales_, self.component_sums_)
        self.passages_ = passages_of(X, weight)
        self.describing_terms_ = choose_terms(self, X, weight)
        if best.coefficients is not None:
            check_finite(best.coefficients)
        if is_rounded(best):
            warnings.warn(bound_rounded(best), ConvergenceWarning, stacklevel=callers_level())
        if not best.fit.converged and schedule.tol > 0:
            warnings.warn(
                not_converged(best.fit, schedule), ConvergenceWarning, stacklevel=callers_level()
            )
        return best

    def _start(self, init: Array | str, K: int | None, targets: Targets | None) -> Start:
        """Return the settings of the initialisation."""
        return Start(
            init=init,
            n_components=K,
            soft=self.n_components is None or isinstance(self.n_components, str),
            burn_in=self._burn_in(init),
            scopes=None,
            scoped=False,
            groups=np.zeros((0, 1), dtype=bool),
        )

    def _schedule(self, burn_in: Any) -> Schedule:
        return Schedule(
            max_iter=check_count("max_iter", self.max_iter),
            tol=check_nonnegative("tol", self.tol),
            burn_in=check_count("burn_in", burn_in, least=0),
            bound_every=check_count("bound_every", self.bound_every),
        )

    def _set_terms(self, outcome: Outcome) -> None:
        """Set the fitted attributes that are common to both models."""
        result = outcome.fit
        prior = result.state.prior
        self.component_shapes_ = outcome.shapes.T
        self.component_scales_ = result.state.terms.scale
        self.component_sums_ = result.state.terms.E_sums
        self.components_ = component_means(self.component_shapes_, self.component_scales_)
        self.hyperparameters_ = {
            "term_shape": prior.a_t,
            "term_scale": prior.b_t,
            "coef_shape": prior.a_v,
            "coef_scale": prior.b_v,
        }
        self.n_components_ = len(self.components_)
        self.n_components_reason_ = outcome.reason
        self.background_ = outcome.background
        self.bound_ = result.bound
        self.bound_history_ = np.array(result.bound_history)
        self.n_iter_ = result.n_iter

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def component_means(shapes: Array, scales: Array) -> Array:
    """Compute the posterior means of components, (K, n_terms), in the dtype of the shapes."""
    with np.errstate(over="ignore", under="ignore"):  # the caller checks for infinity
        return np.asarray(shapes * scales.astype(shapes.dtype)[:, None])


def _parts(X: sparse.csr_array, work: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents in which documents plus non-zeros are about `work`."""
    so_far = X.indptr.astype(np.int64) + np.arange(len(X.indptr))
    cuts = np.searchsorted(so_far, np.arange(0, so_far[-1], max(work, 1)))
    yield from pairwise(np.unique(np.append(cuts, X.shape[0])).tolist())
