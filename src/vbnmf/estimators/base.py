"""Base class of both models: fitting, projection, and the scikit-learn interface."""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from vbnmf.callers import callers_level
from vbnmf.core import starts
from vbnmf.core.fit import Progress, Schedule
from vbnmf.core.model import Array
from vbnmf.core.pages import release
from vbnmf.core.rows import leading, without_unused_terms
from vbnmf.core.starts import Knobs
from vbnmf.description.showing import ShowsComponents
from vbnmf.estimators.applying import AppliesToDocuments
from vbnmf.estimators.componentterms import term_view
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.online import Batches, check_batch, check_batches
from vbnmf.estimators.posterior import Components, Course, Fitted, FittedAttribute, Seen
from vbnmf.estimators.running import (
    Outcome,
    Reporter,
    RunSettings,
    best_of_starts,
    bound_rounded,
    is_rounded,
    not_converged,
)
from vbnmf.estimators.starting import FitData, Start
from vbnmf.estimators.validation import (
    batches,
    check_count,
    check_finite,
    check_fitted,
    check_init,
    check_matrix,
    check_memory,
    check_n_components,
    check_nonnegative,
    check_verbose,
    check_weights,
    count_threads,
    is_source,
)
from vbnmf.kernels import open_kernel
from vbnmf.prediction.projection import CoefficientPrior, EvenPrior
from vbnmf.shards.shard import ShardSource

BURN_IN = 10  # default number of burn-in iterations with init="random"
PROJECT_MAX_ITER, PROJECT_TOL = 100, 1e-4  # iterations for a document, and their tolerance
_MOST_STEPS = 1 << 30  # non-zeros × components × iterations of one part of a projection
ANNEALING = 30  # iterations over which posteriors of unknown labels are sharpened


def burn_in_of(burn_in: Any, init: Any) -> Any:
    """Return the number of burn-in iterations; "auto" has none unless ``init="random"``."""
    if isinstance(burn_in, str) and burn_in == "auto":
        return BURN_IN if isinstance(init, str) and init == "random" else 0
    return burn_in


class Pruning(NamedTuple):
    """Result of pruning.

    Attributes
    ----------
    removed : ndarray of int
        Indices of the removed components in the original model.
    bound_before, bound_after : float
        Lower bound before and after pruning.
    """

    removed: Array
    bound_before: float
    bound_after: float


class BaseVBNMF(
    ShowsComponents,
    AppliesToDocuments,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base class of both models, without labels. Subclasses document the parameters.

    All that a fit finds is one record, ``fitted_``. Public attributes are its fields.
    """

    fitted_: Fitted
    pruning_: Pruning
    callback: Callable[[Progress], None] | None
    checkpoint: Any
    engine: Any
    _named_starts: tuple[str, ...] = ("auto", "random")
    _uses_labels = False

    bound_ = FittedAttribute("course.bound")
    bound_history_ = FittedAttribute("course.history")
    n_iter_ = FittedAttribute("course.n_iter")
    n_samples_seen_ = FittedAttribute("seen.n_docs")
    n_steps_ = FittedAttribute("seen.n_steps")

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

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0)
        >>> model.fit_transform(X).shape
        (10, 2)
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Array:
        """Compute the coefficients of documents with fixed components.

        Labels of the documents are not used, so training documents and new documents are treated
        alike. For the coefficients at the end of training, see ``fit_coefficients``. Without
        scopes this is the paper's projection. With scopes, the prior of a document follows from the
        labels that its terms suggest; see docs/explanation/algorithm.md.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients, computed later if X is on a cluster. For a document without any
            known term they depend only on the prior. Without scopes they are
            ``coef_shape / (1 / coef_scale + component_sums_)``.

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0).fit(X)
        >>> model.transform([[1, 1, 0, 0]]).shape
        (1, 2)
        """
        check_fitted(self)
        return self._apply(X, self._project, only_terms=True)

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

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0).fit(X)
        >>> model.inverse_transform(model.transform(X)).shape
        (10, 4)
        """
        check_fitted(self)
        V = check_array(V, dtype=[np.float64, np.float32], input_name="V")
        if V.shape[1] != self._n_features_out:
            raise ValueError(
                f"V must have one column for each of the {self._n_features_out} components; got "
                f"the shape {V.shape}. Pass the result of transform."
            )
        return np.asarray(V @ self.components_.astype(V.dtype, copy=False))

    def _project(
        self, X: sparse.csr_array, max_iter: int = PROJECT_MAX_ITER, tol: float = PROJECT_TOL
    ) -> Array:
        """Compute the coefficients of validated documents, (n_docs, K).

        A document has converged when an iteration moves less than ``tol`` of its weight between
        components. Documents are processed in parts, so that Ctrl-C takes effect soon. The result
        does not depend on the parts.
        """
        of = self.fitted_.components
        K = of.number
        X, used = without_unused_terms(leading(X, len(of.shapes)))
        prior = self._coef_prior(used)
        E_v = np.empty((X.shape[0], K), X.dtype)
        with open_kernel(count_threads(self.n_jobs)) as kernel, np.errstate(over="ignore"):
            shapes = kernel.zeros(X.shape[1], K, X.dtype)
            shapes[:, :K] = of.shapes[used]
            terms = starts.terms_of(kernel, shapes, of.scales, tally=False)
            for begin, end in _parts(X, _MOST_STEPS // (K * max_iter)):
                E_v[begin:end] = prior.coefficients(
                    kernel, X[begin:end], terms.L, max_iter=max_iter, tol=tol
                )
        check_finite(E_v)
        return E_v

    def _coef_prior(self, terms: Array | slice) -> CoefficientPrior:
        """Return the prior of coefficients in ``transform``, for documents of these terms."""
        of = self.fitted_.components
        return EvenPrior(
            of.hyperparameters["coef_shape"], of.hyperparameters["coef_scale"], of.sums
        )

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

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(4, random_state=0).fit(X)
        >>> model.prune(X, least=0.05).n_components_ <= 4
        True
        """
        check_fitted(self)
        check_matrix(self, X, reset=False)
        removed = self._removed(least)
        if not removed.any():
            pruned = copy.copy(self)
        else:
            kept = np.flatnonzero(~removed)
            start, after = self._without(kept)
            pruned = clone(self).set_params(**start).fit(X, y, sample_weight=sample_weight)
            pruned.set_params(**after)
            pruned.fitted_ = self._fitted_without(pruned.fitted_, kept)
        pruned.pruning_ = Pruning(np.flatnonzero(removed), self.bound_, pruned.bound_)
        return pruned

    def _removed(self, least: float | None) -> Array:
        """Return whether ``prune`` removes each component, (K,) of bool."""
        of = self.fitted_.components
        removed = of.faded if least is None else of.mass < check_nonnegative("least", least)
        if removed.all():
            raise ValueError(_nothing_left(of, least))
        return removed

    def _without(self, kept: Array) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the fit of ``prune``, and those of the pruned model.

        The latter have only the remaining components, so that the model can be fitted again.
        """
        of = self.fitted_.components
        explained = of.by_component[kept] - of.hyperparameters["term_shape"]
        init = self.init if isinstance(self.init, str) else np.asarray(self.init)[kept]
        start = {"n_components": len(kept), "init": np.maximum(explained, 0.0), "n_init": 1}
        return start, {"n_init": self.n_init, "init": init}

    def _fitted_without(self, fitted: Fitted, kept: Array) -> Fitted:
        """Return the record of a pruned model, with what it takes over from this one."""
        before, places = self.fitted_.components.background, kept.tolist()
        if before not in places:
            return fitted
        at = places.index(before)
        return replace(fitted, components=replace(fitted.components, background=at))

    def component_interval(
        self, level: float = 0.9, *, components: Any = None
    ) -> tuple[Array, Array]:
        """Compute credible intervals of the term weights from the gamma posteriors.

        The intervals are too narrow, because the variational posterior assumes independence. On
        documents drawn from the model, intervals of 90 % covered about 80 % of the strong weights
        if labels use separate components, about half if every document mixes all components, and
        fewer of the weak weights. The intervals are about the terms of a component relative to one
        another, because the scale of a component is not identified; see
        docs/explanation/algorithm.md.

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

        Examples
        --------
        >>> from vbnmf import VBNMF
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0).fit(X)
        >>> low, high = model.component_interval(0.9)
        >>> bool((low < model.components_).all() and (model.components_ < high).all())
        True
        """
        check_fitted(self)
        return self.fitted_.components.interval(level, components)

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

        Examples
        --------
        >>> from vbnmf import VBNMF, load
        >>> X = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5
        >>> model = VBNMF(2, random_state=0).fit(X)
        >>> model.save("two.vbnmf")
        >>> load("two.vbnmf").n_components_
        2
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
    def _restoring_terms(self) -> Iterator[None]:
        """Restore the number and names of terms, which a check of X sets, if a fit fails."""
        names = ("n_features_in_", "feature_names_in_")
        before = {name: getattr(self, name) for name in names if hasattr(self, name)}
        try:
            yield
        except BaseException:
            for name in names:
                if name in before:
                    setattr(self, name, before[name])
                elif hasattr(self, name):
                    delattr(self, name)
            raise

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Tell the callback that the fit has ended, if it has a method ``close``."""
        try:
            yield
        finally:
            close = getattr(self.callback, "close", None)
            if callable(close):
                close()

    @abstractmethod
    def _learned(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        coefficients: bool = False,
    ) -> tuple[Fitted, Array | None]:
        """Fit to documents; return the record, and the coefficients, (n_docs, K), on request."""

    def _fit(
        self,
        X: sparse.csr_array | ShardSource,
        targets: Targets | None = None,
        weight: Array | None = None,
        *,
        coefficients: Array | bool,
        hold: ExitStack | None = None,
    ) -> tuple[Outcome, Fitted]:
        """Fit to checked documents; return the best outcome, and what both models have of it.

        ``coefficients`` requests those of all documents (True), of none (False), or of the
        documents with these numbers, in ascending order. With ``hold``, the outcome has the engine
        of the best start, which stays open until the stack is closed.
        """
        labels = None if targets is None else targets.labels
        group = np.zeros(X.shape[0], np.uint8) if targets is None else targets.group
        corpus = FitData(X, group, 1 if targets is None else targets.n_groups, labels, weight)
        settings = self._settings(targets, weight, X.shape, X.dtype.itemsize)
        best = best_of_starts(settings, corpus, coefficients=coefficients, hold=hold)
        result = best.fit
        release()
        components = Components.of(best.shapes, result.state, best.reason, best.background)
        check_finite(components.means, components.scales, components.sums)
        n_docs = float(X.shape[0] if weight is None else weight.sum())
        fitted = Fitted(
            components,
            Course(result.bound, np.array(result.bound_history), result.n_iter),
            Seen(n_docs, n_docs),
            term_view(components, X, weight),
        )
        if best.coefficients is not None:
            check_finite(best.coefficients)
        if is_rounded(best):
            warnings.warn(bound_rounded(best), ConvergenceWarning, stacklevel=callers_level())
        schedule = settings.schedule
        if not result.converged and schedule.tol > 0:
            warnings.warn(
                not_converged(result, schedule), ConvergenceWarning, stacklevel=callers_level()
            )
        return best, fitted

    def _settings(
        self, targets: Targets | None, weight: Array | None, shape: tuple[int, ...], size: int
    ) -> RunSettings:
        """Check the parameters of a fit to documents of a shape, whose numbers have this size."""
        n_labels = None if targets is None else len(targets.classes)
        K, why = check_n_components(self.n_components, self.init, n_labels)
        check_memory(K, shape, size)
        init = check_init(self.init, self._named_starts, K, shape[1])
        start = self._start(init, K, targets)
        knobs = self._knobs(targets, weight)
        schedule = self._schedule(burn_in=start.burn_in)
        if targets is not None and len(targets.labels.latent):
            schedule = replace(schedule, annealing=ANNEALING)
        n_init = check_count("n_init", self.n_init)
        if not (self.callback is None or callable(self.callback)):
            raise ValueError(f"callback must be callable or None; got {self.callback!r}.")
        check_verbose(self.verbose)
        n_threads = count_threads(self.n_jobs)
        return RunSettings(
            start, knobs, schedule, why, n_init, self.random_state,
            n_threads, n_threads if (self.n_jobs or 0) > 0 else 1,  # a worker has a task per thread
            self.checkpoint, self.get_params(deep=False), self._reporter(),
        )  # fmt: skip

    def _reporter(self, restart: int = 0) -> Reporter:
        """Return what reports the progress of a start."""
        name = type(self).__name__
        return Reporter(name, self.callback, self.verbose, self.max_iter, self.n_init, restart)

    def _after_batches(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Fitted:
        """Return the record after a batch of ``partial_fit``, or after each shard as a batch."""
        settings = check_batches(self.batches)
        parts: Iterable[tuple[Any, Any, Any]] = [(X, y, sample_weight)]
        if is_source(X):
            parts = batches(X, y, sample_weight, labelled=self._uses_labels)
        fitted: Fitted | None = vars(self).get("fitted_")
        if fitted is not None:
            fitted = replace(fitted, components=fitted.components.in_full())
        with self._restoring_terms(), self._reporting():
            for part in parts:
                if fitted is None:
                    fitted = self._after_first_batch(*part, classes)
                else:
                    fitted = self._after_batch(fitted, settings, *part)
        assert fitted is not None
        return fitted

    def _after_first_batch(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Fitted:
        """Return the record of a fit to the first batch; ``classes`` are labels that may occur."""
        return self._learned(X, y, sample_weight)[0]

    @abstractmethod
    def _after_batch(
        self, fitted: Any, batches: Batches, X: Any, y: Any, sample_weight: Any
    ) -> Fitted:
        """Return the record after a later batch."""

    def _checked_batch(
        self, components: Components, X: Any, sample_weight: Any
    ) -> tuple[sparse.csr_array, Array | None]:
        """Check the documents of a later batch, and their weights."""
        X = check_matrix(self, X, reset=False).astype(components.shapes.dtype, copy=False)
        weight = check_weights(sample_weight, X.shape[0])
        check_batch(X, weight)
        return X, weight

    def _start(self, init: Array | str, K: int, targets: Targets | None) -> Start:
        """Return the settings of the initialisation."""
        return Start(
            init=init,
            n_components=K,
            soft=isinstance(self.n_components, str),
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

    @property
    def _n_features_out(self) -> int:
        return self.fitted_.components.number

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _nothing_left(components: Components, least: float | None) -> str:
    if least is None:
        return (
            "all components have faded: they are the same as in the prior. The values of X may be "
            "too small; multiply X by a constant and fit again."
        )
    return (
        f"least={least!r} would remove all components; the largest one has "
        f"{components.mass.max():.3g} of the weight. Use a smaller value."
    )


def _parts(X: sparse.csr_array, work: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents in which documents plus non-zeros are about `work`."""
    so_far = X.indptr.astype(np.int64) + np.arange(len(X.indptr))
    cuts = np.searchsorted(so_far, np.arange(0, so_far[-1], max(work, 1)))
    yield from pairwise(np.unique(np.append(cuts, X.shape[0])).tolist())
